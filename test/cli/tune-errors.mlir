// Bad input ends with one clear diagnostic and exit code 1, before anything is measured.

// RUN: rm -rf %t && mkdir -p %t

// Flags.
// RUN: not tuninglink tune %s --buget 3m 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown flag '--buget'; did you mean '--budget'?
// RUN: not tuninglink tune %s --iree-hal-target-backends=vmvx --search best 2>&1 | filecheck %s --check-prefix=SEARCH
// SEARCH: error: {{.*}}'best'
// RUN: not tuninglink tune %s --iree-hal-target-backends=vmvx -o %t/nowhere/tuned.mlir 2>&1 | filecheck %s --check-prefix=OUTPUT
// OUTPUT: error: cannot write '{{.*}}/nowhere/tuned.mlir': the directory '{{.*}}/nowhere' does not exist

// RUN: not tuninglink tune %s -o %t 2>&1 | filecheck %s --check-prefix=DIRECTORY
// DIRECTORY: error: cannot write '{{.*}}': it is a directory
// RUN: not tuninglink tune %s --iree-hal-target-backends=vmvx --report %s 2>&1 | filecheck %s --check-prefix=REPORT
// REPORT: error: cannot make '{{.*}}tune-errors.mlir'
// RUN: not tuninglink tune %s --iree-hal-target-backends=vmvx --database %t 2>&1 | filecheck %s --check-prefix=DATABASE
// DATABASE: error: database '{{.*}}'

// Targets.
// RUN: not tuninglink tune %s 2>&1 | filecheck %s --check-prefix=NO-TARGET
// NO-TARGET: error: no target; name what the program is compiled for
// NO-TARGET: note: for this CPU: --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host
// NO-TARGET: note: for CUDA: --iree-hal-target-device=cuda --iree-cuda-target=sm_80
// NO-TARGET: note: for HIP: --iree-hal-target-device=hip --iree-rocm-target=gfx942
// RUN: not tuninglink tune %s --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --device cuda 2>&1 | filecheck %s --check-prefix=GENERIC
// GENERIC: warning: the target is a generic x86_64 CPU; for this machine's, add --iree-llvmcpu-target-cpu=host

// Devices.
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

func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %sum = arith.addf %x, %x : tensor<64xf32>
  return %sum : tensor<64xf32>
}
