"""The space of configurations of a root op for a CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.iree.cpu_configurations import CpuLevel, cpu_lowering_config, read_cpu_configuration
from tuninglink.mlir.attributes import entries_of
from tuninglink.mlir.diagnostics import error
from tuninglink.solver.answers import AssignmentError
from tuninglink.spaces.configuration import (
    InvalidFormError,
    MismatchError,
    MissingEntryError,
)
from tuninglink.spaces.cpu.compile_rules import add_necessary_rules, add_sufficient_rules, unknown
from tuninglink.spaces.cpu.cpu_pipelines import PIPELINES
from tuninglink.spaces.cpu.cpu_rules import CpuRules
from tuninglink.spaces.cpu.decomposition import LEVELS, is_decomposed
from tuninglink.spaces.cpu.heuristic import add_heuristic_rules
from tuninglink.spaces.cpu.tiles import LOOP_PEELING, knob_name
from tuninglink.spaces.cpu.unsafe import add_stack_rules
from tuninglink.spaces.providers import Space

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.iree.cpu_configurations import Tiling
    from tuninglink.spaces.configuration import Configuration
    from tuninglink.spaces.constraint_set import ConstraintSet
    from tuninglink.spaces.cpu.nest import LoopNest
    from tuninglink.spaces.cpu.target_cpu import Cpu
    from tuninglink.spaces.workload import Problem

_PEELING_OPTION: Final = "enable_loop_peeling"


class CpuSpace(Space):
    """The configurations of a root op in a pipeline.

    Args:
        nest: the loops of the root op.
        cpu: the target CPU.
        pipeline: the pipeline.
        problem: the problem to configure.
        doubt: why no configuration is known to compile; empty if the rules decide.

    Attributes:
        nest: the loops of the root op.
    """

    def __init__(
        self, nest: LoopNest, cpu: Cpu, pipeline: mlir.Attribute, problem: Problem, doubt: str = ""
    ) -> None:
        self.nest = nest
        self._pipeline = pipeline
        name = str(pipeline)

        what = PIPELINES[name]
        is_verified = what.decomposes_convolutions and is_decomposed(nest.operation)
        self._verified = frozenset(LEVELS if is_verified else ())
        rules = CpuRules(nest, cpu, what)
        add_necessary_rules(rules)
        add_sufficient_rules(rules)
        add_stack_rules(rules)
        add_heuristic_rules(rules)
        self.constraints: ConstraintSet = rules.build(problem, name, doubt or unknown(rules))

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Return the tiles of all levels; 0 where a loop is not tiled."""
        levels = read_cpu_configuration(configuration.lowering_config)
        if levels is None:
            text = f"'lowering_config' is {configuration.lowering_config}"
            raise MismatchError(text)
        self._expect_levels(levels)
        strange = [each for each in levels if each not in {level.value for level in CpuLevel}]
        if strange:
            raise MismatchError(f"'{strange[0]}' is not a level of tiling")
        result = {LOOP_PEELING: int(_peels(configuration))}
        for level in CpuLevel:
            sizes = self._sizes(level.value, levels) if level.value in levels else ()
            for loop in range(len(self.nest.loops)):
                result[knob_name(level, loop)] = sizes[loop] if loop < len(sizes) else 0
        return result

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Return the configuration with the levels that tile a loop, and always `distribution`."""
        context = self._pipeline.context
        loops = range(len(self.nest.loops))
        sizes = {
            level: [assignment.get(knob_name(level, loop), 0) for loop in loops]
            for level in CpuLevel
        }
        used = {
            level: each
            for level, each in sizes.items()
            if any(each) or level is CpuLevel.DISTRIBUTION or level in self._verified
        }
        try:
            lowering = cpu_lowering_config(used, context)
        except mlir.MLIRError as failure:
            raise AssignmentError(error(f"the values make no configuration: {failure}")) from None
        translation = iree_codegen.TranslationInfoAttr.get(
            self._pipeline, configuration=self._options(assignment), ctx=context
        )
        return iree_codegen.CompilationInfoAttr.get(lowering, translation, ctx=context)

    def _expect_levels(self, levels: Mapping[str, Tiling | None]) -> None:
        for each in CpuLevel:
            if each in self._verified and each.value not in levels:
                raise InvalidFormError(f"'{each.value}' is missing")
        outermost = CpuLevel.DISTRIBUTION.value
        if outermost not in levels:
            # The pipeline takes the level from any operation that has it.
            is_needed = PIPELINES[str(self._pipeline)].needs_distribution and self.nest.is_alone
            kind = InvalidFormError if is_needed else MissingEntryError
            raise kind(f"'{outermost}' is missing")

    def _options(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        if not assignment.get(LOOP_PEELING):
            return None
        context = self._pipeline.context
        return mlir.DictAttr.get({_PEELING_OPTION: mlir.UnitAttr.get(context)}, context=context)

    def _sizes(self, name: str, levels: Mapping[str, Tiling | None]) -> tuple[int, ...]:
        tiling = levels[name]
        if tiling is None:
            raise MismatchError(f"'{name}' is not a list of sizes")
        if tiling.scalable:
            raise MismatchError(f"'{name}' has scalable sizes")
        if tiling.interchange:
            if sorted(tiling.interchange) != list(range(len(tiling.sizes))):
                text = f"the interchange of '{name}' does not name each of its loops once"
                is_verified = PIPELINES[str(self._pipeline)].separates
                raise InvalidFormError(text) if is_verified else MismatchError(text)
            raise MismatchError(f"'{name}' has an interchange")
        loops = len(self.nest.loops)
        if any(tiling.sizes[loops:]):
            text = f"'{name}' has {len(tiling.sizes)} sizes, and there are {loops} loops"
            raise MismatchError(text)
        return tiling.sizes


def _peels(configuration: Configuration) -> bool:
    """Return whether loops are peeled.

    Raises:
        MismatchError: the configuration has further entries.
    """
    info = configuration.translation_info
    if info is None:
        return False
    options = entries_of(info.configuration)
    for name in options:
        if name != _PEELING_OPTION:
            raise MismatchError(f"'{name}' is set")
    return bool(options)
