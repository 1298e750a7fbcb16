"""Problems of kernels: the graphs of ops that one kernel computes, as data.

A matcher shows the whole graph: the ops that move the operands of a product, the fill of its accumulator with zeros, the
product, and the elementwise ops after it; or an attention with its scale. Destinations may be anything, since nothing reads
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.kernels.producers import FACTORS, Producer, producers_of, with_equal_types
from tuninglink.kernels.steps import (
    Step,
    Stepped,
    built_steps,
    moved_steps,
    step_names,
    step_tensors,
    steps_of,
    taken_by_steps,
)
from tuninglink.mlir import defining_op, names
from tuninglink.payloads import Value, filled
from tuninglink.replacing import UNIT, Contraction, NoFormError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Windows:
    """Windows of images as the rows of a matrix: one for each pixel of the result, row by row.

    Attributes:
        image: the rows, columns and channels of an image.
        columns: the pixels of a row of the result.
        window: the rows and columns of a window.
        strides: the distance of windows, in rows and in columns.
        dilations: the distance of the pixels of a window, in rows and in columns.
        is_planar: whether each channel is an image of its own; otherwise, the channels of a pixel are contiguous.
    """

    image: tuple[int, int, int]
    columns: int
    window: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    is_planar: bool = False


@dataclass(frozen=True)
class ProductProblem(Stepped):
    """A product whose accumulator starts at zero, and elementwise ops after it.

    Attributes:
        contraction: the product.
        steps: the ops after it; the last one computes the result.
        producers: the ops that compute the left and the right operand from the tensors that the kernel reads.
        windows: the rows and columns of the left operand, if these are windows of images. No op is such a product.
    """

    contraction: Contraction
    steps: tuple[Step, ...] = ()
    producers: tuple[tuple[Producer, ...], tuple[Producer, ...]] = ((), ())
    windows: Windows | None = None

    @classmethod
    def of(
        cls, operation: mlir.Operation, following: Sequence[mlir.Operation] = ()
    ) -> ProductProblem:
        """Read a product of a program and ops after it, the last of which computes the result.

        Raises:
            NoFormError: it is something else, or no kernel computes it.
        """
        contraction = Contraction.of(operation, (*FACTORS, "i64"))
        if any(op.name == "arith.extui" for op in operation.regions[0].blocks[0].operations):
            raise NoFormError("it multiplies numbers without a sign")
        check_start(operation)
        steps = steps_of(operation, following, contraction.operands[-1])
        both = [
            producers_of(value, loops)
            for value, loops in zip(operation.operands, contraction.operands[:-1], strict=False)
        ]
        return cls(contraction, steps, with_equal_types(both, contraction.types[:-1]))

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
        sizes, own = without_units(self.loop_sizes, [loops for loops, _ in self.operands])
        for loop in reversed([loop for loop in self.contraction.outer if loop in sizes]):
            sizes, own = folded(loop, "m", sizes, own)
        (_, left), (_, right) = self.operands[:2]
        types = (left, right, self.contraction.types[-1])
        read = (own[0], own[1], own[-1])
        contraction = Contraction(read, types, "".join(sizes), (*sizes.values(),))
        return ProductProblem(contraction, moved_steps(self.steps, own[2:]), windows=self.windows)

    def loaded(self, operands: Sequence[Value]) -> Sequence[Value]:
        """Return the operands that the kernel reads: those of the problem."""
        return operands

    @cached_property
    def taken(self) -> tuple[int, ...]:
        """The positions, among the values of the graph, of the operands of the kernel."""
        right = 1 + len(self.producers[0])
        first = right + len(self.producers[1]) + 2
        return (0, right, *taken_by_steps(self.steps, first))

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
        return (*kinds, *step_tensors(self.steps, output[0], self._tensor))

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
        value = self.contraction.build([*multiplied, zero])
        return built_steps(self.steps, value, rest, self.contraction.operands[-1])

    def __str__(self) -> str:
        return "_".join([f"product_{self.contraction}", *step_names(self.steps)])


def check_start(operation: mlir.Operation) -> None:
    """Check that an accumulator starts at zero.

    Raises:
        NoFormError: it does not.
    """
    fill = defining_op(operation.operands[-1])
    start = defining_op(fill.operands[0]) if fill and fill.name == names.FILL else None
    number = str(start.attributes["value"]) if start and start.name == names.CONSTANT else ""
    if not number.startswith(("0.0", "0 ")):
        raise NoFormError("its accumulator does not start at zero")


def constant_of(value: Value) -> mlir.FloatAttr | None:
    """Return the float that a value is; None if it is not a constant."""
    producer = defining_op(value)
    if producer is None or producer.name != names.CONSTANT:
        return None
    number = producer.attributes["value"]
    return number if isinstance(number, mlir.FloatAttr) else None


def without_units(
    sizes: Mapping[str, int], operands: Sequence[str]
) -> tuple[dict[str, int], list[str]]:
    """Return the sizes of loops, and the loops of operands, without those of size 1, except for m, n and k."""
    kept = {loop: size for loop, size in sizes.items() if size != 1 or loop in "mnk"}
    return kept, ["".join(loop for loop in loops if loop in kept) for loops in operands]


def folded(
    outer: str, inner: str, sizes: dict[str, int], operands: list[str]
) -> tuple[dict[str, int], list[str]]:
    """Fold a loop into another one if each operand has both side by side, or neither."""
    if any(outer + inner not in loops and {outer, inner} & {*loops} for loops in operands):
        return sizes, operands
    sizes = {**sizes, inner: sizes[outer] * sizes[inner]}
    del sizes[outer]
    return sizes, [loops.replace(outer, "") for loops in operands]
