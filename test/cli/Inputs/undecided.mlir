module attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  // The matcher reads a producer, which cannot be derived from the matcher alone.
  transform.named_sequence @anything_computed(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %producer = transform.get_producer_of_operand %op[0] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %producer ["linalg.generic"] : !transform.any_op
    %info = transform.param.constant #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{workgroup = [64, 64, 0]}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64>> -> !transform.any_param
    transform.yield %op, %info : !transform.any_op, !transform.any_param
  }

  transform.named_sequence @configure(%op: !transform.any_op {transform.readonly}, %info: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %info : !transform.any_op, !transform.any_param
    transform.yield
  }

  transform.named_sequence @__kernel_config(%variant: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %result = transform.foreach_match in %variant @anything_computed -> @configure : (!transform.any_op) -> !transform.any_op
    transform.yield %result : !transform.any_op
  }
}
