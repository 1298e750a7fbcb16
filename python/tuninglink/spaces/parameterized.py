"""Problems whose sizes are parameters, so that one set of rules holds for many sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tuninglink.solver.parameters import Assumptions, Parameter
from tuninglink.spaces.problem import Dimension

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.spaces.problem import Problem


def parameter_values(sizes: Sequence[int]) -> dict[str, int]:
    """Return the values of the parameters for the sizes of a problem."""
    return {f"size {loop}": size for loop, size in enumerate(sizes)}


def parameterized(problem: Problem, assumptions: Assumptions) -> Problem:
    """Return a problem with static sizes as one whose sizes are parameters."""
    dimensions = tuple(
        Dimension(dimension.role, assumptions.parameter(f"size {loop}"))
        for loop, dimension in enumerate(problem.dimensions)
    )
    return replace(problem, dimensions=dimensions)


def parameters(problem: Problem) -> list[str]:
    """Return the names of the parameters of a problem."""
    return [
        dimension.size.term.name
        for dimension in problem.dimensions
        if isinstance(dimension.size, Parameter)
    ]
