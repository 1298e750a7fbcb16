"""One race for dispatches and programs: the times of a default and its rivals, and the race of a dispatch's finalists."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tuninglink.devices import (
    FEWEST_ROUNDS,
    SAMPLE_SECONDS,
    Device,
    Rounds,
    Stage,
    Timeline,
    Timing,
)
from tuninglink.programs import Benchmark, Failure
from tuninglink.tuning.deciding.decisions import (
    QUORUM,
    ConfidenceInterval,
    Decision,
    Outcome,
    decide,
    interval,
    undisturbed_speedup,
    undisturbed_us,
)
from tuninglink.tuning.deciding.task_result import TrialResult

_NARROW: Final = 0.03
"""The width of an interval that is narrow enough, of programs under sets of flags relative to the speedup."""

_NARROW_ROUNDS: Final = 25
"""The least number of rounds whose interval may be narrow enough for a single rival."""

_CLEAR_PROGRAM: Final = 1.5
"""Any number of rounds suffices if the interval of a single rival lies outside these bounds."""

_FAR_FROM_NOISE: Final = 1.25
"""The factor beyond the noise of the default from which the interval of a program need not be narrow."""

_ALIKE: Final = 1.02
"""The speedup over the leader up to which another program may prove to be faster without further rounds."""

_QUIET: Final = 1.05
"""The factor above its time on a quiet machine up to which the default shows that the machine is quiet."""


class Standings:
    """The times of a default and its rivals by round; rivals that left lack the last rounds.

    Args:
        weights: the weights of the functions that are called in a round; a dispatch is one.
        copies: the number of copies of the default in a round. The default counts with the times of all.
    """

    def __init__(self, weights: Sequence[int] = (1,), *, copies: int = 1, seed: int = 0) -> None:
        self.copies = copies
        self._weights = np.array(weights)
        self._seed = seed
        self._default = np.empty((0, copies, len(weights)))
        self._rounds: dict[int, NDArray[np.float64]] = {}

    def __len__(self) -> int:
        return len(self._default)

    @property
    def rivals(self) -> list[int]:
        """The rivals that took part, in order."""
        return [*self._rounds]

    def add(self, rivals: Sequence[int], samples: Sequence[Sequence[float]]) -> None:
        """Add rounds.

        Args:
            rivals: the rivals that took part.
            samples: the microseconds by round: of the functions of each copy of the default, then of each rival.
        """
        rounds = np.reshape(samples, (len(samples), -1, len(self._weights)))
        self._default = np.concatenate([self._default, rounds[:, : self.copies]])
        for position, rival in enumerate(rivals, self.copies):
            # A rival keeps the times of the default in its own rounds.
            times = rounds[:, [*range(self.copies), position]]
            before = [self._rounds[rival]] if rival in self._rounds else []
            self._rounds[rival] = np.concatenate([*before, times])

    def default_ms(self, function: int | None = None) -> float:
        """Return the time of the default without other work, of one function or of their weighted sum."""
        return undisturbed_us(self._sum(self._default, function)[:, 0]) / 1000

    def milliseconds(self, rival: int, function: int | None = None) -> float:
        """Return the time of a rival without other work, of one function or of their weighted sum."""
        return undisturbed_us(self._times(rival, function)) / 1000

    @property
    def noise(self) -> ConfidenceInterval | None:
        """The speedup of the default over itself: of its copies, or of every other round; None for one round of one copy."""
        times = self._sum(self._default)
        pair = times.T if self.copies > 1 else times[: len(self) // 2 * 2].reshape(-1, 2).T
        return undisturbed_speedup(pair[0], pair[1], self._seed) if pair.size else None

    def speedup(self, rival: int, function: int | None = None) -> ConfidenceInterval:
        """Return the speedup of a rival over the default, of one function or of their weighted sum."""
        times = self._sum(self._rounds[rival], function)
        return undisturbed_speedup(times[:, :-1].T, times[:, -1], self._seed)

    def survivors(self, keep: int, least: float = 1.0) -> list[int]:
        """Return the rivals that stay in a race of dispatches, fastest first.

        A rival leaves if the upper bound of its speedup in the median round is below the lower bound of the leader's or
        below the least speedup, or if `keep` others are faster.
        """
        sums = {rival: self._sum(rounds) for rival, rounds in self._rounds.items()}
        ratios = {rival: times[:, 0] / times[:, -1] for rival, times in sums.items()}
        speedups = {rival: interval(ratio, self._seed) for rival, ratio in ratios.items()}
        order = sorted(speedups, key=lambda rival: -speedups[rival].median)
        bar = max(least, *(speedups[rival].low for rival in order[:1]), 0.0)
        return [rival for rival in order if speedups[rival].high >= bar][:keep]

    def is_quiet(self, default_ms: float | None) -> bool:
        """Return whether the machine was as quiet as when the default took some time; None if that is not known."""
        return default_ms is None or self.default_ms() <= _QUIET * default_ms

    def remaining(self, rivals: Sequence[int], eligible: Collection[int]) -> list[int]:
        """Return the rivals that may be faster than the fastest eligible one.

        The others are slower in the fastest rounds, and by the median of all: a few rounds may all have been disturbed.
        """
        leader = self._leader(rivals, eligible)
        return [
            rival
            for rival in rivals
            if leader is None
            or rival == leader
            or self._lead(leader, rival).high > 1.0
            or interval(np.divide(*self._aligned(leader, rival)), self._seed).high > 1.0
        ]

    def are_decided(self, rivals: Sequence[int], eligible: Collection[int]) -> bool:
        """Return whether further rounds of sets of flags are pointless.

        The interval of the fastest eligible rival is narrow, or far from the noise of the default, and other eligible
        rivals are hardly faster.
        """
        leader, noise = self._leader(rivals, eligible), self.noise
        assert noise is not None
        if leader is None:
            return all(map(_is_narrow, (noise, *map(self.speedup, rivals))))
        speedup = self.speedup(leader)
        is_far = (
            speedup.low > _FAR_FROM_NOISE * noise.high or _FAR_FROM_NOISE * speedup.high < noise.low
        )
        return (is_far or (_is_narrow(noise) and _is_narrow(speedup))) and all(
            self._lead(leader, rival).high <= _ALIKE
            for rival in rivals
            if rival in eligible and rival != leader
        )

    def is_decided(self, rival: int) -> bool:
        """Return whether further rounds of a single rival are pointless: its interval is narrow, or clear."""
        speedup = self.speedup(rival)
        is_narrow = speedup.high - speedup.low <= _NARROW and len(self) >= _NARROW_ROUNDS
        return is_narrow or speedup.low > _CLEAR_PROGRAM or speedup.high < 1 / _CLEAR_PROGRAM

    def _leader(self, rivals: Sequence[int], eligible: Collection[int]) -> int | None:
        contenders = [rival for rival in rivals if rival in eligible]
        return min(contenders, key=self.milliseconds, default=None)

    def _lead(self, leader: int, rival: int) -> ConfidenceInterval:
        times, others = self._aligned(leader, rival)
        return undisturbed_speedup(times, others, self._seed)

    def _aligned(self, leader: int, rival: int) -> list[NDArray[np.float64]]:
        times = [self._times(number) for number in (leader, rival)]
        return [one[: min(map(len, times))] for one in times]

    def _times(self, rival: int, function: int | None = None) -> NDArray[np.float64]:
        return self._sum(self._rounds[rival], function)[:, -1]

    def _sum(self, times: NDArray[np.float64], function: int | None = None) -> NDArray[np.float64]:
        sums: NDArray[np.float64] = times @ self._weights
        return sums if function is None else times[..., function]


def _is_narrow(speedup: ConfidenceInterval) -> bool:
    return speedup.high - speedup.low <= _NARROW * speedup.median


# --- The race of a dispatch's finalists ----------------------------------------------------------

_SLACK: Final = 4.0
"""The factor by which rounds may exceed the expected time before they are cut off."""

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
    other work. A step raises a `DeviceError` if the device is lost.

    Args:
        default: the compiler's choice.
        candidates: the candidates: those that always race, then the others, best first. They are drawn as needed.
        check: returns the failure of a candidate's outputs; None if they are right.
        timeline: records the time of the stages.

    A race with a large lead that is late before its blocks agree waits for time: `resume` ends it or lets it go on.

    Attributes:
        due: the earliest time of the next step, in seconds of `time.monotonic()`; infinity while the race waits.
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
        self._blocks: list[list[Rounds]] = []
        self._waiting: RaceResult | None = None
        self.due = 0.0
        self.result: RaceResult | None = None

    def run(self) -> RaceResult:
        """Advance until the race is over, waiting during the pauses."""
        while self.result is None:
            if math.isinf(self.due):
                self.resume(0.0)
            time.sleep(max(0.0, self.due - time.monotonic()))
            self.advance()
        return self.result

    def resume(self, deadline: float) -> None:
        """Let a race that waits for time go on until a deadline; its next step ends it if that has passed."""
        self._rules = replace(self._rules, deadline=deadline)
        self.due = 0.0

    def advance(self) -> None:
        """Run the heats, or the next block of the confirmation of the fastest remaining finalist."""
        if self._running is None:
            with self._timeline.stage(Stage.RACE):
                self._running = self._run_heats()
        elif self._waiting is not None and self._is_late:
            self.result = self._waiting
        else:
            with self._timeline.stage(Stage.CONFIRMATION):
                self._run_block(self._running)
        if self.result is None and not self._running:
            # The reason for a missing decision; there is none if all finalists are slower than the default.
            reason, failures = "", [failure.message for failure in self._failures.values()]
            if unmeasured := [failure.message for failure in self._unmeasured.values()]:
                reason = f"the race could not be measured: {unmeasured[0]}"
            elif failures and len(failures) == len(self._drawn):
                many = f"all {len(failures)} finalists failed, the first one"
                reason = f"{many if failures[1:] else 'the only finalist failed'}: {failures[0]}"
            times = self._timings, self._default_timing
            self.result = RaceResult(None, None, self._failures, *times, reason=reason)

    def _run_heats(self) -> list[int]:
        """Run the heats, and return the remaining finalists, fastest first."""
        running, (first, _), rules = self._draw([]), HEATS[0], self._rules
        for number, (rounds, keep) in enumerate(HEATS):
            members = [self._drawn[position] for position in running]
            if len(members) < 2:  # noqa: PLR2004 - a race of two
                break
            count = round_count(lineup(self._default, members), first + 1, rules.block_seconds)
            if number and count <= first:
                break  # it would have no more rounds than the first heat
            standings = Standings(seed=rules.seed)
            while running:
                for group in groups(self._default, [self._drawn[position] for position in running]):
                    self._run_group([running[index] for index in group], rounds, standings)
                # Failed finalists are replaced in the first heat.
                running = [] if number else self._draw(standings.rivals)
            # Blocks decide on a large lead that other work on the machine may have hidden in the heats.
            promises = max(map(self._promise, standings.rivals), default=0.0) >= _LARGE_LEAD
            running = standings.survivors(keep, 0.0 if promises else rules.least_speedup)
        return running

    def _promise(self, position: int) -> float:
        """Return the speedup of a finalist in earlier measurements."""
        return self._default.microseconds / self._drawn[position].microseconds

    def _draw(self, running: Sequence[int]) -> list[int]:
        """Return the finalists, filled up with correct candidates."""
        drawn: list[int] = []
        while len(running) + len(drawn) < self._rules.places:
            is_over = bool(self._drawn) and self._is_late
            if is_over or (candidate := next(self._candidates, None)) is None:
                break
            # A slow candidate is not worth the time of a race unless it is near the best one.
            times = [self._drawn[position].microseconds for position in (*running, *drawn)]
            is_slow = candidate.sample_seconds >= _SLOW_SECONDS and not candidate.always_races
            if is_slow and candidate.microseconds > _NEAR_FINALIST * min(times, default=math.inf):
                break
            position = len(self._drawn)
            self._drawn.append(candidate)
            failure = self._check(candidate.benchmark)
            if failure is None:
                drawn.append(position)
            else:
                self._failures[position] = failure
        return drawn

    def _run_group(self, group: Sequence[int], rounds: int, standings: Standings) -> None:
        """Add rounds of a group to the standings. If it fails, its halves race, down to the failing finalist."""
        contestants = lineup(self._default, [self._drawn[position] for position in group])
        count = round_count(contestants, rounds, self._rules.block_seconds)
        times = self._rounds(contestants, count, self._rules.seed + rounds)
        if isinstance(times, Failure) and len(group) == 1:
            self._attribute(group[0], times)
        elif isinstance(times, Failure):
            middle = len(group) // 2
            for half in (group[:middle], group[middle:]):
                self._run_group(half, rounds, standings)
        else:
            # A default that is far slower does not run: it has the time of earlier measurements.
            is_present = len(contestants) > len(group)
            absent = () if is_present else (self._default.microseconds,)
            standings.add(group, [(*absent, *sample) for sample in times.samples])
            self._default_timing = times.timing(0) if is_present else self._default_timing
            self._timings |= {
                position: times.timing(column) for column, position in enumerate(group, is_present)
            }

    def _run_block(self, running: list[int]) -> None:
        """Run a block of fresh rounds of the default and the fastest finalist; decide after all blocks of a pass."""
        rules, began, number = self._rules, time.monotonic(), len(self._blocks)
        pair = (self._default, self._drawn[running[0]])
        # A few rounds suffice if they are far from the threshold. Later blocks decide what was not clear.
        count = round_count(pair, BLOCK_ROUNDS, rules.block_seconds)
        threshold = 1 + rules.min_gain
        block: list[Rounds] = []
        for most in (CLEAR_ROUNDS, count) if number < rules.blocks else (count,):
            ratios = [default / winner for default, winner in _pairs(block)]
            slow, fast = threshold / _FAR_RATIO, threshold * _FAR_RATIO
            is_clear = bool(ratios) and (min(ratios) > fast or max(ratios) < slow)
            left = min(most, count) - len(ratios)
            if left <= 0 or is_clear:
                break
            measured = self._rounds(pair, left, rules.seed + 1000 + number)
            if isinstance(measured, Failure):
                self._attribute(running.pop(0), measured)
                self._blocks, self._waiting, self.due = (
                    [],
                    None,
                    0.0,
                )  # the next finalist is confirmed
                return
            block.append(measured)
        self._blocks.append(block)
        blocks = [_pairs(block) for block in self._blocks]
        decision = decide(blocks, rules.min_gain, rules.seed)
        # Decide after all blocks of a pass, unless the candidate is not faster. One with a large lead before goes on: other
        # work may have disturbed the blocks against it, which outvote the others only after two passes.
        number, begun = number + 1, (number + 1) % rules.blocks
        promise = self._promise(running[0])
        may_go_on = promise >= _LARGE_LEAD and rules.passes > 1 and number < _MOST_BLOCKS
        slower = sum(block.median <= threshold for block in decision.blocks)
        if decision.outcome is Outcome.NOT_FASTER:
            is_last = not may_go_on or (number >= 2 * BLOCKS and slower >= QUORUM * number)
        elif decision.outcome is Outcome.FASTER:
            # Other work may have disturbed the default if the best of many is far faster than before.
            is_odd = decision.speedup.median > _LARGE_LEAD * promise and number < 2 * BLOCKS
            is_open = is_odd and min(rules.passes, rules.places) > 1 and not self._is_late
            is_last = number >= rules.blocks and (may_go_on or not begun) and not is_open
        else:
            is_over = self._is_late or number >= rules.passes * rules.blocks
            is_last = not may_go_on and not begun and is_over
        times, rounds = (self._timings, self._default_timing), chain.from_iterable(self._blocks)
        result = RaceResult(running[0], decision, self._failures, *times, tuple(rounds))
        self.due = max(began + rules.gap_seconds, time.monotonic())
        if is_last:
            self.result = result
        elif may_go_on and number >= rules.blocks and self._is_late:
            if decision.outcome is Outcome.NOT_FASTER and slower < number:
                fastest = max(decision.blocks, key=lambda block: block.median)
                decision = replace(decision, outcome=Outcome.UNDECIDED, contrary=fastest)
            self._waiting, self.due = replace(result, decision=decision), math.inf

    @property
    def _is_late(self) -> bool:
        return self._rules.deadline is not None and time.monotonic() > self._rules.deadline

    def _rounds(self, contestants: Sequence[Contestant], count: int, seed: int) -> Rounds | Failure:
        benchmarks = [contestant.benchmark for contestant in contestants]
        seconds = _SLACK * count * round_seconds(contestants)
        return self._device.rounds(benchmarks, count, seed, seconds)

    def _attribute(self, position: int, failure: Failure) -> None:
        """Record the failure of a finalist if it also fails alone."""
        alone = self._device.measure(self._drawn[position].benchmark)
        if isinstance(alone, Failure):
            self._failures[position] = alone
        else:
            self._unmeasured[position] = failure


def _pairs(block: Sequence[Rounds]) -> list[tuple[float, float]]:
    return [(sample[0], sample[1]) for rounds in block for sample in rounds.samples]


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
    return sum(contestant.sample_seconds for contestant in contestants)


def round_count(contestants: Sequence[Contestant], most: int, seconds: float) -> int:
    """Return the number of rounds of a heat or block: fewer if they are long."""
    fitting = int(seconds / round_seconds(contestants))
    return min(most, max(FEWEST_ROUNDS, fitting))


def lineup(default: Contestant, members: Sequence[Contestant]) -> list[Contestant]:
    """Return the participants of a heat: without the default if it is obviously slower than all others."""
    slowest = max(member.sample_seconds for member in members)
    return [*members] if default.sample_seconds > _BEYOND * slowest else [default, *members]


def groups(default: Contestant, contestants: Sequence[Contestant]) -> Iterator[list[int]]:
    """Yield groups of contestants, by position, that are small enough to race together with the default."""
    group: list[int] = []
    for position in range(len(contestants)):
        together = lineup(default, [contestants[member] for member in (*group, position)])
        if group and FEWEST_ROUNDS * round_seconds(together) > _GROUP_SECONDS:
            yield group
            group = []
        group.append(position)
    if group:
        yield group


def race_seconds(
    default: Contestant, contestants: Sequence[Contestant], rules: RaceRules | None = None
) -> float:
    """Return the price of a race: the time for all heats and one pass of blocks, without pauses."""
    rules = rules or RaceRules()
    price = 0.0

    def seconds(contestants: Sequence[Contestant], most: int) -> float:
        rounds = round_count(contestants, most, rules.block_seconds)
        is_slow = round_seconds(contestants) > _SLOW_SAMPLE * len(contestants)
        return (rounds + (1 if is_slow else _WARM_UPS)) * round_seconds(contestants)

    running = list(contestants[: rules.places])
    for most, keep in HEATS:
        if len(running) > 1:
            for group in groups(default, running):
                price += seconds(lineup(default, [running[member] for member in group]), most)
            running = running[:keep]
    if running:
        is_clear = default.microseconds > _CLEAR * running[0].microseconds
        most = CLEAR_ROUNDS if is_clear else BLOCK_ROUNDS
        price += rules.blocks * seconds([default, running[0]], most)
    return price


FINALISTS: Final = 6
_NEAR: Final = 1.05
"""Slowdown in the first samples up to which a candidate may still prove faster than the default."""

_FAR: Final = 2.0
"""The same limit for candidates that always race, which get no further samples before."""


def best_trials(
    trials: Sequence[TrialResult], default_us: float, *, at_any_speed: bool = False
) -> list[TrialResult]:
    """Return the candidates that may win, at any speed if so: those that always race, then the others, best first."""
    near, far = (math.inf, math.inf) if at_any_speed else (_NEAR, _FAR)
    timed = [(trial.microseconds, trial) for trial in trials if trial.microseconds is not None]
    timed.sort(key=itemgetter(0))
    always = [trial for us, trial in timed if trial.always_races and us < default_us * far]
    others = [trial for us, trial in timed if not trial.always_races and us < default_us * near]
    return always + others


def contestant(trial: TrialResult, default: Contestant) -> Contestant:
    """Return a trial as a contestant of a race with the compiler's choice."""
    benchmark, us = trial.benchmark or default.benchmark, trial.microseconds or default.microseconds
    return Contestant(benchmark, us, trial.always_races, default.stretch)


_LARGE_LEAD: Final = 1.1
"""The speedup in earlier measurements from which a race goes on until blocks outvote the others."""

_MOST_BLOCKS: Final = 24
"""The limit on the blocks of such a race."""

_FAR_RATIO: Final = 1.25
"""The factor above or below the threshold by which each ratio of the first rounds must lie."""
