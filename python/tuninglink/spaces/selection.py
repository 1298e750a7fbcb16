"""Selection of a part of the spaces of a dispatch: by pipeline, and with knobs fixed to values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.errors import TuninglinkError, did_you_mean
from tuninglink.mlir.diagnostics import error, note
from tuninglink.solver import Assertion, Grade
from tuninglink.solver.answers import CheckAnswer, Limits, UndecidedError, Verdict
from tuninglink.solver.expressions import unknown
from tuninglink.spaces.configuration import Configuration
from tuninglink.spaces.constraint_set import ConstraintSet
from tuninglink.spaces.former_names import current_name
from tuninglink.spaces.gpu.code_options import CodeOption
from tuninglink.spaces.knob_values import values_worth_trying
from tuninglink.spaces.knobs import FixedKnob, Knob, OneOfKnob
from tuninglink.spaces.providers import Space

_LIMITS: Final = Limits(seconds=2.0, solver_seconds=1.0)
"""The limits of the query for whether a value is possible."""


class SelectionError(TuninglinkError):
    """A selection excludes all spaces of a dispatch."""


@dataclass(frozen=True)
class SpaceSelection:
    """A part of the spaces of a dispatch.

    Attributes:
        pipelines: names of pipelines, such as `TileAndFuse`; all if empty.
        fixed: knobs with their values.
    """

    pipelines: tuple[str, ...] = ()
    fixed: tuple[FixedKnob, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.pipelines or self.fixed)

    def of(self, spaces: Sequence[Space]) -> list[Space]:
        """Return the selected part of spaces.

        Raises:
            SelectionError: no space is left; the message lists the possible names and values.
        """
        selected = self._with_pipelines(spaces)
        for fixed in self.fixed:
            selected = _fix(selected, fixed)
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

    def _with_pipelines(self, spaces: Sequence[Space]) -> list[Space]:
        present = {pipeline_name(space.constraints.pipeline): None for space in spaces}
        selected = [
            space
            for space in spaces
            if not self.pipelines or pipeline_name(space.constraints.pipeline) in self.pipelines
        ]
        if selected or not spaces:
            return selected
        hint = did_you_mean(self.pipelines[0], present)
        message = (
            f"none of its spaces has pipeline {' or '.join(self.pipelines)}; "
            f"the spaces have {', '.join(present)}{hint}"
        )
        raise SelectionError(error(message))


EVERYTHING: Final = SpaceSelection()
"""The selection of whole spaces."""


def check_selection(attempts: Iterable[Callable[[], object]]) -> None:
    """Check that a selection leaves a space of at least one dispatch.

    Args:
        attempts: functions that apply the selection to one dispatch each.

    Raises:
        SelectionError: the selection leaves no space of any dispatch; the error is that of the first dispatch.
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

    Args:
        space: the space.
        knob: the knob.
        value: its value.
    """

    def __init__(self, space: Space, knob: Knob, value: int) -> None:
        self._space = space
        self._knob = knob
        self._value = value

    @property
    def is_sufficient(self) -> bool:  # type: ignore[override] # that of the space
        """See `Space`."""
        return self._space.is_sufficient

    @cached_property
    def constraints(self) -> ConstraintSet:  # type: ignore[override] # made on first access
        """The constraints of the space, and the value of the knob."""
        whole = self._space.constraints
        condition = unknown(self._knob.name) == self._value
        message = f"{self._knob.name} is fixed to {self._knob.describe(self._value)}"
        if not _is_possible(whole, self._knob, self._value):
            whole = _without_heuristics(whole, self._knob)
        return _with_assertions(whole, (*whole.assertions, Assertion(condition.term, message)))

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """See `Space`."""
        return self._space.assignment(configuration)

    def untiled(self, configuration: Configuration) -> frozenset[str]:
        """See `Space`."""
        return self._space.untiled(configuration)

    def check(self, assignment: Mapping[str, int], limits: Limits) -> CheckAnswer:
        """See `Space`."""
        return self.constraints.check(assignment, limits)

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """See `Space`."""
        return self._space.compilation_info(assignment)

    def decomposition_config(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        """Return the `decomposition_config` of an attention; None if the space does not write one."""
        write = getattr(self._space, "decomposition_config", None)
        return write(assignment) if write else None


def value_text(knob: Knob, value: int) -> str:
    """Return the value of a knob as text, in the form of `FixedKnob`."""
    return _plain(knob.options[value]) if isinstance(knob, OneOfKnob) else str(value)


def _fix(spaces: Sequence[Space], fixed: FixedKnob) -> list[Space]:
    """Return the spaces that have a knob, with the knob fixed to a value.

    Raises:
        SelectionError: no space has the knob, or none allows the value.
    """
    with_knob = [
        (space, knob)
        for space in spaces
        for knob in _knobs(space)
        if knob.name in (fixed.name, current_name(fixed.name))
    ]
    if not with_knob:
        names = dict.fromkeys(knob.name for space in spaces for knob in _knobs(space))
        listed = note(f"its knobs are {', '.join(names)}")
        hint = did_you_mean(fixed.name, names)
        raise SelectionError(error(f"unknown knob '{fixed.name}'{hint}", notes=[listed]))
    selected: list[Space] = []
    for space, knob in with_knob:
        value = _value_of(knob, fixed.value)
        if value is not None and _is_selectable(space, knob, value):
            selected.append(FixedSpace(space, knob, value))
    if not selected:
        listed = note(f"possible values: {', '.join(_possible_values(with_knob))}")
        message = f"knob '{fixed.name}' cannot be {fixed.value}"
        raise SelectionError(error(message, notes=[listed]))
    return selected


def _value_of(knob: Knob, text: str) -> int | None:
    """Return the value that a text stands for in assignments; None if the knob has no such value."""
    if isinstance(knob, OneOfKnob):
        options, option = [*map(_plain, knob.options)], _plain(text)
        return options.index(option) if option in options else None
    return int(text) if text.isdecimal() else None


def _knobs(space: Space) -> Iterable[Knob]:
    try:
        return space.constraints.knobs
    except UndecidedError:
        return ()


def _is_selectable(space: Space, knob: Knob, value: int) -> bool:
    """Return whether a space has a valid assignment with a value, or would have one without heuristics on the knob.

    The compiler's choice may violate heuristics. The candidates near it, which are tried, then violate them, too.
    """
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
        for index, assertion in enumerate(whole.assertions)
        if assertion.grade is not Grade.HEURISTIC or knob.name not in whole.unknowns_of(index)
    )
    return _with_assertions(whole, tuple(kept))


def _with_assertions(whole: ConstraintSet, assertions: tuple[Assertion, ...]) -> ConstraintSet:
    """Return a set with other assertions."""
    return ConstraintSet(
        problem=whole.problem,
        pipeline=whole.pipeline,
        provider=whole.provider,
        knobs=whole.knobs,
        auxiliaries=whole.auxiliaries,
        assertions=assertions,
        unknown=whole.unknown,
    )


def _is_possible(constraints: ConstraintSet, knob: Knob, value: int) -> bool:
    """Return whether a set has a valid assignment with a value of a knob, as far as it can be decided."""
    answer = constraints.explain_unsat({knob.name: value}, _LIMITS)
    return answer.verdict is not Verdict.PROVEN


def _possible_values(choices: Iterable[tuple[Space, Knob]]) -> list[str]:
    """Return the values of a knob in some spaces: all options, or the divisors of its loop and powers of two."""
    texts: dict[str, None] = {}
    for space, knob in choices:
        for value in values_worth_trying(knob, space.constraints.problem):
            text = value_text(knob, value)
            # One space suffices: to ask another takes as long as the plan of a search.
            if text not in texts and _is_selectable(space, knob, value):
                texts[text] = None
    numbers = sorted(filter(str.isdecimal, texts), key=int)
    return [*numbers, *(text for text in texts if not text.isdecimal())] or ["none"]


def _plain(option: str) -> str:
    """Return an option without the attribute around it, such as the name of an intrinsic."""
    inner = re.fullmatch(r"#[\w.]+<(.*)>", option)
    return (inner[1] if inner else option).replace(" ", "")
