"""Visiting operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def visit(root: mlir.Operation | mlir.OpView, visitor: Callable[[mlir.Operation], None]) -> None:
    """Calls `visitor` with `root` and every operation inside, parents before their children.

    An exception of the visitor ends the walk and comes out unchanged. The visitor may change attributes,
    but must not erase or move operations: collect them first.
    """

    def callback(operation: mlir.Operation) -> mlir.WalkResult:
        visitor(operation)
        return mlir.WalkResult.ADVANCE

    root.walk(callback, mlir.WalkOrder.PRE_ORDER)


def collect(root: mlir.Operation | mlir.OpView, *names: str) -> list[mlir.Operation]:
    """Returns the operations in `root`, itself included, whose name is one of `names`, in walk order."""
    wanted = frozenset(names)
    found: list[mlir.Operation] = []

    def keep(operation: mlir.Operation) -> None:
        if operation.name in wanted:
            found.append(operation)

    visit(root, keep)
    return found


def body(operation: mlir.Operation | mlir.OpView) -> Iterator[mlir.Operation]:
    """Yields the operations directly inside the first region of `operation`, in order.

    The operations may be moved or erased while iterating only after they were yielded to a list.
    """
    for block in operation.regions[0].blocks:
        for child in block.operations:
            yield child.operation
