// A convolution whose channels do not come last is slow on CPUs whatever the configuration: explain names it.

// RUN: tuninglink explain %s --no-default-specs --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=znver4 | filecheck %s
// RUN: tuninglink explain %s --no-default-specs --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=znver4 --format json | filecheck %s --check-prefix=JSON
// RUN: tuninglink explain %s --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 | filecheck %s --check-prefix=GPU
// CHECK: @channels_first{{.*}}convolution 14x14x32 {{.*}} chw_fchw
// CHECK: layout {{ *}}image and filter are fast with their channels last, NHWC and HWCF
// CHECK: @channels_last{{.*}}convolution 14x14x32 {{.*}} hwc_hwcf
// CHECK-NOT: channels last
// JSON: "hint": "image and filter are fast
// GPU: chw_fchw
// GPU-NOT: channels last

func.func @channels_first(%image: tensor<1x16x16x16xf32>, %filter: tensor<32x16x3x3xf32>) -> tensor<1x32x14x14xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x32x14x14xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x32x14x14xf32>) -> tensor<1x32x14x14xf32>
  %result = linalg.conv_2d_nchw_fchw ins(%image, %filter : tensor<1x16x16x16xf32>, tensor<32x16x3x3xf32>) outs(%filled : tensor<1x32x14x14xf32>) -> tensor<1x32x14x14xf32>
  return %result : tensor<1x32x14x14xf32>
}

func.func @channels_last(%image: tensor<1x16x16x16xf32>, %filter: tensor<3x3x16x32xf32>) -> tensor<1x14x14x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x14x14x32xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xf32>
  %result = linalg.conv_2d_nhwc_hwcf ins(%image, %filter : tensor<1x16x16x16xf32>, tensor<3x3x16x32xf32>) outs(%filled : tensor<1x14x14x32xf32>) -> tensor<1x14x14x32xf32>
  return %result : tensor<1x14x14x32xf32>
}
