// Two specs ship a strategy of the same name: each configured op runs that of its own spec, and nothing is warned about.

// RUN: tuninglink compile %s --spec %S/Inputs/strategy-wide.mlir --spec %S/Inputs/strategy-narrow.mlir -o %t.vmfb --iree-hal-target-device=hip --iree-rocm-target=gfx942 --mlir-disable-threading 2>&1 | filecheck %s

// CHECK-NOT: warning:
// CHECK-DAG: IR printer: strategy of wide
// CHECK-DAG: IR printer: strategy of narrow
// CHECK-NOT: warning:

func.func @n256(%lhs: tensor<512x128xf16>, %rhs: tensor<256x128xf16>) -> tensor<512x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x256xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x256xf32>) -> tensor<512x256xf32>
  %result = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%lhs, %rhs : tensor<512x128xf16>, tensor<256x128xf16>) outs(%fill : tensor<512x256xf32>) -> tensor<512x256xf32>
  return %result : tensor<512x256xf32>
}

func.func @n512(%lhs: tensor<512x128xf16>, %rhs: tensor<512x128xf16>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512x512xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<512x512xf32>) -> tensor<512x512xf32>
  %result = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%lhs, %rhs : tensor<512x128xf16>, tensor<512x128xf16>) outs(%fill : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %result : tensor<512x512xf32>
}
