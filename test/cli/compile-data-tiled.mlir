// Specs configure data-tiled programs: encodings are materialized before matchers see the dispatches.

// An entry for the matmul without data tiling does not match the linalg.mmt4d that is made of it, and the code is the
// compiler's.
// RUN: tuninglink compile %s -o %t.other.vmfb --spec %S/Inputs/data_tiled_spec.mlir --no-default-specs --iree-opt-data-tiling --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=x86-64-v4 2>&1 | filecheck %s --check-prefix=OTHER
// OTHER: warning: spec '{{.*}}data_tiled_spec.mlir' configured nothing
// RUN: iree-compile %s -o %t.stock.vmfb --iree-opt-data-tiling --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=x86-64-v4
// RUN: cmp %t.other.vmfb %t.stock.vmfb
// RUN: tuninglink explain %s --spec %S/Inputs/data_tiled_spec.mlir --no-default-specs --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=x86-64-v4 2>&1 | filecheck %s --check-prefix=APPLIES
// APPLIES-NOT: warning
// APPLIES: @main_dispatch_0::@embedded_elf_x86_64 {{ *}}tuned

// A spec that 'init' writes finds the linalg.mmt4d. It materializes encodings itself, for the stock compiler: both
// generate the same code from it, which is other code than without it.
// RUN: tuninglink init %s -o %t.init.mlir --iree-opt-data-tiling --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=x86-64-v4
// RUN: filecheck %s --check-prefix=INIT < %t.init.mlir
// INIT: pipeline = #iree_cpu.pipeline<Mmt4dTilingExpert>
// INIT: transform.apply_registered_pass "iree-codegen-materialize-device-encoding"
// RUN: sed 's/distribution = \[[0-9]*, [0-9]*,/distribution = [2, 16,/' %t.init.mlir > %t.edited.mlir
// RUN: tuninglink compile %s -o %t.edited.vmfb --spec %t.edited.mlir --no-default-specs --iree-opt-data-tiling --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=x86-64-v4
// RUN: iree-compile %s -o %t.edited.stock.vmfb --iree-codegen-tuning-spec-path=%t.edited.mlir --iree-opt-data-tiling --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=x86-64-v4
// RUN: cmp %t.edited.vmfb %t.edited.stock.vmfb
// RUN: not cmp %t.edited.vmfb %t.stock.vmfb
// RUN: tuninglink explain %s --spec %t.edited.mlir --no-default-specs --iree-opt-data-tiling --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=x86-64-v4 2>&1 | filecheck %s --check-prefix=EDITED
// EDITED: @main_dispatch_0::@embedded_elf_x86_64 {{ *}}tuned {{ *}}contraction m 8x16, n 32x16, k 256x1
// EDITED: @main_dispatch_0::@embedded_elf_x86_64 {{ *}}entry {{ *}}@match_main_dispatch_0_matmul_128x512x256_f32

// Linked before another spec, it still configures the operation first, whichever compiler applies the result.
// RUN: tuninglink link %t.edited.mlir %S/Inputs/data_tiled_spec.mlir -o %t.linked.mlir
// Threads: with several, the compiler may stop in a lock where a spec runs a pass in a list (2 of 40 runs).
// RUN: iree-compile %s -o %t.linked.vmfb --mlir-disable-threading --iree-codegen-tuning-spec-path=%t.linked.mlir --iree-opt-data-tiling --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=x86-64-v4
// RUN: cmp %t.linked.vmfb %t.edited.vmfb

func.func @main(%a: tensor<128x256xf32>, %b: tensor<256x512xf32>) -> tensor<128x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x512xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x512xf32>) -> tensor<128x512xf32>
  %product = linalg.matmul ins(%a, %b : tensor<128x256xf32>, tensor<256x512xf32>) outs(%start : tensor<128x512xf32>) -> tensor<128x512xf32>
  return %product : tensor<128x512xf32>
}
