// Microkernels, and promotions with a cache swizzle.

// RUN: tuninglink check %s --target gfx950 --compile --all 2>&1 | filecheck %s --check-prefix=SOUND
// SOUND-NOT: {{(warning|error)}}:
// SOUND: yes {{ *}}? {{ *}}yes {{ *}}yes {{.*}} match_microkernel
// SOUND: yes {{ *}}? {{ *}}yes {{.*}} match_swizzled

// RUN: sed 's/pingpong_large_f16/pingpong_large_fp16/' %s > %t.name.mlir
// RUN: not tuninglink check %t.name.mlir --target gfx950 2>&1 | filecheck %s --check-prefix=NAME
// NAME: error: entry 'match_microkernel': gfx950 has no microkernel 'pingpong_large_fp16'; did you mean 'pingpong_large_f16'?
// RUN: not tuninglink check %s --target gfx1100 2>&1 | filecheck %s --check-prefix=OTHER
// OTHER: error: entry 'match_microkernel': gfx1100 has no microkernel 'pingpong_large_f16'
// RUN: sed 's/#iree_codegen.ukernel_descriptor<\("[a-z0-9_]*"\), tensor>/\1/' %s > %t.text.mlir
// RUN: tuninglink check %t.text.mlir --target gfx950 2>&1 | filecheck %s --check-prefix=TEXT
// TEXT: warning: entry 'match_microkernel': 'iree_codegen.ukernel' is set to '"pingpong_large_f16"', which code generation does not read
// RUN: sed 's/\("pingpong_large_f16"\), tensor/\1, memref/' %s > %t.memref.mlir
// RUN: tuninglink check %t.memref.mlir --target gfx950 2>&1 | filecheck %s --check-prefix=MEMREF
// MEMREF: warning: entry 'match_microkernel': 'pingpong_large_f16' is a microkernel of tensors, which code generation does not use for memrefs
// MEMREF: note: write #iree_codegen.ukernel_descriptor<"pingpong_large_f16", tensor>
// RUN: sed 's/promote_with_cache_swizzle<#iree_gpu.derived_thread_config>/promote_with_cache_swizzle<"threads">/' %s > %t.copy.mlir
// RUN: tuninglink check %t.copy.mlir --target gfx950 2>&1 | filecheck %s --check-prefix=COPY
// COPY: warning: entry 'match_swizzled': 'promotion_types' is {{.*}}, and code generation does not read "threads"

// Alignments of tiles are read by code generation for CPUs next to a configuration.
// RUN: sed 's/^  transform.annotate %%op "compilation_info".*/&\n  %%a = transform.param.constant #iree_cpu.inner_tile_alignments<vector_common_parallel = [Equal]> -> !transform.any_param\n  transform.annotate %%op "inner_tile_alignments" = %%a : !transform.any_op, !transform.any_param/' %s > %t.aligned.mlir
// RUN: tuninglink check %t.aligned.mlir 2>&1 | filecheck %s --check-prefix=ALIGNED
// ALIGNED-NOT: {{(warning|error)}}:
// ALIGNED: match_swizzled
// RUN: sed 's/vector_common_parallel/vector_comon_parallel/' %t.aligned.mlir > %t.level.mlir
// RUN: tuninglink check %t.level.mlir 2>&1 | filecheck %s --check-prefix=LEVEL
// LEVEL: warning: entry 'match_microkernel': 'vector_comon_parallel' is not a level of tiling, and ignored; did you mean 'vector_common_parallel'?
// RUN: sed 's/#iree_cpu.inner_tile_alignments<vector_common_parallel = \[Equal\]>/"Equal"/' %t.aligned.mlir > %t.alignment.mlir
// RUN: tuninglink check %t.alignment.mlir 2>&1 | filecheck %s --check-prefix=ALIGNMENT
// ALIGNMENT: warning: entry 'match_microkernel': 'inner_tile_alignments' is set to '"Equal"', which code generation does not read

module attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {

transform.named_sequence @use_microkernel(%op: !transform.any_op {transform.readonly}, %config: !transform.any_param {transform.readonly},
    %ukernel: !transform.any_param {transform.readonly}) {
  transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
  transform.annotate %op "iree_codegen.ukernel" = %ukernel : !transform.any_op, !transform.any_param
  transform.yield
}

transform.named_sequence @configure(%op: !transform.any_op {transform.readonly}, %config: !transform.any_param {transform.readonly}) {
  transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
  transform.yield
}

transform.named_sequence @match_microkernel(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) {
  %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [5120] : !transform.param<i64>
  %config = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{
      workgroup = [256, 256, 0], workgroup_reordering_strategy = #iree_gpu.conditional_transpose<8, 32>}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse>
      workgroup_size = [512, 1, 1] subgroup_size = 64,
      {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = true>,
       llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>> -> !transform.any_param
  %ukernel = transform.param.constant #iree_codegen.ukernel_descriptor<"pingpong_large_f16", tensor> -> !transform.any_param
  transform.yield %op, %config, %ukernel : !transform.any_op, !transform.any_param, !transform.any_param
}

transform.named_sequence @match_swizzled(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
  %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
  %config = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{
      workgroup = [128, 128, 0], reduction = [0, 0, 4], subgroup = [4, 4, 0],
      mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x32_F16>, promote_operands = [0, 1],
      promotion_types = [#iree_gpu.promote_with_cache_swizzle<#iree_gpu.derived_thread_config>, #iree_gpu.derived_thread_config]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse>
      workgroup_size = [256, 1, 1] subgroup_size = 64>> -> !transform.any_param
  transform.yield %op, %config : !transform.any_op, !transform.any_param
}

transform.named_sequence @__kernel_config(%module: !transform.any_op {transform.consumed}) -> !transform.any_op
    attributes {iree_codegen.tuning_spec_entrypoint} {
  %configured = transform.foreach_match in %module
    @match_microkernel -> @use_microkernel,
    @match_swizzled -> @configure : (!transform.any_op) -> !transform.any_op
  transform.yield %configured : !transform.any_op
}

}
