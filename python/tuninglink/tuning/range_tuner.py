"""Tuning of dynamic dispatches by ranges of sizes, where no single configuration is best for all sizes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tuninglink.errors import TuninglinkError
from tuninglink.mlir import error
from tuninglink.specs import Spec, load_spec
from tuninglink.tuning.candidates import NotTunableError, PreparedTask
from tuninglink.tuning.deciding import (
    ConfidenceInterval,
    Decision,
    Outcome,
    SizeComparison,
    TaskOutcome,
    TaskResult,
    TrialResult,
    compare_at,
    first_slow,
    measure_default,
)
from tuninglink.tuning.programs import Failure, box_above, boxes_around, dynamic_loops, specialize
from tuninglink.tuning.scheduling import tune_task

if TYPE_CHECKING:
    from tuninglink.tuning.deciding import Budget
    from tuninglink.tuning.programs import Benchmark, SizedFunction, TuningTask
    from tuninglink.tuning.scheduling import TuningContext

    Prepare = Callable[[TuningTask, Sequence[Spec]], PreparedTask]


_TUNING: Final = 0.7
"""The part of the time for a range in which it is tuned; in the rest it is compared."""

_LEAST_PART: Final = 0.5
"""A range is tuned if this part of the time that the last one took is left."""

_CHECKING: Final = 0.15
"""The part of the time for all ranges that is kept for the comparison of the outputs of all of them."""

_FEWEST_SIZES: Final = {"cuda": 2, "rocm": 2, "vulkan-spirv": 2, "metal-spirv": 2}
"""The least number of sizes of a range, by backend. On GPUs, the compiler fails on the code for a single size: it copies
the result outside of the workgroups."""


@dataclass(frozen=True)
class RangeTuner:
    """Tunes dynamic dispatches again for ranges around their sizes, with separate code for each."""

    tuner: TuningContext
    prepare: Prepare
    write: Callable[[TaskResult], str]

    def improve(self, result: TaskResult, budget: Budget) -> TaskResult:
        """Return the result of a dynamic dispatch with the ranges that are faster than the entry for all sizes."""
        # Make a task for each range around the measured sizes.
        boxes = boxes_around(
            [function for function in result.task.sized if function.weight],
            dynamic_loops(result.task),
            _FEWEST_SIZES.get(result.task.target.backend, 1),
        )
        tasks = [task for box in boxes if (task := specialize(result.task, box)) is not None]
        default = self._compile(result.task)
        if not tasks or default is None:
            return result
        open_ = default
        if result.verdict is TaskOutcome.WON and result.winner and result.winner.benchmark:
            open_ = result.winner.benchmark
        # Tune the ranges in turn, while a further one fits in the budget.
        self.tuner.listener.specializing(result.prepared, len(tasks))
        tuning = budget.part(1 - _CHECKING)
        ranges: list[TaskResult] = []
        taken = 0.0
        for position, task in enumerate(tasks):
            if tuning.is_over or tuning.remaining < _LEAST_PART * taken:
                break
            began = time.monotonic()
            part = tuning.part(_TUNING / (len(tasks) - position))
            ranged = self._tune(task, result, part)
            if ranged is not None:
                ranged = self._compared(ranged, default, open_)
            if ranged is not None:
                ranged = self._narrowed(ranged, result, default)
            ranges += [ranged] if ranged is not None else []
            taken = time.monotonic() - began
        if not ranges:
            return result
        # Check all ranges together.
        joined = self._joined(result, ranges, default)
        self._check(joined, default)
        return joined

    def _tune(self, task: TuningTask, result: TaskResult, budget: Budget) -> TaskResult | None:
        """Return the result of a specialized dispatch, whose winner may be the compiler's choice."""
        settings, began = self.tuner.settings, time.monotonic()
        compiled = self.tuner.compiler.submit_program(task.source, "", settings.timeout).result()
        measured = measure_default(task, compiled, self.tuner.devices)
        if isinstance(measured, Failure):
            return None
        try:
            prepared = self.prepare(task, self._known(result))
        except NotTunableError:
            return None
        # The reference has judged the compiler's choice for all sizes.
        tuner = replace(self.tuner, references=None)
        tuned = tune_task(tuner, prepared, replace(measured, share=result.share), budget)
        if tuned.winner is not None:
            return tuned
        choice = TrialResult(
            prepared.spaces.default, measured.default_us, None, began, measured.benchmark
        )
        return replace(tuned, winner=choice)

    def _known(self, result: TaskResult) -> list[Spec]:
        """Return a spec with the best configuration for all sizes, which is a candidate for each range."""
        trials = [trial for trial in result.trials if trial.microseconds is not None]
        best = min(trials, key=lambda trial: trial.microseconds or math.inf, default=None)
        if best is None or not isinstance(result.prepared, PreparedTask):
            return []
        return [load_spec(result.prepared.spec(best.candidate, {}).encode())]

    def _compile(self, task: TuningTask) -> Benchmark | None:
        seconds = self.tuner.settings.timeout
        compiled = self.tuner.compiler.submit_program(task.source, "", seconds).result()
        return None if isinstance(compiled, Failure) else task.benchmark(compiled.image)

    def _compared(
        self, ranged: TaskResult, default: Benchmark, open_: Benchmark
    ) -> TaskResult | None:
        """Return a range with its speedup over the compiler's choice; None unless it is faster than the best so far."""
        assert ranged.winner is not None
        assert ranged.winner.benchmark is not None
        # Every size must be at least as fast as the default and as the best for all sizes.
        comparisons: list[SizeComparison] = []
        is_faster = False
        for function in ranged.winner.benchmark.measured:
            benchmark = ranged.winner.benchmark.at(function)
            rivals = [open_] if open_ is default else [open_, default]
            for rival in rivals:
                comparison = compare_at(
                    self.tuner.devices.first,
                    rival.at(function),
                    benchmark,
                    function,
                    self.tuner.settings.seed,
                )
                if isinstance(comparison, Failure) or comparison.is_slower:
                    return None
                if rival is open_:
                    is_faster |= comparison.speedup.low > 1 + self.tuner.settings.min_gain
                if rival is default:
                    comparisons.append(comparison)
        if not is_faster:
            return None
        return replace(
            ranged,
            verdict=TaskOutcome.WON,
            sizes=tuple(comparisons),
            decision=mean_decision(comparisons),
        )

    def _narrowed(
        self, ranged: TaskResult, result: TaskResult, default: Benchmark
    ) -> TaskResult | None:
        """Return a range without the small sizes at which it is much slower than the compiler's choice."""
        assert ranged.winner is not None
        assert ranged.winner.benchmark is not None
        benchmark = ranged.winner.benchmark
        ordered = sorted(benchmark.between, key=_iterations, reverse=True)
        seed = self.tuner.settings.seed
        slow = first_slow(self.tuner.devices.first, default, benchmark, ordered, seed)
        if slow is None:
            return ranged
        if isinstance(slow, Failure):
            return None
        timed = (*benchmark.measured, *benchmark.between)
        task = specialize(result.task, box_above(ranged.task.bounds, slow[0], timed))
        try:
            prepared = self.prepare(task, self._known(result)) if task is not None else None
        except NotTunableError:
            return None
        return replace(ranged, prepared=prepared) if prepared is not None else None

    def _joined(
        self, result: TaskResult, ranges: Sequence[TaskResult], default: Benchmark
    ) -> TaskResult:
        """Return the result of a dispatch with ranges; all other sizes keep their configuration."""
        sizes = {comparison.sizes: comparison for comparison in result.sizes}
        sizes |= {comparison.sizes: comparison for part in ranges for comparison in part.sizes}
        ordered = [
            sizes.get(function.sizes) or self._unchanged(default, function)
            for function in default.measured
        ]
        winner = result.winner or TrialResult(
            result.prepared.spaces.default, result.default_us, None, time.monotonic()
        )
        return replace(
            result,
            verdict=TaskOutcome.WON,
            winner=winner,
            ranges=tuple(ranges),
            sizes=tuple(ordered),
            decision=mean_decision(ordered),
            reason="",
        )

    def _check(self, result: TaskResult, default: Benchmark) -> None:
        """Compare the outputs of the code of all ranges with the compiler's choice, at all sizes."""
        task, seconds = result.task, self.tuner.settings.timeout * (1 + len(result.ranges))
        compiled = self.tuner.compiler.submit_program(
            task.source, self.write(result), seconds
        ).result()
        if isinstance(compiled, Failure):
            failure: Failure | None = compiled
        else:
            reduction = result.prepared.spaces.problem.reduction
            benchmark = task.benchmark(compiled.image)
            failure = self.tuner.devices.first.compare(benchmark, default, reduction)
        if failure is not None:
            message = f"the ranges of {task.name} together do not reproduce the measured code"
            raise TuninglinkError(error(f"{message}: {failure.message}"))

    def _unchanged(self, default: Benchmark, function: SizedFunction) -> SizeComparison:
        """Return the times at sizes that are left to the compiler."""
        timing = self.tuner.devices.first.measure(default.at(function))
        us = math.inf if isinstance(timing, Failure) else timing.median
        same = ConfidenceInterval(1.0, 1.0, 1.0)
        return SizeComparison(function.sizes, function.weight, us, us, same)


def _iterations(function: SizedFunction) -> int:
    return math.prod(size or 1 for size in function.loops)


def mean_decision(comparisons: Sequence[SizeComparison]) -> Decision:
    """Return the weighted geometric mean of comparisons at several sizes."""
    weights = sum(comparison.weight for comparison in comparisons)

    def mean(value: Callable[[SizeComparison], float]) -> float:
        total = sum(comparison.weight * math.log(value(comparison)) for comparison in comparisons)
        return math.exp(total / weights)

    return Decision(
        Outcome.FASTER,
        ConfidenceInterval(
            mean(lambda comparison: comparison.speedup.low),
            mean(lambda comparison: comparison.speedup.median),
            mean(lambda comparison: comparison.speedup.high),
        ),
        mean(lambda comparison: comparison.default_us),
        mean(lambda comparison: comparison.tuned_us),
        (),
    )
