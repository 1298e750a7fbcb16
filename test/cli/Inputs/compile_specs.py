"""Writes a spec for elementwise dispatches on one backend: `compile_specs.py BACKEND NAME [OPERATION]`."""

import sys

CONFIGURATIONS = {
    "llvm-cpu": (
        "#iree_cpu.lowering_config<distribution = [8], vector_common_parallel = [4]>",
        "#iree_cpu.pipeline<DoubleTilingExpert>",
    ),
    "vmvx": ("#iree_cpu.lowering_config<distribution = [8]>", "#iree_codegen.vmvx_pipeline"),
    "rocm": (
        "#iree_gpu.lowering_config<{thread = [2], workgroup = [8]}>",
        "#iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64",
    ),
    "cuda": (
        "#iree_gpu.lowering_config<{thread = [2], workgroup = [8]}>",
        "#iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32",
    ),
    "vulkan": (
        "#iree_codegen.lowering_config<tile_sizes = [[16], [1]]>",
        "#iree_gpu.spirv_pipeline<BaseDistribute> workgroup_size = [16, 1, 1]",
    ),
}
CONFIGURATIONS["metal"] = CONFIGURATIONS["vulkan"]


def write_spec(backend: str, name: str, operation: str = "linalg.generic") -> str:
    """Returns a spec in default-entrypoint form with one entry, for all operations of a kind."""
    lowering, pipeline = CONFIGURATIONS[backend]
    return f"""
module @{name} attributes {{
  transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint
}} {{
  transform.named_sequence @configure(%op: !transform.any_op {{transform.readonly}},
      %configuration: !transform.any_param {{transform.readonly}}) {{
    transform.annotate %op "compilation_info" = %configuration
      : !transform.any_op, !transform.any_param
    transform.yield
  }}
  transform.named_sequence @match_{name}(%op: !transform.any_op {{transform.readonly}})
      -> (!transform.any_op, !transform.any_param) {{
    transform.match.operation_name %op ["{operation}"] : !transform.any_op
    %configuration = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = {lowering},
      translation_info = #iree_codegen.translation_info<pipeline = {pipeline}>
    > -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }}
  transform.named_sequence @__kernel_config(%root: !transform.any_op {{transform.consumed}})
      -> !transform.any_op attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    %updated = transform.foreach_match in %root @match_{name} -> @configure
      : (!transform.any_op) -> !transform.any_op
    transform.yield %updated : !transform.any_op
  }}
}}
"""


if __name__ == "__main__":
    sys.stdout.write(write_spec(*sys.argv[1:]))
