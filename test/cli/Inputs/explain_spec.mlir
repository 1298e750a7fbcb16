// A spec for explain.mlir on gfx942: an entry that matches, a later one that does so as well, and one that is for
// nothing in there.

module @explained attributes {
  transform.with_named_sequence,
  iree_codegen.tuning_spec_with_default_entrypoint
} {

transform.named_sequence @configure(
    %op: !transform.any_op {transform.readonly},
    %configuration: !transform.any_param {transform.readonly}) {
  transform.annotate %op "compilation_info" = %configuration
    : !transform.any_op, !transform.any_param
  transform.yield
}

transform.named_sequence @matmul_128x64x256(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param) {
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [
      affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>,
      affine_map<(m, n, k) -> (m, n)>
    ] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [256] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{
      workgroup = [64, 64, 0],
      reduction = [0, 0, 64],
      mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>,
      subgroup_basis = [[2, 1, 1], [0, 1, 2]],
      promote_operands = [0, 1]}>,
    translation_info = #iree_codegen.translation_info<
      pipeline = #iree_gpu.pipeline<VectorDistribute>
      workgroup_size = [128, 1, 1] subgroup_size = 64>
  > -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @any_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param) {
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32 : !transform.any_op -> !transform.param<i64>
  %rhs = transform.get_operand %op[1] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.dim_is_multiple_of %rhs[0], 64 : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{
      workgroup = [32, 32, 0],
      reduction = [0, 0, 64],
      mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>,
      subgroup_basis = [[2, 1, 1], [0, 1, 2]],
      promote_operands = [0, 1]}>,
    translation_info = #iree_codegen.translation_info<
      pipeline = #iree_gpu.pipeline<VectorDistribute>
      workgroup_size = [128, 1, 1] subgroup_size = 64>
  > -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @attention(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param) {
  transform.match.operation_name %op ["iree_linalg_ext.attention"] : !transform.any_op
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{workgroup = [1, 64, 0, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<
      pipeline = #iree_gpu.pipeline<VectorDistribute>
      workgroup_size = [128, 1, 1] subgroup_size = 64>
  > -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @__kernel_config(
    %module: !transform.any_op {transform.consumed}) -> !transform.any_op
    attributes {iree_codegen.tuning_spec_entrypoint} {
  %configured = transform.foreach_match in %module
    @matmul_128x64x256 -> @configure,
    @any_f16 -> @configure,
    @attention -> @configure
    : (!transform.any_op) -> !transform.any_op
  transform.yield %configured : !transform.any_op
}

}
