// With `--no-default-specs` and no spec `tuninglink compile` writes, byte for byte, what `iree-compile` writes,
// also where the default spec has an entry for the program. `test_compiler_sessions.py` compares on every target.

// RUN: tuninglink compile %s --no-default-specs --iree-hal-target-backends=vmvx -o %t.ours
// RUN: iree-compile %s --iree-hal-target-backends=vmvx -o %t.vmvx
// RUN: cmp %t.ours %t.vmvx

// RUN: tuninglink compile %examples/mmt_2048x1280x5120.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t.ours 2>%t.silence
// RUN: not grep . %t.silence
// RUN: iree-compile %examples/mmt_2048x1280x5120.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t.theirs
// RUN: cmp %t.ours %t.theirs
// RUN: tuninglink compile %examples/mmt_2048x1280x5120.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t.ours 2>&1 | filecheck %s --check-prefix=DEFAULT
// RUN: not cmp %t.ours %t.theirs
// DEFAULT: remark: the default spec for gfx942 configured 1 operation; '--no-default-specs' leaves it out
// DEFAULT-NEXT: note: entry 'match_matmul_transpose_b_2048x1280x5120_f16' configured 1 operation
// DEFAULT-NEXT: note: the spec is '{{.*}}gfx942.mlir{{.*}}'

// Default specs are on; where none is for the target, or none of its entries matches, nothing changes.
// RUN: tuninglink compile %s --iree-hal-target-backends=vmvx -o %t.ours
// RUN: cmp %t.ours %t.vmvx
// RUN: tuninglink compile %s --iree-hal-target-device=hip --iree-rocm-target=gfx942 --compile-to=executable-configurations -o %t.ours
// RUN: iree-compile %s --iree-hal-target-device=hip --iree-rocm-target=gfx942 --compile-to=executable-configurations -o %t.theirs
// RUN: cmp %t.ours %t.theirs

// Standard input and output.
// RUN: tuninglink compile - --iree-hal-target-backends=vmvx --compile-to=flow < %s > %t.ours
// RUN: iree-compile - --iree-hal-target-backends=vmvx --compile-to=flow < %s > %t.theirs
// RUN: cmp %t.ours %t.theirs

// IR on the way as bytecode; and on from there.
// RUN: tuninglink compile %s --iree-hal-target-backends=vmvx --compile-to executable-sources --emit-mlir-bytecode -o %t.mlirbc
// RUN: tuninglink compile %t.mlirbc --iree-hal-target-backends=vmvx --compile-from=executable-sources -o %t.ours
// RUN: iree-compile %t.mlirbc --iree-hal-target-backends=vmvx --compile-from=executable-sources -o %t.theirs
// RUN: cmp %t.ours %t.theirs

// The parts of a file, one by one.
// RUN: cat %s > %t.parts.mlir
// RUN: %python -c "print('/' * 2, '-' * 5)" >> %t.parts.mlir
// RUN: cat %s >> %t.parts.mlir
// RUN: tuninglink compile %t.parts.mlir --iree-hal-target-backends=vmvx --split-input-file --compile-to=flow -o %t.ours
// RUN: iree-compile %t.parts.mlir --iree-hal-target-backends=vmvx --split-input-file --compile-to=flow -o %t.theirs
// RUN: cmp %t.ours %t.theirs

// Other inputs and results; test_compiler_sessions.py has more of these.
// RUN: iree-compile %s --iree-hal-target-backends=vmvx --compile-to=hal -o %t.hal.mlir
// RUN: tuninglink compile %t.hal.mlir --iree-hal-target-backends=vmvx --compile-from=hal --output-format=vm-asm -o %t.ours
// RUN: tuninglink compile %t.ours --compile-mode=vm -o %t.again
// RUN: iree-compile %t.ours --compile-mode=vm -o %t.theirs.again
// RUN: cmp %t.again %t.theirs.again
// RUN: tuninglink compile %t.hal.mlir --iree-hal-target-backends=vmvx --compile-from=hal --output-format=vm-c -o %t.ours
// RUN: iree-compile %t.hal.mlir --iree-hal-target-backends=vmvx --compile-from=hal --output-format=vm-c -o %t.theirs
// RUN: diff %t.ours %t.theirs
// RUN: iree-compile %s --iree-hal-target-backends=vmvx --iree-hal-dump-executable-sources-to=%t.sources --compile-to=executable-sources -o %t.theirs
// RUN: tuninglink compile %t.sources/module_add_dispatch_0.mlir --compile-mode=hal-executable --iree-hal-target-backends=vmvx -o %t.ours
// RUN: iree-compile %t.sources/module_add_dispatch_0.mlir --compile-mode=hal-executable --iree-hal-target-backends=vmvx -o %t.theirs
// RUN: cmp %t.ours %t.theirs

// Flags that belong to the whole process; values of their own word; one dash; a file of arguments.
// RUN: echo "%s --iree-hal-target-backends vmvx" > %t.rsp
// RUN: tuninglink compile @%t.rsp --mlir-disable-threading -iree-hal-memoization=false --mlir-print-debuginfo --compile-to=hal -o %t.ours
// RUN: iree-compile @%t.rsp --mlir-disable-threading -iree-hal-memoization=false --mlir-print-debuginfo --compile-to=hal -o %t.theirs
// RUN: diff %t.ours %t.theirs
// RUN: tuninglink compile %s --iree-hal-target-backends=vmvx --mlir-timing --compile-to=flow -o %t.ours 2>&1 | filecheck %s --check-prefix=TIMING
// TIMING: Execution time report

// What the compiler says about itself.
// RUN: tuninglink compile --iree-hal-list-target-backends | filecheck %s --check-prefix=BACKENDS
// BACKENDS: llvm-cpu
// BACKENDS: vulkan-spirv
// RUN: tuninglink compile --help | filecheck %s --check-prefix=HELP
// HELP: Usage: tuninglink compile INPUT
// HELP: --spec SPEC

func.func @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> {
  %sum = arith.addf %a, %b : tensor<16xf32>
  return %sum : tensor<16xf32>
}
