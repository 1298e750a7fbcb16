// A spec in default-entrypoint form: marks every linalg.generic for sm_80.
module @for_sm_80 attributes {
  transform.with_named_sequence,
  iree_codegen.tuning_spec_with_default_entrypoint
} {
  transform.named_sequence @match_generic(%op: !transform.any_op {transform.readonly})
      -> !transform.any_op {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @mark(%op: !transform.any_op {transform.readonly}) {
    %who = transform.param.constant "sm_80" -> !transform.any_param
    transform.annotate %op "who" = %who : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__kernel_config(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %module
      @match_generic -> @mark
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}
