"""Specs for elementwise programs on every backend: `elementwise_specs.py BACKEND NAME [OPERATION]` writes one."""

from __future__ import annotations

import sys

PROGRAM = """
func.func @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> {
  %sum = arith.addf %a, %b : tensor<16xf32>
  return %sum : tensor<16xf32>
}
"""
"""One dispatch, `@add_dispatch_0`, with one operation to configure: a `linalg.generic`."""

_SETTINGS = {
    "llvm-cpu": (
        "#iree_cpu.lowering_config<distribution = [8], vector_common_parallel = [4]>",
        "#iree_cpu.pipeline<DoubleTilingExpert>",
    ),
    "vmvx": ("#iree_cpu.lowering_config<distribution = [8]>", "#iree_codegen.vmvx_pipeline"),
    "hip": (
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
_SETTINGS["metal"] = _SETTINGS["vulkan"]

_CONFIGURE = """
  transform.named_sequence @configure(%op: !transform.any_op {transform.readonly},
      %configuration: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %configuration
      : !transform.any_op, !transform.any_param
    transform.yield
  }"""


def lowering_config(backend: str) -> str:
    """Return the lowering configuration that the specs for a backend give."""
    return _SETTINGS[backend][0]


def configuration(backend: str) -> str:
    """Return the configuration that the specs for a backend give."""
    lowering, pipeline = _SETTINGS[backend]
    return (
        f"#iree_codegen.compilation_info<lowering_config = {lowering}, "
        f"translation_info = #iree_codegen.translation_info<pipeline = {pipeline}>>"
    )


def matcher(name: str, backend: str, operation: str = "linalg.generic") -> str:
    """Return a matcher for all operations of a kind that yields the backend's configuration."""
    return f"""
  transform.named_sequence @{name}(%op: !transform.any_op {{transform.readonly}})
      -> (!transform.any_op, !transform.any_param) {{
    transform.match.operation_name %op ["{operation}"] : !transform.any_op
    %configuration = transform.param.constant {configuration(backend)} -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }}"""


def matcher_list(name: str, matchers: dict[str, str]) -> str:
    """Return a spec in default-entrypoint form.

    Args:
        name: the name of the module.
        matchers: the matchers, by name, in order.
    """
    pairs = ", ".join(f"@{each} -> @configure" for each in matchers)
    return f"""
module @{name} attributes {{
  transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint
}} {{{_CONFIGURE}{"".join(matchers.values())}
  transform.named_sequence @__kernel_config(%root: !transform.any_op {{transform.consumed}})
      -> !transform.any_op attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    %updated = transform.foreach_match in %root {pairs} : (!transform.any_op) -> !transform.any_op
    transform.yield %updated : !transform.any_op
  }}
}}
"""


def spec(backend: str, name: str, operation: str = "linalg.generic") -> str:
    """Return a spec with one entry, `@match_NAME`, for all operations of a kind."""
    entry = f"match_{name}"
    return matcher_list(name, {entry: matcher(entry, backend, operation)})


def marking(name: str, operation: str = "linalg.generic") -> bytes:
    """Return a spec that marks all operations of a name with its own."""
    return f"""
module @{name} attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @match(%op: !transform.any_op {{transform.readonly}}) -> !transform.any_op {{
    transform.match.operation_name %op ["{operation}"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }}
  transform.named_sequence @mark(%op: !transform.any_op {{transform.readonly}}) {{
    transform.annotate %op "{name}" : !transform.any_op
    transform.yield
  }}
  transform.named_sequence @main(%all: !transform.any_op {{transform.consumed}}) -> !transform.any_op
      attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    %done = transform.foreach_match in %all @match -> @mark : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }}
}}
""".encode()


if __name__ == "__main__":
    sys.stdout.write(spec(*sys.argv[1:]))
