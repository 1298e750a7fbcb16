// SDXL for gfx942: attentions, matmuls and convolutions of the UNet, in int8, f16 and f8.
//
// Source: iree-org/iree, the external tests of the SDXL UNet (August 2026, IREE 3.12), and nod-ai/sdxl-scripts, the
// int8 and f16 models (2024, IREE 3.0).
//
// The configurations were measured by others, with older compilers, and brought to today's syntax. The matchers are our
// own: sizes, maps and element types. Entries with the same matcher as a newer one are left out.

#map0 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map6 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4)>
#map7 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4)>
#map8 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map9 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>
#map10 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d4)>
#map11 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d3, d5)>
#map12 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d4, d5)>
#map13 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map14 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
#map15 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
#map16 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#map17 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4)>
#map18 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d5, d4)>
#map19 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d5)>
#map20 = affine_map<(d0, d1, d2, d3, d4, d5) -> ()>
#map21 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
#map22 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>
#punet = {source = "iree, tests of the SDXL UNet, August 2026", measured = "by others, for IREE 3.12"}
#sdxl_f16 = {source = "sdxl-scripts, f16 SDXL, 2024", measured = "by others, for IREE 3.0"}
#sdxl = {source = "sdxl-scripts, int8 SDXL for MLPerf, 2024", measured = "by others, for IREE 3.0"}

module @tuninglink_sdxl_gfx942 attributes {
  transform.with_named_sequence,
  iree_codegen.tuning_spec_with_default_entrypoint,
  tuninglink.targets = ["gfx942"]
} {

transform.named_sequence @configure(
    %op: !transform.any_op {transform.readonly},
    %configuration: !transform.any_param {transform.readonly}) {
  transform.annotate %op "compilation_info" = %configuration
    : !transform.any_op, !transform.any_param
  transform.yield
}

transform.named_sequence @configure_attention(
    %op: !transform.any_op {transform.readonly},
    %configuration: !transform.any_param {transform.readonly},
    %decomposition: !transform.any_param {transform.readonly}) {
  transform.annotate %op "compilation_info" = %configuration : !transform.any_op, !transform.any_param
  transform.annotate %op "decomposition_config" = %decomposition : !transform.any_op, !transform.any_param
  transform.yield
}

transform.named_sequence @match_attention_BxBxMx64x64xK_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op,
    query_type = f16, key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32,
    indexing_maps = [#map17, #map18, #map19, #map20, #map21, #map22, #map22] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k1, [64] : !transform.param<i64>
  %query = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.dim_is_multiple_of %query[2], 128 : !transform.any_value
  %key = transform.get_operand %op[1] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.dim_is_multiple_of %key[2], 64 : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{promote_operands = [1, 2], reduction = [0, 0, 0, 0, 0, 64], workgroup = [1, 1, 128, 0, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {llvm_func_attrs = {"amdgpu-waves-per-eu" = "2", "denormal-fp-math-f32" = "preserve-sign"}}>> -> !transform.any_param
  %decomposition = transform.param.constant {
    pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16, col_major = true>, promote_operands = [1], subgroup_basis = [[1, 1, 4, 1, 1, 1], [0, 1, 2, 3, 5]]}>},
    qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_32x32x16_F16, col_major = true>, promote_operands = [1], subgroup_basis = [[1, 1, 4, 1, 1, 1], [0, 1, 2, 4, 5]]}>}} -> !transform.any_param
  transform.yield %op, %configuration, %decomposition : !transform.any_op, !transform.any_param, !transform.any_param
}

transform.named_sequence @match_attention_BxBxMx64x64xK_f8E4M3FNUZ(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op,
    query_type = f8E4M3FNUZ, key_type = f8E4M3FNUZ, value_type = f8E4M3FNUZ, scale_type = f32, output_type = f32, max_type = f32, sum_type = f32,
    indexing_maps = [#map17, #map18, #map19, #map20, #map21, #map22, #map22] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k1, [64] : !transform.param<i64>
  %query = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.dim_is_multiple_of %query[2], 64 : !transform.any_value
  %key = transform.get_operand %op[1] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.dim_is_multiple_of %key[2], 64 : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{promote_operands = [1, 2], reduction = [0, 0, 0, 0, 0, 64], workgroup = [1, 1, 64, 0, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {llvm_func_attrs = {"amdgpu-waves-per-eu" = "2", "denormal-fp-math-f32" = "preserve-sign"}}>> -> !transform.any_param
  %decomposition = transform.param.constant {
    pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F8E4M3FNUZ, col_major = true>, promote_operands = [1], subgroup_basis = [[1, 1, 4, 1, 1, 1], [0, 1, 2, 3, 5]]}>},
    qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x32_F8E4M3FNUZ, col_major = true>, promote_operands = [1], subgroup_basis = [[1, 1, 4, 1, 1, 1], [0, 1, 2, 4, 5]]}>}} -> !transform.any_param
  transform.yield %op, %configuration, %decomposition : !transform.any_op, !transform.any_param, !transform.any_param
}

transform.named_sequence @match_contraction_m2048_n10240_k1280_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [10240] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 128], subgroup_basis = [[4, 2, 1], [0, 1, 2]], workgroup = [128, 320, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 4, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2048_n1280_k5120_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [5120] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 256], subgroup_basis = [[4, 1, 1], [0, 1, 2]], workgroup = [128, 80, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 4, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2048_n1280_k1280_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 128], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [64, 160, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, reorder_workgroups_strategy = <Transpose>>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m8192_n640_k640_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [8192] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [640] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [640] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 64], subgroup_basis = [[8, 1, 1], [0, 1, 2]], workgroup = [256, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m8192_n5120_k640_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [8192] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [5120] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [640] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_32x32x16_I8>, promote_operands = [0, 1], reduction = [0, 0, 64], subgroup_basis = [[2, 4, 1], [0, 1, 2]], workgroup = [256, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2048_n10240_k1280_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [10240] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 32], subgroup_basis = [[1, 2, 1], [0, 1, 2]], workgroup = [128, 320, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 64, {llvm_func_attrs = {"amdgpu-waves-per-eu" = "1"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2048_n1280_k5120_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [5120] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 64], subgroup_basis = [[2, 1, 1], [0, 1, 2]], workgroup = [64, 80, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 2, 1] subgroup_size = 64, {llvm_func_attrs = {"amdgpu-waves-per-eu" = "1"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2048_n1280_k1280_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 64], subgroup_basis = [[2, 1, 1], [0, 1, 2]], workgroup = [64, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 2, 1] subgroup_size = 64, {llvm_func_attrs = {"amdgpu-waves-per-eu" = "1"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m8192_n5120_k640_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [8192] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [5120] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [640] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 32], subgroup_basis = [[2, 1, 1], [0, 1, 2]], workgroup = [128, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 2, 1] subgroup_size = 64>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m8192_n640_k2560_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [8192] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [640] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2560] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [128, 160, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 2, 1] subgroup_size = 64, {llvm_func_attrs = {"amdgpu-waves-per-eu" = "1"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m8192_n640_k640_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [8192] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [640] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [640] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 64], subgroup_basis = [[4, 1, 1], [0, 1, 2]], workgroup = [64, 160, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 4, 1] subgroup_size = 64, {llvm_func_attrs = {"amdgpu-waves-per-eu" = "1"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_b_manyx4096_n5120_k640_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [-1, 4096] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [5120] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [640] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_32x32x16_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 64], subgroup_basis = [[1, 2, 4, 1], [0, 1, 2, 3]], workgroup = [1, 256, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_b_manyx1024_n10240_k1280_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [-1, 1024] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [10240] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 128], subgroup_basis = [[1, 4, 2, 1], [0, 1, 2, 3]], workgroup = [1, 128, 320, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_b_manyx1024_n1280_k1280_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [-1, 1024] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 128], subgroup_basis = [[1, 2, 2, 1], [0, 1, 2, 3]], workgroup = [1, 64, 160, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, reorder_workgroups_strategy = <Transpose>>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_b_manyx64_n1280_k2480_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [-1, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2480] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 128], subgroup_basis = [[1, 2, 2, 1], [0, 1, 2, 3]], workgroup = [1, 64, 160, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, reorder_workgroups_strategy = <Transpose>>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_b_manyx4960_n640_k640_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [-1, 4960] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [640] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [640] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 64], subgroup_basis = [[1, 8, 1, 1], [0, 1, 2, 3]], workgroup = [1, 256, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_b_manyx1024_n20x64_k1280_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [-1, 1024] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [20, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 128], subgroup_basis = [[1, 1, 2, 2, 1], [0, 1, 2, 3, 4]], workgroup = [1, 1, 64, 160, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, reorder_workgroups_strategy = <Transpose>>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_b_manyx4096_n10x64_k640_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [-1, 4096] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [10, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [640] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 64], subgroup_basis = [[1, 1, 8, 1, 1], [0, 1, 2, 3, 4]], workgroup = [1, 1, 256, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_b_manyx64_n20x64_k2048_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [-1, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [20, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 128], subgroup_basis = [[1, 1, 2, 1, 1], [0, 1, 2, 3, 4]], workgroup = [1, 1, 32, 320, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_manyx64_n10x64_k2048_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [-1, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [10, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 128], subgroup_basis = [[1, 1, 1, 4, 1], [0, 1, 2, 3, 4]], workgroup = [1, 1, 16, 320, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2x64_n10x64_k2048_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [10, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 64], subgroup_basis = [[1, 1, 2, 2, 1], [0, 1, 2, 3, 4]], workgroup = [1, 1, 128, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 2, 1] subgroup_size = 64>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2x64_n20x64_k2048_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [20, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 128], subgroup_basis = [[1, 1, 2, 2, 1], [0, 1, 2, 3, 4]], workgroup = [1, 1, 128, 160, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 2, 1] subgroup_size = 64>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2x1024_n20x64_k1280_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2, 1024] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [20, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 64], subgroup_basis = [[1, 1, 4, 1, 1], [0, 1, 2, 3, 4]], workgroup = [1, 1, 64, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 4, 1] subgroup_size = 64>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_b_manyx1024_n20x64_k1280_i8_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map9, #map10, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [-1, 1024] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [20, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 128], subgroup_basis = [[1, 1, 2, 2, 1], [0, 1, 2, 3, 4]], workgroup = [1, 1, 160, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, reorder_workgroups_strategy = <Transpose>>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_b_manyx64_n20x64_k2048_i8_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #punet} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map9, #map10, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [-1, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [20, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 128], subgroup_basis = [[1, 1, 2, 1, 1], [0, 1, 2, 3, 4]], workgroup = [1, 1, 320, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_manyx1024_nanyx20x64_k1280_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map11, #map12, #map13] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [-1, 1024] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [-1, 20, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_32x32x16_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 64], subgroup_basis = [[1, 1, 1, 2, 2, 1], [0, 1, 2, 3, 4, 5]], workgroup = [1, 1, 1, 256, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 2, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_manyx64_nanyx20x64_k2048_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map11, #map12, #map13] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [-1, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [-1, 20, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 256], subgroup_basis = [[1, 1, 1, 2, 2, 1], [0, 1, 2, 3, 4, 5]], workgroup = [1, 1, 1, 32, 160, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 2, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2x1024_n3x20x64_k1280_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map11, #map12, #map13] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2, 1024] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [3, 20, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 32], subgroup_basis = [[1, 1, 1, 4, 1, 1], [0, 1, 2, 3, 4, 5]], workgroup = [1, 1, 1, 256, 384, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 4, 1] subgroup_size = 64, {llvm_func_attrs = {"amdgpu-waves-per-eu" = "1"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2x4096_n3x10x64_k640_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map11, #map12, #map13] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2, 4096] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [3, 10, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [640] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 64], subgroup_basis = [[1, 1, 1, 4, 1, 1], [0, 1, 2, 3, 4, 5]], workgroup = [1, 1, 1, 128, 160, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 4, 1] subgroup_size = 64, {llvm_func_attrs = {"amdgpu-waves-per-eu" = "1"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o32x32_f1280_k3x3_c640_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map14, #map15, #map16] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [32, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [640] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 80], subgroup_basis = [[1, 1, 1, 5, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]], workgroup = [1, 1, 496, 320, 0, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [320, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<reorder_workgroups_strategy = <Transpose>>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o32x32_f1280_k3x3_c1280_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map14, #map15, #map16] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [32, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 32], subgroup_basis = [[1, 1, 1, 4, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]], workgroup = [1, 1, 288, 256, 0, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<reorder_workgroups_strategy = <Transpose>>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "1"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o32x32_f1280_k3x3_c1920_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map14, #map15, #map16] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [32, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [1920] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 80], subgroup_basis = [[1, 1, 1, 5, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]], workgroup = [1, 1, 384, 320, 0, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [320, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<reorder_workgroups_strategy = <Transpose>>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o32x32_f1280_k3x3_c2560_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map14, #map15, #map16] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [32, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [2560] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 80], subgroup_basis = [[1, 1, 1, 5, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]], workgroup = [1, 1, 512, 320, 0, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [320, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<reorder_workgroups_strategy = <Transpose>>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o64x64_f640_k3x3_c640_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map14, #map15, #map16] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [64, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [640] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [640] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 80], subgroup_basis = [[1, 1, 1, 5, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]], workgroup = [1, 1, 464, 320, 0, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [320, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<reorder_workgroups_strategy = <Transpose>>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o128x128_f320_k3x3_c320_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl_f16} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map14, #map15, #map16] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [128, 128] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [320] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [320] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 16], subgroup_basis = [[1, 1, 4, 2, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]], workgroup = [1, 1, 512, 160, 0, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 4, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<reorder_workgroups_strategy = <Transpose>>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "1"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o32x32_f1280_k3x3_c1280_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map14, #map15, #map16] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [32, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_32x32x16_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 32], subgroup_basis = [[1, 1, 1, 2, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]], workgroup = [1, 1, 32, 128, 0, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o32x32_f1280_k3x3_c2560_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map14, #map15, #map16] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [32, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [2560] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_32x32x16_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 32], subgroup_basis = [[1, 1, 1, 2, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]], workgroup = [1, 1, 32, 128, 0, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o64x64_f1280_k3x3_c1280_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map14, #map15, #map16] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [64, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 32], subgroup_basis = [[1, 1, 1, 4, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]], workgroup = [1, 1, 64, 256, 0, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_o128x128_f640_k3x3_c640_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map14, #map15, #map16] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %image, [128, 128] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [640] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [640] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 32], subgroup_basis = [[1, 1, 2, 2, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]], workgroup = [1, 1, 128, 128, 0, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 2, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_o128x128_f320_k3x3_c320_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map14, #map15, #map16] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %image, [128, 128] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [320] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [320] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_32x32x16_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 64], subgroup_basis = [[1, 1, 1, 2, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]], workgroup = [1, 1, 128, 64, 0, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o128x128_f320_k3x3_c640_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map14, #map15, #map16] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [128, 128] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [320] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [640] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_16x16x32_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 64], subgroup_basis = [[1, 1, 2, 1, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]], workgroup = [1, 1, 128, 64, 0, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 2, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_o128x128_f320_k3x3_c960_i8(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #sdxl} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = i8, rhs_type = i8, output_type = i32,
    indexing_maps = [#map14, #map15, #map16] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %image, [128, 128] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [320] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [960] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_I32_32x32x16_I8>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 160], subgroup_basis = [[1, 1, 1, 5, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]], workgroup = [1, 1, 64, 320, 0, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [320, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed})
    -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
  %updated = transform.foreach_match in %root
    @match_attention_BxBxMx64x64xK_f16 -> @configure_attention,
    @match_attention_BxBxMx64x64xK_f8E4M3FNUZ -> @configure_attention,
    @match_contraction_m2048_n10240_k1280_i8 -> @configure,
    @match_contraction_m2048_n1280_k5120_i8 -> @configure,
    @match_contraction_m2048_n1280_k1280_i8 -> @configure,
    @match_contraction_m8192_n640_k640_i8 -> @configure,
    @match_contraction_m8192_n5120_k640_i8 -> @configure,
    @match_contraction_b_manyx4096_n5120_k640_i8 -> @configure,
    @match_contraction_b_manyx1024_n10240_k1280_i8 -> @configure,
    @match_contraction_b_manyx1024_n1280_k1280_i8 -> @configure,
    @match_contraction_b_manyx64_n1280_k2480_i8 -> @configure,
    @match_contraction_b_manyx4960_n640_k640_i8 -> @configure,
    @match_contraction_b_manyx1024_n20x64_k1280_i8 -> @configure,
    @match_contraction_b_manyx4096_n10x64_k640_i8 -> @configure,
    @match_contraction_b_manyx64_n20x64_k2048_i8 -> @configure,
    @match_contraction_b_manyx1024_n20x64_k1280_i8_2 -> @configure,
    @match_contraction_b_manyx64_n20x64_k2048_i8_2 -> @configure,
    @match_contraction_manyx64_n10x64_k2048_i8 -> @configure,
    @match_contraction_manyx1024_nanyx20x64_k1280_i8 -> @configure,
    @match_contraction_manyx64_nanyx20x64_k2048_i8 -> @configure,
    @match_contraction_m2x1024_n3x20x64_k1280_f16 -> @configure,
    @match_contraction_m2x4096_n3x10x64_k640_f16 -> @configure,
    @match_contraction_m2x64_n10x64_k2048_f16 -> @configure,
    @match_contraction_m2x64_n20x64_k2048_f16 -> @configure,
    @match_contraction_m2x1024_n20x64_k1280_f16 -> @configure,
    @match_contraction_m2048_n10240_k1280_f16 -> @configure,
    @match_contraction_m2048_n1280_k5120_f16 -> @configure,
    @match_contraction_m2048_n1280_k1280_f16 -> @configure,
    @match_contraction_m8192_n5120_k640_f16 -> @configure,
    @match_contraction_m8192_n640_k2560_f16 -> @configure,
    @match_contraction_m8192_n640_k640_f16 -> @configure,
    @match_conv_n2_o32x32_f1280_k3x3_c640_f16 -> @configure,
    @match_conv_n2_o32x32_f1280_k3x3_c1280_f16 -> @configure,
    @match_conv_n2_o32x32_f1280_k3x3_c1920_f16 -> @configure,
    @match_conv_n2_o32x32_f1280_k3x3_c2560_f16 -> @configure,
    @match_conv_n2_o64x64_f640_k3x3_c640_f16 -> @configure,
    @match_conv_n2_o128x128_f320_k3x3_c320_f16 -> @configure,
    @match_conv_n2_o32x32_f1280_k3x3_c1280_i8 -> @configure,
    @match_conv_n2_o32x32_f1280_k3x3_c2560_i8 -> @configure,
    @match_conv_n2_o64x64_f1280_k3x3_c1280_i8 -> @configure,
    @match_conv_o128x128_f640_k3x3_c640_i8 -> @configure,
    @match_conv_o128x128_f320_k3x3_c320_i8 -> @configure,
    @match_conv_n2_o128x128_f320_k3x3_c640_i8 -> @configure,
    @match_conv_o128x128_f320_k3x3_c960_i8 -> @configure
    : (!transform.any_op) -> !transform.any_op
  transform.yield %updated : !transform.any_op
}

}
