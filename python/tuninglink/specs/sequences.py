"""Facts about the named sequences of a spec: the sequences that they use, their annotations, results and side effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.attributes import entries_of
from tuninglink.mlir.symbols import join_path, reference, references_in, split_path
from tuninglink.mlir.walk import body, collect, postorder
from tuninglink.specs.module_scan import ModuleScan
from tuninglink.specs.side_effects import fails, only_reads
from tuninglink.specs.transform_ops import Handle, fails_as_included, pairs_of

_Resolved = tuple["SequenceTable", mlir.Operation]

_Source = mlir.Operation | int | None
"""The source of a yielded value: a constant, the argument with this number, or any other value."""

Found = TypeVar("Found")

_ACTION_OPERATIONS = frozenset({names.ANNOTATE, names.INCLUDE, names.PARAM_CONSTANT, names.YIELD})
"""The operations of actions that only annotate."""

_Values = dict[mlir.Operation, dict[int, mlir.Operation]]
"""For each sequence, the arguments that an annotation takes as its value, and the annotation."""


@dataclass(frozen=True)
class Annotation:
    """An attribute that a sequence sets on an op.

    Attributes:
        operand: the number of the sequence argument that holds the op.
        name: the attribute's name.
        value: the attribute's value if the sequence itself holds it, a unit attribute for an annotation without value;
            otherwise the number of the sequence argument that holds the value.
    """

    operand: int
    name: str
    value: mlir.Attribute | int


def argument_attributes(sequence: mlir.Operation, index: int) -> frozenset[str]:
    """Return the names of the attributes on one argument of `sequence`."""
    attributes = sequence.attributes.get("arg_attrs")
    if not isinstance(attributes, mlir.ArrayAttr):
        return frozenset()
    return frozenset(entries_of(attributes[index]))


def consumes_argument(sequence: mlir.Operation, index: int) -> bool:
    """Return whether the body of `sequence` invalidates the handle in argument `index`."""
    argument = sequence.regions[0].blocks[0].arguments[index]
    return any(consumes(operation, argument) for operation in body(sequence))


def consumes(operation: mlir.Operation, handle: Handle) -> bool:
    """Return whether `operation` invalidates `handle`."""
    if handle not in list(operation.operands):
        return False
    with operation.context:
        effects = mlir.MemoryEffectsOpInterface(operation).get_effects()
    return any(e.effect == mlir.MemoryEffect.Free and e.value == handle for e in effects)


class SequenceTable:
    """The named sequences that can be referred to from inside `module`, and facts about them.

    Every fact is computed once for each sequence, even if many entries share the sequence.

    Args:
        module: a `builtin.module`.

    Attributes:
        module: the module.
    """

    def __init__(self, module: mlir.Operation) -> None:
        self.module = module
        self._nested: dict[str, SequenceTable] = {}
        self._referenced: dict[str, tuple[str, ...]] = {}
        self._annotations: dict[mlir.Operation, tuple[Annotation, ...] | None] = {}
        self._yielded: dict[mlir.Operation, tuple[_Source, ...]] = {}
        self._may_change: dict[str, bool] = {}

    def symbol(self, name: str) -> mlir.Operation | None:
        """Return the op, of any kind, that defines a symbol directly in the module; None if the symbol is undefined."""
        return self.scan.symbols.get(name)

    def referenced(self, name: str) -> tuple[str, ...]:
        """Return the symbols of the module that the definition of a symbol refers to, with repetitions."""
        if name not in self._referenced:
            symbol, shape = self.scan.symbols[name], self.scan.shapes.get(name)
            references = references_in(symbol) if shape is None else shape.references(symbol)
            self._referenced[name] = tuple(path[0] for path in references)
        return self._referenced[name]

    def resolve(self, path: str) -> _Resolved | None:
        """Return the sequence at `path` with the table of its module, or None."""
        table = self
        *scope, name = split_path(path) if ":" in path or '"' in path else (path,)
        for each in scope:
            module = table.symbol(each)
            if module is None or module.name != names.MODULE:
                return None
            table = table._nested.setdefault(each, SequenceTable(module))
        symbol = table.symbol(name)
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

    @cached_property
    def scan(self) -> ModuleScan:
        """The scan of the module for linking."""
        return ModuleScan(self.module)

    def closure(self, *paths: str) -> Iterator[_Resolved]:
        """Yield the sequences at `paths` and those that they run, by includes and as actions.

        Each sequence is paired with the table of its module, and follows the sequences that it runs, except in cycles.
        """
        return postorder(filter(None, map(self.resolve, paths)), _callees)

    def run_by(self, *paths: str) -> Iterator[_Resolved]:
        """Yield the sequences at `paths` and all sequences that they run, including matchers, as `closure` does."""
        return postorder(filter(None, map(self.resolve, paths)), _referenced)

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
        table, sequence = resolved
        values: _Values = {}
        return any(True for _ in _failures(table, sequence, values)) or bool(values[sequence])

    def _any(self, path: str, holds: Callable[[mlir.Operation], bool]) -> bool:
        """Return whether `holds` is true, or unknown, for an op that the sequence at `path` runs."""
        run = list(self.closure(path))
        return not run or any(
            table.callee(op) is None if op.name == names.INCLUDE else holds(op)
            for table, sequence in run
            for op in body(sequence)
        )

    def failing_ops(self, sequence: mlir.Operation) -> Iterator[mlir.Operation]:
        """Yield the ops of a sequence, and of those that it runs, whose failure makes the sequence fail."""
        yield from _failures(self, sequence, {})

    def distinct(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return one pair for each combination of matcher shape and action; others differ only in parameters."""
        found: dict[object, tuple[str, str]] = {}
        for matcher, action in pairs:
            # A path with a colon is nested or quoted, and not a symbol of the module.
            shape = None if ":" in matcher else self.scan.shapes.get(matcher)
            found.setdefault((shape or matcher, action), (matcher, action))
        return list(found.values())

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

            def unread(caller: _Resolved) -> Iterable[_Resolved]:
                return () if caller[1] in results else _callees(caller)

            for table, sequence in postorder([result], unread) if self.scan.including else [result]:
                if sequence not in results:
                    results[sequence] = read(table, sequence, results)
        return results[result[1]]


def _failures(
    table: SequenceTable, sequence: mlir.Operation, values: _Values
) -> Iterator[mlir.Operation]:
    """Yield the failing ops; record for each sequence the arguments that must be one value for an annotation."""
    for inner, runs in postorder([(table, sequence)], partial(_callees, suppressed=False)):
        yield from (op for op in body(runs) if op.name != names.INCLUDE and fails(op))
        arguments = values[runs] = {}
        for value, annotation in _annotated_values(inner, runs, values):
            if isinstance(value, mlir.BlockArgument) and value.owner.owner == runs:
                arguments[value.arg_number] = annotation
            elif value is None or not _is_one_value(inner, value):
                yield annotation


def _annotated_values(
    table: SequenceTable, sequence: mlir.Operation, values: _Values
) -> Iterator[tuple[Handle | None, mlir.Operation]]:
    """Yield the values in a sequence that annotations take, there or in what it runs; None for an unknown one."""

    def of(resolved: _Resolved | None) -> Iterable[tuple[int, mlir.Operation]]:
        return values.get(resolved[1], {}).items() if resolved else ()

    for operation in collect(sequence, names.ANNOTATE, names.INCLUDE, names.FOREACH_MATCH):
        if operation.name == names.ANNOTATE:
            yield from ((value, operation) for value in list(operation.operands)[1:])
        elif operation.name == names.INCLUDE:
            for number, annotation in of(table.callee(operation)):
                yield operation.operands[number], annotation
        else:
            for matcher, action in table.distinct(table.pairs(operation)):
                for number, annotation in of(table.resolve(action)):
                    yielded = table.yielded(matcher, number)
                    if not isinstance(yielded, mlir.Attribute):
                        yield None if yielded is None else operation.operands[yielded], annotation


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


def _callees(caller: _Resolved, *, suppressed: bool = True) -> Iterator[_Resolved]:
    """Yield the included sequences, or only the ones whose failures propagate, and the actions of the lists."""
    table, sequence = caller
    for operation in collect(sequence, names.INCLUDE, names.FOREACH_MATCH):
        if operation.name == names.FOREACH_MATCH:
            actions = dict.fromkeys(action for _, action in table.pairs(operation))
            yield from filter(None, map(table.resolve, actions))
        elif suppressed or fails_as_included(operation):
            yield from filter(None, [table.callee(operation)])


def _referenced(caller: _Resolved) -> Iterator[_Resolved]:
    table, sequence = caller
    return filter(None, (table.resolve(join_path(path)) for path in references_in(sequence)))


def _read_yielded(
    table: SequenceTable,
    sequence: mlir.Operation,
    results: Mapping[mlir.Operation, tuple[_Source, ...]],
) -> tuple[_Source, ...]:
    """Return the values that a sequence yields, given the values that its included sequences yield."""

    def source(value: Handle) -> _Source:
        if isinstance(value, mlir.BlockArgument):
            return value.arg_number
        assert isinstance(value, mlir.OpResult)
        owner = value.owner.operation
        if owner.name == names.PARAM_CONSTANT:
            return owner
        callee = table.callee(owner) if owner.name == names.INCLUDE else None
        yielded = results.get(callee[1], ()) if callee else ()
        inner = yielded[value.result_number] if value.result_number < len(yielded) else None
        return source(owner.operands[inner]) if isinstance(inner, int) else inner

    blocks = list(sequence.regions[0].blocks)
    return tuple(map(source, blocks[0].operations[-1].operands)) if blocks else ()


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
        operands = [_argument_or_constant(operand) for operand in operation.operands]
        for annotation in inner:
            target, value = operands[annotation.operand], annotation.value
            assert isinstance(target, int)
            value = operands[value] if isinstance(value, int) else value
            annotations.append(Annotation(target, annotation.name, value))
    # The last annotation of an attribute wins.
    return tuple(reversed(dict.fromkeys(reversed(annotations))))


def _argument_or_constant(handle: Handle) -> mlir.Attribute | int:
    """Return the number of an argument, or the value of a constant."""
    if isinstance(handle, mlir.BlockArgument):
        return handle.arg_number
    assert isinstance(handle, mlir.OpResult)
    return handle.owner.attributes["value"]
