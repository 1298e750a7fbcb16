"""The race among the finalists of a dispatch, and the confirmation of its winner."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.deciding.decision import Decision, Outcome, decide, survivors
from tuninglink.tuning.results.failures import Failure
from tuninglink.tuning.scheduling.timeline import Stage, Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tuninglink.tuning.devices.device_interface import MeasuringDevice
    from tuninglink.tuning.devices.timing import Rounds, Timing
    from tuninglink.tuning.programs.benchmark import Benchmark

HEATS: Final = ((8, 4), (16, 2))
"""The heats of a race: how many rounds each has, and how many finalists may stay after it."""

BLOCKS: Final = 3
BLOCK_ROUNDS: Final = 25
"""Rounds of a block of the confirmation. Forty rounds of 2 to 5 ms in 40 A/A pairs gave no gain above 2 %."""

_MOST_EXTENSIONS: Final = 2
"""How often a confirmation that is undecided gets as many rounds again."""


@dataclass(frozen=True)
class RaceResult:
    """How a race ended.

    Attributes:
        winner: the position of the fastest finalist, or None if none is a match for the default.
        decision: what fresh rounds say about the winner; None without one.
        failures: the finalists that computed something wrong or failed, by position.
        timings: the times of each finalist in the heats that it took part in, the last one first decided.
        default: the times of the default in the first heat; None if there was none.
        confirmation: the times of the default and of the winner in the confirmation, for the record.
    """

    winner: int | None
    decision: Decision | None
    failures: Mapping[int, Failure]
    timings: Mapping[int, Timing]
    default: Timing | None = None
    confirmation: tuple[Rounds, ...] = ()


@dataclass
class _Race:
    device: MeasuringDevice
    default: Benchmark
    finalists: Sequence[Benchmark]
    min_gain: float
    seed: int
    gap_seconds: float
    deadline: float | None
    failures: dict[int, Failure] = field(default_factory=dict)
    timings: dict[int, Timing] = field(default_factory=dict)
    default_timing: Timing | None = None

    def check(self, reduction: int) -> list[int]:
        """Returns the finalists that compute the same as the default."""
        right = []
        for index, each in enumerate(self.finalists):
            failure = self.device.compare(each, self.default, reduction)
            if failure is None:
                right.append(index)
            else:
                self.failures[index] = failure
        return right

    def heat(self, running: Sequence[int], rounds: int, keep: int) -> list[int]:
        """Returns the finalists that stay, fastest first."""
        contestants = [self.default, *(self.finalists[each] for each in running)]
        found = self.device.rounds(contestants, rounds, self.seed + rounds)
        if isinstance(found, Failure):
            return self._without_failing(running, rounds, keep)
        self.default_timing = found.timing(0)
        for column, each in enumerate(running, 1):
            self.timings[each] = found.timing(column)
        return [running[each] for each in survivors(found.samples, keep, self.seed)]

    def confirm(self, winner: int) -> tuple[Decision | None, tuple[Rounds, ...]]:
        """Measures the winner on fresh rounds, in blocks that are seconds apart."""
        pair = [self.default, self.finalists[winner]]
        found: list[Rounds] = []
        blocks: list[list[tuple[float, float]]] = [[] for _ in range(BLOCKS)]
        decision: Decision | None = None
        for pass_number in range(1 + _MOST_EXTENSIONS):
            for number, block in enumerate(blocks):
                if found:
                    time.sleep(self.gap_seconds)
                seed = self.seed + 1000 + pass_number * BLOCKS + number
                rounds = self.device.rounds(pair, BLOCK_ROUNDS, seed)
                if isinstance(rounds, Failure):
                    self.failures[winner] = rounds
                    return None, tuple(found)
                found.append(rounds)
                block.extend((each[0], each[1]) for each in rounds.samples)
                decision = decide([each for each in blocks if each], self.min_gain, self.seed)
                if decision.outcome is Outcome.NOT_FASTER:
                    return decision, tuple(found)
            if decision is None or decision.outcome is not Outcome.UNDECIDED or self._is_late():
                break
        return decision, tuple(found)

    def _without_failing(self, running: Sequence[int], rounds: int, keep: int) -> list[int]:
        """Finds out which finalist fails by racing each alone, and races the others."""
        sound = []
        for each in running:
            found = self.device.rounds([self.finalists[each]], 1, self.seed)
            if isinstance(found, Failure):
                self.failures[each] = found
            else:
                sound.append(each)
        return self.heat(sound, rounds, keep) if 0 < len(sound) < len(running) else []

    def _is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline


def race(
    device: MeasuringDevice,
    default: Benchmark,
    finalists: Sequence[Benchmark],
    *,
    reduction: int = 1,
    min_gain: float = 0.02,
    seed: int = 0,
    gap_seconds: float = 2.0,
    deadline: float | None = None,
    timeline: Timeline | None = None,
    confirming: Callable[[int], None] = lambda _: None,
) -> RaceResult:
    """Finds the fastest finalist that computes what the default does, and decides whether it is faster.

    Finalists are interleaved with the default in random order; those that are clearly slower leave. The one that
    is left is measured again on fresh rounds, since the best of many is also the luckiest.

    Args:
        device: runs them.
        default: the compiler's own choice.
        finalists: the best candidates of the search, best first.
        reduction: how many products make an element of an output.
        min_gain: the least gain worth an entry, as a fraction.
        seed: fixes orders and resamples.
        gap_seconds: the pause between blocks of rounds of the confirmation.
        deadline: when to stop extending a confirmation that is undecided, in `time.monotonic()`'s seconds.
        timeline: counts what the stages take.
        confirming: is told the position of a finalist that is about to be measured again.

    Raises:
        DeviceError: the device is gone.
    """
    timeline = timeline or Timeline()
    held = _Race(device, default, finalists, min_gain, seed, gap_seconds, deadline)
    with timeline.stage(Stage.RACE):
        running = held.check(reduction)
        for rounds, keep in HEATS:
            if len(running) > 1 or held.default_timing is None:
                running = held.heat(running, rounds, keep) if running else []
    decision: Decision | None = None
    confirmation: tuple[Rounds, ...] = ()
    winner = None
    while running and decision is None:
        winner = running.pop(0)
        confirming(winner)
        with timeline.stage(Stage.CONFIRMATION):
            decision, confirmation = held.confirm(winner)
    winner = winner if decision is not None else None
    return RaceResult(
        winner, decision, held.failures, held.timings, held.default_timing, confirmation
    )


def duel(
    device: MeasuringDevice,
    default: Benchmark,
    candidate: Benchmark,
    *,
    reduction: int = 1,
    min_gain: float = 0.02,
    seed: int = 0,
    gap_seconds: float = 2.0,
    deadline: float | None = None,
) -> RaceResult:
    """Decides whether one candidate computes what the default does, and is faster: a confirmation without heats.

    Args:
        device: runs them.
        default: the compiler's own choice.
        candidate: the candidate.
        reduction: as for `race`.
        min_gain: as for `race`.
        seed: as for `race`.
        gap_seconds: as for `race`.
        deadline: as for `race`.

    Raises:
        DeviceError: the device is gone.
    """
    held = _Race(device, default, [candidate], min_gain, seed, gap_seconds, deadline)
    decision, confirmation = held.confirm(0) if held.check(reduction) else (None, ())
    winner = None if decision is None else 0
    return RaceResult(winner, decision, held.failures, held.timings, None, confirmation)
