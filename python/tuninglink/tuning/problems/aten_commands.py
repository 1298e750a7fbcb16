"""Reading operations of PyTorch with the shapes of their operands, in the form of BOO's driver and of profiles.

A line has the shapes, types and strides of tensors, and the values of other arguments:
`aten::mm "[[64, 32], [32, 48]]" "['c10::Half', 'c10::Half']" "[[32, 1], [48, 1]]" "['', '']"`.
"""

from __future__ import annotations

import ast
import math
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tuninglink.tuning.problems import (
    Attention,
    Mask,
    Norm,
    Normalization,
    Problem,
    Product,
    RowOperation,
    Rows,
)
from tuninglink.tuning.problems.problem_text import (
    LARGEST_SIZE,
    ElementType,
    Layout,
    ProblemError,
    UnsupportedError,
)
from tuninglink.tuning.problems.windows import Convolution

ATEN_COMMAND: Final = re.compile(r"(?<!\S)aten::(?P<operation>[\w.]+)(?=\s|$)")
"""An operation of PyTorch, anywhere in a line."""

_TYPES: Final = {
    "float": ElementType.F32,
    "c10::Half": ElementType.F16,
    "c10::BFloat16": ElementType.BF16,
}


@dataclass(frozen=True)
class _Tensor:
    """A tensor among the arguments.

    Attributes:
        shape: its sizes.
        order: its dimensions in the order in which they are stored.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]

    @classmethod
    def of(cls, shape: Sequence[int], strides: Sequence[int]) -> _Tensor:
        """Return a tensor with a shape and strides.

        Raises:
            UnsupportedError: the elements are not contiguous.
        """
        order = sorted(range(len(shape)), key=lambda index: -strides[index])
        step = 1
        for index in reversed(order):
            # The stride of a dimension with one element is arbitrary.
            if strides[index] != step and shape[index] > 1:
                message = (
                    f"strides {[*strides]} of a tensor of {[*shape]} are not supported: it has gaps"
                )
                raise UnsupportedError(message)
            step *= shape[index]
        return cls(tuple(shape), tuple(order))

    @property
    def is_transposed(self) -> bool:
        """Whether the last two dimensions are stored in reverse order.

        Raises:
            UnsupportedError: the other dimensions are not in order.
        """
        *outer, row, column = range(len(self.shape))
        if self.order not in ((*outer, row, column), (*outer, column, row)):
            raise UnsupportedError(
                f"dimensions stored in the order {[*self.order]} are not supported"
            )
        return self.order[-1] == row

    def rows(self, first: int) -> tuple[int, int]:
        """Return the sizes of the matrix whose rows are the dimensions from `first` on, stored in order.

        Raises:
            UnsupportedError: the dimensions are stored in another order.
        """
        if self.order != tuple(range(len(self.shape))):
            raise UnsupportedError(
                f"dimensions stored in the order {[*self.order]} are not supported"
            )
        return math.prod(self.shape[:first]), math.prod(self.shape[first:])


@dataclass(frozen=True)
class _Call:
    """The arguments of an operation.

    Attributes:
        arguments: tensors and values of other arguments.
        element: the type of the tensors.
    """

    arguments: tuple[Any, ...]
    element: ElementType

    def tensors(self, *positions: int) -> list[_Tensor]:
        """Return the tensors at the given positions."""
        tensors = [self.value(position) for position in positions]
        if not all(isinstance(tensor, _Tensor) for tensor in tensors):
            raise ProblemError(f"expected tensors as arguments {', '.join(map(str, positions))}")
        return tensors

    def value(self, position: int, default: Any = None) -> Any:
        """Return an argument."""
        return self.arguments[position] if position < len(self.arguments) else default


def read_aten(line: str, command: re.Match[str]) -> Problem:
    """Read an operation of PyTorch.

    Args:
        line: the line.
        command: the match of `ATEN_COMMAND` in it.

    Raises:
        ProblemError: the arguments are malformed, or the operation is not supported.
    """
    column = command.start() + 1
    read = _READERS.get(command["operation"])
    if read is None:
        names = [f"aten::{name}" for name in _READERS]
        raise UnsupportedError.unknown("operation", command[0], names, column)
    arguments_column = command.end() + 2
    try:
        return read(_read_call(line[command.end() :]))
    except ProblemError as failure:
        raise type(failure)(str(failure), arguments_column) from None
    except (ValueError, TypeError, IndexError, SyntaxError):
        message = (
            "expected lists of shapes, types, strides and values, each quoted, for the arguments"
        )
        raise ProblemError(f"{message} of '{command[0]}'", arguments_column) from None


def _read_call(text: str) -> _Call:
    """Read the arguments of an operation: quoted lists of their shapes, types, strides and values."""
    shapes, types, strides, values = map(ast.literal_eval, shlex.split(text)[:4])
    elements, arguments = [], []
    for shape, kind, steps, value in zip(shapes, types, strides, values, strict=True):
        if value != "":
            arguments.append(ast.literal_eval(value))
        elif not shape and kind not in _TYPES:
            # An optional argument that is absent.
            arguments.append(None)
        else:
            if kind not in _TYPES:
                raise UnsupportedError.unknown("type", kind, _TYPES)
            if not all(isinstance(size, int) and 0 < size <= LARGEST_SIZE for size in shape):
                raise ProblemError(
                    f"invalid shape {shape}: expected numbers from 1 to {LARGEST_SIZE}"
                )
            elements.append(_TYPES[kind])
            arguments.append(_Tensor.of(shape, steps))
    if len(set(elements)) > 1:
        raise UnsupportedError("operands of different types are not supported")
    return _Call(tuple(arguments), elements[0])


def _product(call: _Call, first: int) -> Product:
    left, right = call.tensors(first, first + 1)
    *batch, m, k = left.shape
    *_, n = right.shape
    if right.shape != (*batch, k, n):
        raise ProblemError(f"shapes {[*left.shape]} and {[*right.shape]} cannot be multiplied")
    transposes = (left.is_transposed, right.is_transposed)
    return Product(m, n, k, call.element, batch[0] if batch else None, *transposes)


def _linear(call: _Call) -> Product:
    rows, weights = call.tensors(0, 1)
    n, k = weights.shape
    m, terms = rows.rows(len(rows.shape) - 1)
    if terms != k:
        raise ProblemError(f"shapes {[*rows.shape]} and {[*weights.shape]} cannot be multiplied")
    return Product(m, n, k, call.element, transposes_b=not weights.is_transposed)


def _attention(call: _Call) -> Attention:
    queries, keys, values = call.tensors(0, 1, 2)
    (heads, _), (kv_heads, _), (_, value_size) = (
        tensor.rows(2) for tensor in (queries, keys, values)
    )
    *_, length, features = queries.shape
    if value_size != math.prod(keys.shape[2:]):
        raise UnsupportedError("values whose size differs from that of keys are not supported")
    if call.value(4):
        raise UnsupportedError("dropout is not supported: results would be random")
    given = isinstance(call.value(3), _Tensor)
    return Attention(
        *(heads, length, keys.shape[2], features, call.element),
        Mask.GIVEN if given else Mask.CAUSAL if call.value(5) else None,
        kv_heads if kv_heads != heads else None,
    )


def _convolution(call: _Call, groups: int) -> Convolution:
    """Read a convolution.

    Args:
        call: the call.
        groups: the position of the number of groups.
    """
    image, filters = call.tensors(0, 1)
    strides, padding, dilations = (tuple(call.value(position)) for position in (3, 4, 5))
    if groups > _FLAT_GROUPS and call.value(_FLAT_GROUPS):
        raise UnsupportedError("transposed convolutions are not supported: use words")
    default = Layout.default(len(image.shape) - 2)
    image_order, filters_order = (
        "".join(letters[index] for index in tensor.order)
        for letters, tensor in ((default.image, image), (default.filters, filters))
    )
    # PyTorch stores channels last if it does so in an operand.
    is_last = image_order[-1] == "c" or filters_order[-1] == "c"
    result = f"n{default.axes}f" if is_last else default.result
    (images, channels, *size), (outputs, _, *kernel) = image.shape, filters.shape
    return Convolution(
        *(images, channels, tuple(size), outputs, tuple(kernel), call.element),
        *(
            strides,
            padding,
            dilations,
            Layout(image_order, filters_order, result),
            call.value(groups),
        ),
    )


_FLAT_GROUPS: Final = 6
"""The position of the groups in a `conv2d`; a `convolution` has the flag `transposed` there."""


def _layer_norm(call: _Call) -> Normalization:
    (matrix,) = call.tensors(0)
    rows, columns = matrix.rows(len(matrix.shape) - len(call.value(1)))
    is_affine = isinstance(call.value(2), _Tensor)
    return Normalization(Norm.LAYER, rows, columns, call.element, is_affine)


def _of_rows(call: _Call, operation: RowOperation) -> Rows:
    (matrix,) = call.tensors(0)
    rank, dimension = len(matrix.shape), call.value(1)
    if dimension not in (rank - 1, -1):
        raise UnsupportedError(f"dimension {dimension} is not supported: expected the last one")
    return Rows(operation, *matrix.rows(rank - 1), call.element)


_READERS: Final[dict[str, Callable[[_Call], Problem]]] = {
    "mm": partial(_product, first=0),
    "bmm": partial(_product, first=0),
    "addmm": partial(_product, first=1),
    "baddbmm": partial(_product, first=1),
    "linear": _linear,
    "scaled_dot_product_attention": _attention,
    "convolution": partial(_convolution, groups=8),
    **{f"conv{rank}d": partial(_convolution, groups=_FLAT_GROUPS) for rank in (1, 2, 3)},
    "layer_norm": _layer_norm,
    "native_layer_norm": _layer_norm,
    "argmax": partial(_of_rows, operation=RowOperation.ARG_COMPARE),
    "softmax": partial(_of_rows, operation=RowOperation.SOFTMAX),
    "_softmax": partial(_of_rows, operation=RowOperation.SOFTMAX),
}
"""Readers of the arguments of an operation."""
