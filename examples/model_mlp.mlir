// A whole small model: two dense layers with a ReLU between them, weights included.

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#element = affine_map<(m, n) -> (m, n)>
#bias = affine_map<(m, n) -> (n)>

util.global private @first_weight = #util.uninitialized : tensor<256x128xf32>
util.global private @second_weight = #util.uninitialized : tensor<64x256xf32>

func.func @model(%input: tensor<32x128xf32>, %first_bias: tensor<256xf32>) -> tensor<32x64xf32> {
  %first = util.global.load @first_weight : tensor<256x128xf32>
  %second = util.global.load @second_weight : tensor<64x256xf32>
  %zero = arith.constant 0.0 : f32

  %hidden_empty = tensor.empty() : tensor<32x256xf32>
  %hidden_init = linalg.fill ins(%zero : f32) outs(%hidden_empty : tensor<32x256xf32>)
      -> tensor<32x256xf32>
  %hidden = linalg.matmul indexing_maps = [#lhs, #rhs, #out]
      ins(%input, %first : tensor<32x128xf32>, tensor<256x128xf32>)
      outs(%hidden_init : tensor<32x256xf32>) -> tensor<32x256xf32>
  %active = linalg.generic {
      indexing_maps = [#element, #bias, #element], iterator_types = ["parallel", "parallel"]}
      ins(%hidden, %first_bias : tensor<32x256xf32>, tensor<256xf32>)
      outs(%hidden_empty : tensor<32x256xf32>) {
    ^bb0(%value: f32, %bias: f32, %unused: f32):
      %sum = arith.addf %value, %bias : f32
      %relu = arith.maximumf %sum, %zero : f32
      linalg.yield %relu : f32
  } -> tensor<32x256xf32>

  %output_empty = tensor.empty() : tensor<32x64xf32>
  %output_init = linalg.fill ins(%zero : f32) outs(%output_empty : tensor<32x64xf32>)
      -> tensor<32x64xf32>
  %output = linalg.matmul indexing_maps = [#lhs, #rhs, #out]
      ins(%active, %second : tensor<32x256xf32>, tensor<64x256xf32>)
      outs(%output_init : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %output : tensor<32x64xf32>
}
