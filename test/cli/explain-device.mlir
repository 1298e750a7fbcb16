// `explain --device` runs the program, and shows the time of each dispatch inside it.

// RUN: rm -rf %t && mkdir -p %t
// RUN: env TUNINGLINK_CACHE_DIR=%t/cache tuninglink explain %s --no-project --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --input 32x64xf32=1 -o %t/explanation.json
// RUN: filecheck %s --input-file %t/explanation.json --check-prefix=JSON
// JSON: "device": "{{[^"]+}}"
// JSON: "peaks": {"{{[^"]+}}": {{.*}}"tflops": {"fp32": 0.{{.*}}"measured": true
// JSON: "measure": "time"
// JSON: "microseconds": {{[0-9.]+}}
// JSON: "gflops": {{[0-9.]+}}

// The peak rates of the processor are measured once, and kept.
// RUN: env TUNINGLINK_CACHE_DIR=%t/cache tuninglink doctor | filecheck %s --check-prefix=DOCTOR
// DOCTOR: cache of URLs {{.*}} 0 files
// DOCTOR: peak rates {{.*}}FLOP/s fp32, {{.*}}B/s (measured with 1 thread on

// RUN: tuninglink explain %s --no-project --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-task | filecheck %s
// CHECK: cost {{.*}} 1 call, {{.*}} µs a call, {{.*}} GFLOP/s, {{.*}} GB/s, {{[0-9]+}} % of the measured peak
// CHECK: peak rates of {{.*}}FLOP/s fp32, {{.*}}B/s (measured with
// CHECK: times are of {{.*}} (local-task), inside the program; the dispatches take {{.*}} in a run

// What an entry saves is measured by a second run without specs.
// RUN: tuninglink init %s --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host -o %t/own.mlir
// RUN: env TUNINGLINK_CACHE_DIR=%t/cache tuninglink explain %s --spec %t/own.mlir --no-project --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --format json | filecheck %s --check-prefix=SAVED
// SAVED: "status": "tuned"{{.*}}"default_microseconds": {{[0-9]}}{{.*}}"saved_microseconds": {{-?[0-9]}}

// RUN: not tuninglink explain %s --no-project --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device cuad 2>&1 | filecheck %s --check-prefix=DRIVER
// DRIVER: error: there is no driver 'cuad'
// DRIVER: note: the runtime knows: {{.*}}local-sync

// RUN: not tuninglink explain %s --no-project --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --input 32x64xf32=1 2>&1 | filecheck %s --check-prefix=ALONE
// ALONE: error: flag '--input' needs '--device'

// RUN: not tuninglink explain %s --no-project --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --profile %s 2>&1 | filecheck %s --check-prefix=BOTH
// BOTH: error: flags '--device' and '--profile' exclude each other

// RUN: not tuninglink explain %s --no-project --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --input 32x65xf32=1 2>&1 | filecheck %s --check-prefix=INPUT
// INPUT: error: input 0 of function 'main' is 32x64xf32; '32x65xf32=1' is 32x65xf32

// RUN: not tuninglink explain - --no-project --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync < %s 2>&1 | filecheck %s --check-prefix=STDIN
// STDIN: error: a program from standard input can be read once only; '--device' needs a file

func.func @main(%x: tensor<32x64xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
  %weights = arith.constant dense<0.5> : tensor<64x32xf32>
  %product = linalg.matmul ins(%x, %weights : tensor<32x64xf32>, tensor<64x32xf32>)
      outs(%init : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %product : tensor<32x32xf32>
}
