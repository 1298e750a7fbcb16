"""Configurations that today's compiler reads, and is known not to compile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.upgrading.compilation_info import TILE_AND_FUSE, VECTOR_DISTRIBUTE, CompilationInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from tuninglink.upgrading.iteration_space import IterationSpace
    from tuninglink.upgrading.trees import Node


def known_failure(node: Node, find_space: Callable[[], IterationSpace | None]) -> str | None:
    """Returns why code generation with an upgraded compilation info fails, None if that is not known."""
    info = CompilationInfo.of(node)
    levels = info.levels if info is not None else None
    if info is None or levels is None:
        return None
    has_intrinsic = levels.find("mma_kind") is not None
    if info.pipeline in TILE_AND_FUSE and has_intrinsic and levels.find("subgroup") is None:
        return (
            "TileAndFuse needs 'subgroup' tile sizes where it has an intrinsic; without them today's compiler "
            "fails ('lane distributed scf.forall must have a parent subgroup distributed loop')"
        )
    if info.pipeline in VECTOR_DISTRIBUTE and levels.find("subgroup_basis") is None:
        space = find_space()
        if space is not None and space.is_contraction_like:
            return (
                "VectorDistribute needs a 'subgroup_basis', and the spec gives no subgroup counts to make one "
                "of; without it today's compiler fails ('Could not find a subgroup basis from lowering config')"
            )
    return None
