// One spec in default-entrypoint form is passed through untouched.
// RUN: tuninglink link %s | filecheck %s --check-prefix=ALONE

// Two are merged; the helper of the second is renamed with all its uses, so that its matcher does not go on
// calling the helper of the first.
// RUN: tuninglink link %s %S/Inputs/other.mlir | filecheck %s --check-prefix=BOTH
// RUN: tuninglink link %S/Inputs/other.mlir %s | filecheck %s --check-prefix=TURNED
// RUN: cat %s | tuninglink link - %S/Inputs/other.mlir --name mine | filecheck %s --check-prefix=NAMED

// The target's default spec comes last; a SKU has the one of its architecture.
// RUN: tuninglink link %s --target mi300x | filecheck %s --check-prefix=DEFAULT
// RUN: tuninglink link %s --no-default-specs | filecheck %s --check-prefix=ALONE

// Bytecode where the name or the flag asks for it; the compiler reads either.
// RUN: tuninglink link %s %S/Inputs/other.mlir -o %t.mlirbc
// RUN: iree-opt %t.mlirbc --no-implicit-module | filecheck %s --check-prefix=BOTH
// RUN: tuninglink link %s %S/Inputs/other.mlir --emit-bytecode | iree-opt --no-implicit-module | filecheck %s --check-prefix=BOTH
// RUN: tuninglink link %t.mlirbc | filecheck %s --check-prefix=BOTH
// RUN: tuninglink link %s %S/Inputs/other.mlir -o %t.mlir
// RUN: iree-compile %examples/mmt_2048x1280x5120.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 --iree-codegen-tuning-spec-path=%t.mlir --compile-to=executable-configurations | filecheck %s --check-prefix=COMPILED
// RUN: iree-compile %examples/mmt_2048x1280x5120.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 --iree-codegen-tuning-spec-path=%t.mlirbc --compile-to=executable-configurations | filecheck %s --check-prefix=COMPILED

// An index is worth its while for long lists only; what is no list of matchers has none, and says so.
// RUN: tuninglink link %s --index | filecheck %s --check-prefix=ALONE
// RUN: tuninglink link %t.mlir --index -o %t.indexed.mlir
// RUN: tuninglink link %t.indexed.mlir --index | filecheck %s --check-prefix=BOTH

// The same inputs give the same bytes.
// RUN: tuninglink link %s %S/Inputs/other.mlir --target gfx942 -o %t.again.mlirbc
// RUN: tuninglink link %s %S/Inputs/other.mlir --target gfx942 -o %t.once-more.mlirbc
// RUN: cmp %t.again.mlirbc %t.once-more.mlirbc

module @first attributes {
  transform.with_named_sequence,
  iree_codegen.tuning_spec_with_default_entrypoint
} {
  transform.named_sequence @helper(%op: !transform.any_op {transform.readonly}) {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield
  }
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.include @helper failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "first" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %configured = transform.foreach_match in %root @match -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %configured : !transform.any_op
  }
}

// ALONE: module @first
// ALONE: transform.foreach_match in
// ALONE-NEXT: @match -> @apply :

// BOTH: module @iree_linked_tuning_spec
// BOTH-SAME: iree_codegen.tuning_spec_with_default_entrypoint
// BOTH: transform.named_sequence @match(
// BOTH-NEXT: include @helper
// BOTH: transform.named_sequence @match_0(
// BOTH-NEXT: include @helper_0
// BOTH: transform.foreach_match in
// BOTH-NEXT: @match -> @apply,
// BOTH-NEXT: @match_0 -> @apply_0 :

// TURNED: transform.annotate {{.*}} "other"
// TURNED: transform.annotate {{.*}} "first"

// NAMED: module @mine

// DEFAULT: module @iree_linked_tuning_spec
// DEFAULT: transform.foreach_match in
// DEFAULT-NEXT: @match -> @apply,
// DEFAULT-NEXT: @match_attention
// DEFAULT: @match_matmul_transpose_b_2048x1280x5120_f16 -> @configure :

// COMPILED: linalg.generic
// COMPILED-SAME: first
