// Where outputs are infinite or NaN and the expected ones are finite, the first dispatch that makes such values is named.

// RUN: rm -rf %t && mkdir -p %t
// RUN: sed '/^func.func @squares/,/^}/d' %s > %t/norm.mlir
// RUN: sed '/^func.func @norm/,/^}/d' %s > %t/squares.mlir

// The sum of 70,000 times 300 exceeds 65504.
// RUN: not tuninglink verify %t/norm.mlir --jobs 1 --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --input 4x70000xf16=300 --expected 4x70000xf16=0 2>/dev/null | filecheck %s
// CHECK: the whole program {{ *}}1 {{ *}}wrong {{ *}}infinities or NaNs where --expected is finite; first dispatch with infinities or NaNs: norm_dispatch_{{[01]}}_reduction_4x70000_f16, which adds up in f16, up to 65504; PyTorch adds up in f32: export with tuninglink.torch, or convert to f32 before the sum

// RUN: tuninglink verify %s --jobs 1 --trace --function norm --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --input 4x70000xf16=300 --expected 4x70000xf16=0 | filecheck %s --check-prefix=TRACE
// TRACE: first dispatch with infinities or NaNs: norm_dispatch_{{[01]}}_reduction_4x70000_f16, which adds up in f16,

func.func @norm(%x: tensor<4x70000xf16>) -> tensor<4x70000xf16> {
  %zero = arith.constant 0.0 : f16
  %count = arith.constant 6.5504e+04 : f16
  %empty = tensor.empty() : tensor<4xf16>
  %start = linalg.fill ins(%zero : f16) outs(%empty : tensor<4xf16>) -> tensor<4xf16>
  %doubles = tensor.empty() : tensor<4x70000xf16>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x70000xf16>) outs(%start : tensor<4xf16>) {
  ^bb0(%value: f16, %total: f16):
    %next = arith.addf %value, %total : f16
    linalg.yield %next : f16
  } -> tensor<4xf16>
  %fence = util.optimization_barrier %sum : tensor<4xf16>
  %centered = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x, %fence : tensor<4x70000xf16>, tensor<4xf16>) outs(%doubles : tensor<4x70000xf16>) {
  ^bb0(%value: f16, %total: f16, %out: f16):
    %mean = arith.divf %total, %count : f16
    %difference = arith.subf %value, %mean : f16
    linalg.yield %difference : f16
  } -> tensor<4x70000xf16>
  return %centered : tensor<4x70000xf16>
}

// RUN: not tuninglink verify %t/squares.mlir --jobs 1 --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --input 64x64xf16=300 --expected 64x64xf16=1 2>/dev/null | filecheck %s --check-prefix=SQUARES
// SQUARES: squares_dispatch_0_elementwise_{{.+}}, whose results exceed 65504, the largest number of f16: compute it in f32 or bf16

// Where the reference is not finite either, only the expected outputs of a framework can tell.
// RUN: tuninglink verify %s --jobs 1 --function squares --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --input 64x64xf16=300 2>/dev/null | filecheck %s --check-prefix=BOTH
// BOTH: the whole program {{ *}}1 {{ *}}right {{ *}}relative error 0 against {{.+}}; the reference has infinities or NaNs, too: --expected tells whether it should

func.func @squares(%x: tensor<64x64xf16>) -> tensor<64x64xf16> {
  %empty = tensor.empty() : tensor<64x64xf16>
  %square = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x64xf16>) outs(%empty : tensor<64x64xf16>) {
  ^bb0(%value: f16, %out: f16):
    %product = arith.mulf %value, %value : f16
    linalg.yield %product : f16
  } -> tensor<64x64xf16>
  return %square : tensor<64x64xf16>
}
