// In default-entrypoint form, so that linking leaves it alone, with a helper in a nested module.
module @nested_helper attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  module @helpers attributes {transform.with_named_sequence} {
    transform.named_sequence @is_fill(%op: !transform.any_op {transform.readonly}) {
      transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
      transform.yield
    }
  }
  transform.named_sequence @fill(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.include @helpers::@is_fill failures(propagate) (%op) : (!transform.any_op) -> ()
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    transform.yield
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %configured = transform.foreach_match in %root @fill -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %configured : !transform.any_op
  }
}
