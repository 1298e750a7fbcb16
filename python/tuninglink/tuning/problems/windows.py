"""Problems whose windows slide over images: convolutions with their gradients, and poolings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from tuninglink.tuning.problems.problem_text import (
    ElementType,
    Layout,
    ProblemError,
    joined_sizes,
    shortest,
)


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
        """Yield the words for steps that differ from the defaults; `stride` is the default stride."""
        steps = {"stride": (self.strides, stride), "padding": (self.padding, (0,))}
        for word, (value, default) in {**steps, "dilation": (self.dilations, (1,))}.items():
            if shortest(value) != shortest(default):
                yield f"{word}={joined_sizes(*shortest(value))}"


@dataclass(frozen=True)
class Spread:
    """The places of elements in a longer dimension.

    Attributes:
        first: the first element that has a place.
        count: the number of elements with places.
        stride: the distance between two places.
        start: the place of the first element.
        extent: the size of the longer dimension.
    """

    first: int
    count: int
    stride: int
    start: int
    extent: int

    @classmethod
    def whole(cls, size: int) -> Spread:
        """Return the places of elements that stay where they are."""
        return cls(0, size, 1, 0, size)

    @property
    def margins(self) -> tuple[int, int]:
        """The numbers of places before and after the elements, where these are next to each other."""
        return self.start, self.extent - self.start - self.count


class Gradient(Enum):
    """The operand of a convolution whose gradient is computed. The values are the words for it."""

    DATA = "data"
    WEIGHTS = "weights"


_PYTORCH: Final = Layout.default(2)


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

    def __post_init__(self) -> None:
        if len(self.layout.axes) != (rank := len(self.size)):
            extents, default = joined_sizes(*self.size), Layout.default(rank)
            message = f"a convolution of images of {extents} has a layout such as {default}"
            raise ProblemError(f"{message}, not {self.layout}")
        if self.channels % self.groups or self.outputs % self.groups:
            counts = f"{self.channels} channels and {self.outputs} filters"
            raise ProblemError(f"{counts} cannot be divided into {self.groups} groups")
        self._check_fit("filter")
        is_padding = any(self.spread(axis).count < 1 for axis in self.layout.axes)
        if self.gradient is Gradient.DATA and is_padding:
            raise ProblemError("no window contains an element of the image: its gradient is zero")

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel has a separate filter."""
        return 1 < self.groups == self.channels == self.outputs

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
