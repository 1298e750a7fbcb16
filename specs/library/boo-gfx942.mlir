// BOO for gfx942: convolutions of training, bf16, nhwc, many as contractions.
//
// Source: iree-org/iree-turbine, the tuning specs of BOO; November 2025 (IREE 3.8) and June 2025 (IREE 3.5).
//
// The configurations were measured by others, with older compilers, and brought to today's syntax. The matchers are our
// own: sizes, maps and element types. Entries with the same matcher as a newer one are left out.

#map0 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map6 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
#map7 = affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>
#map8 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map9 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1 * 2 + d5, d2 * 2 + d6, d3, d7)>
#map10 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d3, d4, d5, d6, d7)>
#map11 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4)>
#map12 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0 * 2 + d4, d1 * 2 + d5, d2, d6)>
#map13 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d3, d4, d5, d6)>
#map14 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#map15 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0 + d4, d1 + d5, d2, d6)>
#map16 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1 + d5, d2 + d6, d3, d7)>
#map17 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
#map18 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d4, d5, d6)>
#map19 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d5, d2, d3, d6)>
#map20 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4)>
#map21 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4 * 4, d2 + d5 * 4, d6)>
#map22 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d5)>
#map23 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d4, d5)>
#map24 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map25 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1 + d6, d2, d3, d4, d7)>
#map26 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d4, d5, d6, d7)>
#map27 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4, d5)>
#map28 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 + d4, d2, d5)>
#map29 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
#map30 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d1, d2 + d6, d3 + d7, d4, d8)>
#map31 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d4, d5, d6, d7, d8)>
#map32 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0, d1, d2, d3, d4, d5)>
#map33 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4 * 2, d2 + d5 * 2, d6)>
#map34 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d2, d5)>
#map35 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d5, d2, d3, d6)>
#map36 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6)>
#map37 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 * 3 + d4, d2, d5)>
#map38 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d6)>
#map39 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 + d4 * 2, d5)>
#map40 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 + d4, d5)>
#map41 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 + d4 * 4, d2, d5)>
#map42 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 + d4 * 2, d2, d5)>
#map43 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 * 2 + d4, d5)>
#map44 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2 + d5, d3, d6)>
#map45 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 2 + d3, d4)>
#map46 = affine_map<(d0, d1, d2, d3, d4) -> (d2, d3, d4)>
#map47 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
#map48 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 + d3, d4)>
#map49 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 3 + d4, d2 * 3 + d5, d6)>
#boo_2025_11 = {source = "iree-turbine, BOO, November 2025", measured = "by others, for IREE 3.8"}
#boo_2025_06 = {source = "iree-turbine, BOO, June 2025", measured = "by others, for IREE 3.5"}

module @tuninglink_boo_gfx942 attributes {
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

transform.named_sequence @match_contraction_m3_n448_k112_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [448] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [112] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [32, 32, 16], promote_operands = [0, 1, 2], reduction = [0, 0, 2], subgroup = [1, 1, 0], workgroup = [32, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m7_n224_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [7] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [224] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [16, 16, 224], promote_operands = [0, 1, 2], reduction = [0, 0, 14], subgroup = [1, 1, 0], workgroup = [16, 16, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m10_n224_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [10] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [224] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [16, 32, 224], promote_operands = [0, 1, 2], reduction = [0, 0, 14], subgroup = [1, 2, 0], workgroup = [16, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m12_n224_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [12] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [224] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [16, 32, 96], promote_operands = [0, 1, 2], reduction = [0, 0, 6], subgroup = [1, 2, 0], workgroup = [16, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m6_n224_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [6] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [224] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [16, 16, 288], promote_operands = [0, 1, 2], reduction = [0, 0, 18], subgroup = [1, 1, 0], workgroup = [16, 16, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m5_n224_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [5] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [224] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [16, 16, 32], promote_operands = [0, 1, 2], reduction = [0, 0, 2], subgroup = [1, 1, 0], workgroup = [16, 16, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2760_n1536_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2760] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1536] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [96, 96, 48], promote_operands = [0, 1, 2], reduction = [0, 0, 6], subgroup = [1, 1, 0], workgroup = [96, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [576, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m4_n896_k112_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [112] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [32, 32, 16], promote_operands = [0, 1, 2], reduction = [0, 0, 2], subgroup = [1, 1, 0], workgroup = [32, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2_n2016_k224_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [224] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [16, 32, 32], promote_operands = [0, 1, 2], reduction = [0, 0, 2], subgroup = [1, 2, 0], workgroup = [16, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m4_n2016_k224_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [224] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [16, 96, 224], promote_operands = [0, 1, 2], reduction = [0, 0, 14], subgroup = [1, 6, 0], workgroup = [16, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m5520_n1536_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [5520] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1536] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [15, 2, 0], workgroup = [240, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m3_n2016_k224_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [224] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [32, 96, 112], promote_operands = [0, 1, 2], reduction = [0, 0, 14], subgroup = [1, 3, 0], workgroup = [32, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m6900_n768_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [6900] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [768] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [64, 96, 96], promote_operands = [0, 1, 2], reduction = [0, 0, 12], subgroup = [1, 1, 0], workgroup = [64, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m4_n448_k112_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [448] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [112] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [32, 64, 112], promote_operands = [0, 1, 2], reduction = [0, 0, 14], subgroup = [1, 2, 0], workgroup = [32, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m10738_n2016_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [10738] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [96, 96, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 4], subgroup = [2, 3, 0], workgroup = [96, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m5520_n2048_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [5520] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [5, 8, 0], workgroup = [80, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m6900_n1536_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [6900] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1536] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [96, 64, 96], promote_operands = [0, 1, 2], reduction = [0, 0, 12], subgroup = [1, 1, 0], workgroup = [96, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m5520_n2016_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [5520] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [15, 2, 0], workgroup = [240, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m85904_n896_k448_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [85904] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [448] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [7, 2, 0], workgroup = [112, 224, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [448, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2_n896_k224_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [224] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [16, 32, 32], promote_operands = [0, 1, 2], reduction = [0, 0, 2], subgroup = [1, 2, 0], workgroup = [16, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m3_n896_k224_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [224] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [32, 64, 32], promote_operands = [0, 1, 2], reduction = [0, 0, 4], subgroup = [1, 2, 0], workgroup = [32, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m13800_n768_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [13800] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [768] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [96, 64, 96], promote_operands = [0, 1, 2], reduction = [0, 0, 12], subgroup = [1, 1, 0], workgroup = [96, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m16560_n1536_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16560] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1536] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [15, 2, 0], workgroup = [240, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m16560_n768_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16560] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [768] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [15, 2, 0], workgroup = [240, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m257712_n896_k448_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [257712] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [448] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [7, 2, 0], workgroup = [112, 224, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [448, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m85904_n448_k448_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [85904] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [448] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [448] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [7, 2, 0], workgroup = [112, 224, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [448, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m16560_n2016_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16560] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [9, 3, 0], workgroup = [144, 144, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2_n224_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [224] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [16, 32, 32], promote_operands = [0, 1, 2], reduction = [0, 0, 2], subgroup = [1, 2, 0], workgroup = [16, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m4_n224_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [224] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [32, 32, 32], promote_operands = [0, 1, 2], reduction = [0, 0, 4], subgroup = [1, 1, 0], workgroup = [32, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m4_n896_k224_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [224] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [16, 16, 32], promote_operands = [0, 1, 2], reduction = [0, 0, 2], subgroup = [1, 1, 0], workgroup = [16, 16, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m3_n224_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [224] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [16, 16, 288], promote_operands = [0, 1, 2], reduction = [0, 0, 18], subgroup = [1, 1, 0], workgroup = [16, 16, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m10738_n896_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [10738] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [128, 64, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 8], subgroup = [1, 1, 0], workgroup = [128, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m257712_n448_k448_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [257712] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [448] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [448] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [7, 2, 0], workgroup = [112, 224, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [448, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m16107_n896_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16107] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [128, 64, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 8], subgroup = [1, 1, 0], workgroup = [128, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m21476_n896_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [21476] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [64, 128, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 8], subgroup = [1, 1, 0], workgroup = [64, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m26845_n896_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [26845] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [32, 64, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 4], subgroup = [1, 2, 0], workgroup = [32, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m37583_n896_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [37583] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [48, 64, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 4], subgroup = [3, 2, 0], workgroup = [48, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m53690_n896_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [53690] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [64, 128, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 4], subgroup = [2, 2, 0], workgroup = [64, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m64428_n896_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [64428] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [64, 128, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 8], subgroup = [1, 1, 0], workgroup = [64, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m3240000_n2_k2_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [3240000] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [96, 16, 16], promote_operands = [0, 1, 2], reduction = [0, 0, 1], subgroup = [6, 1, 0], workgroup = [96, 16, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m147456_n512_k384_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [147456] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [512] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [384] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [2, 2, 0], workgroup = [128, 256, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m98304_n96_k96_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [98304] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [96] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 6], subgroup = [3, 1, 0], workgroup = [48, 48, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m24576_n576_k576_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [24576] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [576] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [576] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 6, 0], workgroup = [256, 192, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m147456_n384_k480_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [147456] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [480] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 3, 0], workgroup = [256, 384, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m24576_n576_k672_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [24576] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [576] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [672] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [2, 12, 0], workgroup = [128, 192, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m98304_n96_k192_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [98304] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [192] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [2, 6, 0], workgroup = [192, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m147456_n384_k384_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [147456] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [384] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [2, 6, 0], workgroup = [256, 384, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m196608_n96_k384_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [196608] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [384] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [3, 3, 0], workgroup = [96, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m24576_n48_k96_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [24576] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [48] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [96] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [3, 1, 0], workgroup = [48, 48, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m24576_n288_k96_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [24576] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [288] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [96] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [2, 6, 0], workgroup = [32, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m24576_n512_k576_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [24576] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [512] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [576] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [3, 8, 0], workgroup = [384, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m6144_n288_k576_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [6144] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [288] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [576] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 12], subgroup = [2, 2, 0], workgroup = [64, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m16_n576_k576_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [576] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [576] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 12], subgroup = [1, 2, 0], workgroup = [16, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m24576_n128_k480_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [24576] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [480] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [1, 4, 0], workgroup = [64, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m6144_n192_k48_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [6144] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [192] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [48] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [2, 3, 0], workgroup = [64, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m98304_n40_k40_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [98304] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [40] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [40] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [64, 64, 8], promote_operands = [0, 1, 2], reduction = [0, 0, 1], subgroup = [2, 2, 0], workgroup = [64, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m24576_n384_k384_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [24576] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [384] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [1, 8, 0], workgroup = [64, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m1536_n192_k384_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [1536] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [192] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [384] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 12], subgroup = [3, 1, 0], workgroup = [48, 48, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m4096_n384_k288_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [288] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 6], subgroup = [2, 2, 0], workgroup = [64, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m24576_n96_k288_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [24576] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [288] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 6], subgroup = [1, 6, 0], workgroup = [32, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m24576_n384_k288_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [24576] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [288] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [8, 3, 0], workgroup = [128, 384, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m6144_n96_k288_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [6144] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [288] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 6], subgroup = [1, 2, 0], workgroup = [16, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m6144_n288_k288_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [6144] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [288] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [288] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [1, 3, 0], workgroup = [96, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m6144_n144_k288_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [6144] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [144] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [288] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [3, 1, 0], workgroup = [48, 16, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m4096_n576_k2048_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [576] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [2, 4, 0], workgroup = [128, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m4096_n288_k2048_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [288] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 8], subgroup = [1, 3, 0], workgroup = [64, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m24576_n96_k192_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [24576] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [192] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [3, 1, 0], workgroup = [96, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m1536_n384_k192_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [1536] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [192] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [2, 1, 0], workgroup = [32, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m24576_n64_k128_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [24576] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [128] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [2, 1, 0], workgroup = [32, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m196608_n384_k448_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [196608] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [448] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [1, 2, 0], workgroup = [128, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m196608_n384_k384_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [196608] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [384] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [2, 1, 0], workgroup = [128, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m147456_n384_k128_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [147456] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [128] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [1, 4, 0], workgroup = [256, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m4096_n576_k576_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [576] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [576] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 12], subgroup = [1, 3, 0], workgroup = [32, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2760_n2016_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2760] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [96, 96, 48], promote_operands = [0, 1, 2], reduction = [0, 0, 6], subgroup = [1, 1, 0], workgroup = [96, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [576, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m42952_n896_k448_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [42952] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [448] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [48, 32, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 4], subgroup = [3, 2, 0], workgroup = [48, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2_n448_k56_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [448] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [56] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [16, 224, 16], promote_operands = [0, 1, 2], reduction = [0, 0, 1], subgroup = [1, 14, 0], workgroup = [16, 224, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2726000_n3_k4_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2726000] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [64, 32, 8], promote_operands = [0, 1, 2], reduction = [0, 0, 1], subgroup = [2, 1, 0], workgroup = [64, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2_n896_k112_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [112] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [32, 128, 8], promote_operands = [0, 1, 2], reduction = [0, 0, 1], subgroup = [1, 2, 0], workgroup = [32, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m42952_n448_k448_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [42952] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [448] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [448] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [32, 64, 32], promote_operands = [0, 1, 2], reduction = [0, 0, 4], subgroup = [1, 1, 0], workgroup = [32, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2_n224_k8_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [224] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [8] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [16, 16, 16], promote_operands = [0, 1, 2], reduction = [0, 0, 1], subgroup = [1, 1, 0], workgroup = [16, 16, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2_n56_k224_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [224] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [32, 64, 32], promote_operands = [0, 1, 2], reduction = [0, 0, 4], subgroup = [1, 2, 0], workgroup = [32, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2_n8_k224_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [8] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [224] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [16, 16, 16], promote_operands = [0, 1, 2], reduction = [0, 0, 1], subgroup = [1, 1, 0], workgroup = [16, 16, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2_n224_k56_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [224] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [56] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [16, 112, 16], promote_operands = [0, 1, 2], reduction = [0, 0, 1], subgroup = [1, 1, 0], workgroup = [16, 112, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [448, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2_n56_k448_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [448] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [32, 64, 224], promote_operands = [0, 1, 2], reduction = [0, 0, 28], subgroup = [1, 1, 0], workgroup = [32, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m59x91_n896_k448_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [59, 91] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [448] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 32, 64, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 4], subgroup = [1, 2, 4, 0], workgroup = [1, 32, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m30x46_n2016_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [30, 46] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [6, 16, 32, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 4], subgroup = [6, 1, 1, 0], workgroup = [6, 16, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m235x363_n448_k224_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [448] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [224] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 64, 64, 32], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 4], subgroup = [1, 1, 1, 0], workgroup = [1, 64, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m30x46_n2048_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [30, 46] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [6, 16, 64, 96], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 6], subgroup = [1, 1, 4, 0], workgroup = [6, 16, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m30x46_n2016_k2016_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [30, 46] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2016] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [2, 48, 48, 96], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 6], subgroup = [2, 1, 1, 0], workgroup = [2, 48, 48, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [576, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m118x182_n896_k448_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [448] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 64, 128, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 4], subgroup = [1, 1, 4, 0], workgroup = [1, 64, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m59x91_n2016_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [59, 91] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 96, 48, 32], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 2], subgroup = [1, 2, 3, 0], workgroup = [1, 96, 48, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m59x91_n896_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [59, 91] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 96, 32, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 4], subgroup = [1, 3, 2, 0], workgroup = [1, 96, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m16x32_n64_k64_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [64] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 4], subgroup = [1, 2, 4, 0], workgroup = [1, 32, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m16x30_n8192_k576_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16, 30] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [8192] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [576] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [2, 32, 64, 48], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 3], subgroup = [1, 2, 4, 0], workgroup = [2, 32, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m16x30_n3_k576_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16, 30] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [576] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 32, 16, 192], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 12], subgroup = [1, 1, 1, 0], workgroup = [1, 32, 16, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m16x30_n1024_k576_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16, 30] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1024] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [576] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 32, 64, 192], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 12], subgroup = [1, 1, 4, 0], workgroup = [1, 32, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m16x2_n192_k576_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16, 2] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [192] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [576] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 16, 64, 192], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 12], subgroup = [1, 1, 4, 0], workgroup = [1, 16, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m16x2_n1024_k576_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16, 2] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1024] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [576] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [4, 16, 32, 48], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 3], subgroup = [4, 1, 2, 0], workgroup = [4, 16, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m16x21_n384_k192_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16, 21] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [192] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [2, 16, 32, 192], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 12], subgroup = [1, 1, 2, 0], workgroup = [2, 16, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m16x6_n576_k1024_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16, 6] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [576] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1024] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [2, 16, 64, 256], promote_operands = [0, 1], reduction = [0, 0, 0, 16], subgroup = [1, 1, 1, 0], workgroup = [2, 16, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2x118x182_n448_k224_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2, 118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [448] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [224] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 1, 64, 64, 32], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 2], subgroup = [1, 1, 2, 2, 0], workgroup = [1, 1, 64, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m4x59x91_n896_k448_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4, 59, 91] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [896] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [448] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [4, 1, 32, 64, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 4], subgroup = [2, 1, 1, 2, 0], workgroup = [4, 1, 32, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m2x30x46_n2016_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2, 30, 46] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 6, 16, 48, 128], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 8], subgroup = [1, 3, 1, 1, 0], workgroup = [1, 6, 16, 48, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m3x30x46_n2016_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [3, 30, 46] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [3, 2, 16, 96, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 4], subgroup = [1, 1, 1, 6, 0], workgroup = [3, 2, 16, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m4x30x46_n2016_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4, 30, 46] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 1, 48, 48, 32], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 2], subgroup = [1, 1, 3, 1, 0], workgroup = [1, 1, 48, 48, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m5x30x46_n2016_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [5, 30, 46] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 6, 16, 96, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 4], subgroup = [1, 1, 1, 6, 0], workgroup = [1, 6, 16, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m6x30x46_n2016_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [6, 30, 46] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 6, 16, 96, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 4], subgroup = [1, 2, 1, 3, 0], workgroup = [1, 6, 16, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m7x30x46_n2016_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [7, 30, 46] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 2, 48, 96, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 4], subgroup = [1, 2, 1, 3, 0], workgroup = [1, 2, 48, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m10x30x46_n2016_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [10, 30, 46] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 2, 48, 96, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 4], subgroup = [1, 1, 1, 6, 0], workgroup = [1, 2, 48, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m12x30x46_n2016_k896_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [12, 30, 46] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2016] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [896] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 2, 48, 96, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 4], subgroup = [1, 2, 1, 3, 0], workgroup = [1, 2, 48, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m16x24x16_n288_k96_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16, 24, 16] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [288] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [96] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 6], subgroup = [2, 1, 1, 1, 0], workgroup = [2, 3, 16, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n3_o30x46_f56_k3x3_c56_g36_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [30, 46] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [36] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<3x61x93x36x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 3, 64, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 3, 64, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n4_o30x46_f56_k3x3_c56_g36_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [4] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [30, 46] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [36] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<4x61x93x36x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 3, 64, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 3, 64, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o118x182_f56_k3x3_c56_g8_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<2x237x365x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 64, 1, 64, 56], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 7], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 64, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o59x91_f56_k3x3_c56_g16_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [59, 91] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [16] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<2x120x184x16x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [2, 1, 32, 1, 64, 56], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 7], subgroup = [2, 1, 1, 1, 2, 0], workgroup = [2, 1, 32, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n3_o118x182_f56_k3x3_c56_g8_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<3x237x365x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [3, 1, 64, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [3, 1, 64, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n4_o118x182_f56_k3x3_c56_g8_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [4] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<4x237x365x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 64, 1, 64, 56], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 7], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 64, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n4_o59x91_f56_k3x3_c56_g16_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [4] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [59, 91] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [16] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<4x120x184x16x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [2, 1, 32, 1, 64, 56], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 7], subgroup = [2, 1, 1, 1, 2, 0], workgroup = [2, 1, 32, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n6_o59x91_f56_k3x3_c56_g16_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [6] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [59, 91] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [16] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<6x120x184x16x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [2, 1, 32, 1, 64, 56], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 7], subgroup = [2, 1, 1, 1, 2, 0], workgroup = [2, 1, 32, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n5_o118x182_f56_k3x3_c56_g8_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [5] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<5x237x365x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n10_o59x91_f56_k3x3_c56_g16_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [10] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [59, 91] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [16] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<10x120x184x16x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [2, 1, 32, 1, 64, 56], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 7], subgroup = [2, 1, 1, 1, 2, 0], workgroup = [2, 1, 32, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n12_o59x91_f56_k3x3_c56_g16_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [12] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [59, 91] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [16] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<12x120x184x16x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [2, 1, 32, 1, 64, 56], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 7], subgroup = [2, 1, 1, 1, 2, 0], workgroup = [2, 1, 32, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n6_o118x182_f56_k3x3_c56_g8_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [6] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<6x237x365x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [6, 1, 32, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [2, 1, 1, 1, 2, 0], workgroup = [6, 1, 32, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n7_o118x182_f56_k3x3_c56_g8_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [7] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<7x237x365x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n10_o118x182_f56_k3x3_c56_g8_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [10] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<10x237x365x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o235x363_f56_k3x3_c56_g4_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<2x472x727x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n3_o235x363_f56_k3x3_c56_g4_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<3x472x727x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n12_o118x182_f56_k3x3_c56_g8_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [12] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<12x237x365x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n4_o235x363_f56_k3x3_c56_g4_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [4] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<4x472x727x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n5_o235x363_f56_k3x3_c56_g4_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [5] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<5x472x727x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n6_o235x363_f56_k3x3_c56_g4_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [6] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<6x472x727x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n7_o235x363_f56_k3x3_c56_g4_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [7] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<7x472x727x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n10_o235x363_f56_k3x3_c56_g4_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [10] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<10x472x727x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n12_o235x363_f56_k3x3_c56_g4_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [12] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<12x472x727x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o24x16_f96_k3x3_c96_g3_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [24, 16] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [3] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x50x34x3x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 2], subgroup = [2, 1, 1, 1, 2, 0], workgroup = [4, 1, 16, 1, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o30x46_f56_k3x3_c56_g36_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [30, 46] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [36] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<2x61x93x36x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [2, 1, 48, 1, 32, 16], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 1], subgroup = [1, 1, 3, 1, 1, 0], workgroup = [2, 1, 48, 1, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_o118x182_f56_k3x3_c56_g8_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map12, #map13, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<237x365x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 64, 1, 64, 56], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 7], subgroup = [1, 2, 1, 2, 0], workgroup = [1, 64, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_o235x363_f56_k3x3_c56_g4_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map12, #map13, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<472x727x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 3], subgroup = [1, 2, 1, 2, 0], workgroup = [1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_o235x363_f56_k3x3_c56_g4_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map15, #map13, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<237x365x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 3], subgroup = [1, 2, 1, 2, 0], workgroup = [1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_o118x182_f56_k3x3_c56_g8_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map15, #map13, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<120x184x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [2, 96, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 3], subgroup = [2, 1, 1, 2, 0], workgroup = [2, 96, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o118x182_f56_k3x3_c56_g8_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<2x120x184x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n3_o118x182_f56_k3x3_c56_g8_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<3x120x184x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n4_o118x182_f56_k3x3_c56_g8_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [4] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<4x120x184x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o235x363_f56_k3x3_c56_g4_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<2x237x365x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n4_o59x91_f56_k3x3_c56_g16_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [4] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [59, 91] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [16] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<4x61x93x16x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [2, 1, 96, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [2, 1, 1, 1, 2, 0], workgroup = [2, 1, 96, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n5_o118x182_f56_k3x3_c56_g8_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [5] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<5x120x184x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n3_o235x363_f56_k3x3_c56_g4_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<3x237x365x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n6_o118x182_f56_k3x3_c56_g8_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [6] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<6x120x184x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n4_o235x363_f56_k3x3_c56_g4_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [4] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<4x237x365x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n7_o118x182_f56_k3x3_c56_g8_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [7] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<7x120x184x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n6_o59x91_f56_k3x3_c56_g16_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [6] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [59, 91] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [16] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<6x61x93x16x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [2, 1, 96, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [2, 1, 1, 1, 2, 0], workgroup = [2, 1, 96, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n5_o235x363_f56_k3x3_c56_g4_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [5] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<5x237x365x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n10_o118x182_f56_k3x3_c56_g8_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [10] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<10x120x184x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n6_o235x363_f56_k3x3_c56_g4_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [6] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<6x237x365x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n7_o235x363_f56_k3x3_c56_g4_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [7] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<7x237x365x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n12_o118x182_f56_k3x3_c56_g8_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [12] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [118, 182] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [8] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<12x120x184x8x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n10_o235x363_f56_k3x3_c56_g4_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [10] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<10x237x365x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n12_o235x363_f56_k3x3_c56_g4_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [12] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [235, 363] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<12x237x365x4x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 192, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [1, 1, 2, 1, 2, 0], workgroup = [1, 1, 192, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n10_o59x91_f56_k3x3_c56_g16_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [10] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [59, 91] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [16] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<10x61x93x16x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [2, 1, 96, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [2, 1, 1, 1, 2, 0], workgroup = [2, 1, 96, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n12_o59x91_f56_k3x3_c56_g16_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [12] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [59, 91] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [16] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<12x61x93x16x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [2, 1, 96, 1, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 3], subgroup = [2, 1, 1, 1, 2, 0], workgroup = [2, 1, 96, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n128_o48x32_f64_k3x3_c64_g6_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [48, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [6] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<128x50x34x6x64xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 4], subgroup = [2, 1, 1, 1, 4, 0], workgroup = [4, 2, 16, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o59x91_f56_k3x3_c56_g16_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map16, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [59, 91] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [56] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [16] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<2x61x93x16x56xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [2, 1, 16, 1, 64, 32], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 0, 2], subgroup = [1, 1, 1, 1, 2, 0], workgroup = [2, 1, 16, 1, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o225x225_f64_k3x3_c13_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map17, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [225, 225] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [13] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x227x227x13xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [2, 1, 16, 64, 16], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 1], subgroup = [1, 1, 1, 1, 0], workgroup = [2, 1, 16, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o96x64_f48_k3x3_c48_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map17, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [96, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [48] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [48] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x98x66x48xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 64, 64, 16], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 2], subgroup = [1, 1, 1, 2, 0], workgroup = [1, 1, 64, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o96x64_f96_k3x3_c96_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map17, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [96, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x98x66x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 4], subgroup = [1, 3, 1, 1, 0], workgroup = [1, 6, 32, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o48x32_f576_k3x3_c576_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map17, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [48, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [576] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [576] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x50x34x576xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 2], subgroup = [8, 1, 1, 3, 0], workgroup = [8, 1, 16, 192, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o48x32_f288_k3x3_c288_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map17, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [48, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [288] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [288] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x50x34x288xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 2], subgroup = [2, 3, 1, 3, 0], workgroup = [2, 3, 16, 144, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o48x32_f2048_k3x3_c768_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map17, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [48, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [768] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x50x34x768xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 2], subgroup = [4, 1, 1, 8, 0], workgroup = [8, 1, 16, 256, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o38x38_f64_k3x3_c64_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map17, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [38, 38] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [64] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x40x40x64xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 2, 48, 32, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 4], subgroup = [1, 2, 3, 1, 0], workgroup = [1, 2, 48, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o24x16_f288_k3x3_c288_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map17, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [24, 16] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [288] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [288] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x26x18x288xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 6], subgroup = [2, 2, 1, 1, 0], workgroup = [2, 6, 16, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o225x225_f64_k3x3_c5_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map17, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [225, 225] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [5] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x227x227x5xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [8, 1, 16, 64, 16], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1], subgroup = [4, 1, 1, 1, 0], workgroup = [8, 1, 16, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o24x16_f192_k3x3_c194_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map17, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [24, 16] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [192] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [194] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x26x18x194xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [4, 1, 16, 64, 32], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 2], subgroup = [1, 1, 1, 2, 0], workgroup = [4, 1, 16, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o192x128_f32_k3x3_c49_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map17, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [192, 128] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [32] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [49] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x194x130x49xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 8, 32, 32, 32], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 4], subgroup = [1, 1, 1, 1, 0], workgroup = [1, 8, 32, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o225x225_f64_k3x3_c16_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map17, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [225, 225] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [16] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x227x227x16xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [2, 1, 32, 64, 16], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 2], subgroup = [1, 1, 1, 1, 0], workgroup = [2, 1, 32, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o225x225_f64_k3x3_c64_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map17, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [225, 225] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [64] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x227x227x64xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 128, 64, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 8], subgroup = [1, 1, 1, 1, 0], workgroup = [1, 1, 128, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x16_o24_f96_k3_c96_g3_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map19, #map18, #map20] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [24] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [3] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x26x16x3x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 6], subgroup = [2, 1, 1, 1, 2, 0], workgroup = [2, 2, 16, 1, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n128x48_o24_f128_k3_c128_g3_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map19, #map18, #map20] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [128, 48] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [24] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [3] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<128x26x48x3x128xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 4], subgroup = [1, 3, 1, 1, 4, 0], workgroup = [2, 3, 16, 1, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o48x32_f48_k5x5_c48_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map21, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [48, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [48] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [5, 5] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [48] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x64x48x48xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 2, 32, 64, 48], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 6], subgroup = [1, 2, 1, 1, 0], workgroup = [1, 2, 32, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o96x64_f48_k3x3_c48_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map21, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [96, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [48] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [48] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x104x72x48xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 64, 64, 48], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 6], subgroup = [1, 1, 2, 1, 0], workgroup = [1, 1, 64, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o96x64_f48_k5x5_c48_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map21, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [96, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [48] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [5, 5] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [48] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x112x80x48xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 2, 32, 64, 48], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 6], subgroup = [1, 2, 1, 1, 0], workgroup = [1, 2, 32, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_b5_m16x48x32_n96_k96_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map22, #map23, #map24] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [5] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [16, 48, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [96] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 2], subgroup = [4, 1, 1, 1, 3, 0], workgroup = [4, 1, 16, 1, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_b3_m16x24x16_n96_k96_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map22, #map23, #map24] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [16, 24, 16] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [96] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 6], subgroup = [1, 3, 1, 1, 6, 0], workgroup = [2, 3, 16, 1, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x48x32_o2_f96_k3_c96_g3_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map25, #map26, #map27] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 48, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [3] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x4x48x32x3x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 0, 2], subgroup = [1, 1, 3, 2, 1, 2, 0], workgroup = [1, 1, 3, 32, 1, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x48x32_o4_f96_k3_c96_g3_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map25, #map26, #map27] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 48, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [4] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [3] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x6x48x32x3x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 0, 2], subgroup = [1, 1, 2, 2, 1, 6, 0], workgroup = [1, 1, 6, 32, 1, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x48x32_o8_f96_k3_c96_g3_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map25, #map26, #map27] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 48, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [8] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [3] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x10x48x32x3x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 0, 4], subgroup = [1, 1, 1, 1, 1, 3, 0], workgroup = [1, 1, 6, 32, 1, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x64_o96_f96_k3_c96_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map28, #map23, #map29] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x98x64x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 2], subgroup = [2, 3, 1, 2, 0], workgroup = [2, 6, 16, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x38_o38_f64_k3_c64_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map28, #map23, #map29] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 38] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [38] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [64] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x40x38x64xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [2, 1, 48, 64, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 4], subgroup = [1, 1, 3, 2, 0], workgroup = [2, 1, 48, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x2_o48x32_f96_k3x3_c96_g3_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map30, #map31, #map32] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [48, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [3] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x2x50x34x3x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 0, 2], subgroup = [4, 1, 2, 1, 1, 3, 0], workgroup = [4, 1, 2, 16, 1, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x4_o48x32_f96_k3x3_c96_g3_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map30, #map31, #map32] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 4] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [48, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [3] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x4x50x34x3x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 0, 2], subgroup = [1, 2, 2, 2, 1, 3, 0], workgroup = [1, 2, 2, 32, 1, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x8_o48x32_f96_k3x3_c96_g3_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map30, #map31, #map32] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 8] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [48, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [3] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x8x50x34x3x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 0, 2], subgroup = [1, 1, 3, 1, 1, 6, 0], workgroup = [1, 1, 6, 16, 1, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o96x64_f48_k3x3_c48_bf16_3(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map33, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [96, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [48] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [48] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x100x68x48xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 2, 32, 64, 16], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 2], subgroup = [1, 1, 1, 2, 0], workgroup = [1, 2, 32, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o48x32_f48_k3x3_c48_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map33, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [48, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [48] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [48] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x52x36x48xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 4, 32, 64, 16], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 2], subgroup = [1, 4, 1, 1, 0], workgroup = [1, 4, 32, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_contraction_m16x48x32_n288_k2x288_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map34, #map23, #map29] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16, 48, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [288] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2, 288] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 2, 2], subgroup = [1, 1, 2, 6, 0, 0], workgroup = [4, 1, 32, 96, 0, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x48x32_o2_f288_k2_c288_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map35, #map36, #map20] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 48, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [288] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [288] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x4x48x32x288xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 4], subgroup = [1, 1, 1, 1, 9, 0], workgroup = [1, 1, 6, 32, 288, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x48x32_o4_f288_k2_c288_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map35, #map36, #map20] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 48, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [4] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [288] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [288] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x8x48x32x288xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 4], subgroup = [1, 1, 3, 1, 3, 0], workgroup = [1, 1, 6, 32, 288, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x32_o16_f2048_k3_c2048_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map37, #map23, #map29] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [2048] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x50x32x2048xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 2], subgroup = [4, 1, 1, 8, 0], workgroup = [16, 1, 16, 256, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o96x64_f40_k3x3_c40_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map38, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [96, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [40] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [40] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x194x130x40xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 3, 64, 64, 24], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 3], subgroup = [1, 1, 2, 2, 0], workgroup = [1, 3, 64, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o24x16_f128_k2x2_c128_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map38, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [24, 16] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [2, 2] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [128] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x48x32x128xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 2], subgroup = [1, 1, 1, 4, 0], workgroup = [1, 2, 16, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o12x8_f192_k2x2_c128_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map38, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [12, 8] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [192] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [2, 2] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [128] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x24x16x128xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 1, 16, 32, 128], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 8], subgroup = [1, 1, 1, 1, 0], workgroup = [1, 1, 16, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o225x225_f16_k2x2_c4_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map38, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [225, 225] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [2, 2] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [4] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x450x450x4xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 9, 16, 16, 16], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 1], subgroup = [1, 1, 1, 1, 0], workgroup = [1, 9, 16, 16, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [576, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n2_o470x725_f32_k3x3_c3_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map38, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [470, 725] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [32] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [3] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<2x942x1452x3xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [2, 1, 32, 32, 8], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 1], subgroup = [1, 1, 1, 1, 0], workgroup = [2, 1, 32, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x48_o32_f96_k3_c96_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map39, #map23, #map29] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 48] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x48x36x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 3], subgroup = [1, 4, 1, 2, 0], workgroup = [1, 4, 16, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x24_o16_f96_k3_c96_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map39, #map23, #map29] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 24] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x24x20x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 2], subgroup = [1, 2, 1, 1, 0], workgroup = [1, 2, 16, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x48_o32_f96_k3_c96_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map40, #map23, #map29] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 48] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x48x34x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 6], subgroup = [1, 6, 2, 1, 0], workgroup = [1, 6, 32, 48, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x24_o16_f96_k3_c96_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map40, #map23, #map29] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 24] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x24x18x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 6], subgroup = [1, 1, 1, 6, 0], workgroup = [1, 2, 16, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x225_o225_f64_k3_c64_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map40, #map23, #map29] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 225] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [225] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [64] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x225x227x64xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, padding = [1, 1, 128, 64, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 8], subgroup = [1, 1, 1, 1, 0], workgroup = [1, 1, 128, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x16_o24_f96_k3_c96_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map41, #map23, #map29] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [24] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x32x16x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 2], subgroup = [1, 4, 1, 2, 0], workgroup = [1, 4, 16, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x16_o24_f96_k3_c96_bf16_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map42, #map23, #map29] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [24] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x28x16x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 2], subgroup = [1, 2, 1, 2, 0], workgroup = [1, 2, 16, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x38_o19_f64_k3_c64_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map43, #map23, #map29] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 38] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [19] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [64] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x38x40x64xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [2, 1, 32, 32, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 4], subgroup = [2, 1, 2, 1, 0], workgroup = [2, 1, 32, 32, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16x24_o16_f96_k3_c96_g3_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map44, #map18, #map20] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16, 24] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [96] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [3] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x24x18x3x96xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 6], subgroup = [8, 1, 1, 1, 1, 0], workgroup = [8, 1, 16, 1, 96, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n128x24_o48_f128_k3_c128_g3_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map44, #map18, #map20] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [128, 24] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [48] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %group, [3] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<128x24x50x3x128xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 0, 2], subgroup = [1, 6, 1, 1, 4, 0], workgroup = [1, 12, 16, 1, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o256_f2048_k2_c2048_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map45, #map46, #map47] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [256] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [2048] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x512x2048xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_BF16>, promote_operands = [0, 1], reduction = [0, 0, 0, 8], subgroup = [4, 1, 1, 0], workgroup = [8, 32, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o21_f192_k3_c192_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_11} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map48, #map46, #map47] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [21] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [192] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [192] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x23x192xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [1, 16, 16, 64], promote_operands = [0, 1, 2], reduction = [0, 0, 0, 4], subgroup = [1, 1, 1, 0], workgroup = [1, 16, 16, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_n16_o75x75_f64_k3x3_c64_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = #boo_2025_06} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map49, #map18, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [75, 75] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [64] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<16x227x227x64xbf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [8, 1, 16, 64, 16], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1], subgroup = [4, 1, 1, 1, 0], workgroup = [8, 1, 16, 64, 0]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, use_igemm_convolution = true>, llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed})
    -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
  %updated = transform.foreach_match in %root
    @match_contraction_m3_n448_k112_bf16 -> @configure,
    @match_contraction_m59x91_n896_k448_bf16 -> @configure,
    @match_contraction_m2x118x182_n448_k224_bf16 -> @configure,
    @match_contraction_m7_n224_k2016_bf16 -> @configure,
    @match_contraction_m10_n224_k2016_bf16 -> @configure,
    @match_contraction_m12_n224_k2016_bf16 -> @configure,
    @match_contraction_m6_n224_k2016_bf16 -> @configure,
    @match_contraction_m30x46_n2016_k896_bf16 -> @configure,
    @match_contraction_m235x363_n448_k224_bf16 -> @configure,
    @match_contraction_m5_n224_k2016_bf16 -> @configure,
    @match_contraction_m30x46_n2048_k2016_bf16 -> @configure,
    @match_contraction_m2760_n1536_k2016_bf16 -> @configure,
    @match_contraction_m30x46_n2016_k2016_bf16 -> @configure,
    @match_contraction_m4_n896_k112_bf16 -> @configure,
    @match_contraction_m118x182_n896_k448_bf16 -> @configure,
    @match_contraction_m4x59x91_n896_k448_bf16 -> @configure,
    @match_contraction_m2_n2016_k224_bf16 -> @configure,
    @match_contraction_m4_n2016_k224_bf16 -> @configure,
    @match_contraction_m5520_n1536_k2016_bf16 -> @configure,
    @match_contraction_m3_n2016_k224_bf16 -> @configure,
    @match_contraction_m6900_n768_k2016_bf16 -> @configure,
    @match_contraction_m59x91_n2016_k896_bf16 -> @configure,
    @match_contraction_m4_n448_k112_bf16 -> @configure,
    @match_contraction_m2x30x46_n2016_k896_bf16 -> @configure,
    @match_contraction_m3x30x46_n2016_k896_bf16 -> @configure,
    @match_conv_n3_o30x46_f56_k3x3_c56_g36_bf16 -> @configure,
    @match_contraction_m10738_n2016_k896_bf16 -> @configure,
    @match_contraction_m4x30x46_n2016_k896_bf16 -> @configure,
    @match_conv_n4_o30x46_f56_k3x3_c56_g36_bf16 -> @configure,
    @match_contraction_m5520_n2048_k2016_bf16 -> @configure,
    @match_contraction_m6900_n1536_k2016_bf16 -> @configure,
    @match_contraction_m5520_n2016_k2016_bf16 -> @configure,
    @match_contraction_m85904_n896_k448_bf16 -> @configure,
    @match_contraction_m5x30x46_n2016_k896_bf16 -> @configure,
    @match_conv_o118x182_f56_k3x3_c56_g8_bf16 -> @configure,
    @match_contraction_m2_n896_k224_bf16 -> @configure,
    @match_contraction_m3_n896_k224_bf16 -> @configure,
    @match_contraction_m13800_n768_k2016_bf16 -> @configure,
    @match_contraction_m59x91_n896_k896_bf16 -> @configure,
    @match_contraction_m16560_n1536_k2016_bf16 -> @configure,
    @match_contraction_m6x30x46_n2016_k896_bf16 -> @configure,
    @match_conv_o235x363_f56_k3x3_c56_g4_bf16 -> @configure,
    @match_contraction_m16560_n768_k2016_bf16 -> @configure,
    @match_contraction_m7x30x46_n2016_k896_bf16 -> @configure,
    @match_conv_o235x363_f56_k3x3_c56_g4_bf16_2 -> @configure,
    @match_contraction_m257712_n896_k448_bf16 -> @configure,
    @match_conv_n2_o118x182_f56_k3x3_c56_g8_bf16 -> @configure,
    @match_contraction_m85904_n448_k448_bf16 -> @configure,
    @match_contraction_m10x30x46_n2016_k896_bf16 -> @configure,
    @match_conv_n2_o59x91_f56_k3x3_c56_g16_bf16 -> @configure,
    @match_conv_o118x182_f56_k3x3_c56_g8_bf16_2 -> @configure,
    @match_conv_n3_o118x182_f56_k3x3_c56_g8_bf16 -> @configure,
    @match_contraction_m16560_n2016_k2016_bf16 -> @configure,
    @match_contraction_m2_n224_k2016_bf16 -> @configure,
    @match_contraction_m4_n224_k2016_bf16 -> @configure,
    @match_contraction_m12x30x46_n2016_k896_bf16 -> @configure,
    @match_contraction_m4_n896_k224_bf16 -> @configure,
    @match_conv_n4_o118x182_f56_k3x3_c56_g8_bf16 -> @configure,
    @match_contraction_m3_n224_k2016_bf16 -> @configure,
    @match_conv_n4_o59x91_f56_k3x3_c56_g16_bf16 -> @configure,
    @match_conv_n6_o59x91_f56_k3x3_c56_g16_bf16 -> @configure,
    @match_conv_n5_o118x182_f56_k3x3_c56_g8_bf16 -> @configure,
    @match_conv_n10_o59x91_f56_k3x3_c56_g16_bf16 -> @configure,
    @match_conv_n2_o118x182_f56_k3x3_c56_g8_bf16_2 -> @configure,
    @match_conv_n12_o59x91_f56_k3x3_c56_g16_bf16 -> @configure,
    @match_conv_n6_o118x182_f56_k3x3_c56_g8_bf16 -> @configure,
    @match_conv_n7_o118x182_f56_k3x3_c56_g8_bf16 -> @configure,
    @match_conv_n10_o118x182_f56_k3x3_c56_g8_bf16 -> @configure,
    @match_contraction_m10738_n896_k896_bf16 -> @configure,
    @match_contraction_m257712_n448_k448_bf16 -> @configure,
    @match_conv_n3_o118x182_f56_k3x3_c56_g8_bf16_2 -> @configure,
    @match_conv_n4_o118x182_f56_k3x3_c56_g8_bf16_2 -> @configure,
    @match_contraction_m16107_n896_k896_bf16 -> @configure,
    @match_conv_n2_o235x363_f56_k3x3_c56_g4_bf16 -> @configure,
    @match_conv_n2_o235x363_f56_k3x3_c56_g4_bf16_2 -> @configure,
    @match_conv_n3_o235x363_f56_k3x3_c56_g4_bf16 -> @configure,
    @match_conv_n4_o59x91_f56_k3x3_c56_g16_bf16_2 -> @configure,
    @match_conv_n12_o118x182_f56_k3x3_c56_g8_bf16 -> @configure,
    @match_contraction_m21476_n896_k896_bf16 -> @configure,
    @match_conv_n5_o118x182_f56_k3x3_c56_g8_bf16_2 -> @configure,
    @match_conv_n3_o235x363_f56_k3x3_c56_g4_bf16_2 -> @configure,
    @match_conv_n4_o235x363_f56_k3x3_c56_g4_bf16 -> @configure,
    @match_conv_n6_o118x182_f56_k3x3_c56_g8_bf16_2 -> @configure,
    @match_contraction_m26845_n896_k896_bf16 -> @configure,
    @match_conv_n5_o235x363_f56_k3x3_c56_g4_bf16 -> @configure,
    @match_conv_n4_o235x363_f56_k3x3_c56_g4_bf16_2 -> @configure,
    @match_conv_n7_o118x182_f56_k3x3_c56_g8_bf16_2 -> @configure,
    @match_conv_n6_o59x91_f56_k3x3_c56_g16_bf16_2 -> @configure,
    @match_conv_n6_o235x363_f56_k3x3_c56_g4_bf16 -> @configure,
    @match_conv_n5_o235x363_f56_k3x3_c56_g4_bf16_2 -> @configure,
    @match_conv_n7_o235x363_f56_k3x3_c56_g4_bf16 -> @configure,
    @match_conv_n10_o118x182_f56_k3x3_c56_g8_bf16_2 -> @configure,
    @match_conv_n6_o235x363_f56_k3x3_c56_g4_bf16_2 -> @configure,
    @match_conv_n10_o235x363_f56_k3x3_c56_g4_bf16 -> @configure,
    @match_conv_n12_o235x363_f56_k3x3_c56_g4_bf16 -> @configure,
    @match_conv_n7_o235x363_f56_k3x3_c56_g4_bf16_2 -> @configure,
    @match_conv_n12_o118x182_f56_k3x3_c56_g8_bf16_2 -> @configure,
    @match_conv_n10_o235x363_f56_k3x3_c56_g4_bf16_2 -> @configure,
    @match_conv_n12_o235x363_f56_k3x3_c56_g4_bf16_2 -> @configure,
    @match_contraction_m37583_n896_k896_bf16 -> @configure,
    @match_conv_n10_o59x91_f56_k3x3_c56_g16_bf16_2 -> @configure,
    @match_conv_n12_o59x91_f56_k3x3_c56_g16_bf16_2 -> @configure,
    @match_contraction_m53690_n896_k896_bf16 -> @configure,
    @match_contraction_m64428_n896_k896_bf16 -> @configure,
    @match_conv_n16_o225x225_f64_k3x3_c13_bf16 -> @configure,
    @match_contraction_m3240000_n2_k2_bf16 -> @configure,
    @match_conv_n16x16_o24_f96_k3_c96_g3_bf16 -> @configure,
    @match_contraction_m147456_n512_k384_bf16 -> @configure,
    @match_contraction_m98304_n96_k96_bf16 -> @configure,
    @match_conv_n16_o48x32_f48_k5x5_c48_bf16 -> @configure,
    @match_contraction_m24576_n576_k576_bf16 -> @configure,
    @match_contraction_b5_m16x48x32_n96_k96_bf16 -> @configure,
    @match_contraction_m147456_n384_k480_bf16 -> @configure,
    @match_conv_n16x48x32_o2_f96_k3_c96_g3_bf16 -> @configure,
    @match_contraction_m24576_n576_k672_bf16 -> @configure,
    @match_conv_n16x64_o96_f96_k3_c96_bf16 -> @configure,
    @match_conv_n16_o96x64_f48_k3x3_c48_bf16 -> @configure,
    @match_contraction_m98304_n96_k192_bf16 -> @configure,
    @match_conv_n16_o96x64_f48_k3x3_c48_bf16_2 -> @configure,
    @match_conv_n16x48x32_o4_f96_k3_c96_g3_bf16 -> @configure,
    @match_conv_n16x2_o48x32_f96_k3x3_c96_g3_bf16 -> @configure,
    @match_conv_n16_o96x64_f48_k3x3_c48_bf16_3 -> @configure,
    @match_contraction_m16x48x32_n288_k2x288_bf16 -> @configure,
    @match_conv_n16_o96x64_f96_k3x3_c96_bf16 -> @configure,
    @match_conv_n128x48_o24_f128_k3_c128_g3_bf16 -> @configure,
    @match_conv_n16x48x32_o8_f96_k3_c96_g3_bf16 -> @configure,
    @match_conv_n16x4_o48x32_f96_k3x3_c96_g3_bf16 -> @configure,
    @match_contraction_m147456_n384_k384_bf16 -> @configure,
    @match_conv_n16_o96x64_f48_k5x5_c48_bf16 -> @configure,
    @match_conv_n16x48x32_o2_f288_k2_c288_bf16 -> @configure,
    @match_conv_n16x8_o48x32_f96_k3x3_c96_g3_bf16 -> @configure,
    @match_conv_n16_o48x32_f576_k3x3_c576_bf16 -> @configure,
    @match_contraction_m196608_n96_k384_bf16 -> @configure,
    @match_conv_n16_o48x32_f288_k3x3_c288_bf16 -> @configure,
    @match_conv_n16_o48x32_f2048_k3x3_c768_bf16 -> @configure,
    @match_conv_n16x48x32_o4_f288_k2_c288_bf16 -> @configure,
    @match_conv_n16x32_o16_f2048_k3_c2048_bf16 -> @configure,
    @match_conv_n16_o96x64_f40_k3x3_c40_bf16 -> @configure,
    @match_conv_n16x48_o32_f96_k3_c96_bf16 -> @configure,
    @match_conv_n16x48_o32_f96_k3_c96_bf16_2 -> @configure,
    @match_contraction_m24576_n48_k96_bf16 -> @configure,
    @match_contraction_m16x24x16_n288_k96_bf16 -> @configure,
    @match_contraction_m24576_n288_k96_bf16 -> @configure,
    @match_conv_n16x16_o24_f96_k3_c96_bf16 -> @configure,
    @match_conv_n16x16_o24_f96_k3_c96_bf16_2 -> @configure,
    @match_conv_n16x24_o16_f96_k3_c96_bf16 -> @configure,
    @match_conv_n16x24_o16_f96_k3_c96_bf16_2 -> @configure,
    @match_conv_n16_o38x38_f64_k3x3_c64_bf16 -> @configure,
    @match_conv_n16x38_o38_f64_k3_c64_bf16 -> @configure,
    @match_conv_n16x38_o19_f64_k3_c64_bf16 -> @configure,
    @match_contraction_m16x32_n64_k64_bf16 -> @configure,
    @match_contraction_m24576_n512_k576_bf16 -> @configure,
    @match_contraction_m6144_n288_k576_bf16 -> @configure,
    @match_contraction_m16x30_n8192_k576_bf16 -> @configure,
    @match_contraction_m16x30_n3_k576_bf16 -> @configure,
    @match_contraction_m16x30_n1024_k576_bf16 -> @configure,
    @match_contraction_m16x2_n192_k576_bf16 -> @configure,
    @match_contraction_m16x2_n1024_k576_bf16 -> @configure,
    @match_contraction_m16_n576_k576_bf16 -> @configure,
    @match_contraction_m24576_n128_k480_bf16 -> @configure,
    @match_conv_n16_o48x32_f48_k3x3_c48_bf16 -> @configure,
    @match_contraction_m6144_n192_k48_bf16 -> @configure,
    @match_contraction_m98304_n40_k40_bf16 -> @configure,
    @match_contraction_m24576_n384_k384_bf16 -> @configure,
    @match_contraction_m1536_n192_k384_bf16 -> @configure,
    @match_contraction_m4096_n384_k288_bf16 -> @configure,
    @match_contraction_m24576_n96_k288_bf16 -> @configure,
    @match_contraction_m24576_n384_k288_bf16 -> @configure,
    @match_conv_n16_o24x16_f96_k3x3_c96_g3_bf16 -> @configure,
    @match_contraction_m6144_n96_k288_bf16 -> @configure,
    @match_conv_n16_o24x16_f288_k3x3_c288_bf16 -> @configure,
    @match_conv_n16x24_o16_f96_k3_c96_g3_bf16 -> @configure,
    @match_contraction_b3_m16x24x16_n96_k96_bf16 -> @configure,
    @match_contraction_m6144_n288_k288_bf16 -> @configure,
    @match_contraction_m6144_n144_k288_bf16 -> @configure,
    @match_contraction_m4096_n576_k2048_bf16 -> @configure,
    @match_contraction_m4096_n288_k2048_bf16 -> @configure,
    @match_conv_n16_o256_f2048_k2_c2048_bf16 -> @configure,
    @match_contraction_m24576_n96_k192_bf16 -> @configure,
    @match_conv_n16_o21_f192_k3_c192_bf16 -> @configure,
    @match_contraction_m1536_n384_k192_bf16 -> @configure,
    @match_contraction_m16x21_n384_k192_bf16 -> @configure,
    @match_contraction_m24576_n64_k128_bf16 -> @configure,
    @match_conv_n16_o24x16_f128_k2x2_c128_bf16 -> @configure,
    @match_conv_n16_o12x8_f192_k2x2_c128_bf16 -> @configure,
    @match_contraction_m16x6_n576_k1024_bf16 -> @configure,
    @match_contraction_m196608_n384_k448_bf16 -> @configure,
    @match_conv_n128_o48x32_f64_k3x3_c64_g6_bf16 -> @configure,
    @match_contraction_m196608_n384_k384_bf16 -> @configure,
    @match_conv_n128x24_o48_f128_k3_c128_g3_bf16 -> @configure,
    @match_contraction_m147456_n384_k128_bf16 -> @configure,
    @match_contraction_m4096_n576_k576_bf16 -> @configure,
    @match_conv_n16_o225x225_f64_k3x3_c5_bf16 -> @configure,
    @match_conv_n16_o225x225_f16_k2x2_c4_bf16 -> @configure,
    @match_conv_n16_o24x16_f192_k3x3_c194_bf16 -> @configure,
    @match_conv_n16_o192x128_f32_k3x3_c49_bf16 -> @configure,
    @match_conv_n16_o225x225_f64_k3x3_c16_bf16 -> @configure,
    @match_conv_n16_o75x75_f64_k3x3_c64_bf16 -> @configure,
    @match_conv_n16x225_o225_f64_k3_c64_bf16 -> @configure,
    @match_conv_n16_o225x225_f64_k3x3_c64_bf16 -> @configure,
    @match_contraction_m2760_n2016_k2016_bf16 -> @configure,
    @match_conv_n2_o30x46_f56_k3x3_c56_g36_bf16 -> @configure,
    @match_conv_n2_o59x91_f56_k3x3_c56_g16_bf16_2 -> @configure,
    @match_contraction_m42952_n896_k448_bf16 -> @configure,
    @match_contraction_m2_n448_k56_bf16 -> @configure,
    @match_contraction_m2726000_n3_k4_bf16 -> @configure,
    @match_contraction_m2_n896_k112_bf16 -> @configure,
    @match_contraction_m42952_n448_k448_bf16 -> @configure,
    @match_contraction_m2_n224_k8_bf16 -> @configure,
    @match_contraction_m2_n56_k224_bf16 -> @configure,
    @match_contraction_m2_n8_k224_bf16 -> @configure,
    @match_contraction_m2_n224_k56_bf16 -> @configure,
    @match_contraction_m2_n56_k448_bf16 -> @configure,
    @match_conv_n2_o470x725_f32_k3x3_c3_bf16 -> @configure
    : (!transform.any_op) -> !transform.any_op
  transform.yield %updated : !transform.any_op
}

}
