"""The valid configurations that are nearest to invalid ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.errors import misspelt
from tuninglink.iree.lowering_configs import ENTRIES, PIPELINE_OPTIONS, read_cpu_configuration
from tuninglink.solver.answers import AssignmentError, Limits, Verdict
from tuninglink.spaces.configuration import (
    Configuration,
    MismatchError,
    dictionary_of,
    with_defaults,
)
from tuninglink.spaces.knob_reference import entries_of_knob
from tuninglink.spaces.knobs import OneOfKnob

if TYPE_CHECKING:
    from tuninglink.spaces.providers import Space


@dataclass(frozen=True)
class Proposal:
    """The valid configuration that is nearest to another one.

    Attributes:
        changes: for each knob that differs, its name, its old and its new value.
        compilation_info: the whole configuration, None if the provider cannot write it.
        is_proven: whether it is proven to be the nearest; otherwise it is the best found within the time limit.
        untiled: the knobs whose old value is 0, which means the whole loop.
        options: the options of the knobs whose values are indices of options.
    """

    changes: tuple[tuple[str, int, int], ...]
    compilation_info: mlir.Attribute | None
    is_proven: bool
    untiled: frozenset[str] = frozenset()
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        which = "the nearest" if self.is_proven else "the nearest found in time"
        changes = ", ".join(self._change(*change) for change in self.changes)
        return f"{which} valid configuration: {changes}"

    def _change(self, name: str, old: int, new: int) -> str:
        options = self.options.get(name, ())
        if max(old, new) < len(options):
            return f"{name}: {options[old]} -> {options[new]}"
        return f"{name}: {of_zero(old) if name in self.untiled else old} -> {new}"


def as_intended(configuration: Configuration) -> Configuration:
    """Correct the names of misspelt entries in a configuration, unless it also has entries with the correct names.

    Code generation does not read misspelt entries, but their values are what the user wants.
    """
    lowering = configuration.lowering_config
    if not isinstance(lowering, iree_gpu.LoweringConfigAttr):
        return configuration
    entries = dictionary_of(lowering) or {}
    right = {misspelt(name, ENTRIES): entry for name, entry in entries.items()}
    missing = {name: right[name] for name in right if name and name not in entries}
    if not missing:
        return configuration
    with lowering.context:
        attributes = mlir.DictAttr.get({**entries, **missing})
        return replace(configuration, lowering_config=iree_gpu.LoweringConfigAttr.get(attributes))


def nearest_valid(
    space: Space,
    assignment: Mapping[str, int],
    intended: Configuration,
    untiled: frozenset[str],
    limits: Limits,
) -> tuple[Proposal | None, str]:
    """Return the valid configuration of a space that is nearest to a user's, or the reason why there is none.

    Args:
        space: the space.
        assignment: the knobs as code generation reads them.
        intended: the configuration with the correct names of misspelt entries.
        untiled: the knobs that are 0 in the configuration, which means the whole loop.
        limits: the limits of the query.
    """
    constraints, start = space.constraints, assignment
    with suppress(MismatchError):
        start = space.assignment(with_defaults(intended))
    answer = constraints.nearest(start, limits)
    # An invalid configuration needs one change; the right names may be all of it.
    needed = 1 if start is assignment else 0
    if len(answer.changed) > needed:
        # Preferences that the configuration does not follow do not justify changes of further knobs.
        ignored = constraints.broken_heuristics(start)
        direct = constraints.nearest(start, limits, without=ignored) if ignored else answer
        if direct.assignment is not None and len(direct.changed) < len(answer.changed):
            answer = direct
    if answer.assignment is None:
        if answer.verdict is Verdict.REFUTED:
            return None, "there is no valid configuration in this pipeline"
        return None, f"no valid configuration was found in time: {answer.reason}"
    try:
        info = space.compilation_info(answer.assignment)
    except AssignmentError:
        info = None
    valid = {**start, **answer.changed}
    names = (name for name in answer.assignment if valid[name] != assignment[name])
    changes = tuple((name, assignment[name], valid[name]) for name in names)
    knobs = (knob for knob in constraints.knobs if isinstance(knob, OneOfKnob))
    options = {knob.name: knob.options for knob in knobs}
    return Proposal(changes, info, answer.verdict is Verdict.PROVEN, untiled, options), ""


def replaced_entries(
    configuration: Configuration, proposal: Proposal | None
) -> tuple[tuple[str, str], ...]:
    """Return the entries of a configuration that a proposal changes, with their new values as text.

    They are empty if a changed knob is in another attribute, such as a `decomposition_config`.
    """
    info = None if proposal is None else proposal.compilation_info
    if proposal is None or not isinstance(info, iree_codegen.CompilationInfoAttr):
        return ()
    old = _texts(configuration.complete)
    translation = info.translation_info
    assert isinstance(translation, iree_codegen.TranslationInfoAttr)
    new = _texts(Configuration(info.lowering_config, translation))
    replaced = {name: text for name, text in new.items() if old.get(name) != text}
    for knob, _, _ in proposal.changes:
        if not any(entry in replaced for entry in entries_of_knob(knob)):
            return ()
    return tuple(replaced.items())


def _texts(configuration: Configuration) -> dict[str, str]:
    """Return the entries of a configuration as text."""
    levels = read_cpu_configuration(configuration.lowering_config)
    if levels is not None:
        return {level: str([*tiling.sizes]) for level, tiling in levels.items() if tiling}
    entries = dict(configuration.entries)
    options = entries.pop(PIPELINE_OPTIONS, None)
    entries |= {} if options is None else dictionary_of(options) or {}
    return {
        name: str(entry.value if isinstance(entry, mlir.IntegerAttr) else entry)
        for name, entry in entries.items()
    }


def of_zero(value: int) -> str:
    """Return the display text of a tile of 0, given the size that it stands for."""
    return f"0 (all {value})"
