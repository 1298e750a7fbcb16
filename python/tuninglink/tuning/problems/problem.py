"""Kinds of problems that are given without a program, and their words, such as `matmul 2048x1280x5120 f16 transpose_b`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias, TypeVar

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


def joined_sizes(*sizes: int) -> str:
    """Return sizes as one word."""
    return "x".join(map(str, sizes))


class ElementType(Enum):
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


class ScaledType(Enum):
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
        """The letters of an image's extents, in their order."""
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
        image, *orders = text.split("_")
        filters, result = (*orders, image.replace("c", "f"))[:2] if orders else ("", "")
        expected = next(
            (axes for axes in _AXES.values() if sorted(image) == sorted(f"nc{axes}")), ""
        )
        is_valid = (
            expected
            and len(orders) <= len(("filters", "result"))
            and sorted(filters) == sorted(f"fc{expected}")
            and sorted(result) == sorted(f"nf{expected}")
        )
        if not is_valid:
            form = "the orders of image and filters, such as nhwc_fhwc, or also of the result, as in nhwc_fhwc_nfhw"
            raise ProblemError(f"invalid layout '{text}': expected {form}", column)
        return cls(image, filters, result)


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
            padded = (
                size + 2 * margin for size, margin in zip(self.size, self.padding, strict=True)
            )
            kernel, size = joined_sizes(*self.kernel), joined_sizes(*padded)
            message = f"the {self._noun} of {kernel} does not fit into padded images of {size}"
            raise ProblemError(message)

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
        steps = {"stride": (self.strides, stride), "padding": (self.padding, (0,))}
        for word, values in {**steps, "dilation": (self.dilations, (1,))}.items():
            # One number stands for all extents.
            value, default = (each[:1] if len(set(each)) == 1 else each for each in values)
            if value != default:
                yield f"{word}={joined_sizes(*value)}"


class Spread(NamedTuple):
    """The places of elements in a longer dimension."""

    first: int
    kept: int
    stride: int
    start: int
    extent: int


class Gradient(Enum):
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
            extents, default = joined_sizes(*self.size), Layout.default(rank)
            message = f"a convolution of images of {extents} has a layout such as {default}"
            raise ProblemError(f"{message}, not {self.layout}")
        if self.channels % self.groups or self.outputs % self.groups:
            counts = f"{self.channels} channels and {self.outputs} filters"
            raise ProblemError(f"{counts} cannot be divided into {self.groups} groups")
        super().__post_init__()
        is_padding = any(self.spread(axis).kept < 1 for axis in self.layout.axes)
        if self.gradient is Gradient.DATA and is_padding:
            raise ProblemError("no window contains an element of the image: its gradient is zero")

    def spread(self, axis: str) -> Spread:
        """Return the places of the result's elements along an extent, for windows with steps of 1 over its gradient.

        Element `i` has the place `stride * i + dilation * (kernel - 1) - padding`. Elements with places outside of the
        extent of image and window are omitted, since no element of the image contributes to them.
        """
        index = self.layout.axes.index(axis)
        stride, reach = self.strides[index], self.dilations[index] * (self.kernel[index] - 1)
        offset, extent = reach - self.padding[index], self.size[index] + reach
        first = max(0, -(offset // stride))
        end = min(self.output_size[index], (extent - 1 - offset) // stride + 1)
        return Spread(first, end - first, stride, offset + stride * first, extent)

    def __str__(self) -> str:
        image = joined_sizes(self.images, self.channels, *self.size)
        words = ["conv", image, joined_sizes(self.outputs, *self.kernel), self.element.value]
        groups = [f"groups={self.groups}"] if self.groups > 1 else []
        gradient = [f"gradient={self.gradient.value}"] if self.gradient else []
        return " ".join([*words, *self._steps(), *groups, f"layout={self.layout}", *gradient])


class PoolingOperation(Enum):
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
        image = joined_sizes(self.images, self.channels, *self.size)
        words = [self.operation.value, image, joined_sizes(*self.kernel), self.element.value]
        last = ["channels_last"] if self.is_channels_last else []
        return " ".join([*words, *self._steps(self.kernel), *last])


# --- Products, attentions, and operations on matrices


@dataclass(frozen=True)
class Product:
    """A product of matrices.

    Attributes:
        m: the rows of the result.
        n: the columns of the result.
        k: the terms of each sum.
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
        if isinstance(self.element, ScaledType):
            kind = "scaled_matmul"
        batch = () if self.batch is None else (self.batch,)
        sizes = joined_sizes(*batch, self.m, self.n, self.k)
        transposes = {"transpose_a": self.transposes_a, "transpose_b": self.transposes_b}
        words = [word for word, is_given in transposes.items() if is_given]
        return " ".join([kind, sizes, self.element.value, *words])


class Mask(Enum):
    """The mask that is added to the scores of an attention. The values are its words."""

    GIVEN = "mask"
    CAUSAL = "causal"


@dataclass(frozen=True)
class Attention:
    """An attention.

    Attributes:
        heads: the number of heads of the queries, of all sequences together.
        queries: the length of the queries.
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
        sizes = joined_sizes(self.heads, self.queries, self.keys, self.features)
        mask = [self.mask.value] if self.mask else []
        kv_heads = [f"kv_heads={self.kv_heads}"] if self.kv_heads else []
        return " ".join(["attention", sizes, self.element.value, *mask, *kv_heads])


class MatrixOperation(Enum):
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
        count = () if self.count is None else (self.count,)
        sizes = joined_sizes(self.rows, self.columns, *count)
        affine = ["affine"] if self.is_affine else []
        return " ".join([self.operation.value, sizes, self.element.value, *affine])


Problem: TypeAlias = Product | Convolution | Pooling | Attention | MatrixProblem


# --- Reading the words of a problem

_Choice = TypeVar("_Choice", bound=Enum)


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
        values = [value.value for value in kind]
        text = self.take(f"{noun}: one of {', '.join(values)}") if text is None else text
        if text not in values:
            raise ProblemError.unknown(noun, text, values, self.column)
        return kind(text)

    def wide_type(self, operation: str) -> ElementType:
        """Return the next word as the type of a floating-point operation and of its results."""
        element = self.member("type", ElementType)
        if element.is_narrow:
            raise ProblemError(f"{operation} needs the type f16, bf16 or f32", self.column)
        return element

    def options(self, readers: Mapping[str, Callable[[str], Any]]) -> dict[str, Any]:
        """Read the other words: `NAME=VALUE`, whose value a reader gets, or a word that a reader gets itself."""
        given = {}
        while self._rest:
            word = self.take("")
            name, _, value = word.partition("=")
            if f"{name}=" in readers:
                given[name] = readers[f"{name}="](value)
            elif word in readers:
                given[word] = readers[word](word)
            elif readers:
                raise ProblemError.unknown("word", word, readers, self.column)
            else:
                raise ProblemError(f"unexpected word '{word}' after the type", self.column)
        return given


def read_words(text: str) -> Problem:
    """Read a problem; raise a `ProblemError` if the text is none."""
    words = _Words(text)
    kind = words.take(f"an operation: one of {', '.join(OPERATIONS)}")
    read = OPERATIONS.get(kind)
    if read is None:
        raise ProblemError.unknown("operation", kind, OPERATIONS, words.column)
    return read(words)


def _read_product(kind: type[ElementType | ScaledType], *forms: str, words: _Words) -> Product:
    *batch, m, n, k = words.sizes(*forms)
    element = words.member("type", kind)
    transposes = ("transpose_a", "transpose_b") if kind is ElementType else ()
    given = words.options(dict.fromkeys(transposes, bool))
    is_given = (word in given for word in ("transpose_a", "transpose_b"))
    return Product(m, n, k, element, batch[0] if batch else None, *is_given)


_EXTENTS: Final = ("W", "HxW", "DxHxW")
"""The forms of an image's extents."""


def _read_windows(operation: PoolingOperation | None, words: _Words) -> Convolution | Pooling:
    """Read a pooling; a convolution if there is no operation."""
    images, channels, *size = words.sizes(*(f"NxCx{extents}" for extents in _EXTENTS))
    rank, extents = len(size), _EXTENTS[len(size) - 1]
    form = f"K{extents.replace('x', 'xK')}"
    filters = words.sizes(form if operation else f"Fx{form}")
    element = words.wide_type(operation.value) if operation else words.member("type", ElementType)

    def steps(least: int, text: str) -> tuple[int, ...]:
        # One number stands for all extents.
        sizes = words.sizes(extents if "x" in text else "N", text=text, least=least)
        return sizes if "x" in text else sizes * rank

    readers: dict[str, Callable[[str], Any]] = {
        "stride=": partial(steps, 1),
        "padding=": partial(steps, 0),
        "dilation=": partial(steps, 1),
    }
    if operation:
        readers["channels_last"] = bool
    else:
        readers["groups="] = lambda text: words.sizes("N", text=text)[0]
        readers["layout="] = lambda text: Layout.parse(text, words.column)
        readers["gradient="] = lambda text: words.member("gradient", Gradient, text)
    given = words.options(readers)
    places = given.get("padding", (0,) * rank), given.get("dilation", (1,) * rank)
    if operation:
        # PyTorch's windows do not overlap unless strides are given.
        sizes = (operation, images, channels, tuple(size), filters, element)
        return Pooling(*sizes, given.get("stride", filters), *places, "channels_last" in given)
    outputs, *kernel = filters
    return Convolution(
        *(images, channels, tuple(size), outputs, tuple(kernel), element),
        given.get("stride", (1,) * rank),
        *places,
        given.get("layout", Layout.default(rank)),
        given.get("groups", 1),
        given.get("gradient"),
    )


def _read_attention(words: _Words) -> Attention:
    heads, queries, keys, features = words.sizes("HEADSxQUERIESxKEYSxFEATURES")
    element = words.wide_type("attention")
    masks: list[Mask] = []

    def read_mask(word: str) -> None:
        if masks:
            raise ProblemError(f"unexpected word '{word}': an attention has one mask", words.column)
        masks.append(Mask(word))

    readers: dict[str, Callable[[str], Any]] = {mask.value: read_mask for mask in Mask}
    readers["kv_heads="] = lambda text: words.sizes("N", text=text)[0]
    kv_heads = words.options(readers).get("kv_heads")
    return Attention(heads, queries, keys, features, element, masks[0] if masks else None, kv_heads)


_COUNTS: Final = {
    MatrixOperation.TOPK: "xK",
    MatrixOperation.GATHER: "xCOUNT",
    MatrixOperation.SCATTER: "xCOUNT",
}


def _read_matrix(operation: MatrixOperation, words: _Words) -> MatrixProblem:
    rows, columns, *count = words.sizes(f"ROWSxCOLUMNS{_COUNTS.get(operation, '')}")
    element = words.wide_type(operation.value)
    is_norm = operation in (MatrixOperation.LAYER_NORM, MatrixOperation.RMS_NORM)
    given = words.options({"affine": bool} if is_norm else {})
    moved = count[0] if count else None
    return MatrixProblem(operation, rows, columns, element, moved, "affine" in given)


OPERATIONS: Final[dict[str, Callable[[_Words], Problem]]] = {
    "matmul": lambda words: _read_product(ElementType, "MxNxK", words=words),
    "batch_matmul": lambda words: _read_product(ElementType, "BxMxNxK", words=words),
    "scaled_matmul": lambda words: _read_product(ScaledType, "MxNxK", "BxMxNxK", words=words),
    "conv": partial(_read_windows, None),
    **{operation.value: partial(_read_windows, operation) for operation in PoolingOperation},
    "attention": _read_attention,
    **{operation.value: partial(_read_matrix, operation) for operation in MatrixOperation},
}
"""Readers of the words after the one for an operation."""
