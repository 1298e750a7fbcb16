"""The distribution of subgroups over loops."""

from __future__ import annotations

import re
from math import gcd
from typing import Final

from tuninglink.upgrading.compilation_info import (
    TILE_AND_FUSE,
    VECTOR_DISTRIBUTE,
    CompilationInfo,
    remove_subgroup_counts,
    set_subgroup_basis,
    subgroup_counts,
)
from tuninglink.upgrading.rule_definition import AttributeSite, Refusal, attribute_rule
from tuninglink.upgrading.trees import Node, integers

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
