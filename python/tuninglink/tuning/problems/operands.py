"""The operands of problems: the types of their elements, and the orders of their dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from tuninglink.tuning.problems.problem_text import ProblemError


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


class ScaledType(Enum):
    """The type of operands with scales of the type f8E8M0FNU. The values are the words for them, and MLIR's names."""

    F4E2M1FN = "f4E2M1FN"
    F8E4M3FN = "f8E4M3FN"
    F8E5M2 = "f8E5M2"

    @property
    def bits(self) -> int:
        """The size of an element in bits."""
        return 4 if self is ScaledType.F4E2M1FN else 8


SCALED_BLOCK: Final = 32
"""The number of elements that share a scale, as in MXFP4 and MXFP8."""


_AXES: Final = {1: "w", 2: "hw", 3: "dhw"}
"""The letters of an image's extents by their number: depth, rows and columns."""


@dataclass(frozen=True)
class Layout:
    """The orders of a convolution's dimensions.

    A letter stands for each: n for images, c for channels, f for filters, and d, h and w for depth, rows and columns.

    Attributes:
        image: the order of the image.
        filters: the order of the filters.
        result: the order of the result.
    """

    image: str
    filters: str
    result: str

    def __str__(self) -> str:
        parts = (self.image, self.filters, self.result)
        return "_".join(parts[:2] if self.result == _of_result(self.image) else parts)

    @property
    def axes(self) -> str:
        """The letters of an image's extents, in their order."""
        return _AXES[len(self.image) - 2]

    @property
    def transposed(self) -> Layout:
        """The layout of the convolution whose image is the result of this one, and the other way round."""
        letters = str.maketrans("cf", "fc")
        return Layout(self.result.translate(letters), self.filters, self.image.translate(letters))

    @classmethod
    def default(cls, rank: int) -> Layout:
        """Return the layout of PyTorch for a number of extents."""
        return cls(*(lead + _AXES[rank] for lead in ("nc", "fc", "nf")))

    @classmethod
    def parse(cls, text: str, column: int = 1) -> Layout:
        """Read a layout.

        Args:
            text: the orders of image and filters, such as `nhwc_fhwc`, and of the result if it is not the image's.
            column: the position of the text in its line.

        Raises:
            ProblemError: an order lacks a dimension or has another one.
        """
        image, *orders = text.split("_")
        filters, result = (*orders, _of_result(image))[:2] if orders else ("", "")
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


def _of_result(image: str) -> str:
    """Return the order of a result that is that of an image."""
    return image.replace("c", "f")
