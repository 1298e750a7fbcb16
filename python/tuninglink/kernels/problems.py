"""Problems of kernels: the graphs of ops that one kernel computes, as data.

A matcher shows the whole graph: the fill of an accumulator with zeros, the product, and the elementwise ops after it; or an
attention with its scale. Destinations may be anything, since nothing reads them.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.kernels.steps import Step
from tuninglink.mlir import collect, defining_op, names, thread_context, to_text
from tuninglink.payloads import Value, build, constant, filled, new_function
from tuninglink.replacing import Attention, Contraction, NoFormError, Spelled, spellings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SCALE: Final = 3
_DIALECTS: Final = ("linalg.", "iree_linalg_ext.")


@dataclass(frozen=True)
class ProductProblem(Spelled):
    """A product whose accumulator starts at zero, and elementwise ops after it."""

    contraction: Contraction
    steps: tuple[Step, ...] = ()

    @classmethod
    def of(cls, operation: mlir.Operation) -> ProductProblem:
        """Read the graph that ends with an op of a program.

        Raises:
            NoFormError: it is something else, or no kernel computes it.
        """
        contraction, operation, following = _chain(operation)
        fill = defining_op(operation.operands[-1])
        start = _constant_of(fill.operands[0]) if fill and fill.name == names.FILL else None
        if start is None or not str(start).startswith("0.0"):
            raise NoFormError("its accumulator does not start at zero")
        loops = contraction.operands[-1]
        return cls(contraction, tuple(Step.of(op, loops, at) for op, at in following))

    @property
    def loop_sizes(self) -> Mapping[str, int]:
        """The sizes of the loops by letter."""
        return self.contraction.loop_sizes

    @property
    def work(self) -> int:
        """The number of multiplications."""
        return prod(self.loop_sizes.values())

    @cached_property
    def spellings(self) -> tuple[ProductProblem, ...]:
        """The ways in which the problem may be written, with operands of the same layout; its own first."""
        shapes = [self._shape(loops) for loops in self.contraction.operands]
        return tuple(
            replace(self, contraction=other)
            for other in self.contraction.spellings
            if [self._shape(loops) for loops in other.operands] == shapes
            and other.operands[1] == self.contraction.operands[1]
        )

    def _shape(self, loops: str) -> list[int]:
        return [self.loop_sizes[loop] for loop in loops]

    @cached_property
    def operands(self) -> tuple[tuple[str, str], ...]:
        """The loops and the element types of the operands and the result of the kernel, the result last."""
        lhs, rhs, output = self.contraction.operands
        types = self.contraction.types
        others = [(step.inputs[at], step.types[at]) for step in self.steps for at in step.others]
        result = self.steps[-1].result if self.steps else types[2]
        return ((lhs, types[0]), (rhs, types[1]), *others, (output, result))

    @property
    def taken(self) -> tuple[int, ...]:
        """The positions, among the values of the graph, of the operands of the kernel."""
        positions, at = [0, 1], 3
        for step in self.steps:
            positions += range(at, at + len(step.others))
            at += len(step.others) + 1
        return tuple(positions)

    def tensors(self) -> tuple[mlir.Type, ...]:
        """Return the types of the values of the graph: operands and destination of the product, then of each step."""
        kinds = list(self.contraction.tensors())
        for step in self.steps:
            for at in step.others:
                element = mlir.Type.parse(step.types[at])
                shape = self._shape(step.inputs[at])
                is_number = at in step.scalars
                kinds.append(element if is_number else mlir.RankedTensorType.get(shape, element))
            shape = self._shape(self.contraction.operands[-1])
            kinds.append(mlir.RankedTensorType.get(shape, mlir.Type.parse(step.result)))
        return tuple(kinds)

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the graph at the current insertion point."""
        lhs, rhs, destination, *rest = operands
        value = self.contraction.build([lhs, rhs, filled(destination.type, 0, destination)])
        for step in self.steps:
            inputs: list[Value] = [rest.pop(0) for _ in step.others]
            inputs.insert(step.chained, value)
            value = step.build([*inputs, rest.pop(0)], self.contraction.operands[-1])
        return value

    def __str__(self) -> str:
        names_of = [item.name.partition(".")[2] for step in self.steps for item in step.body]
        shown = [name for name in names_of if name != "constant"]
        return "_".join([f"product_{self.contraction}", *dict.fromkeys(shown)])


@dataclass(frozen=True)
class ScaledAttention(Spelled):
    """An attention with a constant scale."""

    attention: Attention
    scale: float

    @classmethod
    def of(cls, operation: mlir.Operation) -> ScaledAttention:
        """Read an attention of a program.

        Raises:
            NoFormError: it is something else, or no kernel computes it.
        """
        attention = Attention.of(operation)
        scale = _constant_of(operation.operands[_SCALE])
        if scale is None:
            raise NoFormError("its scale is not a constant")
        return cls(attention, scale.value)

    @property
    def loop_sizes(self) -> Mapping[str, int]:
        """The sizes of the loops by letter."""
        return self.attention.loop_sizes

    @property
    def work(self) -> int:
        """The number of multiplications of its two products."""
        sizes = self.loop_sizes
        outer = prod(size for loop, size in sizes.items() if loop not in "nk")
        return outer * (sizes["n"] + sizes["k"])

    @cached_property
    def spellings(self) -> tuple[ScaledAttention, ...]:
        """The ways in which the problem may be written, with keys and values of the same layout; its own first."""
        layout = [loops[-2:] for loops in self.attention.operands]
        others = spellings(self.attention)
        same = [other for other in others if [at[-2:] for at in other.operands] == layout]
        return tuple(replace(self, attention=other) for other in same)

    @cached_property
    def operands(self) -> tuple[tuple[str, str], ...]:
        """The loops and the element types of the operands and the result of the kernel, the result last."""
        both = [*zip(self.attention.operands, self.attention.types, strict=True)]
        return tuple(both[:_SCALE] + both[_SCALE + 1 :])

    @property
    def taken(self) -> tuple[int, ...]:
        """The positions, among the values of the graph, of the operands of the kernel."""
        return tuple(range(len(self.operands) - 1))

    def tensors(self) -> tuple[mlir.Type, ...]:
        """Return the types of the values of the graph: all operands but the scale."""
        kinds = self.attention.tensors()
        return kinds[:_SCALE] + kinds[_SCALE + 1 :]

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the graph at the current insertion point."""
        scale = constant(mlir.Type.parse(self.attention.types[_SCALE]), self.scale)
        return self.attention.build([*operands[:_SCALE], scale, *operands[_SCALE:]])

    def __str__(self) -> str:
        return f"attention_{self.attention}"


KernelProblem = ProductProblem | ScaledAttention


def kernel_problem(operation: mlir.Operation) -> KernelProblem:
    """Read the graph that ends with an op of a program at the preprocessing stage.

    Raises:
        NoFormError: no kernel computes it, with the reason.
    """
    operation = operation.operation
    if operation.name == names.ATTENTION:
        return ScaledAttention.of(operation)
    return ProductProblem.of(operation)


def _chain(
    operation: mlir.Operation,
) -> tuple[Contraction, mlir.Operation, list[tuple[mlir.Operation, int]]]:
    """Return the product that a graph begins with, its op, and the ops after it with the positions of their chained inputs.

    Raises:
        NoFormError: the graph has none, or other ops use one of its values.
    """
    following: list[tuple[mlir.Operation, int]] = []
    while True:
        try:
            contraction = Contraction.of(operation)
        except NoFormError:
            producers = (
                [(at, defining_op(value)) for at, value in enumerate(operation.operands[:-1])]
                if operation.name == names.GENERIC
                else []
            )
            chained = [(at, op) for at, op in producers if op is not None and _is_structured(op)]
            if len(chained) != 1:
                raise
            position, producer = chained[0]
            following.insert(0, (operation, position))
            if sum(1 for _ in producer.results[0].uses) != 1:
                raise NoFormError("its result is used several times") from None
            operation = producer
        else:
            return contraction, operation, following


def problems_of(module: mlir.Operation) -> dict[KernelProblem, int]:
    """Return the problems of a program at the preprocessing stage for kernels, the largest graphs, with their numbers."""
    problems: Counter[KernelProblem] = Counter()
    covered: set[mlir.Operation] = set()
    for operation in reversed(collect(module)):
        if operation in covered or not operation.name.startswith(_DIALECTS):
            continue
        with suppress(NoFormError):
            problems[kernel_problem(operation)] += 1
            if operation.name != names.ATTENTION:
                _, first, following = _chain(operation)
                covered |= {first, *(op for op, _ in following)}
    return dict(problems)


def repeated_program(problem: KernelProblem, count: int) -> str:
    """Return a program that computes a problem several times, from operands of which the first one differs."""
    with thread_context(), mlir.Location.unknown():
        kinds = problem.tensors()
        first, *shared = problem.taken
        inputs = [kinds[first]] * count + [kinds[at] for at in shared]
        module, block = new_function(inputs, [kinds[-1]] * count, "main")
        with mlir.InsertionPoint(block):
            results = []
            for own in block.arguments[:count]:
                given = dict(zip(problem.taken, [own, *block.arguments[count:]], strict=True))
                operands = [
                    given[at] if at in given else build("tensor.empty", kind)
                    for at, kind in enumerate(kinds)
                ]
                results.append(problem.build(operands))
            mlir.Operation.create("func.return", operands=results)
        module.verify()
        return to_text(module)


def _is_structured(operation: mlir.Operation) -> bool:
    return operation.name.startswith("linalg.") and operation.name != names.FILL


def _constant_of(value: Value) -> mlir.FloatAttr | None:
    """Return the float that a value is; None if it is not a constant."""
    producer = defining_op(value)
    if producer is None or producer.name != names.CONSTANT:
        return None
    number = producer.attributes["value"]
    return number if isinstance(number, mlir.FloatAttr) else None
