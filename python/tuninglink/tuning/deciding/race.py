"""The race of a dispatch's finalists, and the confirmation of its winner."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.deciding import Decision, survivors
from tuninglink.tuning.deciding.contestants import (
    HEATS,
    Confirmation,
    Contestant,
    RaceRules,
    groups,
    opponents,
    round_count,
    round_seconds,
)
from tuninglink.tuning.results import Failure
from tuninglink.tuning.scheduling import Stage, Timeline

if TYPE_CHECKING:
    from tuninglink.tuning.devices import Rounds, Timing
    from tuninglink.tuning.devices.device_process import Device
    from tuninglink.tuning.programs.benchmark import Benchmark

_SLACK: Final = 4.0
"""The factor by which a heat may exceed the expected time before it is cut off."""

_SLOW_SECONDS: Final = 0.3
_NEAR: Final = 1.15
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
                self._advance_confirmation(self._running[0])
        if self.result is None and self._confirmation is None:
            self._begin_confirmation()

    # --- Heats -------------------------------------------------------------------------------------------

    def _run_heats(self) -> list[int]:
        """Run the heats, and return the remaining finalists, fastest first."""
        running = self._draw([])
        for number, (rounds, keep) in enumerate(HEATS):
            if len(running) < 2 or (number and self._is_slow(running)):  # noqa: PLR2004 - a race of two
                break
            running = self._run_heat(running, rounds, keep, refills=number == 0)
        return running

    def _is_slow(self, running: Sequence[int]) -> bool:
        """Return whether another heat is pointless, since it would have no more rounds than the first."""
        members = [self._drawn[position] for position in running]
        contestants = [*opponents(self._default, members), *members]
        first, *_ = HEATS[0]
        return round_count(contestants, first + 1, self._rules.block_seconds) <= first

    def _draw(self, running: Sequence[int]) -> list[int]:
        """Return the finalists, filled up with correct candidates."""
        drawn: list[int] = []
        while len(running) + len(drawn) < self._rules.places and not self._is_late():
            candidate = next(self._candidates, None)
            if candidate is None or not self._is_worth(candidate, [*running, *drawn]):
                break
            position = len(self._drawn)
            self._drawn.append(candidate)
            failure = self._check(candidate.benchmark)
            if failure is None:
                drawn.append(position)
            else:
                self._failures[position] = failure
        return drawn

    def _is_worth(self, candidate: Contestant, running: Sequence[int]) -> bool:
        """Return whether a candidate is fast enough to justify the time for racing it."""
        if candidate.always_races or candidate.sample_seconds < _SLOW_SECONDS or not running:
            return True
        best = min(self._drawn[position].microseconds for position in running)
        return candidate.microseconds <= _NEAR * best

    def _is_late(self) -> bool:
        deadline = self._rules.deadline
        return bool(self._drawn) and deadline is not None and time.monotonic() > deadline

    def _run_heat(
        self, running: Sequence[int], rounds: int, keep: int, *, refills: bool
    ) -> list[int]:
        """Run a heat, and return the finalists that stay, fastest first; failed ones are replaced if the heat `refills`."""
        ratios: dict[int, list[float]] = {}
        pending = list(running)
        while pending:
            for group in groups(self._default, [self._drawn[position] for position in pending]):
                ratios |= self._run_group([pending[index] for index in group], rounds)
            pending = self._draw(list(ratios)) if refills else []
        return survivors(ratios, keep, self._rules.seed, self._rules.least_speedup)

    def _run_group(self, group: Sequence[int], rounds: int) -> dict[int, list[float]]:
        """Run a group, and return the ratios of the default's time to that of each finalist.

        If a group fails, its halves race again, down to the failing finalist.
        """
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

    # --- Confirmation ------------------------------------------------------------------------------------

    def _begin_confirmation(self) -> None:
        """Start to confirm the fastest remaining finalist; without one, the race is over."""
        if not self._running:
            self.result = self._result(None, None)
            return
        contestant = self._drawn[self._running[0]]
        self._confirmation = Confirmation(self._device, self._default, contestant, self._rules)
        self.due = self._confirmation.due

    def _advance_confirmation(self, winner: int) -> None:
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

    def _result(self, winner: int | None, confirmation: Confirmation | None) -> RaceResult:
        return RaceResult(
            winner,
            confirmation.decision if confirmation else None,
            self._failures,
            self._timings,
            self._default_timing,
            confirmation.rounds if confirmation else (),
            "" if confirmation else self._reason(),
        )

    def _reason(self) -> str:
        """Return the reason for a missing decision; empty if all finalists are slower than the default."""
        if self._unmeasured:
            failure = next(iter(self._unmeasured.values()))
            return f"the race could not be measured: {failure.message}"
        if self._drawn and len(self._failures) == len(self._drawn):
            message = next(iter(self._failures.values())).message
            count = len(self._drawn)
            return (
                f"the only finalist failed: {message}"
                if count == 1
                else (f"all {count} finalists failed, the first one: {message}")
            )
        return ""
