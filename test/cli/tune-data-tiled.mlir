// Data-tiled products have candidates: the tiles of workgroups. Which of them wins is the machine's to tell.

// RUN: tuninglink tune %s --jobs 1 -o %t.mlir --iree-opt-data-tiling --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --only matmul --trials 2 --search random 2>&1 | filecheck %s
// CHECK: @main_dispatch_0: contraction {{[0-9x]+}} f32xf32xf32: {{.+}}s
// CHECK: @main_dispatch_0: {{.*}} 2 candidates tried (trials)

func.func @main(%a: tensor<512x16xf32>, %b: tensor<16x512xf32>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x512xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %product = linalg.matmul ins(%a, %b : tensor<512x16xf32>, tensor<16x512xf32>) outs(%start : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %product : tensor<512x512xf32>
}
