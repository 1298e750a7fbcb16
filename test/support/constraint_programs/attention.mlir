func.func @attention(%query: tensor<2x64x64xf16>, %key: tensor<2x128x64xf16>, %value: tensor<2x128x64xf16>) -> tensor<2x64x64xf16> {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : tensor<2x64x64xf16>
  %result = iree_linalg_ext.attention <{indexing_maps = [
        affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
        affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>,
        affine_map<(b, m, n, k1, k2) -> (b, m, n)>]}>
      ins(%query, %key, %value, %scale : tensor<2x64x64xf16>, tensor<2x128x64xf16>, tensor<2x128x64xf16>, f16)
      outs(%empty : tensor<2x64x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x64x64xf16>
  return %result : tensor<2x64x64xf16>
}
