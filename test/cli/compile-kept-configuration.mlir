// The dispatch benchmarks that the compiler dumps carry its own configuration, which wins over a spec and says
// nothing. Here it says so, and what strips it.

// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/../support/elementwise_specs.py vmvx mine > %t/mine.mlir
// RUN: iree-compile %s --iree-hal-target-backends=vmvx --iree-hal-dump-executable-benchmarks-to=%t -o %t/out.vmfb
// RUN: tuninglink compile %t/module_add_dispatch_0_vmvx_bytecode_fb_benchmark.mlir --spec %t/mine.mlir --iree-hal-target-backends=vmvx --compile-to=executable-configurations -o %t/kept.mlir 2>&1 | filecheck %s --check-prefix=KEPT
// KEPT: benchmark.mlir:{{[0-9:]+}}: warning: spec '{{.*}}/mine.mlir' matched in @add_dispatch_0::@vmvx_bytecode_fb, which kept another configuration
// KEPT: note: an existing configuration of a dispatch is kept; 'tuninglink-opt --tuninglink-strip-configs' removes it
// RUN: filecheck %s --check-prefix=UNTUNED --input-file=%t/kept.mlir
// UNTUNED: lowering_config = #iree_cpu.lowering_config<distribution = [64]>

// RUN: tuninglink-opt --tuninglink-strip-configs %t/module_add_dispatch_0_vmvx_bytecode_fb_benchmark.mlir -o %t/stripped.mlir
// RUN: tuninglink compile %t/stripped.mlir --spec %t/mine.mlir --iree-hal-target-backends=vmvx --compile-to=executable-configurations 2>&1 | filecheck %s --check-prefix=TUNED
// TUNED-NOT: warning
// TUNED: lowering_config = #iree_cpu.lowering_config<distribution = [8]>

func.func @add(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
  %sum = arith.addf %a, %b : tensor<64xf32>
  return %sum : tensor<64xf32>
}
