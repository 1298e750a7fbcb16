"""Subgroups are distributed over all loops of an operation."""

from __future__ import annotations

import re
from math import gcd
from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.configuration import TILE_AND_FUSE, VECTOR_DISTRIBUTE, Configuration
from tuninglink.upgrading.rule import AttributeRule, Refusal
from tuninglink.upgrading.trees import Leaf, integer, integers

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import AttributeContext
    from tuninglink.upgrading.trees import Node

_COUNTS: Final = ("subgroup_m_count", "subgroup_n_count")
_SHAPE: Final = re.compile(r"_(\d+)x(\d+)x\d+")


def _rewrite(node: Node, context: AttributeContext) -> None:
    configuration = Configuration.of(node)
    levels = configuration.levels if configuration is not None else None
    if configuration is None or levels is None:
        return
    if not any(levels.find(name) for name in _COUNTS):
        return
    if configuration.pipeline in TILE_AND_FUSE:
        for name in _COUNTS:
            levels.remove(name)
        context.changed(
            "subgroup counts left out: TileAndFuse goes by the 'subgroup' tile sizes and never read them"
        )
    elif configuration.pipeline in VECTOR_DISTRIBUTE:
        _distribute(levels, context)


def _distribute(levels: Node, context: AttributeContext) -> None:
    counts = [integer(levels.value(name)) if levels.find(name) else 1 for name in _COUNTS]
    sizes = integers(levels.value("workgroup"))
    if sizes is None or not all(counts):
        raise Refusal(
            "subgroup counts without workgroup tile sizes: there is nothing to distribute"
        )
    m_loops, n_loops = _loops(sizes, levels, context)
    basis = [1] * _rank(sizes, context)
    shape = _intrinsic_shape(levels)
    for loops, count, unit in zip((m_loops, n_loops), counts, shape, strict=True):
        assert count is not None
        _assign(basis, sizes, loops, count, unit)
    text = f"[{basis}, {list(range(len(basis)))}]"
    first, *others = [name for name in _COUNTS if levels.find(name)]
    field = levels.find(first)
    assert field is not None
    field.key, field.value = "subgroup_basis", Leaf(text)
    for name in others:
        levels.remove(name)
    context.changed(f"{counts[0]} x {counts[1]} subgroups are 'subgroup_basis = {text}'")


def _assign(
    basis: list[int], sizes: list[int], loops: tuple[int, ...], count: int, unit: int
) -> None:
    """Distributes subgroups over loops as the compiler did: outer loops first, as many as divide."""
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
            "the compiler of the time took it, today's does not"
        )


def _loops(
    sizes: list[int], levels: Node, context: AttributeContext
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    problem = context.problem
    if problem is not None and problem.is_contraction_like:
        return problem.m, problem.n
    reduced = integers(levels.value("reduction")) or []
    parallel = [
        loop
        for loop, size in enumerate(sizes)
        if size and not (loop < len(reduced) and reduced[loop])
    ]
    if len(parallel) < 2:  # noqa: PLR2004 - rows and columns
        raise Refusal(
            "subgroup counts for an operation that is no product: there are no rows and columns"
        )
    context.decided(
        f"the matcher does not show the operation; loop {parallel[-2]} is taken for its rows, "
        f"{parallel[-1]} for its columns"
    )
    return (parallel[-2],), (parallel[-1],)


def _rank(sizes: list[int], context: AttributeContext) -> int:
    problem = context.problem
    if problem is not None and problem.is_contraction_like:
        return max(problem.loops, len(sizes))
    return len(sizes)


def _intrinsic_shape(levels: Node) -> tuple[int, int]:
    kind = levels.node("mma_kind")
    match = _SHAPE.search(kind.render()) if kind is not None else None
    return (int(match[1]), int(match[2])) if match else (1, 1)


RULE = AttributeRule(
    name="subgroup-basis",
    version=(3, 8),
    summary="`subgroup_m_count` and `subgroup_n_count` became `subgroup_basis` for VectorDistribute; "
    "TileAndFuse never read them.",
    before="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], "
    "reduction = [0, 0, 32], subgroup_m_count = 2 : i64, subgroup_n_count = 4 : i64, "
    "workgroup = [64, 128, 0]}>, translation_info = <pipeline = LLVMGPUVectorDistribute>>",
    after="#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], "
    "reduction = [0, 0, 32], subgroup_basis = [[2, 4, 1], [0, 1, 2]], "
    "workgroup = [64, 128, 0]}>, translation_info = <pipeline = LLVMGPUVectorDistribute>>",
    evidence=(
        "https://github.com/iree-org/iree/pull/21895",
        "https://github.com/iree-org/iree/pull/21912",
        "https://github.com/nod-ai/amd-shark-ai/pull/2272",
    ),
    kinds=frozenset({"iree_codegen.compilation_info"}),
    rewrite=_rewrite,
)
