"""Scans of a module of sequences for entry points, references, and ops that inspect the payload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

from iree.compiler import ir as mlir

# `iree.compiler.dialects.transform` re-exports this, but takes longer to build the classes of the ops.
from iree.compiler._mlir_libs._mlirDialectsTransform import AnyOpType

from tuninglink.errors import Diagnostic, nearest
from tuninglink.mlir import (
    SymbolRenaming,
    body,
    error,
    names,
    note,
    postorder,
    reference,
    references,
    references_in,
    symbol_name,
    symbols,
    visit,
)

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
        names.YIELD,
        "transform.get_type",
        "transform.match.operation_empty",
    }
)
"""Ops that read no attribute that a spec can set, and return no handle to another op.

None of their attributes refers to symbols, except for the values of constants.
"""

_SAME_SHAPE: Final = (
    mlir.OperationEquivalenceFlags.IGNORE_LOCATIONS
    | mlir.OperationEquivalenceFlags.IGNORE_PROPERTIES
)
_MOST_SHAPES: Final = 8
"""The number of shapes that a sequence is compared with."""


@dataclass(eq=False)
class SequenceShape:
    """The shape of sequences that differ only in names and in the parameters of their ops.

    Linking scans only one sequence of each shape; of the others, it reads only the constants.
    """

    example: mlir.Operation

    @cached_property
    def _refers(self) -> bool:
        return any(True for _ in references_in(self.example))

    @cached_property
    def _constants(self) -> list[int]:
        operations = enumerate(body(self.example))
        return [number for number, op in operations if op.name == names.PARAM_CONSTANT]

    def rename_references(self, sequence: mlir.Operation, renaming: SymbolRenaming) -> None:
        """Rename the references in a sequence of this shape."""
        if self._refers:
            renaming.rename_references(sequence)
            return
        for operation, name in self._referring(sequence):
            renaming.rename_attribute(operation, name)

    def references(self, sequence: mlir.Operation) -> Iterator[tuple[str, ...]]:
        """Yield the references in a sequence of this shape."""
        if self._refers:
            yield from references_in(sequence)
            return
        for operation, name in self._referring(sequence):
            attribute = operation.attributes.get(name)
            if attribute is not None:
                yield from self._read(attribute)

    def _referring(
        self, sequence: mlir.Operation
    ) -> Iterator[tuple[mlir.Operation | mlir.OpView, str]]:
        """Yield the attributes of a sequence that may refer to symbols although those of the example do not."""
        # The sequence has the same discardable attributes as the example. Of its other attributes, argument and result
        # attributes and the values of constants may refer to symbols.
        yield sequence, "arg_attrs"
        yield sequence, "res_attrs"
        operations = sequence.regions[0].blocks[0].operations
        for position in self._constants:
            yield operations[position], "value"

    @cached_property
    def _read(self) -> Callable[[mlir.Attribute], tuple[tuple[str, ...], ...]]:
        return cache(lambda attribute: tuple(references(attribute)))


class ModuleScan:
    """The ops of a module of sequences, and of the modules nested in it, that are relevant to linking."""

    def __init__(self, module: mlir.Operation) -> None:
        self.top: list[tuple[str, mlir.Operation]] = []
        self.symbols: dict[str, mlir.Operation] = {}
        self.shapes: dict[str, SequenceShape] = {}
        self.entry_points: list[mlir.Operation] = []
        self.included: Counter[str] = Counter()
        self.including: set[mlir.Operation] = set()
        self.looking: list[mlir.Operation] = []
        self.lists: list[mlir.Operation] = []
        self.printing: list[mlir.Operation] = []
        self.imports: list[mlir.Operation] = []
        self.has_declarations = False
        self.has_nested = False
        self._recent: list[SequenceShape] = []
        for operation in body(module):
            symbol = symbol_name(operation) or ""
            self.top.append((symbol, operation))
            if symbol:
                self.symbols[symbol] = operation
            if operation.name == names.MODULE:
                self._scan_nested(operation)
            elif operation.name == names.NAMED_SEQUENCE:
                shape = self._shape_of(operation)
                if shape is not None:
                    self.shapes[symbol] = shape
                if symbol == names.KERNEL_CONFIG or (shape is None and is_entry_point(operation)):
                    self.entry_points.append(operation)

    def rename_references(
        self, copy: mlir.Operation, symbol: str, renaming: SymbolRenaming
    ) -> None:
        """Rename the references in a copy of the op that defines a symbol."""
        shape = self.shapes.get(symbol)
        if shape is None:
            renaming.rename_references(copy)
        else:
            shape.rename_references(copy, renaming)

    def _scan_nested(self, module: mlir.Operation) -> None:
        """Record the ops of a nested module, which has its own symbol table."""
        self.has_nested = True
        for operation in body(module):
            if operation.name == names.MODULE:
                self._scan_nested(operation)
            elif operation.name == names.NAMED_SEQUENCE:
                self._shape_of(operation)

    def _shape_of(self, sequence: mlir.Operation) -> SequenceShape | None:
        """Return the shape of a sequence, or record its ops and return None if sequences of the shape need a scan."""
        for shape in self._recent:
            if shape.example.is_structurally_equivalent(sequence, _SAME_SHAPE):
                return shape
        operations: list[mlir.Operation] = []

        def keep(operation: mlir.Operation) -> mlir.WalkResult | None:
            operations.append(operation)
            return mlir.WalkResult.SKIP if operation.name in names.SHOWING else None

        visit(sequence, keep)
        self.has_declarations |= len(operations) == 1
        # Record the relevant ops.
        relevant = [operation for operation in operations[1:] if operation.name not in _BLIND]
        for operation in relevant:
            if operation.name == names.FOREACH_MATCH:
                self.lists.append(operation)
            elif operation.name.startswith("transform."):
                self.looking.append(operation)
            if operation.name == names.IMPORT_SYMBOL:
                self.imports.append(operation)
            if operation.name == names.INCLUDE:
                self.included[reference(operation.attributes["target"])] += 1
                assert operation.parent is not None
                self.including.add(operation.parent.operation)
        printing = [operation for operation in operations if operation.name == names.PRINT]
        self.printing += printing
        if len(operations) == 1 or relevant or printing or is_entry_point(sequence):
            return None
        shape = SequenceShape(sequence)
        self._recent = [shape, *self._recent[: _MOST_SHAPES - 1]]
        return shape


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


def unmark(sequence: mlir.Operation) -> None:
    """Remove the markers of an entry point."""
    for marker in (names.ENTRY_POINT, names.CHAINED_ENTRY_POINT):
        if marker in sequence.attributes:
            del sequence.attributes[marker]


def has_entry_point(module: mlir.Operation) -> bool:
    """Return whether `module` is a spec: whether one of its sequences is an entry point."""
    return any(map(is_entry_point, body(module)))


def preprocessing_entry_points(module: mlir.Operation) -> list[mlir.Operation]:
    """Return the sequences that the compiler runs where `module` is a preprocessing spec; empty if it is none."""
    sequences = (op for op in body(module) if op.name == names.NAMED_SEQUENCE)
    return [op for op in sequences if symbol_name(op) == names.TRANSFORM_MAIN]


def nested_specs(module: mlir.Operation) -> list[mlir.Operation]:
    """Return the specs among the modules nested in `module`."""
    return [op for op in body(module) if op.name == names.MODULE and has_entry_point(op)]


_MARKERS: Final = (names.ENTRY_POINT, names.DEFAULT_ENTRY_POINT, names.WITH_NAMED_SEQUENCE)
_SIMILAR: Final = 0.85
"""The similarity of a misspelt marker to a marker; these have at most 0.76 to each other."""


PREPROCESSING_FLAG: Final = "--iree-preprocessing-transform-spec-filename"
"""The compiler's flag for a preprocessing spec."""


def misspelt_markers(operations: Iterable[mlir.Operation]) -> Iterator[tuple[mlir.Operation, str]]:
    """Yield specs and entry points with misspelt markers, which the compiler ignores, each with a message."""
    for operation in operations:
        for name in sorted(set(operation.attributes.keys()).difference(_MARKERS)):
            if marker := nearest(name, _MARKERS, _SIMILAR):
                yield operation, f"unknown attribute '{name}' is ignored; did you mean '{marker}'?"


def no_entry_point(module: mlir.Operation) -> Diagnostic:
    """Return the error for a module without an entry point, with suggestions."""
    if preprocessing_entry_points(module):
        remedy = f"pass it with '{PREPROCESSING_FLAG}=FILE'"
        return error("a preprocessing spec, not a tuning spec", module, [note(remedy)])
    nested = nested_specs(module)
    if nested:
        message = (
            "no entry point, but nested modules are specs; link them with tuninglink-link-specs"
        )
        return error(message, module, [note("this one is a spec", nested[0])])
    markers = misspelt_markers([module, *body(module)])
    notes = [note(message, operation) for operation, message in markers]
    if names.WITH_NAMED_SEQUENCE in module.attributes:
        message = f"no entry point: mark a named sequence with '{names.ENTRY_POINT}'"
        return error(message, module, notes)
    message = (
        f"not a tuning spec: the module lacks '{names.WITH_NAMED_SEQUENCE}' and an entry point"
    )
    return error(message, module, notes)


def is_any_op(kind: mlir.Type) -> bool:
    """Return whether `kind` is `!transform.any_op`, a handle to ops of any name."""
    return isinstance(kind, AnyOpType)


def signature(sequence: mlir.Operation) -> mlir.FunctionType:
    """Return the type of a named sequence."""
    attribute = sequence.attributes["function_type"]
    assert isinstance(attribute, mlir.TypeAttr)
    assert isinstance(attribute.value, mlir.FunctionType)
    return attribute.value


# --- Side effects of transform ops (changes to the program and failures), and sequences that no entry point reaches

_READING: Final = frozenset(
    {
        names.MERGE_HANDLES,
        names.NEAREST_SYMBOL_TABLE,
        names.NUM_ASSOCIATIONS,
        names.PARAM_CONSTANT,
        names.PRINT,
        names.SELECT,
        names.STRUCTURED_MATCH,
        names.YIELD,
    }
)
CHECKING_PREFIXES: Final = ("transform.iree.match.", "transform.match.")
"""The beginnings of names of ops that fail for some operands and otherwise only read."""

_READING_PREFIXES: Final = ("transform.get_", *CHECKING_PREFIXES)


def only_reads(operation: mlir.Operation) -> bool:
    """Return whether an op of a sequence, other than an include, changes neither the program nor any handle."""
    name = operation.name
    if name in _READING or name.startswith(_READING_PREFIXES):
        return True
    if name == names.CREATE_SERIALIZED_MODULE:
        return is_closed(operation)
    if name in _DECIDED_BY_CONTENT or len(operation.regions):
        return False
    effects = _effects(operation)
    return effects is not None and not any(
        effect.effect == mlir.MemoryEffect.Free or _writes(effect) for effect in effects
    )


def adds_symbol(operation: mlir.Operation) -> bool:
    """Return whether an op adds a symbol to a program and leaves everything else there as it is."""
    return operation.name == names.IMPORT_SYMBOL and "force_import" not in operation.attributes


def is_closed(operation: mlir.Operation) -> bool:
    """Return whether the ops inside an op use no values from outside."""
    operations: list[mlir.Operation] = []
    visit(operation, operations.append)
    blocks = [block for op in operations for region in op.regions for block in region.blocks]
    values: set[mlir.Value[mlir.Type]] = {arg for block in blocks for arg in block.arguments}
    values |= {result for op in operations[1:] for result in op.results}
    return all(operand in values for op in operations[1:] for operand in op.operands)


def _effects(operation: mlir.Operation) -> list[mlir.MemoryEffectInstance] | None:
    with operation.context:
        try:
            return list(mlir.MemoryEffectsOpInterface(operation).get_effects())
        except ValueError:
            return None


def _writes(effect: mlir.MemoryEffectInstance) -> bool:
    return effect.effect == mlir.MemoryEffect.Write and effect.value is None


_INFALLIBLE: Final = _READING | {
    names.ANNOTATE,
    names.COLLECT_MATCHING,
    names.CREATE_SERIALIZED_MODULE,
    names.FOREACH_MATCH,
    names.IMPORT_SYMBOL,
    names.RUN_REGISTERED,
}
"""Ops that fail only where a sequence that they run does, or with an error that nothing suppresses.

A matcher that fails does not match. An annotation also fails if it has not one value.
"""


def fails(operation: mlir.Operation) -> bool:
    """Return whether an op of a sequence, other than an include, may fail by itself, which an include may suppress."""
    if operation.name in (names.ALTERNATIVES, names.FOREACH, names.SEQUENCE):
        may_fail = (
            any(fails(op.operation) for block in region.blocks for op in block.operations)
            for region in operation.regions
        )
        return all(may_fail) if operation.name == names.ALTERNATIVES else any(may_fail)
    if operation.name == names.GET_PARENT:
        # `SequenceTable.failing_ops` knows whether there is a parent at all. A number of 1 is the default.
        options = {"nth_parent", "op_name", "allow_empty_results"}
        return any(
            name in options and not (isinstance(value, mlir.IntegerAttr) and value.value == 1)
            for name, value in operation.attributes.items()
        )
    # Handles to several ops are an error of a `foreach_match` with further results.
    is_strict = len(operation.results) > 1 and "flatten_results" not in operation.attributes
    is_list = operation.name == names.FOREACH_MATCH
    return operation.name not in _INFALLIBLE or (is_list and is_strict)


_DECIDED_BY_CONTENT: Final = frozenset(
    {
        names.INCLUDE,
        names.FOREACH_MATCH,
        names.COLLECT_MATCHING,
        names.SEQUENCE,
        names.FOREACH,
        names.MATCH_STRUCTURED,
        names.PRINT,
    }
)
"""Ops that declare more effects on the payload than they have: their bodies decide, and a print writes elsewhere."""


def declares_a_write(operation: mlir.Operation) -> bool:
    """Return whether an op declares a write to the payload, apart from the sequences that it runs."""
    if operation.name in _DECIDED_BY_CONTENT:
        return False
    return any(map(_writes, _effects(operation) or ()))


def unused_sequences(
    module: mlir.Operation, kept: Collection[mlir.Operation] = ()
) -> list[mlir.Operation]:
    """Return the unused named sequences of a module and of those nested in it; those in `kept` count as used.

    Sequences that other symbols refer to count as used, and so do all sequences in a module without an entry point. If
    only an unused sequence refers to a sequence of a nested module, the latter is returned once the former is erased.
    """
    return [sequence for scope in scopes(module) for sequence in scope.unused(kept)]


def erase_unused(module: mlir.Operation, before: set[mlir.Operation]) -> int:
    """Erase the sequences that neither an entry point nor one in `before` uses; return their number."""
    count = 0
    while unused := unused_sequences(module, before):
        count += len(unused)
        for sequence in unused:
            sequence.erase()
    return count


def scopes(
    module: mlir.Operation, from_outside: frozenset[str] = frozenset()
) -> Iterator[SequenceScope]:
    """Yield the scopes of a module, of which modules around it refer to some symbols, and of the modules nested in it."""
    yield SequenceScope(module, from_outside)
    nested = {name: op for name, op in symbols(module).items() if op.name == names.MODULE}
    if not nested:
        return
    used: dict[str, set[str]] = {name: set() for name in nested}
    for path in references_in(module):
        if len(path) > 1 and path[0] in used:
            used[path[0]].add(path[1])
    for name, table in nested.items():
        yield from scopes(table, frozenset(used[name]))


class SequenceScope:
    """The named sequences of one module, which can refer to each other.

    Attributes:
        is_used: whether an entry point or an enclosing module uses its sequences. If not, their purpose is unknown.
        pinned: the symbols that must not be erased.
    """

    def __init__(self, module: mlir.Operation, from_outside: frozenset[str]) -> None:
        self.module = module
        operations = list(body(module))
        self.sequences = {
            name: op
            for op in operations
            if op.name == names.NAMED_SEQUENCE and (name := symbol_name(op)) is not None
        }
        used = from_outside | {name for name, op in self.sequences.items() if is_entry_point(op)}
        self.is_used = bool(used)
        others = [op for op in operations if op.name != names.NAMED_SEQUENCE]
        # References out of a nested module end in it, unless nothing there has the name.
        self.pinned = used | {path[0] for op in others for path in references_in(op)}

    def unused(self, kept: Collection[mlir.Operation] = ()) -> list[mlir.Operation]:
        """Return the unused sequences; empty if the purpose of the module's sequences is unknown."""
        if not self.is_used:
            return []
        roots = [name for name, op in self.sequences.items() if name in self.pinned or op in kept]
        reached = set(postorder(roots, self.uses))
        return [sequence for name, sequence in self.sequences.items() if name not in reached]

    def uses(self, name: str) -> list[str]:
        """Return the sequences that a sequence refers to."""
        used = (path[0] for path in references_in(self.sequences[name]))
        return [name for name in used if name in self.sequences]
