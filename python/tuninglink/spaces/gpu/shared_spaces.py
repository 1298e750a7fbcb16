"""Spaces of workloads that differ only in sizes: their rules are built once, with the sizes as parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.solver.answers import CheckAnswer, Limits, UndecidedError
from tuninglink.solver.expressions import Assumptions
from tuninglink.spaces.configuration import Configuration
from tuninglink.spaces.constraint_set import ConstraintSet
from tuninglink.spaces.gpu.gpu_rules import PROVIDER
from tuninglink.spaces.gpu.gpu_space import GpuSpace, parameter_values, parameterized
from tuninglink.spaces.providers import Space
from tuninglink.spaces.workload import Workload

Make = Callable[[Workload], Sequence[Space]]

_MOST_VARIANTS: Final = 64
_MOST_FAILURES: Final = 8


class FamilySpaces:
    """The spaces of the workloads of a family in a pipeline.

    Rules branch on sizes, so they are rebuilt for sizes that do not satisfy their assumptions.

    Args:
        make: returns the spaces of a workload. It reads sizes only from the problem of the workload.
    """

    def __init__(self, make: Make) -> None:
        self._make = make
        self._variants: list[_Variant] = []
        self._failures = 0

    def of(self, workload: Workload, sizes: Sequence[int]) -> Sequence[Space] | None:
        """Return the spaces of a workload, None if its rules cannot be shared.

        Args:
            workload: the workload.
            sizes: the sizes of its loops.
        """
        values = parameter_values(sizes)
        variant = self._variant(workload, values)
        if variant is None:
            return None
        own = _Own(workload, self._make)
        return [SharedSpace(variant, index, values, own) for index in range(len(variant.spaces))]

    def _variant(self, workload: Workload, values: Mapping[str, int]) -> _Variant | None:
        self._variants = [variant for variant in self._variants if not variant.assumptions.is_fixed]
        for position, variant in enumerate(self._variants):
            if variant.assumptions.hold(values):
                self._variants.insert(0, self._variants.pop(position))
                return variant
        if self._failures >= _MOST_FAILURES or len(self._variants) == _MOST_VARIANTS:
            return None
        made = self._made(workload, values)
        if made is None:
            self._failures += 1
        else:
            self._variants.insert(0, made)
        return made

    def _made(self, workload: Workload, values: Mapping[str, int]) -> _Variant | None:
        assumptions = Assumptions(values)
        problem = parameterized(workload.problem, assumptions)
        try:
            spaces = self._make(replace(workload, problem=problem))
        except UndecidedError:
            return None  # the reason names the sizes
        gpu_spaces = [space for space in spaces if isinstance(space, GpuSpace)]
        if assumptions.is_fixed or len(gpu_spaces) != len(spaces):
            return None
        return _Variant(assumptions, gpu_spaces)


@dataclass(frozen=True)
class _Variant:
    """Spaces with sizes as parameters, and the assumptions of their rules about the sizes."""

    assumptions: Assumptions
    spaces: Sequence[GpuSpace]


@dataclass(frozen=True)
class _Own:
    """The spaces of one workload, without parameters, built on first use."""

    workload: Workload
    make: Make

    @cached_property
    def spaces(self) -> Sequence[Space]:
        return self.make(self.workload)


class SharedSpace(Space):
    """The space of one workload, with rules that it shares with others.

    Args:
        variant: the spaces with sizes as parameters.
        index: the index of the space among them.
        values: the values of the parameters.
        own: the spaces of the workload without parameters.
    """

    def __init__(self, variant: _Variant, index: int, values: Mapping[str, int], own: _Own) -> None:
        self._assumptions = variant.assumptions
        self._shared = variant.spaces[index]
        self._index = index
        self._values = values
        self._all_own = own

    @property
    def _own(self) -> Space:
        return self._all_own.spaces[self._index]

    @cached_property
    def _is_shared(self) -> bool:
        """Whether the shared rules hold for the sizes. Building them may add assumptions."""
        self._shared.build()
        return not self._assumptions.is_fixed and self._assumptions.hold(self._values)

    @property
    def provider(self) -> str:
        """The provider."""
        return PROVIDER

    @property
    def constraints(self) -> ConstraintSet:  # type: ignore[override] # made on first access
        """The constraints on valid configurations."""
        return self._own.constraints

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Read the values of the knobs from a configuration."""
        self._shared.expect(configuration)
        if not self._is_shared:
            return self._own.assignment(configuration)
        return self._shared.assignment_for(configuration, self._values)

    def untiled(self, configuration: Configuration) -> frozenset[str]:
        """Return the knobs that are 0 in a configuration, which means the whole loop."""
        return (self._shared if self._is_shared else self._own).untiled(configuration)

    def check(self, assignment: Mapping[str, int], limits: Limits) -> CheckAnswer:
        """Return whether the constraints accept an assignment."""
        answer = None
        if self._is_shared:
            answer = self._shared.constraints.evaluate(assignment, self._values)
        return answer or self._own.check(assignment, limits)

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Write a configuration."""
        return self._own.compilation_info(assignment)
