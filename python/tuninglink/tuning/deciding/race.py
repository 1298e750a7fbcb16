"""The race among the finalists of a dispatch, and the confirmation of its winner."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.deciding.confirmation import Confirmation
from tuninglink.tuning.deciding.contestants import (
    HEATS,
    Contestant,
    RaceRules,
    groups,
    opponents,
    round_count,
    round_seconds,
)
from tuninglink.tuning.deciding.decision import Decision, survivors
from tuninglink.tuning.results.failures import Failure
from tuninglink.tuning.scheduling.timeline import Stage, Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tuninglink.tuning.devices.device_interface import Device
    from tuninglink.tuning.devices.timing import Rounds, Timing
    from tuninglink.tuning.programs.benchmark import Benchmark

_SLACK: Final = 4.0
"""How many times longer than expected a heat may take before no further round begins."""

_SLOW_SECONDS: Final = 0.3
_NEAR: Final = 1.15
"""A candidate that takes so long races only if it is at most this many times as slow as the best finalist."""


@dataclass(frozen=True)
class RaceResult:
    """How a race ended.

    Attributes:
        winner: the position of the finalist that was confirmed, among the candidates that were drawn; None if none is
            a match for the default.
        decision: what fresh rounds say about the winner; None without one.
        failures: the finalists that computed something wrong or failed, by position.
        timings: the times of each finalist in the last heat that it took part in.
        default: the times of the default in the last heat; None if there was none.
        confirmation: the times of the default and of the winner in the confirmation, for the record.
        reason: why there is no decision although a candidate may be faster; empty otherwise.
    """

    winner: int | None
    decision: Decision | None
    failures: Mapping[int, Failure]
    timings: Mapping[int, Timing]
    default: Timing | None = None
    confirmation: tuple[Rounds, ...] = ()
    reason: str = ""


class Race:
    """Finds the fastest finalist that computes what the default does, and decides whether it is faster.

    Finalists are interleaved with the default in random order; those that are clearly slower leave. The one that
    is left is measured again on fresh rounds, since the best of many is also the luckiest. Candidates that are wrong or
    fail are replaced by the next best.

    A race advances step by step: first the heats, then the blocks of the confirmation, which have pauses between
    them. Other work fits into the pauses.

    Args:
        device: runs the finalists.
        default: the compiler's own choice.
        candidates: the candidates, first those that always race, then best first. They are drawn as they are needed.
        check: returns what is wrong with what a candidate computes, or None.
        rules: the rules.
        timeline: counts what the stages take.
        confirming: receives the position of a finalist that is about to be confirmed.

    Attributes:
        due: when the next step may begin, in the seconds of `time.monotonic()`.
        result: how the race ended; None before.
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
        confirming: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._device = device
        self._default = default
        self._candidates = iter(candidates)
        self._check = check
        self._rules = rules or RaceRules()
        self._timeline = timeline or Timeline()
        self._confirming = confirming
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
        """Advance until the race is over, and wait in the pauses.

        Raises:
            DeviceError: the device is gone.
        """
        while self.result is None:
            time.sleep(max(0.0, self.due - time.monotonic()))
            self.advance()
        return self.result

    def advance(self) -> None:
        """Run the heats, or else one block of the confirmation.

        Raises:
            DeviceError: the device is gone.
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
        """Return the finalists that are left, fastest first."""
        running = self._draw([])
        for number, (rounds, keep) in enumerate(HEATS):
            if len(running) < 2 or (number and self._is_slow(running)):  # noqa: PLR2004 - a race of two
                break
            running = self._run_heat(running, rounds, keep, refills=number == 0)
        return running

    def _is_slow(self, running: Sequence[int]) -> bool:
        """Return whether a further heat has no more rounds than the first: it would decide nothing more."""
        members = [self._drawn[position] for position in running]
        contestants = [*opponents(self._default, members), *members]
        first, *_ = HEATS[0]
        return round_count(contestants, first + 1, self._rules.block_seconds) <= first

    def _draw(self, running: Sequence[int]) -> list[int]:
        """Return further candidates that compute the right thing, until the finalists are full."""
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
        """Return whether a candidate is fast enough for the time that it takes."""
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
        """Return the finalists that stay, fastest first; those that fail are replaced if the heat `refills`."""
        ratios: dict[int, list[float]] = {}
        pending = list(running)
        while pending:
            for group in groups(self._default, [self._drawn[position] for position in pending]):
                ratios |= self._run_group([pending[index] for index in group], rounds)
            pending = self._draw(list(ratios)) if refills else []
        return survivors(ratios, keep, self._rules.seed, self._rules.least_speedup)

    def _run_group(self, group: Sequence[int], rounds: int) -> dict[int, list[float]]:
        """Return the ratios of the default's time to that of each finalist of a group.

        A group that fails races again in halves, down to the finalist that fails.
        """
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
        if isinstance(times, Failure):
            if len(group) == 1:
                self._attribute(group[0], times)
                return {}
            middle = len(group) // 2
            return self._run_group(group[:middle], rounds) | self._run_group(group[middle:], rounds)
        if opponent:
            self._default_timing = times.timing(0)
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
        """Attribute the failure of a finalist's rounds: only if it also fails alone it is the finalist's own."""
        alone = self._device.measure(self._drawn[position].benchmark)
        if isinstance(alone, Failure):
            self._failures[position] = alone
        else:
            self._unmeasured[position] = failure

    # --- Confirmation ------------------------------------------------------------------------------------

    def _begin_confirmation(self) -> None:
        """Begin to confirm the fastest finalist that is left; without one, the race is over."""
        if not self._running:
            self.result = self._result(None, None)
            return
        winner = self._running[0]
        self._confirming(winner)
        contestant = self._drawn[winner]
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
        """Return why there is no decision; nothing if all finalists are slower than the default."""
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
