"""What the whole program says about the entries of a spec: which of them stay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tuninglink.tuning.deciding.model_run import ModelRunError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from tuninglink.tuning.deciding.model_run import ModelRuns
    from tuninglink.tuning.results.output_comparison import OutputComparison
    from tuninglink.tuning.results.task_result import ModelComparison, TaskResult

    Entry = TypeVar("Entry")


@dataclass(frozen=True)
class ModelVerdict:
    """What the whole program says about a spec.

    Attributes:
        kept: the entries that stay.
        comparison: how the program fares with them; None if it was not run, or none stays.
        reason: why there is no comparison.
        failures: why the program fails, or is wrong, with entries that do not stay.
        default_outputs: what the program computes without a spec; None if it was not run.
    """

    kept: tuple[TaskResult, ...]
    comparison: ModelComparison | None = None
    reason: str = ""
    failures: tuple[str, ...] = ()
    default_outputs: OutputComparison | None = None

    @property
    def outputs(self) -> OutputComparison | None:
        """What the program computes, with the entries that stay if there are any."""
        if self.comparison is not None and self.comparison.outputs is not None:
            return self.comparison.outputs
        return self.default_outputs


def judge_entries(
    won: Sequence[TaskResult], runs: ModelRuns, write: Callable[[Sequence[TaskResult]], str]
) -> ModelVerdict:
    """Leave out entries that make the whole program slower, although their dispatch is faster.

    Entries for dispatches whose default is wrong stay at any speed, unless the program fails with them. No entry stays
    with which the outputs of the program are not accepted.

    Args:
        won: what has an entry.
        runs: runs the program.
        write: writes the spec with some of the entries.
    """
    comparisons: dict[str, ModelComparison] = {}

    def compare(entries: Sequence[TaskResult]) -> ModelComparison:
        chosen = [entry for entry in won if any(entry is chosen_entry for chosen_entry in entries)]
        spec = write(chosen)
        if spec not in comparisons:
            mends = any(entry.default_is_wrong for entry in chosen)
            comparisons[spec] = runs.compare(spec, mends=mends)
        return comparisons[spec]

    mending = [entry for entry in won if entry.default_is_wrong]
    faster = [entry for entry in won if not entry.default_is_wrong]
    try:
        if mending and compare(won).failure:
            mending = harmless(mending, compare, lambda comparison: bool(comparison.failure))
        faster = harmless(faster, lambda entries: compare([*mending, *entries]))
        kept = [entry for entry in won if entry in mending or entry in faster]
        comparison = compare(kept) if kept else None
    except ModelRunError as failure:
        return ModelVerdict(tuple(won), reason=str(failure))
    reason = "" if kept else "no entry makes the program faster"
    left_out = [
        compare([entry]) for entry in won if entry not in kept and write([entry]) in comparisons
    ]
    failures = tuple(dict.fromkeys(rejected.failure for rejected in left_out if rejected.failure))
    outputs = next(
        (compared.outputs for compared in comparisons.values() if compared.outputs is not None),
        None,
    )
    default_outputs = None if outputs is None else replace(outputs, tuned_error=None)
    return ModelVerdict(tuple(kept), comparison, reason, failures, default_outputs)


def judge_default(runs: ModelRuns) -> ModelVerdict:
    """Return what the whole program computes where there is no entry."""
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
    """Return the entries without those that harm the program, found by bisection.

    Args:
        entries: all entries.
        compare: runs the program with some of them, and without any.
        is_harmed: tells whether the program is harmed; by default, whether it is slower.
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
        # Each half is fine alone: both together are not.
        return max(halves, key=lambda half: compare(half).speedup.median)
    return kept
