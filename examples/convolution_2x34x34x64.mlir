// A 3x3 convolution of images with 64 channels, as in the first stages of image models.

func.func @convolution(%image: tensor<2x34x34x64xf16>, %filter: tensor<3x3x64x128xf16>)
    -> tensor<2x32x32x128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x32x32x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x32x32x128xf32>)
      -> tensor<2x32x32x128xf32>
  %result = linalg.conv_2d_nhwc_hwcf
      ins(%image, %filter : tensor<2x34x34x64xf16>, tensor<3x3x64x128xf16>)
      outs(%init : tensor<2x32x32x128xf32>) -> tensor<2x32x32x128xf32>
  return %result : tensor<2x32x32x128xf32>
}
