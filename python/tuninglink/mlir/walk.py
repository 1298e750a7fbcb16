"""Walks over operations and over graphs."""

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
    """Call `visitor` with `root` and every operation inside, parents before their children by default.

    The visitor may return a `WalkResult` to skip the regions of the operation or to end the walk. It may change
    attributes but must not erase or move operations: collect them first. An exception of the visitor ends the walk and
    is raised unchanged, where the bindings' own walk would wrap it.
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
    """Return the operations in `root`, including itself, whose name is one of `names`, in walk order."""
    name_set = frozenset(names)
    operations: list[mlir.Operation] = []

    def keep(operation: mlir.Operation) -> None:
        if operation.name in name_set:
            operations.append(operation)

    visit(root, keep)
    return operations


def op_names(root: mlir.Operation | mlir.OpView) -> set[str]:
    """Return the names of the operations in `root`, including its own."""
    occurring: set[str] = set()
    visit(root, lambda operation: occurring.add(operation.name))
    return occurring


def children(operation: mlir.Operation) -> list[mlir.Operation]:
    """Return the operations directly inside the regions of `operation`, in order.

    Iteration over a block creates an `OpView` for each operation, for which the bindings import the module of its
    dialect: 0.2 s for linalg. A walk does not.
    """
    operations: list[mlir.Operation] = []

    def keep(inner: mlir.Operation) -> mlir.WalkResult | None:
        if inner == operation:
            return None
        operations.append(inner)
        return mlir.WalkResult.SKIP

    visit(operation, keep)
    return operations


def postorder(
    roots: Iterable[Node], successors: Callable[[Node], Iterable[Node]]
) -> Iterator[Node]:
    """Yield the nodes reachable from `roots`, each once and after its successors, except in cycles."""
    entered: set[Node] = set()
    path: list[Node] = []
    waiting = [iter(roots)]
    while waiting:
        node = next((successor for successor in waiting[-1] if successor not in entered), None)
        if node is not None:
            entered.add(node)
            path.append(node)
            waiting.append(iter(successors(node)))
            continue
        waiting.pop()
        if path:
            yield path.pop()


def body(operation: mlir.Operation | mlir.OpView) -> Iterator[mlir.Operation]:
    """Yield the operations directly inside the first region of `operation`, in order.

    Collect them in a list before moving or erasing any of them.
    """
    for block in operation.regions[0].blocks:
        for child in block.operations:
            yield child.operation
