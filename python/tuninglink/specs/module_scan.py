"""Scans of a module of sequences: for entry points, for references, and for ops that inspect the payload."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import Referring, reference, symbol_name
from tuninglink.mlir.walk import body

_BLIND = frozenset(
    {
        names.ANNOTATE,
        names.GET_OPERAND,
        names.GET_RESULT,
        names.MATCH_ATTENTION,
        names.MATCH_CONTRACTION,
        names.MATCH_CONVOLUTION,
        names.MATCH_DIM_BOUNDS,
        names.MATCH_DIM_MULTIPLE,
        names.MATCH_DIMS_EQUAL,
        names.MATCH_ONLINE_ATTENTION,
        names.MATCH_OPERATION_NAME,
        names.MATCH_PARAMETER,
        names.MATCH_TYPE,
        names.MERGE_HANDLES,
        names.NUM_ASSOCIATIONS,
        names.PARAM_CONSTANT,
        names.PRINT,
        "transform.get_type",
        "transform.match.operation_empty",
    }
)
"""Ops that look at no attribute of an op that could be configured, and give no handle to another op."""

_SHOWING = frozenset({names.MATCH_DAG, names.MATCH_REGIONS})
"""Ops in whose regions stand ops of a program."""

_ADVANCE: Final = mlir.WalkResult.ADVANCE


@dataclass
class ModuleScan:
    """The ops of a module of sequences that are relevant to linking, collected in one walk.

    Attributes:
        top: the ops directly in the module, with their symbols; an empty one for an op without a symbol.
        symbols: the ops of `top` that define a symbol.
        types: the function types of sequences, by symbol.
        referring: the symbols of the sequences that may contain references, outside of the programs that they show.
        passing: the symbols of the sequences whose first result is their first argument.
        included: everything that an `include` refers to.
        including: the parents of `include` ops, such as sequences.
        looking: the transform ops that may look at configurations, or at ops other than the matched one.
        lists: the `foreach_match` ops.
        has_declarations: whether a sequence may be declared without a body.
    """

    top: list[tuple[str, mlir.Operation]] = field(default_factory=list)
    symbols: dict[str, mlir.Operation] = field(default_factory=dict)
    types: dict[str, mlir.TypeAttr] = field(default_factory=dict)
    referring: set[str] = field(default_factory=set)
    passing: set[str] = field(default_factory=set)
    included: set[str] = field(default_factory=set)
    including: set[mlir.Operation] = field(default_factory=set)
    looking: list[mlir.Operation] = field(default_factory=list)
    lists: list[mlir.Operation] = field(default_factory=list)
    has_declarations: bool = False


def scan_module(module: mlir.Operation) -> ModuleScan:
    """Scan a module and those nested in it."""
    scan = ModuleScan()
    sequence = ""
    # The head of a sequence is followed by its body, if any, which ends with its terminator.
    is_at_head = False
    refers = Referring()

    def keep(operation: mlir.Operation) -> mlir.WalkResult:
        nonlocal sequence, is_at_head
        name = operation.name
        if not name.startswith("transform."):
            scan.referring.add(sequence)
            return _keep_other(scan, module, operation)
        if name == names.NAMED_SEQUENCE:
            scan.has_declarations |= is_at_head
            is_at_head = True
            sequence = _keep_sequence(scan, operation, refers)
            return _ADVANCE
        is_at_head = False
        if refers.as_op(name, operation.attributes):
            scan.referring.add(sequence)
        if name == names.YIELD:
            operands = operation.operands
            value = operands[0] if len(operands) else None
            if isinstance(value, mlir.BlockArgument) and value.arg_number == 0:
                scan.passing.add(sequence)
            else:
                scan.passing.discard(sequence)
        elif name == names.FOREACH_MATCH:
            scan.lists.append(operation)
        elif name not in _BLIND:
            scan.looking.append(operation)
            if name == names.INCLUDE:
                scan.included.add(reference(operation.attributes["target"]))
                parent = operation.parent
                assert parent is not None
                scan.including.add(parent.operation)
            return mlir.WalkResult.SKIP if name in _SHOWING else _ADVANCE
        return _ADVANCE

    module.walk(keep, mlir.WalkOrder.PRE_ORDER)
    scan.has_declarations |= is_at_head
    return scan


def _keep_sequence(scan: ModuleScan, operation: mlir.Operation, refers: Referring) -> str:
    """Record a named sequence and return its symbol."""
    attributes = operation.attributes
    symbol: str = attributes[names.SYMBOL_NAME].value  # type: ignore[attr-defined]
    scan.top.append((symbol, operation))
    scan.symbols[symbol] = operation
    scan.types[symbol] = attributes["function_type"]  # type: ignore[assignment]
    if refers.as_sequence(attributes):
        scan.referring.add(symbol)
    return symbol


def _keep_other(
    scan: ModuleScan, module: mlir.Operation, operation: mlir.Operation
) -> mlir.WalkResult:
    """Record an op of another dialect than transform."""
    if operation == module:
        return _ADVANCE
    if operation.parent == module:
        symbol = symbol_name(operation) or ""
        scan.top.append((symbol, operation))
        if symbol:
            scan.symbols[symbol] = operation
    if operation.name == names.MODULE:
        inner = scan_module(operation)
        scan.included |= inner.included
        scan.including |= inner.including
        scan.looking += inner.looking
        scan.lists += inner.lists
        scan.has_declarations |= inner.has_declarations
        return mlir.WalkResult.SKIP
    return _ADVANCE


def is_entry_point(operation: mlir.Operation) -> bool:
    """Return whether `operation` is a sequence that the compiler runs on a dispatch, by its marker or its name."""
    if operation.name != names.NAMED_SEQUENCE:
        return False
    attributes = operation.attributes
    return (
        names.ENTRY_POINT in attributes
        or symbol_name(operation) == names.KERNEL_CONFIG
        or names.CHAINED_ENTRY_POINT in attributes
    )


def has_entry_point(module: mlir.Operation) -> bool:
    """Return whether `module` is a spec: whether one of its sequences is an entry point."""
    return any(map(is_entry_point, body(module)))
