// A linear layer as PyTorch exports it: its weights are transposed.

func.func @linear(%x: tensor<4x256xf32>, %weights: tensor<256x256xf32>) -> tensor<4x256xf32> {
  %shape = tensor.empty() : tensor<256x256xf32>
  %transposed = linalg.transpose ins(%weights : tensor<256x256xf32>)
      outs(%shape : tensor<256x256xf32>) permutation = [1, 0]
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x256xf32>) -> tensor<4x256xf32>
  %result = linalg.matmul ins(%x, %transposed : tensor<4x256xf32>, tensor<256x256xf32>)
      outs(%init : tensor<4x256xf32>) -> tensor<4x256xf32>
  return %result : tensor<4x256xf32>
}
