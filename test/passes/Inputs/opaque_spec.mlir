// Two loops over the program, so no matcher list.
module @opaque attributes {transform.with_named_sequence} {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @mark(%op: !transform.any_op {transform.readonly}) {
    transform.annotate %op "filled" : !transform.any_op
    transform.yield
  }
  transform.named_sequence @main(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %once = transform.foreach_match in %root @match -> @mark : (!transform.any_op) -> !transform.any_op
    %twice = transform.foreach_match in %once @match -> @mark : (!transform.any_op) -> !transform.any_op
    transform.yield %twice : !transform.any_op
  }
}
