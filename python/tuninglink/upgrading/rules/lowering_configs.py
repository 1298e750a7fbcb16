"""Lowering configs: their syntax, their entries, and the distribution of subgroups over loops."""

from __future__ import annotations

import re
from math import gcd
from typing import Final

from tuninglink.upgrading.compilation_info import (
    TILE_AND_FUSE,
    TILE_SIZES_CONFIG,
    VECTOR_DISTRIBUTE,
    CompilationInfo,
    integers,
    remove_subgroup_counts,
    set_subgroup_basis,
    subgroup_counts,
)
from tuninglink.upgrading.rule_definition import AttributeSite, Refusal, attribute_rule
from tuninglink.upgrading.trees import Field, Node


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
        _distribute(info.levels, counts, site)


def _distribute(levels: Node, counts: list[int | None], site: AttributeSite) -> None:
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
