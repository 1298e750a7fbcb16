"""Problems of kernels: convolutions of images, whose windows are the rows of a product."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

# `iree.compiler.dialects` re-exports it, but takes 140 ms to build the classes of the ops.
from iree.compiler._mlir_libs import _mlirDialectsLinalg  # type: ignore[attr-defined]

from tuninglink.kernels.problems import (
    ProductProblem,
    Windows,
    check_start,
    without_units,
)
from tuninglink.kernels.producers import Producer
from tuninglink.kernels.steps import (
    Instruction,
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
from tuninglink.payloads import Value, build, filled
from tuninglink.replacing import FLOATS, UNIT, Contraction, NoFormError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_RESULT: Final = "anyx"
"""The loops of the result: images, channels, rows and columns."""

_COMPUTED: Final = ("operandSegmentSizes", "linalg.memoized_indexing_maps")
"""The attributes that follow from others."""

_BROADCAST: Final = "linalg.broadcast"
_OUTER: Final = [0, 2, 3]
"""The dimensions that a bias is broadcast to."""

_CHANNELS: Final = 16
"""The smallest step of a product, which has channels of one pixel if it divides them."""

_ADDITION: Final = Instruction("arith.addf", (0, 1), "f32", "{}")


@dataclass(frozen=True)
class ConvolutionProblem(Stepped):
    """A convolution of images in NCHW with filters in FCHW, and elementwise ops after it.

    Attributes:
        images: the shape of the images.
        filters: the shape of the filters.
        result: the shape of the result.
        types: the element types of these three.
        strides: the distance of windows, in rows and in columns.
        dilations: the distance of the pixels of a window, in rows and in columns.
        attributes: the attributes of the op by name, as text.
        has_bias: whether its sums start from a number for each channel, which is broadcast; otherwise from zero.
        steps: the ops after it; the last one computes the result.
    """

    images: tuple[int, ...]
    filters: tuple[int, ...]
    result: tuple[int, ...]
    types: tuple[str, str, str]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    attributes: tuple[tuple[str, str], ...]
    has_bias: bool
    steps: tuple[Step, ...] = ()

    @classmethod
    def of(
        cls, operation: mlir.Operation, following: Sequence[mlir.Operation] = ()
    ) -> ConvolutionProblem:
        """Read a convolution of a program and ops after it, the last of which computes the result.

        Raises:
            NoFormError: it is something else, or no kernel computes it.
        """
        given = {entry: operation.attributes[entry] for entry in operation.attributes}
        for name in _COMPUTED:
            given.pop(name, None)
        if operation.name != names.CONVOLUTION_NCHW or {*given} != {"strides", "dilations"}:
            raise NoFormError("it is another convolution")
        kinds = [value.type for value in operation.operands]
        tensors = [kind for kind in kinds if isinstance(kind, mlir.RankedTensorType)]
        if len(tensors) != len(kinds) or not all(
            kind.has_static_shape and kind.encoding is None for kind in tensors
        ):
            raise NoFormError("it has dynamic sizes")
        images, filters, result = (tuple(kind.shape) for kind in tensors)
        left, right, sums = (str(kind.element_type) for kind in tensors)
        if sums != "f32" or not {left, right} <= {*FLOATS}:
            raise NoFormError("it has element types other than f16, bf16 and f32")
        start = defining_op(operation.operands[-1])
        has_bias = start is not None and start.name == _BROADCAST
        if has_bias:
            assert start is not None
            if list(mlir.DenseI64ArrayAttr(start.attributes["dimensions"])) != _OUTER:
                raise NoFormError("its sums start from something other than a bias")
        else:
            check_start(operation)
        strides, dilations = (tuple(_numbers(given[name])) for name in ("strides", "dilations"))
        return cls(
            images,
            filters,
            result,
            (left, right, sums),
            strides,
            dilations,
            tuple((name, str(given[name])) for name in sorted(given)),
            has_bias,
            steps_of(operation, following, _RESULT),
        )

    @property
    def loop_sizes(self) -> Mapping[str, int]:
        """The sizes of the loops of the result by letter, and k, those of the sums."""
        return dict(zip(_RESULT, self.result, strict=True)) | {"k": prod(self.filters[1:])}

    @property
    def work(self) -> int:
        """The number of multiplications."""
        return prod(self.loop_sizes.values())

    @property
    def spellings(self) -> tuple[ConvolutionProblem, ...]:
        """The ways in which the problem may be written: its own."""
        return (self,)

    @cached_property
    def plain(self) -> ProductProblem:
        """The product that the kernel computes: its rows are the windows of the pixels of the result.

        Raises:
            NoFormError: an op after it reads something for each row or column.
        """
        others = [step.inputs[at] for step in self.steps for at in step.others]
        read = [loops.replace(UNIT, "") for loops in others]
        if any({"y", "x"} & {*loops} and "yx" not in loops for loops in read):
            raise NoFormError("it is followed by an op on rows or columns")
        sizes = {at: size for at, size in self.loop_sizes.items() if at in "ank"}
        sizes["m"] = self.result[2] * self.result[3]
        # Windows of one pixel each are the images themselves.
        is_matrix = self.filters[2:] == (1, 1) == self.strides
        rows = ["akm" if is_matrix else "amk", "nk", *read, _RESULT]
        sizes, own = without_units(sizes, [loops.replace("yx", "m") for loops in rows])
        channels, height, width = self.images[1:]
        windows = Windows(
            (height, width, channels),
            self.result[3],
            self.filters[2:],
            self.strides,
            self.dilations,
            is_planar=channels % _CHANNELS > 0,
        )
        contraction = Contraction(
            (own[0], own[1], own[-1]), self.types, "".join(sizes), (*sizes.values(),)
        )
        steps = moved_steps(self.steps, own[2:])
        if self.has_bias:
            first = Step((own[-1], "n"), ("f32", "f32"), ((0, 0),), "f32", (_ADDITION,))
            chained = [tuple((at, number + 1) for at, number in step.chained) for step in steps]
            later = (replace(step, chained=at) for step, at in zip(steps, chained, strict=True))
            steps = (first, *later)
        return ProductProblem(contraction, steps, windows=None if is_matrix else windows)

    def loaded(self, operands: Sequence[Value]) -> list[Value]:
        """Build the operands that the kernel reads: images and filters whose channels are contiguous if steps have channels.

        The compiler transposes filters that are constants once.
        """
        if self.plain.windows is None or self.plain.windows.is_planar:
            return list(operands)
        images, filters, *rest = operands
        moved = [
            Producer(names.TRANSPOSE, given, element).build(value, _empty(value, given, read), read)
            for value, element, given, read in (
                (images, self.types[0], "acyx", "ayxc"),
                (filters, self.types[1], "ncpq", "npqc"),
            )
        ]
        return [*moved, *rest]

    @property
    def operands(self) -> tuple[tuple[str, str], ...]:
        """The loops and the element types of the operands and the result of the kernel, the result last."""
        return self.plain.operands

    @property
    def taken(self) -> tuple[int, ...]:
        """The positions, among the values of the graph, of the operands of the kernel."""
        first = 4 if self.has_bias else 3
        return (0, 1, *([2] if self.has_bias else []), *taken_by_steps(self.steps, first))

    def tensors(self) -> tuple[mlir.Type, ...]:
        """Return the types of the values of the graph: images, filters, the bias if there is one, the destination, and those of steps."""
        shapes = [self.images, self.filters, self.result]
        kinds: list[mlir.Type] = [
            mlir.RankedTensorType.get(shape, mlir.Type.parse(element))
            for shape, element in zip(shapes, self.types, strict=True)
        ]
        if self.has_bias:
            kinds.insert(2, self._tensor("n", self.types[2]))
        return (*kinds, *step_tensors(self.steps, _RESULT, self._tensor))

    def _tensor(self, loops: str, element: str) -> mlir.Type:
        sizes = {UNIT: 1, **self.loop_sizes}
        return mlir.RankedTensorType.get([sizes[at] for at in loops], mlir.Type.parse(element))

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the graph at the current insertion point."""
        images, filters, *rest = operands
        if self.has_bias:
            bias, destination = rest.pop(0), rest.pop(0)
            start = _named(
                _BROADCAST, [bias, destination], dimensions=mlir.DenseI64ArrayAttr.get(_OUTER)
            )
        else:
            destination = rest.pop(0)
            start = filled(destination.type, 0, destination)
        attributes = {name: mlir.Attribute.parse(text) for name, text in self.attributes}
        attributes["operandSegmentSizes"] = mlir.DenseI32ArrayAttr.get([2, 1])
        value = _named(names.CONVOLUTION_NCHW, [images, filters, start], **attributes)
        return built_steps(self.steps, value, rest, _RESULT)

    def __str__(self) -> str:
        shapes = ["x".join(map(str, shape)) for shape in (self.images, self.filters)]
        words = [f"strides{self.strides[0]}"] if max(self.strides) > 1 else []
        words += ["bias"] if self.has_bias else []
        kinds = dict.fromkeys(self.types)
        return "_".join(["convolution", *shapes, *kinds, *words, *step_names(self.steps)])


def _empty(value: Value, loops: str, moved: str) -> Value:
    """Build a tensor for the elements of another one in another order of its dimensions."""
    shape = [value.type.shape[loops.index(loop)] for loop in moved]
    return build("tensor.empty", mlir.RankedTensorType.get(shape, value.type.element_type))


def _numbers(attribute: mlir.Attribute) -> list[int]:
    values = mlir.DenseIntElementsAttr(attribute)
    return [int(values[at]) for at in range(len(values))]


def _named(name: str, operands: Sequence[Value], **attributes: mlir.Attribute) -> Value:
    """Build an op with a body of its own, and return its result, which has the type of the last operand."""
    operation = mlir.Operation.create(
        name,
        operands=list(operands),
        results=[operands[-1].type],
        attributes=attributes,
        regions=1,
    )
    _mlirDialectsLinalg.fill_builtin_region(operation)
    result: Value = operation.results[0]
    return result
