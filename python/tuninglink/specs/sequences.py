"""The named sequences of a module: the sequences that they use, their annotations, results and side effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from operator import itemgetter
from typing import Final, TypeVar

from iree.compiler import ir as mlir

from tuninglink.mlir import (
    FreshNames,
    SymbolRenaming,
    body,
    collect,
    join_path,
    names,
    postorder,
    reference,
    references,
    references_in,
    rename_symbols,
    split_path,
    symbol_name,
    symbols,
    visit,
)
from tuninglink.specs.transform_ops import (
    Handle,
    fails,
    fails_as_included,
    is_entry_point,
    only_reads,
    pairs_of,
)

_Resolved = tuple["SequenceTable", mlir.Operation]

_Source = mlir.Operation | int | None
"""The source of a yielded value: a constant, the argument with this number, or any other value."""

Found = TypeVar("Found")

_ACTION_OPERATIONS = frozenset({names.ANNOTATE, names.INCLUDE, names.PARAM_CONSTANT, names.YIELD})
"""The operations of actions that only annotate."""

_Values = dict[mlir.Operation | None, dict[int, mlir.Operation]]
"""For each sequence, the arguments that an annotation takes as its value, and the annotation."""

_Parents = dict[mlir.Value[mlir.Type], tuple[int, mlir.Operation]]
"""The number of enclosing ops that the ops of a handle must have, and an op that fails without them."""

_Needs = dict[int, tuple[int, mlir.Operation]]
"""The same for the arguments of a sequence, or for what a matcher yields."""


@dataclass(frozen=True)
class Annotation:
    """An attribute that a sequence sets on an op.

    Attributes:
        operand: the number of the sequence argument that holds the op.
        value: the attribute's value if the sequence itself holds it, a unit attribute for an annotation without value;
            otherwise the number of the sequence argument that holds the value.
    """

    operand: int
    name: str
    value: mlir.Attribute | int


_BLIND = frozenset(
    {
        *(names.MATCH_ATTENTION, names.MATCH_CONTRACTION, names.MATCH_CONVOLUTION),
        *(names.MATCH_DIM_BOUNDS, names.MATCH_DIM_MULTIPLE, names.MATCH_DIMS_EQUAL),
        *(names.MATCH_ONLINE_ATTENTION, names.MATCH_OPERATION_NAME, names.MATCH_PARAMETER),
        *(names.MATCH_TYPE, "transform.match.operation_empty", names.NUM_ASSOCIATIONS),
        *(names.GET_OPERAND, names.GET_RESULT, "transform.get_type", names.MERGE_HANDLES),
        *(names.ANNOTATE, names.PARAM_CONSTANT, names.PRINT, names.YIELD),
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
    _references: dict[mlir.Attribute, tuple[tuple[str, ...], ...]] = field(default_factory=dict)

    @cached_property
    def _constants(self) -> list[int] | None:
        """The positions of the constants in a sequence; None if the example refers to symbols."""
        if any(True for _ in references_in(self.example)):
            return None
        operations = enumerate(body(self.example))
        return [number for number, op in operations if op.name == names.PARAM_CONSTANT]

    def rename_references(self, sequence: mlir.Operation, renaming: SymbolRenaming) -> None:
        """Rename the references in a sequence of this shape."""
        if self._constants is None:
            renaming.rename_references(sequence)
            return
        for operation, name in self._referring(sequence, self._constants):
            renaming.rename_attribute(operation, name)

    def references(self, sequence: mlir.Operation) -> Iterator[tuple[str, ...]]:
        """Yield the references in a sequence of this shape."""
        if self._constants is None:
            yield from references_in(sequence)
            return
        for operation, name in self._referring(sequence, self._constants):
            attribute = operation.attributes.get(name)
            if attribute is not None and attribute not in self._references:
                self._references[attribute] = tuple(references(attribute))
            yield from self._references[attribute] if attribute is not None else ()

    @staticmethod
    def _referring(
        sequence: mlir.Operation, constants: Iterable[int]
    ) -> Iterator[tuple[mlir.Operation | mlir.OpView, str]]:
        """Yield the attributes of a sequence that may refer to symbols although those of the example do not."""
        # The sequence has the same discardable attributes as the example. Of its other attributes, argument and result
        # attributes and the values of constants may refer to symbols.
        yield sequence, "arg_attrs"
        yield sequence, "res_attrs"
        operations = sequence.regions[0].blocks[0].operations
        for position in constants:
            yield operations[position], "value"


class SequenceTable:
    """The named sequences that can be referred to from inside `module`, and facts about them.

    Every fact is computed once for each sequence, even if many entries share the sequence.

    Attributes:
        top: the ops of the module, each with its symbol or an empty string.
        others: those among them that are not named sequences.
        symbols: the ops, of any kind, that define a symbol directly in the module.
        shapes: the shapes of the sequences that only match, or only annotate.
        looking: the ops, also in nested modules, that may read or change more of a program than ops of such sequences.
    """

    def __init__(self, module: mlir.Operation) -> None:
        self.module = module
        self.top: list[tuple[str, mlir.Operation]] = []
        self.others: list[mlir.Operation] = []
        self.symbols: dict[str, mlir.Operation] = {}
        self.shapes: dict[str, SequenceShape] = {}
        self.entry_points: list[mlir.Operation] = []
        self.included: Counter[str] = Counter()
        self.including: set[mlir.Operation] = set()
        self.looking: list[mlir.Operation] = []
        self.foreach_matches: list[mlir.Operation] = []
        self.printing: list[mlir.Operation] = []
        self.imports: list[mlir.Operation] = []
        self.has_declarations = False
        self.has_nested = False
        self._recent: list[SequenceShape] = []
        self._nested: dict[str, SequenceTable] = {}
        self._referenced: dict[str, tuple[str, ...]] = {}
        self._annotations: dict[mlir.Operation, tuple[Annotation, ...] | None] = {}
        self._yielded: dict[mlir.Operation, tuple[_Source, ...]] = {}
        self._may_change: dict[str, bool] = {}
        for operation in body(module):
            symbol = symbol_name(operation) or ""
            self.top.append((symbol, operation))
            if symbol:
                self.symbols[symbol] = operation
            if operation.name != names.NAMED_SEQUENCE:
                self.others.append(operation)
            shape = self._scan(operation)
            if shape is not None:
                self.shapes[symbol] = shape
            if (symbol == names.KERNEL_CONFIG or shape is None) and is_entry_point(operation):
                self.entry_points.append(operation)

    def _scan(self, operation: mlir.Operation) -> SequenceShape | None:
        """Record the ops of a sequence, or of those in a nested module; return the shape if others need no scan."""
        if operation.name == names.MODULE:
            self.has_nested = True
            for inner in body(operation):
                self._scan(inner)
        if operation.name != names.NAMED_SEQUENCE:
            return None
        for shape in self._recent:
            if shape.example.is_structurally_equivalent(operation, _SAME_SHAPE):
                return shape
        operations: list[mlir.Operation] = []

        def keep(op: mlir.Operation) -> mlir.WalkResult | None:
            operations.append(op)
            return mlir.WalkResult.SKIP if op.name in names.SHOWING else None

        visit(operation, keep)
        self.has_declarations |= len(operations) == 1
        relevant = [op for op in operations[1:] if op.name not in _BLIND]
        for op in relevant:
            if op.name == names.FOREACH_MATCH:
                self.foreach_matches.append(op)
            elif op.name.startswith("transform."):
                self.looking.append(op)
            if op.name == names.IMPORT_SYMBOL:
                self.imports.append(op)
            if op.name == names.INCLUDE:
                self.included[reference(op.attributes["target"])] += 1
                assert op.parent is not None
                self.including.add(op.parent.operation)
        printing = [op for op in operations if op.name == names.PRINT]
        self.printing += printing
        if len(operations) == 1 or relevant or printing or is_entry_point(operation):
            return None
        shape = SequenceShape(operation)
        self._recent = [shape, *self._recent[: _MOST_SHAPES - 1]]
        return shape

    def referenced(self, name: str) -> tuple[str, ...]:
        """Return the symbols of the module that the definition of a symbol refers to, with repetitions."""
        if name not in self._referenced:
            symbol, shape = self.symbols[name], self.shapes.get(name)
            references = references_in(symbol) if shape is None else shape.references(symbol)
            self._referenced[name] = tuple(path[0] for path in references)
        return self._referenced[name]

    def resolve(self, path: str) -> _Resolved | None:
        """Return the sequence at `path` with the table of its module, or None."""
        table = self
        *scope, name = split_path(path) if ":" in path or '"' in path else (path,)
        for outer in scope:
            module = table.symbols.get(outer)
            if module is None or module.name != names.MODULE:
                return None
            if outer not in table._nested:
                table._nested[outer] = SequenceTable(module)
            table = table._nested[outer]
        symbol = table.symbols.get(name)
        if symbol is None or symbol.name != names.NAMED_SEQUENCE:
            return None
        return table, symbol

    def lookup(self, path: str) -> mlir.Operation | None:
        """Return the sequence at `path`, or None if it does not exist."""
        resolved = self.resolve(path)
        return resolved[1] if resolved else None

    def callee(self, include: mlir.Operation) -> _Resolved | None:
        """Resolve the target of an `include` in the module."""
        return self.resolve(reference(include.attributes["target"]))

    def pairs(self, foreach_match: mlir.Operation) -> list[tuple[str, str]]:
        """Return the `(matcher, action)` pairs of a `foreach_match`, in order."""
        return [
            (reference(matcher), reference(action)) for matcher, action in pairs_of(foreach_match)
        ]

    def lists(self, sequence: mlir.Operation) -> Iterator[mlir.Operation]:
        """Yield the `foreach_match` ops of a sequence, including those that guards moved to separate sequences."""
        for operation in collect(sequence, names.FOREACH_MATCH, names.INCLUDE):
            if operation.name == names.FOREACH_MATCH:
                yield operation
            else:
                callee = self.callee(operation)
                if callee is not None and names.LIST in callee[1].attributes:
                    yield from callee[0].lists(callee[1])

    def is_bookkeeping(self, matcher: str) -> bool:
        """Return whether a matcher was added by linking, in which case its pair is not an entry."""
        sequence = self.lookup(matcher)
        return sequence is not None and names.NO_ENTRY in sequence.attributes

    def closure(self, *paths: str, with_matchers: bool = False) -> Iterator[_Resolved]:
        """Yield the sequences at `paths` and those that they run: by includes, as actions, and, if asked for, as matchers.

        Each sequence is paired with the table of its module, and follows the sequences that it runs, except in cycles.
        """
        run = partial(_callees, with_matchers=with_matchers)
        return postorder(filter(None, map(self.resolve, paths)), run)

    def may_change(self, path: str) -> bool:
        """Return whether the sequence at `path`, or one that it includes, may change the payload."""
        if path not in self._may_change:
            self._may_change[path] = self._any(path, lambda operation: not only_reads(operation))
        return self._may_change[path]

    def may_fail(self, path: str) -> bool:
        """Return whether the sequence at `path`, or one that it runs, may fail."""
        resolved = self.resolve(path)
        if resolved is None or self._any(path, lambda _: False):
            return True
        values: _Values = {}
        table, sequence = resolved
        return any(True for _ in table.failing_ops(sequence, values)) or bool(values[sequence])

    def _any(self, path: str, holds: Callable[[mlir.Operation], bool]) -> bool:
        """Return whether `holds` is true, or unknown, for an op that the sequence at `path` runs."""
        run = list(self.closure(path))
        return not run or any(
            table.callee(op) is None if op.name == names.INCLUDE else holds(op)
            for table, sequence in run
            for op in body(sequence)
        )

    def failing_ops(
        self, sequence: mlir.Operation, values: _Values | None = None
    ) -> Iterator[mlir.Operation]:
        """Yield the ops of a sequence, and of those that it runs, whose failure makes the sequence fail.

        Record in `values` for each sequence the arguments that must be one value for an annotation.
        """
        values = {} if values is None else values
        needs: dict[mlir.Operation, _Needs] = {}
        for inner, runs in postorder([(self, sequence)], partial(_callees, suppressed=False)):
            yield from (op for op in body(runs) if op.name != names.INCLUDE and fails(op))
            arguments = values[runs] = {}
            # The values that annotations take, here or in what it runs; None for an unknown one.
            taken: list[tuple[Handle | None, mlir.Operation]] = []
            for op in collect(runs, names.ANNOTATE, names.INCLUDE, names.FOREACH_MATCH):
                if op.name == names.ANNOTATE:
                    taken += ((value, op) for value in list(op.operands)[1:])
                elif op.name == names.INCLUDE:
                    callee = inner.lookup(reference(op.attributes["target"]))
                    taken += (
                        (op.operands[number], annotation)
                        for number, annotation in values.get(callee, {}).items()
                    )
                else:
                    sources = [
                        (inner.yielded(matcher, number), annotation)
                        for matcher, action in inner.distinct(inner.pairs(op))
                        for number, annotation in values.get(inner.lookup(action), {}).items()
                    ]
                    taken += (
                        (None if source is None else op.operands[source], annotation)
                        for source, annotation in sources
                        if not isinstance(source, mlir.Attribute)
                    )
            for value, annotation in taken:
                if isinstance(value, mlir.BlockArgument) and value.owner.owner == runs:
                    arguments[value.arg_number] = annotation
                elif value is None or not _is_one_value(inner, value):
                    yield annotation
            parents = _parents_needed(inner, runs, needs)
            if needed := _of_arguments(parents, runs):
                needs[runs] = needed
            for value, (_, without) in parents.items():
                # Alternatives work on a copy of their scope that nothing encloses.
                if (
                    isinstance(value, mlir.BlockArgument)
                    and value.owner.owner.name == names.ALTERNATIVES
                ):
                    yield without
        # A spec is applied to a function, which is in a module.
        yield from (without for count, without in needs.get(sequence, {}).values() if count > 1)

    def distinct(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return one pair for each combination of matcher shape and action; others differ only in parameters."""
        first_pairs: dict[object, tuple[str, str]] = {}
        for matcher, action in pairs:
            # A path with a colon is nested or quoted, and not a symbol of the module.
            shape = None if ":" in matcher else self.shapes.get(matcher)
            first_pairs.setdefault((shape or matcher, action), (matcher, action))
        return list(first_pairs.values())

    def annotations(self, path: str) -> tuple[Annotation, ...] | None:
        """Return the annotations of the sequence at `path`, or None if it may do anything other than annotate."""
        return self._fold(path, self._annotations, _read_annotations)

    def yielded(self, path: str, position: int) -> mlir.Attribute | int | None:
        """Return the value that the sequence at `path` yields at `position`.

        The result is the value of a constant, the number of an argument of the sequence, or None for anything else.
        """
        yielded = self._fold(path, self._yielded, _read_yielded) or ()
        source = yielded[position] if position < len(yielded) else None
        return source.attributes["value"] if isinstance(source, mlir.Operation) else source

    def _fold(
        self,
        path: str,
        results: dict[mlir.Operation, Found],
        read: Callable[[SequenceTable, mlir.Operation, Mapping[mlir.Operation, Found]], Found],
    ) -> Found | None:
        """Compute a fact about the sequence at `path` from the facts about the sequences that it includes."""
        result = self.resolve(path)
        if result is None:
            return None
        if result[1] not in results:
            run: Iterable[_Resolved] = [result]
            if self.including:
                run = postorder(
                    run, lambda caller: () if caller[1] in results else _callees(caller)
                )
            for table, sequence in run:
                if sequence not in results:
                    results[sequence] = read(table, sequence, results)
        return results[result[1]]


def _parents_needed(
    table: SequenceTable,
    sequence: mlir.Operation,
    needs_of_run: Mapping[mlir.Operation, _Needs],
    yielded: _Needs | None = None,
) -> _Parents:
    """Return how many enclosing ops the handles in a sequence need for the `get_parent_op`s in it and what it runs.

    With `yielded`, only what those results need counts: a matcher that fails by itself does not match.
    """
    parents: _Parents = {}
    running = (names.INCLUDE, names.FOREACH_MATCH) if needs_of_run else ()
    if not (yielded or collect(sequence, names.GET_PARENT, *running)):
        return parents
    operations: list[mlir.Operation] = []
    visit(sequence, operations.append)
    for operation in reversed(operations[1:]):
        needs = list(_needs(table, operation, parents, needs_of_run, is_all=yielded is None))
        if yielded and operation.name == names.YIELD and operation.parent == sequence:
            needs += yielded.items()
        for number, (count, without) in needs:
            value = operation.operands[number]
            if count > parents.get(value, (0, without))[0]:
                parents[value] = (count, without)
    return parents


def _needs(
    table: SequenceTable,
    operation: mlir.Operation,
    parents: _Parents,
    needs_of_run: Mapping[mlir.Operation, _Needs],
    *,
    is_all: bool,
) -> Iterator[tuple[int, tuple[int, mlir.Operation]]]:
    """Yield what the operands of an op need because of its results, of its regions, and of what it runs if all counts."""
    results = {
        number: parents[result]
        for number, result in enumerate(operation.results)
        if result in parents
    }
    count, without = max(results.values(), key=itemgetter(0), default=(0, operation))
    callee = table.callee(operation) if operation.name == names.INCLUDE else None
    if operation.name == names.GET_PARENT:
        if results or is_all:
            yield 0, (count + 1, without)
    elif operation.name == names.INCLUDE and results:
        if callee:
            yield from _of_arguments(_parents_needed(*callee, {}, results), callee[1]).items()
    elif results and len(operation.operands):
        # Other ops yield what stands about as deep as their first operand.
        yield 0, (count, without)
    if operation.name in (names.FOREACH, names.SEQUENCE):
        block = operation.regions[0].blocks[0]
        for argument in block.arguments:
            if argument in parents:
                yield argument.arg_number, parents[argument]
    if is_all and callee and fails_as_included(operation):
        yield from needs_of_run.get(callee[1], {}).items()
    elif is_all and operation.name == names.FOREACH_MATCH:
        is_inside = "restrict_root" not in operation.attributes
        for matcher, action in table.distinct(table.pairs(operation)):
            matching, acting = table.resolve(matcher), table.resolve(action)
            if matching and acting and acting[1] in needs_of_run:
                needed = _parents_needed(*matching, {}, needs_of_run[acting[1]])
                for number, (count, without) in _of_arguments(needed, matching[1]).items():
                    yield number, (count - (is_inside and number == 0), without)


def _of_arguments(parents: _Parents, sequence: mlir.Operation) -> _Needs:
    # A declared sequence has no block.
    arguments = [value for block in sequence.regions[0].blocks for value in block.arguments]
    return {value.arg_number: parents[value] for value in arguments if value in parents}


def _is_one_value(table: SequenceTable, value: Handle) -> bool:
    if not isinstance(value, mlir.OpResult):
        return False
    owner = value.owner.operation
    if owner.name != names.INCLUDE:
        return owner.name in (names.PARAM_CONSTANT, names.CREATE_SERIALIZED_MODULE)
    yielded = table.yielded(reference(owner.attributes["target"]), value.result_number)
    if isinstance(yielded, int):
        return _is_one_value(table, owner.operands[yielded])
    return yielded is not None


def _callees(
    caller: _Resolved, *, suppressed: bool = True, with_matchers: bool = False
) -> Iterator[_Resolved]:
    """Yield the included sequences, or only the ones whose failures propagate, and the actions or all of the lists."""
    table, sequence = caller
    if with_matchers:
        yield from filter(
            None, (table.resolve(join_path(path)) for path in references_in(sequence))
        )
        return
    for operation in collect(sequence, names.INCLUDE, names.FOREACH_MATCH):
        if operation.name == names.FOREACH_MATCH:
            actions = dict.fromkeys(action for _, action in table.pairs(operation))
            yield from filter(None, map(table.resolve, actions))
        elif suppressed or fails_as_included(operation):
            yield from filter(None, [table.callee(operation)])


def _read_yielded(
    table: SequenceTable,
    sequence: mlir.Operation,
    results: Mapping[mlir.Operation, tuple[_Source, ...]],
) -> tuple[_Source, ...]:
    """Return the values that a sequence yields, given the values that its included sequences yield."""
    sources: list[_Source] = []
    blocks = list(sequence.regions[0].blocks)
    for operand in blocks[0].operations[-1].operands if blocks else ():
        source: _Source = None
        value: Handle | None = operand
        # Follow a value through the includes that pass it on.
        while isinstance(value, mlir.OpResult):
            owner, number, value = value.owner.operation, value.result_number, None
            callee = table.callee(owner) if owner.name == names.INCLUDE else None
            yielded = results.get(callee[1], ()) if callee else ()
            source = yielded[number] if number < len(yielded) else None
            if owner.name == names.PARAM_CONSTANT:
                source = owner
            elif isinstance(source, int):
                value = owner.operands[source]
        sources.append(value.arg_number if isinstance(value, mlir.BlockArgument) else source)
    return tuple(sources)


def _read_annotations(
    table: SequenceTable,
    sequence: mlir.Operation,
    results: Mapping[mlir.Operation, tuple[Annotation, ...] | None],
) -> tuple[Annotation, ...] | None:
    """Return the annotations of a sequence, given the annotations of its included sequences."""
    annotations: list[Annotation] = []
    for operation in body(sequence):
        if operation.name not in _ACTION_OPERATIONS:
            return None
        if operation.name == names.ANNOTATE:
            name = operation.attributes["name"]
            assert isinstance(name, mlir.StringAttr)
            unit = mlir.UnitAttr.get(operation.context)
            own = Annotation(0, name.value, 1 if len(operation.operands) > 1 else unit)
            inner: tuple[Annotation, ...] | None = (own,)
        elif operation.name == names.INCLUDE:
            callee = table.callee(operation)
            # A sequence that runs itself, as an action, is not a list of annotations.
            inner = results.get(callee[1]) if callee else None
        else:
            continue
        if inner is None or operation.results:
            return None
        # The numbers of arguments, and the values of constants.
        operands: list[mlir.Attribute | int] = []
        for operand in operation.operands:
            if isinstance(operand, mlir.BlockArgument):
                operands.append(operand.arg_number)
            else:
                assert isinstance(operand, mlir.OpResult)
                operands.append(operand.owner.attributes["value"])
        for annotation in inner:
            target, value = operands[annotation.operand], annotation.value
            assert isinstance(target, int)
            value = operands[value] if isinstance(value, int) else value
            annotations.append(Annotation(target, annotation.name, value))
    # The last annotation of an attribute wins.
    return tuple(reversed(dict.fromkeys(reversed(annotations))))


# --- Copies of the ops of several specs in one module ---------------------------------------------


def inner_name(name: str) -> str:
    """Return a name for a symbol that moves to another module."""
    # When the compiler links a spec with its own default spec, it renames entry points to `__kernel_config_1` and so
    # on, even if these names are taken.
    return name.lstrip("_") if name.startswith(names.KERNEL_CONFIG) else name


def copy_ops(
    container: mlir.Operation,
    tables: Sequence[SequenceTable],
    omitted: Sequence[Collection[str]],
    entry_point: str = names.KERNEL_CONFIG,
    reserved: Iterable[str] = (),
) -> list[Mapping[str, str]]:
    """Copy the ops of specs into `container`, except for ops with the omitted names. Return the new names.

    The name of the entry point that linking adds to `container`, and `reserved` names, are not given to another symbol.
    """
    # A symbol whose name is taken gets a numeric suffix, unless it is one that specs share.
    # Rename a symbol that collides with the entry point, with all its uses.
    taken = symbols(container)
    if entry_point in taken:
        renamed = FreshNames(taken).take(inner_name(entry_point))
        rename_symbols(body(container), {entry_point: renamed})
    defined = [
        [name for name in table.symbols if name not in left_out]
        for table, left_out in zip(tables, omitted, strict=True)
    ]
    fresh = FreshNames(
        [*symbols(container), entry_point, *reserved], reserved=chain.from_iterable(defined)
    )
    renames: list[Mapping[str, str]] = []
    shared = shared_symbols(tables)
    block = container.regions[0].blocks[0]
    with container.context, mlir.Location.unknown(), mlir.InsertionPoint(block):
        for position, (table, own_names, left_out, owners) in enumerate(
            zip(tables, defined, omitted, shared, strict=True)
        ):
            renames.append(
                {
                    name: renames[owners[name]][name]
                    if owners.get(name, position) != position
                    else fresh.take(inner_name(name))
                    for name in own_names
                }
            )
            renaming = SymbolRenaming(renames[-1])
            renaming.follow_imports(table.imports)
            for name, operation in table.top:
                if name in left_out or owners.get(name, position) != position:
                    continue
                copy = operation.clone().operation
                renaming.rename_symbol(copy, name)
                shape = table.shapes.get(name)
                if renaming and shape is not None:
                    shape.rename_references(copy, renaming)
                elif renaming:
                    renaming.rename_references(copy)
    return renames


def shared_symbols(tables: Sequence[SequenceTable]) -> list[Mapping[str, int]]:
    """Return for each spec the symbols that it imports into programs, each with the position of the spec to take it from."""
    # That is the first spec that defines the symbol, and all that it refers to, in the same way. Other symbols are not
    # shared.
    flags = mlir.OperationEquivalenceFlags.IGNORE_LOCATIONS
    shared: list[Mapping[str, int]] = []
    for position, table in enumerate(tables):
        imports = table.imports
        roots = (path[0] for op in imports for path in references(op.attributes["symbol"]))
        owners: dict[str, int] = {}
        for name in _reached(table, roots):
            owners[name] = position
            used = {symbol: table.symbols[symbol] for symbol in _reached(table, [name])}
            for earlier in range(position):
                defined = tables[earlier].symbols
                if owners[name] == position and all(
                    symbol in defined
                    and not is_entry_point(op)
                    and op.is_structurally_equivalent(defined[symbol], flags)
                    for symbol, op in used.items()
                ):
                    owners[name] = shared[earlier].get(name, earlier)
        shared.append(owners)
    return shared


def _reached(table: SequenceTable, roots: Iterable[str]) -> list[str]:
    """Return the symbols that a spec defines among `roots` and all that they refer to."""
    defined = filter(table.symbols.get, roots)
    return list(postorder(defined, lambda name: filter(table.symbols.get, table.referenced(name))))
