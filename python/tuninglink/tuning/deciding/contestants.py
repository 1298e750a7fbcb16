"""Contestants of a race, their selection, its rules, estimates of its duration, and the confirmation of its winner."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.deciding import Decision, Outcome, decide
from tuninglink.tuning.devices import Settings
from tuninglink.tuning.devices.sampling import FEWEST_ROUNDS
from tuninglink.tuning.results import Failure

if TYPE_CHECKING:
    from tuninglink.tuning.devices import Rounds
    from tuninglink.tuning.devices.device_process import Device
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.results.task_result import TrialResult


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

_SAMPLE_SECONDS: Final = Settings().sample_seconds

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
        return max(iterations * self.microseconds * self.stretch * 1e-6, _SAMPLE_SECONDS)


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
    """Return the number of rounds for determining batch sizes."""
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

_SLACK: Final = 4.0
"""The factor by which rounds may exceed the expected time before they are cut off."""


class Confirmation:
    """Fresh rounds of the default and the fastest finalist, block by block.

    Args:
        device: the device that runs them.
        default: the compiler's choice.
        winner: the fastest finalist.
        rules: the rules of the race.

    Attributes:
        decision: the verdict of the blocks so far; None before the first.
        failure: the reason why a block could not be run; None if all ran.
        due: the earliest time of the next block, in seconds of `time.monotonic()`.
        is_over: whether the last block is done.
    """

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
        """The rounds so far, by block."""
        return tuple(rounds for block in self._blocks for rounds in block)

    def advance(self) -> None:
        """Run the next block.

        Raises:
            DeviceError: the device is lost.
        """
        began = time.monotonic()
        position = self._count % self._rules.blocks
        block = self._run_block(self._rules.seed + 1000 + self._count)
        self._count += 1
        if isinstance(block, Failure):
            self.failure, self.decision, self.is_over = block, None, True
            return
        self._blocks[position] += block
        self.decision = decide(self._pairs(), self._rules.min_gain, self._rules.seed)
        self.is_over = self._is_decided(self.decision)
        self.due = max(began + self._rules.gap_seconds, time.monotonic())

    def _is_decided(self, decision: Decision) -> bool:
        if decision.outcome is Outcome.NOT_FASTER:
            return True
        passes, begun = divmod(self._count, self._rules.blocks)
        if begun:
            return False
        deadline = self._rules.deadline
        is_late = deadline is not None and time.monotonic() > deadline
        return decision.outcome is Outcome.FASTER or is_late or passes >= self._rules.passes

    def _run_block(self, seed: int) -> list[Rounds] | Failure:
        count = round_count(self._pair, BLOCK_ROUNDS, self._rules.block_seconds)
        first = self._run_rounds(min(count, CLEAR_ROUNDS), seed)
        if isinstance(first, Failure):
            return first
        left = count - len(first.samples)
        if left <= 0 or self._is_clear(first):
            return [first]
        rest = self._run_rounds(left, seed)
        return rest if isinstance(rest, Failure) else [first, rest]

    def _run_rounds(self, count: int, seed: int) -> Rounds | Failure:
        seconds = _SLACK * count * round_seconds(self._pair)
        return self._device.rounds(
            [contestant.benchmark for contestant in self._pair], count, seed, seconds
        )

    def _is_clear(self, rounds: Rounds) -> bool:
        """Return whether all ratios are far from the threshold and on the same side."""
        threshold = 1 + self._rules.min_gain
        ratios = [default / winner for default, winner in rounds.samples]
        return min(ratios) > threshold * _FAR_RATIO or max(ratios) < threshold / _FAR_RATIO

    def _pairs(self) -> list[Sequence[tuple[float, float]]]:
        return [
            [(sample[0], sample[1]) for rounds in block for sample in rounds.samples]
            for block in self._blocks
            if block
        ]
