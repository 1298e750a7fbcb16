// Attention: plain, masked, in f32, and with a tail.

#query = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#key = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#value = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#scale = affine_map<(b, m, n, k1, k2) -> ()>
#mask = affine_map<(b, m, n, k1, k2) -> (b, m, k2)>
#out = affine_map<(b, m, n, k1, k2) -> (b, m, n)>

func.func @plain_f16(%query: tensor<4x128x64xf16>, %key: tensor<4x256x64xf16>, %value: tensor<4x256x64xf16>) -> tensor<4x128x64xf16> {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : tensor<4x128x64xf16>
  %result = iree_linalg_ext.attention <{indexing_maps = [#query, #key, #value, #scale, #out]}>
      ins(%query, %key, %value, %scale : tensor<4x128x64xf16>, tensor<4x256x64xf16>, tensor<4x256x64xf16>, f16)
      outs(%empty : tensor<4x128x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<4x128x64xf16>
  return %result : tensor<4x128x64xf16>
}

func.func @masked_f16(%query: tensor<4x64x64xf16>, %key: tensor<4x128x64xf16>, %value: tensor<4x128x64xf16>, %mask: tensor<4x64x128xf16>) -> tensor<4x64x64xf16> {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : tensor<4x64x64xf16>
  %result = iree_linalg_ext.attention <{indexing_maps = [#query, #key, #value, #scale, #mask, #out]}>
      ins(%query, %key, %value, %scale, %mask : tensor<4x64x64xf16>, tensor<4x128x64xf16>, tensor<4x128x64xf16>, f16, tensor<4x64x128xf16>)
      outs(%empty : tensor<4x64x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<4x64x64xf16>
  return %result : tensor<4x64x64xf16>
}

func.func @f32(%query: tensor<2x32x32xf32>, %key: tensor<2x64x32xf32>, %value: tensor<2x64x32xf32>) -> tensor<2x32x32xf32> {
  %scale = arith.constant 0.25 : f32
  %empty = tensor.empty() : tensor<2x32x32xf32>
  %result = iree_linalg_ext.attention <{indexing_maps = [#query, #key, #value, #scale, #out]}>
      ins(%query, %key, %value, %scale : tensor<2x32x32xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, f32)
      outs(%empty : tensor<2x32x32xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x32x32xf32>
  return %result : tensor<2x32x32xf32>
}

// A transposing tail is fused behind the attention.
func.func @transposed(%query: tensor<4x128x64xf16>, %key: tensor<4x256x64xf16>, %value: tensor<4x256x64xf16>) -> tensor<128x4x64xf16> {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : tensor<4x128x64xf16>
  %attention = iree_linalg_ext.attention <{indexing_maps = [#query, #key, #value, #scale, #out]}>
      ins(%query, %key, %value, %scale : tensor<4x128x64xf16>, tensor<4x256x64xf16>, tensor<4x256x64xf16>, f16)
      outs(%empty : tensor<4x128x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<4x128x64xf16>
  %swapped = tensor.empty() : tensor<128x4x64xf16>
  %result = linalg.transpose ins(%attention : tensor<4x128x64xf16>) outs(%swapped : tensor<128x4x64xf16>) permutation = [1, 0, 2]
  return %result : tensor<128x4x64xf16>
}
