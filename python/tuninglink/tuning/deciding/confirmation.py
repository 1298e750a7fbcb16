"""Confirmation: measurement of a race's winner on fresh rounds, block by block."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.deciding import Decision, Outcome, decide
from tuninglink.tuning.deciding.contestants import (
    BLOCK_ROUNDS,
    CLEAR_ROUNDS,
    Contestant,
    RaceRules,
    round_count,
    round_seconds,
)
from tuninglink.tuning.results import Failure

if TYPE_CHECKING:
    from tuninglink.tuning.devices import Rounds
    from tuninglink.tuning.devices.device_process import Device

_FAR: Final = 1.25
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
        failure: why a block could not be run; None if all could.
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
            DeviceError: the device is gone.
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
        return min(ratios) > threshold * _FAR or max(ratios) < threshold / _FAR

    def _pairs(self) -> list[Sequence[tuple[float, float]]]:
        return [
            [(sample[0], sample[1]) for rounds in block for sample in rounds.samples]
            for block in self._blocks
            if block
        ]
