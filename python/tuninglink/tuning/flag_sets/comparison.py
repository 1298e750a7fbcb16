"""Comparison of programs under sets of flags, alone or with specs, by whole-program times."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from threading import TIMEOUT_MAX
from typing import Any, Final

from numpy.typing import NDArray

from tuninglink.devices import AheadLoader, Device
from tuninglink.plain_data import FLAT, named
from tuninglink.programs import FailureKind
from tuninglink.tuning.deciding import (
    CALLS_OF_FEWEST_ROUNDS,
    CallError,
    ConfidenceInterval,
    ModelComparison,
    ModelRunError,
    Numerics,
    OutputJudge,
    ProgramVariants,
    Standings,
    TuningSettings,
)
from tuninglink.tuning.flag_sets.sets import DEFAULT, NOT_COMPILED, CompiledSource, FlagSet, Job
from tuninglink.tuning.references import ProgramReference

Outputs = Mapping[str, tuple[NDArray[Any], ...]]

NEAR: Final = 0.95
"""The speedup from which a set may be as fast: medians of a busy machine vary as much. EfficientNet-B0 on an H200 takes 1.09
times as long with 25 replaced wrong defaults, so that a set which avoids them may cost as much."""


@dataclass(frozen=True)
class SetResult:
    """The result of one set of flags.

    Attributes:
        milliseconds: the time of the program; None if it was not measured.
        speedup: the speedup over the user's flags; None if it was not measured.
        error: the relative error of the outputs; None likewise.
        note: the reason why the set was not measured or is not selected; empty otherwise.
        is_rejected: whether its outputs are rejected.
        is_slower: whether it is slower at one of the sizes of dynamic arguments.
        is_data_tiled: whether the compiler chooses the layout of operands, which specs cannot configure.
        avoided: by how much the number of defaults that are known to be miscompiled is smaller than with the user's flags.
        entries: the number of entries of the spec tuned under the set; None for the set alone.
        is_taken: whether its flags are written.
    """

    flag_set: FlagSet = field(metadata=FLAT)
    milliseconds: float | None = None
    speedup: ConfidenceInterval | None = field(default=None, metadata=FLAT)
    error: float | None = None
    note: str = ""
    is_rejected: bool = False
    is_slower: bool = False
    is_data_tiled: bool = False
    avoided: int = 0
    entries: int | None = None
    is_taken: bool = field(default=False, metadata=named("taken"))

    @property
    def median(self) -> float:
        """The estimated speedup, 0 if it was not measured."""
        return self.speedup.median if self.speedup is not None else 0.0

    @property
    def low(self) -> float:
        """The lower bound of the speedup, 0 if it was not measured."""
        return self.speedup.low if self.speedup is not None else 0.0

    @property
    def repairs(self) -> bool:
        """Whether the set avoids wrong defaults and may be as fast as the user's flags."""
        return self.avoided > 0 and self.median >= NEAR

    def may_win(self, median: float) -> bool:
        """Return whether the set is acceptable, and its estimated speedup is larger than the given one."""
        return self.median > median and not self.is_rejected and not self.is_slower


@dataclass(frozen=True)
class FlagsResult:
    """The result of comparing sets of flags.

    Attributes:
        results: the sets, in the order in which they were tried.
        best: the selected set; None if the user's flags are the fastest.
        default_ms: the time of the program with the user's flags; None if it was not measured.
        noise: the speedup of the default against itself; None likewise.
        reason: the reason for comparing no sets, or for comparing them with one of them instead of the user's flags; empty
            otherwise.
        default_is_tiled: whether the compiler already chooses the layout of operands with the user's flags.
        pairs: the sets under which dispatches were tuned, with their specs, if flags were selected.
        final_ms: the time of the program with the user's flags in the comparison of these pairs.
        finding: the fault of the outputs of the program with the user's flags; empty if there is none, or it was not
            compared.
    """

    results: tuple[SetResult, ...] = ()
    best: SetResult | None = None
    default_ms: float | None = None
    noise: ConfidenceInterval | None = None
    reason: str = ""
    default_is_tiled: bool = False
    pairs: tuple[SetResult, ...] = ()
    final_ms: float | None = None
    finding: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        return self.best.flag_set.flags if self.best is not None else ()

    @property
    def is_postponed(self) -> bool:
        """Whether nothing is known of any set, as the program did not compile or run with the user's flags in time."""
        known = any(result.note or result.speedup for result in self.results)
        return bool(self.reason and self.results) and not known

    @property
    def forms(self) -> str:
        """The spec with the forms of the best set; empty for none."""
        return self.best.flag_set.forms if self.best is not None else ""

    @property
    def whole(self) -> ModelComparison | None:
        """The whole program with the selected flags and spec against the user's flags; None if it was not measured."""
        best, default_ms = self.best, self.final_ms if self.pairs else self.default_ms
        if best is None or best.speedup is None or default_ms is None or not best.milliseconds:
            return None
        return ModelComparison(default_ms, best.milliseconds, best.speedup)


_NOT_BEHIND: Final = 0.97
"""The lower bound of the speedup of a spec over the fastest set alone from which the spec is taken."""

NO_TIME: Final = "it was not run: there was no time left"
"""The remark on a program that the time for the comparison did not cover."""

_UNLIKE_WRONG: Final = (
    "its outputs differ from those of the default, some of whose dispatches are wrong"
)
"""The note on a set that avoids wrong defaults where there is no reference."""

_SLOW_CALL: Final = 5.0
"""The factor of the default's first call, loading included, from which a set is not awaited: under some, no call ends."""

_LEAST_CALL: Final = 1.0

_SHORT_CALL: Final = 10.0
"""The time, in seconds, that the first call of the default, and of a set, may take at least, as far as it is left."""

_FIRST_ROUNDS: Final = 8

_LOADING_CALL: Final = 0.2
"""The time of a first call, in seconds, below which it is not used: most of it may be for weights that are read from files."""

_LONG_CALL: Final = 1.0
"""The seconds of a first call on a CPU from which loading is a small part of it. Drivers of GPUs may compile for longer."""

_ROUGH: Final = 3.0

_LESS_ROUGH: Final = 1.3
"""The factors by which the ratio of two first calls may be wrong, for calls up to `_LONG_CALL` and from there on."""

_PATIENCE: Final = 30.0
"""The time, in seconds, for the machine to become as quiet as it was in an earlier comparison. A hot one may not."""


class _SlowError(ModelRunError):
    """The program runs too long for a comparison."""


@dataclass
class FlagComparison:
    """Compares sets of flags, alone or with specs, with the user's flags.

    Attributes:
        judge: compares outputs with expected outputs.
        settings: the least gain for selecting a set, and the seed of orders.
        deadline: the end of the comparison, in seconds of `time.monotonic()`.
        compiled_by: the time from which on sets that are still being compiled are left out.
        default_ms: the time of the default in an earlier comparison, if there was one.
        loader: loads programs ahead; None for none.
    """

    device: Device
    judge: OutputJudge
    settings: TuningSettings
    deadline: float
    compiled_by: float
    default_ms: float | None = None
    loader: AheadLoader | None = None
    _base: CompiledSource = field(init=False)  # the program that others are compared with
    _variants: ProgramVariants = field(init=False)
    _expected: Outputs = field(default_factory=dict)
    _finding: str = ""
    _names: dict[bytes, str] = field(default_factory=dict)
    _judgements: dict[bytes, SetResult] = field(default_factory=dict)

    def run(
        self,
        jobs: Mapping[FlagSet, Job],
        awaited: Callable[[], Collection[Job]] = list,
        until: float = 0.0,
    ) -> FlagsResult:
        """Compare sets of flags.

        If the program does not compile or run with the user's flags, the sets are compared with the first one under which
        it does.

        Args:
            jobs: the compilations under the user's flags, `DEFAULT`, and under the sets.
            awaited: returns the compilations that are worth waiting for, once the program runs with the user's flags.
            until: how long to wait for these, and for that first call, in seconds of `time.monotonic()`; 0 for not at all.
        """
        (_, default), *rest = jobs.items()
        results, waiting = [SetResult(flag_set) for flag_set, _ in rest], [job for _, job in rest]
        seconds, end = self._left, self.deadline
        self.deadline = max(end, until)
        compiled = compiled_by(default, self.deadline)
        if compiled == NOT_COMPILED:
            reason = "the program did not compile in the time for sets of flags"
            return FlagsResult(tuple(results), reason=reason)
        try:
            if isinstance(compiled, str):
                raise ModelRunError(compiled)
            if obstacle := self._begin(compiled):
                return FlagsResult(reason=obstacle)
            if until:
                # A driver may compile the program for seconds, and sets are compiled at the same time.
                self._run_base()
                programs = [compiled_by(job, until) for job in awaited()]
                for program in programs:
                    if isinstance(program, CompiledSource):
                        self._is_loaded(program.image)
                self.deadline = max(end, time.monotonic() + seconds / 2)
                self.compiled_by = max(self.compiled_by, time.monotonic())
            result = self._compare(waiting, results)
            return replace(result, default_is_tiled=compiled.is_data_tiled)
        except _SlowError as failure:
            return FlagsResult(tuple(results), reason=str(failure))
        except ModelRunError as failure:
            reason = f"without further flags, {failure}"
        # Compare with the first set that compiles, runs and is right.
        for number, first in enumerate(results):
            compiled = compiled_by(waiting[number], self.compiled_by)
            try:
                if isinstance(compiled, str):
                    raise ModelRunError(compiled)
                if obstacle := self._begin(compiled, f"'{first.flag_set.name}'"):
                    raise ModelRunError(obstacle)
                self._run_base(_SHORT_CALL)
                judged = self._judged(first, self._expected)
                if self._finding:
                    raise ModelRunError(self._finding)
            except ModelRunError as failure:
                results[number] = replace(first, note=str(failure))
                continue
            others = self._compare(waiting[number + 1 :], results[number + 1 :])
            results[number] = replace(
                judged,
                note="; ".join(filter(None, (judged.note, "the others are compared with it"))),
                milliseconds=others.default_ms,
                is_data_tiled=compiled.is_data_tiled,
            )
            compared = (*results[: number + 1], *others.results)
            best = others.best or results[number]
            return FlagsResult(compared, best, noise=others.noise, reason=reason)
        return FlagsResult(tuple(results), reason=reason)

    def run_pairs(
        self, default: Job, results: Sequence[SetResult], jobs: Sequence[Job]
    ) -> FlagsResult:
        """Compare sets of flags with the specs tuned under them.

        Each set was already shown to be faster, so that the fastest one is selected despite the noise of the default. A
        spec is selected only if it is not slower than the fastest set alone. The results have the numbers of entries.
        """
        compiled, judged = compiled_by(default, self.deadline), list(results)
        reason = compiled if isinstance(compiled, str) else self._begin(compiled)
        try:
            if not reason:
                if not self.device.description.is_local:
                    self._run_base()  # while the others compile
                return self._compare(jobs, judged)
        except ModelRunError as failure:
            reason = str(failure)
        return FlagsResult(tuple(judged), reason=reason)

    def _begin(self, base: CompiledSource, name: str = DEFAULT.title) -> str:
        """Take a program as the one that others are compared with; return the reason why it cannot be called.

        What is known of outputs from an earlier comparison with the same program stays.
        """
        if base.calls is None:
            return "the functions of the program cannot be read"
        self._names = {base.image: name}
        if base is not getattr(self, "_base", None):
            self._base, self._expected, self._judgements = base, {}, {}
            seed = self.settings.seed
            self._variants = ProgramVariants(base.calls, self.device, self.judge, seed)
        if self._variants.functions:
            return ""
        reasons = dict.fromkeys(function.obstacle for function in base.calls.functions)
        return f"no function of the program can be called: {'; '.join(reasons) or 'it has none'}"

    def _run_base(self, most_seconds: float = math.inf) -> None:
        """Run the program that others are compared with, once."""
        self._is_loaded(self._base.image)
        limit = max(_LEAST_CALL, min(most_seconds, self._left))
        try:
            self._expected = self._expected or self._variants.outputs(self._base.image, limit)
        except CallError as error:
            if error.failure.kind is FailureKind.TIMEOUT:
                reason = f"the first call of the program took longer than {limit:.0f} s"
                raise _SlowError(reason) from None
            raise ModelRunError(error.failure.message) from None

    def _is_loaded(self, image: bytes) -> bool:
        """Wait for what the driver compiles ahead of the first call of a program; return whether it ends in time.

        The wait takes half of the time that is left, as other programs are to be run, too.
        """
        return self.loader is None or self.loader.await_program(image, self._left / 2)

    @property
    def _left(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    def _compare(self, jobs: Sequence[Job], results: list[SetResult]) -> FlagsResult:
        """Time the distinct programs whose outputs are right, interleaved."""
        images, before = dict[int, bytes](), dict[int, bytes]()
        durations, is_local = self._variants.durations, self.device.description.is_local
        for number, job in enumerate(jobs):
            # Skip sets that do not compile, and those with the code of an earlier one.
            compiled, result = compiled_by(job, self.compiled_by), results[number]
            if isinstance(compiled, str):
                results[number] = replace(result, note=compiled)
                continue
            image = compiled.image
            avoided = self._base.wrong_defaults - compiled.wrong_defaults
            result = replace(result, is_data_tiled=compiled.is_data_tiled, avoided=avoided)
            if image in self._names:
                results[number] = replace(result, note=f"the same code as {self._names[image]}")
                continue
            self._names[image] = f"'{result.flag_set.name}'"
            if image in self._judgements:
                judged = self._judgements[image]
                results[number], before[number] = replace(judged, flag_set=result.flag_set), image
                continue
            # Run the others if there is time. A driver compiles the default for seconds; what was tuned was compared before.
            self._run_base()
            once = durations[self._base.image].total
            last = durations[images[max(images)]].total if images and not is_local else once
            is_further = bool(images) or result.entries is not None
            if not self._is_loaded(image) or (is_further and self._left < last):
                results[number] = replace(result, note=NO_TIME)
                continue
            slow = min(_SLOW_CALL * once, max(self.settings.run_timeout, 2 * once))
            try:
                outputs = self._variants.outputs(image, max(slow, min(_SHORT_CALL, self._left)))
            except CallError as error:
                results[number] = replace(result, note=error.failure.message)
            else:
                results[number], images[number] = self._judged(result, outputs), image
                self._judgements[image] = results[number]
        images = before | images
        if not images:
            return FlagsResult(tuple(results), finding=self._finding)
        try:
            running, default_ms, noise, is_rough = self._time(images, results)
        except ModelRunError as failure:
            return FlagsResult(tuple(results), reason=str(failure))
        # Select the best of those that may be the fastest.
        finalists = [
            results[number]
            for number in images
            if (number in running or results[number].repairs)
            and not (results[number].is_rejected or results[number].is_slower)
        ]
        # Of several sets that are equal to the default, the fastest one may have an interval above 1. A set without specs
        # must gain enough, and more than the default against itself, unless it avoids wrong defaults.
        certain = max(1.0, noise.high)
        bar, low, behind = max(1 + self.settings.min_gain, certain), math.sqrt(certain), 0.0
        if any(result.entries is not None for result in results):
            # Sets with specs have been shown to be faster. A spec counts only if it is hardly slower than the fastest set
            # alone.
            alone = max([1.0, *(result.median for result in finalists if not result.entries)])
            bar, low, behind = 1.0, 0.0, 0.0 if is_rough else _NOT_BEHIND * alone
        shown = [
            result
            for result in finalists
            if (result.repairs or (result.median > bar and result.low > low))
            and (not result.entries or result.low >= behind)
        ]
        # Correct results come before speed.
        best = max(shown, key=lambda result: (result.avoided, result.median), default=None)
        least = max(1 + self.settings.min_gain, best.median if best else 0.0)
        for number, result in enumerate(results):
            if result is not best and result.may_win(least) and not result.note:
                note = f"not certain: the default against itself is {noise}"
                results[number] = replace(result, note=note)
        return FlagsResult(tuple(results), best, default_ms, noise, finding=self._finding)

    def _judged(self, result: SetResult, outputs: Outputs) -> SetResult:
        """Return the result of a program with the error of its outputs, by the reference or else by the base."""
        # The judge computes the reference once, if any set has other outputs than the default. What the user expects is
        # compared in any case, as the default may be wrong.
        expected = self._expected
        comparison = self._variants.compare_outputs(expected, outputs, is_brief=True)
        self._finding = replace(comparison, tuned_error=None).finding
        rejection = self.judge.rejection(comparison, expected, outputs)
        reason, remedy = rejection or comparison.failure, "taken with --numerics any only"
        # Its dispatches are judged one by one while they are tuned under it.
        has_reference = self.judge.reference is not None
        if rejection and result.avoided > 0 and has_reference and comparison.default_error is None:
            rejection, reason = "", _UNLIKE_WRONG
        notes = (reason, comparison.note, remedy if rejection else "")
        return replace(
            result,
            error=comparison.tuned_error,
            note="; ".join(filter(None, notes)),
            is_rejected=bool(rejection),
        )

    def _time(
        self, images: Mapping[int, bytes], results: list[SetResult]
    ) -> tuple[Collection[int], float, ConfidenceInterval, bool]:
        """Add times to results, in rounds interleaved with two copies of the default.

        A program is dropped when it can no longer be the fastest, possibly right after its first call. The rounds end
        when the remaining programs are equally fast and certainly faster than the default, when their intervals are
        narrow, when no set can gain enough, or when the time is over. If an earlier comparison was less noisy, the
        rounds continue for a while and no program is dropped, since a load slows some programs down more than others. If
        not even the fewest rounds fit into the time, as for programs that run for seconds, the first calls decide, with
        wide intervals.

        Returns:
            The programs that may be the fastest; the time of the default, and its speedup over itself; and whether the
            first calls decide.
        """
        variants, base, standings = self._variants, self._base.image, self._variants.standings(2)
        eligible = {number for number in images if not results[number].is_rejected}
        running = self._worth_rounds(images)
        patient_until, least = time.monotonic() + _PATIENCE, 1 + self.settings.min_gain
        for _ in variants.rounds(standings, base, running, _FIRST_ROUNDS, self.deadline):
            eligible -= {number for number in running if self._slower(standings, number)}
            if not standings.is_quiet(self.default_ms) and time.monotonic() <= patient_until:
                continue
            remaining = standings.remaining([*running], eligible)
            for number in {*running}.difference(remaining):
                del running[number]
            # Sets that avoid wrong defaults need no gain, and those with specs have been shown to be faster.
            is_hopeless = all(
                standings.speedup(number).high < (NEAR if results[number].avoided > 0 else least)
                and results[number].entries is None
                for number in eligible.intersection(running)
            )
            if is_hopeless or standings.are_decided([*running], eligible):
                break
        # Programs without a round have the times of their first calls.
        for number, image in images.items():
            timed, slower = results[number], ""
            milliseconds, speedup = 1000 * variants.durations[image].calling, self._rough(image)
            if number in standings.rivals:
                milliseconds, speedup = standings.milliseconds(number), standings.speedup(number)
                slower = self._slower(standings, number)
            if slower:
                note = "; ".join(filter(None, (timed.note, f"slower at {slower}")))
                timed = replace(timed, note=note, is_slower=True)
            results[number] = replace(timed, milliseconds=milliseconds, speedup=speedup)
        if standings.noise is not None:
            return running, standings.default_ms(), standings.noise, False
        itself = self._rough(base)
        noise = ConfidenceInterval(itself.low**2, itself.median, itself.high**2)
        return images, 1000 * variants.durations[base].calling, noise, True

    def _worth_rounds(self, images: Mapping[int, bytes]) -> dict[int, bytes]:
        """Return the programs to time in rounds: as many possibly fastest programs as the time allows."""
        calls = {number: self._variants.durations[images[number]].calling for number in images}
        fastest = min(calls.values())
        bound = max(_LOADING_CALL, self._roughness(fastest) * fastest)
        running = sorted((own for own in calls if calls[own] <= bound), key=calls.__getitem__)
        default = self._variants.durations[self._base.image].calling
        if self._roughness(default) == _LESS_ROUGH:
            while running:
                once = 2 * default + sum(calls[number] for number in running)
                if CALLS_OF_FEWEST_ROUNDS * once <= self._left:
                    break
                running.pop()
        return {number: images[number] for number in sorted(running)}

    def _roughness(self, seconds: float) -> float:
        is_exact = seconds >= _LONG_CALL and self.device.description.is_local
        return _LESS_ROUGH if is_exact else _ROUGH

    def _rough(self, image: bytes) -> ConfidenceInterval:
        """Return the speedup of a program from one call."""
        durations = self._variants.durations
        seconds = durations[image].calling
        ratio, factor = durations[self._base.image].calling / seconds, self._roughness(seconds)
        return ConfidenceInterval(ratio / factor, ratio, ratio * factor)

    def _slower(self, standings: Standings, number: int) -> str:
        """Return the sizes at which a program is certainly slower, with its speedups; empty if there are none."""
        speedups = {
            function.sizes: standings.speedup(number, position)
            for position, function in enumerate(self._variants.functions)
            if function.sizes
        }
        return "; ".join(
            f"{sizes}: {speedup}" for sizes, speedup in speedups.items() if speedup.high < 1.0
        )


def program_reference(
    default: CompiledSource | str, backend: str, settings: TuningSettings, seconds: float
) -> ProgramReference | None:
    """Return the reference of a program that was compiled by default; None if it was not, or none is wanted."""
    is_checked = settings.checks_defaults and settings.numerics is Numerics.ROUNDING
    if not is_checked or isinstance(default, str) or default.saved is None:
        return None
    seconds = min(seconds, ProgramReference.MOST_SECONDS)
    return ProgramReference(default.saved, backend, settings.seed, seconds)


def compiled_by(job: Job, deadline: float) -> CompiledSource | str:
    """Wait for a compilation, and return the program or the reason for having none."""
    left = min(TIMEOUT_MAX, max(0.0, deadline - time.monotonic()))
    try:
        return job.result(left)
    except (TimeoutError, CancelledError):
        return NOT_COMPILED
