func.func @batched_matmul(%lhs: tensor<4x64x128xf16>, %rhs: tensor<4x128x64xf16>) -> tensor<4x64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x64x64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %result = linalg.batch_matmul ins(%lhs, %rhs : tensor<4x64x128xf16>, tensor<4x128x64xf16>)
      outs(%fill : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  return %result : tensor<4x64x64xf32>
}
