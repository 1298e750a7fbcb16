// The last line of `tune` compiles the program with its result: with flags that win, and with none.

// RUN: rm -rf %t && mkdir -p %t && cp %s %t/model.mlir
// RUN: echo "host: --iree-llvmcpu-target-cpu=host" > %t/faster
// RUN: echo "same: --iree-opt-aggressively-propagate-transposes" > %t/same

// Code for this processor is far faster than code for any one.
// RUN: cd %t && tuninglink tune model.mlir -o tuned.mlir --emit-script tuned.sh --flag-sets faster --budget 10m --trials 1 --search random --jobs 1 --no-model --no-reference --device local-sync --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu > result 2> progress
// RUN: filecheck %s --input-file=%t/result --check-prefix=RESULT
// RESULT: whole program: {{.+}} ms by default, {{.+}} ms tuned: speedup {{.+}} [{{.+}}, {{.+}}]
// RESULT: dispatch {{ *}} default {{ *}} tuned {{ *}} speedup {{ *}} tried
// RESULT: @main_dispatch_0 {{ *}} {{.+}}s {{.*}} 1
// RESULT: wrote tuned.mlir ({{[01]}} problem{{s?}}), tuned.flags (1 flag), tuned.sh
// RESULT: tuninglink compile model.mlir -o model.vmfb --spec tuned.mlir @tuned.flags --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu
// RESULT-NOT: {{.}}
// RUN: filecheck %s --input-file=%t/tuned.flags --check-prefix=FLAGS
// FLAGS: --iree-llvmcpu-target-cpu=host
// RUN: not grep "took" %t/progress
// RUN: cd %t && tail -n 1 result | sh
// RUN: iree-run-module --module=%t/model.vmfb --device=local-sync --input=256x256xf32=1 --input=256x256xf32=1 | filecheck %s --check-prefix=VALUES
// VALUES: 256x256xf32=[256 256

// The script compiles, runs and compares without Python.
// RUN: cd / && env REPETITIONS=2 MIN_TIME=2x sh %t/tuned.sh | filecheck %s --check-prefix=SCRIPT
// SCRIPT: main: the outputs agree (tolerance 0.01)
// SCRIPT-NEXT: main: default {{.+}} ms, tuned {{.+}} ms: speedup {{.+}} (medians of 2, interleaved)

// The stale response file is replaced with an empty one.
// RUN: cd %t && rm model.vmfb && tuninglink tune model.mlir -o tuned.mlir --flag-sets same --budget 10m --trials 1 --search random --jobs 1 --no-model --no-reference --device local-sync --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host > result 2> progress
// RUN: filecheck %s --input-file=%t/result --check-prefix=NONE
// NONE: wrote tuned.mlir ({{[01]}} problem{{s?}}), tuned.flags (0 flags)
// NONE: tuninglink compile model.mlir -o model.vmfb --spec tuned.mlir @tuned.flags
// RUN: test -e %t/tuned.flags -a ! -s %t/tuned.flags
// RUN: cd %t && tail -n 1 result | sh
// RUN: iree-run-module --module=%t/model.vmfb --device=local-sync --input=256x256xf32=1 --input=256x256xf32=1 | filecheck %s --check-prefix=VALUES

// A response file whose flags are given already is kept: they are part of what was tuned.
// RUN: cd %t && echo "--iree-llvmcpu-target-cpu=host" > tuned.flags && tuninglink tune model.mlir -o tuned.mlir --only-flags --flag-sets same --budget 10m --jobs 1 --device local-sync --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu @tuned.flags 2> progress
// RUN: filecheck %s --input-file=%t/tuned.flags --check-prefix=FLAGS

// A spec on standard output has no response file.
// RUN: cd %t && tuninglink tune model.mlir -o /dev/stdout --flag-sets faster --budget 10m --trials 1 --search random --jobs 1 --no-model --no-reference --device local-sync --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu > spec 2> progress
// RUN: filecheck %s --input-file=%t/spec --check-prefix=SPEC
// SPEC: module @tuned
// SPEC-NOT: whole program:
// RUN: filecheck %s --input-file=%t/progress --check-prefix=STREAM
// STREAM: whole program:
// STREAM: flags to compile with: --iree-llvmcpu-target-cpu=host
// RUN: not ls /dev/stdout.flags

// What cannot be written is reported before anything is compiled.
// RUN: mkdir %t/folder.flags
// RUN: cd %t && not tuninglink tune model.mlir -o folder.mlir --device local-sync --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu 2>&1 | filecheck %s --check-prefix=FOLDER
// FOLDER-NOT: comparing
// FOLDER: error: cannot write 'folder.flags': it is a directory

func.func @main(%x: tensor<256x256xf32>, %y: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x256xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x256xf32>) -> tensor<256x256xf32>
  %result = linalg.matmul ins(%x, %y : tensor<256x256xf32>, tensor<256x256xf32>) outs(%start : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}
