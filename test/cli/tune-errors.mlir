// Bad input ends with one clear diagnostic and exit code 1, before anything is measured.

// RUN: rm -rf %t && mkdir -p %t

// Flags.
// RUN: not tuninglink tune 2>&1 | filecheck %s --check-prefix=NO-INPUT
// NO-INPUT: error: no input; name a program, or - for standard input
// RUN: not tuninglink tune %s --budget 0 2>&1 | filecheck %s --check-prefix=BUDGET
// BUDGET: error: '0' is no value for flag '--budget': there is no time to tune in
// RUN: not tuninglink tune %s --budget soon 2>&1 | filecheck %s --check-prefix=TIME
// TIME: error: 'soon' is no value for flag '--budget': expected a time such as 90s, 10m or 1.5h
// RUN: not tuninglink tune %s --min-gain 200%% 2>&1 | filecheck %s --check-prefix=PART
// PART: error: '200%' is no value for flag '--min-gain': expected a part such as 2% or 0.02
// RUN: not tuninglink tune %s --trials 0 2>&1 | filecheck %s --check-prefix=TRIALS
// TRIALS: error: '0' is no value for flag '--trials': expected a number above 0
// RUN: not tuninglink tune %s --compile-to=flow 2>&1 | filecheck %s --check-prefix=OF-NO-USE
// OF-NO-USE: error: flag '--compile-to' is of no use here: nothing but a spec is written
// RUN: not tuninglink tune %s --buget 3m 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown flag '--buget'; did you mean '--budget'?
// RUN: not tuninglink tune %s --iree-hal-target-backends=vmvx --search best 2>&1 | filecheck %s --check-prefix=SEARCH
// SEARCH: error: {{.*}}'best'
// RUN: not tuninglink tune %s --iree-hal-target-backends=vmvx -o %t/nowhere/tuned.mlir 2>&1 | filecheck %s --check-prefix=OUTPUT
// OUTPUT: error: cannot write '{{.*}}/nowhere/tuned.mlir': the directory '{{.*}}/nowhere' does not exist

// Devices.
// RUN: not tuninglink tune %s --iree-hal-target-backends=vmvx --device warp://0 2>&1 | filecheck %s --check-prefix=DRIVER
// DRIVER: error: there is no driver 'warp'
// RUN: not tuninglink tune %s --iree-hal-target-device=cuda --iree-cuda-target=sm_80 2>&1 | filecheck %s --check-prefix=NO-DEVICE
// NO-DEVICE: error: {{.*}}cuda
// RUN: not tuninglink tune %s --iree-hal-target-device=cuda --iree-cuda-target=sm_80 --device local-sync 2>&1 | filecheck %s --check-prefix=MISMATCH
// MISMATCH: error: there is no dispatch to tune
// MISMATCH: note: @main_dispatch_0::@cuda_nvptx_fb: driver 'local-sync' does not run what 'cuda' compiles

// Clusters.
// RUN: not tuninglink tune %s --iree-hal-target-backends=vmvx --cluster tcp://127.0.0.1:1 2>&1 | filecheck %s --check-prefix=CLUSTER
// CLUSTER: error: no scheduler answers at 'tcp://127.0.0.1:1'
// CLUSTER: note: start one with 'dask scheduler', and workers with 'dask worker'

// Programs.
// RUN: not tuninglink tune %t/missing.mlir --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING: error: cannot read '{{.*}}missing.mlir': no such file or directory
// RUN: not tuninglink tune %examples/spec_llvm_cpu.mlir --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=A-SPEC
// A-SPEC: error: this is a tuning spec, not a program
// RUN: not tuninglink tune %s --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --only attention 2>&1 | filecheck %s --check-prefix=ONLY
// ONLY: error: there is no dispatch that --only means
// RUN: not tuninglink tune %S/Inputs/tune_dynamic.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync 2>&1 | filecheck %s --check-prefix=DYNAMIC
// DYNAMIC: error: there is no dispatch to tune
// DYNAMIC: its sizes are dynamic: they are known only when the program runs
// RUN: not tuninglink tune %S/Inputs/tune_dynamic.mlir --dim 1.0=8 --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=NO-DIMENSION
// NO-DIMENSION: error: '--dim 1.0=8' is about no dynamic dimension of the program's arguments
// NO-DIMENSION: note: dynamic dimensions: 0.0
// RUN: not tuninglink tune %S/Inputs/tune_dynamic.mlir --dim x=8 --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=SIZE
// SIZE: error: 'x=8' is no value for flag '--dim': expected a size, or ARGUMENT.DIMENSION=SIZE such as 0.1=128

func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %sum = arith.addf %x, %x : tensor<64xf32>
  return %sum : tensor<64xf32>
}
