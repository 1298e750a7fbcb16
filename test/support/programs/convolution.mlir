// Convolutions: both layouts, grouped by channel, as a generic op, and pooling.

func.func @nhwc_f16(%image: tensor<1x18x18x64xf16>, %filter: tensor<3x3x64x32xf16>) -> tensor<1x16x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x16x16x32xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xf32>
  %result = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %filter : tensor<1x18x18x64xf16>, tensor<3x3x64x32xf16>)
      outs(%fill : tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xf32>
  return %result : tensor<1x16x16x32xf32>
}

func.func @nchw_f32(%image: tensor<1x16x18x18xf32>, %filter: tensor<32x16x3x3xf32>) -> tensor<1x32x16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x32x16x16xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x32x16x16xf32>) -> tensor<1x32x16x16xf32>
  %result = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %filter : tensor<1x16x18x18xf32>, tensor<32x16x3x3xf32>)
      outs(%fill : tensor<1x32x16x16xf32>) -> tensor<1x32x16x16xf32>
  return %result : tensor<1x32x16x16xf32>
}

func.func @strided_bias(%image: tensor<2x17x17x32xf16>, %filter: tensor<3x3x32x16xf16>, %bias: tensor<16xf32>) -> tensor<2x8x8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x8x8x16xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
  %conv = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%image, %filter : tensor<2x17x17x32xf16>, tensor<3x3x32x16xf16>)
      outs(%fill : tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
  %result = linalg.generic {
      indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (c)>, affine_map<(n, h, w, c) -> (n, h, w, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]
    } ins(%conv, %bias : tensor<2x8x8x16xf32>, tensor<16xf32>) outs(%empty : tensor<2x8x8x16xf32>) {
  ^bb0(%p: f32, %b: f32, %o: f32):
    %sum = arith.addf %p, %b : f32
    linalg.yield %sum : f32
  } -> tensor<2x8x8x16xf32>
  return %result : tensor<2x8x8x16xf32>
}

func.func @depthwise_f32(%image: tensor<1x18x18x32xf32>, %filter: tensor<3x3x32xf32>) -> tensor<1x16x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x16x16x32xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xf32>
  %result = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %filter : tensor<1x18x18x32xf32>, tensor<3x3x32xf32>)
      outs(%fill : tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xf32>
  return %result : tensor<1x16x16x32xf32>
}

func.func @generic_f16(%image: tensor<2x10x10x32xf16>, %filter: tensor<64x3x3x32xf16>) -> tensor<2x8x8x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x8x8x64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x8x8x64xf32>) -> tensor<2x8x8x64xf32>
  %result = linalg.generic {
      indexing_maps = [
        affine_map<(n, h, w, f, y, x, c) -> (n, h + y, w + x, c)>,
        affine_map<(n, h, w, f, y, x, c) -> (f, y, x, c)>,
        affine_map<(n, h, w, f, y, x, c) -> (n, h, w, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
    } ins(%image, %filter : tensor<2x10x10x32xf16>, tensor<64x3x3x32xf16>) outs(%fill : tensor<2x8x8x64xf32>) {
  ^bb0(%i: f16, %f: f16, %o: f32):
    %wide_i = arith.extf %i : f16 to f32
    %wide_f = arith.extf %f : f16 to f32
    %product = arith.mulf %wide_i, %wide_f : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<2x8x8x64xf32>
  return %result : tensor<2x8x8x64xf32>
}

func.func @max_pooling(%image: tensor<1x16x16x32xf32>) -> tensor<1x8x8x32xf32> {
  %low = arith.constant 0xFF800000 : f32
  %window = tensor.empty() : tensor<2x2xf32>
  %empty = tensor.empty() : tensor<1x8x8x32xf32>
  %fill = linalg.fill ins(%low : f32) outs(%empty : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %result = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%image, %window : tensor<1x16x16x32xf32>, tensor<2x2xf32>)
      outs(%fill : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  return %result : tensor<1x8x8x32xf32>
}
