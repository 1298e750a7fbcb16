"""The parts of the text of problems: sizes, element types, orders of dimensions, flags of other tools, and errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Final, TypeVar

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


def read_size(text: str, least: int = 1) -> int | None:
    """Parse a size; return None unless it is a number from `least` to `LARGEST_SIZE`."""
    if not text.isdecimal() or len(text) > len(str(LARGEST_SIZE)):
        return None
    size = int(text)
    return size if least <= size <= LARGEST_SIZE else None


def joined_sizes(*sizes: int) -> str:
    """Return sizes as one word."""
    return "x".join(map(str, sizes))


def shortest(value: tuple[int, ...]) -> tuple[int, ...]:
    """Return only the first number if all are equal."""
    return value[:1] if len(set(value)) == 1 else value


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

    The letters are n for images, c for channels, f for filters, and d, h and w for depth, rows and columns.

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
        """The layout of the transposed convolution: image and result are exchanged."""
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
            ProblemError: an order has a missing or an unknown dimension.
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
    """Return the order of a result that corresponds to the order of an image."""
    return image.replace("c", "f")


_Value = TypeVar("_Value")


class CommandFlags:
    """The flags of a command line with their values; the command may begin anywhere in a line.

    Args:
        line: the line.
        start: the position after the name of the command.
        long_names: the short names of flags by their long names.
    """

    _NAME: ClassVar = re.compile(r"(?<!\S)-{1,2}([A-Za-z_!@#$^%]\w*)")
    _VALUE: ClassVar = re.compile(_NAME.pattern + r"(?:=|\s+)(?!-[A-Za-z_!@#$^%-])(\S+)")

    def __init__(self, line: str, start: int, long_names: Mapping[str, str]) -> None:
        self._values: dict[str, re.Match[str]] = {}
        self._end = len(line.rstrip()) + 1
        self._names = set(self._NAME.findall(line, start))
        for match in self._VALUE.finditer(line, start):
            name = long_names.get(match[1], match[1])
            self._values[name] = match

    def has(self, switch: str) -> bool:
        """Return whether a flag without a value is given."""
        return switch in self._names

    def text(self, name: str, default: str) -> str:
        """Return the value of a flag."""
        match = self._values.get(name)
        return match[2] if match else default

    def column(self, name: str) -> int:
        """Return the position of a flag's value, or of the end of the line."""
        match = self._values.get(name)
        return match.start(2) + 1 if match else self._end

    def _invalid(self, name: str, form: str) -> ProblemError:
        """Return the error for the value of a flag, which it names as the line does."""
        match = self._values.get(name)
        flag = match.string[match.start() : match.end(1)] if match else f"-{name}"
        message = f"invalid value '{self.text(name, '')}' for '{flag}': expected {form}"
        return ProblemError(message, self.column(name))

    def choice(
        self, name: str, choices: Mapping[str, _Value], default: str = "", *, noun: str = "type"
    ) -> _Value:
        """Return the meaning of a flag's value; without a default it must be given."""
        text = self.text(name, default)
        if not text:
            raise ProblemError(f"flag '-{name}' is missing", self._end)
        if text not in choices:
            raise UnsupportedError.unknown(noun, text, choices, self.column(name))
        return choices[text]

    def operand_type(self, choices: Mapping[str, _Value], default: str = "") -> _Value:
        """Return the type of both operands of a product."""
        types = {self.choice(name, choices, default) for name in ("a_type", "b_type")}
        if len(types) > 1:
            message = "operands of different types are not supported"
            raise UnsupportedError(message, self.column("b_type"))
        return types.pop()

    def number(self, name: str, least: int, default: int | None = None) -> int:
        """Return the value of a flag as a number; without a default it must be given."""
        text = self.text(name, "" if default is None else str(default))
        if not text:
            raise ProblemError(f"flag '-{name}' is missing", self._end)
        number = read_size(text, least)
        if number is None:
            raise self._invalid(name, f"a number from {least} to {LARGEST_SIZE}")
        return number

    def numbers(self, names: str, least: int, default: int | None = None) -> tuple[int, ...]:
        """Return the values of flags with one letter as numbers."""
        return tuple(self.number(name, least, default) for name in names)

    def sizes(self, name: str, least: int) -> tuple[int, ...]:
        """Return the value of a flag as at least so many sizes."""
        text = self.text(name, "")
        sizes = [read_size(part) for part in text.split("x")]
        valid = tuple(size for size in sizes if size is not None)
        if len(valid) < len(sizes) or len(sizes) < least:
            form = f"at least {least} numbers from 1 to {LARGEST_SIZE} with 'x' between them"
            raise self._invalid(name, form)
        return valid


class MappingEntries(CommandFlags):
    """The entries of a mapping on one line, as in YAML."""

    _NAME: ClassVar = re.compile(r"\b(\w+)\s*:")
    _VALUE: ClassVar = re.compile(_NAME.pattern + r"\s*['\"]?([^\s,'\"}]+)")
