"""Elementwise ops after a product as data, from which matchers and the code of kernels are made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree import StructuredOp
from tuninglink.kernels.producers import PLAIN, loops_read
from tuninglink.mlir import defining_op, entries_of, names, thread_context
from tuninglink.payloads import Value, build, computed
from tuninglink.replacing import NoFormError, Spelled, maps_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_COMPARISONS: Final = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<="} | {13: "!="}
"""The predicates of `arith.cmpf` that are false for NaN, and the one that is true."""

_SIGNED: Final = dict(enumerate(("==", "!=", "<", "<=", ">", ">=")))
"""The predicates of `arith.cmpi` without those of unsigned numbers."""

_NEGATED: Final = {9: "<=", 10: "<", 11: ">=", 12: ">"}
"""The predicates that are true for NaN: the negation of the other comparison."""

_TRITON: Final = {
    "arith.addf": "{} + {}",
    "arith.subf": "{} - {}",
    "arith.mulf": "{} * {}",
    "arith.divf": "{} / {}",
    "arith.negf": "-{}",
    "arith.maximumf": "tl.maximum({}, {}, propagate_nan=tl.PropagateNan.ALL)",
    "arith.minimumf": "tl.minimum({}, {}, propagate_nan=tl.PropagateNan.ALL)",
    "arith.maxnumf": "tl.maximum({}, {})",
    "arith.minnumf": "tl.minimum({}, {})",
    "arith.addi": "{} + {}",
    "arith.subi": "{} - {}",
    "arith.muli": "{} * {}",
    "arith.maxsi": "tl.maximum({}, {})",
    "arith.minsi": "tl.minimum({}, {})",
    "arith.select": "tl.where({}, {}, {})",
    "arith.fptoui": "{}.to(tl.int32).to(tl.int8)",
    "math.absf": "tl.abs({})",
    "math.exp": "tl.exp({}.to(tl.float32))",
    "math.exp2": "tl.exp2({}.to(tl.float32))",
    "math.log": "tl.log({}.to(tl.float32))",
    "math.sqrt": "tl.sqrt({}.to(tl.float32))",
    "math.rsqrt": "tl.rsqrt({}.to(tl.float32))",
    "math.erf": "tl.erf({}.to(tl.float32))",
    "math.tanh": "2 * tl.sigmoid(2 * {}.to(tl.float32)) - 1",
    # The sum is an integer, and has the sign of a number that is rounded to zero.
    "math.roundeven": "tl.where((tl.abs({0}) < 8388608) & ({0} != 0), tl.where({0} < 0, -1.0, 1.0)"
    " * (tl.abs({0}.to(tl.float32)) + 8388608 - 8388608), {0})",
}
"""The ops of bodies, and their code."""

_CASTS: Final = {
    **dict.fromkeys(("arith.extf", "arith.truncf", "arith.extsi", "arith.trunci")),
    "arith.sitofp": ("f32",),
    "arith.fptosi": ("i8", "i32"),
}
"""Conversions, with the types of their results where Triton would round twice to others."""

ELEMENTS: Final = {"f16": "tl.float16", "bf16": "tl.bfloat16", "f32": "tl.float32"} | {
    f"i{bits}": f"tl.int{bits}" for bits in (8, 32, 64)
}
"""The types of elements, and those in Triton."""

_LOGICAL: Final = ("arith.cmpf", "arith.cmpi", "arith.select")
"""Ops that may have a result of i1, which is not a number of one bit in Triton."""


@dataclass(frozen=True)
class Instruction:
    """An op of a body.

    Attributes:
        operands: the numbers of the values that it takes: the inputs of the step first, then the results of instructions.
        type: the type of its result.
        attributes: its attributes, as a dictionary of MLIR.
    """

    name: str
    operands: tuple[int, ...]
    type: str
    attributes: str


@dataclass(frozen=True)
class Step:
    """An elementwise `linalg.generic` on values of a graph and other tensors.

    Attributes:
        inputs: the loops of each input, as those of the product's result; `UNIT` for a dimension that is broadcast.
        types: the element types of the inputs.
        chained: the positions of the inputs that the graph computes, each with the number of its value: 0 for the product, 1
            for the first step.
        result: the element type of the result.
        body: its instructions, constants first; the last one is yielded.
        scalars: the positions of the inputs that are numbers, not tensors.
    """

    inputs: tuple[str, ...]
    types: tuple[str, ...]
    chained: tuple[tuple[int, int], ...]
    result: str
    body: tuple[Instruction, ...]
    scalars: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls, operation: mlir.Operation, loops: str, chained: tuple[tuple[int, int], ...]
    ) -> Step:
        """Read an op on a result with loops, some of whose inputs are chained.

        Raises:
            NoFormError: it is something else, or no kernel computes it.
        """
        if operation.name != names.GENERIC or {*operation.attributes} - PLAIN:
            raise NoFormError("it is followed by another op")
        op = StructuredOp(operation)
        (block,) = operation.regions[0].blocks
        indexed = op.operand_loops
        count = len(operation.operands) - 1
        if indexed[-1] != tuple(range(len(loops))) or op.loop_count != len(loops):
            raise NoFormError("it is followed by an op with other loops")
        if any(indexed[at] != indexed[-1] for at, _ in chained):
            raise NoFormError("it is followed by an op that transposes it")
        inputs = []
        for at in range(count):
            letters = loops_read(op, at, loops)
            if letters is None:
                raise NoFormError("it is followed by an op with an operand of other loops")
            inputs.append(letters)
        # Number the values: inputs, then constants from outside in the order of their use, then results.
        inner = list(block.operations)
        outside = [owner for op in inner for at in op.operands if (owner := defining_op(at))]
        constants = dict.fromkeys(owner for owner in outside if owner.name == names.CONSTANT)
        listed = [*constants, *(op.operation for op in inner[:-1] if op.operation not in constants)]
        numbers = dict(zip(list(block.arguments)[:count], range(count), strict=True))
        body = []
        for number, item in enumerate(listed, count):
            if any(operand not in numbers for operand in item.operands) or len(item.results) != 1:
                raise NoFormError("it is followed by an op that reads other values")
            operands = tuple(numbers[operand] for operand in item.operands)
            numbers[item.results[0]] = number
            attributes = {entry: item.attributes[entry] for entry in item.attributes}
            text = ", ".join(f"{entry} = {value}" for entry, value in attributes.items())
            kind = str(item.results[0].type)
            body.append(Instruction(item.name, operands, kind, f"{{{text}}}"))
        yielded = inner[-1].operands[0]
        if numbers.get(yielded) != count + len(body) - 1 or not body:
            raise NoFormError("it is followed by an op that yields something else")
        types = op.element_types
        scalars = frozenset(at for at in range(count) if not op.operands[at].is_tensor)
        step = cls(tuple(inputs), types[:-1], chained, types[-1], tuple(body), scalars)
        if any(kind not in ELEMENTS for kind in types):
            raise NoFormError("it is followed by an op on other types")
        step.code("x", ["x"] * count)  # raises for an op without code
        return step

    @property
    def others(self) -> tuple[int, ...]:
        """The positions of the inputs that are not chained."""
        chained = dict(self.chained)
        return tuple(at for at in range(len(self.inputs)) if at not in chained)

    def build(self, operands: Sequence[Value], loops: str) -> Value:
        """Build the op on its inputs and its destination at the current insertion point."""
        *inputs, destination = operands

        def element(*numbers: Value) -> Value:
            values = list(numbers[:-1])
            for item in self.body:
                attributes = entries_of(mlir.Attribute.parse(item.attributes))
                taken = [values[number] for number in item.operands]
                values.append(build(item.name, mlir.Type.parse(item.type), *taken, **attributes))
            return values[-1]

        return computed(inputs, maps_of([*self.inputs, loops], loops), destination, element)

    def code(self, name: str, inputs: Sequence[str]) -> list[str]:
        """Return lines of Triton that compute the result, whose variables begin with a name; the last one assigns it to it."""
        values = list(inputs)
        kinds = [*self.types, *(item.type for item in self.body)]
        lines = []
        for number, item in enumerate(self.body):
            operands = [values[at] for at in item.operands]
            attributes = entries_of(mlir.Attribute.parse(item.attributes, thread_context()))
            computed_kinds = [] if item.name in _LOGICAL else [item.type]
            if item.name != "arith.select":
                computed_kinds += [kinds[at] for at in item.operands]
            if any(kind not in ELEMENTS for kind in computed_kinds):
                raise NoFormError("it is followed by an op on other types")
            if item.name == names.CONSTANT:
                number_attribute = attributes["value"]
                if not isinstance(number_attribute, mlir.FloatAttr | mlir.IntegerAttr):
                    raise NoFormError("it is followed by an op on other types")
                # A value of Triton: programs also compute roots of constants.
                text = repr(number_attribute.value)
                number_text = text if text.strip("-")[0].isdigit() else f'float("{text}")'
                values.append(f"tl.cast({number_text}, {ELEMENTS[item.type]})")
                continue
            if {*attributes} - {"predicate", "fastmath", "overflowFlags"}:
                raise NoFormError(f"it is followed by '{item.name}' with other attributes")
            if item.name in _CASTS and item.type in (_CASTS[item.name] or ELEMENTS):
                expression = f"{operands[0]}.to({ELEMENTS[item.type]})"
            elif "predicate" in attributes:
                predicate = mlir.IntegerAttr(attributes["predicate"]).value
                own = _COMPARISONS if item.name == "arith.cmpf" else _SIGNED
                negated = _NEGATED if item.name == "arith.cmpf" else {}
                sign = own.get(predicate) or negated.get(predicate)
                if sign is None:
                    raise NoFormError("it is followed by a comparison without code")
                expression = f"({operands[0]} {sign} {operands[1]})"
                expression = expression if predicate in own else f"{expression} == 0"
            elif item.name in _TRITON:
                expression = _TRITON[item.name].format(*operands)
                if item.name == "arith.divf" and "math.roundeven" in [at.name for at in self.body]:
                    # Others may differ in the last bit, with which a quotient is rounded to another integer.
                    expression = "tl.div_rn({}, {})".format(*operands)
                is_wide = "float32" in expression or item.name == "arith.divf"
                if item.type in ("f16", "bf16") and is_wide:
                    expression = f"({expression}).to({ELEMENTS[item.type]})"
            else:
                raise NoFormError(f"it is followed by '{item.name}'")
            values.append(f"{name}{number}")
            lines.append(f"{values[-1]} = {expression}")
        return [*lines, f"{name} = {values[-1]}"]


def is_elementwise(operation: mlir.Operation) -> bool:
    """Return whether an op is a `linalg.generic` without reductions."""
    return operation.name == names.GENERIC and "reduction" not in str(
        operation.attributes["iterator_types"]
    )


def steps_of(
    product: mlir.Operation, following: Sequence[mlir.Operation], loops: str
) -> tuple[Step, ...]:
    """Read the ops after a product whose result has these loops.

    Raises:
        NoFormError: one is something else, or no kernel computes it.
    """
    steps, values = list[Step](), {product.results[0]: 0}
    for op in following:
        chained = [(at, values[one]) for at, one in enumerate(op.operands) if one in values]
        steps.append(Step.of(op, loops, tuple(chained)))
        values[op.results[0]] = len(steps)
    return tuple(steps)


class Stepped(Spelled):
    """A graph of an op and steps after it, which is a dataclass."""

    steps: tuple[Step, ...]

    def begins_with(self, other: Spelled) -> bool:
        """Return whether another graph is this one, or this one without its last steps."""
        if not isinstance(other, Stepped):
            return False
        first = self.steps[: len(other.steps)]
        return bool(other == replace(self, steps=first))  # type: ignore[type-var]

    def ops_after(self, beginning: Spelled) -> int:
        """Return the number of steps after another graph, each of which uses the one before only; 0 if one uses others."""
        if not isinstance(beginning, Stepped) or not self.begins_with(beginning):
            return 0
        rest = range(len(beginning.steps), len(self.steps))
        is_chain = all(value == at for at in rest for _, value in self.steps[at].chained)
        return len(rest) if is_chain else 0


def step_names(steps: Sequence[Step]) -> list[str]:
    """Return the ops of bodies in words, each once."""
    words = [item.name.partition(".")[2] for step in steps for item in step.body]
    return [word for word in dict.fromkeys(words) if word != "constant"]


def step_tensors(
    steps: Sequence[Step], loops: str, tensor: Callable[[str, str], mlir.Type]
) -> list[mlir.Type]:
    """Return the types of the values of steps: the inputs that the graph does not compute, and the destination, of each.

    `tensor` returns the type with given loops and elements.
    """
    kinds: list[mlir.Type] = []
    for step in steps:
        for at in step.others:
            element = step.types[at]
            is_number = at in step.scalars
            kinds.append(
                mlir.Type.parse(element) if is_number else tensor(step.inputs[at], element)
            )
        kinds.append(tensor(loops, step.result))
    return kinds


def built_steps(steps: Sequence[Step], value: Value, rest: Sequence[Value], loops: str) -> Value:
    """Build steps after a product, given the values of which `step_tensors` returns the types, and return the last result."""
    values, waiting = [value], list(rest)
    for step in steps:
        numbers = dict(step.chained)
        inputs: list[Value] = [
            values[numbers[at]] if at in numbers else waiting.pop(0)
            for at in range(len(step.inputs))
        ]
        values.append(step.build([*inputs, waiting.pop(0)], loops))
    return values[-1]


def taken_by_steps(steps: Sequence[Step], first: int) -> list[int]:
    """Return the positions of the inputs that the graph does not compute, the first value of steps being at `first`."""
    positions, at = list[int](), first
    for step in steps:
        positions += range(at, at + len(step.others))
        at += len(step.others) + 1
    return positions


def moved_steps(steps: Sequence[Step], operands: Sequence[str]) -> tuple[Step, ...]:
    """Return steps with other loops of their inputs: those that the graph does not compute, in order, then of the result."""
    *waiting, result = operands
    moved = []
    for step in steps:
        inputs = [result] * len(step.inputs)
        for at in step.others:
            inputs[at] = waiting.pop(0)
        moved.append(replace(step, inputs=tuple(inputs)))
    return tuple(moved)
