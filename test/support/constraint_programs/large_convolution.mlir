func.func @large_convolution(%image: tensor<2x66x66x640xf16>, %filter: tensor<3x3x640x640xf16>) -> tensor<2x64x64x640xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x64x64x640xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x64x64x640xf32>) -> tensor<2x64x64x640xf32>
  %result = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %filter : tensor<2x66x66x640xf16>, tensor<3x3x640x640xf16>)
      outs(%fill : tensor<2x64x64x640xf32>) -> tensor<2x64x64x640xf32>
  return %result : tensor<2x64x64x640xf32>
}
