"""The conversion of the compiler's constraints, `iree_codegen.smt.constraints`, to constraint sets, op by op."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.iree.lowering_configs import (
    PIPELINE_OPTIONS,
    REDUCTION,
    SUBGROUP,
    SUBGROUP_BASIS,
    WORKGROUP,
    WORKGROUP_SIZE,
)
from tuninglink.mlir import names
from tuninglink.mlir.attributes import integer_value
from tuninglink.mlir.walk import body
from tuninglink.solver import Grade
from tuninglink.solver.answers import UndecidedError
from tuninglink.solver.expressions import Expression, all_of, any_of, negation, number, select
from tuninglink.spaces.compiler_constraints import FixedSize, constant_size
from tuninglink.spaces.configuration import dictionary_of
from tuninglink.spaces.knob_templates import KnobTemplate, template_slot
from tuninglink.spaces.knobs import IntegerKnob, Knob, OneOfKnob
from tuninglink.spaces.set_builder import ConstraintSetBuilder
from tuninglink.spaces.slots import DictionarySlot, option_slots

if TYPE_CHECKING:
    from tuninglink.spaces.constraint_set import ConstraintSet
    from tuninglink.spaces.workload import Problem

    Value = mlir.Value[Any]

PROVIDER = "the compiler"
"""The provider of the sets that this module reads."""


def read_constraints(
    operation: mlir.Operation,
    template: KnobTemplate,
    problem: Problem,
    dimensions: Sequence[FixedSize | None] | None = None,
) -> ConstraintSet:
    """Return the constraint set for a constraints op.

    Every assertion of the compiler becomes one of the set, with its message. Placeholders are filled when a violation
    is reported.

    Args:
        operation: an `iree_codegen.smt.constraints`.
        template: its template.
        problem: the problem to configure.
        dimensions: the sizes of the dimensions, None for an unknown one, which becomes an auxiliary unknown; by
            default the sizes in the operands of the op.

    Raises:
        UndecidedError: the op contains an unsupported operation.
    """
    pipeline = str(operation.attributes["pipeline"])
    if dimensions is None:
        sizes = map(constant_size, operation.operands)
        dimensions = [None if size is None else FixedSize(size) for size in sizes]
    reader = _Reader(operation, template, pipeline, dimensions)
    return reader.read().build(problem, pipeline, PROVIDER)


def knob_template(operation: mlir.Operation) -> KnobTemplate:
    """Return the template of the configurations of a constraints op."""
    entries = template_slot(operation.attributes["knobs"], knob_names(operation))
    assert isinstance(entries, DictionarySlot)
    return KnobTemplate(operation.attributes["pipeline"], entries)


_CONTAINERS: Final = frozenset(
    {PIPELINE_OPTIONS, names.DECOMPOSITION_CONFIG, names.LOWERING_CONFIG}
)


def knob_names(operation: mlir.Operation) -> dict[str, str]:
    """Return the names of the knobs of a constraints op, by the names that the compiler gives them.

    A knob is named for its place in a configuration: `wg_0` is `workgroup[0]`, and `sg_m_cnt` is `subgroup_basis[0]`.
    """
    result: dict[str, str] = {}

    def visit(attribute: mlir.Attribute, path: str) -> None:
        if isinstance(attribute, (iree_codegen.IntKnobAttr, iree_codegen.OneOfKnobAttr)):
            # The counts of a basis precede the loops that they are for.
            result.setdefault(attribute.name, path.replace("_basis[0]", "_basis"))
        elif isinstance(attribute, mlir.ArrayAttr):
            for position, element in enumerate(attribute):
                visit(element, f"{path}[{position}]")
        else:
            for name, entry in (dictionary_of(attribute) or {}).items():
                prefix = f"{path}." if path else ""
                visit(entry, path if name in _CONTAINERS else f"{prefix}{name}")

    visit(operation.attributes["knobs"], "")
    if f"{WORKGROUP_SIZE}[1]" in result.values():
        return result
    # A workgroup of one dimension has a knob for all its threads.
    flat = {f"{WORKGROUP_SIZE}[0]": WORKGROUP_SIZE}
    return {former: flat.get(place, place) for former, place in result.items()}


def dimension_name(index: int) -> str:
    """Return the name of the unknown for the size of a dimension."""
    return f"dim_{index}'"


class _Reader:
    def __init__(
        self,
        operation: mlir.Operation,
        template: KnobTemplate,
        pipeline: str,
        dimensions: Sequence[FixedSize | None],
    ) -> None:
        self._operation = operation
        self._template = template
        self._origin = f"{PROVIDER}'s constraints of {pipeline}"
        self._dimensions = dimensions
        self._builder = ConstraintSetBuilder()
        self._values: dict[Value, Expression] = {}
        self._knobs: dict[str, Expression] = {}
        self._names = knob_names(operation)

    def read(self) -> ConstraintSetBuilder:
        """Read the body."""
        options = {
            slot.name: tuple(map(str, slot.options))
            for slot in option_slots(self._template.entries)
        }
        self._read_dimensions()
        for operation in body(self._operation):
            kind = operation.name
            if kind == names.CONSTRAINT_ASSERT:
                self._assert(operation)
            elif kind == names.CONSTRAINT_KNOB:
                name = _string(operation.attributes["name"])
                name = self._names.get(name, name)
                self._set(operation, self._knob(name, options.get(name)))
            elif kind == "smt.declare_fun":
                prefix = operation.attributes.get("namePrefix")
                name = _string(prefix) if prefix is not None else "unknown"
                self._set(operation, self._builder.auxiliary(f"{name}'"))
            else:
                self._compute(operation, kind)
        return self._builder

    def _read_dimensions(self) -> None:
        arguments = self._operation.regions[0].blocks[0].arguments
        for index, (argument, dimension) in enumerate(
            zip(arguments, self._dimensions, strict=True)
        ):
            if dimension is None:
                self._values[argument] = self._builder.auxiliary(dimension_name(index))
                continue
            value = self._values[argument] = number(dimension.size)
            if dimension.message:
                self._require(value == dimension.size, dimension.message, value)

    def _knob(self, name: str, options: tuple[str, ...] | None) -> Expression:
        if name not in self._knobs:
            knob: Knob = IntegerKnob(name) if options is None else OneOfKnob(name, options)
            self._knobs[name] = self._builder.knob(knob, Grade.COMPILER)
        return self._knobs[name]

    def _assert(self, operation: mlir.Operation) -> None:
        condition, *values = [self._values[operand] for operand in operation.operands]
        message = _WORD.sub(self._named, _string(operation.attributes["msg"]))
        self._require(condition, message, *values)

    def _named(self, word: re.Match[str]) -> str:
        """Return a word of a message; a knob by its name, and what is like knobs, such as `wg_m`, in the same form."""
        return self._names.get(word[0]) or _OF_SIDES.sub(
            lambda match: f"{_ENTRIES[match[1] + match[3]]}[{match[2]}]", word[0]
        )

    def _require(self, condition: Expression, message: str, *values: Expression) -> None:
        self._builder.require(
            condition, message, *values, provenance=self._origin, grade=Grade.COMPILER
        )

    def _compute(self, operation: mlir.Operation, kind: str) -> None:
        compute = _COMPUTATIONS.get(kind)
        if compute is None:
            raise UndecidedError(f"the compiler's constraints use '{kind}'")
        operands = [self._values[operand] for operand in operation.operands]
        self._set(operation, compute(self, operation, operands))

    def _set(self, operation: Any, value: Expression) -> None:
        self._values[operation.result] = value

    # --- One method for each operation that needs more than its operands -----------------------------------

    def _integer(self, operation: mlir.Operation, _: Sequence[Any]) -> Expression:
        return number(integer_value(operation.attributes["value"]))

    def _boolean(self, operation: mlir.Operation, _: Sequence[Any]) -> Expression:
        value = operation.attributes["value"]
        assert isinstance(value, mlir.BoolAttr)
        return number(value.value)

    def _compare(self, operation: mlir.Operation, operands: Sequence[Any]) -> Expression:
        return _COMPARISONS[integer_value(operation.attributes["pred"])](*operands)

    def _look_up(self, operation: mlir.Operation, operands: Sequence[Any]) -> Expression:
        keys, values = (_integers(operation.attributes[name]) for name in ("keys", "values"))
        # The compiler's own export takes the last value for an index that is not a key.
        result = number(values[-1])
        for key, value in reversed([*zip(keys, values, strict=True)][:-1]):
            result = select(operands[0] == key, number(value), result)
        return result


def _string(attribute: mlir.Attribute) -> str:
    assert isinstance(attribute, mlir.StringAttr)
    return attribute.value


def _integers(attribute: mlir.Attribute) -> list[int]:
    assert isinstance(attribute, mlir.DenseI64ArrayAttr)
    return list(attribute)


def _sum(terms: Sequence[Any]) -> Any:
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


def _product(factors: Sequence[Any]) -> Any:
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


def _all_equal(operands: Sequence[Any]) -> Any:
    pairs = [a == b for a, b in pairwise(operands)]
    return pairs[0] if len(pairs) == 1 else all_of(*pairs)


def _all_different(operands: Sequence[Any]) -> Any:
    return all_of(*(a != b for a, b in combinations(operands, 2)))


_WORD: Final = re.compile(r"\b[A-Za-z]\w*\b")
_OF_SIDES: Final = re.compile(r"(wg|sg|red)_([a-z])(|(?<=sg_.)_cnt)$")
_ENTRIES: Final = {"wg": WORKGROUP, "sg": SUBGROUP, "sg_cnt": SUBGROUP_BASIS, "red": REDUCTION}
"""The entries of a configuration, by the parts of the compiler's names before and after the side of a product."""

_COMPARISONS: Sequence[Callable[[Any, Any], Expression]] = (
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
)
"""The comparisons, in the order of the dialect's predicates."""

_COMPUTATIONS: Mapping[str, Callable[[_Reader, mlir.Operation, Sequence[Any]], Any]] = {
    "smt.int.constant": _Reader._integer,  # noqa: SLF001 - a table of the class
    "smt.constant": _Reader._boolean,  # noqa: SLF001
    "smt.int.cmp": _Reader._compare,  # noqa: SLF001
    names.CONSTRAINT_LOOKUP: _Reader._look_up,  # noqa: SLF001
    "smt.int.add": lambda _, __, operands: _sum(operands),
    "smt.int.mul": lambda _, __, operands: _product(operands),
    "smt.int.sub": lambda _, __, operands: operands[0] - operands[1],
    "smt.int.div": lambda _, __, operands: operands[0] / operands[1],
    "smt.int.mod": lambda _, __, operands: operands[0] % operands[1],
    "smt.int.abs": lambda _, __, operands: select(operands[0] >= 0, operands[0], -operands[0]),
    "smt.ite": lambda _, __, operands: select(*operands),
    "smt.eq": lambda _, __, operands: _all_equal(operands),
    "smt.distinct": lambda _, __, operands: _all_different(operands),
    "smt.and": lambda _, __, operands: all_of(*operands),
    "smt.or": lambda _, __, operands: any_of(*operands),
    "smt.not": lambda _, __, operands: negation(operands[0]),
    "smt.implies": lambda _, __, operands: any_of(negation(operands[0]), operands[1]),
    "smt.xor": lambda _, __, operands: operands[0] != operands[1],
}
