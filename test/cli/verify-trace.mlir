// Dispatches are compared on the values that they get as the program runs, on the device and on the CPU.

// RUN: tuninglink verify %s --jobs 1 --trace --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --input 32x64xf32=0.5 --input 64x16xf32=2 --expected 32x16xf32=128 | filecheck %s
// CHECK: @main: relative errors against the reference
// CHECK: dispatch {{.*}} result {{ *}}inputs {{ *}}outputs {{ *}}tolerance {{ *}}largest value
// CHECK: 0 main_dispatch_0_elementwise_{{.+}} agrees {{ *}}0 {{ *}}0 {{ *}}0.0001 {{ *}}1
// CHECK-NEXT: 1 main_dispatch_1_matmul_{{.+}} agrees {{ *}}0 {{ *}}0 {{ *}}0.0001 {{ *}}1.3e+02
// CHECK: outputs without traces, against the reference: 0
// CHECK: outputs with traces, against --expected: 0
// CHECK: all dispatches and the outputs agree

// Where dispatches agree and the outputs are not those expected, the fault is elsewhere.
// RUN: tuninglink verify %s --jobs 1 --trace --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --input 32x64xf32=0.5 --input 64x16xf32=2 --expected 32x16xf32=126 | filecheck %s --check-prefix=ELSEWHERE
// ELSEWHERE: outputs of the reference, against --expected: 0.016
// ELSEWHERE: all dispatches and the outputs agree with the reference, which is made of the same program, and differ from --expected:

// RUN: tuninglink verify %s --jobs 1 --trace --format json --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync | filecheck %s --check-prefix=JSON
// JSON: "name": "main",
// JSON: "result": "agrees"

// Data tiling changes the operands of a dispatch.
// RUN: tuninglink verify %examples/model_mlp.mlir --jobs 1 --trace --iree-opt-data-tiling --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync | filecheck %s --check-prefix=TILED
// TILED: 0 model_dispatch_1_matmul_{{.+}} agrees
// TILED-NEXT: not compared: 1 of 2 dispatches: data tiling changes their operands
// TILED: all compared dispatches and the outputs agree

// The whole program is the last row.
// RUN: not tuninglink verify %s --jobs 1 --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --input 32x64xf32=0.5 --input 64x16xf32=2 --expected 32x16xf32=126 2>/dev/null | filecheck %s --check-prefix=WRONG
// WRONG: main_dispatch_1_matmul_{{.+}} right
// WRONG: the whole program {{ *}}1 {{ *}}wrong {{ *}}relative error 0.016 against --expected, at most 0.0001 is rounding; --trace shows where they diverge

// RUN: not tuninglink verify - --trace < %s 2>&1 | filecheck %s --check-prefix=STDIN
// STDIN: error: --trace compiles the program twice; standard input can be read once only

func.func @main(%a: tensor<32x64xf32>, %b: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty0 = tensor.empty() : tensor<64x32xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%a : tensor<32x64xf32>) outs(%empty0 : tensor<64x32xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %x : f32
    linalg.yield %z : f32
  } -> tensor<64x32xf32>
  %fence = util.optimization_barrier %sum : tensor<64x32xf32>
  %empty1 = tensor.empty() : tensor<32x16xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty1 : tensor<32x16xf32>) -> tensor<32x16xf32>
  %empty2 = tensor.empty() : tensor<32x64xf32>
  %turned = linalg.transpose ins(%fence : tensor<64x32xf32>) outs(%empty2 : tensor<32x64xf32>) permutation = [1, 0]
  %product = linalg.matmul ins(%turned, %b : tensor<32x64xf32>, tensor<64x16xf32>)
      outs(%start : tensor<32x16xf32>) -> tensor<32x16xf32>
  return %product : tensor<32x16xf32>
}
