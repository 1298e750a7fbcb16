// A spec for examples/mmt_2048x1280x5120.mlir on gfx942. The default spec for gfx942 has an entry for the
// same matmul, with tiles of 64x128: a spec that the user gives comes first, and its tiles are 128x128.

module @my_gfx942 attributes {
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

transform.named_sequence @match_linear_2048x1280x5120(
    %op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param) {
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [
      affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>,
      affine_map<(m, n, k) -> (m, n)>
    ] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [5120] : !transform.param<i64>

  // Four waves, two by two, on a tile of 128x128; both sides go through shared memory.
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{
      workgroup = [128, 128, 0],
      reduction = [0, 0, 64],
      mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>,
      subgroup_basis = [[2, 2, 1], [0, 1, 2]],
      promote_operands = [0, 1]}>,
    translation_info = #iree_codegen.translation_info<
      pipeline = #iree_gpu.pipeline<VectorDistribute>
      workgroup_size = [256, 1, 1] subgroup_size = 64, {
        gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>
  > -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @__kernel_config(
    %module: !transform.any_op {transform.consumed}) -> !transform.any_op
    attributes {iree_codegen.tuning_spec_entrypoint} {
  %configured = transform.foreach_match in %module
    @match_linear_2048x1280x5120 -> @configure
    : (!transform.any_op) -> !transform.any_op
  transform.yield %configured : !transform.any_op
}

}
