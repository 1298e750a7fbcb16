func.func @convolution(%image: tensor<1x10x10x32xf16>, %filter: tensor<3x3x32x32xf16>) -> tensor<1x8x8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x8x8x32xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %result = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %filter : tensor<1x10x10x32xf16>, tensor<3x3x32x32xf16>)
      outs(%fill : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  return %result : tensor<1x8x8x32xf32>
}
