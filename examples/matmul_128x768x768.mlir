// A matmul in f32 that a CPU computes in about a millisecond.

func.func @matmul(%lhs: tensor<128x768xf32>, %rhs: tensor<768x768xf32>) -> tensor<128x768xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x768xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x768xf32>) -> tensor<128x768xf32>
  %result = linalg.matmul ins(%lhs, %rhs : tensor<128x768xf32>, tensor<768x768xf32>)
      outs(%init : tensor<128x768xf32>) -> tensor<128x768xf32>
  return %result : tensor<128x768xf32>
}
