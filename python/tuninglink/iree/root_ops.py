"""The root op of a function: the op that gets the configuration.

Each backend of the compiler chooses the root op immediately before it chooses the configuration. There are three rules
(`RootOpRule`), which differ in the ops that they treat as auxiliary. The functions in this module follow the compiler's
rules, and tests compare the results on random functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.structured_op import REDUCTION, StructuredOp
from tuninglink.mlir import names
from tuninglink.mlir.walk import postorder, visit

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
    """The ops of a function that a configuration can concern, in the compiler's order.

    Attributes:
        computing: the ops that can be tiled, and can therefore be the root op.
        configured: the ops with a `lowering_config`.
        annotated: the ops with a `compilation_info`, which the compiler turns into a `lowering_config`.
        marked: the ops with a `root_op`.
    """

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
    positions = _sources([scatter.operands[_POSITIONS_OF_SCATTER] for scatter in scatters])
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


def _sources(values: list[mlir.Value[mlir.Type]]) -> set[mlir.Operation]:
    """Return the ops in the function that `values` are computed from."""
    return set(postorder(_owners(values), lambda operation: _owners(operation.operands)))


def _owners(values: Iterable[mlir.Value[mlir.Type]]) -> Iterator[mlir.Operation]:
    for value in values:
        owner = value.owner
        operation = owner.owner.operation if isinstance(owner, mlir.Block) else owner.operation
        if operation.name not in _FUNCTIONS:
            yield operation
