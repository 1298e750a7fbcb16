"""What the named sequences of a spec do: which they use, what they annotate, what they hand on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.attributes import entries_of
from tuninglink.mlir.symbols import join_path, split_path, symbols
from tuninglink.mlir.walk import body
from tuninglink.specs.pairs import pairs_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    Handle = mlir.Value[mlir.Type]

_ACTION_OPERATIONS = frozenset({names.ANNOTATE, names.INCLUDE, names.PARAM_CONSTANT, names.YIELD})
"""What an action may consist of if it cannot fail."""


_BLIND = frozenset(
    {
        names.ANNOTATE,
        names.FOREACH_MATCH,
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
        names.NAMED_SEQUENCE,
        names.NUM_ASSOCIATIONS,
        names.PARAM_CONSTANT,
        names.PRINT,
        names.YIELD,
        "transform.get_type",
        "transform.match.operation_empty",
    }
)
"""Ops that look at no attribute of an op that could be configured, and give no handle to another op."""

_SHOWING = frozenset({names.MATCH_DAG, names.MATCH_REGIONS})
"""Ops in whose regions stand ops of a program."""


@dataclass(frozen=True)
class Survey:
    """What stands in a module.

    Attributes:
        included: everything that an `include` refers to.
        including: the ops directly around an `include`, such as sequences.
        looking: the transform ops that may look at configurations, or at other ops than the one in question.
    """

    included: frozenset[str]
    including: frozenset[mlir.Operation]
    looking: tuple[mlir.Operation, ...]


@dataclass(frozen=True)
class Annotation:
    """An attribute that a sequence sets on an operation.

    Attributes:
        operand: which argument of the sequence the operation is.
        name: the attribute's name.
        constant: the attribute's value, where the sequence itself holds it; a unit attribute without value.
        parameter: which argument of the sequence is the value, else None.
    """

    operand: int
    name: str
    constant: mlir.Attribute | None
    parameter: int | None


def is_any_op(kind: mlir.Type) -> bool:
    """Tells whether `kind` is `!transform.any_op`, a handle to operations of any name."""
    return str(kind) == "!transform.any_op"


def argument_attributes(sequence: mlir.Operation, index: int) -> frozenset[str]:
    """Returns the names of the attributes on one argument of `sequence`."""
    attributes = sequence.attributes.get("arg_attrs")
    if not isinstance(attributes, mlir.ArrayAttr):
        return frozenset()
    return frozenset(entries_of(attributes[index]))


def reference(attribute: mlir.Attribute) -> str:
    """Returns a symbol reference as one string, as `join_path` writes it."""
    if isinstance(attribute, mlir.FlatSymbolRefAttr):
        return join_path([attribute.value])
    assert isinstance(attribute, mlir.SymbolRefAttr)
    return join_path(attribute.value)


def signature(sequence: mlir.Operation) -> mlir.FunctionType:
    """Returns the type of a named sequence."""
    attribute = sequence.attributes["function_type"]
    assert isinstance(attribute, mlir.TypeAttr)
    assert isinstance(attribute.value, mlir.FunctionType)
    return attribute.value


class SequenceTable:
    """The named sequences that can be referred to from inside `module`, and what they do.

    Every answer is computed once for each sequence, however many entries share it.

    Args:
        module: a `builtin.module`.

    Attributes:
        module: the module.
    """

    def __init__(self, module: mlir.Operation) -> None:
        self.module = module
        self._nested: dict[str, SequenceTable] = {}
        self._annotations: dict[str, tuple[Annotation, ...] | None] = {}
        self._yielded: dict[str, tuple[int | None, ...]] = {}

    @cached_property
    def _symbols(self) -> dict[str, mlir.Operation]:
        return symbols(self.module)

    def symbol(self, name: str) -> mlir.Operation | None:
        """Returns what defines a symbol directly in the module, a sequence or not; None if nothing does."""
        return self._symbols.get(name)

    def resolve(self, path: str) -> tuple[SequenceTable, mlir.Operation] | None:
        """Returns the sequence at `path` with the table of the module it stands in, or None."""
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
        """Returns the sequence at `path`, or None if there is none."""
        found = self.resolve(path)
        return found[1] if found else None

    def pairs(self, foreach_match: mlir.Operation) -> list[tuple[str, str]]:
        """Returns the `(matcher, action)` pairs of a `foreach_match`, in order."""
        return [
            (reference(matcher), reference(action)) for matcher, action in pairs_of(foreach_match)
        ]

    @property
    def included(self) -> frozenset[str]:
        """Everything that an `include` anywhere in the module refers to."""
        return self.survey.included

    @cached_property
    def survey(self) -> Survey:
        """What stands in the module, found in one walk."""
        targets: set[str] = set()
        including: set[mlir.Operation] = set()
        looking: list[mlir.Operation] = []

        def keep(operation: mlir.Operation) -> mlir.WalkResult:
            name = operation.name
            if name in _BLIND or not name.startswith("transform."):
                return mlir.WalkResult.ADVANCE
            looking.append(operation)
            if name == names.INCLUDE:
                targets.add(reference(operation.attributes["target"]))
                parent = operation.parent
                assert parent is not None
                including.add(parent.operation)
            return mlir.WalkResult.SKIP if name in _SHOWING else mlir.WalkResult.ADVANCE

        self.module.walk(keep, mlir.WalkOrder.PRE_ORDER)
        return Survey(frozenset(targets), frozenset(including), tuple(looking))

    def consumes_argument(self, sequence: mlir.Operation, index: int) -> bool:
        """Tells whether the body of `sequence` invalidates the handle that it gets as argument `index`."""
        argument = sequence.regions[0].blocks[0].arguments[index]
        return any(self.consumes(operation, argument) for operation in body(sequence))

    def consumes(self, operation: mlir.Operation, handle: Handle) -> bool:
        """Tells whether `operation` invalidates `handle`."""
        if handle not in list(operation.operands):
            return False
        with operation.context:
            effects = mlir.MemoryEffectsOpInterface(operation).get_effects()
        return any(e.effect == mlir.MemoryEffect.Free and e.value == handle for e in effects)

    def annotations(self, path: str) -> tuple[Annotation, ...] | None:
        """Returns what the sequence at `path` annotates if it does nothing else, so cannot fail; or None."""
        if path not in self._annotations:
            for table, inner in self._included_first(path):
                if inner not in table._annotations:  # noqa: SLF001
                    table._annotations[inner] = table._find_annotations(inner)  # noqa: SLF001
        return self._annotations[path]

    def _find_annotations(self, path: str) -> tuple[Annotation, ...] | None:
        found = self.resolve(path)
        return found[0].read_annotations(found[1]) if found else None

    def _included_first(self, path: str) -> Iterator[tuple[SequenceTable, str]]:
        """Yields the sequence at `path` and all that it includes, each behind what it includes itself.

        Of sequences that include each other, none comes behind all that it includes.
        """
        done: set[tuple[mlir.Operation, str]] = set()
        entered: set[tuple[mlir.Operation, str]] = set()
        waiting: list[tuple[SequenceTable, str]] = [(self, path)]
        if not self.survey.including:
            yield self, path
            return
        while waiting:
            table, name = waiting[-1]
            key = table.module, name
            if key in entered:
                waiting.pop()
                if key not in done:
                    done.add(key)
                    yield table, name
                continue
            entered.add(key)
            found = table.resolve(name)
            if found is None:
                continue
            inner, sequence = found
            for operation in body(sequence):
                if operation.name == names.INCLUDE:
                    target = reference(operation.attributes["target"])
                    if (inner.module, target) not in entered:
                        waiting.append((inner, target))

    def read_annotations(self, sequence: mlir.Operation) -> tuple[Annotation, ...] | None:
        """Does the work of `annotations` for a sequence of this table's module whose includes are known."""
        constants: dict[Handle, mlir.Attribute] = {}
        result: list[Annotation] = []
        for operation in body(sequence):
            if operation.name not in _ACTION_OPERATIONS:
                return None
            if operation.name == names.PARAM_CONSTANT:
                constants[operation.results[0]] = operation.attributes["value"]
            elif operation.name == names.ANNOTATE:
                result.append(_annotation(operation, constants))
            elif operation.name == names.INCLUDE:
                included = self._included_annotations(operation, constants)
                if included is None:
                    return None
                result.extend(included)
        # Of what is said twice, the last counts.
        return tuple(reversed(dict.fromkeys(reversed(result))))

    def _included_annotations(
        self, include: mlir.Operation, constants: dict[Handle, mlir.Attribute]
    ) -> list[Annotation] | None:
        # A sequence that includes itself is not a list of annotations.
        annotations = self._annotations.get(reference(include.attributes["target"]))
        if annotations is None or include.results:
            return None
        operands = list(include.operands)
        result = []
        for each in annotations:
            constant, parameter = each.constant, None
            if each.parameter is not None:
                constant, parameter = _source(operands[each.parameter], constants)
            target = _argument_number(operands[each.operand])
            result.append(Annotation(target, each.name, constant, parameter))
        return result

    def yields_argument(self, path: str, position: int) -> int | None:
        """Returns which argument of the sequence at `path` it yields at `position`, unchanged.

        None if what it yields there is, or may be, something else.
        """
        if path not in self._yielded:
            for table, inner in self._included_first(path):
                if inner not in table._yielded:  # noqa: SLF001
                    table._yielded[inner] = table._find_yielded(inner)  # noqa: SLF001
        yielded = self._yielded[path]
        return yielded[position] if position < len(yielded) else None

    def _find_yielded(self, path: str) -> tuple[int | None, ...]:
        found = self.resolve(path)
        if not found:
            return ()
        table, sequence = found
        operands = sequence.regions[0].blocks[0].operations[-1].operands
        return tuple(map(table._argument_behind, operands))  # noqa: SLF001

    def _argument_behind(self, value: Handle) -> int | None:
        """Returns which argument of its sequence `value` is, through includes, which are known, that hand it on."""
        while not isinstance(value, mlir.BlockArgument):
            assert isinstance(value, mlir.OpResult)
            include = value.owner
            if include.name != names.INCLUDE:
                return None
            yielded = self._yielded.get(reference(include.attributes["target"]), ())
            number = value.result_number
            argument = yielded[number] if number < len(yielded) else None
            if argument is None:
                return None
            value = include.operands[argument]
        return value.arg_number


def _annotation(operation: mlir.Operation, constants: dict[Handle, mlir.Attribute]) -> Annotation:
    name = operation.attributes["name"]
    assert isinstance(name, mlir.StringAttr)
    target, *values = operation.operands
    if not values:
        unit = mlir.UnitAttr.get(operation.context)
        return Annotation(_argument_number(target), name.value, unit, None)
    constant, parameter = _source(values[0], constants)
    return Annotation(_argument_number(target), name.value, constant, parameter)


def _source(
    value: Handle, constants: dict[Handle, mlir.Attribute]
) -> tuple[mlir.Attribute | None, int | None]:
    if isinstance(value, mlir.BlockArgument):
        return None, value.arg_number
    return constants[value], None


def _argument_number(value: Handle) -> int:
    assert isinstance(value, mlir.BlockArgument), "only arguments are handles in such a sequence"
    return value.arg_number
