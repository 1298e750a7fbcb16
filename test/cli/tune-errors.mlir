// Bad input ends with one clear diagnostic and exit code 1, before anything is measured.

// RUN: rm -rf %t && mkdir -p %t

// Flags.
// RUN: not tuninglink tune %s --buget 3m 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown flag '--buget'; did you mean '--budget'?

// Devices. The machine's own GPUs are hidden: with one of them, the program would be tuned.
// RUN: not env CUDA_VISIBLE_DEVICES= tuninglink tune %s --iree-hal-target-device=cuda --iree-cuda-target=sm_80 2>&1 | filecheck %s --check-prefix=NO-DEVICE
// NO-DEVICE-NOT: comparing sets of flags
// NO-DEVICE: error: {{.*}}cuda
// RUN: not tuninglink tune %s --iree-hal-target-backends=vmvx --device cuad 2>&1 | filecheck %s --check-prefix=NO-DRIVER
// NO-DRIVER-NOT: comparing sets of flags
// NO-DRIVER: error: there is no driver 'cuad'; did you mean 'cuda'?
// NO-DRIVER: note: the runtime knows: {{.*}}local-task
// RUN: not tuninglink tune %s --iree-hal-target-backends=vmvx --device local-task://9 2>&1 | filecheck %s --check-prefix=NUMBER
// NUMBER-NOT: comparing sets of flags
// NUMBER: error: there is no device 'local-task://9'
// NUMBER: note: available: local-task://

// Clusters.
// RUN: not tuninglink tune %s --iree-hal-target-backends=vmvx --cluster tcp://127.0.0.1:1 2>&1 | filecheck %s --check-prefix=CLUSTER
// CLUSTER: error: no scheduler answers at 'tcp://127.0.0.1:1'
// CLUSTER: note: start one with 'dask scheduler', and workers with 'dask worker'

// Programs.
// RUN: not tuninglink tune %t/missing.mlir --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING-NOT: comparing sets of flags
// MISSING: error: cannot read '{{.*}}missing.mlir': no such file or directory
// RUN: echo "module {}" > %t/empty.mlir
// RUN: not tuninglink tune %t/empty.mlir --iree-hal-target-backends=vmvx --device local-sync 2>&1 | filecheck %s --check-prefix=EMPTY
// EMPTY-NOT: no sets were compared
// EMPTY: error: there is no dispatch in '{{.*}}empty.mlir'
// EMPTY-NEXT: note: no public function computes anything on a device
// What fails under each set of flags, too, is said once.
// RUN: echo 'func.func @main(%%a: tensor<4xf32>) -> tensor<4xf32> { %%0 = stablehlo.nosuch %%a : tensor<4xf32> return %%0 : tensor<4xf32> }' > %t/unknown.mlir
// RUN: not tuninglink tune %t/unknown.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --budget 30s 2>&1 | filecheck %s --check-prefix=OP
// OP: comparing sets of flags
// OP-NEXT: no sets were compared: without further flags, custom op 'stablehlo.nosuch' is unknown
// OP: unknown.mlir:1:{{[0-9]+}}: error: custom op 'stablehlo.nosuch' is unknown

// Specs.
// RUN: not tuninglink tune %s --spec %t/missing.mlir --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=SPEC
// SPEC-NOT: comparing sets of flags
// SPEC: error: cannot read the spec '{{.*}}missing.mlir': no such file or directory
// RUN: not tuninglink tune %s --spec-dir %t/missing --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=DIRECTORY
// DIRECTORY-NOT: comparing sets of flags
// DIRECTORY: error: the directory of default specs '{{.*}}missing' does not exist

// Outputs.
// RUN: not tuninglink tune %s -o %t/tuned.mlir --emit-script %t --iree-hal-target-backends=vmvx --device local-sync 2>&1 | filecheck %s --check-prefix=SCRIPT
// SCRIPT-NOT: comparing sets of flags
// SCRIPT: error: cannot write '{{.*}}': it is a directory

// Selections, before sets of flags are compared.
// RUN: not tuninglink tune %s --pipeline TileAndFuze --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync 2>&1 | filecheck %s --check-prefix=PIPELINE
// PIPELINE-NOT: comparing sets of flags
// PIPELINE: error: unknown pipeline 'TileAndFuze'; did you mean 'TileAndFuse'?
// PIPELINE: note: the compiler has {{.*}}DoubleTilingExpert
// RUN: not tuninglink tune %s --only attention --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync 2>&1 | filecheck %s --check-prefix=ONLY
// ONLY-NOT: comparing sets of flags
// ONLY: error: no dispatch matches --only
// RUN: not tuninglink tune %s --knob distributon[0]=8 --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync 2>&1 | filecheck %s --check-prefix=KNOB
// KNOB-NOT: comparing sets of flags
// KNOB: error: unknown knob 'distributon[0]'; did you mean 'distribution[0]'?

func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %sum = arith.addf %x, %x : tensor<64xf32>
  return %sum : tensor<64xf32>
}
