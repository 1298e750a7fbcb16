// A matcher list whose names clash with those of link.mlir. Its entry point is not called @__kernel_config
// and its module is not marked, so that it needs linking even alone.
module @other attributes {transform.with_named_sequence} {
  transform.named_sequence @helper(%op: !transform.any_op {transform.readonly}) {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield
  }
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.include @helper failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "other" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @main(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %configured = transform.foreach_match in %root @match -> @apply
      : (!transform.any_op) -> !transform.any_op
    transform.yield %configured : !transform.any_op
  }
}
