"""Kinds of problems that are given without a program, and their words, such as `matmul 2048x1280x5120 f16 transpose_b`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar, Final, Literal, TypeAlias, TypeVar

from tuninglink.errors import did_you_mean


class ProblemError(ValueError):
    """An error about text that is not a valid problem.

    Attributes:
        column: the position of the invalid word, from 1.
    """

    def __init__(self, message: str, column: int = 1) -> None:
        super().__init__(message)
        self.column = column

    @classmethod
    def unknown(cls, noun: str, word: str, choices: Iterable[str], column: int = 1) -> ProblemError:
        """Return the error of a word that is not one of the choices."""
        listed = list(choices)
        hint = did_you_mean(word, listed)
        return cls(f"unknown {noun} '{word}': expected one of {', '.join(listed)}{hint}", column)


class UnsupportedError(ProblemError):
    """An error about a line of another tool whose problem cannot be tuned."""


LARGEST_SIZE: Final = (1 << 31) - 1
"""The largest size of a dimension. The bindings raise a `TypeError` for sizes above 64 bits."""


def read_sizes(texts: Iterable[str], least: int = 1) -> tuple[int, ...] | None:
    """Parse sizes; return None unless all are numbers from `least` to `LARGEST_SIZE`."""
    sizes = []
    for text in texts:
        if not text.isdecimal() or len(text) > len(str(LARGEST_SIZE)):
            return None
        sizes.append(int(text))
    return tuple(sizes) if all(least <= size <= LARGEST_SIZE for size in sizes) else None


def _sizes(*sizes: int | None) -> str:
    return "x".join(str(size) for size in sizes if size is not None)


def _line(*words: str | Literal[False] | None) -> str:
    return " ".join(word for word in words if word)


class ElementType(StrEnum):
    """The type of the operands. The values are the words for them, and MLIR's names."""

    F16 = "f16"
    BF16 = "bf16"
    F32 = "f32"
    I8 = "i8"
    F8E4M3FN = "f8E4M3FN"
    F8E4M3FNUZ = "f8E4M3FNUZ"
    F8E5M2 = "f8E5M2"
    F8E5M2FNUZ = "f8E5M2FNUZ"

    @property
    def is_narrow(self) -> bool:
        """Whether results have the type of sums, because they do not fit into eight bits."""
        return self not in (ElementType.F16, ElementType.BF16, ElementType.F32)

    @property
    def accumulator(self) -> str:
        """The type in which sums are computed."""
        return "i32" if self is ElementType.I8 else "f32"


class ScaledType(StrEnum):
    """The type of operands with scales of the type f8E8M0FNU. The values are the words for them, and MLIR's names."""

    F4E2M1FN = "f4E2M1FN"
    F8E4M3FN = "f8E4M3FN"
    F8E5M2 = "f8E5M2"


SCALED_BLOCK: Final = 32
"""The number of elements that share a scale, as in MXFP4 and MXFP8."""

_AXES: Final = {1: "w", 2: "hw", 3: "dhw"}
"""The letters of an image's extents by their number: depth, rows and columns."""


@dataclass(frozen=True)
class Layout:
    """The orders of a convolution's dimensions.

    The letters are n for images, c for channels, f for filters, and d, h and w for depth, rows and columns.
    """

    image: str
    filters: str
    result: str

    def __str__(self) -> str:
        parts = (self.image, self.filters, self.result)
        return "_".join(parts[:2] if self.result == self.image.replace("c", "f") else parts)

    @property
    def axes(self) -> str:
        return _AXES[len(self.image) - 2]

    @classmethod
    def default(cls, rank: int) -> Layout:
        """Return the layout of PyTorch for a number of extents."""
        return cls(*(lead + _AXES[rank] for lead in ("nc", "fc", "nf")))

    @classmethod
    def parse(cls, text: str, column: int = 1) -> Layout:
        """Read the orders of image and filters, such as `nhwc_fhwc`, and of the result if it is not the image's.

        The text has the place `column` in its line, for errors.
        """
        parts = text.split("_")
        orders = [*parts, parts[0].replace("c", "f")][:3]
        default = astuple(cls.default(len(parts[0]) - 2)) if len(parts[0]) - 2 in _AXES else ()
        if len(parts) not in (2, 3) or [*map(sorted, orders)] != [*map(sorted, default)]:
            form = "the orders of image and filters, such as nhwc_fhwc, or also of the result, as in nhwc_fhwc_nfhw"
            raise ProblemError(f"invalid layout '{text}': expected {form}", column)
        return cls(*orders)


# --- Problems whose windows slide over images: convolutions with their gradients, and poolings ---


class _Windows:
    """A problem whose windows slide over padded images."""

    size: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilations: tuple[int, ...]
    _noun: ClassVar = "window"

    def __post_init__(self) -> None:
        if min(self.output_size) < 1:
            padded = _sizes(*(a + 2 * b for a, b in zip(self.size, self.padding, strict=True)))
            fit = f"{_sizes(*self.kernel)} does not fit into padded images of {padded}"
            raise ProblemError(f"the {self._noun} of {fit}")

    @property
    def output_size(self) -> tuple[int, ...]:
        """The extents of the result."""
        return tuple(
            (size + 2 * margin - dilation * (kernel - 1) - 1) // stride + 1
            for size, margin, dilation, kernel, stride in zip(
                *(self.size, self.padding, self.dilations, self.kernel, self.strides), strict=True
            )
        )

    def _steps(self, stride: tuple[int, ...] = (1,)) -> Iterator[str]:
        """Yield the words for steps that differ from the defaults; `stride` is the default stride."""
        for word, values, default in (
            ("stride", self.strides, stride),
            ("padding", self.padding, (0,)),
            ("dilation", self.dilations, (1,)),
        ):
            # One number stands for all extents.
            value, usual = (part[:1] if len({*part}) == 1 else part for part in (values, default))
            if value != usual:
                yield f"{word}={_sizes(*value)}"


class Gradient(StrEnum):
    """The operand of a convolution whose gradient is computed. The values are the words for it."""

    DATA = "data"
    WEIGHTS = "weights"


_PYTORCH: Final = Layout.default(2)


@dataclass(frozen=True)
class Convolution(_Windows):
    """A convolution of images, whose extents are columns, rows and columns, or depth, rows and columns.

    Attributes:
        outputs: the channels of the result.
        groups: the number of groups into which channels and outputs are divided.
        gradient: the operand whose gradient is computed from that of the result; None for the result.
    """

    images: int
    channels: int
    size: tuple[int, ...]
    outputs: int
    kernel: tuple[int, ...]
    element: ElementType
    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0)
    dilations: tuple[int, ...] = (1, 1)
    layout: Layout = _PYTORCH
    groups: int = 1
    gradient: Gradient | None = None
    _noun: ClassVar = "filter"

    def __post_init__(self) -> None:
        if len(self.layout.axes) != (rank := len(self.size)):
            extents, default = _sizes(*self.size), Layout.default(rank)
            message = f"a convolution of images of {extents} has a layout such as {default}"
            raise ProblemError(f"{message}, not {self.layout}")
        if self.channels % self.groups or self.outputs % self.groups:
            counts = f"{self.channels} channels and {self.outputs} filters"
            raise ProblemError(f"{counts} cannot be divided into {self.groups} groups")
        super().__post_init__()
        axes = self.layout.axes if self.gradient is Gradient.DATA else ""
        if any(kept < 1 for _, kept, *_ in map(self.spread, axes)):
            raise ProblemError("no window contains an element of the image: its gradient is zero")

    def spread(self, axis: str) -> tuple[int, int, int, int, int]:
        """Return the places of the result's elements along an extent, for windows with steps of 1 over its gradient.

        Element `i` has the place `stride * i + dilation * (kernel - 1) - padding`. Elements with places outside of the
        extent of image and window are omitted, since no element of the image contributes to them.

        Returns:
            The first element and the number of elements, the stride and the start of their places, and the extent.
        """
        index = self.layout.axes.index(axis)
        stride, reach = self.strides[index], self.dilations[index] * (self.kernel[index] - 1)
        offset, extent = reach - self.padding[index], self.size[index] + reach
        first = max(0, -(offset // stride))
        end = min(self.output_size[index], (extent - 1 - offset) // stride + 1)
        return first, end - first, stride, offset + stride * first, extent

    def __str__(self) -> str:
        image = _sizes(self.images, self.channels, *self.size)
        words = ("conv", image, _sizes(self.outputs, *self.kernel), self.element, *self._steps())
        groups = self.groups > 1 and f"groups={self.groups}"
        gradient = self.gradient and f"gradient={self.gradient}"
        return _line(*words, groups, f"layout={self.layout}", gradient)


class PoolingOperation(StrEnum):
    """The result of a pooling for a window. The values are the words for it."""

    MAXIMUM = "max_pool"
    AVERAGE = "avg_pool"


@dataclass(frozen=True)
class Pooling(_Windows):
    """A pooling of images with one to three extents: each window becomes an element.

    Attributes:
        is_channels_last: whether channels are the last dimension, not the second.
    """

    operation: PoolingOperation
    images: int
    channels: int
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    element: ElementType
    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilations: tuple[int, ...]
    is_channels_last: bool = False

    def __str__(self) -> str:
        image = _sizes(self.images, self.channels, *self.size)
        words = (self.operation, image, _sizes(*self.kernel), self.element)
        return _line(*words, *self._steps(self.kernel), self.is_channels_last and "channels_last")


# --- Products, attentions, and operations on matrices


@dataclass(frozen=True)
class Product:
    """A product of matrices.

    Attributes:
        element: the type of the operands. Those of a scaled type have a scale for each block of a row, and the right-hand
            side has a row for each column.
        batch: the number of products; None for one without its own dimension.
        transposes_a: whether the left-hand side is stored as k by m.
        transposes_b: whether the right-hand side is stored as n by k.
    """

    m: int
    n: int
    k: int
    element: ElementType | ScaledType
    batch: int | None = None
    transposes_a: bool = False
    transposes_b: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.element, ScaledType) and self.k % SCALED_BLOCK:
            raise ProblemError(f"{self.k} terms are not whole blocks of {SCALED_BLOCK}")

    def __str__(self) -> str:
        kind = "matmul" if self.batch is None else "batch_matmul"
        kind = "scaled_matmul" if isinstance(self.element, ScaledType) else kind
        words = kind, _sizes(self.batch, self.m, self.n, self.k), self.element
        transposes = self.transposes_a and "transpose_a", self.transposes_b and "transpose_b"
        return _line(*words, *transposes)


class Mask(StrEnum):
    """The mask that is added to the scores of an attention. The values are its words."""

    GIVEN = "mask"
    CAUSAL = "causal"


@dataclass(frozen=True)
class Attention:
    """An attention.

    Attributes:
        heads: the number of heads of the queries, of all sequences together.
        keys: the length of the keys and values.
        features: the size of a query, a key and a value.
        mask: a mask that is an operand, or the one that hides keys behind a query's position.
        kv_heads: the number of heads of the keys and values; None if equal to that of the queries.
    """

    heads: int
    queries: int
    keys: int
    features: int
    element: ElementType
    mask: Mask | None = None
    kv_heads: int | None = None

    def __post_init__(self) -> None:
        if self.kv_heads and self.heads % self.kv_heads:
            message = f"{self.heads} heads of queries cannot share {self.kv_heads} heads of keys"
            raise ProblemError(message)

    def __str__(self) -> str:
        sizes = _sizes(self.heads, self.queries, self.keys, self.features)
        kv_heads = self.kv_heads and f"kv_heads={self.kv_heads}"
        return _line("attention", sizes, self.element, self.mask, kv_heads or None)


class MatrixOperation(StrEnum):
    """An operation on a matrix, mostly on each of its rows. The values are the words for it."""

    SUM = "sum"
    SOFTMAX = "softmax"
    ARG_COMPARE = "arg_compare"
    LAYER_NORM = "layer_norm"
    RMS_NORM = "rms_norm"
    TOPK = "topk"
    ADD = "add"
    TRANSPOSE = "transpose"
    GATHER = "gather"
    SCATTER = "scatter"


@dataclass(frozen=True)
class MatrixProblem:
    """An operation on a matrix.

    Attributes:
        count: the number of elements that are selected from a row, or of rows that are read or written; None for
            operations without one.
        is_affine: whether normalized rows are multiplied by weights, and biases are added after subtracting means.
    """

    operation: MatrixOperation
    rows: int
    columns: int
    element: ElementType
    count: int | None = None
    is_affine: bool = False

    def __post_init__(self) -> None:
        if self.operation is MatrixOperation.TOPK and (self.count or 0) > self.columns:
            raise ProblemError(f"rows of {self.columns} do not have {self.count} elements")

    def __str__(self) -> str:
        sizes = _sizes(self.rows, self.columns, self.count)
        return _line(self.operation, sizes, self.element, self.is_affine and "affine")


Problem: TypeAlias = Product | Convolution | Pooling | Attention | MatrixProblem


# --- Reading the words of a problem

_Choice = TypeVar("_Choice", bound=StrEnum)


class _Words:
    """The words of a line, which a reader takes one after the other."""

    def __init__(self, text: str) -> None:
        self._rest = list(re.finditer(r"\S+", text))[::-1]
        self._end = len(text.rstrip()) + 1
        self.column = 1

    def take(self, form: str) -> str:
        """Return the next word."""
        if not self._rest:
            raise ProblemError(f"expected {form}", self._end)
        word = self._rest.pop()
        self.column = word.start() + 1
        return word[0]

    def sizes(self, *forms: str, text: str | None = None, least: int = 1) -> tuple[int, ...]:
        """Return the next word as sizes, or the word `text` at the current column."""
        text = self.take(f"sizes {' or '.join(forms)}") if text is None else text
        parts = text.split("x")
        sizes = read_sizes(parts, least)
        if sizes is None or len(parts) not in [len(form.split("x")) for form in forms]:
            form = f"{' or '.join(forms)}, numbers from {least} to {LARGEST_SIZE}"
            raise ProblemError(f"invalid sizes '{text}': expected {form}", self.column)
        return sizes

    def member(self, noun: str, kind: type[_Choice], text: str | None = None) -> _Choice:
        """Return a value of an enumeration from the next word, or from the word `text` that was already taken."""
        text = self.take(f"{noun}: one of {', '.join(kind)}") if text is None else text
        if text not in [*kind]:
            raise ProblemError.unknown(noun, text, kind, self.column)
        return kind(text)

    def wide_type(self, operation: str) -> ElementType:
        """Return the next word as the type of a floating-point operation and of its results."""
        element = self.member("type", ElementType)
        if element.is_narrow:
            raise ProblemError(f"{operation} needs the type f16, bf16 or f32", self.column)
        return element

    def options(self, readers: Mapping[str, tuple[str, Callable[[str], Any]]]) -> dict[str, Any]:
        """Read the other words as fields: `NAME=VALUE`, whose value a reader gets, or a word that a reader gets itself."""
        fields = {}
        while self._rest:
            word = self.take("")
            if not readers:
                raise ProblemError(f"unexpected word '{word}' after the type", self.column)
            name, _, value = word.partition("=")
            key, argument = (f"{name}=", value) if f"{name}=" in readers else (word, word)
            if key not in readers:
                raise ProblemError.unknown("word", word, readers, self.column)
            field, read = readers[key]
            fields[field] = read(argument)
        return fields


def read_words(text: str) -> Problem:
    """Read a problem; raise a `ProblemError` if the text is none."""
    words = _Words(text)
    kind = words.take(f"an operation: one of {', '.join(OPERATIONS)}")
    if kind not in OPERATIONS:
        raise ProblemError.unknown("operation", kind, OPERATIONS, words.column)
    return OPERATIONS[kind](words)


def _read_product(kind: type[ElementType | ScaledType], *forms: str, words: _Words) -> Product:
    *batch, m, n, k = words.sizes(*forms)
    element = words.member("type", kind)
    options = {f"transpose_{side}": (f"transposes_{side}", bool) for side in "ab"}
    given = words.options(options if kind is ElementType else {})
    return Product(m, n, k, element, batch[0] if batch else None, **given)


_EXTENTS: Final = ("W", "HxW", "DxHxW")
"""The forms of an image's extents."""


def _read_windows(operation: PoolingOperation | None, words: _Words) -> Convolution | Pooling:
    """Read a pooling; a convolution if there is no operation."""
    images, channels, *size = words.sizes(*(f"NxCx{extents}" for extents in _EXTENTS))
    rank, extents = len(size), _EXTENTS[len(size) - 1]
    form = f"K{extents.replace('x', 'xK')}"
    filters = words.sizes(form if operation else f"Fx{form}")
    element = words.wide_type(operation) if operation else words.member("type", ElementType)

    def steps(text: str, least: int = 1) -> tuple[int, ...]:
        # One number stands for all extents.
        sizes = words.sizes(extents if "x" in text else "N", text=text, least=least)
        return sizes if "x" in text else sizes * rank

    readers: dict[str, tuple[str, Callable[[str], Any]]] = {
        "stride=": ("strides", steps),
        "padding=": ("padding", partial(steps, least=0)),
        "dilation=": ("dilations", steps),
    }
    places = {"padding": (0,) * rank, "dilations": (1,) * rank}
    if operation:
        given = words.options(readers | {"channels_last": ("is_channels_last", bool)})
        # PyTorch's windows do not overlap unless strides are given.
        given = places | {"strides": filters} | given
        return Pooling(operation, images, channels, tuple(size), filters, element, **given)
    readers |= {
        "groups=": ("groups", lambda text: words.sizes("N", text=text)[0]),
        "layout=": ("layout", lambda text: Layout.parse(text, words.column)),
        "gradient=": ("gradient", lambda text: words.member("gradient", Gradient, text)),
    }
    given = places | {"strides": (1,) * rank, "layout": Layout.default(rank)}
    given |= words.options(readers)
    outputs, *kernel = filters
    return Convolution(images, channels, tuple(size), outputs, tuple(kernel), element, **given)


def _read_attention(words: _Words) -> Attention:
    heads, queries, keys, features = words.sizes("HEADSxQUERIESxKEYSxFEATURES")
    element = words.wide_type("attention")
    masks: list[Mask] = []

    def read_mask(word: str) -> Mask:
        if masks:
            raise ProblemError(f"unexpected word '{word}': an attention has one mask", words.column)
        masks.append(Mask(word))
        return masks[0]

    readers: dict[str, tuple[str, Callable[[str], Any]]] = {
        **dict.fromkeys(Mask, ("mask", read_mask)),
        "kv_heads=": ("kv_heads", lambda text: words.sizes("N", text=text)[0]),
    }
    return Attention(heads, queries, keys, features, element, **words.options(readers))


def _read_matrix(operation: MatrixOperation, count: str, words: _Words) -> MatrixProblem:
    """Read an operation on a matrix; `count` is the form of its count, if it has one."""
    rows, columns, *counts = words.sizes(f"ROWSxCOLUMNS{count}")
    element = words.wide_type(operation)
    given = words.options({"affine": ("is_affine", bool)} if "norm" in operation else {})
    selected = counts[0] if counts else None
    return MatrixProblem(operation, rows, columns, element, selected, **given)


_COUNTS: Final = {"topk": "xK", "gather": "xCOUNT", "scatter": "xCOUNT"}

OPERATIONS: Final[dict[str, Callable[[_Words], Problem]]] = {
    "matmul": lambda words: _read_product(ElementType, "MxNxK", words=words),
    "batch_matmul": lambda words: _read_product(ElementType, "BxMxNxK", words=words),
    "scaled_matmul": lambda words: _read_product(ScaledType, "MxNxK", "BxMxNxK", words=words),
    "conv": partial(_read_windows, None),
    **{operation.value: partial(_read_windows, operation) for operation in PoolingOperation},
    "attention": _read_attention,
    **{
        operation.value: partial(_read_matrix, operation, _COUNTS.get(operation, ""))
        for operation in MatrixOperation
    },
}
"""Readers of the words after the one for an operation."""
