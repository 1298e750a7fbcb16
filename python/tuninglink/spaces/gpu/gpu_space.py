"""Tuninglink's spaces for GPUs, and the steps that build the rules of a form of configurations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from iree.compiler import ir as mlir

from tuninglink.iree.lowering_configs import (
    PIPELINE_OPTIONS,
    PROMOTED_OPERANDS,
    PROMOTION_TYPES,
    SUBGROUP_SIZE,
    WORKGROUP_SIZE,
)
from tuninglink.solver.expressions import Assumptions, SizeParameter
from tuninglink.spaces.configuration import CachedReading, Configuration, with_defaults
from tuninglink.spaces.constraint_set import ConstraintSet
from tuninglink.spaces.gpu import Gpu
from tuninglink.spaces.gpu.gpu_rules import PROVIDER, GpuRules, Number
from tuninglink.spaces.gpu.knob_table import KnobTable, gpu_template
from tuninglink.spaces.knob_templates import KnobTemplate
from tuninglink.spaces.providers import Space
from tuninglink.spaces.slots import DictionarySlot, Slot, zero_knobs
from tuninglink.spaces.workload import Dimension, Problem


@dataclass(frozen=True)
class Form:
    """A form of configurations: its constraints, and the template with their knobs."""

    constraints: ConstraintSet
    template: KnobTemplate


@dataclass(frozen=True)
class Outline:
    """A quick test for configurations of another form.

    Attributes:
        names: the names of the entries of the lowering config, without those that all configurations have.
        first: the entries that are read first, in order.
    """

    names: frozenset[str]
    first: Mapping[str, Slot] = field(default_factory=dict)

    def expect(self, configuration: Configuration) -> None:
        """Check that a configuration may have the form.

        Raises:
            MismatchError: the configuration has another form; the template of the form would raise the same error.
        """
        entries = DictionarySlot(self.first, self.names | _ALWAYS)
        entries.read_entries("", configuration.entries, {})


_ALWAYS = frozenset(
    {PROMOTED_OPERANDS, PROMOTION_TYPES, WORKGROUP_SIZE, SUBGROUP_SIZE, PIPELINE_OPTIONS}
)


class GpuSpace(Space):
    """The configurations of one form, whose constraints are built on first access.

    Args:
        outline: the outline of the form.
        make: creates the form; it must not read the IR, which may have changed since.
    """

    def __init__(self, outline: Outline, make: Callable[[], Form]) -> None:
        self._outline = outline
        self._expect = CachedReading(outline.expect)
        self._untiled = CachedReading(self._find_untiled)
        self._make = make

    @cached_property
    def _form(self) -> Form:
        made = self._make()
        entries = made.template.entries
        assert entries.entries.keys() | (entries.others or ()) == self._outline.names | _ALWAYS
        return made

    def build(self) -> Form:
        """Return the form, which is built on first access."""
        return self._form

    def expect(self, configuration: Configuration) -> None:
        """Check that a configuration has the outline of the form.

        Raises:
            MismatchError: the configuration has another form.
        """
        self._expect(with_defaults(configuration))

    @property
    def provider(self) -> str:
        """The provider."""
        return PROVIDER

    @property
    def constraints(self) -> ConstraintSet:  # type: ignore[override] # made on first access
        """The constraints on valid configurations."""
        return self._form.constraints

    @property
    def template(self) -> KnobTemplate:
        """The template with the positions of the knobs."""
        return self._form.template

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Read the values of the knobs from a configuration."""
        return self.assignment_for(configuration, {})

    def assignment_for(
        self, configuration: Configuration, parameters: Mapping[str, int]
    ) -> Mapping[str, int]:
        """Read the values of the knobs from a configuration, for values of the parameters."""
        configuration = with_defaults(configuration)
        self._expect(configuration)
        return self.template.read(configuration, parameters)

    def untiled(self, configuration: Configuration) -> frozenset[str]:
        """Return the knobs that are 0 in a configuration, which means the whole loop."""
        return self._untiled(configuration)

    def _find_untiled(self, configuration: Configuration) -> frozenset[str]:
        entries = configuration.entries
        return frozenset(
            knob
            for name, slot in self.template.entries.entries.items()
            for knob in zero_knobs(slot, entries.get(name))
        )

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Write a configuration."""
        return self.template.write(assignment)

    def decomposition_config(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        """Write the configuration of the parts of an attention; None for other operations."""
        return self.template.write_decomposition(assignment)


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


class FormRules(ABC):
    """The rules of a form: tiles, threads, memory and the compiler's search, then the slots of the knobs.

    Args:
        problem: the problem to configure.
        device: the target GPU.
        pipeline: the pipeline to configure.
        loop_count: the number of loops that the configurations tile.

    Attributes:
        unknown: why no configuration is known to be valid; empty if the rules decide.
        rules: the rules so far.
        table: the knobs of the loops.
        tiles: the tile of a workgroup along each loop; for a reduction, the tile of one step.
        threads: the number of threads in a workgroup; set by `add_workgroup`.
        subgroup_size: the number of threads in a subgroup; set by `add_workgroup`.
        stages: the number of prefetched stages; set by `add_workgroup`.
    """

    unknown: ClassVar[str] = ""
    threads: Number
    subgroup_size: Number
    stages: Number

    def __init__(
        self, problem: Problem, device: Gpu, pipeline: mlir.Attribute, loop_count: int
    ) -> None:
        self.problem = problem
        self.device = device
        self.pipeline = pipeline
        self.rules = GpuRules(parameters(problem))
        self.table = KnobTable(self.rules, loop_count, pipeline.context)
        self.tiles: dict[int, Number] = {}

    def build(self) -> Form:
        """Return the form; the object must not be used afterwards."""
        self.tile_loops()
        self.arrange_threads()
        self.limit_memory()
        self.limit_search()
        template = self.template(self.slots())
        return Form(self.rules.build(self.problem, str(self.pipeline), self.unknown), template)

    @property
    def most_subgroups(self) -> int:
        """The maximum number of subgroups in a workgroup."""
        return max(1, self.device.threads // self.device.subgroup_size)

    def add_workgroup(self) -> None:
        """Add the knobs of a workgroup."""
        self.threads, self.subgroup_size, self.stages = self.rules.workgroup(self.device)

    @abstractmethod
    def tile_loops(self) -> None:
        """Add the knobs of the loops, and the rules about tiles."""

    @abstractmethod
    def arrange_threads(self) -> None:
        """Add the rules about the threads that share the tiles."""

    @abstractmethod
    def limit_memory(self) -> None:
        """Add the rules about shared memory and the copies into it."""

    def limit_search(self) -> None:  # noqa: B027 - most forms add nothing
        """Add rules that limit the search but not validity; none by default."""

    @abstractmethod
    def slots(self) -> dict[str, Slot]:
        """Return the entries of the lowering config."""

    def template(self, slots: Mapping[str, Slot]) -> KnobTemplate:
        """Return the template of configurations with these entries of the lowering config."""
        return gpu_template(self.pipeline, slots)
