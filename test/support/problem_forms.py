"""Forms in which one problem arrives from frameworks, and specs for one form of it.

A linear layer and an attention, in the forms that PyTorch 2.13, JAX 0.10 and ONNX give them at the optimization levels O0
and O2, see `docs/background/concepts.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

M, N, K, HEADS = 32, 64, 64, 2


@dataclass(frozen=True)
class FormTarget:
    """A target with configurations for it.

    Attributes:
        flags: the flags of the compiler.
        element: the element type of factors.
        linear: the configuration of a linear layer with loops m, n, k.
        row: one without an intrinsic, for any number of rows and any accumulator.
        attention: that of an attention with loops b, m, k1, k2, n.
        decomposition: its decomposition.
        convolution: that of a convolution with loops n, h, w, f, r, s, c, as a matmul of gathered patches.
        tiles: how the entry of the configuration with a tile of 1 for an added batch begins.
    """

    flags: tuple[str, ...]
    element: str
    linear: str
    row: str
    attention: str
    decomposition: str
    tiles: str
    convolution: str = ""


def _gpu(mma: str, threads: int, subgroup: int, subgroups: str, attention: str) -> dict[str, str]:
    intrinsic = f"mma_kind = #iree_gpu.mma_layout<{mma}>"
    across = threads // (4 * subgroup)
    return {
        "convolution": (
            f"lowering_config = #iree_gpu.lowering_config<{{{intrinsic}, promote_operands = [0, 1], "
            "padding = [1, 2, 16, 32, 32], padding_conv = [1, 2, 16, 32, 0, 0, 0], "
            f"reduction = [0, 0, 0, 0, 2], subgroup = [1, {2 // across}, 1, 1, 0], "
            "workgroup = [1, 2, 16, 32, 0]}>, "
            "translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> "
            f"workgroup_size = [{threads}, 1, 1] subgroup_size = {subgroup}, "
            "{gpu_pipeline_options = #iree_gpu.pipeline_options<use_igemm_convolution = true>}>"
        ),
        "linear": (
            f"lowering_config = #iree_gpu.lowering_config<{{{intrinsic}, promote_operands = [0, 1], "
            f"reduction = [0, 0, 2], subgroup = {subgroups}, workgroup = [32, 32, 0]}}>, "
            "translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> "
            f"workgroup_size = [{threads}, 1, 1] subgroup_size = {subgroup}>"
        ),
        "row": (
            "lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 8], thread = [1, 1, 0], "
            f"workgroup = [1, {subgroup}, 0]}}>, "
            "translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> "
            f"workgroup_size = [{subgroup}, 1, 1] subgroup_size = {subgroup}>"
        ),
        "attention": (
            "lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], "
            "reduction = [0, 0, 0, 32, 0], workgroup = [1, 32, 0, 0, 64]}>, "
            "translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> "
            f"workgroup_size = [{2 * subgroup}, 1, 1] subgroup_size = {subgroup}>"
        ),
        "decomposition": (
            f"{{qk_attrs = {{lowering_config = #iree_gpu.lowering_config<{{{attention}, "
            "promote_operands = [0, 1], subgroup_basis = [[1, 2, 1, 1, 1], [0, 1, 2, 3]]}>}, "
            f"pv_attrs = {{lowering_config = #iree_gpu.lowering_config<{{{attention}, "
            "promote_operands = [1], subgroup_basis = [[1, 2, 1, 1, 1], [0, 1, 3, 4]]}>}}"
        ),
    }


_NVIDIA = "NV_MMA_SYNC_F32_16x8x16_F16"
_AMD = "MFMA_F32_16x16x16_F16"

TARGETS: Final = {
    "gfx942": FormTarget(
        ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"),
        "f16",
        **_gpu(_AMD, 256, 64, "[1, 1, 0]", f"mma_kind = #iree_gpu.mma_layout<{_AMD}>"),
        tiles="workgroup = [1, 32, 32, 0]",
    ),
    "sm_80": FormTarget(
        ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"),
        "f16",
        **_gpu(_NVIDIA, 128, 32, "[1, 2, 0]", f"mma_kind = #iree_gpu.mma_layout<{_NVIDIA}>"),
        tiles="workgroup = [1, 32, 32, 0]",
    ),
    "llvm-cpu": FormTarget(
        (
            "--iree-hal-target-device=local",
            "--iree-hal-local-target-device-backends=llvm-cpu",
            "--iree-llvmcpu-target-cpu=host",
        ),
        "f32",
        linear=(
            "lowering_config = #iree_cpu.lowering_config<distribution = [16, 32, 0], "
            "vector_common_parallel = [4, 16, 0], vector_reduction = [0, 0, 2]>, "
            "translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>"
        ),
        row=(
            "lowering_config = #iree_cpu.lowering_config<distribution = [1, 32, 0], "
            "vector_common_parallel = [1, 16, 0], vector_reduction = [0, 0, 4]>, "
            "translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>"
        ),
        attention=(
            "lowering_config = #iree_cpu.lowering_config<distribution = [1, 16, 0, 0, 32], "
            "vector_common_parallel = [1, 1, 0, 0, 8], vector_reduction = [0, 0, 0, 8, 0]>, "
            "translation_info = <pipeline = #iree_cpu.pipeline<LinalgExtTileAndVectorize>>"
        ),
        decomposition=(
            "{qk_attrs = {lowering_config = #iree_cpu.lowering_config<"
            "vector_common_parallel = [1, 1, 0, 8], vector_reduction = [0, 0, 8, 0]>}, "
            "pv_attrs = {lowering_config = #iree_cpu.lowering_config<"
            "vector_common_parallel = [1, 1, 0, 8], vector_reduction = [0, 0, 8, 0]>}}"
        ),
        tiles="distribution = [1, 16, 32, 0]",
    ),
}


@dataclass(frozen=True)
class Product:
    """A form of a linear layer.

    Attributes:
        loops: its loops in order, one letter each: b has the size 1.
        operands: the loops of its operands, in the notation of `numpy.einsum`.
        op: the operation.
        accumulator: the type of the output.
        rows: the size of m.
    """

    loops: str
    operands: str
    op: str = "linalg.generic"
    accumulator: str = "f32"
    rows: int = M

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of the loops."""
        return {"b": 1, "m": self.rows, "n": N, "k": K}

    @property
    def maps(self) -> str:
        """The indexing maps, as MLIR prints them."""
        loops = ", ".join(self.loops)
        dims = (", ".join(operand) for operand in self._operands)
        return f"[{', '.join(f'affine_map<({loops}) -> ({each})>' for each in dims)}]"

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the operands and of the result."""
        return [tuple(self.sizes[loop] for loop in operand) for operand in self._operands]

    @property
    def _operands(self) -> list[str]:
        return self.operands.replace("->", ",").split(",")

    def types(self, element: str) -> list[str]:
        """Return the types of the operands and of the result."""
        kinds = (element, element, self.accumulator)
        return [
            f"tensor<{'x'.join(map(str, shape))}x{kind}>"
            for shape, kind in zip(self.shapes, kinds, strict=True)
        ]


NK: Final = Product("mnk", "mk,nk->mn", "linalg.matmul")
KN: Final = Product("mnk", "mk,kn->mn", "linalg.matmul")
BATCH_NK: Final = Product("bmnk", "bmk,bnk->bmn", "linalg.batch_matmul")
BATCH_KN: Final = Product("bmnk", "bmk,bkn->bmn", "linalg.batch_matmul")
REORDERED: Final = Product("knm", "mk,nk->mn")

SCALE_F32: Final = ("b, m, n, k1, k2", "f32")
SCALE_OF_ELEMENT: Final = ("b, m, k1, k2, n", "")


def _maps(loops: int, maps: tuple[str, ...]) -> str:
    dims = ", ".join(f"d{loop}" for loop in range(loops))
    return f"[{', '.join(f'affine_map<({dims}) -> {each}>' for each in maps)}]"


def linear(name: str, form: Product, element: str) -> str:
    """Return a function with a linear layer in a form."""
    lhs, rhs, out = form.types(element)
    operation = f"{form.op} indexing_maps = {form.maps}"
    body = ""
    if form.op == "linalg.generic":
        kinds = ", ".join(f'"{"reduction" if loop == "k" else "parallel"}"' for loop in form.loops)
        operation = f"linalg.generic {{indexing_maps = {form.maps}, iterator_types = [{kinds}]}}"
        wide = form.accumulator
        casts = "".join(
            f"\n    %wide_{value} = arith.extf %{value} : {element} to {wide}" for value in "xy"
        )
        x, y = ("%x", "%y") if element == wide else ("%wide_x", "%wide_y")
        body = f""" {{
  ^bb0(%x: {element}, %y: {element}, %sum: {wide}):{"" if element == wide else casts}
    %product = arith.mulf {x}, {y} : {wide}
    %next = arith.addf %sum, %product : {wide}
    linalg.yield %next : {wide}
  }}"""
    return f"""
func.func @{name}(%lhs: {lhs}, %rhs: {rhs}) -> {out} {{
  %zero = arith.constant 0.0 : {form.accumulator}
  %empty = tensor.empty() : {out}
  %init = linalg.fill ins(%zero : {form.accumulator}) outs(%empty : {out}) -> {out}
  %result = {operation}
    ins(%lhs, %rhs : {lhs}, {rhs}) outs(%init : {out}){body} -> {out}
  return %result : {out}
}}
"""


def attention(name: str, form: tuple[str, str], element: str) -> str:
    """Return a function with an attention, with its loops in an order and its scale of a type."""
    order, scale = form
    scale = scale or element
    written = ", ".join(
        f"affine_map<({order}) -> ({each})>"
        for each in ("b, m, k1", "b, k2, k1", "b, k2, n", "", "b, m, n")
    )
    tensor = f"tensor<{HEADS}x{M}x{K}x{element}>"
    return f"""
func.func @{name}(%query: {tensor}, %key: {tensor}, %value: {tensor}) -> {tensor} {{
  %scale = arith.constant 0.125 : {scale}
  %empty = tensor.empty() : {tensor}
  %result = iree_linalg_ext.attention <{{indexing_maps = [{written}]}}>
    ins(%query, %key, %value, %scale : {tensor}, {tensor}, {tensor}, {scale}) outs(%empty : {tensor}) {{
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  }} -> {tensor}
  return %result : {tensor}
}}
"""


def linear_entry(name: str, form: Product, target: FormTarget, configuration: str = "") -> str:
    """Return the matcher of a form of a linear layer; by default with the configuration for loops m, n, k."""
    element = target.element
    sizes = "".join(
        f"\n    transform.iree.match.dims_equal %{role}, [{form.sizes[loop]}] : !transform.param<i64>"
        for loop, role in {"b": "batch", "m": "m", "n": "n", "k": "k"}.items()
        if loop in form.loops
    )
    return f"""
  transform.named_sequence @{name}(%op: !transform.any_op {{transform.readonly}})
      -> (!transform.any_op, !transform.any_param) {{
    transform.iree.match.has_no_lowering_config %op : !transform.any_op
    %batch, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = {element}, rhs_type = {element}, output_type = {form.accumulator},
      indexing_maps = {form.maps} : !transform.any_op -> !transform.param<i64>{sizes}
    %configuration = transform.param.constant
      #iree_codegen.compilation_info<{configuration or target.linear}> -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }}"""


def attention_entry(name: str, target: FormTarget) -> str:
    """Return the matcher of the attention whose scale is of the element type."""
    element = target.element
    maps = ("d0, d1, d2", "d0, d3, d2", "d0, d3, d4", "", "d0, d1, d4", "d0, d1", "d0, d1")
    return f"""
  transform.named_sequence @{name}(%op: !transform.any_op {{transform.readonly}})
      -> (!transform.any_op, !transform.any_param, !transform.any_param) {{
    transform.iree.match.has_no_lowering_config %op : !transform.any_op
    %batch, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op,
      query_type = {element}, key_type = {element}, value_type = {element}, scale_type = {element},
      output_type = f32, max_type = f32, sum_type = f32,
      indexing_maps = {_maps(5, tuple(f"({each})" for each in maps))}
      : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch, [{HEADS}] : !transform.param<i64>
    transform.iree.match.dims_equal %m, [{M}] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [{K}] : !transform.param<i64>
    transform.iree.match.dims_equal %k1, [{K}] : !transform.param<i64>
    transform.iree.match.dims_equal %k2, [{M}] : !transform.param<i64>
    %configuration = transform.param.constant
      #iree_codegen.compilation_info<{target.attention}> -> !transform.any_param
    %decomposition = transform.param.constant {target.decomposition} -> !transform.any_param
    transform.yield %op, %configuration, %decomposition
      : !transform.any_op, !transform.any_param, !transform.any_param
  }}"""


def spec(*matchers: str) -> bytes:
    """Return a spec with matchers; those of attention are called `@attention…`."""
    names = [each.split("@", 1)[1].partition("(")[0] for each in matchers]
    pairs = ", ".join(
        f"@{name} -> @configure{'_attention' if name.startswith('attention') else ''}"
        for name in names
    )
    return f"""
module @forms attributes {{
  transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint
}} {{
  transform.named_sequence @configure(%op: !transform.any_op {{transform.readonly}},
      %configuration: !transform.any_param {{transform.readonly}}) {{
    transform.annotate %op "compilation_info" = %configuration : !transform.any_op, !transform.any_param
    transform.yield
  }}
  transform.named_sequence @configure_attention(%op: !transform.any_op {{transform.readonly}},
      %configuration: !transform.any_param {{transform.readonly}},
      %decomposition: !transform.any_param {{transform.readonly}}) {{
    transform.annotate %op "compilation_info" = %configuration : !transform.any_op, !transform.any_param
    transform.annotate %op "decomposition_config" = %decomposition : !transform.any_op, !transform.any_param
    transform.yield
  }}{"".join(matchers)}
  transform.named_sequence @__kernel_config(%root: !transform.any_op {{transform.consumed}})
      -> !transform.any_op attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    %done = transform.foreach_match in %root {pairs} : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }}
}}
""".encode()


def convolution(name: str, *, is_batched: bool) -> str:
    """Return a function with a 3x3 convolution of f16, NHWC, with a batch of 1 or without a batch."""
    image, filter_, output = "16x18x32", "3x3x32x32", "14x16x32"
    maps = ("(h + r, w + s, c)", "(r, s, c, f)", "(h, w, f)")
    loops = "h, w, f, r, s, c"
    if is_batched:
        image, output, loops = f"1x{image}", f"1x{output}", f"n, {loops}"
        maps = ("(n, h + r, w + s, c)", maps[1], "(n, h, w, f)")
    written = ", ".join(f"affine_map<({loops}) -> {each}>" for each in maps)
    iterators = ["parallel"] * (4 if is_batched else 3) + ["reduction"] * 3
    return f"""
func.func @{name}(%image: tensor<{image}xf16>, %filter: tensor<{filter_}xf16>) -> tensor<{output}xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{output}xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<{output}xf32>) -> tensor<{output}xf32>
  %result = linalg.generic {{indexing_maps = [{written}],
      iterator_types = [{", ".join(f'"{each}"' for each in iterators)}]}}
    ins(%image, %filter : tensor<{image}xf16>, tensor<{filter_}xf16>) outs(%init : tensor<{output}xf32>) {{
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %wide_x = arith.extf %x : f16 to f32
    %wide_y = arith.extf %y : f16 to f32
    %product = arith.mulf %wide_x, %wide_y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }} -> tensor<{output}xf32>
  return %result : tensor<{output}xf32>
}}
"""


def convolution_entry(name: str, target: FormTarget, image: str = "1x16x18x32") -> str:
    """Return the matcher of the convolution with a batch of 1."""
    loops = "n, h, w, f, r, s, c"
    maps = ("(n, h + r, w + s, c)", "(r, s, c, f)", "(n, h, w, f)")
    written = ", ".join(f"affine_map<({loops}) -> {each}>" for each in maps)
    return f"""
  transform.named_sequence @{name}(%op: !transform.any_op {{transform.readonly}})
      -> (!transform.any_op, !transform.any_param) {{
    transform.iree.match.has_no_lowering_config %op : !transform.any_op
    %n, %image, %f, %filter, %c, %depth, %strides, %dilations = transform.iree.match.convolution %op,
      lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [{written}] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %n, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %image, [14, 16] : !transform.param<i64>
    transform.iree.match.dims_equal %f, [32] : !transform.param<i64>
    transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %c, [32] : !transform.param<i64>
    %lhs = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %lhs = tensor<{image}xf16> : !transform.any_value
    %configuration = transform.param.constant
      #iree_codegen.compilation_info<{target.convolution}> -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }}"""
