// A spec with an entry for each backend, for self_check: each configures the addition of program.mlir.
module @self_check attributes {
  transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint
} {
  transform.named_sequence @configure(%op: !transform.any_op {transform.readonly},
      %configuration: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %configuration
      : !transform.any_op, !transform.any_param
    transform.yield
  }

  transform.named_sequence @match_rocm(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) attributes {tuninglink.targets = ["gfx942"]} {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %configuration = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_gpu.lowering_config<{thread = [2], workgroup = [8]}>,
      translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64>>
      -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }

  transform.named_sequence @match_cuda(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) attributes {tuninglink.targets = ["sm_80"]} {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %configuration = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_gpu.lowering_config<{thread = [2], workgroup = [8]}>,
      translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>>
      -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }

  transform.named_sequence @match_vulkan(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) attributes {tuninglink.targets = ["vulkan-rdna3"]} {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %configuration = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_codegen.lowering_config<tile_sizes = [[16], [1]]>,
      translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.spirv_pipeline<BaseDistribute> workgroup_size = [16, 1, 1]>>
      -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }

  transform.named_sequence @match_metal(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) attributes {tuninglink.targets = ["metal"]} {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %configuration = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_codegen.lowering_config<tile_sizes = [[16], [1]]>,
      translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.spirv_pipeline<BaseDistribute> workgroup_size = [16, 1, 1]>>
      -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }

  transform.named_sequence @match_llvm_cpu(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) attributes {tuninglink.targets = ["x86_64"]} {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %configuration = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_cpu.lowering_config<distribution = [8], vector_common_parallel = [4]>,
      translation_info = #iree_codegen.translation_info<
        pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>
      -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }

  transform.named_sequence @match_vmvx(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) attributes {tuninglink.targets = ["vmvx"]} {
    transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
    %configuration = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_cpu.lowering_config<distribution = [8]>,
      translation_info = #iree_codegen.translation_info<
        pipeline = #iree_codegen.vmvx_pipeline>>
      -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }

  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated = transform.foreach_match in %root
        @match_rocm -> @configure,
        @match_cuda -> @configure,
        @match_vulkan -> @configure,
        @match_metal -> @configure,
        @match_llvm_cpu -> @configure,
        @match_vmvx -> @configure
      : (!transform.any_op) -> !transform.any_op
    transform.yield %updated : !transform.any_op
  }
}
