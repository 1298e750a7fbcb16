// The default spec for gfx942 (CDNA3: MI300A, MI300X, MI308X, MI325X).
//
// Origin: the configurations are those of the default spec that IREE 3.13 ships for gfx942; the matchers
// are our own. `tuninglink.provenance` on a matcher is what `tuninglink targets` shows.
//
// Matchers see a dispatch as the rocm backend has prepared it: a contraction is a `linalg.generic`, and
// attention has become online attention, which accumulates in f32 and has its maximum and sum as further
// results.

module @tuninglink_default_gfx942 attributes {
  transform.with_named_sequence,
  iree_codegen.tuning_spec_with_default_entrypoint
} {

//===----------------------------------------------------------------------===//
// Actions
//===----------------------------------------------------------------------===//

transform.named_sequence @configure(
    %op: !transform.any_op {transform.readonly},
    %configuration: !transform.any_param {transform.readonly}) {
  transform.annotate %op "compilation_info" = %configuration
    : !transform.any_op, !transform.any_param
  transform.yield
}

// Attention is decomposed into two matmuls late in the pipeline; `decomposition_config` is how each of
// them learns its own configuration.
transform.named_sequence @configure_attention(
    %op: !transform.any_op {transform.readonly},
    %configuration: !transform.any_param {transform.readonly},
    %decomposition: !transform.any_param {transform.readonly}) {
  transform.annotate %op "compilation_info" = %configuration
    : !transform.any_op, !transform.any_param
  transform.annotate %op "decomposition_config" = %decomposition
    : !transform.any_op, !transform.any_param
  transform.yield
}

//===----------------------------------------------------------------------===//
// Attention, f16: m a multiple of 128; n, k1 and k2 64; any batch; values transposed
//
// One wave for each 32 of the 128 rows of the query in a workgroup. Keys and values go through shared
// memory; the query does not, as the virtual MFMA intrinsic reads it eight halves at a time.
//===----------------------------------------------------------------------===//

// With two dimensions of batch: how it arrives where something that is fused, like a transposition of the
// result, keeps them apart.
transform.named_sequence @match_attention_BxBxMx64x64x64_f16(
    %op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param, !transform.any_param)
    attributes {tuninglink.provenance = {source = "IREE 3.13, default spec for gfx942"}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op,
    query_type = f16, key_type = f16, value_type = f16, scale_type = f16,
    output_type = f32, max_type = f32, sum_type = f32,
    indexing_maps = [
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, k1)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, k2, k1)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, n, k2)>,
      affine_map<(b0, b1, m, n, k1, k2) -> ()>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m, n)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>,
      affine_map<(b0, b1, m, n, k1, k2) -> (b0, b1, m)>
    ] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k1, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k2, [64] : !transform.param<i64>
  %query = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.dim_is_multiple_of %query[2], 128 : !transform.any_value

  // `amdgpu-waves-per-eu` lets the register allocator use the many registers that this needs;
  // `denormal-fp-math-f32` spares the exponentials the handling of denormals.
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{
      workgroup = [1, 1, 128, 0, 0, 0],
      reduction = [0, 0, 0, 0, 0, 64],
      promote_operands = [1, 2]}>,
    translation_info = #iree_codegen.translation_info<
      pipeline = #iree_gpu.pipeline<VectorDistribute>
      workgroup_size = [256] subgroup_size = 64, {
        llvm_func_attrs = {
          "amdgpu-waves-per-eu" = "2",
          "denormal-fp-math-f32" = "preserve-sign"}}>
  > -> !transform.any_param
  %decomposition = transform.param.constant {
    qk_attrs = {lowering_config = #iree_gpu.lowering_config<{
      mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_32x32x16_F16, col_major = true>,
      subgroup_basis = [[1, 1, 4, 1, 1, 1], [0, 1, 2, 4, 5]],
      promote_operands = [1]}>},
    pv_attrs = {lowering_config = #iree_gpu.lowering_config<{
      mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16, col_major = true>,
      subgroup_basis = [[1, 1, 4, 1, 1, 1], [0, 1, 2, 3, 5]],
      promote_operands = [1]}>}
  } -> !transform.any_param
  transform.yield %op, %configuration, %decomposition
    : !transform.any_op, !transform.any_param, !transform.any_param
}

// With one dimension of batch: how it arrives where nothing keeps two apart, since the compiler collapses
// contiguous dimensions before it forms the dispatch. The same configuration, one dimension fewer.
transform.named_sequence @match_attention_BxMx64x64x64_f16(
    %op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param, !transform.any_param)
    attributes {tuninglink.provenance = {source = "IREE 3.13, default spec for gfx942, for a collapsed batch"}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op,
    query_type = f16, key_type = f16, value_type = f16, scale_type = f16,
    output_type = f32, max_type = f32, sum_type = f32,
    indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, n, k2)>,
      affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>
    ] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k1, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k2, [64] : !transform.param<i64>
  %query = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.dim_is_multiple_of %query[1], 128 : !transform.any_value

  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{
      workgroup = [1, 128, 0, 0, 0],
      reduction = [0, 0, 0, 0, 64],
      promote_operands = [1, 2]}>,
    translation_info = #iree_codegen.translation_info<
      pipeline = #iree_gpu.pipeline<VectorDistribute>
      workgroup_size = [256] subgroup_size = 64, {
        llvm_func_attrs = {
          "amdgpu-waves-per-eu" = "2",
          "denormal-fp-math-f32" = "preserve-sign"}}>
  > -> !transform.any_param
  %decomposition = transform.param.constant {
    qk_attrs = {lowering_config = #iree_gpu.lowering_config<{
      mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_32x32x16_F16, col_major = true>,
      subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]],
      promote_operands = [1]}>},
    pv_attrs = {lowering_config = #iree_gpu.lowering_config<{
      mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16, col_major = true>,
      subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 4]],
      promote_operands = [1]}>}
  } -> !transform.any_param
  transform.yield %op, %configuration, %decomposition
    : !transform.any_op, !transform.any_param, !transform.any_param
}

//===----------------------------------------------------------------------===//
// Matmul, f16 to f32, transposed right-hand side: 2048x1280x5120
//
// Four waves, two by two, on a tile of 64x128; both sides go through shared memory.
//===----------------------------------------------------------------------===//

transform.named_sequence @match_matmul_transpose_b_2048x1280x5120_f16(
    %op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {source = "IREE 3.13, default spec for gfx942"}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
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

  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{
      workgroup = [64, 128, 0],
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

//===----------------------------------------------------------------------===//
// Entry point
//===----------------------------------------------------------------------===//

transform.named_sequence @__kernel_config(
    %module: !transform.any_op {transform.consumed}) -> !transform.any_op
    attributes {iree_codegen.tuning_spec_entrypoint} {
  %configured = transform.foreach_match in %module
    @match_attention_BxBxMx64x64x64_f16 -> @configure_attention,
    @match_attention_BxMx64x64x64_f16 -> @configure_attention,
    @match_matmul_transpose_b_2048x1280x5120_f16 -> @configure
    : (!transform.any_op) -> !transform.any_op
  transform.yield %configured : !transform.any_op
}

}
