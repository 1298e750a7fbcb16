"""Configurations by knob: names, meanings, values, and the values that are valid with the other knobs unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.lowering_configs import (
    PIPELINE_OPTIONS,
    REDUCTION,
    SPIRV_LEVELS,
    SUBGROUP_SIZE,
    USE_IGEMM,
    WORKGROUP_SIZE,
    read_cpu_configuration,
    read_tile_levels,
)
from tuninglink.iree.op_kinds import OpKind
from tuninglink.mlir import names
from tuninglink.mlir.attributes import named_parameters
from tuninglink.solver.answers import AssignmentError, Limits, UndecidedError, Verdict
from tuninglink.spaces.configuration import Configuration, MismatchError, dictionary_of
from tuninglink.spaces.gpu.code_options import (
    DENORMALS,
    FUNCTION_ATTRIBUTES,
    REORDERING,
    code_options,
)
from tuninglink.spaces.knob_reference import PIPELINE
from tuninglink.spaces.knobs import Knob, OneOfKnob

if TYPE_CHECKING:
    from iree.compiler.dialects import iree_codegen

    from tuninglink.spaces.provider_registry import ProviderRegistry
    from tuninglink.spaces.providers import Space
    from tuninglink.spaces.workload import Problem, Workload

_LIMITS: Final = Limits(seconds=0.2, solver_seconds=0.1)
"""The limits of the check of one value."""


def knob_values(configuration: Configuration) -> dict[str, str]:
    """Return the values of knobs in a configuration, by their places, such as `workgroup[0]`.

    The tile of each loop is a knob; tiles of 0, which leave a loop untiled, are omitted.
    """
    result: dict[str, str] = {}
    info = configuration.translation_info
    if info is not None:
        result |= _translation(info)
    # The lowering config: levels of tiles on CPUs, entries on GPUs, or lists of tiles.
    levels = read_cpu_configuration(configuration.lowering_config)
    entries = dictionary_of(configuration.lowering_config)
    if levels is not None:
        for level, tiling in levels.items():
            if tiling is not None:
                sizes = tiling.sizes
                result |= {f"{level}[{loop}]": str(size) for loop, size in enumerate(sizes) if size}
                if tiling.interchange:
                    result[f"{level}.interchange"] = str(list(tiling.interchange))
    elif entries is not None:
        result |= _entries("", entries)
    elif str(configuration.pipeline) in SPIRV_LEVELS:
        result |= _tile_levels(configuration)
    else:
        result |= _foreign(configuration.lowering_config)
    # The matmuls of an attention have their own lowering configs.
    decomposition = configuration.decomposition_config
    parts = None if decomposition is None else dictionary_of(decomposition)
    for part, attribute in (parts or {}).items():
        lowering = (dictionary_of(attribute) or {}).get(names.LOWERING_CONFIG)
        if lowering is not None:
            result |= _entries(f"{part}.", dictionary_of(lowering) or {})
    return result


def tiled_problem(problem: Problem, values: Mapping[str, str]) -> Problem | None:
    """Return the problem whose loops a configuration tiles; None for a convolution that is converted to a matmul.

    Args:
        problem: the problem to configure.
        values: the `knob_values` of its configuration.
    """
    is_gathered = problem.kind is OpKind.CONVOLUTION and values.get(USE_IGEMM) == "true"
    return None if is_gathered else problem


class AllowedValues:
    """The valid values of each knob of a configuration with the other knobs unchanged.

    Args:
        workload: the workload.
        configuration: its configuration.
        registry: the providers of spaces.

    Attributes:
        reason: why the values are unknown; empty if they are known.
        by_place: the valid values of each knob of the space, the current one first.
        options: the values of options of code generation, each of which a configuration may omit.
    """

    def __init__(
        self, workload: Workload, configuration: Configuration, registry: ProviderRegistry
    ) -> None:
        self.reason = ""
        self.by_place: dict[str, tuple[str, ...]] = {}
        options = code_options(workload, str(configuration.pipeline))
        self.options = {option.name: tuple(option.values) for option in options}
        result = self._space(workload, configuration, registry)
        if result is None:
            return
        space, assignment = result
        for knob in space.constraints.knobs:
            values = _valid(space, knob, assignment, workload.problem)
            self.by_place[knob.name] = tuple(_shown(knob, value) for value in values)

    def _space(
        self, workload: Workload, configuration: Configuration, registry: ProviderRegistry
    ) -> tuple[Space, Mapping[str, int]] | None:
        """Return the first space that contains the configuration, Tuninglink's spaces before the compiler's."""
        try:
            spaces = registry.spaces(workload, str(configuration.pipeline))
        except UndecidedError as failure:
            self.reason = failure.reason
            return None
        for space in sorted(spaces, key=lambda space: not space.is_sufficient):
            try:
                if space.constraints.unknown:  # none of its values is known to be valid
                    self.reason = space.constraints.unknown
                    continue
                assignment = space.assignment(configuration)
                if space.constraints.check(assignment, _LIMITS).verdict is not Verdict.REFUTED:
                    return space, assignment
            except (MismatchError, AssignmentError, UndecidedError) as failure:
                self.reason = f"the constraints cover configurations of another form: {failure}"
        self.reason = self.reason or "no space holds the compiler's choice"
        return None


def _valid(
    space: Space, knob: Knob, assignment: Mapping[str, int], problem: Problem
) -> Iterator[int]:
    constraints = space.constraints
    broken = constraints.broken_heuristics(assignment)
    yield assignment[knob.name]
    for value in values_worth_trying(knob, problem):
        changed = {**assignment, knob.name: value}
        if changed != assignment and constraints.accepts(changed, _LIMITS, without=broken):
            yield value


def values_worth_trying(knob: Knob, problem: Problem) -> list[int]:
    """Return the values of a knob to check: all options, or the divisors of its loop and powers of two."""
    if isinstance(knob, OneOfKnob):
        return list(range(len(knob.options)))
    loop = re.fullmatch(r"(?!workgroup_size|\w+_basis).*\[(\d+)\]", knob.name)
    dimension = int(loop[1]) if loop else len(problem.dimensions)
    size = problem.dimensions[dimension].size if dimension < len(problem.dimensions) else None
    high = min(knob.high or _MOST, size or _MOST)
    divisors = (position for position in range(1, high + 1) if size and size % position == 0)
    powers = (1 << position for position in range(high.bit_length()))
    low = knob.low or 0
    return sorted({tile for tile in (0, *divisors, *powers) if low <= tile <= high})


_MOST: Final = 1024
"""The largest value that is tried for a knob without a bound."""


def _shown(knob: Knob, value: int) -> str:
    return knob.options[value] if isinstance(knob, OneOfKnob) else str(value)


def _translation(info: iree_codegen.TranslationInfoAttr) -> Mapping[str, str]:
    translation = {PIPELINE: str(info.pass_pipeline)}
    if info.workgroup_size:
        translation[WORKGROUP_SIZE] = str(list(info.workgroup_size))
    if info.subgroup_size:
        translation[SUBGROUP_SIZE] = str(info.subgroup_size)
    configuration: Any = info.configuration
    given = None if configuration is None else dictionary_of(configuration)
    for name, attribute in (given or {}).items():
        if name == FUNCTION_ATTRIBUTES:
            entries = dictionary_of(attribute) or {}
            translation |= {entry: _text(value).strip('"') for entry, value in entries.items()}
        elif name == DENORMALS:
            translation[name] = str(attribute).partition("<")[2].strip('">')
        elif name != PIPELINE_OPTIONS:
            translation[name] = "true" if isinstance(attribute, mlir.UnitAttr) else _text(attribute)
        else:
            translation |= _pipeline_options(attribute)
    return translation


def _pipeline_options(attribute: Any) -> Mapping[str, str]:
    values = {option: getattr(attribute, option) for option in _OPTIONS}
    options = {option: str(value).lower() for option, value in values.items() if value is not None}
    order = attribute.reorder_workgroups_strategy
    if order is not None:
        options[REORDERING] = str(order).partition("<")[2].rstrip(">")
    return options


_OPTIONS: Final = (
    "prefetch_num_stages",
    "no_reduce_shared_memory_bank_conflicts",
    "use_igemm_convolution",
)


def _entries(prefix: str, entries: Mapping[str, mlir.Attribute]) -> Iterator[tuple[str, str]]:
    for name, entry in entries.items():
        if isinstance(entry, mlir.ArrayAttr) and name in _TILES:
            for loop, size in enumerate(entry):
                if isinstance(size, mlir.IntegerAttr) and size.value:
                    yield f"{prefix}{name}[{loop}]", str(size.value)
        else:
            yield f"{prefix}{name}", "true" if isinstance(entry, mlir.UnitAttr) else _text(entry)


_TILES: Final = frozenset({"workgroup", "reduction", "partial_reduction", "subgroup", "thread"})
"""The entries that hold a tile for each loop."""


def _tile_levels(configuration: Configuration) -> Iterator[tuple[str, str]]:
    """Yield the tiles of a configuration for SPIR-V; in one with a single level, the step of k is the last tile."""
    names_of_levels = SPIRV_LEVELS[str(configuration.pipeline)]
    levels = read_tile_levels(configuration.lowering_config)
    if levels is None:
        yield names.LOWERING_CONFIG, str(configuration.lowering_config)
        return
    for position, sizes in enumerate(levels):
        named = position < len(names_of_levels)
        level = names_of_levels[position] if named else f"tile_sizes[{position}]"
        for loop, size in enumerate(sizes):
            is_step = len(names_of_levels) == 1 and loop == len(sizes) - 1
            if size:
                yield f"{REDUCTION if is_step else level}[{loop}]", str(size)


def _foreign(lowering: mlir.Attribute) -> Mapping[str, str]:
    """Return the parameters of a lowering config of another dialect."""
    entries = named_parameters(lowering)
    return {
        name: _text(entry) for name, entry in (entries or {"lowering_config": lowering}).items()
    }


def _text(attribute: mlir.Attribute) -> str:
    return str(attribute.value if isinstance(attribute, mlir.IntegerAttr) else attribute)
