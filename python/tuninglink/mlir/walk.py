"""Visiting operations, and what they lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from iree.compiler import ir as mlir

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

Node = TypeVar("Node", bound="Hashable")


def visit(
    root: mlir.Operation | mlir.OpView,
    visitor: Callable[[mlir.Operation], mlir.WalkResult | None],
    order: mlir.WalkOrder = mlir.WalkOrder.PRE_ORDER,
) -> None:
    """Calls `visitor` with `root` and every operation inside, parents before their children by default.

    The visitor may return a `WalkResult` to skip what is inside the operation or to end the walk. It may
    change attributes, but must not erase or move operations: collect them first. An exception of the
    visitor ends the walk and comes out as it is, where the bindings' own walk would wrap it.
    """
    raised: list[BaseException] = []

    def callback(operation: mlir.Operation) -> mlir.WalkResult:
        try:
            return visitor(operation) or mlir.WalkResult.ADVANCE
        except BaseException as exception:  # noqa: BLE001 - raised again below
            raised.append(exception)
            return mlir.WalkResult.INTERRUPT

    root.walk(callback, order)
    if raised:
        raise raised[0]


def collect(root: mlir.Operation | mlir.OpView, *names: str) -> list[mlir.Operation]:
    """Returns the operations in `root`, itself included, whose name is one of `names`, in walk order."""
    wanted = frozenset(names)
    result: list[mlir.Operation] = []

    def keep(operation: mlir.Operation) -> None:
        if operation.name in wanted:
            result.append(operation)

    visit(root, keep)
    return result


def children(operation: mlir.Operation) -> list[mlir.Operation]:
    """Returns the operations directly inside all regions of `operation`, in order.

    Iterating a block makes an `OpView` of each operation, for which the bindings import the Python module of its
    dialect; 0.2 s for linalg. A walk does not.
    """
    result: list[mlir.Operation] = []

    def keep(inner: mlir.Operation) -> mlir.WalkResult | None:
        if inner == operation:
            return None
        result.append(inner)
        return mlir.WalkResult.SKIP

    visit(operation, keep)
    return result


def postorder(
    roots: Iterable[Node], successors: Callable[[Node], Iterable[Node]]
) -> Iterator[Node]:
    """Yields all nodes that `roots` lead to, each once and behind its successors, cycles aside."""
    entered: set[Node] = set()
    path: list[Node] = []
    waiting = [iter(roots)]
    while waiting:
        node = next((each for each in waiting[-1] if each not in entered), None)
        if node is not None:
            entered.add(node)
            path.append(node)
            waiting.append(iter(successors(node)))
            continue
        waiting.pop()
        if path:
            yield path.pop()


def body(operation: mlir.Operation | mlir.OpView) -> Iterator[mlir.Operation]:
    """Yields the operations directly inside the first region of `operation`, in order.

    The operations may be moved or erased while iterating only after they were yielded to a list.
    """
    for block in operation.regions[0].blocks:
        for child in block.operations:
            yield child.operation
