"""The ops that the compiler configures beside a root op, as neighbors of the root op that entries configure, too."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir as mlir

from tuninglink.emission import Neighbor, Path, dag_fails, types_determine_maps
from tuninglink.matching import OpInfo
from tuninglink.mlir import collect, names


@dataclass(frozen=True)
class Neighborhood:
    """The ops of a dispatch that the compiler configures beside its root op.

    Attributes:
        neighbors: those ops and the ops on the paths to them, each after the ops on its path.
        problem: the reason why no entry can configure all of them; empty if one can.
    """

    neighbors: tuple[Neighbor, ...] = ()
    problem: str = ""

    @property
    def key(self) -> Hashable:
        """A key that is equal for neighborhoods that one entry configures."""
        return self.problem, tuple(
            (one.path, one.op.name if one.is_end else OpInfo(one.op).key, one.lowering_config)
            for one in self.neighbors
        )


def lowering_configs(module: mlir.Operation) -> list[tuple[mlir.Operation, str]]:
    """Return the configured ops of a dispatch, each with its lowering config as MLIR prints it."""
    return [
        (op, str(op.attributes[names.LOWERING_CONFIG]))
        for op in collect(module)
        if names.LOWERING_CONFIG in op.attributes
    ]


def neighborhood(
    configured_root: mlir.Operation,
    configured: Iterable[tuple[mlir.Operation, str]],
    root: mlir.Operation,
) -> Neighborhood:
    """Return the neighborhood of a root op.

    Args:
        configured_root: the root op in the configured dispatch.
        configured: the lowering configs that the compiler chose in this dispatch; the ops may have none any more.
        root: the root op as matchers see it.
    """
    # 1. The shortest path to each op, over producers and only consumers that are ops of structured kinds.
    paths: dict[mlir.Operation, Path] = {configured_root: ()}
    waiting = deque([configured_root])
    while waiting:
        op = waiting.popleft()
        operands = [("operand", number) for number in range(len(op.operands))]
        for step in (*operands, *(("result", number) for number in range(len(op.results)))):
            following = _follow(op, step)
            if following is not None and following not in paths and _is_structured(following):
                paths[following] = (*paths[op], step)
                waiting.append(following)
    # 2. The paths that are needed, with the ops on them.
    # The hash of an op depends on its attributes, which were removed.
    configs = {op: config for op, config in configured if op != configured_root}
    unreached = [op.name for op in configs if op not in paths]
    if unreached:
        return Neighborhood(problem=f"no matcher reaches {unreached[0]} from its root op")
    needed = {paths[op][:end]: None for op in configs for end in range(1, len(paths[op]) + 1)}
    by_path = {path: op for op, path in paths.items()}
    # 3. The same ops as matchers see them.
    seen: dict[Path, mlir.Operation] = {(): root}
    neighbors: list[Neighbor] = []
    for path in sorted(needed, key=len):
        op, following = by_path[path], _follow(seen[path[:-1]], path[-1])
        if following is None or OpInfo(following).key != OpInfo(op).key:
            return Neighborhood(
                problem="the backend rewrites them before or after it applies specs"
            )
        seen[path] = following
        neighbor = Neighbor(path, following, configs.get(op, ""))
        if dag_fails(following) and not types_determine_maps(following):
            return Neighborhood(
                problem=f"no matcher fits {neighbor}: its regions use outer values, and its types do not determine its maps"
            )
        neighbors.append(neighbor)
    # 4. The consumers of these ops, which have other consumers in other dispatches.
    inside = list(seen.values())
    for path, op in [*seen.items()]:
        for number in range(len(op.results)):
            step = ("result", number)
            following = _follow(op, step)
            if following is not None and following not in inside:
                neighbors.append(Neighbor((*path, step), following, "", is_end=True))
    return Neighborhood(tuple(neighbors))


def _follow(op: mlir.Operation, step: tuple[str, int]) -> mlir.Operation | None:
    """Return the op that a step leads to, in the same block; None if there is none."""
    side, number = step
    following: Any = None
    if side == "operand":
        operand = op.operands[number]
        following = operand.owner if isinstance(operand, mlir.OpResult) else None
    else:
        consumers = {use.owner.operation for use in op.results[number].uses}
        following = consumers.pop() if len(consumers) == 1 else None
    is_beside = following is not None and following.operation.block == op.block
    return following.operation if is_beside else None


def _is_structured(op: mlir.Operation) -> bool:
    return op.name.startswith(("linalg.", "iree_linalg_ext."))
