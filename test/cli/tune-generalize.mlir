// A winner also gets an entry for other sizes, where it is measured, too. Flags make the compiler choose badly, so that the
// configuration of a spec wins; its tiles fit 16 and 32 rows, and divide neither the columns nor the steps.

// RUN: tuninglink tune %s --jobs 1 -o %t.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --iree-llvmcpu-distribution-size=1 --device local-sync --spec %S/Inputs/large_tiles.mlir --trials 1 --generalize --no-model
// RUN: filecheck %s --input-file=%t.mlir

// CHECK: transform.named_sequence @match_main_dispatch_0_matmul_16x32x64_f32(
// CHECK: transform.named_sequence @match_main_dispatch_0_matmul_16x32x64_f32_like(
// CHECK-SAME: points = 2 : i64, ranges = ["loop 0: 16..32 by 16"]
// CHECK: transform.iree.match.dims_equal %n_dims, [32]
// CHECK: transform.iree.match.dim_bounds %{{.+}}[0], umin = 16, umax = 32
// CHECK: transform.iree.match.dim_is_multiple_of %{{.+}}[0], 16

// The entry for the size itself comes first.
// CHECK: foreach_match
// CHECK-NEXT: @match_main_dispatch_0_matmul_16x32x64_f32 ->
// CHECK-NEXT: @match_main_dispatch_0_matmul_16x32x64_f32_like ->

func.func @main(%a: tensor<16x64xf32>, %b: tensor<64x32xf32>) -> tensor<16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x32xf32>) -> tensor<16x32xf32>
  %product = linalg.matmul ins(%a, %b : tensor<16x64xf32>, tensor<64x32xf32>) outs(%start : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %product : tensor<16x32xf32>
}
