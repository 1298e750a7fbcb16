"""The dispatches of a program, their targets, and their root ops, found by the rule of each dispatch's backend."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.structured_op import REDUCTION, StructuredOp
from tuninglink.iree.targets import Target, read_executable_target
from tuninglink.mlir import (
    body,
    children,
    collect,
    constant_value,
    names,
    postorder,
    symbol_name,
)

Condition = Callable[[mlir.Operation], bool]


@dataclass(frozen=True)
class FunctionOps:
    """The ops of a function that a configuration can concern, in the compiler's order."""

    computing: tuple[mlir.Operation, ...]
    configured: tuple[mlir.Operation, ...]
    annotated: tuple[mlir.Operation, ...]
    marked: tuple[mlir.Operation, ...]


def function_ops(function: mlir.Operation) -> FunctionOps:
    """Return the ops in `function` that a configuration can concern, in post-order."""
    configurations = (names.LOWERING_CONFIG, names.COMPILATION_INFO, names.ROOT_OP)
    computing: list[mlir.Operation] = []
    carrying: dict[str, list[mlir.Operation]] = {name: [] for name in configurations}
    for operation in collect(function, order=mlir.WalkOrder.POST_ORDER):
        if is_computing(operation.name):
            computing.append(operation)
        attributes = operation.attributes
        for name, operations in carrying.items():
            if name in attributes:
                operations.append(operation)
    return FunctionOps(tuple(computing), *map(tuple, carrying.values()))


def is_computing(name: str) -> bool:
    """Return whether ops of this name can be tiled, as in `getComputeOps`, and can therefore be configured."""
    dialect, _, _ = name.partition(".")
    return (dialect in _COMPUTING_DIALECTS and name not in _HELPERS) or name in _OTHER_COMPUTING


_SCATTER: Final = "iree_linalg_ext.scatter"
_PACKS: Final = frozenset({names.PACK, names.UNPACK})
_RELAYOUTS: Final = _PACKS | {names.MAP_LOAD, names.MAP_STORE, "tensor.pad"}

_COMPUTING_DIALECTS: Final = frozenset({"linalg", "iree_linalg_ext"})
_HELPERS: Final = frozenset(
    f"{dialect}.{name}" for dialect in _COMPUTING_DIALECTS for name in ("index", "yield")
)
_OTHER_COMPUTING: Final = frozenset({"iree_codegen.inner_tiled", "tensor.concat", "tensor.pad"})

_MOVES: Final = frozenset({_SCATTER, names.MAP_STORE, "linalg.copy", names.FILL})
_WEAK_ON_GPU: Final = _PACKS | _MOVES | {names.GENERIC}
"""Ops that are the root op on a GPU only without any other candidate."""


def _is_structured(operation: mlir.Operation) -> bool:
    return operation.name.startswith("linalg.") and bool(StructuredOp(operation).maps)


def _named(op_names: Collection[str]) -> Condition:
    return lambda operation: operation.name in op_names


def _leads(is_loop_nest: Condition, others: Collection[str]) -> Condition:
    return lambda operation: (
        REDUCTION in StructuredOp(operation).iterator_types
        if is_loop_nest(operation)
        else operation.name not in others
    )


_CPU_BACKENDS: Final = frozenset({"llvm-cpu", "vmvx", "vmvx-inline"})
_SPIRV_BACKENDS: Final = frozenset({"metal-spirv", "vulkan-spirv", "webgpu-spirv"})
"""The compiler's names of backends. The other backends are for GPUs."""


def _root_conditions(
    function: mlir.Operation, export: mlir.Operation | None, computing: Sequence[mlir.Operation]
) -> Sequence[Condition]:
    """Return the conditions on the root op of a function with its export, the strongest first.

    The last op that satisfies the first satisfiable condition is the root op.
    """
    # The rule depends on the nearest target on or around the function.
    backend = ""
    for ancestor in (function, *ancestors(function)):
        is_variant = ancestor.name == names.EXECUTABLE_VARIANT
        target = ancestor.attributes.get("target" if is_variant else names.EXECUTABLE_TARGET)
        if target is not None:
            executable = read_executable_target(target)
            backend = executable.backend if executable else ""
            break
    if backend in _CPU_BACKENDS:
        # `getRootOperation` in IREE's `CPUUtils.cpp`: a reduction; else any other structured op; else an op that only
        # changes the layout (`linalg.pack`, `tensor.pad`, …).
        return (_leads(_is_structured, _RELAYOUTS), _is_structured, _named(_RELAYOUTS))
    # GPU backends run a function with a workgroup count of one in one thread, without a configuration
    # (`initGPULaunchConfig`).
    if export is not None:
        blocks = list(export.regions[0].blocks)
        counts = list(blocks[-1].operations[-1].operation.operands) if blocks else []
        if counts and all(constant_value(count) == 1 for count in counts):
            return ()
    generic = _named({names.GENERIC})
    if backend in _SPIRV_BACKENDS:
        # `getRootOperation` in IREE's `SPIRV/KernelConfig.cpp`: a reduction or any op other than a `linalg.generic`,
        # including layout changes; else a `linalg.generic`; else a fill.
        return (_leads(generic, {names.FILL}), generic, _named({names.FILL}))

    def owners(values: Iterable[mlir.Value[mlir.Type]]) -> Iterator[mlir.Operation]:
        for value in values:
            owner = value.owner
            operation = owner.owner.operation if isinstance(owner, mlir.Block) else owner.operation
            if operation.name not in (names.FUNCTION, names.UTIL_FUNCTION):
                yield operation

    # `initGPULaunchConfig` in IREE's `LLVMGPU/KernelConfig.cpp`: a reduction, or an op other than a `linalg.generic`
    # with loops, including `tensor.pad`; else a `linalg.generic`, unless it only computes the positions of a scatter;
    # else `linalg.pack` or `linalg.unpack`; else an op that moves or fills.
    # Operand 1 of a scatter has the positions to write.
    written = [scatter.operands[1] for scatter in computing if scatter.name == _SCATTER]
    positions = set(postorder(owners(written), lambda operation: owners(operation.operands)))
    return (
        _leads(generic, _WEAK_ON_GPU),
        lambda operation: generic(operation) and operation not in positions,
        _named(_PACKS),
        _named(_MOVES),
    )


# --- The dispatches of a program, their targets, and their root ops, found by the rule of each dispatch's backend

_CONTAINERS: Final = frozenset({names.MODULE, names.EXECUTABLE, names.EXECUTABLE_VARIANT})
"""The ops around a dispatch."""


@dataclass(frozen=True)
class Dispatch:
    """A module that the compiler generates code for.

    The name is that in diagnostics and reports, such as `@executable::@variant`. The target is None if it has none.
    """

    name: str
    module: mlir.Operation
    target: Target | None


def containers(root: mlir.Operation) -> list[mlir.Operation]:
    """Return `root` and the modules, executables and variants inside it, in walk order.

    Functions are not entered, so the cost of the walk grows with the number of dispatches, not of their ops.
    """
    operations: list[mlir.Operation] = []
    pending = [root]
    while pending:
        operation = pending.pop()
        operations.append(operation)
        inner = [op for op in children(operation) if op.name in _CONTAINERS]
        pending += reversed(inner)
    return operations


def find_dispatches(root: mlir.Operation) -> list[Dispatch]:
    """Return the dispatches of a program, in order.

    The dispatches are the modules in the variants of `root`. A variant without a module has its code in object files
    and cannot be configured. A module without variants is one dispatch: it is either the module inside a variant or a
    program before dispatches are formed.

    Raises:
        TargetError: the target of a module without variants is not a `#hal.executable.target`.
    """
    variants = [op for op in containers(root) if op.name == names.EXECUTABLE_VARIANT]
    if not variants and root.name == names.MODULE:
        target = target_of(root)
        if target is None:
            ops = (op for op in (root, *body(root)) if names.EXECUTABLE_TARGET in op.attributes)
            for first in islice(ops, 1):
                target = Target.from_attribute(first.attributes[names.EXECUTABLE_TARGET], first)
        return [Dispatch(dispatch_name(root), root, target)]
    # Each distinct target is read once.
    around = {variant.attributes["target"]: variant for variant in reversed(variants)}
    targets = {target: Target.from_attribute(target, at) for target, at in around.items()}
    return [
        Dispatch(dispatch_name(variant), module, targets[variant.attributes["target"]])
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


def target_of(operation: mlir.Operation) -> Target | None:
    """Return the target of the variant that is or contains `operation`, or None.

    Raises:
        TargetError: the target is not a `#hal.executable.target`.
    """
    for ancestor in (operation, *ancestors(operation)):
        if ancestor.name == names.EXECUTABLE_VARIANT:
            return Target.from_attribute(ancestor.attributes["target"], ancestor)
    return None


@dataclass(frozen=True)
class FunctionRoots:
    """The root ops of one function of a dispatch."""

    function: mlir.Operation
    roots: tuple[mlir.Operation, ...]
    marked: tuple[mlir.Operation, ...]


def find_root_ops(root: mlir.Operation) -> list[FunctionRoots]:
    """Return the root ops of each function in `root`, in order.

    An existing configuration determines the root op: the op that a spec annotated, or the only op with a
    `lowering_config`. Otherwise the root op is the op that the backend would choose. If the backend's preprocessing
    changes that choice, the caller runs it first.

    The `root` is a function, or an op around functions: a module, an executable, a variant. Every `func.func` counts as
    a dispatch, a `util.func` only if it is public inside a variant: microkernels are private. Without a target, a
    function counts as compiled for a GPU.
    """
    kinds = names.FUNCTION, names.UTIL_FUNCTION, names.NAMED_SEQUENCE
    functions = [
        op for op in collect(root, *kinds, nested=False) if op.name != names.NAMED_SEQUENCE
    ]
    function_roots = []
    exports: dict[mlir.Operation, dict[str | None, mlir.Operation]] = {}
    for function in functions:
        around = ancestors(function)
        variant = next((op for op in around if op.name == names.EXECUTABLE_VARIANT), None)
        if variant is not None and variant not in exports:
            exports[variant] = {
                symbol_name(op): op for op in body(variant) if op.name == names.EXECUTABLE_EXPORT
            }
        visibility = str(function.attributes.get(names.SYMBOL_VISIBILITY))
        if function.name != names.FUNCTION and (variant is None or visibility == '"private"'):
            continue
        ops = function_ops(function)
        # The ops that a spec annotated, or the only op with a `lowering_config`, certainly have a configuration. If
        # several have a `lowering_config`, the rule selects the original op: the compiler propagates configurations.
        roots = ops.annotated or (ops.configured if len(ops.configured) == 1 else ())
        if not roots and ops.computing:
            # The op that the compiler would choose a configuration for, if any.
            export = None if variant is None else exports[variant].get(symbol_name(function))
            chosen = (
                operation
                for condition in _root_conditions(function, export, ops.computing)
                for operation in reversed(ops.computing)
                if condition(operation)
            )
            roots = tuple(islice(chosen, 1))
        function_roots.append(FunctionRoots(function, roots, ops.marked))
    return function_roots
