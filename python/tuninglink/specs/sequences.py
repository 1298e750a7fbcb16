"""What the named sequences of a spec do: which they use, what they annotate, what they hand on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir
from iree.compiler.dialects import transform

from tuninglink.mlir import names
from tuninglink.mlir.symbols import symbols
from tuninglink.mlir.walk import body

if TYPE_CHECKING:
    Handle = mlir.Value[mlir.Type]

_ACTION_OPERATIONS = frozenset({names.ANNOTATE, names.INCLUDE, names.PARAM_CONSTANT, names.YIELD})
"""What an action may consist of if it cannot fail."""


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
    attribute = attributes[index]
    assert isinstance(attribute, mlir.DictAttr)
    return frozenset(attribute[position].name for position in range(len(attribute)))


def reference(attribute: mlir.Attribute) -> str:
    """Returns a symbol reference as one string, nested references joined with `::`."""
    if isinstance(attribute, mlir.FlatSymbolRefAttr):
        return attribute.value
    assert isinstance(attribute, mlir.SymbolRefAttr)
    return "::".join(attribute.value)


def signature(sequence: mlir.Operation) -> mlir.FunctionType:
    """Returns the type of a named sequence."""
    attribute = sequence.attributes["function_type"]
    assert isinstance(attribute, mlir.TypeAttr)
    assert isinstance(attribute.value, mlir.FunctionType)
    return attribute.value


class SequenceTable:
    """The named sequences that can be referred to from inside `module`, and what they do.

    Every answer is computed once for each sequence, however many entries share it.
    """

    def __init__(self, module: mlir.Operation) -> None:
        self._module = module
        self._nested: dict[str, SequenceTable] = {}
        self._annotations: dict[str, tuple[Annotation, ...] | None] = {}
        self._argument_yielded: dict[tuple[str, int], int | None] = {}

    @cached_property
    def _symbols(self) -> dict[str, mlir.Operation]:
        return symbols(self._module)

    def symbol(self, name: str) -> mlir.Operation | None:
        """Returns what defines a symbol directly in the module, a sequence or not; None if nothing does."""
        return self._symbols.get(name)

    def resolve(self, path: str) -> tuple[SequenceTable, mlir.Operation] | None:
        """Returns the sequence at `path` with the table of the module it stands in, or None."""
        root, _, rest = path.partition("::")
        symbol = self._symbols.get(root)
        if symbol is None:
            return None
        if not rest:
            return (self, symbol) if symbol.name == names.NAMED_SEQUENCE else None
        if symbol.name != names.MODULE:
            return None
        return self._nested.setdefault(root, SequenceTable(symbol)).resolve(rest)

    def lookup(self, path: str) -> mlir.Operation | None:
        """Returns the sequence at `path`, or None if there is none."""
        found = self.resolve(path)
        return found[1] if found else None

    def pairs(self, foreach_match: mlir.Operation) -> list[tuple[str, str]]:
        """Returns the `(matcher, action)` pairs of a `foreach_match`, in order."""
        matchers, actions = (foreach_match.attributes[key] for key in ("matchers", "actions"))
        assert isinstance(matchers, mlir.ArrayAttr)
        assert isinstance(actions, mlir.ArrayAttr)
        return list(zip(map(reference, matchers), map(reference, actions), strict=True))

    @cached_property
    def included(self) -> frozenset[str]:
        """Everything that an `include` anywhere in the module refers to."""
        targets: set[str] = set()

        def keep(operation: mlir.Operation) -> mlir.WalkResult:
            targets.add(reference(operation.attributes["target"]))
            return mlir.WalkResult.ADVANCE

        # The bindings pass over other operations faster than a visitor can.
        self._module.walk(keep, mlir.WalkOrder.PRE_ORDER, transform.IncludeOp)
        return frozenset(targets)

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
            # A sequence that includes itself is not a list of annotations.
            self._annotations[path] = None
            found = self.resolve(path)
            if found:
                table, sequence = found
                self._annotations[path] = table.read_annotations(sequence)
        return self._annotations[path]

    def read_annotations(self, sequence: mlir.Operation) -> tuple[Annotation, ...] | None:
        """Does the work of `annotations` for a sequence of this table's module."""
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
        return tuple(result)

    def _included_annotations(
        self, include: mlir.Operation, constants: dict[Handle, mlir.Attribute]
    ) -> list[Annotation] | None:
        annotations = self.annotations(reference(include.attributes["target"]))
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
        key = (path, position)
        if key not in self._argument_yielded:
            self._argument_yielded[key] = None
            found = self.resolve(path)
            if found:
                table, sequence = found
                yielded = sequence.regions[0].blocks[0].operations[-1].operands
                self._argument_yielded[key] = table.argument_behind(yielded[position])
        return self._argument_yielded[key]

    def argument_behind(self, value: Handle) -> int | None:
        """Returns which argument of its sequence `value` is, through includes that hand it on; or None."""
        if isinstance(value, mlir.BlockArgument):
            return value.arg_number
        assert isinstance(value, mlir.OpResult)
        include = value.owner
        if include.name != names.INCLUDE:
            return None
        target = reference(include.attributes["target"])
        argument = self.yields_argument(target, value.result_number)
        return None if argument is None else self.argument_behind(include.operands[argument])


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
