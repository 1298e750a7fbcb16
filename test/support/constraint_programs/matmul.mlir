func.func @matmul(%lhs: tensor<64x128xf16>, %rhs: tensor<96x128xf16>) -> tensor<64x96xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x96xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x96xf32>) -> tensor<64x96xf32>
  %result = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<64x128xf16>, tensor<96x128xf16>) outs(%fill : tensor<64x96xf32>) {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<64x96xf32>
  return %result : tensor<64x96xf32>
}
