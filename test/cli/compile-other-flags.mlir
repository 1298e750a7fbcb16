// A spec that was tuned under other flags than those given is a warning; with a response file of these there is none.

// RUN: rm -rf %t && mkdir -p %t
// RUN: sed 's/{transform.readonly}) -> !transform.any_op {/{transform.readonly}) -> !transform.any_op attributes {tuninglink.provenance = {flags = ["--iree-llvmcpu-vector-pproc-strategy=peel", "--iree-opt-strip-assertions"]}} {/' %S/Inputs/data_tiled_spec.mlir > %t/tuned.mlir
// RUN: echo "--iree-llvmcpu-vector-pproc-strategy=peel --iree-opt-strip-assertions=true" > %t/tuned.flags
// RUN: tuninglink compile %s -o %t/a.vmfb --spec %t/tuned.mlir --no-default-specs --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=x86-64-v4 2>&1 | filecheck %s
// CHECK: warning: spec '{{.*}}tuned.mlir' was written under other flags: --iree-llvmcpu-vector-pproc-strategy=peel --iree-opt-strip-assertions
// CHECK-NEXT: note: add them, for example as @FILE.flags
// RUN: tuninglink compile %s -o %t/b.vmfb @%t/tuned.flags --spec %t/tuned.mlir --no-default-specs --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=x86-64-v4 2>%t/err
// RUN: not grep "other flags" %t/err
// RUN: iree-compile %s -o %t/c.vmfb @%t/tuned.flags --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=x86-64-v4

func.func @main(%a: tensor<128x256xf32>, %b: tensor<256x512xf32>) -> tensor<128x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x512xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x512xf32>) -> tensor<128x512xf32>
  %product = linalg.matmul ins(%a, %b : tensor<128x256xf32>, tensor<256x512xf32>) outs(%start : tensor<128x512xf32>) -> tensor<128x512xf32>
  return %product : tensor<128x512xf32>
}
