"""Scans of a module of sequences: for entry points, for references, and for ops that inspect the payload."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from iree.compiler import ir as mlir

# `iree.compiler.dialects.transform` re-exports this, but takes longer to build the classes of the ops.
from iree.compiler._mlir_libs._mlirDialectsTransform import AnyOpType

from tuninglink.mlir import names
from tuninglink.mlir.symbols import reference, references, references_in, symbol_name
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
"""Ops that look at no attribute of an op that could be configured, and give no handle to another op.

None of their attributes refers to symbols, except for the values of constants.
"""

_SHOWING = frozenset({names.MATCH_DAG, names.MATCH_REGIONS})
"""Ops in whose regions stand ops of a program."""

_SAME_SHAPE: Final = (
    mlir.OperationEquivalenceFlags.IGNORE_LOCATIONS
    | mlir.OperationEquivalenceFlags.IGNORE_PROPERTIES
)
_MOST_SHAPES: Final = 8
"""The number of shapes that a sequence is compared with."""


@dataclass
class SequenceShape:
    """The shape of sequences that differ only in names, types and the parameters of their ops.

    Attributes:
        example: a sequence of this shape.
        is_untyped: whether its first argument is any op.
        is_passing: whether its first result is its first argument.
        is_shared: whether linking needs no scan of another sequence of the shape, apart from its constants.
        constants: the positions of the constants in the body, if it is shared.
        size: the number of ops in the body.
    """

    example: mlir.Operation
    is_untyped: bool
    is_passing: bool = False
    is_shared: bool = True
    constants: list[int] = field(default_factory=list)
    size: int = 0

    @cached_property
    def is_referring(self) -> bool:
        """Whether the example refers to symbols."""
        return any(True for _ in references_in(self.example))


@dataclass
class ModuleScan:
    """The ops of a module of sequences that are relevant to linking.

    Attributes:
        top: the ops directly in the module, with their symbols; an empty one for an op without a symbol.
        symbols: the ops of `top` that define a symbol.
        shapes: the shapes of the sequences directly in the module, by symbol.
        entry_points: the entry points directly in the module.
        included: everything that an `include` refers to.
        including: the parents of `include` ops, such as sequences.
        looking: the transform ops that may look at configurations, or at ops other than the matched one.
        lists: the `foreach_match` ops.
        has_declarations: whether a sequence is declared without a body.
    """

    top: list[tuple[str, mlir.Operation]] = field(default_factory=list)
    symbols: dict[str, mlir.Operation] = field(default_factory=dict)
    shapes: dict[str, SequenceShape] = field(default_factory=dict)
    entry_points: list[mlir.Operation] = field(default_factory=list)
    included: set[str] = field(default_factory=set)
    including: set[mlir.Operation] = field(default_factory=set)
    looking: list[mlir.Operation] = field(default_factory=list)
    lists: list[mlir.Operation] = field(default_factory=list)
    has_declarations: bool = False
    _refers: dict[mlir.Attribute | None, bool] = field(default_factory=dict)

    def may_refer(self, symbol: str) -> bool:
        """Return whether the op of a symbol may contain references, outside of the programs that it shows."""
        shape = self.shapes.get(symbol)
        if shape is None or not shape.is_shared or shape.is_referring:
            return True
        # The op has the same discardable attributes as the example, and of the other ones, these may refer to symbols.
        sequence = self.symbols[symbol]
        values = [sequence.attributes.get(name) for name in ("arg_attrs", "res_attrs")]
        if shape.constants:
            operations = sequence.regions[0].blocks[0].operations
            values += [operations[position].attributes["value"] for position in shape.constants]
        return any(map(self._refer, values))

    def _refer(self, attribute: mlir.Attribute | None) -> bool:
        if attribute not in self._refers:
            self._refers[attribute] = attribute is not None and any(
                True for _ in references(attribute)
            )
        return self._refers[attribute]

    def add_nested(self, inner: ModuleScan) -> None:
        """Add the ops of a nested module, whose symbols are its own."""
        self.included |= inner.included
        self.including |= inner.including
        self.looking += inner.looking
        self.lists += inner.lists
        self.has_declarations |= inner.has_declarations


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


def is_any_op(kind: mlir.Type) -> bool:
    """Return whether `kind` is `!transform.any_op`, a handle to ops of any name."""
    return isinstance(kind, AnyOpType)


def signature(sequence: mlir.Operation) -> mlir.FunctionType:
    """Return the type of a named sequence."""
    attribute = sequence.attributes["function_type"]
    assert isinstance(attribute, mlir.TypeAttr)
    assert isinstance(attribute.value, mlir.FunctionType)
    return attribute.value


def scan_module(module: mlir.Operation) -> ModuleScan:
    """Scan a module and those nested in it."""
    scanner = _Scanner(module)
    module.walk(scanner.keep, mlir.WalkOrder.PRE_ORDER)
    return scanner.scan


class _Scanner:
    """Scans the ops directly in a module, and the bodies of its sequences, once for each shape.

    Args:
        module: the module.
    """

    def __init__(self, module: mlir.Operation) -> None:
        self.scan = ModuleScan()
        self._module = module
        self._shapes: list[SequenceShape] = []

    def keep(self, operation: mlir.Operation) -> mlir.WalkResult:
        """Record an op directly in the module."""
        if operation == self._module:
            return mlir.WalkResult.ADVANCE
        for shape in self._shapes:
            if shape.example.is_structurally_equivalent(operation, _SAME_SHAPE):
                self._keep_sequence(operation, shape)
                return mlir.WalkResult.SKIP
        if operation.name == names.NAMED_SEQUENCE:
            self._keep_sequence(operation, self._shape_of(operation))
        else:
            self._keep_other(operation)
        return mlir.WalkResult.SKIP

    def _keep_sequence(self, sequence: mlir.Operation, shape: SequenceShape) -> None:
        scan = self.scan
        symbol: str = sequence.attributes[names.SYMBOL_NAME].value  # type: ignore[attr-defined]
        scan.top.append((symbol, sequence))
        scan.symbols[symbol] = sequence
        scan.shapes[symbol] = shape
        if (not shape.is_shared and is_entry_point(sequence)) or symbol == names.KERNEL_CONFIG:
            scan.entry_points.append(sequence)

    def _shape_of(self, sequence: mlir.Operation) -> SequenceShape:
        """Scan the body of a sequence."""
        inputs = signature(sequence).inputs
        is_untyped = len(inputs) > 0 and is_any_op(inputs[0])
        shape = SequenceShape(sequence, is_untyped, is_shared=not is_entry_point(sequence))

        def keep(operation: mlir.Operation) -> mlir.WalkResult:
            return self._keep_inner(operation, shape)

        sequence.walk(keep, mlir.WalkOrder.PRE_ORDER)
        self.scan.has_declarations |= not shape.size
        if shape.is_shared and shape.size:
            self._shapes = [shape, *self._shapes[: _MOST_SHAPES - 1]]
        return shape

    def _keep_inner(self, operation: mlir.Operation, shape: SequenceShape) -> mlir.WalkResult:
        """Record an op of a sequence, or of a program that it shows."""
        if operation == shape.example:
            return mlir.WalkResult.ADVANCE
        scan, name = self.scan, operation.name
        if name == names.PARAM_CONSTANT:
            shape.constants.append(shape.size)
        shape.size += 1
        if name == names.YIELD:
            operands = operation.operands
            value = operands[0] if len(operands) else None
            shape.is_passing = isinstance(value, mlir.BlockArgument) and value.arg_number == 0
        elif name == names.FOREACH_MATCH:
            scan.lists.append(operation)
            shape.is_shared = False
        elif name not in _BLIND:
            shape.is_shared = False
            if name == names.INCLUDE:
                scan.included.add(reference(operation.attributes["target"]))
                parent = operation.parent
                assert parent is not None
                scan.including.add(parent.operation)
            if name.startswith("transform."):
                scan.looking.append(operation)
        return mlir.WalkResult.SKIP if name in _SHOWING else mlir.WalkResult.ADVANCE

    def _keep_other(self, operation: mlir.Operation) -> None:
        symbol = symbol_name(operation) or ""
        self.scan.top.append((symbol, operation))
        if symbol:
            self.scan.symbols[symbol] = operation
        if operation.name == names.MODULE:
            self.scan.add_nested(scan_module(operation))
