// Two products of one op of a model. The compiler's own configuration of the second one fails on gfx942.
func.func @f(%a: tensor<64x128xf16>, %b: tensor<128x64xf16>, %c: tensor<16x128xf16>, %d: tensor<16x64xf16>) -> (tensor<64x64xf32>, tensor<16x64xf16>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %first = linalg.matmul ins(%a, %b : tensor<64x128xf16>, tensor<128x64xf16>) outs(%start : tensor<64x64xf32>) -> tensor<64x64xf32> loc("model.py":10:5)
  %second = linalg.matmul ins(%c, %b : tensor<16x128xf16>, tensor<128x64xf16>) outs(%d : tensor<16x64xf16>) -> tensor<16x64xf16> loc("model.py":10:5)
  return %first, %second : tensor<64x64xf32>, tensor<16x64xf16>
}
