"""The dispatches of a program, their targets, and their root ops, found by the rule of each dispatch's backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.structured_op import REDUCTION, StructuredOp
from tuninglink.iree.targets import Target, read_executable_target
from tuninglink.mlir import body, names, postorder, symbol_name, visit

Condition = Callable[[mlir.Operation], bool]


class RootOpRule(Enum):
    """The rule by which a family of backends finds the root op. The last op that qualifies is the root op.

    - `CPU` (llvm-cpu, vmvx): a reduction; else any other structured op; else an op that only changes the layout
    (`linalg.pack`, `tensor.pad`, …).
    - `GPU` (hip, cuda): a reduction, or an op other than a `linalg.generic` with loops, including `tensor.pad`; else a
    `linalg.generic`, unless it only computes the positions of a scatter; else `linalg.pack` or `linalg.unpack`; else
    an op that moves or fills.
    - `SPIRV` (vulkan, metal): a reduction or any op other than a `linalg.generic`, including layout changes; else a
    `linalg.generic`; else a fill.
    """

    CPU = "cpu"
    GPU = "gpu"
    SPIRV = "spirv"


@dataclass(frozen=True)
class FunctionOps:
    """The ops of a function that a configuration can concern, in the compiler's order."""

    computing: tuple[mlir.Operation, ...]
    configured: tuple[mlir.Operation, ...]
    annotated: tuple[mlir.Operation, ...]
    marked: tuple[mlir.Operation, ...]


def function_ops(function: mlir.Operation) -> FunctionOps:
    """Return the ops in `function` that a configuration can concern, in post-order."""
    computing: list[mlir.Operation] = []
    carrying: dict[str, list[mlir.Operation]] = {name: [] for name in _CONFIGURATIONS}

    def visitor(operation: mlir.Operation) -> None:
        if is_computing(operation.name):
            computing.append(operation)
        attributes = operation.attributes
        for name, operations in carrying.items():
            if name in attributes:
                operations.append(operation)

    visit(function, visitor, mlir.WalkOrder.POST_ORDER)
    return FunctionOps(
        computing=tuple(computing),
        configured=tuple(carrying[names.LOWERING_CONFIG]),
        annotated=tuple(carrying[names.COMPILATION_INFO]),
        marked=tuple(carrying[names.ROOT_OP]),
    )


def chosen_ops(ops: FunctionOps) -> tuple[mlir.Operation, ...]:
    """Return the ops that certainly have a configuration.

    They are the ops that a spec annotated, or the only op with a `lowering_config`. If several ops have a
    `lowering_config`, the rule selects the original op, since the compiler propagates configurations.
    """
    if ops.annotated:
        return ops.annotated
    return ops.configured if len(ops.configured) == 1 else ()


def root_op(ops: FunctionOps, rule: RootOpRule) -> mlir.Operation | None:
    """Return the op that the compiler would choose a configuration for, or None."""
    for condition in _CONDITIONS[rule](ops.computing):
        for operation in reversed(ops.computing):
            if condition(operation):
                return operation
    return None


def is_computing(name: str) -> bool:
    """Return whether ops of this name can be tiled, as in `getComputeOps`, and can therefore be configured."""
    dialect, _, _ = name.partition(".")
    return (dialect in _COMPUTING_DIALECTS and name not in _HELPERS) or name in _OTHER_COMPUTING


_CONFIGURATIONS: Final = (names.LOWERING_CONFIG, names.COMPILATION_INFO, names.ROOT_OP)

_SCATTER: Final = "iree_linalg_ext.scatter"
_PACKS: Final = frozenset({names.PACK, names.UNPACK})
_MAPS: Final = frozenset({names.MAP_LOAD, names.MAP_STORE})
_RELAYOUTS: Final = _PACKS | _MAPS | {"tensor.pad"}

_COMPUTING_DIALECTS: Final = frozenset({"linalg", "iree_linalg_ext"})
_HELPERS: Final = frozenset(
    {"linalg.index", "linalg.yield", "iree_linalg_ext.index", "iree_linalg_ext.yield"}
)
_OTHER_COMPUTING: Final = frozenset({"iree_codegen.inner_tiled", "tensor.concat", "tensor.pad"})

_WEAK_ON_GPU: Final = _PACKS | {
    names.GENERIC,
    names.FILL,
    _SCATTER,
    "linalg.copy",
    names.MAP_STORE,
}
"""Ops that are the root op on a GPU only without any other candidate."""


def _is_structured(operation: mlir.Operation) -> bool:
    return operation.name.startswith("linalg.") and bool(StructuredOp(operation).maps)


def _reduces(operation: mlir.Operation) -> bool:
    return REDUCTION in StructuredOp(operation).iterator_types


def _named(*op_names: str) -> Condition:
    return lambda operation: operation.name in op_names


def _cpu(_: Sequence[mlir.Operation]) -> Sequence[Condition]:
    """Return the conditions of `getRootOperation` in IREE's `CPUUtils.cpp`."""

    def leads(operation: mlir.Operation) -> bool:
        if _is_structured(operation):
            return _reduces(operation)
        return operation.name not in _RELAYOUTS

    return (leads, _is_structured, _named(*_RELAYOUTS))


def _gpu(computing: Sequence[mlir.Operation]) -> Sequence[Condition]:
    """Return the conditions of `initGPULaunchConfig` in IREE's `LLVMGPU/KernelConfig.cpp`."""

    def leads(operation: mlir.Operation) -> bool:
        if operation.name == names.GENERIC:
            return _reduces(operation)
        return operation.name not in _WEAK_ON_GPU

    def computes(operation: mlir.Operation) -> bool:
        return operation.name == names.GENERIC and operation not in positions

    scatters = [operation for operation in computing if operation.name == _SCATTER]
    positions = set(
        postorder(
            _owners([scatter.operands[_POSITIONS_OF_SCATTER] for scatter in scatters]),
            lambda operation: _owners(operation.operands),
        )
    )
    moves = _named(_SCATTER, names.MAP_STORE, "linalg.copy", names.FILL)
    return (leads, computes, _named(*_PACKS), moves)


def _spirv(_: Sequence[mlir.Operation]) -> Sequence[Condition]:
    """Return the conditions of `getRootOperation` in IREE's `SPIRV/KernelConfig.cpp`."""

    def leads(operation: mlir.Operation) -> bool:
        if operation.name == names.GENERIC:
            return _reduces(operation)
        return operation.name != names.FILL

    return (leads, _named(names.GENERIC), _named(names.FILL))


_CONDITIONS: Final = {RootOpRule.CPU: _cpu, RootOpRule.GPU: _gpu, RootOpRule.SPIRV: _spirv}
"""The conditions on a root op of each rule, the strongest first."""

_POSITIONS_OF_SCATTER: Final = 1
"""The operand of a scatter with the positions to write."""

_FUNCTIONS: Final = frozenset({names.FUNCTION, names.UTIL_FUNCTION})


def _owners(values: Iterable[mlir.Value[mlir.Type]]) -> Iterator[mlir.Operation]:
    for value in values:
        owner = value.owner
        operation = owner.owner.operation if isinstance(owner, mlir.Block) else owner.operation
        if operation.name not in _FUNCTIONS:
            yield operation


# --- The dispatches of a program, their targets, and their root ops, found by the rule of each dispatch's backend

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
    """The root ops of one function of a dispatch."""

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
        or (
            surroundings.variant(function) is not None
            and str(function.attributes.get(names.SYMBOL_VISIBILITY)) != '"private"'
        )
        for ops in [function_ops(function)]
    ]


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
                if target not in self._rules:
                    executable = read_executable_target(target)
                    backend = executable.backend if executable else ""
                    self._rules[target] = _RULES.get(backend, RootOpRule.GPU)
                return self._rules[target]
        return RootOpRule.GPU

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
