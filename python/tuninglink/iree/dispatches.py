"""The dispatches of a program, their targets, and their root ops, found by the rule of each dispatch's backend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.root_ops import FunctionOps, RootOpRule, chosen_ops, function_ops, root_op
from tuninglink.iree.targets import Target, read_executable_target
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
        name: the name of the dispatch in diagnostics and reports, such as `@executable::@variant`.
        module: the `builtin.module` with the code of the dispatch.
        target: the target of the dispatch, None if it has no target.
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
    """Return `root` and the modules, executables and variants inside it, in walk order.

    Functions are not entered, so the cost of the walk grows with the number of dispatches, not of their ops.
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

    The dispatches are the modules in the variants of `root`. A variant without a module has its code in object files
    and cannot be configured. A module without variants is one dispatch: it is either the module inside a variant or a
    program before dispatches are formed.

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
    """Return the name of the dispatch of a variant, an executable, or a module inside or around either."""
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
    """Return the target of the variant that is or contains `operation`, or None."""
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


@dataclass(frozen=True)
class FunctionRoots:
    """The root ops of one function of a dispatch.

    Attributes:
        function: the function.
        roots: the ops that get the configuration: usually one op; empty if the compiler configures no op; several ops
            if a spec annotated several, which the compiler reports as an error.
        marked: the ops that already have a `root_op` attribute.
    """

    function: mlir.Operation
    roots: tuple[mlir.Operation, ...]
    marked: tuple[mlir.Operation, ...]


def find_root_ops(root: mlir.Operation) -> list[FunctionRoots]:
    """Return the root ops of each function in `root`, in order.

    An existing configuration determines the root op: the op that a spec annotated, or the only op with a
    `lowering_config`. Otherwise the root op is the op that the backend would choose. If the backend's preprocessing
    changes that choice, the caller runs it first.

    Args:
        root: a function, or an op around functions: a module, an executable, a variant. Every `func.func` counts as a
            dispatch, a `util.func` only if it is public inside a variant: microkernels are private. Without a target, a function counts as compiled for a GPU.
    """
    functions: list[mlir.Operation] = []

    def visitor(operation: mlir.Operation) -> mlir.WalkResult | None:
        if operation.name in (names.FUNCTION, names.UTIL_FUNCTION):
            functions.append(operation)
        elif operation.name != names.NAMED_SEQUENCE:
            return None
        return mlir.WalkResult.SKIP

    visit(root, visitor)
    surroundings = _Surroundings()
    return [
        FunctionRoots(function, _roots(function, ops, surroundings), ops.marked)
        for function in functions
        if function.name == names.FUNCTION
        or (surroundings.variant(function) is not None and not _is_private(function))
        for ops in [function_ops(function)]
    ]


def _is_private(function: mlir.Operation) -> bool:
    return str(function.attributes.get(names.SYMBOL_VISIBILITY)) == '"private"'


def _roots(
    function: mlir.Operation, ops: FunctionOps, surroundings: _Surroundings
) -> tuple[mlir.Operation, ...]:
    chosen = chosen_ops(ops)
    if chosen or not ops.computing:
        return chosen
    rule = surroundings.rule(function)
    if rule is not RootOpRule.CPU and surroundings.is_one_workgroup(function):
        return ()
    root = root_op(ops, rule)
    return () if root is None else (root,)


_RULES: Final = {
    "llvm-cpu": RootOpRule.CPU,
    "vmvx": RootOpRule.CPU,
    "vmvx-inline": RootOpRule.CPU,
    "cuda": RootOpRule.GPU,
    "rocm": RootOpRule.GPU,
    "metal-spirv": RootOpRule.SPIRV,
    "vulkan-spirv": RootOpRule.SPIRV,
    "webgpu-spirv": RootOpRule.SPIRV,
}
"""The root op rule of each backend, by the compiler's name of the backend."""


class _Surroundings:
    """The variants and targets around functions; each variant and target is read once."""

    def __init__(self) -> None:
        self._rules: dict[mlir.Attribute, RootOpRule] = {}
        self._single: dict[mlir.Operation, frozenset[str]] = {}

    def variant(self, function: mlir.Operation) -> mlir.Operation | None:
        """Return the variant around `function`."""
        around = (
            ancestor
            for ancestor in ancestors(function)
            if ancestor.name == names.EXECUTABLE_VARIANT
        )
        return next(around, None)

    def rule(self, function: mlir.Operation) -> RootOpRule:
        """Return the rule for the nearest target on or around `function`."""
        for ancestor in (function, *ancestors(function)):
            is_variant = ancestor.name == names.EXECUTABLE_VARIANT
            target = ancestor.attributes.get("target" if is_variant else names.EXECUTABLE_TARGET)
            if target is not None:
                return self._rule(target)
        return RootOpRule.GPU

    def _rule(self, target: mlir.Attribute) -> RootOpRule:
        if target not in self._rules:
            executable = read_executable_target(target)
            backend = executable.backend if executable else ""
            self._rules[target] = _RULES.get(backend, RootOpRule.GPU)
        return self._rules[target]

    def is_one_workgroup(self, function: mlir.Operation) -> bool:
        """Return whether `function` is exported with a workgroup count of one.

        GPU backends run such a function in one thread, without a configuration (`initGPULaunchConfig`).
        """
        variant = self.variant(function)
        if variant is None:
            return False
        if variant not in self._single:
            exports = (op for op in body(variant) if op.name == names.EXECUTABLE_EXPORT)
            single = (symbol_name(export) or "" for export in exports if _is_one_workgroup(export))
            self._single[variant] = frozenset(single)
        return (symbol_name(function) or "") in self._single[variant]


def _is_one_workgroup(export: mlir.Operation) -> bool:
    blocks = list(export.regions[0].blocks)
    if not blocks:
        return False
    counts = list(blocks[-1].operations[-1].operation.operands)
    return bool(counts) and all(map(_is_one, counts))


def _is_one(value: mlir.Value[mlir.Type]) -> bool:
    owner = value.owner
    if isinstance(owner, mlir.Block) or owner.operation.name != "arith.constant":
        return False
    constant = owner.operation.attributes["value"]
    return isinstance(constant, mlir.IntegerAttr) and constant.value == 1
