// A spec of 2024 for examples/mmt_2048x1280x5120.mlir on gfx942, in the syntax of IREE 2.9: today's compiler does not
// parse it. 'tuninglink upgrade' rewrites it.

module attributes { transform.with_named_sequence } {
  transform.named_sequence @match_mmt(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>, %out: tensor<2048x1280xf32>):
      %r = linalg.matmul_transpose_b ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>)
          outs(%out : tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %config = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_codegen.lowering_config<tile_sizes = [[128, 128, 64]]>,  // as measured
      translation_info = #iree_codegen.translation_info<LLVMGPUVectorDistribute
        workgroup_size = [256, 1, 1] subgroup_size = 64,
        {mma_schedule = #iree_gpu.mma_schedule<
           intrinsic = #iree_gpu.mma_layout<MFMA_F16_16x16x16_F32>,
           subgroup_m_count = 2, subgroup_n_count = 2>}>> -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @configure(%op: !transform.any_op {transform.readonly},
                                      %config: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed}) {
    transform.foreach_match in %root @match_mmt -> @configure
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
