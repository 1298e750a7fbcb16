"""Lowering configs: their syntax, their entries, and the distribution of subgroups over loops."""

from __future__ import annotations

import re
from math import gcd
from typing import Final

from tuninglink.iree import CPU_PIPELINES, gpu_enumerators, unknown
from tuninglink.upgrading.rule_definition import AttributeSite, Refusal, attribute_rule
from tuninglink.upgrading.trees import (
    TILE_AND_FUSE,
    TILE_SIZES_CONFIG,
    VECTOR_DISTRIBUTE,
    CompilationInfo,
    Field,
    Leaf,
    Node,
    enumerator,
    integer,
    integers,
    options_of,
    remove_subgroup_counts,
    set_subgroup_basis,
    subgroup_counts,
)


@attribute_rule(
    "iree_gpu.lowering_config",
    since=(3, 7),
    before="#iree_gpu.lowering_config<{thread = [0, 8], thread_basis = [[1, 64], [0, 1]]}>",
    after="#iree_gpu.lowering_config<{thread = [0, 8], lane_basis = [[1, 64], [0, 1]]}>",
    evidence=("iree#21412",),
)
def lane_basis(site: AttributeSite) -> None:
    """`thread_basis` in a lowering config became `lane_basis`. Today's pipelines ignore the old name."""
    field = site.levels.find("thread_basis") if site.levels is not None else None
    if field is not None and field.key is not None:
        field.key = "lane_basis"
        site.changed("'thread_basis' is 'lane_basis'")


@attribute_rule(
    "iree_codegen.lowering_config",
    since=(2, 9),
    before="#iree_codegen.compilation_info<lowering_config = <tile_sizes = [[4]]>, "
    "translation_info = <CPUDefault>>",
    after="#iree_codegen.compilation_info<lowering_config = "
    "#iree_codegen.lowering_config<tile_sizes = [[4]]>, translation_info = <CPUDefault>>",
    evidence=(
        "iree@004152ecc3865e995638b2119b5d01e3049599ea:compiler/src/iree/compiler/Codegen/Dialect/Codegen/IR/IREECodegenAttrs.td",
    ),
)
def elided_lowering_config(site: AttributeSite) -> None:
    """`lowering_config = <…>` in a compilation info requires its name."""
    if not site.node.head and site.node.bracket == "<":
        site.node.head = TILE_SIZES_CONFIG
        site.changed("the lowering config is written with its name")


@attribute_rule(
    "iree_codegen.lowering_config",
    since=(3, 6),
    before="#iree_codegen.lowering_config<tile_sizes = [[4, 4]], native_vector_size = [4]>",
    after="#iree_codegen.lowering_config<tile_sizes = [[4, 4]]>",
    evidence=("iree#21322",),
)
def native_vector_size(site: AttributeSite) -> None:
    """`native_vector_size` left the lowering config."""
    if site.node.remove("native_vector_size"):
        site.decided("'native_vector_size' removed: it was ignored, and the target determines it")


@attribute_rule(
    "iree_gpu.lowering_config",
    since=(2, 9),
    before="#iree_gpu.lowering_config<workgroup = [64, 64, 0]>",
    after="#iree_gpu.lowering_config<{workgroup = [64, 64, 0]}>",
    evidence=("iree#18651",),
)
def lowering_config_braces(site: AttributeSite) -> None:
    """The fields of a GPU lowering config are in braces."""
    node = site.node
    is_bare = all(field.key is not None and field.value.render() for field in node.fields)
    if node.fields and is_bare:
        node.fields, node.tail = [Field(Node("", "{", node.fields, node.tail))], ""
        site.changed("the fields of the GPU lowering config are in braces")


_RANKS: Final = {
    3: ("a matmul", 1),
    4: ("a batched or broadcast matmul", 1),
    5: ("a contraction", 1),
    6: ("a contraction", 1),
    7: ("a 2-d convolution", 3),
}
"""The assumed operation by number of loops, and its number of trailing reductions."""


@attribute_rule(
    "iree_codegen.compilation_info",
    since=(2, 9),
    before="#iree_codegen.compilation_info<"
    "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[64, 128, 32]]>, "
    "translation_info = #iree_codegen.translation_info<pipeline = LLVMGPUVectorDistribute>>",
    after="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{promote_operands = [0, 1], reduction = [0, 0, 32], workgroup = [64, 128, 0]}>, "
    "translation_info = #iree_codegen.translation_info<pipeline = LLVMGPUVectorDistribute>>",
    evidence=("iree#18651",),
)
def tile_levels(site: AttributeSite) -> None:
    """VectorDistribute requires a GPU lowering config.

    It contains `workgroup` and `reduction` sizes, and the promoted operands.
    """
    info = CompilationInfo.of(site.node)
    if info is None or info.pipeline not in VECTOR_DISTRIBUTE:
        return
    if info.lowering.head != TILE_SIZES_CONFIG:
        return
    levels = info.tile_sizes
    if len(levels) != 1:
        raise Refusal(
            f"tile sizes on {len(levels)} levels: VectorDistribute had one level, so their meaning is "
            "unknown"
        )
    sizes = levels[0]
    if sizes is None:
        raise Refusal("tile sizes with interchange or scalable sizes have no counterpart on a GPU")
    workgroup, reduction = split_sizes(sizes, site)
    info.tile_by_levels(workgroup=workgroup, reduction=reduction)
    site.changed(
        f"tile sizes {sizes} are workgroup {workgroup} and reduction {reduction}; both operands are "
        "promoted, as the pipeline then always did"
    )


def split_sizes(sizes: list[int], site: AttributeSite) -> tuple[list[int], list[int]]:
    """Split tile sizes into those of a workgroup and those of the reductions.

    Raises:
        Refusal: the operation has fewer loops, or its reductions are unknown.
    """
    reductions = _reductions(len(sizes), site)
    workgroup = [0 if loop in reductions else size for loop, size in enumerate(sizes)]
    return workgroup, [size if loop in reductions else 0 for loop, size in enumerate(sizes)]


def _reductions(loops: int, site: AttributeSite) -> tuple[int, ...]:
    """Return the reductions of an operation with a number of tile sizes."""
    space = site.find_space()
    if space is not None:
        if space.loops < loops:
            raise Refusal(
                f"{loops} tile sizes for an operation with {space.loops} loops: they never fit"
            )
        return space.reductions
    if loops not in _RANKS:
        raise Refusal(
            f"the matcher does not show which of the {loops} loops are reductions, and tile sizes on a "
            "GPU depend on that"
        )
    assumed, count = _RANKS[loops]
    site.decided(
        f"the matcher does not show the operation; with {loops} tile sizes it is assumed to be {assumed}"
    )
    return tuple(range(loops - count, loops))


@attribute_rule(
    "iree_gpu.lowering_config",
    since=(3, 8),
    before="#iree_gpu.lowering_config<{subgroup = [2, 4, 0], subgroup_m_count = 2, workgroup = [64, 128, 0]}>",
    after="#iree_gpu.lowering_config<{subgroup = [2, 4, 0], workgroup = [64, 128, 0]}>",
    evidence=("iree#21912",),
)
def lone_subgroup_counts(site: AttributeSite) -> None:
    """Subgroup counts in a separately annotated lowering config have no effect.

    TileAndFuse, which reads `subgroup` tile sizes, always ignored them. For other pipelines, the entry is excluded.
    """
    levels = site.levels
    if levels is None or subgroup_counts(levels) is None:
        return
    if levels.find("subgroup") is None:
        raise Refusal(
            "subgroup counts in a lowering config that is annotated without its pipeline, which determined "
            "how the compiler distributed them"
        )
    remove_subgroup_counts(levels)
    site.changed(
        "subgroup counts removed: the lowering config has the 'subgroup' tile sizes of TileAndFuse, which "
        "always ignored the counts"
    )


_SHAPE: Final = re.compile(r"_(\d+)x(\d+)x\d+")


@attribute_rule(
    "iree_codegen.compilation_info",
    since=(3, 8),
    before="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], "
    "reduction = [0, 0, 32], subgroup_m_count = 2 : i64, subgroup_n_count = 4 : i64, "
    "workgroup = [64, 128, 0]}>, translation_info = <pipeline = LLVMGPUVectorDistribute>>",
    after="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], "
    "reduction = [0, 0, 32], subgroup_basis = [[2, 4, 1], [0, 1, 2]], "
    "workgroup = [64, 128, 0]}>, translation_info = <pipeline = LLVMGPUVectorDistribute>>",
    evidence=("iree#21895", "iree#21912", "amd-shark-ai#2272"),
)
def subgroup_basis(site: AttributeSite) -> None:
    """`subgroup_m_count` and `subgroup_n_count` became `subgroup_basis` for VectorDistribute.

    TileAndFuse always ignored them.
    """
    info = CompilationInfo.of(site.node)
    counts = subgroup_counts(info.levels) if info is not None else None
    if info is None or info.levels is None or counts is None:
        return
    if info.pipeline in TILE_AND_FUSE:
        remove_subgroup_counts(info.levels)
        site.changed(
            "subgroup counts removed: TileAndFuse uses the 'subgroup' tile sizes and always ignored the counts"
        )
    elif info.pipeline in VECTOR_DISTRIBUTE:
        levels = info.levels
        sizes = integers(levels.value("workgroup"))
        valid = [count for count in counts if count]
        if sizes is None or len(valid) < len(counts):
            raise Refusal(
                "subgroup counts without workgroup tile sizes: there is nothing to distribute"
            )
        rank, rows, columns = _loops(sizes, levels, site)
        kind = levels.node("mma_kind")
        shape = _SHAPE.search(kind.render()) if kind is not None else None
        units = map(int, shape.groups()) if shape else (1, 1)
        basis = [1] * rank
        for loops, count, unit in zip((rows, columns), valid, units, strict=True):
            _assign(basis, sizes, loops, count, unit)
        text = set_subgroup_basis(levels, basis, range(rank))
        site.changed(f"{valid[0]} x {valid[1]} subgroups are 'subgroup_basis = {text}'")


def _assign(
    basis: list[int], sizes: list[int], loops: tuple[int, ...], count: int, unit: int
) -> None:
    """Distribute subgroups over loops as old compilers did: outer loops first, as many as divide."""
    rest = count
    for loop in loops:
        size = sizes[loop] if loop < len(sizes) else 1
        used = gcd(rest, max(1, size // (unit if loop == loops[-1] else 1)))
        basis[loop] *= used
        rest //= used
    if rest != 1:
        tiles = [sizes[loop] for loop in loops if loop < len(sizes)]
        raise Refusal(
            f"{count} subgroups do not divide the workgroup tile {tiles} of an intrinsic of size {unit}: "
            "old compilers accepted that, today's does not"
        )


def _loops(
    sizes: list[int], levels: Node, site: AttributeSite
) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Return the number of loops, and the loops of rows and columns."""
    space = site.find_space()
    if space is not None and space.is_contraction_like:
        return max(space.loops, len(sizes)), space.m, space.n
    reduced = integers(levels.value("reduction")) or []
    tiled = [loop for loop, size in enumerate(sizes) if size and not any(reduced[loop : loop + 1])]
    if len(tiled) < 2:  # noqa: PLR2004 - rows and columns
        raise Refusal("subgroup counts for an operation without rows and columns")
    rows, columns = tiled[-2:]
    site.decided(
        f"the matcher does not show the operation; loop {rows} is assumed to be its rows, {columns} its columns"
    )
    return len(sizes), (rows,), (columns,)


# --- Translation infos: sizes of workgroups, and options of pipelines ----------------------------


@attribute_rule(
    "iree_codegen.compilation_info",
    since=(2, 9),
    before="#iree_codegen.compilation_info<"
    "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[4, 4]]>, "
    "translation_info = <LLVMGPUDistribute>, workgroup_size = [16, 4, 1], subgroup_size = 64>",
    after="#iree_codegen.compilation_info<"
    "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[4, 4]]>, "
    "translation_info = <LLVMGPUDistribute workgroup_size = [16, 4, 1] subgroup_size = 64>>",
    evidence=("iree#16665",),
)
def workgroup_sizes(site: AttributeSite) -> None:
    """`workgroup_size` and `subgroup_size` moved from the compilation info into the translation info."""
    translation = site.node.node("translation_info")
    if translation is None:
        return
    for name in ("workgroup_size", "subgroup_size"):
        moved = site.node.remove(name)
        if moved is None or moved.key is None:
            continue
        if translation.find(name) is None:
            sizes = integers(moved.value)
            value = Leaf(f"[{', '.join(map(str, sizes))}]") if sizes else moved.value
            _place(translation, Field(value, name, lead=" "))
        site.changed(f"'{name}' moved from the compilation info into the translation info")


def _place(translation: Node, field: Field) -> None:
    """Add a field at its place in the assembly format: after the other names, before the options."""
    position = len(translation.fields)
    if position > 1 and translation.fields[-1].key is None:
        position -= 1  # the options
    if position:
        previous = translation.fields[position - 1]
        field.trail, field.comma = previous.trail, previous.comma
        previous.trail, previous.comma = "", ""
    else:
        field.lead = ""
    translation.fields.insert(position, field)


_ATTRIBUTE: Final = '"amdgpu-waves-per-eu"'


@attribute_rule(
    "translation_info.options",
    since=(2, 9),
    before='#iree_codegen.translation_info<LLVMGPUVectorDistribute, {"waves-per-eu" = 2 : i64}>',
    after="#iree_codegen.translation_info<LLVMGPUVectorDistribute, "
    '{llvm_func_attrs = {"amdgpu-waves-per-eu" = "2"}}>',
    evidence=("iree#16573", "iree#17308"),
)
def waves_per_eu(site: AttributeSite) -> None:
    """The option `"waves-per-eu"` became the function attribute `"amdgpu-waves-per-eu"`."""
    node = site.node
    for name in ("waves-per-eu", "waves_per_eu"):
        field, count = node.find(name), integer(node.value(name))
        if field is None or count is None:
            continue
        attributes = node.node("llvm_func_attrs")
        if attributes is None:
            attributes = Node("", "{")
            field.key, field.value = "llvm_func_attrs", attributes
        else:
            node.remove_field(field)
        if attributes.find(_ATTRIBUTE.strip('"')) is None:
            attributes.add(_ATTRIBUTE, f'"{count}"')
        site.changed(f"'{name} = {count}' is the function attribute {_ATTRIBUTE}")


_STRATEGY: Final = "reorder_workgroups_strategy"
_NAMES: Final = frozenset(
    {
        "prefetch_shared_memory",
        "no_reduce_shared_memory_bank_conflicts",
        "no_reorder_workgroups",
        "reorder_workgroups",
    }
)
_STRATEGIES: Final = {"none": "None", "transpose": "Transpose", "swizzle": "Swizzle"}


@attribute_rule(
    "translation_info.options",
    since=(2, 9),
    before="#iree_codegen.translation_info<LLVMGPUVectorDistribute, "
    '{prefetch_shared_memory, reorder_workgroups = "transpose"}>',
    after="#iree_codegen.translation_info<LLVMGPUVectorDistribute, "
    "{gpu_pipeline_options = #iree_gpu.pipeline_options<"
    "prefetch_shared_memory = true, reorder_workgroups_strategy = Transpose>}>",
    evidence=("iree#17340", "iree#17645", "iree#18458"),
)
def pipeline_options(site: AttributeSite) -> None:
    """Unit attributes among the options became fields of `gpu_pipeline_options`."""
    fields = [field for field in site.node.fields if field.name in _NAMES]
    if not fields:
        return
    moved = [_option(field) for field in fields]
    options = site.node.node("gpu_pipeline_options")
    if options is None:
        options = Node("#iree_gpu.pipeline_options", "<")
        first = fields.pop(0)
        first.key, first.equals, first.value = "gpu_pipeline_options", " = ", options
    for field in fields:
        site.node.remove_field(field)
    for name, value in moved:
        if options.find(name) is None:
            options.add(name, value)
    named = ", ".join(f"'{name}'" for name, _ in moved)
    site.changed(f"{named} moved into 'gpu_pipeline_options'")


def _option(field: Field) -> tuple[str, str]:
    """Return the present option for an old one."""
    name, value = field.name or "", field.value
    text = value.text.strip('"') if isinstance(value, Leaf) and field.key is not None else ""
    if name == "no_reorder_workgroups":
        return _STRATEGY, "None"
    if name == "reorder_workgroups":
        strategy = _STRATEGIES.get(text.lower())
        if strategy is None:
            raise Refusal(f"unknown strategy to reorder workgroups '{text}'")
        return _STRATEGY, strategy
    return name, text if text in {"true", "false"} else "true"


@attribute_rule(
    "iree_gpu.pipeline_options",
    since=(3, 0),
    before="#iree_gpu.pipeline_options<reorder_workgroups_strategy = Transpose>",
    after="#iree_gpu.pipeline_options<reorder_workgroups_strategy = <Transpose>>",
    evidence=("iree#19039", "iree#19094"),
)
def reorder_workgroups(site: AttributeSite) -> None:
    """`reorder_workgroups_strategy` takes an attribute, and `Swizzle` is gone."""
    field = site.node.find(_STRATEGY)
    if field is None or field.key is None:
        return
    name = enumerator(field.value)
    if name == "Swizzle":
        site.node.remove_field(field)
        site.decided(
            "the compiler does not swizzle workgroups any longer: the strategy is gone, and the compiler's default applies"
        )
    elif isinstance(field.value, Leaf) and name in {"None", "Transpose"}:
        field.value = Leaf(f"<{name}>")
        site.changed(f"'{_STRATEGY} = {name}' is '<{name}>'")


_STAGES: Final = {"true": "2", "false": "0"}


@attribute_rule(
    "iree_gpu.pipeline_options",
    since=(3, 10),
    before="#iree_gpu.pipeline_options<prefetch_shared_memory = true>",
    after="#iree_gpu.pipeline_options<prefetch_num_stages = 2>",
    evidence=("iree#22818",),
)
def prefetch_num_stages(site: AttributeSite) -> None:
    """`prefetch_shared_memory` became `prefetch_num_stages`: 2 for true, 0 for false."""
    field = site.node.find("prefetch_shared_memory")
    if field is None or field.key is None or not isinstance(field.value, Leaf):
        return
    old, stages = field.value.text, _STAGES.get(field.value.text)
    if stages is None:
        return
    if site.node.find("prefetch_num_stages") is not None:
        site.node.remove_field(field)
    else:
        field.key, field.value = "prefetch_num_stages", Leaf(stages)
        site.changed(f"'prefetch_shared_memory = {old}' is 'prefetch_num_stages = {stages}'")


_OLD: Final = "denormal-fp-math-f32"
_NEW: Final = "iree_codegen.denormal_fp_math_f32"
_MODES: Final = {
    "preserve-sign": '"preserve-sign"',
    "positive-zero": '"positive-zero"',
    "ieee": "none",
}


@attribute_rule(
    "translation_info.options",
    since=(3, 8),
    before="#iree_codegen.translation_info<pipeline = LLVMGPUVectorDistribute, "
    '{llvm_func_attrs = {"denormal-fp-math-f32" = "preserve-sign"}}>',
    after="#iree_codegen.translation_info<pipeline = LLVMGPUVectorDistribute, "
    '{iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>',
    evidence=("iree#21840", "iree#21940", "llvm#174293"),
)
def denormals(site: AttributeSite) -> None:
    """The mode for denormals is an option.

    The function attribute `denormal-fp-math-f32` has no effect since LLVM removed it.
    """
    attributes = site.node.node("llvm_func_attrs")
    # Present specs may still have it, without effect. These are not changed.
    if attributes is None or not site.was_old:
        return
    value = attributes.value(_OLD)
    if not isinstance(value, Leaf):
        return
    modes = set(value.text.strip('"').split(","))
    mode = _MODES.get(modes.pop()) if len(modes) == 1 else None
    if mode is None:
        site.decided(f"'{_OLD} = {value.text}' stays, but has no effect and no counterpart")
        return
    attributes.remove(_OLD)
    if not attributes.fields:
        site.node.remove("llvm_func_attrs")
    if site.node.find(_NEW) is None:
        site.node.add(_NEW, f"#iree_codegen.denormal_fp_math<{mode}>")
    site.changed(f"'{_OLD} = {value.text}', which no longer has an effect, is '{_NEW}'")


# --- Pipelines: their names, and those that are gone ---------------------------------------------


@attribute_rule(
    "iree_codegen.translation_info",
    since=(3, 0),
    before="#iree_codegen.translation_info<None workgroup_size = [64]>",
    after="#iree_codegen.translation_info<pipeline = None workgroup_size = [64]>",
    evidence=("iree#19107",),
)
def pipeline_keyword(site: AttributeSite) -> None:
    """`translation_info<X …>` became `translation_info<pipeline = X …>`."""
    first = site.node.fields[0] if site.node.fields else None
    if first is None or first.key is not None or not isinstance(first.value, Leaf):
        return
    if re.fullmatch(r"[A-Za-z]\w*", first.value.text):
        first.key, first.equals = "pipeline", " = "
        site.changed("the pipeline is written 'pipeline = ...'")


@attribute_rule(
    "iree_codegen.translation_info",
    since=(2, 9),
    before="#iree_codegen.translation_info<LLVMGPUDistribute pipeline_depth = 0 store_stage = 1>",
    after="#iree_codegen.translation_info<LLVMGPUDistribute>",
    evidence=(
        "iree@5c32ba2dc41be222ff3d8e264cd9fd73e690880c:compiler/src/iree/compiler/Codegen/Dialect/Codegen/IR/IREECodegenAttrs.td",
        "iree#16665",
    ),
)
def software_pipelining(site: AttributeSite) -> None:
    """`pipeline_depth` and `store_stage` left the translation info with the pipelines that read them."""
    gone = [f"'{name}'" for name in ("pipeline_depth", "store_stage") if site.node.remove(name)]
    if gone:
        site.decided(f"{' and '.join(gone)} removed: today's pipelines ignore it")


_OLD_PIPELINE: Final = "LLVMGPUMatmulSimt"
_NEW_PIPELINE: Final = "LLVMGPUTileAndFuse"
_DIMENSIONS: Final = 3
"""The dimensions of a workgroup: x, y and z."""


@attribute_rule(
    "iree_codegen.compilation_info",
    since=(3, 1),
    before="#iree_codegen.compilation_info<"
    "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[32, 128, 32]]>, translation_info = "
    "<pipeline = LLVMGPUMatmulSimt workgroup_size = [32, 8, 1] subgroup_size = 32>>",
    after="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{promote_operands = [0, 1], reduction = [0, 0, 32], thread = [4, 4, 0], workgroup = [32, 128, 0]}>, "
    "translation_info = <pipeline = LLVMGPUTileAndFuse workgroup_size = [32, 8, 1] subgroup_size = 32>>",
    evidence=("iree#19335",),
)
def simt_matmuls(site: AttributeSite) -> None:
    """TileAndFuse replaced `LLVMGPUMatmulSimt`.

    The tile sizes of its threads are those that the old pipeline computed from the size of the workgroup.
    """
    info = CompilationInfo.of(site.node)
    if info is None or info.pipeline != _OLD_PIPELINE:
        return
    levels = info.tile_sizes
    sizes = levels[0] if len(levels) == 1 else None
    if sizes is None or info.lowering.head != TILE_SIZES_CONFIG:
        raise Refusal(f"the pipeline '{_OLD_PIPELINE}' is gone; it had one list of tile sizes")
    workgroup, reduction = split_sizes(sizes, site)
    # Divide a workgroup's tile among its threads: the innermost loop along x, the next along y.
    threads = _threads(info.translation)
    tile, rest = list(workgroup), list(threads)
    for loop in reversed([loop for loop, size in enumerate(workgroup) if size]):
        along = rest.pop(0) if rest else 1
        if tile[loop] % along:
            raise Refusal(f"{along} threads do not divide the workgroup tile {workgroup}")
        tile[loop] //= along
    if any(threads_left != 1 for threads_left in rest):
        raise Refusal(f"more dimensions of threads, {threads}, than tiled loops, {workgroup}")
    thread = tile
    info.tile_by_levels(workgroup=workgroup, reduction=reduction, thread=thread)
    pipeline = info.translation.find("pipeline")
    assert pipeline is not None
    pipeline.value = Leaf(_NEW_PIPELINE)
    site.decided(
        f"pipeline '{_OLD_PIPELINE}' is '{_NEW_PIPELINE}' with the same tiles: workgroup {workgroup}, reduction {reduction}, "
        f"thread {thread}, both operands promoted"
    )


def _threads(translation: Node) -> list[int]:
    """Return the number of threads along x, y and z."""
    threads = integers(translation.value("workgroup_size")) or []
    if not threads or integer(translation.value("subgroup_size")) is None:
        raise Refusal(
            f"the pipeline '{_OLD_PIPELINE}' did not need a subgroup size, and TileAndFuse, which replaced it, does "
            "(https://github.com/iree-org/iree/pull/19335); the spec does not give it"
        )
    return (threads + [1] * _DIMENSIONS)[:_DIMENSIONS]


_ALONE: Final = {
    "None": "#iree_codegen.no_pipeline",
    "TransformDialectCodegen": "#iree_codegen.transform_dialect_codegen",
    "VMVXDefault": "#iree_codegen.vmvx_pipeline",
    "Mmt4dTilingExpert": "#iree_cpu.pipeline<Mmt4dTilingExpert>",
}

_GONE: Final = {
    "LLVMGPUMatmulSimt": "since 3.1 TileAndFuse replaces it, and this configuration lacks the tile sizes of its "
    "levels (https://github.com/iree-org/iree/pull/19335)",
    "LLVMGPUMatmulTensorCore": "since 3.7 no pipeline lowers to warp-level WMMA by these tile sizes",
    "LLVMGPUMatmulTensorCoreMmaSync": "since 3.7 no pipeline lowers to mma.sync by these tile sizes",
    "LLVMGPUPackUnPack": "since 3.4 TileAndFuse does packing, and it tiles by other levels",
    "LLVMGPUPadAndVectorDistribute": "since 3.6; VectorDistribute does not pad, and TileAndFuse, which does, tiles "
    "by other levels (https://github.com/iree-org/iree/pull/21095)",
    "LLVMGPUTransposeSharedMem": "since 3.10 TileAndFuse replaces it, which tiles by other levels "
    "(https://github.com/iree-org/iree/pull/21661)",
    "LLVMGPUWarpReduction": "since 3.7 VectorDistribute replaces it, which needs a layout of threads that "
    "these tile sizes do not determine (https://github.com/iree-org/iree/pull/21821)",
    "CPUDoubleTilingPadExpert": "no pipeline pads by these tile sizes",
    "Custom": "it denotes a pipeline outside of the compiler",
}


@attribute_rule(
    "iree_codegen.translation_info",
    since=(3, 12),
    before="#iree_codegen.translation_info<pipeline = LLVMGPUTileAndFuse>",
    after="#iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse>>",
    evidence=("iree#23816", "iree#23851", "iree#23864", "iree#24398"),
)
def pipeline_attributes(site: AttributeSite) -> None:
    """The enumerators of pipelines became attributes of the dialects that own them."""
    field = site.node.find("pipeline")
    if field is None or field.key is None or not isinstance(field.value, Leaf):
        return
    name = field.value.text
    if name.startswith("#"):
        return
    if name == "CPUDoubleTilingPeelingExpert":
        field.value = Leaf("#iree_cpu.pipeline<DoubleTilingExpert>")
        options = options_of(site.node)
        if options is None:
            site.node.add(None, "{enable_loop_peeling}")
        elif options.find("enable_loop_peeling") is None:
            options.add(None, "enable_loop_peeling")
        site.changed(f"pipeline '{name}' is 'DoubleTilingExpert' with 'enable_loop_peeling'")
        return
    attribute = attribute_for(name)
    field.value = Leaf(attribute)
    site.changed(f"pipeline '{name}' is '{attribute}'")


def attribute_for(name: str) -> str:
    """Return the attribute that replaces an enumerator.

    Raises:
        Refusal: there is none.
    """
    families = (
        ("LLVMGPU", "iree_gpu.pipeline", gpu_enumerators("LoweringPipeline")),
        ("SPIRV", "iree_gpu.spirv_pipeline", gpu_enumerators("SPIRVLoweringPipeline")),
        ("CPU", "iree_cpu.pipeline", CPU_PIPELINES),
    )
    for prefix, mnemonic, enumerators in families:
        rest = name.removeprefix(prefix)
        if rest != name and rest in enumerators:
            return f"#{mnemonic}<{rest}>"
    if name in _ALONE:
        return _ALONE[name]
    if name in _GONE:
        raise Refusal(f"the pipeline '{name}' is gone: {_GONE[name]}")
    present = {
        prefix + enumerator for prefix, _, enumerators in families for enumerator in enumerators
    }
    raise Refusal(unknown("pipeline", name, present | _ALONE.keys() | _GONE.keys()))
