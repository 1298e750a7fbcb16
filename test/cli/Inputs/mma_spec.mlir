module @mma attributes {
  transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint
} {
  transform.named_sequence @configure(%op: !transform.any_op {transform.readonly},
      %configuration: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %configuration : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @match_matmul(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                       affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [128] : !transform.param<i64>
    %configuration = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_gpu.lowering_config<{
        mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1],
        reduction = [0, 0, 4], subgroup = [2, 2, 0], workgroup = [64, 64, 0]}>,
      translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64>
    > -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%module: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %configured = transform.foreach_match in %module @match_matmul -> @configure
      : (!transform.any_op) -> !transform.any_op
    transform.yield %configured : !transform.any_op
  }
}
