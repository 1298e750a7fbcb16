// A vector times a matrix in f32, as a model computes when it generates one token: what `tuninglink demo` tunes.

func.func @matmul(%lhs: tensor<1x1024xf32>, %rhs: tensor<1024x1024xf32>) -> tensor<1x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x1024xf32>) -> tensor<1x1024xf32>
  %result = linalg.matmul ins(%lhs, %rhs : tensor<1x1024xf32>, tensor<1024x1024xf32>)
      outs(%init : tensor<1x1024xf32>) -> tensor<1x1024xf32>
  return %result : tensor<1x1024xf32>
}
