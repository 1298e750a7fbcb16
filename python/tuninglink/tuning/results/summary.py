"""Results of tasks in words, one line each."""

from __future__ import annotations

from typing import Final

from tuninglink.tuning.deciding.decision import Decision
from tuninglink.tuning.devices.timing import duration
from tuninglink.tuning.references.output_verdict import Correctness
from tuninglink.tuning.results.task_result import Ending, TaskOutcome, TaskResult

_AGREEING: Final = 0.05
"""The ratio of the median times may be this far from the median of the ratios without a remark."""


def summary(result: TaskResult) -> str:
    """Return the outcome of a task, its times, its share, and why no more candidates were tried."""
    share = f"{result.share:.0%} of the time"
    return f"{outcome(result)}; {share}, {trials(result)}{_default(result)}"


def outcome(result: TaskResult) -> str:
    """Return the outcome of a task with its times."""
    default, decision = duration(result.default_us), result.decision
    match result.verdict:
        case TaskOutcome.WON | TaskOutcome.LEFT_OUT if decision is not None:
            return f"won: {decision.speedup}, {times(decision)}"
        case TaskOutcome.UNDECIDED:
            interval = f": {decision}" if decision else ""
            reason = f": {result.reason}" if result.reason else ""
            return f"undecided{interval}{reason}, {default} by default"
        case _ if not result.trials:
            reason = result.prepared.spaces.reason
            return f"no candidates{f': {reason}' if reason else ''}, {default} by default"
        case _ if result.ending is Ending.ALL_FAILED:
            return f"all candidates failed, {default} by default"
    return f"nothing is faster than the compiler's choice, {default}"


def _default(result: TaskResult) -> str:
    """Return what the reference says about the compiler's choice, unless it is right."""
    judgement = result.judgement
    if judgement is None or judgement.correctness is Correctness.RIGHT:
        return ""
    if judgement.correctness is not Correctness.WRONG:
        reason = next(iter(judgement.reason.splitlines()), "")
        return f"; the default's result is {judgement.correctness.value}: {reason}"
    if result.verdict is TaskOutcome.WON:
        return "; the default's result is wrong"
    return "; the default's result is wrong, and no right candidate was found: the program computes wrong results here"


def trials(result: TaskResult) -> str:
    """Return how many candidates were tried, and why no more."""
    count = len(result.trials)
    tried = f"{count} candidate{'' if count == 1 else 's'} tried"
    return f"{tried} ({result.ending.value})" if result.ending else tried


def times(decision: Decision) -> str:
    """Return the median times of a decision, with a remark where their ratio is not the speedup."""
    pair = f"{duration(decision.default_us)} to {duration(decision.tuned_us)}"
    ratio = decision.default_us / decision.tuned_us
    if abs(ratio / decision.speedup.median - 1) <= _AGREEING:
        return pair
    return f"{pair} (medians of times that varied; the speedup is by round)"
