"""The race of a dispatch's finalists, and the confirmation of its winner."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.deciding.decisions import Decision, Outcome, decide, survivors
from tuninglink.tuning.devices import FEWEST_ROUNDS, SAMPLE_SECONDS, Stage, Timeline
from tuninglink.tuning.programs import Failure

if TYPE_CHECKING:
    from tuninglink.tuning.deciding.task_result import TrialResult
    from tuninglink.tuning.devices import Device, Rounds, Timing
    from tuninglink.tuning.programs import Benchmark


_SLACK: Final = 4.0
"""The factor by which a heat may exceed the expected time before it is cut off."""

_SLOW_SECONDS: Final = 0.3
_NEAR_FINALIST: Final = 1.15
"""Candidates with samples longer than this many seconds race only if their slowdown against the best finalist is
below this factor."""


@dataclass(frozen=True)
class RaceResult:
    """The result of a race.

    Attributes:
        winner: the position of the confirmed finalist among the drawn candidates; None if none can beat the default.
        decision: the decision on the winner from fresh rounds; None without a winner.
        failures: the failures of finalists, wrong outputs included, by position.
        timings: the times of each finalist in its last heat.
        default: the times of the default in the last heat; None without one.
        confirmation: the times of the default and of the winner in the confirmation, for the record.
        reason: the reason for a missing decision although a candidate may be faster; empty otherwise.
    """

    winner: int | None
    decision: Decision | None
    failures: Mapping[int, Failure]
    timings: Mapping[int, Timing]
    default: Timing | None = None
    confirmation: tuple[Rounds, ...] = ()
    reason: str = ""


class Race:
    """Finds the fastest correct finalist, and decides whether it is faster than the default.

    Finalists are interleaved with the default in random order, and clearly slower ones leave. The last one is measured
    again on fresh rounds, since the best of many is also the luckiest. Candidates that are wrong or fail are replaced
    by the next best.

    A race advances in steps: the heats, then the blocks of the confirmation. Pauses between the blocks leave room for
    other work.

    Args:
        device: runs the finalists.
        default: the compiler's choice.
        candidates: the candidates: those that always race, then the others, best first. They are drawn as needed.
        check: returns the failure of a candidate's outputs; None if they are right.
        rules: the rules.
        timeline: records the time of the stages.

    Attributes:
        due: the earliest time of the next step, in seconds of `time.monotonic()`.
        result: the result; None before the end.
    """

    def __init__(
        self,
        device: Device,
        default: Contestant,
        candidates: Iterable[Contestant],
        check: Callable[[Benchmark], Failure | None],
        rules: RaceRules | None = None,
        *,
        timeline: Timeline | None = None,
    ) -> None:
        self._device = device
        self._default = default
        self._candidates = iter(candidates)
        self._check = check
        self._rules = rules or RaceRules()
        self._timeline = timeline or Timeline()
        self._drawn: list[Contestant] = []
        self._running: list[int] | None = None
        self._failures: dict[int, Failure] = {}
        self._unmeasured: dict[int, Failure] = {}
        self._timings: dict[int, Timing] = {}
        self._default_timing: Timing | None = None
        self._confirmation: Confirmation | None = None
        self.due = 0.0
        self.result: RaceResult | None = None

    def run(self) -> RaceResult:
        """Advance until the race is over, waiting during the pauses.

        Raises:
            DeviceError: the device is lost.
        """
        while self.result is None:
            time.sleep(max(0.0, self.due - time.monotonic()))
            self.advance()
        return self.result

    def advance(self) -> None:
        """Run the heats, or the next block of the confirmation.

        Raises:
            DeviceError: the device is lost.
        """
        if self._running is None:
            with self._timeline.stage(Stage.RACE):
                self._running = self._run_heats()
        else:
            with self._timeline.stage(Stage.CONFIRMATION):
                winner = self._running[0]
                confirmation = self._confirmation
                assert confirmation is not None
                assert self._running is not None
                confirmation.advance()
                self.due = confirmation.due
                if confirmation.failure is not None:
                    self._attribute(winner, confirmation.failure)
                    self._running.pop(0)
                    self._confirmation = None
                elif confirmation.is_over:
                    self.result = self._result(winner, confirmation)
        if self.result is None and self._confirmation is None:
            if not self._running:
                self.result = self._result(None, None)
                return
            # Confirm the fastest remaining finalist.
            contestant = self._drawn[self._running[0]]
            self._confirmation = Confirmation(self._device, self._default, contestant, self._rules)
            self.due = self._confirmation.due

    # --- Heats -------------------------------------------------------------------------------------------

    def _run_heats(self) -> list[int]:
        """Run the heats, and return the remaining finalists, fastest first."""
        running, (first, _) = self._draw([]), HEATS[0]
        for number, (rounds, keep) in enumerate(HEATS):
            members = [self._drawn[position] for position in running]
            if len(members) < 2:  # noqa: PLR2004 - a race of two
                break
            contestants = [*opponents(self._default, members), *members]
            count = round_count(contestants, first + 1, self._rules.block_seconds)
            if number and count <= first:
                break  # it would have no more rounds than the first heat
            # Failed finalists are replaced in the first heat.
            ratios: dict[int, list[float]] = {}
            while running:
                for group in groups(self._default, [self._drawn[position] for position in running]):
                    ratios |= self._run_group([running[index] for index in group], rounds)
                running = [] if number else self._draw(list(ratios))
            running = survivors(ratios, keep, self._rules.seed, self._rules.least_speedup)
        return running

    def _draw(self, running: Sequence[int]) -> list[int]:
        """Return the finalists, filled up with correct candidates."""
        drawn: list[int] = []
        deadline = math.inf if self._rules.deadline is None else self._rules.deadline
        while len(running) + len(drawn) < self._rules.places:
            candidate = None
            if not self._drawn or time.monotonic() <= deadline:
                candidate = next(self._candidates, None)
            if candidate is None:
                break
            # A slow candidate is not worth the time of a race unless it is near the best one.
            best = min(
                (self._drawn[position].microseconds for position in (*running, *drawn)),
                default=math.inf,
            )
            is_slow = candidate.sample_seconds >= _SLOW_SECONDS and not candidate.always_races
            if is_slow and candidate.microseconds > _NEAR_FINALIST * best:
                break
            position = len(self._drawn)
            self._drawn.append(candidate)
            failure = self._check(candidate.benchmark)
            if failure is None:
                drawn.append(position)
            else:
                self._failures[position] = failure
        return drawn

    def _run_group(self, group: Sequence[int], rounds: int) -> dict[int, list[float]]:
        """Run a group, and return the ratios of the default's time to that of each finalist."""
        # If a group fails, its halves race again, down to the failing finalist.
        # Run the group interleaved, against the default unless it is far slower.
        members = [self._drawn[position] for position in group]
        opponent = opponents(self._default, members)
        contestants = [*opponent, *members]
        count = round_count(contestants, rounds, self._rules.block_seconds)
        times = self._device.rounds(
            [contestant.benchmark for contestant in contestants],
            count,
            self._rules.seed + rounds,
            _SLACK * count * round_seconds(contestants),
        )
        # Bisect a group with a failing member.
        if isinstance(times, Failure):
            if len(group) == 1:
                self._attribute(group[0], times)
                return {}
            middle = len(group) // 2
            return self._run_group(group[:middle], rounds) | self._run_group(group[middle:], rounds)
        if opponent:
            self._default_timing = times.timing(0)
        # Record the timings, and return the ratios to the default.
        columns = dict(zip(group, range(len(opponent), len(contestants)), strict=True))
        for position, column in columns.items():
            self._timings[position] = times.timing(column)
        return {
            position: [
                (sample[0] if opponent else self._default.microseconds) / sample[column]
                for sample in times.samples
            ]
            for position, column in columns.items()
        }

    def _attribute(self, position: int, failure: Failure) -> None:
        """Record the failure of a finalist if it also fails alone."""
        alone = self._device.measure(self._drawn[position].benchmark)
        if isinstance(alone, Failure):
            self._failures[position] = alone
        else:
            self._unmeasured[position] = failure

    def _result(self, winner: int | None, confirmation: Confirmation | None) -> RaceResult:
        # The reason for a missing decision; there is none if all finalists are slower than the default.
        reason, failures = "", list(self._failures.values())
        if confirmation is None and self._unmeasured:
            failure = next(iter(self._unmeasured.values()))
            reason = f"the race could not be measured: {failure.message}"
        elif confirmation is None and failures and len(failures) == len(self._drawn):
            count, message = len(failures), failures[0].message
            reason = f"all {count} finalists failed, the first one: {message}"
            if count == 1:
                reason = f"the only finalist failed: {message}"
        return RaceResult(
            winner,
            confirmation.decision if confirmation else None,
            self._failures,
            self._timings,
            self._default_timing,
            confirmation.rounds if confirmation else (),
            reason,
        )


# --- Contestants of a race, their selection, its rules, estimates of its duration, and the confirmation of its winner

HEATS: Final = ((8, 4), (16, 2))
"""The heats of a race: the number of rounds, and of finalists that may stay after it."""

BLOCKS: Final = 3
BLOCK_ROUNDS: Final = 25
"""Rounds of a block of the confirmation. Forty rounds of 2 to 5 ms in 40 A/A pairs gave no gain above 2 %."""

_GAP_PART: Final = 0.02
_BLOCK_PART: Final = 0.03
"""The largest fractions of a run for a pause and for a block of a race."""

_GROUP_SECONDS: Final = 10.0
"""The time limit for the fewest rounds of a group; finalists that exceed it race in several groups."""


CLEAR_ROUNDS: Final = 5
"""The rounds of a block that suffice for ratios far from the threshold."""

_CLEAR: Final = 1.6
"""The speedup above which a candidate is expected to be clearly faster."""


_BEYOND: Final = 8.0
"""The multiple of the slowest finalist's time above which the default is clearly slower."""

_SLOW_SAMPLE: Final = 0.024
"""The time in seconds above which a sample is a single iteration."""

_WARM_UPS: Final = 4
"""The warm-up rounds of shorter samples."""


@dataclass(frozen=True)
class Contestant:
    """A participant of a race.

    Attributes:
        benchmark: the benchmark.
        microseconds: its time in earlier measurements, which determines time limits and the numbers of rounds.
        always_races: whether it takes part at any speed.
        stretch: the time of a sample over that of the iterations in it, more than 1 for dynamic dispatches.
    """

    benchmark: Benchmark
    microseconds: float
    always_races: bool = False
    stretch: float = 1.0

    @property
    def sample_seconds(self) -> float:
        """The time of one sample."""
        iterations = self.benchmark.layout.program_sets
        return max(iterations * self.microseconds * self.stretch * 1e-6, SAMPLE_SECONDS)


@dataclass(frozen=True)
class RaceRules:
    """The rules of a race.

    Attributes:
        min_gain: the least gain worth an entry, as a fraction.
        seed: the seed of orders and resamples.
        places: the number of finalists.
        gap_seconds: the least time between two blocks of the confirmation.
        block_seconds: the time for the rounds of a heat or block, unless these would be too few.
        deadline: the time after which no finalist is drawn and no confirmation extended, in seconds of
            `time.monotonic()`.
        blocks: the number of blocks of the confirmation.
        passes: the limit on passes through the blocks; an undecided confirmation gets another pass.
        least_speedup: the speedup below which finalists leave; 0 if they may win at any speed.
    """

    min_gain: float = 0.02
    seed: int = 0
    places: int = 6
    gap_seconds: float = 2.0
    block_seconds: float = 5.0
    deadline: float | None = None
    blocks: int = BLOCKS
    passes: int = 3
    least_speedup: float = 1.0

    def within(self, seconds: float) -> RaceRules:
        """Return the rules for a run of the given duration, with pauses and blocks that are a small part of it."""
        gap = min(self.gap_seconds, _GAP_PART * seconds)
        block = min(self.block_seconds, _BLOCK_PART * seconds)
        return replace(self, gap_seconds=gap, block_seconds=block)


def round_seconds(contestants: Sequence[Contestant]) -> float:
    """Return the time of a round, in seconds."""
    return sum(contestant.sample_seconds for contestant in contestants)


def round_count(contestants: Sequence[Contestant], most: int, seconds: float) -> int:
    """Return the number of rounds of a heat or block: fewer if they are long."""
    fitting = int(seconds / round_seconds(contestants))
    return min(most, max(FEWEST_ROUNDS, fitting))


def opponents(default: Contestant, contestants: Sequence[Contestant]) -> list[Contestant]:
    """Return the default as an opponent in a heat; nothing if it is obviously slower than all contestants."""
    slowest = max(contestant.sample_seconds for contestant in contestants)
    return [] if default.sample_seconds > _BEYOND * slowest else [default]


def groups(default: Contestant, contestants: Sequence[Contestant]) -> Iterator[list[int]]:
    """Yield groups of contestants, by position, that are small enough to race together with the default."""
    group: list[int] = []
    for position, contestant in enumerate(contestants):
        members = [*(contestants[member] for member in group), contestant]
        together = [*opponents(default, members), *members]
        if group and FEWEST_ROUNDS * round_seconds(together) > _GROUP_SECONDS:
            yield group
            group = []
        group.append(position)
    if group:
        yield group


def race_seconds(
    default: Contestant, contestants: Sequence[Contestant], rules: RaceRules | None = None
) -> float:
    """Return the price of a race: the time for all heats and one pass of blocks, without pauses.

    Args:
        default: the compiler's choice.
        contestants: the finalists.
        rules: the rules.
    """
    rules = rules or RaceRules()
    price = 0.0
    running = list(contestants[: rules.places])
    for most, keep in HEATS:
        if len(running) > 1:
            for group in groups(default, running):
                members = [running[position] for position in group]
                together = [*opponents(default, members), *members]
                rounds = round_count(together, most, rules.block_seconds)
                price += (rounds + _warm_ups(together)) * round_seconds(together)
            running = running[:keep]
    if running:
        pair = [default, running[0]]
        is_clear = default.microseconds > _CLEAR * running[0].microseconds
        most = CLEAR_ROUNDS if is_clear else BLOCK_ROUNDS
        rounds = round_count(pair, most, rules.block_seconds)
        price += rules.blocks * (rounds + _warm_ups(pair)) * round_seconds(pair)
    return price


def _warm_ups(contestants: Sequence[Contestant]) -> int:
    return 1 if round_seconds(contestants) > _SLOW_SAMPLE * len(contestants) else _WARM_UPS


FINALISTS: Final = 6
_NEAR: Final = 1.05
"""Slowdown in the first samples up to which a candidate may still prove faster than the default."""

_FAR: Final = 2.0
"""The same limit for candidates that always race, which get no further samples before."""


def best_trials(
    trials: Sequence[TrialResult], default_us: float, *, at_any_speed: bool = False
) -> list[TrialResult]:
    """Return the candidates that may win: those that always race, then the others, best first.

    Args:
        trials: all trials.
        default_us: the time of the compiler's choice.
        at_any_speed: whether slower candidates may win.
    """
    near, far = (math.inf, math.inf) if at_any_speed else (_NEAR, _FAR)
    timed = sorted(
        (trial.microseconds, position, trial)
        for position, trial in enumerate(trials)
        if trial.microseconds is not None
    )
    always = [trial for us, _, trial in timed if trial.always_races and us < default_us * far]
    others = [trial for us, _, trial in timed if not trial.always_races and us < default_us * near]
    return always + others


def contestant(trial: TrialResult, default: Contestant) -> Contestant:
    """Return a trial as a contestant of a race with the compiler's choice."""
    return Contestant(
        trial.benchmark or default.benchmark,
        trial.microseconds or default.microseconds,
        trial.always_races,
        default.stretch,
    )


_FAR_RATIO: Final = 1.25
"""The factor above or below the threshold by which each ratio of the first rounds must lie."""

_ROUND_SLACK: Final = 4.0
"""The factor by which rounds may exceed the expected time before they are cut off."""


class Confirmation:
    """Fresh rounds of the default and the fastest finalist, block by block."""

    def __init__(
        self, device: Device, default: Contestant, winner: Contestant, rules: RaceRules
    ) -> None:
        self._device = device
        self._pair = (default, winner)
        self._rules = rules
        self._blocks: list[list[Rounds]] = [[] for _ in range(rules.blocks)]
        self._count = 0
        self.decision: Decision | None = None
        self.failure: Failure | None = None
        self.due = 0.0
        self.is_over = False

    @property
    def rounds(self) -> tuple[Rounds, ...]:
        return tuple(rounds for block in self._blocks for rounds in block)

    def advance(self) -> None:
        """Run the next block."""
        rules, began = self._rules, time.monotonic()
        position, seed = self._count % rules.blocks, rules.seed + 1000 + self._count
        # A few rounds suffice if they are far from the threshold.
        count = round_count(self._pair, BLOCK_ROUNDS, rules.block_seconds)
        threshold = 1 + rules.min_gain
        block: list[Rounds] = []
        for most in (CLEAR_ROUNDS, count):
            rounds = min(most, count) - sum(len(measured.samples) for measured in block)
            ratios = [
                default / winner for measured in block for default, winner in measured.samples
            ]
            is_clear = bool(ratios) and (
                min(ratios) > threshold * _FAR_RATIO or max(ratios) < threshold / _FAR_RATIO
            )
            if rounds <= 0 or is_clear:
                break
            seconds = _ROUND_SLACK * rounds * round_seconds(self._pair)
            benchmarks = [contestant.benchmark for contestant in self._pair]
            measured = self._device.rounds(benchmarks, rounds, seed, seconds)
            if isinstance(measured, Failure):
                self.failure, self.decision, self.is_over = measured, None, True
                self._count += 1
                return
            block.append(measured)
        # Decide after all blocks of a pass, unless the candidate is not faster.
        self._count += 1
        self._blocks[position] += block
        self.decision = decide(self._pairs(), rules.min_gain, rules.seed)
        passes, begun = divmod(self._count, rules.blocks)
        is_late = rules.deadline is not None and time.monotonic() > rules.deadline
        is_last = self.decision.outcome is Outcome.FASTER or is_late or passes >= rules.passes
        is_slower = self.decision.outcome is Outcome.NOT_FASTER
        self.is_over = is_slower or (not begun and is_last)
        self.due = max(began + rules.gap_seconds, time.monotonic())

    def _pairs(self) -> list[Sequence[tuple[float, float]]]:
        return [
            [(sample[0], sample[1]) for rounds in block for sample in rounds.samples]
            for block in self._blocks
            if block
        ]
