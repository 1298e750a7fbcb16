"""Depthwise convolutions of images whose channels come first, as data, and their form for CPUs: a sum of shifted images.

Frontends from PyTorch and ONNX write `linalg.depthwise_conv_2d_nchw_chw`, for which the CPU backend has no vector code. The
form is one elementwise op, whose vectors lie along the rows of the image. On one core with AVX-512, 64 channels of 28x28
and 3x3 filters take 218 µs as a convolution, 164 µs with loops unrolled, and 21 µs as a sum.

Where the program moves the channels of the result last, as in ConvNeXt, the compiler fuses that into the op, whose vectors
then lie along the channels, and gathers each: 593 µs for 96 channels of 16x16 and 7x7 filters. There, the form moves the
channels of its operands last: 39 µs. The compiler undoes the transpositions next to those of the program.

Why it computes the same. An element of the result is the element of the destination plus, for each element of the
window, in order, that of the image times that of the filter. The form has an operand for each element of the window: the
image shifted by its position, in steps of the strides, and this element of the filters of all channels. It starts from
the destination, and adds the products in the same order, so that results agree up to the rounding of fused
multiplications and additions. All operands are passed on. Moving channels moves elements of the image, the filter and the
destination, and those of the result back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

# `iree.compiler.dialects` re-exports it, but takes 140 ms to build the classes of the ops.
from iree.compiler._mlir_libs import _mlirDialectsLinalg  # type: ignore[attr-defined]

from tuninglink.forms.building import FormOf, cut, transposed
from tuninglink.iree import StructuredOp
from tuninglink.mlir import names
from tuninglink.payloads import Value, build, computed
from tuninglink.replacing import NoFormError, Spelled

if TYPE_CHECKING:
    from collections.abc import Sequence

DEPTHWISE: Final = "linalg.depthwise_conv_2d_nchw_chw"

_STEPS: Final = ("strides", "dilations")

_LAST: Final = (0, 2, 3, 1)
_FIRST: Final = (0, 3, 1, 2)
"""The orders of dimensions that move the channels last, and back."""

_LARGEST_WINDOW: Final = 49
"""The most elements of a window, each of which is two operands; 7x7 is measured, 4.2 times as fast."""


@dataclass(frozen=True)
class Depthwise(Spelled):
    """A depthwise convolution in f32 of images whose channels come first, of static sizes.

    Attributes:
        shapes: the sizes of the image, the filter and the result.
        strides: the steps of the window along both dimensions of the image.
        dilations: the steps between the elements of a window.
        container: the kind of type of the attributes with the steps: `vector`, or `tensor`.
        ends_last: whether all that read the result move the channels last. The problem is the same.
    """

    shapes: tuple[tuple[int, ...], ...]
    strides: tuple[int, ...] = (1, 1)
    dilations: tuple[int, ...] = (1, 1)
    container: str = "vector"
    ends_last: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, operation: mlir.Operation) -> Depthwise:
        """Read a depthwise convolution.

        Raises:
            NoFormError: the operation is something else, or has properties that no form covers.
        """
        op = StructuredOp(operation.operation)
        if op.name != DEPTHWISE:
            raise NoFormError(f"it is not {DEPTHWISE}")
        attributes = {*operation.attributes}
        if attributes - {*_STEPS, "operandSegmentSizes", "linalg.memoized_indexing_maps"}:
            raise NoFormError("it has attributes such as a configuration")
        steps = [operation.attributes[name] for name in _STEPS if name in attributes]
        containers = {type(step.type) for step in steps}
        if len(steps) != len(_STEPS) or len(containers) != 1:
            raise NoFormError("its strides and dilations are not given alike")
        if any(operand.encoding for operand in op.operands):
            raise NoFormError("its tensors have encodings")
        if {*op.element_types} != {"f32"}:
            raise NoFormError("it has element types other than f32")
        if not op.results or any(None in (operand.sizes or ()) for operand in op.operands):
            raise NoFormError("it has dynamic sizes, or no tensors")
        shapes = [
            tuple(size for size in operand.sizes or () if size is not None)
            for operand in op.operands
        ]
        numbers = [mlir.DenseIntElementsAttr(step) for step in steps]
        strides, dilations = (tuple(step[at] for at in range(len(step))) for step in numbers)
        container = "vector" if mlir.VectorType in containers else "tensor"
        readers = [use.owner for use in operation.results[0].uses]
        ends_last = all(
            reader.name == names.TRANSPOSE and (*reader.attributes["permutation"],) == _LAST
            for reader in readers
        )
        return cls(tuple(shapes), strides, dilations, container, ends_last and bool(readers))

    @property
    def spellings(self) -> tuple[Depthwise, ...]:
        """The ways in which the problem may be written at the preprocessing stage, its own first."""
        others = (replace(self, container=container) for container in ("vector", "tensor"))
        return tuple(dict.fromkeys([self, *others]))

    def tensors(self) -> tuple[mlir.Type, ...]:
        """Return the types of the operands, in the current context."""
        return tuple(mlir.RankedTensorType.get(shape, mlir.F32Type.get()) for shape in self.shapes)

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the op at the current insertion point."""
        steps = {
            name: mlir.Attribute.parse(f"dense<{[*values]}> : {self.container}<2xi64>")
            for name, values in zip(_STEPS, (self.strides, self.dilations), strict=True)
        }
        segments = mlir.DenseI32ArrayAttr.get([2, 1])
        operation = mlir.Operation.create(
            DEPTHWISE,
            results=[operands[-1].type],
            operands=operands,
            attributes={**steps, "operandSegmentSizes": segments},
            regions=1,
        )
        _mlirDialectsLinalg.fill_builtin_region(operation)
        result: Value = operation.results[0]
        return result

    def __str__(self) -> str:
        """Return the sizes of image and filter, and steps other than 1, such as `1x64x30x30_by_64x3x3_strides_2x2`."""
        words = ["_by_".join("x".join(map(str, shape)) for shape in self.shapes[:2])]
        for name, values in zip(_STEPS, (self.strides, self.dilations), strict=True):
            if {*values} != {1}:
                words.append(f"{name}_{'x'.join(map(str, values))}")
        return "_".join(words)


@dataclass(frozen=True)
class ShiftedSum(FormOf[Depthwise]):
    """A sum of shifted images in place of a depthwise convolution.

    Attributes:
        is_last: whether the images have their channels last.
    """

    is_last: bool = False

    @property
    def label(self) -> str:
        """The name of the form, for symbols."""
        return f"shifted_sum_{self.problem}" + "_channels_last" * self.is_last

    def __str__(self) -> str:
        _, filter_, result = self.problem.shapes
        sizes, window = ("x".join(map(str, shape)) for shape in (result, filter_[1:]))
        text = f"depthwise convolution {sizes} as a sum of {window} shifted images"
        return text + ", channels last" * self.is_last

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the form at the current insertion point."""
        image, filter_, init = operands
        _, (channels, *window), _ = self.problem.shapes
        if self.is_last:
            image, init = transposed(image, _LAST), transposed(init, _LAST)
            filter_ = transposed(filter_, (1, 2, 0))
        number = mlir.F32Type.get()
        weights = mlir.RankedTensorType.get([channels], number)

        def placed(channel: int, along: Sequence[int]) -> list[int]:
            return [*along, channel] if self.is_last else [channel, *along]

        images, factors = [], []
        for at in product(*map(range, window)):
            offsets = [one * step for one, step in zip(at, self.problem.dilations, strict=True)]
            strides = [1, *placed(1, self.problem.strides)]
            images.append(cut(image, init.type, [0, *placed(0, offsets)], strides=strides))
            factors.append(cut(filter_, weights, placed(0, at), placed(channels, [1, 1])))

        def element(*numbers: Value) -> Value:
            *pairs, total = numbers
            count = len(images)
            for one, other in zip(pairs[:count], pairs[count:], strict=True):
                total = build("arith.addf", number, total, build("arith.mulf", number, one, other))
            return total

        whole = mlir.AffineMap.get_identity(4)
        channel = mlir.AffineMap.get(4, 0, [mlir.AffineDimExpr.get(3 if self.is_last else 1)])
        maps = [*[whole] * len(images), *[channel] * len(factors), whole]
        result = computed([*images, *factors], maps, init, element)
        return transposed(result, _FIRST) if self.is_last else result


def shifted_sums(problem: Depthwise) -> tuple[ShiftedSum, ...]:
    """Return the forms of a problem for CPUs.

    Raises:
        NoFormError: there is none, with the reason.
    """
    if problem.strides[-1] != 1 and not problem.ends_last:
        # Every second element of a row is a gather: 518 µs instead of 239 µs for 128 channels of 50x50.
        raise NoFormError("its window takes steps along rows")
    if prod(problem.shapes[1][1:]) > _LARGEST_WINDOW:
        raise NoFormError(f"its window has more than {_LARGEST_WINDOW} elements")
    return (ShiftedSum(problem, problem.ends_last),)
