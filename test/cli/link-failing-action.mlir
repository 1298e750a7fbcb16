// An action that fails is an error where the spec is applied alone, and hidden where it is linked: an annotation needs
// one value, and a matmul has no batch dimension.

// RUN: tuninglink link %s 2>&1 >%t.mlir | filecheck %s --check-prefix=LINK
// RUN: tuninglink check %s 2>&1 | filecheck %s --check-prefix=CHECK

// LINK: link-failing-action.mlir:16:5: warning: entry point '@main' of 'failing' may fail here
// CHECK: link-failing-action.mlir:16:5: warning: entry point '@main' may fail here
// CHECK: not decided: reachable: {{.*}}: entry point '@main' may fail at 'transform.annotate'
module @failing attributes {transform.with_named_sequence} {
  transform.named_sequence @matmul(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.param<i64>) {
    %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32 : !transform.any_op -> !transform.param<i64>
    transform.yield %op, %b : !transform.any_op, !transform.param<i64>
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}, %batch: !transform.param<i64> {transform.readonly}) {
    transform.annotate %op "batch" = %batch : !transform.any_op, !transform.param<i64>
    transform.yield
  }
  transform.named_sequence @main(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %0 = transform.foreach_match in %root @matmul -> @apply : (!transform.any_op) -> !transform.any_op
    %1 = transform.foreach_match in %0 @matmul -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %1 : !transform.any_op
  }
}
