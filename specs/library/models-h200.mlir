// models-h200: made by benchmarks/libraries.py from models as frameworks export them.
// Measured on NVIDIA H200 with IREE 3.13.0, 2026-11-22 to 2026-11-23.
// Each entry states the times of the compiler's choice and of its own, and the interval of their ratio.

#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2 * 2, d3 * 2)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d4)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4)>
#map6 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map7 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
#map8 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>
#map9 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2)>
#map10 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>
#map11 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>
#map12 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4)>
#map13 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d5, d4)>
#map14 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d5)>
#map15 = affine_map<(d0, d1, d2, d3, d4, d5) -> ()>
#map16 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>
#map17 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
#map18 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>
#map19 = affine_map<(d0, d1, d2, d3) -> (d2, d0)>
#map20 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#map21 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map22 = affine_map<(d0, d1, d2, d3) -> ()>
#map23 = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
#map24 = affine_map<(d0, d1, d2, d3) -> (d0)>
#map25 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map26 = affine_map<(d0, d1, d2, d3, d4) -> (d2, d0, d3, d1, d4)>
#map27 = affine_map<(d0, d1) -> (d0, d1)>
#map28 = affine_map<(d0, d1) -> (d1)>
#map29 = affine_map<(d0, d1) -> (d1, d0)>
#map30 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map31 = affine_map<(d0, d1, d2) -> (d2)>
#map32 = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
#map33 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map34 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map35 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map36 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
#map37 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
#map38 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#map39 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
#map40 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
#map41 = affine_map<(d0, d1, d2, d3) -> (d2, d1 + d3)>
#map42 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#map43 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d5, d3)>
#map44 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map45 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map46 = affine_map<(d0, d1, d2, d3) -> (d1, d3)>
#map47 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map48 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map49 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#map50 = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#map51 = affine_map<(d0) -> (d0)>
#map52 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4)>
#map53 = affine_map<(d0, d1) -> (d0)>
#map54 = affine_map<(d0, d1, d2, d3) -> (d2, d1 * 2 + d3)>
#map55 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2, d3)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [1024, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 3, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation1 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation2 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [896, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 3, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation3 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 0, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation4 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 1, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation5 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation6 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [1024, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation7 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation8 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 1, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation9 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation10 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 0, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation11 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [640, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 1, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>
#translation12 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation13 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [640, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>
#translation14 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation15 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 1, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>
#translation16 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 3, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>
#translation17 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation18 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [320, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>
#translation19 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [192, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation20 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation21 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [192, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation22 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [96, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation23 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [96, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation24 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 3, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation25 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 1, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation26 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation27 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [160, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 0, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation28 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [16, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 3, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation29 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 1, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation30 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 3, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation31 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 0, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation32 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [352, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 1, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>
#translation33 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 0, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation34 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 3, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation35 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [784, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 0, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation36 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 1, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation37 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [784, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 3, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation38 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [448, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 3, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation39 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [448, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation40 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 0, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation41 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [832, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 1, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#compilation = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [], promotion_types = [], reduction = [0, 0, 0, 0, 128], thread = [1, 2, 1, 1, 0], workgroup = [1, 64, 4, 8, 0]}>, translation_info = #translation>
#compilation1 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [], promotion_types = [], reduction = [0, 0, 0, 0, 8], thread = [1, 2, 1, 1, 0], workgroup = [1, 16, 2, 8, 0]}>, translation_info = #translation1>
#compilation2 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [], promotion_types = [], reduction = [0, 0, 0, 0, 64], thread = [1, 2, 1, 1, 0], workgroup = [1, 16, 14, 8, 0]}>, translation_info = #translation2>
#compilation3 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 0, 4], promote_operands = [], promotion_types = [], workgroup = [1, 1, 64, 0, 0]}>, translation_info = #translation3>
#compilation4 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 6, 0], promote_operands = [], promotion_types = [], workgroup = [1, 1, 0, 0, 64]}>, translation_info = #translation4>
#compilation5 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 0, 0, 1], promote_operands = [], promotion_types = [], workgroup = [1, 1, 1, 64, 0, 0]}>, translation_info = #translation3>
#compilation6 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 19], promote_operands = [], promotion_types = [], workgroup = [1, 4, 0, 0]}>, translation_info = #translation5>
#compilation7 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [], promotion_types = [], thread = [1, 8, 8, 4, 1], workgroup = [2, 32, 8, 5, 64]}>, translation_info = #translation6>
#compilation8 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [], promotion_types = [], thread = [1, 32], workgroup = [128, 64]}>, translation_info = #translation7>
#compilation9 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [], promotion_types = [], thread = [1, 1, 32], workgroup = [1, 32, 32]}>, translation_info = #translation8>
#compilation10 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 28], subgroup = [1, 1, 0], workgroup = [16, 16, 0]}>, translation_info = #translation9>
#compilation11 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 32, 0], workgroup = [1, 64, 0, 0, 128]}>, translation_info = #translation10>
#compilation12 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 6], subgroup = [1, 2, 2, 4, 0], workgroup = [1, 2, 64, 320, 0]}>, translation_info = #translation11>
#compilation13 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 128, 0], workgroup = [1, 64, 0, 0, 128]}>, translation_info = #translation12>
#compilation14 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 12], subgroup = [0, 2, 2, 2, 0], workgroup = [1, 160, 2, 64, 0]}>, translation_info = #translation13>
#compilation15 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 2], subgroup = [1, 1, 0], workgroup = [16, 8, 0]}>, translation_info = #translation14>
#compilation16 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 12], subgroup = [1, 4, 1, 5, 0], workgroup = [1, 16, 16, 160, 0]}>, translation_info = #translation15>
#compilation17 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 256], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [96, 192, 0]}>, translation_info = #translation12>
#compilation18 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 32], subgroup = [1, 2, 0], workgroup = [32, 32, 0]}>, translation_info = #translation1>
#compilation19 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 15], subgroup = [1, 3, 0], workgroup = [128, 24, 0]}>, translation_info = #translation16>
#compilation20 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 128], subgroup_basis = [[4, 2, 1], [0, 1, 2]], workgroup = [256, 144, 0]}>, translation_info = #translation17>
#compilation21 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [128, 160, 0]}>, translation_info = #translation12>
#compilation22 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[4, 1, 1], [0, 1, 2]], workgroup = [128, 128, 0]}>, translation_info = #translation12>
#compilation23 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [128, 128, 0]}>, translation_info = #translation1>
#compilation24 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 10], subgroup = [1, 4, 1, 4, 0], workgroup = [1, 8, 16, 160, 0]}>, translation_info = #translation18>
#compilation25 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [128, 128, 0]}>, translation_info = #translation1>
#compilation26 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 10, 0], workgroup = [256, 160, 0]}>, translation_info = #translation7>
#compilation27 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 32], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>, translation_info = #translation1>
#compilation28 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 256], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [128, 112, 0]}>, translation_info = #translation12>
#compilation29 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 0, 32], workgroup = [2, 1, 64, 64, 0, 0]}>, translation_info = #translation12>
#compilation30 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 32], subgroup = [1, 1, 0], workgroup = [16, 32, 0]}>, translation_info = #translation1>
#compilation31 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 12], subgroup = [2, 1, 0], workgroup = [32, 48, 0]}>, translation_info = #translation19>
#compilation32 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 128], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [128, 80, 0]}>, translation_info = #translation12>
#compilation33 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 64, 0], workgroup = [1, 64, 0, 0, 64]}>, translation_info = #translation10>
#compilation34 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 6], subgroup = [0, 2, 1, 8, 0], workgroup = [1, 2, 64, 320, 0]}>, translation_info = #translation13>
#compilation35 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[2, 1, 1], [0, 1, 2]], workgroup = [128, 64, 0]}>, translation_info = #translation20>
#compilation36 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 32], subgroup = [0, 2, 4, 0], workgroup = [1, 64, 64, 0]}>, translation_info = #translation1>
#compilation37 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 256], subgroup_basis = [[3, 2, 1], [0, 1, 2]], workgroup = [192, 96, 0]}>, translation_info = #translation21>
#compilation38 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 24], subgroup = [2, 3, 0], workgroup = [64, 72, 0]}>, translation_info = #translation19>
#compilation39 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 64, 0], workgroup = [1, 64, 0, 0, 64]}>, translation_info = #translation12>
#compilation40 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [96, 128, 0]}>, translation_info = #translation12>
#compilation41 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [128, 80, 0]}>, translation_info = #translation12>
#compilation42 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 192], subgroup_basis = [[3, 1, 1], [0, 1, 2]], workgroup = [96, 96, 0]}>, translation_info = #translation22>
#compilation43 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [128, 96, 0]}>, translation_info = #translation12>
#compilation44 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 32], subgroup = [1, 6, 0], workgroup = [48, 48, 0]}>, translation_info = #translation23>
#compilation45 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 16], subgroup = [2, 8, 0], workgroup = [128, 128, 0]}>, translation_info = #translation7>
#compilation46 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [128, 64, 64], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [128, 64, 0]}>, translation_info = #translation9>
#compilation47 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 24], subgroup = [3, 1, 2, 0], workgroup = [3, 48, 16, 0]}>, translation_info = #translation23>
#compilation48 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 16], subgroup = [1, 2, 0], workgroup = [16, 16, 0]}>, translation_info = #translation14>
#compilation49 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 16], subgroup = [0, 2, 4, 0], workgroup = [1, 64, 64, 0]}>, translation_info = #translation1>
#compilation50 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 64, 0, 0]}>, translation_info = #translation10>
#compilation51 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[2, 4, 1], [0, 1, 2]], workgroup = [256, 128, 0]}>, translation_info = #translation17>
#compilation52 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[1, 4, 1], [0, 1, 2]], workgroup = [96, 128, 0]}>, translation_info = #translation12>
#compilation53 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [64, 176, 0]}>, translation_info = #translation12>
#compilation54 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 16], subgroup = [2, 6, 0], workgroup = [64, 96, 0]}>, translation_info = #translation1>
#compilation55 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 32], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>, translation_info = #translation1>
#compilation56 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 512], subgroup_basis = [[1, 2, 1], [0, 1, 2]], workgroup = [48, 64, 0]}>, translation_info = #translation20>
#compilation57 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [64, 64, 64], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [64, 64, 0]}>, translation_info = #translation24>
#compilation58 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 256], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [128, 96, 0]}>, translation_info = #translation12>
#compilation59 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [], promotion_types = [], thread = [2, 4, 4, 4], workgroup = [64, 4, 16, 32]}>, translation_info = #translation>
#compilation60 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [128, 64, 128], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 8], subgroup = [2, 8, 0], workgroup = [128, 64, 0]}>, translation_info = #translation1>
#compilation61 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [], promotion_types = [], thread = [1, 1, 2], workgroup = [4, 2, 32]}>, translation_info = #translation25>
#compilation62 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 24], subgroup = [1, 2, 3, 0], workgroup = [1, 96, 96, 0]}>, translation_info = #translation26>
#compilation63 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 192], subgroup_basis = [[1, 3, 1], [0, 1, 2]], workgroup = [64, 96, 0]}>, translation_info = #translation22>
#compilation64 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [80, 80, 384], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 24], subgroup = [1, 10, 0], workgroup = [80, 80, 0]}>, translation_info = #translation27>
#compilation65 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [], promotion_types = [], thread = [64], workgroup = [1024]}>, translation_info = #translation28>
#compilation66 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [1, 64, 64, 256], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 16], subgroup = [1, 4, 4, 0], workgroup = [1, 64, 64, 0]}>, translation_info = #translation29>
#compilation67 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [64, 64, 256], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 16], subgroup = [4, 4, 0], workgroup = [64, 64, 0]}>, translation_info = #translation30>
#compilation68 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [1, 1, 64, 64, 128], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 8], subgroup = [1, 1, 4, 4, 0], workgroup = [1, 1, 64, 64, 0]}>, translation_info = #translation9>
#compilation69 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 16], subgroup = [3, 4, 0], workgroup = [48, 96, 0]}>, translation_info = #translation23>
#compilation70 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [1, 64, 64, 64], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 4], subgroup = [0, 4, 4, 0], workgroup = [1, 64, 64, 0]}>, translation_info = #translation30>
#compilation71 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32], [0, 1]], partial_reduction = [0, 256], promote_operands = [], promotion_types = [], subgroup_basis = [[1, 1], [0, 1]], thread = [1, 8], workgroup = [2, 0]}>, translation_info = #translation5>
#compilation72 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [64, 64, 256], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 16], subgroup = [4, 4, 0], workgroup = [64, 64, 0]}>, translation_info = #translation31>
#compilation73 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [176, 40, 288], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 18], subgroup = [1, 5, 0], workgroup = [176, 40, 0]}>, translation_info = #translation32>
#compilation74 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 4], subgroup = [1, 1, 4, 0], workgroup = [1, 64, 64, 0]}>, translation_info = #translation33>
#compilation75 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [64, 64, 64], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 4], subgroup = [2, 8, 0], workgroup = [64, 64, 0]}>, translation_info = #translation29>
#compilation76 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [64, 64, 256], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 16], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>, translation_info = #translation1>
#compilation77 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 4], subgroup = [1, 4, 4, 0], workgroup = [1, 128, 64, 0]}>, translation_info = #translation1>
#compilation78 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32], [0, 1]], partial_reduction = [0, 4096], promote_operands = [], promotion_types = [], subgroup_basis = [[2, 8], [0, 1]], thread = [1, 8], workgroup = [2, 0]}>, translation_info = #translation34>
#compilation79 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [1, 64, 64, 64], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 4], subgroup = [1, 2, 4, 0], workgroup = [1, 64, 64, 0]}>, translation_info = #translation1>
#compilation80 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [], promotion_types = [], reduction = [0, 0, 0, 8], thread = [1, 4, 4, 0], workgroup = [1, 64, 196, 0]}>, translation_info = #translation35>
#compilation81 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 64], thread = [1, 4, 2, 1, 0], workgroup = [1, 64, 8, 4, 0]}>, translation_info = #translation36>
#compilation82 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [], promotion_types = [], reduction = [0, 0, 0, 32], thread = [1, 8, 2, 0], workgroup = [1, 64, 196, 0]}>, translation_info = #translation37>
#compilation83 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], thread = [2, 2, 0], workgroup = [16, 16, 0]}>, translation_info = #translation31>
#compilation84 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [], promotion_types = [], reduction = [0, 0, 0, 0, 64], thread = [2, 2, 1, 2, 0], workgroup = [2, 128, 1, 14, 0]}>, translation_info = #translation38>
#compilation85 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [], promotion_types = [], reduction = [0, 0, 0, 0, 64], thread = [2, 2, 1, 2, 0], workgroup = [4, 64, 1, 14, 0]}>, translation_info = #translation39>
#compilation86 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0], promotion_types = [#iree_gpu.derived_thread_config], reduction = [0, 0, 32], thread = [4, 2, 0], workgroup = [64, 4, 0]}>, translation_info = #translation40>
#compilation87 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0], promotion_types = [#iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 32], thread = [1, 8, 2, 1, 0], workgroup = [8, 32, 14, 2, 0]}>, translation_info = #translation39>
#compilation88 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 32], thread = [1, 8, 1, 0], workgroup = [1, 32, 16, 0]}>, translation_info = #translation29>
#compilation89 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 32], thread = [2, 1, 4, 0], workgroup = [2, 64, 49, 0]}>, translation_info = #translation41>
#compilation90 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 64], thread = [1, 1, 8, 1, 0], workgroup = [1, 16, 8, 1, 0]}>, translation_info = #translation28>
module @tuninglink_models_h200 attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence, tuninglink.targets = ["sm_80"]} {
  transform.named_sequence @configure(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_param {transform.readonly}) {
    transform.annotate %arg0 "compilation_info" = %arg1 : !transform.any_op, !transform.any_param
    transform.yield 
  }
  transform.named_sequence @match_reduction_8x512x28x28x256_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 107217.72500000001 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [5.491160e+02, 5.649730e+02], target = "sm_80", trials = 166 : i64, tuned_us = 1.941570e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<8x256x56x56xf16>, %arg2: tensor<512x256xf16>, %arg3: tensor<8x512x28x28xf32>):
      %1 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg1, %arg2 : tensor<8x256x56x56xf16>, tensor<512x256xf16>) outs(%arg3 : tensor<8x512x28x28xf32>) {
      ^bb0(%in: f16, %in_0: f16, %out: f32):
        %2 = arith.extf %in : f16 to f32
        %3 = arith.extf %in_0 : f16 to f32
        %4 = arith.mulf %2, %3 : f32
        %5 = arith.addf %out, %4 : f32
        linalg.yield %5 : f32
      } -> tensor<8x512x28x28xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_reduction_8x2048x7x7x1024_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 83282.990000000005 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [3.858930e+02, 4.050990e+02], reason = "the default's result is wrong", target = "sm_80", trials = 46 : i64, tuned_us = 2.120140e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<8x1024x14x14xf16>, %arg2: tensor<2048x1024xf16>, %arg3: tensor<8x2048x7x7xf32>):
      %1 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg1, %arg2 : tensor<8x1024x14x14xf16>, tensor<2048x1024xf16>) outs(%arg3 : tensor<8x2048x7x7xf32>) {
      ^bb0(%in: f16, %in_0: f16, %out: f32):
        %2 = arith.extf %in : f16 to f32
        %3 = arith.extf %in_0 : f16 to f32
        %4 = arith.mulf %2, %3 : f32
        %5 = arith.addf %out, %4 : f32
        linalg.yield %5 : f32
      } -> tensor<8x2048x7x7xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation1 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_reduction_8x1024x14x14x512_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 88550.365999999994 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [3.180870e+02, 3.414240e+02], reason = "the default's result is wrong", target = "sm_80", trials = 181 : i64, tuned_us = 2.643770e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<8x512x28x28xf16>, %arg2: tensor<1024x512xf16>, %arg3: tensor<8x1024x14x14xf32>):
      %1 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg1, %arg2 : tensor<8x512x28x28xf16>, tensor<1024x512xf16>) outs(%arg3 : tensor<8x1024x14x14xf32>) {
      ^bb0(%in: f16, %in_0: f16, %out: f32):
        %2 = arith.extf %in : f16 to f32
        %3 = arith.extf %in_0 : f16 to f32
        %4 = arith.mulf %2, %3 : f32
        %5 = arith.addf %out, %4 : f32
        linalg.yield %5 : f32
      } -> tensor<8x1024x14x14xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation2 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @configure_attention(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_param {transform.readonly}, %arg2: !transform.any_param {transform.readonly}) {
    transform.annotate %arg0 "compilation_info" = %arg1 : !transform.any_op, !transform.any_param
    transform.annotate %arg0 "decomposition_config" = %arg2 : !transform.any_op, !transform.any_param
    transform.yield 
  }
  transform.named_sequence @match_attention_6x1500x64x64x1500(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 8336.4269999999997 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", guarded = false, interval = [1.148500e+01, 1.189400e+01], target = "sm_80", trials = 278 : i64, tuned_us = 711.15599999999995 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k1_dims, %k2_dims = transform.iree.match.online_attention %arg0, query_type = f16, key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32, indexing_maps = [#map3, #map4, #map5, #map6, #map7, #map8, #map8] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [6] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1500] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k1_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k2_dims, [1500] : !transform.param<i64>
    %0 = transform.param.constant #compilation3 -> !transform.any_param
    %1 = transform.param.constant {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 8, 1, 4], [0, 1, 2, 4]], promote_operands = [], promotion_types = [], subgroup_basis = [[1, 1, 1, 1, 1], [0, 1, 2, 4]], thread = [0, 0, 2, 0]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1, 8, 4], [0, 1, 3, 4]], promote_operands = [], promotion_types = [], subgroup_basis = [[1, 1, 1, 1, 1], [0, 1, 3, 4]], thread = [0, 0, 4, 0]}>}} -> !transform.any_param
    transform.yield %arg0, %0, %1 : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @match_attention_20x1500x64_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2.796470e+04 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [9.6639999999999997, 9.7789999999999999], target = "sm_80", trials = 100 : i64, tuned_us = 2.875700e+03 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k1_dims, %k2_dims = transform.iree.match.online_attention %arg0, query_type = f16, key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32, indexing_maps = [#map7, #map9, #map10, #map6, #map11, #map8, #map8] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [20] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1500] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k1_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k2_dims, [1500] : !transform.param<i64>
    %0 = transform.param.constant #compilation4 -> !transform.any_param
    %1 = transform.param.constant {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1, 2, 16], [0, 1, 3, 4]], promote_operands = [], promotion_types = [], subgroup_basis = [[1, 1, 1, 1, 1], [0, 1, 3, 4]], thread = [0, 0, 0, 2]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 8, 2, 1], [0, 1, 2, 3]], promote_operands = [], promotion_types = [], subgroup_basis = [[1, 1, 1, 1, 1], [0, 1, 2, 3]], thread = [0, 0, 4, 0]}>}} -> !transform.any_param
    transform.yield %arg0, %0, %1 : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @match_attention_4x12x197x64x64x197(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2488.404 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [9.492000e+00, 1.361400e+01], target = "sm_80", trials = 335 : i64, tuned_us = 2.529170e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["iree_linalg_ext.online_attention"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<4x12x197x64xf16>, %arg2: tensor<4x12x197x64xf16>, %arg3: tensor<4x12x64x197xf16>, %arg4: f16, %arg5: tensor<4x12x197x197xi8>, %arg6: tensor<4x12x197x64xf32>, %arg7: tensor<4x12x197xf32>, %arg8: tensor<4x12x197xf32>):
      %2:3 = "iree_linalg_ext.online_attention"(%arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg8) <{indexing_maps = [#map12, #map13, #map14, #map15, #map16, #map17, #map18, #map18]}> ({
      ^bb0(%arg9: f32):
        iree_linalg_ext.yield %arg9 : f32
      }) : (tensor<4x12x197x64xf16>, tensor<4x12x197x64xf16>, tensor<4x12x64x197xf16>, f16, tensor<4x12x197x197xi8>, tensor<4x12x197x64xf32>, tensor<4x12x197xf32>, tensor<4x12x197xf32>) -> (tensor<4x12x197x64xf32>, tensor<4x12x197xf32>, tensor<4x12x197xf32>)
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation5 -> !transform.any_param
    %1 = transform.param.constant {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1, 32, 1, 1], [0, 1, 2, 3, 5]], promote_operands = [], promotion_types = [], subgroup_basis = [[1, 1, 1, 1, 1, 1], [0, 1, 2, 3, 5]], thread = [0, 0, 0, 2, 0]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1, 1, 16, 1], [0, 1, 2, 4, 5]], promote_operands = [], promotion_types = [], subgroup_basis = [[1, 1, 1, 1, 1, 1], [0, 1, 2, 4, 5]], thread = [0, 0, 0, 4, 0]}>}} -> !transform.any_param
    transform.yield %arg0, %0, %1 : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @match_attention_32x64x64x513(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 2.289240e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [4.759000e+00, 4.932000e+00], target = "sm_80", trials = 76 : i64, tuned_us = 4.740100e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k1_dims, %k2_dims = transform.iree.match.online_attention %arg0, query_type = f16, key_type = f16, value_type = f16, scale_type = f32, output_type = f32, max_type = f32, sum_type = f32, indexing_maps = [#map19, #map20, #map21, #map22, #map23, #map24, #map24] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [32] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k1_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k2_dims, [513] : !transform.param<i64>
    %0 = transform.param.constant #compilation6 -> !transform.any_param
    %1 = transform.param.constant {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1, 1], [0, 1, 3]], promote_operands = [], promotion_types = [], subgroup_basis = [[1, 1, 1, 1], [0, 1, 3]], thread = [0, 1, 0]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 32, 1], [0, 2, 3]], promote_operands = [], promotion_types = [], subgroup_basis = [[1, 1, 1, 1], [0, 2, 3]], thread = [0, 1, 0]}>}} -> !transform.any_param
    transform.yield %arg0, %0, %1 : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @match_elementwise_transpose_2x4096x3x5x64_f32xf16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 4.138000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [3.591000e+00, 3.849000e+00], target = "sm_80", trials = 196 : i64, tuned_us = 1.132700e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<2x4096x3x5x64xf32>, %arg2: tensor<3x2x5x4096x64xf16>):
      %1 = linalg.generic {indexing_maps = [#map25, #map26], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4096x3x5x64xf32>) outs(%arg2 : tensor<3x2x5x4096x64xf16>) {
      ^bb0(%in: f32, %out: f16):
        %2 = arith.truncf %in : f32 to f16
        linalg.yield %2 : f16
      } -> tensor<3x2x5x4096x64xf16>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation7 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_elementwise_transpose_1500x384_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.357200e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [2.930000e+00, 3.299000e+00], target = "sm_80", trials = 570 : i64, tuned_us = 4.327000e+00 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<1500x384xf16>, %arg2: tensor<384xf16>, %arg3: tensor<384x1500xf16>):
      %1 = linalg.generic {indexing_maps = [#map27, #map28, #map29], iterator_types = ["parallel", "parallel"]} ins(%arg1, %arg2 : tensor<1500x384xf16>, tensor<384xf16>) outs(%arg3 : tensor<384x1500xf16>) {
      ^bb0(%in: f16, %in_0: f16, %out: f16):
        %2 = arith.addf %in, %in_0 : f16
        linalg.yield %2 : f16
      } -> tensor<384x1500xf16>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation8 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_elementwise_transpose_4x197x768_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.192100e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [2.784000e+00, 3.090000e+00], target = "sm_80", trials = 375 : i64, tuned_us = 3.959000e+00 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<4x197x768xf16>, %arg2: tensor<768xf16>, %arg3: tensor<4x768x197xf16>):
      %1 = linalg.generic {indexing_maps = [#map30, #map31, #map32], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1, %arg2 : tensor<4x197x768xf16>, tensor<768xf16>) outs(%arg3 : tensor<4x768x197xf16>) {
      ^bb0(%in: f16, %in_0: f16, %out: f16):
        %2 = arith.addf %in, %in_0 : f16
        linalg.yield %2 : f16
      } -> tensor<4x768x197xf16>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation9 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_16x4096x14336_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2.257000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [2.517000e+00, 2.569000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 8.860000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [16] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [14336] : !transform.param<i64>
    %0 = transform.param.constant #compilation10 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_attention_32x2048x128_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.328100e+03 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [2.420000e+00, 2.434000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 5.457000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k1_dims, %k2_dims = transform.iree.match.online_attention %arg0, query_type = f16, key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32, indexing_maps = [#map7, #map9, #map10, #map6, #map11, #map8, #map8] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [32] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %k1_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %k2_dims, [2048] : !transform.param<i64>
    %0 = transform.param.constant #compilation11 -> !transform.any_param
    %1 = transform.param.constant {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 3]]}>}} -> !transform.any_param
    transform.yield %arg0, %0, %1 : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @match_conv_2x128x128x320_to_320_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 8.477000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [2.315000e+00, 2.324000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 3.655000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map36, #map37, #map38] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [2] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [128, 128] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [320] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [320] : !transform.param<i64>
    %0 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %0 = tensor<2x130x130x320xf16> : !transform.any_value
    %1 = transform.param.constant #compilation12 -> !transform.any_param
    transform.yield %arg0, %1 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_attention_24x4608x128_bf16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5.125800e+03 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [2.314000e+00, 2.325000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 2.212200e+03 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k1_dims, %k2_dims = transform.iree.match.online_attention %arg0, query_type = bf16, key_type = bf16, value_type = bf16, scale_type = bf16, output_type = f32, max_type = f32, sum_type = f32, indexing_maps = [#map7, #map9, #map10, #map6, #map11, #map8, #map8] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [24] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [4608] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %k1_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %k2_dims, [4608] : !transform.param<i64>
    %0 = transform.param.constant #compilation13 -> !transform.any_param
    %1 = transform.param.constant {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 3]]}>}} -> !transform.any_param
    transform.yield %arg0, %0, %1 : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @match_conv_2x320x64x64x320x3x3_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 3.532100e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [2.244000e+00, 2.502000e+00], target = "sm_80", trials = 730 : i64, tuned_us = 1.474940e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map39, #map40, #map38] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [2] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [64, 64] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [320] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [320] : !transform.param<i64>
    %0 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %0 = tensor<2x320x66x66xf16> : !transform.any_value
    %1 = transform.param.constant #compilation14 -> !transform.any_param
    transform.yield %arg0, %1 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_16x1024x4096_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.690000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [2.179000e+00, 2.194000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.690000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [16] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation15 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_conv_2x64x64x640_to_640_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 762.79999999999995 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [2.082000e+00, 2.121000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 3.646000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map36, #map37, #map38] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [2] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [64, 64] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [640] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [640] : !transform.param<i64>
    %0 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %0 = tensor<2x66x66x640xf16> : !transform.any_value
    %1 = transform.param.constant #compilation16 -> !transform.any_param
    transform.yield %arg0, %1 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_3072x768x3072_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.497000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [2.053000e+00, 2.071000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 7.260000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [3072] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [3072] : !transform.param<i64>
    %0 = transform.param.constant #compilation17 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_128x1024x4096_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5.410000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [2.048000e+00, 2.077000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 2.630000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation18 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_conv_384x3000x80x3_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.372200e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.961000e+00, 1.988000e+00], target = "sm_80", trials = 259 : i64, tuned_us = 1.704100e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map41, #map42, #map23] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [3000] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [80] : !transform.param<i64>
    %0 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %0 = tensor<80x3002xf16> : !transform.any_value
    %1 = transform.param.constant #compilation19 -> !transform.any_param
    transform.yield %arg0, %1 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_512x9216x3072_bf16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2.509000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.923000e+00, 1.962000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.292000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = bf16, rhs_type = bf16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [9216] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [3072] : !transform.param<i64>
    %0 = transform.param.constant #compilation20 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_8192x640x640_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 6.130000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.805000e+00, 1.827000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 3.360000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [8192] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [640] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [640] : !transform.param<i64>
    %0 = transform.param.constant #compilation21 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_512x12288x3072_bf16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.350000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.767000e+00, 1.799000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.893000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = bf16, rhs_type = bf16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [12288] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [3072] : !transform.param<i64>
    %0 = transform.param.constant #compilation22 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_2048x4096x14336_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.800400e+03 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.755000e+00, 1.769000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.020000e+03 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [14336] : !transform.param<i64>
    %0 = transform.param.constant #compilation23 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_conv_2x32x32x1280_to_1280_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 770.89999999999998 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.747000e+00, 1.758000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 4.390000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map36, #map37, #map38] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [2] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [32, 32] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [1280] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [1280] : !transform.param<i64>
    %0 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %0 = tensor<2x34x34x1280xf16> : !transform.any_value
    %1 = transform.param.constant #compilation24 -> !transform.any_param
    transform.yield %arg0, %1 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_4096x3072x12288_bf16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2.252100e+03 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.746000e+00, 1.751000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.287900e+03 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = bf16, rhs_type = bf16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [3072] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [12288] : !transform.param<i64>
    %0 = transform.param.constant #compilation25 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_8192x640x2560_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2.284000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.737000e+00, 1.760000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.303000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [8192] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [640] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [2560] : !transform.param<i64>
    %0 = transform.param.constant #compilation26 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_128x4096x14336_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2.729000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.706000e+00, 1.714000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.594000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [14336] : !transform.param<i64>
    %0 = transform.param.constant #compilation27 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_128x14336x4096_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.577000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.704000e+00, 1.717000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 9.190000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [14336] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation28 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_attention_2x5x4096x64x64x4096(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 875.85799999999995 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.701000e+00, 2.739000e+00], target = "sm_80", trials = 247 : i64, tuned_us = 4.826320e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k1_dims, %k2_dims = transform.iree.match.online_attention %arg0, query_type = f16, key_type = f16, value_type = f16, scale_type = f32, output_type = f32, max_type = f32, sum_type = f32, indexing_maps = [#map12, #map13, #map43, #map15, #map17, #map18, #map18] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [2, 5] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k1_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k2_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation29 -> !transform.any_param
    %1 = transform.param.constant {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 1, 4, 1, 1, 1], [0, 1, 2, 3, 5]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = [[1, 1, 4, 1, 1, 1], [0, 1, 2, 4, 5]]}>}} -> !transform.any_param
    transform.yield %arg0, %0, %1 : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @match_linear_4608x3072x15360_bf16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.272200e+03 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.701000e+00, 1.722000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.908400e+03 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = bf16, rhs_type = bf16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [4608] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [3072] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [15360] : !transform.param<i64>
    %0 = transform.param.constant #compilation25 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_16x4096x4096_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.630000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.685000e+00, 1.702000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 2.150000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [16] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation30 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_2048x4096x4096_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5.115000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.682000e+00, 1.698000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 3.025000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation23 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_256x768x3072_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5.087000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.671000e+00, 1.767000e+00], target = "sm_80", trials = 331 : i64, tuned_us = 2.938300e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map44, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [3072] : !transform.param<i64>
    %0 = transform.param.constant #compilation31 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_2048x1280x5120_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2.760000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.665000e+00, 1.691000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.661000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1280] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [5120] : !transform.param<i64>
    %0 = transform.param.constant #compilation32 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_attention_20x4096x64_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.199600e+03 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.648000e+00, 1.662000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 7.241000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k1_dims, %k2_dims = transform.iree.match.online_attention %arg0, query_type = f16, key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32, indexing_maps = [#map7, #map9, #map10, #map6, #map11, #map8, #map8] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [20] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k1_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k2_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation33 -> !transform.any_param
    %1 = transform.param.constant {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 3]]}>}} -> !transform.any_param
    transform.yield %arg0, %0, %1 : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @match_conv_2x64x64x960_to_640_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 947.89999999999998 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.631000e+00, 1.660000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 5.782000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map36, #map37, #map38] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [2] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [64, 64] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [640] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [960] : !transform.param<i64>
    %0 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %0 = tensor<2x66x66x960xf16> : !transform.any_value
    %1 = transform.param.constant #compilation34 -> !transform.any_param
    transform.yield %arg0, %1 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_2048x14336x4096_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.716200e+03 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.624000e+00, 1.637000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.056600e+03 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [14336] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation23 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_512x14336x4096_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5.046000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.604000e+00, 1.650000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 3.087000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [14336] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation23 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_4096x3072x3072_bf16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5.707000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.604000e+00, 1.666000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 3.548000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = bf16, rhs_type = bf16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [3072] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [3072] : !transform.param<i64>
    %0 = transform.param.constant #compilation25 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_4096x12288x3072_bf16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2.148100e+03 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.598000e+00, 1.604000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.344900e+03 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = bf16, rhs_type = bf16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [12288] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [3072] : !transform.param<i64>
    %0 = transform.param.constant #compilation35 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_batch_matmul_1x384x768x3072_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5.088800e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.590000e+00, 1.599000e+00], target = "sm_80", trials = 255 : i64, tuned_us = 3.189400e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map21, #map20, #map45] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [3072] : !transform.param<i64>
    %0 = transform.param.constant #compilation36 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_3072x768x768_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.850000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.583000e+00, 1.598000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 2.430000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [3072] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation37 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_256x2304x768_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2.252000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.582000e+00, 1.680000e+00], target = "sm_80", trials = 292 : i64, tuned_us = 1.360600e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map44, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [2304] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation38 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_128x4096x4096_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 7.220000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.577000e+00, 1.586000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 4.570000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation27 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_attention_40x1024x64_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.614000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.565000e+00, 1.571000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.029000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k1_dims, %k2_dims = transform.iree.match.online_attention %arg0, query_type = f16, key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32, indexing_maps = [#map7, #map9, #map10, #map6, #map11, #map8, #map8] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [40] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k1_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k2_dims, [1024] : !transform.param<i64>
    %0 = transform.param.constant #compilation39 -> !transform.any_param
    %1 = transform.param.constant {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 3]]}>}} -> !transform.any_param
    transform.yield %arg0, %0, %1 : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @match_linear_4096x9216x3072_bf16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.623600e+03 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.564000e+00, 1.581000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.026700e+03 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = bf16, rhs_type = bf16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [9216] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [3072] : !transform.param<i64>
    %0 = transform.param.constant #compilation25 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_4608x21504x3072_bf16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 4.197400e+03 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.546000e+00, 1.552000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 2.705500e+03 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = bf16, rhs_type = bf16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [4608] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [21504] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [3072] : !transform.param<i64>
    %0 = transform.param.constant #compilation40 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_2048x1280x1280_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 60.899999999999999 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.515000e+00, 1.527000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 4.010000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1280] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1280] : !transform.param<i64>
    %0 = transform.param.constant #compilation41 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_384x3072x768_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2.520000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.501000e+00, 1.553000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.640000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [3072] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation42 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_3072x3072x768_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.149000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.488000e+00, 1.500000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 7.640000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [3072] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [3072] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation43 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_2048x10240x1280_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 4.061000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.477000e+00, 1.523000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 2.721000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [10240] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1280] : !transform.param<i64>
    %0 = transform.param.constant #compilation23 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_384x768x3072_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 4.091300e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", guarded = false, interval = [1.461000e+00, 1.622000e+00], target = "sm_80", trials = 212 : i64, tuned_us = 2.683400e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [3072] : !transform.param<i64>
    %0 = transform.param.constant #compilation44 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_512x4096x14336_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5.377000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.448000e+00, 1.455000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 3.698000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [14336] : !transform.param<i64>
    %0 = transform.param.constant #compilation23 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_512x4096x4096_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.543000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.419000e+00, 1.426000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.087000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation45 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_1500x5120x1280_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.842000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.412000e+00, 1.430000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.294000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1500] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [5120] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1280] : !transform.param<i64>
    %0 = transform.param.constant #compilation46 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_12x384x64x768_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 1.460800e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", guarded = false, interval = [1.386000e+00, 1.468000e+00], target = "sm_80", trials = 255 : i64, tuned_us = 1.019400e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map46, #map42, #map45] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [12, 64] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation47 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_16x14336x4096_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 7.290000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.372000e+00, 1.377000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 5.310000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [16] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [14336] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation48 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_batch_matmul_1x384x768x768_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.549300e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.364000e+00, 1.404000e+00], target = "sm_80", trials = 228 : i64, tuned_us = 1.123100e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map21, #map20, #map45] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation49 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_attention_12x384x64x64x384(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 1.987400e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", guarded = false, interval = [1.357000e+00, 1.376000e+00], target = "sm_80", trials = 101 : i64, tuned_us = 1.441800e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["iree_linalg_ext.online_attention"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<12x384x64xf16>, %arg2: tensor<12x384x64xf16>, %arg3: tensor<12x64x384xf16>, %arg4: f16, %arg5: tensor<12x384x384xi8>, %arg6: tensor<12x384x64xf32>, %arg7: tensor<12x384xf32>, %arg8: tensor<12x384xf32>):
      %2:3 = "iree_linalg_ext.online_attention"(%arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg8) <{indexing_maps = [#map3, #map4, #map5, #map6, #map11, #map7, #map8, #map8]}> ({
      ^bb0(%arg9: f32):
        iree_linalg_ext.yield %arg9 : f32
      }) : (tensor<12x384x64xf16>, tensor<12x384x64xf16>, tensor<12x64x384xf16>, f16, tensor<12x384x384xi8>, tensor<12x384x64xf32>, tensor<12x384xf32>, tensor<12x384xf32>) -> (tensor<12x384x64xf32>, tensor<12x384xf32>, tensor<12x384xf32>)
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation50 -> !transform.any_param
    %1 = transform.param.constant {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 4]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}} -> !transform.any_param
    transform.yield %arg0, %0, %1 : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @match_linear_2048x1024x4096_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.322000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.357000e+00, 1.364000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 97.299999999999997 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation45 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_8192x5120x640_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.998000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.354000e+00, 1.366000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 2.938000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [8192] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [5120] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [640] : !transform.param<i64>
    %0 = transform.param.constant #compilation51 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_384x4096x1024_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.100000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.342000e+00, 1.350000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 2.300000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1024] : !transform.param<i64>
    %0 = transform.param.constant #compilation52 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_512x5632x2048_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 1.277870e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.327000e+00, 1.427000e+00], target = "sm_80", trials = 57 : i64, tuned_us = 93.983999999999994 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [5632] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [2048] : !transform.param<i64>
    %0 = transform.param.constant #compilation53 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_256x3072x768_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2.401500e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.318000e+00, 1.413000e+00], target = "sm_80", trials = 221 : i64, tuned_us = 1.732600e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map44, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [3072] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation54 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_attention_12x384x64_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.890000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.310000e+00, 1.315000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.440000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k1_dims, %k2_dims = transform.iree.match.online_attention %arg0, query_type = f16, key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32, indexing_maps = [#map7, #map9, #map10, #map6, #map11, #map8, #map8] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [12] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k1_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k2_dims, [384] : !transform.param<i64>
    %0 = transform.param.constant #compilation33 -> !transform.any_param
    %1 = transform.param.constant {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 3]]}>}} -> !transform.any_param
    transform.yield %arg0, %0, %1 : !transform.any_op, !transform.any_param, !transform.any_param
  }
  transform.named_sequence @match_linear_512x1024x4096_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5.230000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.294000e+00, 1.299000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 4.030000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation55 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_384x1024x4096_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5.220000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.260000e+00, 1.309000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 4.010000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation27 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_384x1024x1024_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.620000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.256000e+00, 1.263000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.290000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1024] : !transform.param<i64>
    %0 = transform.param.constant #compilation56 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_1500x1280x1280_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5.330000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.250000e+00, 1.257000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 4.250000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1500] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1280] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1280] : !transform.param<i64>
    %0 = transform.param.constant #compilation57 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_512x3072x12288_bf16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.403000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.238000e+00, 1.249000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 2.734000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = bf16, rhs_type = bf16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [3072] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [12288] : !transform.param<i64>
    %0 = transform.param.constant #compilation58 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_elementwise_transpose_4x197x12x64_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5.502000e+00 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.228000e+00, 1.263000e+00], target = "sm_80", trials = 273 : i64, tuned_us = 4.435000e+00 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<4x197x12x64xf16>, %arg2: tensor<12x64xf16>, %arg3: tensor<4x12x197x64xf16>):
      %1 = linalg.generic {indexing_maps = [#map47, #map48, #map49], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1, %arg2 : tensor<4x197x12x64xf16>, tensor<12x64xf16>) outs(%arg3 : tensor<4x12x197x64xf16>) {
      ^bb0(%in: f16, %in_0: f16, %out: f16):
        %2 = arith.addf %in, %in_0 : f16
        linalg.yield %2 : f16
      } -> tensor<4x12x197x64xf16>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation59 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_1500x1280x5120_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.925000e+02 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.222000e+00, 1.231000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.570000e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1500] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1280] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [5120] : !transform.param<i64>
    %0 = transform.param.constant #compilation60 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_elementwise_transpose_1500x6x64_f32xf16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5.256000e+00 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.205000e+00, 1.284000e+00], target = "sm_80", trials = 287 : i64, tuned_us = 4.183000e+00 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<1500x6x64xf32>, %arg2: tensor<6x1500x64xf16>):
      %1 = linalg.generic {indexing_maps = [#map30, #map50], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1 : tensor<1500x6x64xf32>) outs(%arg2 : tensor<6x1500x64xf16>) {
      ^bb0(%in: f32, %out: f16):
        %2 = arith.truncf %in : f32 to f16
        linalg.yield %2 : f16
      } -> tensor<6x1500x64xf16>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation61 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_batch_matmul_1x384x3072x768_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2.756200e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.194000e+00, 1.198000e+00], target = "sm_80", trials = 506 : i64, tuned_us = 2.302100e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map21, #map20, #map45] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [3072] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation62 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_512x3072x3072_bf16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 85.799999999999997 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.190000e+00, 1.198000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 7.180000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = bf16, rhs_type = bf16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [3072] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [3072] : !transform.param<i64>
    %0 = transform.param.constant #compilation63 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_788x768x768_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2.224700e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.177000e+00, 1.189000e+00], target = "sm_80", trials = 336 : i64, tuned_us = 1.881800e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [788] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation64 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_elementwise_576000_f32xf16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5.248000e+00 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.177000e+00, 1.223000e+00], target = "sm_80", trials = 211 : i64, tuned_us = 4.399000e+00 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<576000xf32>, %arg2: tensor<576000xf16>):
      %1 = linalg.generic {indexing_maps = [#map51, #map51], iterator_types = ["parallel"]} ins(%arg1 : tensor<576000xf32>) outs(%arg2 : tensor<576000xf16>) {
      ^bb0(%in: f32, %out: f16):
        %2 = arith.truncf %in : f32 to f16
        linalg.yield %2 : f16
      } -> tensor<576000xf16>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation65 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_batch_matmul_1x1500x384x1536_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.823100e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.176000e+00, 1.189000e+00], target = "sm_80", trials = 297 : i64, tuned_us = 3.225600e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map21, #map20, #map45] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1500] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1536] : !transform.param<i64>
    %0 = transform.param.constant #compilation66 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_788x768x3072_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 6.948600e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", guarded = false, interval = [1.168000e+00, 1.180000e+00], target = "sm_80", trials = 116 : i64, tuned_us = 58.802 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [788] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [3072] : !transform.param<i64>
    %0 = transform.param.constant #compilation67 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_4x12x197x64x768_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 2.273700e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", guarded = false, interval = [1.164000e+00, 1.177000e+00], target = "sm_80", trials = 30 : i64, tuned_us = 1.949000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map5, #map52, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [4, 197] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [12, 64] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation68 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_384x768x768_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.290000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.146000e+00, 1.154000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 1.120000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation69 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_batch_matmul_1x1500x384x384_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.476300e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.128000e+00, 1.144000e+00], target = "sm_80", trials = 163 : i64, tuned_us = 1.299200e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map21, #map20, #map45] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1500] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [384] : !transform.param<i64>
    %0 = transform.param.constant #compilation70 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_1x4096x4096_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 8.600000e+00 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.127000e+00, 1.144000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 7.500000e+00 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map28, #map27, #map53] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [4096] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation71 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_1500x384x1536_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 3.741000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", guarded = false, interval = [1.117000e+00, 1.137000e+00], target = "sm_80", trials = 328 : i64, tuned_us = 3.392700e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1500] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1536] : !transform.param<i64>
    %0 = transform.param.constant #compilation72 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_conv_384x1500x384x3_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 62.366999999999997 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.117000e+00, 1.147000e+00], target = "sm_80", trials = 78 : i64, tuned_us = 5.516600e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map54, #map42, #map23] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [1500] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [384] : !transform.param<i64>
    %0 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %0 = tensor<384x3002xf16> : !transform.any_value
    %1 = transform.param.constant #compilation73 -> !transform.any_param
    transform.yield %arg0, %1 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_batched_kn_12x384x64x384_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 8.800000e+00 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.110000e+00, 1.118000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 7.900000e+00 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map21, #map20, #map45] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [12] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [384] : !transform.param<i64>
    %0 = transform.param.constant #compilation74 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_788x3072x768_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 4.770400e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.108000e+00, 1.126000e+00], target = "sm_80", trials = 262 : i64, tuned_us = 4.238700e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [788] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [3072] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation75 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_154x1280x2048_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.210000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.071000e+00, 1.081000e+00], target = "sm_80", trials = 29 : i64, tuned_us = 2.990000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map33, #map34, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [154] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1280] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [2048] : !transform.param<i64>
    %0 = transform.param.constant #compilation76 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_batched_nk_12x384x384x64_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 6.300000e+00 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.058000e+00, 1.073000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 5.900000e+00 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map21, #map42, #map45] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [12] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [64] : !transform.param<i64>
    %0 = transform.param.constant #compilation77 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_linear_1x14336x4096_f16(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.150000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.037000e+00, 1.044000e+00], target = "sm_80", trials = 100 : i64, tuned_us = 3.040000e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map28, #map27, #map53] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [14336] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [4096] : !transform.param<i64>
    %0 = transform.param.constant #compilation78 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_6x1500x64x384_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 1.368700e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", guarded = false, interval = [1.034000e+00, 1.045000e+00], target = "sm_80", trials = 30 : i64, tuned_us = 1.304500e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map46, #map42, #map45] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1500] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [6, 64] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [384] : !transform.param<i64>
    %0 = transform.param.constant #compilation79 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_batch_matmul_1x1500x1536x384_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2.977500e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [1.026000e+00, 1.035000e+00], target = "sm_80", trials = 156 : i64, tuned_us = 2.889500e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map21, #map20, #map45] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1500] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1536] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [384] : !transform.param<i64>
    %0 = transform.param.constant #compilation79 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_8x1024x196x256_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.402800e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [9.330000e-01, 0.93799999999999994], reason = "the default's result is wrong", target = "sm_80", trials = 114 : i64, tuned_us = 3.636400e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map20, #map46, #map45] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [8, 196] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [256] : !transform.param<i64>
    %0 = transform.param.constant #compilation80 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_8x512x7x7x2048_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 6.446000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [5.890000e-01, 6.580000e-01], reason = "the default's result is wrong", target = "sm_80", trials = 161 : i64, tuned_us = 99.245999999999995 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map55, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [8, 7, 7] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [2048] : !transform.param<i64>
    %0 = transform.param.constant #compilation81 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_8x256x3136x64_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 2.128600e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [4.260000e-01, 4.680000e-01], reason = "the default's result is wrong", target = "sm_80", trials = 16 : i64, tuned_us = 4.732900e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map20, #map46, #map45] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [8, 3136] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [64] : !transform.param<i64>
    %0 = transform.param.constant #compilation82 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_768x384x768_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 1.305400e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", guarded = false, interval = [4.160000e-01, 4.910000e-01], reason = "the default's result is wrong", target = "sm_80", trials = 321 : i64, tuned_us = 3.082500e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map34, #map33, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation83 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_8x128x56x56x256_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 3.846000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [4.150000e-01, 4.520000e-01], reason = "the default's result is wrong", target = "sm_80", trials = 16 : i64, tuned_us = 8.962400e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map55, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [8, 56, 56] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [256] : !transform.param<i64>
    %0 = transform.param.constant #compilation84 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_8x256x14x14x1024_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2.309900e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [3.870000e-01, 4.150000e-01], reason = "the default's result is wrong", target = "sm_80", trials = 272 : i64, tuned_us = 58.759999999999998 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map55, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [8, 14, 14] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1024] : !transform.param<i64>
    %0 = transform.param.constant #compilation85 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_8x512x784x128_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.681500e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [3.730000e-01, 3.950000e-01], reason = "the default's result is wrong", target = "sm_80", trials = 16 : i64, tuned_us = 4.342300e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map20, #map46, #map45] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [8, 784] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [128] : !transform.param<i64>
    %0 = transform.param.constant #compilation82 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_8x256x28x28x512_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.340000e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [3.370000e-01, 3.720000e-01], reason = "the default's result is wrong", target = "sm_80", trials = 16 : i64, tuned_us = 96.843999999999994 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map55, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [8, 28, 28] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [512] : !transform.param<i64>
    %0 = transform.param.constant #compilation84 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_384x1500x384_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 1.229800e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", guarded = false, interval = [3.050000e-01, 3.200000e-01], reason = "the default's result is wrong", target = "sm_80", trials = 46 : i64, tuned_us = 3.952700e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map34, #map33, #map35] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1500] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [384] : !transform.param<i64>
    %0 = transform.param.constant #compilation86 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_8x512x14x14x1024_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.891100e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [2.980000e-01, 3.020000e-01], reason = "the default's result is wrong", target = "sm_80", trials = 16 : i64, tuned_us = 1.297820e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map55, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [8, 14, 14] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1024] : !transform.param<i64>
    %0 = transform.param.constant #compilation87 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_4x768x197x768_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 1.920600e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", guarded = false, interval = [2.790000e-01, 3.040000e-01], reason = "the default's result is wrong", target = "sm_80", trials = 219 : i64, tuned_us = 6.703100e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map42, #map46, #map45] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [4, 197] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation88 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_8x2048x49x512_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2.263500e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [2.500000e-01, 2.540000e-01], reason = "the default's result is wrong", target = "sm_80", trials = 16 : i64, tuned_us = 8.993500e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map20, #map46, #map45] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [8, 49] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [512] : !transform.param<i64>
    %0 = transform.param.constant #compilation89 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_8x2048x7x7x512_f16xf16xf32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-23", default_us = 3.436500e+01 : f64, device = "NVIDIA H200", driver = "cuda 580.159.04", interval = [2.060000e-01, 2.320000e-01], reason = "the default's result is wrong", target = "sm_80", trials = 16 : i64, tuned_us = 1.654420e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f16, rhs_type = f16, output_type = f32, indexing_maps = [#map55, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [8, 7, 7] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [512] : !transform.param<i64>
    %0 = transform.param.constant #compilation90 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated_root = transform.foreach_match in %arg0 
        @match_reduction_8x512x28x28x256_f16xf16xf32 -> @configure, 
        @match_reduction_8x2048x7x7x1024_f16xf16xf32 -> @configure, 
        @match_reduction_8x1024x14x14x512_f16xf16xf32 -> @configure, 
        @match_attention_6x1500x64x64x1500 -> @configure_attention, 
        @match_attention_20x1500x64_f16 -> @configure_attention, 
        @match_attention_4x12x197x64x64x197 -> @configure_attention, 
        @match_attention_32x64x64x513 -> @configure_attention, 
        @match_elementwise_transpose_2x4096x3x5x64_f32xf16 -> @configure, 
        @match_elementwise_transpose_1500x384_f16 -> @configure, 
        @match_elementwise_transpose_4x197x768_f16 -> @configure, 
        @match_linear_16x4096x14336_f16 -> @configure, 
        @match_attention_32x2048x128_f16 -> @configure_attention, 
        @match_conv_2x128x128x320_to_320_f16 -> @configure, 
        @match_attention_24x4608x128_bf16 -> @configure_attention, 
        @match_conv_2x320x64x64x320x3x3_f16xf16xf32 -> @configure, 
        @match_linear_16x1024x4096_f16 -> @configure, 
        @match_conv_2x64x64x640_to_640_f16 -> @configure, 
        @match_linear_3072x768x3072_f16 -> @configure, 
        @match_linear_128x1024x4096_f16 -> @configure, 
        @match_conv_384x3000x80x3_f16xf16xf32 -> @configure, 
        @match_linear_512x9216x3072_bf16 -> @configure, 
        @match_linear_8192x640x640_f16 -> @configure, 
        @match_linear_512x12288x3072_bf16 -> @configure, 
        @match_linear_2048x4096x14336_f16 -> @configure, 
        @match_conv_2x32x32x1280_to_1280_f16 -> @configure, 
        @match_linear_4096x3072x12288_bf16 -> @configure, 
        @match_linear_8192x640x2560_f16 -> @configure, 
        @match_linear_128x4096x14336_f16 -> @configure, 
        @match_linear_128x14336x4096_f16 -> @configure, 
        @match_attention_2x5x4096x64x64x4096 -> @configure_attention, 
        @match_linear_4608x3072x15360_bf16 -> @configure, 
        @match_linear_16x4096x4096_f16 -> @configure, 
        @match_linear_2048x4096x4096_f16 -> @configure, 
        @match_matmul_256x768x3072_f16xf16xf32 -> @configure, 
        @match_linear_2048x1280x5120_f16 -> @configure, 
        @match_attention_20x4096x64_f16 -> @configure_attention, 
        @match_conv_2x64x64x960_to_640_f16 -> @configure, 
        @match_linear_2048x14336x4096_f16 -> @configure, 
        @match_linear_512x14336x4096_f16 -> @configure, 
        @match_linear_4096x3072x3072_bf16 -> @configure, 
        @match_linear_4096x12288x3072_bf16 -> @configure, 
        @match_batch_matmul_1x384x768x3072_f16xf16xf32 -> @configure, 
        @match_linear_3072x768x768_f16 -> @configure, 
        @match_matmul_256x2304x768_f16xf16xf32 -> @configure, 
        @match_linear_128x4096x4096_f16 -> @configure, 
        @match_attention_40x1024x64_f16 -> @configure_attention, 
        @match_linear_4096x9216x3072_bf16 -> @configure, 
        @match_linear_4608x21504x3072_bf16 -> @configure, 
        @match_linear_2048x1280x1280_f16 -> @configure, 
        @match_linear_384x3072x768_f16 -> @configure, 
        @match_linear_3072x3072x768_f16 -> @configure, 
        @match_linear_2048x10240x1280_f16 -> @configure, 
        @match_matmul_like_384x768x3072_f16xf16xf32 -> @configure, 
        @match_linear_512x4096x14336_f16 -> @configure, 
        @match_linear_512x4096x4096_f16 -> @configure, 
        @match_linear_1500x5120x1280_f16 -> @configure, 
        @match_matmul_like_12x384x64x768_f16xf16xf32 -> @configure, 
        @match_linear_16x14336x4096_f16 -> @configure, 
        @match_batch_matmul_1x384x768x768_f16xf16xf32 -> @configure, 
        @match_attention_12x384x64x64x384 -> @configure_attention, 
        @match_linear_2048x1024x4096_f16 -> @configure, 
        @match_linear_8192x5120x640_f16 -> @configure, 
        @match_linear_384x4096x1024_f16 -> @configure, 
        @match_matmul_like_512x5632x2048_f16xf16xf32 -> @configure, 
        @match_matmul_256x3072x768_f16xf16xf32 -> @configure, 
        @match_attention_12x384x64_f16 -> @configure_attention, 
        @match_linear_512x1024x4096_f16 -> @configure, 
        @match_linear_384x1024x4096_f16 -> @configure, 
        @match_linear_384x1024x1024_f16 -> @configure, 
        @match_linear_1500x1280x1280_f16 -> @configure, 
        @match_linear_512x3072x12288_bf16 -> @configure, 
        @match_elementwise_transpose_4x197x12x64_f16 -> @configure, 
        @match_linear_1500x1280x5120_f16 -> @configure, 
        @match_elementwise_transpose_1500x6x64_f32xf16 -> @configure, 
        @match_batch_matmul_1x384x3072x768_f16xf16xf32 -> @configure, 
        @match_linear_512x3072x3072_bf16 -> @configure, 
        @match_matmul_788x768x768_f16xf16xf32 -> @configure, 
        @match_elementwise_576000_f32xf16 -> @configure, 
        @match_batch_matmul_1x1500x384x1536_f16xf16xf32 -> @configure, 
        @match_matmul_like_788x768x3072_f16xf16xf32 -> @configure, 
        @match_matmul_like_4x12x197x64x768_f16xf16xf32 -> @configure, 
        @match_linear_384x768x768_f16 -> @configure, 
        @match_batch_matmul_1x1500x384x384_f16xf16xf32 -> @configure, 
        @match_linear_1x4096x4096_f16 -> @configure, 
        @match_matmul_like_1500x384x1536_f16xf16xf32 -> @configure, 
        @match_conv_384x1500x384x3_f16xf16xf32 -> @configure, 
        @match_batched_kn_12x384x64x384_f16 -> @configure, 
        @match_matmul_788x3072x768_f16xf16xf32 -> @configure, 
        @match_linear_154x1280x2048_f16 -> @configure, 
        @match_batched_nk_12x384x384x64_f16 -> @configure, 
        @match_linear_1x14336x4096_f16 -> @configure, 
        @match_matmul_like_6x1500x64x384_f16xf16xf32 -> @configure, 
        @match_batch_matmul_1x1500x1536x384_f16xf16xf32 -> @configure, 
        @match_matmul_like_8x1024x196x256_f16xf16xf32 -> @configure, 
        @match_matmul_like_8x512x7x7x2048_f16xf16xf32 -> @configure, 
        @match_matmul_like_8x256x3136x64_f16xf16xf32 -> @configure, 
        @match_matmul_like_768x384x768_f16xf16xf32 -> @configure, 
        @match_matmul_like_8x128x56x56x256_f16xf16xf32 -> @configure, 
        @match_matmul_like_8x256x14x14x1024_f16xf16xf32 -> @configure, 
        @match_matmul_like_8x512x784x128_f16xf16xf32 -> @configure, 
        @match_matmul_like_8x256x28x28x512_f16xf16xf32 -> @configure, 
        @match_matmul_like_384x1500x384_f16xf16xf32 -> @configure, 
        @match_matmul_like_8x512x14x14x1024_f16xf16xf32 -> @configure, 
        @match_matmul_like_4x768x197x768_f16xf16xf32 -> @configure, 
        @match_matmul_like_8x2048x49x512_f16xf16xf32 -> @configure, 
        @match_matmul_like_8x2048x7x7x512_f16xf16xf32 -> @configure : (!transform.any_op) -> !transform.any_op
    transform.yield %updated_root : !transform.any_op
  }
}
