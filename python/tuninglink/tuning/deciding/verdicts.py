"""Verdicts of whole-program runs: on the entries of a spec, and on the outputs of the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tuninglink.plain_data import FLAT
from tuninglink.tuning.deciding import ModelComparison
from tuninglink.tuning.deciding.model_run import ModelRunError, ModelRuns
from tuninglink.tuning.deciding.output_judge import DEFAULT_SOURCE, GIVEN_SOURCE
from tuninglink.tuning.results import Correctness, OutputComparison, OutputVerdict
from tuninglink.tuning.results.task_result import TaskResult

Entry = TypeVar("Entry")


@dataclass(frozen=True)
class ModelVerdict:
    """The verdict of whole-program runs on a spec.

    Attributes:
        kept: the entries that stay.
        comparison: the comparison of the program with them and without; None if it was not run or none stays.
        reason: the reason for a missing comparison.
        failures: the failures of the program with the entries that were dropped.
        default_outputs: the outputs of the program without a spec; None if it was not run.
    """

    kept: tuple[TaskResult, ...]
    comparison: ModelComparison | None = None
    reason: str = ""
    failures: tuple[str, ...] = ()
    default_outputs: OutputComparison | None = None

    @property
    def outputs(self) -> OutputComparison | None:
        """The outputs of the program, with the entries that stay if there are any."""
        if self.comparison is not None and self.comparison.outputs is not None:
            return self.comparison.outputs
        return self.default_outputs


def judge_entries(
    won: Sequence[TaskResult], runs: ModelRuns, write: Callable[[Sequence[TaskResult]], str]
) -> ModelVerdict:
    """Drop entries that make the whole program slower although their dispatch is faster.

    Right results come before speed: entries for dispatches with a wrong default stay at any speed, unless the program
    fails with them. The other entries are compared with the program that has only the repairs. Entries
    with which the outputs of the program are rejected are dropped.

    Args:
        won: the results with entries.
        runs: runs the program.
        write: writes the spec with some of the entries.
    """
    comparisons: dict[tuple[str, str], ModelComparison] = {}

    def pair(entries: Sequence[TaskResult], base: Sequence[TaskResult] = ()) -> tuple[str, str]:
        chosen = [entry for entry in won if any(entry is chosen_entry for chosen_entry in entries)]
        return write(chosen), write(base) if base else ""

    def compare(entries: Sequence[TaskResult], base: Sequence[TaskResult] = ()) -> ModelComparison:
        spec, before = pair(entries, base)
        if (spec, before) not in comparisons:
            is_repair = not base and any(entry.default_is_wrong for entry in entries)
            comparisons[spec, before] = runs.compare(spec, base=before, is_repair=is_repair)
        return comparisons[spec, before]

    repairs = [entry for entry in won if entry.default_is_wrong]
    faster = [entry for entry in won if not entry.default_is_wrong]
    if repairs and faster:
        runs.begin_ahead(write(repairs))
    try:
        if repairs and compare(won).failure:
            repairs = harmless(repairs, compare, lambda comparison: bool(comparison.failure))
        faster = harmless(faster, lambda entries: compare([*repairs, *entries], repairs))
        kept = [entry for entry in won if entry in repairs or entry in faster]
        comparison = compare(kept) if kept else None
    except ModelRunError as failure:
        full = comparisons.get(pair(won))
        if full is None:
            return ModelVerdict(tuple(won), reason=str(failure))
        if not full.is_slower:
            return ModelVerdict(tuple(won), _with_note(full, len(repairs)))
        # The program is slower with the spec or fails, and the entries at fault were not found.
        harm = full.failure or "the program is slower with the spec"
        reason = f"{harm}; the entries at fault were not found: {failure}"
        kept = [] if full.failure else repairs
        return ModelVerdict(tuple(kept), reason=reason, default_outputs=_of_default(full.outputs))
    # Report the failures of entries that were left out.
    reason = "" if kept else "no entry makes the program faster"
    alone = [
        specs
        for entry in won
        if entry not in kept
        for specs in (pair([entry]), pair([*repairs, entry], repairs))
    ]
    left_out = [comparisons[specs] for specs in alone if specs in comparisons]
    failures = tuple(dict.fromkeys(rejected.failure for rejected in left_out if rejected.failure))
    outputs = next(
        (compared.outputs for compared in comparisons.values() if compared.outputs is not None),
        None,
    )
    if comparison is not None:
        comparison = _with_note(comparison, len(repairs))
    return ModelVerdict(tuple(kept), comparison, reason, failures, _of_default(outputs))


def _with_note(comparison: ModelComparison, repairs: int) -> ModelComparison:
    """Return a comparison with a remark if some entries stay at any speed."""
    if not repairs:
        return comparison
    entries = (
        "1 entry replaces a wrong default and stays"
        if repairs == 1
        else (f"{repairs} entries replace wrong defaults and stay")
    )
    note = f"{entries} at any speed: right results come before speed"
    return replace(comparison, notes=(*comparison.notes, note))


def _of_default(outputs: OutputComparison | None) -> OutputComparison | None:
    """Return the errors without the spec."""
    return None if outputs is None else replace(outputs, tuned_error=None)


def judge_default(runs: ModelRuns) -> ModelVerdict:
    """Return the verdict on the outputs of the whole program without entries."""
    reason = "there is no entry"
    try:
        return ModelVerdict((), reason=reason, default_outputs=runs.compared_outputs())
    except ModelRunError as failure:
        return ModelVerdict((), reason=f"{reason}, and {failure}")


def harmless(
    entries: Sequence[Entry],
    compare: Callable[[Sequence[Entry]], ModelComparison],
    is_harmed: Callable[[ModelComparison], bool] = lambda comparison: comparison.is_slower,
) -> list[Entry]:
    """Return the entries that do not harm the program, by bisection.

    Args:
        entries: all entries.
        compare: compares the program with the given entries and without any.
        is_harmed: returns whether the program is harmed; by default, whether it is slower.
    """
    if not entries or not is_harmed(compare(entries)):
        return list(entries)
    if len(entries) == 1:
        return []
    middle = len(entries) // 2
    parts = (entries[:middle], entries[middle:])
    halves = [harmless(part, compare, is_harmed) for part in parts]
    kept = [*halves[0], *halves[1]]
    if all(halves) and is_harmed(compare(kept)):
        # Each half is harmless alone, but both together are not.
        return max(halves, key=lambda half: compare(half).speedup.median)
    return kept


@dataclass(frozen=True)
class ProgramVerdict:
    """The verdict on the outputs of a whole program.

    Attributes:
        judgement: whether its outputs are right.
        source: the origin of the expected outputs; empty if the program was not run.
        error: the relative error of the outputs; None without a comparison.
        tolerance: the largest error explained by rounding; None without a comparison.
    """

    judgement: OutputVerdict = field(metadata=FLAT)
    source: str = ""
    error: float | None = None
    tolerance: float | None = None

    @property
    def is_right(self) -> bool:
        """Whether the outputs are not shown to be wrong."""
        return self.judgement.correctness is not Correctness.WRONG


def judge_program(runs: ModelRuns, spec: str) -> ProgramVerdict:
    """Return the verdict on the outputs of a whole program.

    Outputs are wrong only if they differ from those given by the user. If they differ from a reference, the reference
    may be the less exact one.

    Args:
        runs: runs the program and compares its outputs.
        spec: the spec to apply; empty for none.
    """
    try:
        comparison = runs.compared_outputs(spec)
    except ModelRunError as failure:
        return ProgramVerdict(OutputVerdict(Correctness.UNCHECKED, str(failure)))
    error = comparison.tuned_error if spec else comparison.default_error
    if comparison.source == DEFAULT_SOURCE or error is None:
        return ProgramVerdict(OutputVerdict(Correctness.UNCHECKED, comparison.note))
    finding = f"relative error {error:.2g} against {comparison.source}"
    correctness = Correctness.RIGHT
    if error > comparison.tolerance:
        finding += (
            f", at most {comparison.tolerance:.2g} is rounding; --trace shows where they diverge"
        )
        is_given = comparison.source == GIVEN_SOURCE
        correctness = Correctness.WRONG if is_given else Correctness.UNDECIDED
    judgement = OutputVerdict(correctness, finding)
    return ProgramVerdict(judgement, comparison.source, error, comparison.tolerance)
