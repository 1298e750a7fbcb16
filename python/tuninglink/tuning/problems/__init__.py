"""Problems given without a program, as words or as lines of other tools: their kinds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from tuninglink.tuning.problems.problem_text import ProblemError, joined_sizes, shortest


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
        """Whether results have the type of sums: they do not fit into eight bits."""
        return self not in (ElementType.F16, ElementType.BF16, ElementType.F32)


class Layout(Enum):
    """The layouts of a convolution's image and filter. The values are the words for them, and parts of the names of MLIR's ops."""

    NCHW_FCHW = "nchw_fchw"
    NHWC_HWCF = "nhwc_hwcf"
    NHWC_FHWC = "nhwc_fhwc"
    NCW_FCW = "ncw_fcw"
    NWC_WCF = "nwc_wcf"
    NCDHW_FCDHW = "ncdhw_fcdhw"
    NDHWC_DHWCF = "ndhwc_dhwcf"

    @property
    def axes(self) -> str:
        """The letters of an image's extents, in their order: depth, rows and columns."""
        return "".join(letter for letter in "dhw" if letter in self.value)

    @classmethod
    def default(cls, rank: int) -> Layout:
        """Return the layout of PyTorch for a number of extents."""
        return next(layout for layout in cls if len(layout.axes) == rank)


@dataclass(frozen=True)
class Product:
    """A product of matrices.

    Attributes:
        m: the rows of the result.
        n: the columns of the result.
        k: the terms of each sum.
        element: the type of the operands.
        batch: the number of products; None for one without its own dimension.
        transposes_a: whether the left-hand side is stored as k by m.
        transposes_b: whether the right-hand side is stored as n by k.
    """

    m: int
    n: int
    k: int
    element: ElementType
    batch: int | None = None
    transposes_a: bool = False
    transposes_b: bool = False

    def __str__(self) -> str:
        batch = () if self.batch is None else (self.batch,)
        kind = "batch_matmul" if batch else "matmul"
        sizes = joined_sizes(*batch, self.m, self.n, self.k)
        transposes = {"transpose_a": self.transposes_a, "transpose_b": self.transposes_b}
        words = [word for word, is_given in transposes.items() if is_given]
        return " ".join([kind, sizes, self.element.value, *words])


class _Windows:
    """A problem whose windows slide over padded images.

    Attributes:
        size: the extents of an image, without padding.
        kernel: the extents of a window.
        strides: the steps of the window.
        padding: the elements added on each side of an image.
        dilations: the steps between elements of a window.
    """

    size: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilations: tuple[int, ...]

    @property
    def padded_size(self) -> tuple[int, ...]:
        """The extents of a padded image."""
        sizes = zip(self.size, self.padding, strict=True)
        return tuple(size + 2 * margin for size, margin in sizes)

    @property
    def output_size(self) -> tuple[int, ...]:
        """The extents of the result."""
        return tuple(
            (size - dilation * (kernel - 1) - 1) // stride + 1
            for size, dilation, kernel, stride in zip(
                self.padded_size, self.dilations, self.kernel, self.strides, strict=True
            )
        )

    def _check_fit(self, noun: str) -> None:
        if min(self.output_size) < 1:
            kernel, size = joined_sizes(*self.kernel), joined_sizes(*self.padded_size)
            raise ProblemError(f"the {noun} of {kernel} does not fit into padded images of {size}")

    def _steps(self, stride: tuple[int, ...] = (1,)) -> Iterator[str]:
        """Yield the words for steps other than the defaults; `stride` is that of strides."""
        steps = {"stride": (self.strides, stride), "padding": (self.padding, (0,))}
        for word, (value, default) in {**steps, "dilation": (self.dilations, (1,))}.items():
            if shortest(value) != shortest(default):
                yield f"{word}={joined_sizes(*shortest(value))}"


@dataclass(frozen=True)
class Convolution(_Windows):
    """A convolution of images, whose extents are columns, rows and columns, or depth, rows and columns.

    Attributes:
        images: the number of images.
        channels: the channels of an image.
        outputs: the channels of the result.
        element: the type of the operands.
        layout: the orders of the dimensions.
        groups: the number of groups into which channels and outputs are divided.
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
    layout: Layout = Layout.NCHW_FCHW
    groups: int = 1

    def __post_init__(self) -> None:
        if len(self.layout.axes) != (rank := len(self.size)):
            valid = " or ".join(layout.value for layout in Layout if len(layout.axes) == rank)
            extents = joined_sizes(*self.size)
            raise ProblemError(f"a convolution of images of {extents} has the layout {valid}")
        if self.channels % self.groups or self.outputs % self.groups:
            counts = f"{self.channels} channels and {self.outputs} filters"
            raise ProblemError(f"{counts} cannot be divided into {self.groups} groups")
        grouped = (Layout.NCHW_FCHW, Layout.NHWC_FHWC)
        if self.layout not in grouped and self.groups > 1 and not self.is_depthwise:
            valid = " or ".join(layout.value for layout in grouped)
            grouping = "groups of several channels or filters"
            raise ProblemError(f"a convolution with {grouping} has the layout {valid}")
        self._check_fit("filter")

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel has a separate filter."""
        return 1 < self.groups == self.channels == self.outputs

    def __str__(self) -> str:
        image = joined_sizes(self.images, self.channels, *self.size)
        words = ["conv", image, joined_sizes(self.outputs, *self.kernel), self.element.value]
        groups = [f"groups={self.groups}"] if self.groups > 1 else []
        return " ".join([*words, *self._steps(), *groups, f"layout={self.layout.value}"])


class PoolingOperation(Enum):
    """The result of a pooling for a window. The values are the words for it."""

    MAXIMUM = "max_pool"
    AVERAGE = "avg_pool"


@dataclass(frozen=True)
class Pooling(_Windows):
    """A pooling of images with one or two extents: each window becomes an element.

    Attributes:
        operation: the result for a window.
        images: the number of images.
        channels: the channels of an image.
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

    def __post_init__(self) -> None:
        self._check_fit("window")

    def __str__(self) -> str:
        image = joined_sizes(self.images, self.channels, *self.size)
        words = [self.operation.value, image, joined_sizes(*self.kernel), self.element.value]
        last = ["channels_last"] if self.is_channels_last else []
        return " ".join([*words, *self._steps(self.kernel), *last])


@dataclass(frozen=True)
class Attention:
    """An attention.

    Attributes:
        heads: the number of heads, of all sequences together.
        queries: the length of the queries.
        keys: the length of the keys and values.
        features: the size of a query, a key and a value.
        element: the type of the operands.
        has_mask: whether a mask is added to the scores.
    """

    heads: int
    queries: int
    keys: int
    features: int
    element: ElementType
    has_mask: bool = False

    def __str__(self) -> str:
        sizes = joined_sizes(self.heads, self.queries, self.keys, self.features)
        return f"attention {sizes} {self.element.value}{' mask' if self.has_mask else ''}"


class RowOperation(Enum):
    """An operation on each row of a matrix. The values are the words for it."""

    SUM = "sum"
    SOFTMAX = "softmax"
    ARG_COMPARE = "arg_compare"


@dataclass(frozen=True)
class Rows:
    """An operation on each row of a matrix.

    Attributes:
        operation: the operation.
        rows: the number of rows.
        columns: the size of a row.
        element: the type of the matrix.
    """

    operation: RowOperation
    rows: int
    columns: int
    element: ElementType

    def __str__(self) -> str:
        return (
            f"{self.operation.value} {joined_sizes(self.rows, self.columns)} {self.element.value}"
        )


@dataclass(frozen=True)
class TopK:
    """The largest elements of each row of a matrix, and their positions.

    Attributes:
        rows: the number of rows.
        columns: the size of a row.
        count: the number of elements that are taken of a row.
        element: the type of the matrix.
    """

    rows: int
    columns: int
    count: int
    element: ElementType

    def __post_init__(self) -> None:
        if self.count > self.columns:
            raise ProblemError(f"rows of {self.columns} do not have {self.count} elements")

    def __str__(self) -> str:
        return f"topk {joined_sizes(self.rows, self.columns, self.count)} {self.element.value}"


Problem = Product | Convolution | Pooling | Attention | Rows | TopK
