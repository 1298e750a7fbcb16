// Two entries with the same configuration.

module @alike attributes {
  transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint
} {
  transform.named_sequence @configure(%op: !transform.any_op {transform.readonly},
      %configuration: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %configuration
      : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @match_generics(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %configuration = transform.param.constant #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [8]>, translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.vmvx_pipeline>> -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_fills(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
    %configuration = transform.param.constant #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [8]>, translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.vmvx_pipeline>> -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated = transform.foreach_match in %root @match_generics -> @configure, @match_fills -> @configure : (!transform.any_op) -> !transform.any_op
    transform.yield %updated : !transform.any_op
  }
}
