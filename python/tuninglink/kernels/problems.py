"""Problems of kernels: the graphs of ops that one kernel computes, as data.

A matcher shows the whole graph: the ops that move the operands of a product, the fill of its accumulator with zeros, the
product, and the elementwise ops after it; or an attention with its scale. Destinations may be anything, since nothing reads them.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.kernels.producers import Producer, producers_of, with_equal_types
from tuninglink.kernels.steps import Step
from tuninglink.mlir import collect, defining_op, names, thread_context, to_text
from tuninglink.payloads import Value, build, constant, filled, new_function
from tuninglink.replacing import UNIT, Attention, Contraction, NoFormError, Spelled, spellings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SCALE: Final = 3
_DIALECTS: Final = ("linalg.", "iree_linalg_ext.")

_MOST_OPS: Final = 24
"""The number of ops before an op among which a product is looked for."""


@dataclass(frozen=True)
class ProductProblem(Spelled):
    """A product whose accumulator starts at zero, and elementwise ops after it.

    Attributes:
        contraction: the product.
        steps: the ops after it; the last one computes the result.
        producers: the ops that compute the left and the right operand from the tensors that the kernel reads.
    """

    contraction: Contraction
    steps: tuple[Step, ...] = ()
    producers: tuple[tuple[Producer, ...], tuple[Producer, ...]] = ((), ())

    @classmethod
    def of(cls, operation: mlir.Operation) -> ProductProblem:
        """Read the graph that ends with an op of a program.

        Raises:
            NoFormError: it is something else, or no kernel computes it.
        """
        problem, _ = cls.graph(operation)
        return problem

    @classmethod
    def graph(cls, operation: mlir.Operation) -> tuple[ProductProblem, list[mlir.Operation]]:
        """Read the graph that ends with an op of a program; return also its product and the ops after it.

        Raises:
            NoFormError: it is something else, or no kernel computes it.
        """
        try:
            return cls._read(Contraction.of(operation), operation, []), [operation]
        except NoFormError as failure:
            reason = failure
        # An op may follow several products. The nearest one leaves the others to their own graphs.
        graphs = _graphs_before(operation)
        for product, following in sorted(graphs.items(), key=lambda graph: len(graph[1])):
            try:
                read = cls._read(Contraction.of(product), product, following)
            except NoFormError as failure:
                reason = failure
            else:
                return read, [product, *following]
        raise reason

    @classmethod
    def _read(
        cls, contraction: Contraction, operation: mlir.Operation, following: list[mlir.Operation]
    ) -> ProductProblem:
        fill = defining_op(operation.operands[-1])
        start = _constant_of(fill.operands[0]) if fill and fill.name == names.FILL else None
        if start is None or not str(start).startswith("0.0"):
            raise NoFormError("its accumulator does not start at zero")
        steps, values = list[Step](), {operation.results[0]: 0}
        for op in following:
            chained = [(at, values[one]) for at, one in enumerate(op.operands) if one in values]
            steps.append(Step.of(op, contraction.operands[-1], tuple(chained)))
            values[op.results[0]] = len(steps)
        both = [
            producers_of(value, loops)
            for value, loops in zip(operation.operands, contraction.operands[:-1], strict=False)
        ]
        return cls(contraction, tuple(steps), with_equal_types(both, contraction.types[:-1]))

    @property
    def loop_sizes(self) -> Mapping[str, int]:
        """The sizes of the loops by letter."""
        return self.contraction.loop_sizes

    @property
    def work(self) -> int:
        """The number of multiplications."""
        return prod(self.loop_sizes.values())

    def begins(self, other: ProductProblem) -> bool:
        """Return whether the graph is the beginning of that of another problem, in whose place its entries match."""
        count = len(self.steps)
        return self != other and self == replace(other, steps=other.steps[:count])

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
        sizes = {UNIT: 1, **self.loop_sizes}
        return [sizes[loop] for loop in loops]

    @cached_property
    def operands(self) -> tuple[tuple[str, str], ...]:
        """The loops and the element types of the operands and the result of the kernel, the result last."""
        *own, output = zip(self.contraction.operands, self.contraction.types, strict=True)
        read = [
            (producers[0].loops, producers[0].type) if producers else given
            for producers, given in zip(self.producers, own, strict=True)
        ]
        others = [(step.inputs[at], step.types[at]) for step in self.steps for at in step.others]
        result = self.steps[-1].result if self.steps else output[1]
        return (*read, *others, (output[0], result))

    @cached_property
    def plain(self) -> ProductProblem:
        """The problem that the kernel computes in memory: without producers, and with batches folded into rows.

        Batches fold where each operand has both loops side by side, or neither, such as weights and a bias.
        """
        sizes = self.loop_sizes
        own, element = [loops for loops, _ in self.operands], self.contraction.types[-1]
        own = [
            "".join(at for at in loops if (at != UNIT and sizes[at] != 1) or at in "mnk")
            for loops in own
        ]
        sizes = {loop: size for loop, size in sizes.items() if size != 1 or loop in "mnk"}
        for loop in reversed([loop for loop in self.contraction.outer if loop in sizes]):
            if all(f"{loop}m" in loops or not {loop, "m"} & {*loops} for loops in own):
                own = [loops.replace(loop, "") for loops in own]
                sizes["m"] *= sizes.pop(loop)
        (_, left), (_, right) = self.operands[:2]
        contraction = Contraction(
            (own[0], own[1], own[-1]), (left, right, element), "".join(sizes), (*sizes.values(),)
        )
        others, steps = own[2:-1], []
        for step in self.steps:
            inputs = [own[-1]] * len(step.inputs)
            for at in step.others:
                inputs[at] = others.pop(0)
            steps.append(replace(step, inputs=tuple(inputs)))
        return ProductProblem(contraction, tuple(steps))

    @cached_property
    def taken(self) -> tuple[int, ...]:
        """The positions, among the values of the graph, of the operands of the kernel."""
        right = 1 + len(self.producers[0])
        positions, at = [0, right], right + len(self.producers[1]) + 2
        for step in self.steps:
            positions += range(at, at + len(step.others))
            at += len(step.others) + 1
        return tuple(positions)

    def tensors(self) -> tuple[mlir.Type, ...]:
        """Return the types of the values of the graph: operands and destination of the product, then of each step.

        An operand with producers is the tensor that they begin with, and the destination of each.
        """
        *own, output = zip(self.contraction.operands, self.contraction.types, strict=True)
        kinds = []
        for producers, given in zip(self.producers, own, strict=True):
            read = [(producer.loops, producer.type) for producer in producers]
            kinds += [self._tensor(*at) for at in (*read, given)]
        kinds.append(self._tensor(*output))
        for step in self.steps:
            for at in step.others:
                is_number = at in step.scalars
                element = mlir.Type.parse(step.types[at])
                kinds.append(
                    element if is_number else self._tensor(step.inputs[at], step.types[at])
                )
            kinds.append(self._tensor(output[0], step.result))
        return tuple(kinds)

    def _tensor(self, loops: str, element: str) -> mlir.Type:
        return mlir.RankedTensorType.get(self._shape(loops), mlir.Type.parse(element))

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the graph at the current insertion point."""
        rest = list(operands)
        multiplied = []
        for producers, loops in zip(self.producers, self.contraction.operands, strict=False):
            value = rest.pop(0)
            results = [*(producer.loops for producer in producers[1:]), loops]
            for producer, written in zip(producers, results, strict=False):
                value = producer.build(value, rest.pop(0), written)
            multiplied.append(value)
        destination = rest.pop(0)
        zero = filled(destination.type, 0, destination)
        values = [self.contraction.build([*multiplied, zero])]
        for step in self.steps:
            numbers = dict(step.chained)
            inputs: list[Value] = [
                values[numbers[at]] if at in numbers else rest.pop(0)
                for at in range(len(step.inputs))
            ]
            values.append(step.build([*inputs, rest.pop(0)], self.contraction.operands[-1]))
        return values[-1]

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


def _graphs_before(last: mlir.Operation) -> dict[mlir.Operation, list[mlir.Operation]]:
    """Return each product before an elementwise op, with the ops between them and the op itself, in order.

    Nothing else uses a value of these ops.
    """
    # Ops that the op follows, in an order in which each comes after its operands.
    ordered: dict[mlir.Operation, None] = {}

    def visit_before(operation: mlir.Operation) -> None:
        if operation in ordered or len(ordered) >= _MOST_OPS:
            return
        if operation.name == names.GENERIC and not _reduces(operation):
            for value in operation.operands[:-1]:
                producer = defining_op(value)
                if producer is not None and _is_structured(producer):
                    visit_before(producer)
        ordered[operation] = None

    if last.name == names.GENERIC:
        visit_before(last.operation)
    graphs = {}
    for product in ordered:
        if product == last.operation or (product.name == names.GENERIC and not _reduces(product)):
            continue
        following = list[mlir.Operation]()
        for operation in ordered:
            before = {defining_op(value) for value in operation.operands[:-1]}
            if before.intersection([product, *following]):
                following.append(operation)
        used = {
            use.owner.operation for op in [product, *following[:-1]] for use in op.results[0].uses
        }
        if following and following[-1] == last.operation and used <= {*following}:
            graphs[product] = following
    return graphs


def problems_of(module: mlir.Operation) -> dict[KernelProblem, int]:
    """Return the problems of a program at the preprocessing stage for kernels, the largest graphs, with their numbers."""
    problems: Counter[KernelProblem] = Counter()
    covered: set[mlir.Operation] = set()
    for operation in reversed(collect(module)):
        if operation in covered or not operation.name.startswith(_DIALECTS):
            continue
        with suppress(NoFormError):
            if operation.name == names.ATTENTION:
                problems[ScaledAttention.of(operation)] += 1
            else:
                problem, graph = ProductProblem.graph(operation)
                problems[problem] += 1
                covered.update(graph)
    # Ops are replaced in the order of the program: an entry for the beginning of a graph comes before one for all of it.
    products = [problem for problem in problems if isinstance(problem, ProductProblem)]
    for problem in products:
        beginnings = [other for other in products if other.begins(problem)]
        if beginnings:
            problems[min(beginnings, key=lambda other: len(other.steps))] += problems.pop(problem)
    return dict(problems)


def repeated_inputs(problem: KernelProblem, count: int) -> list[mlir.Type]:
    """Return the types of the arguments of a program that computes a problem several times."""
    kinds = problem.tensors()
    first, *shared = problem.taken
    return [kinds[first]] * count + [kinds[at] for at in shared]


def repeated_program(problem: KernelProblem, count: int) -> str:
    """Return a program that computes a problem several times, from operands of which the first one differs."""
    with thread_context(), mlir.Location.unknown():
        kinds = problem.tensors()
        module, block = new_function(repeated_inputs(problem, count), [kinds[-1]] * count, "main")
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


def _reduces(operation: mlir.Operation) -> bool:
    return "reduction" in str(operation.attributes["iterator_types"])


def _is_structured(operation: mlir.Operation) -> bool:
    return operation.name.startswith("linalg.") and operation.name != names.FILL


def _constant_of(value: Value) -> mlir.FloatAttr | None:
    """Return the float that a value is; None if it is not a constant."""
    producer = defining_op(value)
    if producer is None or producer.name != names.CONSTANT:
        return None
    number = producer.attributes["value"]
    return number if isinstance(number, mlir.FloatAttr) else None
