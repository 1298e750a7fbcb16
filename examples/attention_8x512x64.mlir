// Attention with 8 heads over 512 tokens of 64 elements.

#query = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#key = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#value = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#scale = affine_map<(b, m, n, k1, k2) -> ()>
#output = affine_map<(b, m, n, k1, k2) -> (b, m, n)>

func.func @attention(%query: tensor<8x512x64xf16>, %key: tensor<8x512x64xf16>,
    %value: tensor<8x512x64xf16>) -> tensor<8x512x64xf16> {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : tensor<8x512x64xf16>
  %result = iree_linalg_ext.attention <{
      indexing_maps = [#query, #key, #value, #scale, #output]}>
      ins(%query, %key, %value, %scale
        : tensor<8x512x64xf16>, tensor<8x512x64xf16>, tensor<8x512x64xf16>, f16)
      outs(%empty : tensor<8x512x64xf16>) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
  } -> tensor<8x512x64xf16>
  return %result : tensor<8x512x64xf16>
}
