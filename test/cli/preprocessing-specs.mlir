// Preprocessing specs are upgraded, checked and applied like tuning specs.

// RUN: tuninglink upgrade %S/Inputs/preprocessing_old.mlir -o %t.current.mlir
// RUN: tuninglink upgrade --check %t.current.mlir
// RUN: not tuninglink upgrade --check %S/Inputs/preprocessing_old.mlir 2>&1 | filecheck %s --check-prefix=OLD
// RUN: not tuninglink check %S/Inputs/preprocessing_old.mlir --all 2>&1 | filecheck %s --check-prefix=UNSOUND
// RUN: sed 's/get_operand %%root/get_result %%root/' %t.current.mlir > %t.wrong.mlir
// RUN: not tuninglink check %t.wrong.mlir 2>&1 | filecheck %s --check-prefix=WRONG

// OLD: preprocessing_old.mlir:7:22: error: the spec was written for an older compiler
// SOUND-NOT: error:
// SOUND: printing.mlir:{{[0-9]+}}:{{[0-9]+}}: warning: not decided whether this call replaces only what its function computes: the spec is not a list of replace entries
// SOUND-NOT: {{warning|error}}:
// SOUND: printing.mlir (preprocessing spec)
// UNSOUND: preprocessing_old.mlir:7:22: error: replace entry 'match' relies on the operand 1, which its matcher does not see: the action does not pass it
// UNSOUND: error: replace entry 'match' relies on the accumulator, {{.*}} so that a program whose accumulator starts at 1 instead of 0 is replaced as well
// UNSOUND: error: replace entry 'match' does not see the indexing maps: a program with an operand transposed is replaced as well
// UNSOUND: error: replace entry 'match' does not see the body beyond its product and sum: a program that negates the factors with 'arith.negf' is replaced as well
// UNSOUND: preprocessing_old.mlir (preprocessing spec, 1 replace entry)
// UNSOUND-NEXT: replace entries: sound: 1 NO
// UNSOUND-NEXT: replace entries: reachable: 1 yes
// WRONG: wrong.mlir:8:11: error: 'transform.get_result' cannot be in matcher '@match'

// RUN: tuninglink compile %s --target host --iree-preprocessing-transform-spec-filename=%S/Inputs/preprocessing_old.mlir --compile-to=preprocessing 2>&1 | filecheck %s --check-prefixes=REMARK,REPLACED
// RUN: iree-compile %s --iree-preprocessing-transform-spec-filename=%t.current.mlir --compile-to=preprocessing | filecheck %s --check-prefix=REPLACED
// RUN: not tuninglink compile %s --target host --no-upgrade --iree-preprocessing-transform-spec-filename=%S/Inputs/preprocessing_old.mlir --compile-to=preprocessing 2>&1 | filecheck %s --check-prefix=OLD

// RUN: tuninglink check %examples/spec_llvm_cpu.mlir --target host --model %s --iree-preprocessing-transform-spec-filename=%S/Inputs/preprocessing_old.mlir 2>&1 | filecheck %s --check-prefix=MODEL

// MODEL-NOT: invalid-model
// MODEL: in the model:
// REMARK: preprocessing_old.mlir' was written for an older compiler, and is upgraded on loading
// REPLACED-NOT: linalg.matmul
// REPLACED: arith.negf

// Attention is still one op where these specs are applied, unlike in dispatches.
// RUN: sed -e '/match.contraction/d' -e 's/\(.*\)get_operand.*/&\n    transform.match.operation_name %%root ["iree_linalg_ext.attention"] : !transform.any_op/' -e 's/apply_dce.*/print %%module {name = "x"} : !transform.any_op/' %S/Inputs/preprocessing_old.mlir > %t.attention.mlir
// RUN: tuninglink upgrade %t.attention.mlir | filecheck %s --check-prefix=ATTENTION

// ATTENTION: ["iree_linalg_ext.attention"]
// ATTENTION: transform.print %module name = "x"

// Each kind of spec has its flag, and damaged files are reported with their place.
// RUN: tuninglink upgrade %t.attention.mlir -o %t.printing.mlir
// RUN: tuninglink check %t.printing.mlir 2>&1 | filecheck %s --check-prefix=SOUND
// RUN: not tuninglink compile %s --target host --spec %t.printing.mlir -o %t.vmfb 2>&1 | filecheck %s --check-prefix=MISTAKEN
// RUN: not tuninglink compile %s --target host --iree-preprocessing-transform-spec-filename=%S/Inputs/strategy-wide.mlir -o %t.vmfb 2>&1 | filecheck %s --check-prefix=TUNING
// RUN: head -c 300 %t.current.mlir > %t.damaged.mlir
// RUN: not tuninglink compile %s --target host --iree-preprocessing-transform-spec-filename=%t.damaged.mlir -o %t.vmfb 2>&1 | filecheck %s --check-prefix=DAMAGED

// MISTAKEN: error: a preprocessing spec, not a tuning spec
// MISTAKEN: note: pass it with '--iree-preprocessing-transform-spec-filename=FILE'
// MISTAKEN: printing.mlir:{{[0-9]+}}:3: note: expected matching of 'util.func'
// TUNING: error: a tuning spec, not a spec for '--iree-preprocessing-transform-spec-filename'
// TUNING: note: pass it with '--spec FILE'
// DAMAGED: damaged.mlir:{{[0-9]+:[0-9]+}}: error:

func.func @main(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
