"""Sides of a matrix product: every loop of a tiled nest belongs to one by its role."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tuninglink.tuning.candidates.search_problem import SearchProblem

_SIDES: Final = {
    "m": "m",
    "output image": "m",
    "n": "n",
    "output channel": "n",
    "k": "k",
    "k1": "k",
    "k2": "k",
    "filter": "k",
    "input channel": "k",
    "reduction": "k",
}
_WIDTH: Final = re.compile(r"\d+")


def side_of(role: str) -> str:
    """Return the side of a role: `m`, `n`, `k`, or `b` for batches and whatever else there is."""
    return _SIDES.get(role, "b")


def operand_bytes(problem: SearchProblem) -> float:
    """Return the bytes of an element of the first operand."""
    width = _WIDTH.search(problem.element_types[0]) if problem.element_types else None
    return int(width[0]) / 8 if width else 4.0


def logarithm(value: float) -> float:
    """Return the logarithm to the base of 2, and -1 for what has none."""
    return math.log2(value) if value > 0 else -1.0
