// Sets of flags are compared by the time of the whole program: a set that does not compile is a note, and one that gives
// the same code is not timed. What wins is written next to the spec, as a response file, which is empty
// if nothing wins.

// RUN: rm -rf %t && mkdir -p %t && echo "stale" > %t/tuned.flags
// RUN: echo "broken: --iree-llvmcpu-vector-pproc-strategy=nonsense" > %t/sets
// RUN: echo "same: --iree-opt-aggressively-propagate-transposes" >> %t/sets
// RUN: tuninglink tune %s -o %t/tuned.mlir --jobs 1 --only-flags --flag-sets %t/sets --budget 10m --device local-sync --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host 2>&1 | filecheck %s
// CHECK: comparing sets of flags
// CHECK-NEXT: broken: the compiler rejects the flags
// CHECK-NEXT: same: the same code as the default
// CHECK: no set is faster
// CHECK: wrote {{.*}}tuned.flags (0 flags)
// CHECK: tuninglink compile {{.*}}tune-flags.mlir -o tune-flags.vmfb @{{.*}}tuned.flags --iree-hal-target-device=local
// RUN: test -e %t/tuned.flags -a ! -s %t/tuned.flags
// RUN: not ls %t/tuned.mlir

// RUN: not tuninglink tune %s --only-flags --flag-sets %t/missing --budget 10m --device local-sync --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING: error: cannot read '{{.*}}missing'

// RUN: not tuninglink tune %s --only-flags --flag-sets none --iree-hal-target-device=local 2>&1 | filecheck %s --check-prefix=NOTHING
// NOTHING: error: flag '--only-flags' has nothing to compare with '--flag-sets none'
// NOTHING: note: '--flag-sets FILE' names sets

// RUN: echo 'name: "--iree-opt-level=O2' > %t/quotes
// RUN: not tuninglink tune %s --only-flags --flag-sets %t/quotes --iree-hal-target-device=local 2>&1 | filecheck %s --check-prefix=QUOTES
// QUOTES: quotes:1: not a set of flags

func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = arith.addf %x, %x : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
