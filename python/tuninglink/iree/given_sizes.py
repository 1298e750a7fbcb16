"""Sizes that a user assigns to the dynamic dimensions of a program's arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final

_WRITTEN: Final = re.compile(r"((?:\d+\.\d+=)*)(\S+)")
_SIZE: Final = re.compile(r"([1-9]\d*)(?::([1-9]\d*))?")

SizeLookup = Callable[[int, int], int | None]
"""Returns the size of a dimension of an argument, or None."""


@dataclass(frozen=True)
class GivenSizes:
    """The sizes of dynamic dimensions, each with a weight.

    Attributes:
        sizes: the sizes and their weights.
        places: the pairs of argument position in the public functions and dimension number that share these sizes;
            empty for every dynamic dimension.
    """

    sizes: tuple[tuple[int, int], ...]
    places: tuple[tuple[int, int], ...] = ()

    @classmethod
    def parse(cls, text: str) -> GivenSizes:
        """Read `[ARGUMENT.DIMENSION=]...SIZE[:WEIGHT][,SIZE[:WEIGHT]]...`.

        Raises:
            ValueError: the text does not have this form.
        """
        written = _WRITTEN.fullmatch(text)
        parts = [_SIZE.fullmatch(word) for word in written[2].split(",")] if written else []
        if written is None or not all(parts):
            raise ValueError(
                "expected [ARGUMENT.DIMENSION=]SIZE[:WEIGHT],... such as 0.0=1,8:2,64,512"
            )
        sizes = tuple((int(part[1]), int(part[2] or 1)) for part in parts if part)
        places = [place.split(".") for place in written[1].split("=")[:-1]]
        return cls(sizes, tuple((int(argument), int(number)) for argument, number in places))

    def applies_to(self, argument: int, dimension: int) -> bool:
        """Return whether these sizes apply to a dimension."""
        return not self.places or (argument, dimension) in self.places

    @property
    def place(self) -> str:
        """The dimensions in the user's notation: `0.1`, or `*` for every dynamic one."""
        places = (f"{argument}.{dimension}" for argument, dimension in self.places)
        return "=".join(places) or "*"

    def __str__(self) -> str:
        sizes = ",".join(
            f"{size}:{weight}" if weight > 1 else str(size) for size, weight in self.sizes
        )
        return f"{self.place}={sizes}" if self.places else sizes


@dataclass(frozen=True)
class SizeCombination:
    """One size for each dimension with given sizes.

    Attributes:
        given: the given sizes of the dimensions.
        sizes: the chosen size for each item of `given`.
        weight: the weight of the combination.
    """

    given: tuple[GivenSizes, ...]
    sizes: tuple[int, ...]
    weight: int

    def size_of(self, argument: int, dimension: int) -> int | None:
        """Return the size of a dimension of an argument, or None. The last assignment wins."""
        matches = (
            size
            for given, size in zip(reversed(self.given), reversed(self.sizes), strict=True)
            if given.applies_to(argument, dimension)
        )
        return next(matches, None)

    def __str__(self) -> str:
        places = (given.place for given in self.given)
        sizes = dict(zip(places, self.sizes, strict=True))
        return " ".join(f"{place}={size}" for place, size in sizes.items())


def combinations(given: Sequence[GivenSizes]) -> list[SizeCombination]:
    """Return all combinations of sizes. The last assignment to a dimension wins."""
    return [
        SizeCombination(
            tuple(given),
            tuple(size for size, _ in chosen),
            prod(weight for _, weight in chosen),
        )
        for chosen in product(*(dimension.sizes for dimension in given))
    ]
