"""Problems whose sizes are parameters, so that one set of rules holds for many sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tuninglink.solver.parameters import Assumptions, SizeParameter
from tuninglink.spaces.workload import Dimension, Problem


def parameter_values(sizes: Sequence[int]) -> dict[str, int]:
    """Return the values of the parameters for the sizes of a problem."""
    return dict(zip(_names(len(sizes)), sizes, strict=True))


def parameterized(problem: Problem, assumptions: Assumptions) -> Problem:
    """Return a problem with static sizes as one whose sizes are parameters."""
    sizes: list[Any] = [assumptions.parameter(name) for name in _names(len(problem.dimensions))]
    roles = (dimension.role for dimension in problem.dimensions)
    return replace(problem, dimensions=tuple(map(Dimension, roles, sizes)))


def parameters(problem: Problem) -> list[str]:
    """Return the names of the parameters of a problem."""
    sizes: list[Any] = [dimension.size for dimension in problem.dimensions]
    return [size.term.name for size in sizes if isinstance(size, SizeParameter)]


def _names(count: int) -> list[str]:
    return [f"size {loop}" for loop in range(count)]
