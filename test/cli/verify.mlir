// Whether the dispatches of a program compute what they should; nothing is tuned.

// RUN: tuninglink verify %s --jobs 1 --device local-sync --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host 2>%t.progress | filecheck %s
// RUN: filecheck %s --input-file=%t.progress --check-prefix=PROGRESS
// CHECK: dispatch {{ *}}calls {{ *}}result {{ *}}finding
// CHECK: main_dispatch_0_matmul_24x40x56_f32 {{ *}}1 {{ *}}right {{ *}}as NumPy computes {{[0-9]+}} elements
// CHECK: 1 dispatch: 1 right
// PROGRESS: 1 of 1: main_dispatch_0_matmul_24x40x56_f32: right

// RUN: tuninglink verify %s --jobs 1 --quiet --format json --device local-sync --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host | filecheck %s --check-prefix=JSON
// JSON: "result": "right"

// RUN: not tuninglink verify %s --jobs 1 --only softmax --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host 2>&1 | filecheck %s --check-prefix=NONE
// NONE: error: no dispatch matches --only

func.func @main(%a: tensor<24x56xf32>, %b: tensor<56x40xf32>) -> tensor<24x40xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<24x40xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<24x40xf32>) -> tensor<24x40xf32>
  %product = linalg.matmul ins(%a, %b : tensor<24x56xf32>, tensor<56x40xf32>) outs(%start : tensor<24x40xf32>) -> tensor<24x40xf32>
  return %product : tensor<24x40xf32>
}
