// A 1x1 convolution in NCHW, whose result ends with an m dimension: with an intrinsic of NVIDIA, IREE 3.13 generates code
// that computes wrong results (docs/background/wrong-defaults.md).

// RUN: tuninglink check %s --target sm_80 2>&1 | filecheck %s
// CHECK-NOT: entry 'by_threads' has
// CHECK: warning: entry 'with_intrinsic' has a configuration whose code computes wrong results: the innermost dimension of the result is an m dimension
// CHECK-NOT: entry 'by_threads' has

#image = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#filter = affine_map<(d0, d1, d2, d3) -> (d1, d3)>
#result = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#threads = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 0, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#with = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 1], subgroup = [1, 1, 1, 0], workgroup = [8, 8, 16, 0]}>, translation_info = #translation>
#without = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 32], thread = [8, 2, 1, 0], workgroup = [32, 128, 1, 0]}>, translation_info = #threads>

module attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
  transform.named_sequence @configure(%op: !transform.any_op {transform.readonly}, %configuration: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %configuration : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @with_intrinsic(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    transform.iree.match.has_no_lowering_config %op : !transform.any_op
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#image, #filter, #result] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [8, 784] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [512] : !transform.param<i64>
    %configuration = transform.param.constant #with -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @by_threads(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    transform.iree.match.has_no_lowering_config %op : !transform.any_op
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#image, #filter, #result] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [8, 784] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [256] : !transform.param<i64>
    %configuration = transform.param.constant #without -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%variant: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %result = transform.foreach_match in %variant
        @with_intrinsic -> @configure,
        @by_threads -> @configure : (!transform.any_op) -> !transform.any_op
    transform.yield %result : !transform.any_op
  }
}
