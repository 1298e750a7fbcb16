"""Which operation of a function gets the configuration: its root op.

The compiler decides that in each backend anew, right before it chooses a configuration. There are three
rules (`RootOpRule`), which differ in what they take for an operation that only accompanies another. They are
written down here as the compiler follows them, and tested against it on random functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.structured_op import REDUCTION, StructuredOp
from tuninglink.mlir import names
from tuninglink.mlir.walk import postorder, visit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Condition = Callable[[mlir.Operation], bool]


class RootOpRule(Enum):
    """How a family of backends finds the root op; the last operation that qualifies is the root op.

    - `CPU` (llvm-cpu, vmvx): an operation that reduces; else any other structured operation; else one that
      only changes the layout (`linalg.pack`, `tensor.pad`, …).
    - `GPU` (hip, cuda): an operation that reduces, and whatever has a loop structure of its own, `tensor.pad`
      included; else a `linalg.generic`, unless it only computes where a scatter writes; else `linalg.pack` or
      `linalg.unpack`; else what moves or fills.
    - `SPIRV` (vulkan, metal): an operation that reduces and every operation with a name of its own, layout
      changes included; else a `linalg.generic`; else a fill.
    """

    CPU = "cpu"
    GPU = "gpu"
    SPIRV = "spirv"


@dataclass(frozen=True)
class FunctionOps:
    """The operations of a function that a configuration can concern, in the compiler's order.

    Attributes:
        computing: those that can be tiled, and so can be the root op.
        configured: those with a `lowering_config`.
        annotated: those with a `compilation_info`, of which the compiler makes a `lowering_config`.
        marked: those with a `root_op`.
    """

    computing: tuple[mlir.Operation, ...]
    configured: tuple[mlir.Operation, ...]
    annotated: tuple[mlir.Operation, ...]
    marked: tuple[mlir.Operation, ...]


def function_ops(function: mlir.Operation) -> FunctionOps:
    """Returns the operations in `function` that matter here, each after what is inside it."""
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
    """Returns the operations whose configuration is there already, as far as that is certain.

    They are those that a spec annotated; else the only one with a `lowering_config`. If several have one,
    only the rule can tell which one it was chosen for: the compiler spreads configurations.
    """
    if ops.annotated:
        return ops.annotated
    return ops.configured if len(ops.configured) == 1 else ()


def root_op(ops: FunctionOps, rule: RootOpRule) -> mlir.Operation | None:
    """Returns the operation that the compiler would choose a configuration for, None without one."""
    for condition in _CONDITIONS[rule](ops.computing):
        for operation in reversed(ops.computing):
            if condition(operation):
                return operation
    return None


def is_computing(name: str) -> bool:
    """Tells whether operations of this name can be tiled, and so have a configuration of their own."""
    dialect, _, _ = name.partition(".")
    return (dialect in _COMPUTING_DIALECTS and name not in _HELPERS) or name in _OTHER_COMPUTING


_CONFIGURATIONS: Final = (names.LOWERING_CONFIG, names.COMPILATION_INFO, names.ROOT_OP)

_SCATTER: Final = "iree_linalg_ext.scatter"
_PACKS: Final = frozenset({names.PACK, names.UNPACK})
_MAPS: Final = frozenset({"iree_linalg_ext.map_load", "iree_linalg_ext.map_store"})
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
    "iree_linalg_ext.map_store",
}
"""What is the root op on a GPU only if nothing else is there."""


def _is_structured(operation: mlir.Operation) -> bool:
    return operation.name.startswith("linalg.") and bool(StructuredOp(operation).maps)


def _reduces(operation: mlir.Operation) -> bool:
    return REDUCTION in StructuredOp(operation).iterator_types


def _named(*wanted: str) -> Condition:
    return lambda operation: operation.name in wanted


def _cpu(_: Sequence[mlir.Operation]) -> Sequence[Condition]:
    def leads(operation: mlir.Operation) -> bool:
        if _is_structured(operation):
            return _reduces(operation)
        return operation.name not in _RELAYOUTS

    return (leads, _is_structured, _named(*_RELAYOUTS))


def _gpu(computing: Sequence[mlir.Operation]) -> Sequence[Condition]:
    def leads(operation: mlir.Operation) -> bool:
        if operation.name == names.GENERIC:
            return _reduces(operation)
        return operation.name not in _WEAK_ON_GPU

    def computes(operation: mlir.Operation) -> bool:
        return operation.name == names.GENERIC and operation not in positions

    scatters = [operation for operation in computing if operation.name == _SCATTER]
    positions = _sources([scatter.operands[_POSITIONS_OF_SCATTER] for scatter in scatters])
    moves = _named(_SCATTER, "iree_linalg_ext.map_store", "linalg.copy", names.FILL)
    return (leads, computes, _named(*_PACKS), moves)


def _spirv(_: Sequence[mlir.Operation]) -> Sequence[Condition]:
    def leads(operation: mlir.Operation) -> bool:
        if operation.name == names.GENERIC:
            return _reduces(operation)
        return operation.name != names.FILL

    return (leads, _named(names.GENERIC), _named(names.FILL))


_CONDITIONS: Final = {RootOpRule.CPU: _cpu, RootOpRule.GPU: _gpu, RootOpRule.SPIRV: _spirv}
"""For each rule, what qualifies an operation, the strongest condition first."""

_POSITIONS_OF_SCATTER: Final = 1
"""The operand of a scatter that says where to write."""

_FUNCTIONS: Final = frozenset({names.FUNCTION, names.UTIL_FUNCTION})


def _sources(values: list[mlir.Value[mlir.Type]]) -> set[mlir.Operation]:
    """Returns the operations in the function that `values` are computed from."""
    return set(postorder(_owners(values), lambda operation: _owners(operation.operands)))


def _owners(values: Iterable[mlir.Value[mlir.Type]]) -> Iterator[mlir.Operation]:
    for value in values:
        owner = value.owner
        operation = owner.owner.operation if isinstance(owner, mlir.Block) else owner.operation
        if operation.name not in _FUNCTIONS:
            yield operation
