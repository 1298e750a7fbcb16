"""The dispatches of a program and their targets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.targets import Target
from tuninglink.mlir import names
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import body, visit

_CONTAINERS: Final = frozenset({names.MODULE, names.EXECUTABLE, names.EXECUTABLE_VARIANT})
"""The ops around a dispatch."""

_VARIANT_TARGET: Final = "target"

_TARGET: Final = "hal.executable.target"
"""The attribute with the target of code outside of a variant."""


@dataclass(frozen=True)
class Dispatch:
    """A module that the compiler generates code for.

    Attributes:
        name: its name in diagnostics and reports, such as `@executable::@variant`.
        module: the `builtin.module` with its code.
        target: its target, or None without one.
    """

    name: str
    module: mlir.Operation
    target: Target | None


class TargetReader:
    """A reader of target attributes that reads each distinct attribute once."""

    def __init__(self) -> None:
        self._read: dict[mlir.Attribute, Target] = {}

    def __call__(self, operation: mlir.Operation, name: str) -> Target:
        """Return the target in the attribute `name` of `operation`.

        Raises:
            TargetError: the attribute is not a `#hal.executable.target`.
        """
        attribute = operation.attributes[name]
        target = self._read.get(attribute)
        if target is None:
            target = self._read[attribute] = Target.from_attribute(attribute, operation)
        return target


def containers(root: mlir.Operation) -> list[mlir.Operation]:
    """Return `root` and the modules, executables and variants inside, in walk order.

    Functions are not entered: the cost of the walk grows with the dispatches, not with their ops.
    """
    operations: list[mlir.Operation] = []

    def visitor(operation: mlir.Operation) -> mlir.WalkResult | None:
        if operation.name in _CONTAINERS or operation == root:
            operations.append(operation)
            return None
        return mlir.WalkResult.SKIP

    visit(root, visitor)
    return operations


def find_dispatches(root: mlir.Operation) -> list[Dispatch]:
    """Return the dispatches of a program, in order.

    They are the modules in the variants of `root`. A variant without a module has its code in object files and cannot
    be configured. A module without variants is one dispatch: the module inside a variant, or a program before
    dispatches are formed.

    Args:
        root: a module, an executable or a variant.

    Raises:
        TargetError: the target of a module without variants is not a `#hal.executable.target`.
    """
    read = TargetReader()
    variants = [op for op in containers(root) if op.name == names.EXECUTABLE_VARIANT]
    if not variants and root.name == names.MODULE:
        return [_whole_module(root, read)]
    return [
        Dispatch(dispatch_name(variant), module, read(variant, _VARIANT_TARGET))
        for variant in variants
        for module in body(variant)
        if module.name == names.MODULE
    ]


def dispatch_name(operation: mlir.Operation) -> str:
    """Return the name of the dispatch of a variant, an executable, or a module in or around them."""
    path = [
        f"@{name}"
        for ancestor in (operation, *ancestors(operation))
        if ancestor.name in (names.EXECUTABLE, names.EXECUTABLE_VARIANT)
        and (name := symbol_name(ancestor)) is not None
    ]
    if path:
        return "::".join(reversed(path))
    name = symbol_name(operation)
    return f"@{name}" if name else "the module"


def ancestors(operation: mlir.Operation) -> Iterator[mlir.Operation]:
    """Yield the operations around `operation`, the innermost first."""
    parent = operation.parent
    while parent is not None:
        yield parent.operation
        parent = parent.operation.parent


def target_of(operation: mlir.Operation, read: TargetReader) -> Target | None:
    """Return the target of the variant that `operation` is or is in, or None."""
    for ancestor in (operation, *ancestors(operation)):
        if ancestor.name == names.EXECUTABLE_VARIANT:
            return read(ancestor, _VARIANT_TARGET)
    return None


def _whole_module(module: mlir.Operation, read: TargetReader) -> Dispatch:
    target = target_of(module, read)
    if target is None:
        with_target = (op for op in (module, *body(module)) if _TARGET in op.attributes)
        first = next(with_target, None)
        target = read(first, _TARGET) if first is not None else None
    return Dispatch(dispatch_name(module), module, target)
