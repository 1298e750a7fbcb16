// What a spec runs must have a body, matchers and what they include, too.

// RUN: not tuninglink link %s 2>&1 | filecheck %s
// RUN: not tuninglink link %s %S/Inputs/later.mlir 2>&1 | filecheck %s
// RUN: not tuninglink link %S/Inputs/later.mlir %s 2>&1 | filecheck %s
// RUN: not tuninglink compile %S/Inputs/payload.mlir --spec %s --iree-hal-target-backends=llvm-cpu 2>&1 | filecheck %s
// RUN: not tuninglink upgrade %s 2>&1 | filecheck %s

// CHECK: link-declared-matcher.mlir:12:3: error: '@match' is declared and not defined; give it a body, or remove what refers to it

module @declared attributes {transform.with_named_sequence} {
  transform.named_sequence private @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    %config = transform.param.constant #iree_codegen.lowering_config<tile_sizes = [[1]]> -> !transform.any_param
    transform.annotate %op "lowering_config" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %configured = transform.foreach_match in %root @match -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %configured : !transform.any_op
  }
}
