// A spec for examples/mmt_2048x1280x5120.mlir on CPUs.

module @my_cpu attributes {
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

  // A workgroup computes 128x128, in vectors of 8x16 and 4 steps of the reduction.
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<
      distribution = [128, 128, 0],
      vector_common_parallel = [8, 16, 0],
      vector_reduction = [0, 0, 4]>,
    translation_info = #iree_codegen.translation_info<
      pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
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
