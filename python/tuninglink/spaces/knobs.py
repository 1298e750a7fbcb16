"""Configurations by knob: names, meanings, values, and the values that are valid with the other knobs unchanged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.errors import TuninglinkError, did_you_mean
from tuninglink.iree import (
    NO_BANK_CONFLICT_REDUCTION,
    PIPELINE_OPTIONS,
    REDUCTION_LEVEL,
    SPIRV_LEVELS,
    STAGES,
    SUBGROUP_BASIS,
    SUBGROUP_SIZE,
    USE_IGEMM,
    WORKGROUP_SIZE,
    OpKind,
    read_cpu_configuration,
    read_tile_levels,
)
from tuninglink.mlir import error, named_parameters, names, note
from tuninglink.solver import (
    Assertion,
    AssignmentError,
    Grade,
    Limits,
    UndecidedError,
    Verdict,
    unknown,
)
from tuninglink.spaces.cpu import SCALABLE
from tuninglink.spaces.gpu import (
    DENORMALS,
    FUNCTION_ATTRIBUTES,
    REORDERING,
    CodeOption,
    code_options,
)
from tuninglink.spaces.model import (
    Configuration,
    ConstraintSet,
    FixedKnob,
    Knob,
    MismatchError,
    OneOfKnob,
    Space,
    dictionary_of,
)

if TYPE_CHECKING:
    from iree.compiler.dialects import iree_codegen

    from tuninglink.spaces.model import Problem, Workload
    from tuninglink.spaces.provider_registry import ProviderRegistry


_LIMITS: Final[Limits] = Limits(seconds=0.2, solver_seconds=0.1)
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
                result |= {f"{SCALABLE}[{loop}]": "true" for loop in sorted(tiling.scalable)}
                if tiling.interchange:
                    result[f"{level}.interchange"] = str(list(tiling.interchange))
    elif entries is not None:
        result |= _entries("", entries)
    elif str(configuration.pipeline) in SPIRV_LEVELS:
        # Tiles for SPIR-V; in a configuration with a single level, the step of k is the last tile.
        names_of_levels = SPIRV_LEVELS[str(configuration.pipeline)]
        tile_levels = read_tile_levels(configuration.lowering_config)
        if tile_levels is None:
            result[names.LOWERING_CONFIG] = str(configuration.lowering_config)
        for position, tiles in enumerate(tile_levels or ()):
            is_named = position < len(names_of_levels)
            level = names_of_levels[position] if is_named else f"tile_sizes[{position}]"
            for loop, size in enumerate(tiles):
                is_step = len(names_of_levels) == 1 and loop == len(tiles) - 1
                if size:
                    result[f"{REDUCTION_LEVEL if is_step else level}[{loop}]"] = str(size)
    else:
        # The parameters of a lowering config of another dialect.
        lowering_config = configuration.lowering_config
        foreign = named_parameters(lowering_config) or {names.LOWERING_CONFIG: lowering_config}
        result |= {name: _text(entry) for name, entry in foreign.items()}
    # The matmuls of an attention have their own lowering configs.
    decomposition = configuration.decomposition_config
    parts = None if decomposition is None else dictionary_of(decomposition)
    for part, attribute in (parts or {}).items():
        lowering = (dictionary_of(attribute) or {}).get(names.LOWERING_CONFIG)
        if lowering is not None:
            result |= _entries(f"{part}.", dictionary_of(lowering) or {})
    return result


def tiled_problem(problem: Problem, values: Mapping[str, str]) -> Problem | None:
    """Return the problem whose loops `knob_values` tile; None for a convolution that is converted to a matmul."""
    is_gathered = problem.kind is OpKind.CONVOLUTION and values.get(USE_IGEMM) == "true"
    return None if is_gathered else problem


class AllowedValues:
    """The valid values of each knob of a configuration with the other knobs unchanged, the current one first.

    The values are unknown for a `reason` unless it is empty. A configuration may omit each of the `options` of code
    generation.
    """

    def __init__(
        self, workload: Workload, configuration: Configuration, registry: ProviderRegistry
    ) -> None:
        self.reason = ""
        self.by_place: dict[str, tuple[str, ...]] = {}
        options = code_options(workload, str(configuration.pipeline))
        self.options = {option.name: tuple(option.values) for option in options}
        try:
            spaces = registry.spaces(workload, str(configuration.pipeline))
        except UndecidedError as failure:
            self.reason = failure.reason
            return
        # The first space that contains the configuration, Tuninglink's spaces before the compiler's.
        for space in sorted(spaces, key=lambda space: not space.is_sufficient):
            try:
                constraints = space.constraints
                if constraints.unknown:  # none of its values is known to be valid
                    self.reason = constraints.unknown
                    continue
                assignment = space.assignment(configuration)
                if constraints.check(assignment, _LIMITS).verdict is not Verdict.REFUTED:
                    break
            except (MismatchError, AssignmentError, UndecidedError) as failure:
                self.reason = f"the constraints cover configurations of another form: {failure}"
        else:
            self.reason = self.reason or "no space holds the compiler's choice"
            return
        broken = constraints.broken_heuristics(assignment)
        for knob in constraints.knobs:
            current = assignment[knob.name]
            values = [current]
            for value in values_worth_trying(knob, workload.problem):
                changed = {**assignment, knob.name: value}
                if value != current and constraints.accepts(changed, _LIMITS, without=broken):
                    values.append(value)
            choices = knob.options if isinstance(knob, OneOfKnob) else None
            texts = (choices[value] if choices else str(value) for value in values)
            self.by_place[knob.name] = tuple(texts)


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
            pipeline_options: Any = attribute
            values = {option: getattr(pipeline_options, option) for option in _OPTIONS}
            translation |= {
                option: str(value).lower() for option, value in values.items() if value is not None
            }
            order = pipeline_options.reorder_workgroups_strategy
            if order is not None:
                translation[REORDERING] = str(order).partition("<")[2].rstrip(">")
    return translation


_OPTIONS: Final = (STAGES, NO_BANK_CONFLICT_REDUCTION, USE_IGEMM)


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


def _text(attribute: mlir.Attribute) -> str:
    return str(attribute.value if isinstance(attribute, mlir.IntegerAttr) else attribute)


# --- The reference of knobs: meaning, unit, and place in a configuration -------------------------

PIPELINE: Final = "pipeline"


KNOBS: Final[Mapping[str, tuple[str, str]]] = {
    PIPELINE: ("the pipeline that generates the code", ""),
    WORKGROUP_SIZE: ("threads of a workgroup, along x, y and z", "threads"),
    SUBGROUP_SIZE: ("threads of a subgroup", "threads"),
    "workgroup": ("tile of a workgroup", "elements"),
    "reduction": (
        "tile of a step of the reduction; with an mma_kind in intrinsics",
        "elements, or intrinsics",
    ),
    "partial_reduction": ("tile of a step of the reduction, kept as partial results", "elements"),
    "subgroup": ("tile of a subgroup; with an mma_kind in intrinsics", "elements, or intrinsics"),
    "thread": ("tile of a thread", "elements"),
    "padding": ("the multiple that a loop is padded to", "elements"),
    "padding_conv": ("the same for a convolution, before it becomes a matmul", "elements"),
    "mma_kind": ("the matrix intrinsic", ""),
    "promote_operands": ("the operands that are copied to shared memory, by number", ""),
    "promotion_types": ("how each of them is copied", ""),
    "subgroup_basis": ("subgroups along each loop, and the loops of these numbers", "subgroups"),
    "lane_basis": ("threads of a subgroup along each loop, and the loops of these", "threads"),
    "prefetch_num_stages": ("stages of the software pipeline; 0 and 1 prefetch nothing", "stages"),
    "no_reduce_shared_memory_bank_conflicts": ("true leaves out the padding of shared memory", ""),
    "reorder_workgroups_strategy": ("the order of workgroups; Transpose exchanges x and y", ""),
    "workgroup_reordering_strategy": (
        "the order of workgroups, for a number of dies with this number of compute units",
        "",
    ),
    "amdgpu-waves-per-eu": (
        "least number of subgroups that a SIMD unit runs at once; more of them leave each fewer registers",
        "subgroups",
    ),
    "denormal_fp_math_f32": ("preserve-sign flushes denormal numbers to zero", ""),
    "use_igemm_convolution": ("whether a convolution becomes a matmul of gathered patches", ""),
    "distribution": ("tile of a workgroup", "elements"),
    "cache_parallel": ("tile for the cache, parallel loops", "elements"),
    "cache_reduction": ("tile for the cache, reduction loops", "elements"),
    "vector_common_parallel": ("tile of a vector, parallel loops", "elements"),
    "vector_reduction": ("tile of a vector, reduction loops", "elements"),
    "vector_inner_parallel": ("tile of a vector, parallel loops of fused ops only", "elements"),
    "enable_loop_peeling": (
        "whether the last iteration of a loop that its tile does not divide is peeled",
        "",
    ),
    "enable_decomposition": ("whether a pack becomes a padding and a transposition", ""),
    "scalable": ("whether the tile of a vector is a multiple of the vector scale", ""),
    "tile_sizes": ("tiles of the loops, a list for each level", "elements"),
    "window": ("tile of a window that is unrolled", "elements"),
    "matrix": ("size of a cooperative matrix", "elements"),
    "pipeline_depth": ("stages of the software pipeline", "stages"),
    "store_stage": ("the stage of the software pipeline that stores to shared memory", ""),
}
"""The meaning and the unit of each entry of a configuration; an empty unit if it has none."""


def meaning(place: str, problem: Problem | None = None) -> str:
    """Return the meaning of a knob by its place, such as `tile of a workgroup: n = 1280`; empty for an unknown knob."""
    entry, _, position = place.rpartition(".")[2].partition("[")
    text, _ = KNOBS.get(entry, ("", ""))
    loop = int(position.rstrip("]")) if position and entry != WORKGROUP_SIZE else None
    if not text or loop is None or problem is None or loop >= len(problem.dimensions):
        return text
    dimension = problem.dimensions[loop]
    return f"{text}: {dimension.role.value} = {dimension.size or '?'}"


def entries_of_knob(knob: str) -> tuple[str, ...]:
    """Return the entries of a configuration that may contain a knob, the most likely first."""
    return (knob.rpartition(".")[2].partition("[")[0], "tile_sizes")


_SELECTION_LIMITS: Final[Limits] = Limits(seconds=2.0, solver_seconds=1.0)
"""The limits of the query for whether a value is possible."""


class SelectionError(TuninglinkError):
    """A selection excludes all spaces of a dispatch."""


@dataclass(frozen=True)
class SpaceSelection:
    """A part of the spaces of a dispatch: pipelines such as `TileAndFuse`, all if empty, and knobs with fixed values."""

    pipelines: tuple[str, ...] = ()
    fixed: tuple[FixedKnob, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.pipelines or self.fixed)

    def of(self, spaces: Sequence[Space]) -> list[Space]:
        """Return the selected part of spaces.

        Raises:
            SelectionError: no space is left; the message lists the possible names and values.
        """
        # The spaces of the pipelines, then those that have each knob, with the knob fixed to its value.
        by_name = [(pipeline_name(space.constraints.pipeline), space) for space in spaces]
        pipelines = self.pipelines
        selected = [space for name, space in by_name if not pipelines or name in pipelines]
        if not selected and spaces:
            present = dict.fromkeys(name for name, _ in by_name)
            hint = did_you_mean(pipelines[0], present)
            message = (
                f"none of its spaces has pipeline {' or '.join(pipelines)}; "
                f"the spaces have {', '.join(present)}{hint}"
            )
            raise SelectionError(error(message))
        for fixed in self.fixed:
            with_knob = [
                (space, knob)
                for space in selected
                for knob in _knobs(space)
                if knob.name in (fixed.name, current_name(fixed.name))
            ]
            if not with_knob:
                names = dict.fromkeys(knob.name for space in selected for knob in _knobs(space))
                listed = note(f"its knobs are {', '.join(names)}")
                hint = did_you_mean(fixed.name, names)
                raise SelectionError(error(f"unknown knob '{fixed.name}'{hint}", notes=[listed]))
            selected = []
            for space, knob in with_knob:
                # The value that the text stands for in assignments.
                value = None
                if isinstance(knob, OneOfKnob):
                    options, option = [*map(_plain, knob.options)], _plain(fixed.value)
                    value = options.index(option) if option in options else None
                elif fixed.value.isdecimal():
                    with suppress(ValueError):  # Python converts no number of thousands of digits
                        value = int(fixed.value)
                if value is not None and _is_selectable(space, knob, value):
                    selected.append(FixedSpace(space, knob, value))
            if selected:
                continue
            # The possible values.
            texts: dict[str, None] = {}
            for space, knob in with_knob:
                for value in values_worth_trying(knob, space.constraints.problem):
                    text = value_text(knob, value)
                    # One space suffices: to ask another takes as long as the plan of a search.
                    if text not in texts and _is_selectable(space, knob, value):
                        texts[text] = None
            numbers = sorted(filter(str.isdecimal, texts), key=int)
            values = [*numbers, *(text for text in texts if not text.isdecimal())] or ["none"]
            listed = note(f"possible values: {', '.join(values)}")
            message = f"knob '{fixed.name}' cannot be {fixed.value}"
            raise SelectionError(error(message, notes=[listed]))
        return selected

    def with_options(self, options: Sequence[CodeOption]) -> tuple[dict[str, int], SpaceSelection]:
        """Return the values of fixed options of code generation, and the selection without them.

        Raises:
            SelectionError: an option cannot have the value.
        """
        by_name = {option.name: option for option in options}
        values: dict[str, int] = {}
        for fixed in self.fixed:
            option = by_name.get(fixed.name)
            if option is None:
                continue
            if fixed.value not in option.values:
                listed = note(f"possible values: {', '.join(option.values)}")
                message = f"option '{fixed.name}' cannot be {fixed.value}"
                raise SelectionError(error(message, notes=[listed]))
            values[fixed.name] = option.values[fixed.value]
        rest = tuple(fixed for fixed in self.fixed if fixed.name not in by_name)
        return values, SpaceSelection(self.pipelines, rest)


EVERYTHING: Final[SpaceSelection] = SpaceSelection()
"""The selection of whole spaces."""


def check_selection(attempts: Iterable[Callable[[], object]]) -> None:
    """Check that a selection leaves a space of at least one dispatch; each attempt applies it to one dispatch.

    Raises:
        SelectionError: no space of any dispatch is left; the error is that of the first dispatch.
    """
    first: SelectionError | None = None
    for attempt in attempts:
        with suppress(Exception):  # the turn of the dispatch reports it
            try:
                attempt()
            except SelectionError as failure:
                first = first or failure
            else:
                return
    if first is not None:
        raise first


def pipeline_name(pipeline: str) -> str:
    """Return the name of a pipeline, such as `TileAndFuse` of `#iree_gpu.pipeline<TileAndFuse>`."""
    return pipeline.rpartition("<")[2].rstrip(">")


class FixedSpace(Space):
    """A space in which a knob has one value.

    A value is possible if only heuristics on the knob exclude it; these heuristics are then omitted.
    """

    def __init__(self, space: Space, knob: Knob, value: int) -> None:
        self._space, self._knob, self._value = space, knob, value
        self.is_sufficient = space.is_sufficient

    @cached_property
    def constraints(self) -> ConstraintSet:  # type: ignore[override] # made on first access
        whole = self._space.constraints
        condition = unknown(self._knob.name) == self._value
        message = f"{self._knob.name} is fixed to {self._knob.describe(self._value)}"
        if not _is_possible(whole, self._knob, self._value):
            whole = _without_heuristics(whole, self._knob)
        assertions = (*whole.assertions, Assertion(condition.term, message))
        return replace(whole, assertions=assertions)

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        return self._space.assignment(configuration)

    def untiled(self, configuration: Configuration) -> frozenset[str]:
        return self._space.untiled(configuration)

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        return self._space.compilation_info(assignment)

    def decomposition_config(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        return self._space.decomposition_config(assignment)


def value_text(knob: Knob, value: int) -> str:
    """Return the value of a knob as text, in the form of `FixedKnob`."""
    return _plain(knob.options[value]) if isinstance(knob, OneOfKnob) else str(value)


def _knobs(space: Space) -> Iterable[Knob]:
    with suppress(UndecidedError):
        return space.constraints.knobs
    return ()


def _is_selectable(space: Space, knob: Knob, value: int) -> bool:
    """Return whether a space has a valid assignment with a value, or would have one without heuristics on the knob."""
    # The compiler's choice may violate heuristics. The candidates near it, which are tried, then violate them, too.
    whole = space.constraints
    if _is_possible(whole, knob, value):
        return True
    return value in values_worth_trying(knob, whole.problem) and _is_possible(
        _without_heuristics(whole, knob), knob, value
    )


def _without_heuristics(whole: ConstraintSet, knob: Knob) -> ConstraintSet:
    """Return a set without the heuristic assertions on a knob."""
    kept = (
        assertion
        for assertion in whole.assertions
        if assertion.grade is not Grade.HEURISTIC or knob.name not in assertion.expression.variables
    )
    return replace(whole, assertions=tuple(kept))


def _is_possible(constraints: ConstraintSet, knob: Knob, value: int) -> bool:
    answer = constraints.explain_unsat({knob.name: value}, _SELECTION_LIMITS)
    return answer.verdict is not Verdict.PROVEN


def _plain(option: str) -> str:
    inner = re.fullmatch(r"#[\w.]+<(.*)>", option)
    return (inner[1] if inner else option).replace(" ", "")


# --- The names that knobs had in databases and reports of former versions: `wg_0` was `workgroup[0]`

_FORMER_NAMES: Final = {
    r"wg_size_x": WORKGROUP_SIZE,
    r"sg_size": SUBGROUP_SIZE,
    r"wg_(\d+)": r"workgroup[\1]",
    r"red_(\d+)": r"reduction[\1]",
    r"pad_(\d+)": r"padding[\1]",
    r"pad_conv_(\d+)": r"padding_conv[\1]",
    r"sg_(\d+)": r"subgroup[\1]",
    r"sg_(\d+)_cnt": r"subgroup_basis[\1]",
    r"lane_(\d+)_cnt": r"lane_basis[\1]",
    r"(qk_|pv_)mma_idx": r"\1attrs.mma_kind",
    r"mma_idx": "mma_kind",
    r"promoted": "promote_operands",
    r"loaded": "promotion_types",
    r"loop_peeling": "enable_loop_peeling",
    r"(\w+)_(\d+)": r"\1[\2]",
}
"""Patterns of former names, with the names today; the first match applies."""

_AXES: Final = ("wg_size_x", "wg_size_y", "wg_size_z")


def current_name(name: str) -> str:
    """Return the name of a knob today; other names stay."""
    for pattern, today in _FORMER_NAMES.items():
        if re.fullmatch(pattern, name):
            return re.sub(pattern, today, name)
    return name


def current_names(knobs: Mapping[str, int]) -> dict[str, int]:
    """Return the values of the knobs of a configuration by their names today."""
    names = {name: current_name(name) for name in knobs}
    if all(name == today for name, today in names.items()):
        return dict(knobs)
    if _AXES[1] in knobs:
        names |= {name: f"{WORKGROUP_SIZE}[{axis}]" for axis, name in enumerate(_AXES)}
    steps = [int(name[4:]) for name in knobs if name.startswith("red_")]
    if any(name.startswith("lane_") for name in knobs):
        # Lanes keep the results of steps apart.
        names |= {f"red_{loop}": f"partial_reduction[{loop}]" for loop in steps}
        names["sg_cnt"] = f"{SUBGROUP_BASIS}[{steps[-1] if steps else 0}]"
    # The rows and the columns of a product are its last parallel loops without a count of their own.
    loops = sorted(int(name[3:]) for name in knobs if re.fullmatch(r"wg_\d+", name))
    free = [loop for loop in loops if f"sg_{loop}_cnt" not in knobs]
    names |= {
        name: f"{SUBGROUP_BASIS}[{loop}]"
        for name, loop in zip(("sg_m_cnt", "sg_n_cnt"), free[-2:], strict=False)
    }
    return {names[name]: value for name, value in knobs.items()}
