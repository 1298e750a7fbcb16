// Bad input ends with one clear diagnostic and exit code 1, and leaves what was there before.

// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/../support/elementwise_specs.py vmvx mine > %t/spec.mlir

// Flags.
// RUN: not tuninglink compile 2>&1 | filecheck %s --check-prefix=NO-INPUT
// NO-INPUT: error: no input; name a program, or - for standard input
// RUN: not tuninglink compile %s --iree-hal-target-backend=vmvx 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown flag '--iree-hal-target-backend'; did you mean '--iree-hal-target-backends'?
// RUN: not tuninglink compile %s --iree-hal-target-backends=vmvx --mlir-timing=3 2>&1 | filecheck %s --check-prefix=GLOBAL
// GLOBAL: tuninglink compile: for the --mlir-timing option: '3' is invalid value for boolean argument! Try 0 or 1

// Targets that the compiler does not know, some of which it would not survive.
// RUN: not tuninglink compile %s --iree-hal-target-backends=vmx 2>&1 | filecheck %s --check-prefix=BACKEND
// BACKEND: error: target backend 'vmx' is not registered; known: cuda, llvm-cpu, metal-spirv, rocm, vmvx, vmvx-inline, vulkan-spirv
// RUN: not tuninglink compile %s --iree-hal-target-device=hop 2>&1 | filecheck %s --check-prefix=DEVICE
// DEVICE: error: unregistered device alias "hop"; ensure it is linked into the compiler
// RUN: not tuninglink compile %s --iree-hal-target-device=hip --iree-rocm-target=gfx1 2>&1 | filecheck %s --check-prefix=ROCM
// ROCM: error: Unknown ROCM target 'gfx1'
// RUN: not tuninglink compile %s --iree-hal-target-device=cuda --iree-cuda-target=sm_1 2>&1 | filecheck %s --check-prefix=CUDA
// CUDA: error: the compiler refuses --iree-cuda-target=sm_1

// The program.
// RUN: not tuninglink compile %t/nowhere.mlir --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING: error: cannot read '{{.*}}/nowhere.mlir': no such file or directory
// RUN: not tuninglink compile %t --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=DIRECTORY
// DIRECTORY: error: cannot read '{{.*}}': is a directory
// RUN: touch %t/empty.mlir
// RUN: not tuninglink compile %t/empty.mlir --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=EMPTY
// EMPTY: error: '{{.*}}/empty.mlir' is empty; expected a program in MLIR
// RUN: %python -c "import sys; sys.stdout.buffer.write(bytes(range(256)))" > %t/binary.mlir
// RUN: not tuninglink compile %t/binary.mlir --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=BINARY
// BINARY: error: '{{.*}}/binary.mlir' is neither MLIR text nor MLIR bytecode
// RUN: cp %t/binary.mlir %t/model.onnx
// RUN: not tuninglink compile %t/model.onnx --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=ONNX
// ONNX: error: cannot import '{{.*}}/model.onnx': {{.+}}
// ONNX: note: 'iree-import-onnx {{.*}}/model.onnx -o model.mlir' has options for models like it
// RUN: iree-compile %s --compile-to=input --emit-mlir-bytecode -o %t/program.mlirbc
// RUN: head -c 100 %t/program.mlirbc > %t/truncated.mlirbc
// RUN: not tuninglink compile %t/truncated.mlirbc --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=TRUNCATED
// TRUNCATED: truncated.mlirbc:0:0: error: attempting to parse {{[0-9]+}} bytes when only {{[0-9]+}} remain
// RUN: echo "func.func @f() { nonsense }" > %t/syntax.mlir
// RUN: not tuninglink compile %t/syntax.mlir --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=SYNTAX
// SYNTAX: syntax.mlir:1:18: error: custom op 'nonsense' is unknown (tried 'func.nonsense' as well)
// SYNTAX-NEXT: func.func @f() { nonsense }
// SYNTAX-NEXT: {{^                 \^}}
// RUN: not tuninglink compile %t/spec.mlir --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=SPEC
// SPEC: spec.mlir:2:1: error: this is a tuning spec, not a program; give it with --spec, and a program as input
// RUN: not tuninglink compile %s --compile-from=hal --compile-to=flow --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=ORDER
// ORDER: error: compile-from phase hal must precede compile-to phase flow

// Specs.
// RUN: not tuninglink compile %s --spec %t/nowhere.mlir --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=NO-SPEC
// NO-SPEC: error: cannot read the spec '{{.*}}/nowhere.mlir': no such file or directory
// RUN: not tuninglink compile %s --spec %t/program.mlirbc --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=NOT-SPEC
// NOT-SPEC: error: not a tuning spec
// RUN: not tuninglink compile %s --spec-dir %t/nowhere --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=SPEC-DIR
// SPEC-DIR: error: the directory of default specs '{{.*}}/nowhere' does not exist
// RUN: not tuninglink compile %s --spec %t/spec.mlir --dump-specs-to=%t/spec.mlir --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=DUMP
// DUMP: error: cannot make '{{.*}}/spec.mlir'

// The output, which is there whole or not at all.
// RUN: echo before > %t/out.vmfb
// RUN: not tuninglink compile %t/syntax.mlir --iree-hal-target-backends=vmvx -o %t/out.vmfb 2>/dev/null
// RUN: grep before %t/out.vmfb
// RUN: not tuninglink compile %s --iree-hal-target-backends=vmvx -o %t/nowhere/out.vmfb 2>&1 | filecheck %s --check-prefix=OUTPUT
// OUTPUT: error: cannot write '{{.*}}/nowhere/out.vmfb': no such file or directory
// RUN: not tuninglink compile %s --iree-hal-target-backends=vmvx -o %t 2>&1 | filecheck %s --check-prefix=OUTPUT-DIRECTORY
// OUTPUT-DIRECTORY: error: cannot write '{{.*}}': is a directory
// RUN: ls -A %t | filecheck %s --check-prefix=LEFT
// LEFT-NOT: tuninglink

func.func @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> {
  %sum = arith.addf %a, %b : tensor<16xf32>
  return %sum : tensor<16xf32>
}
