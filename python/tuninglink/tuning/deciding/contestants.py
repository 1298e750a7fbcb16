"""Contestants of a race, the rules that hold for them, and what running them takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.devices.sampling import FEWEST_ROUNDS
from tuninglink.tuning.devices.timing import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.tuning.programs.benchmark import Benchmark

HEATS: Final = ((8, 4), (16, 2))
"""The heats of a race: how many rounds each has, and how many finalists may stay after it."""

BLOCKS: Final = 3
BLOCK_ROUNDS: Final = 25
"""Rounds of a block of the confirmation. Forty rounds of 2 to 5 ms in 40 A/A pairs gave no gain above 2 %."""

_GAP_PART: Final = 0.02
_BLOCK_PART: Final = 0.03
"""The parts of a run that a pause and a block of a race take at most."""

_GROUP_SECONDS: Final = 10.0
"""Time for the fewest rounds of a group; finalists that take longer together race apart."""

_SAMPLE_SECONDS: Final = Settings().sample_seconds

CLEAR_ROUNDS: Final = 5
"""Rounds of a block after which a ratio that is far from the threshold is clear."""

_CLEAR: Final = 1.6
"""A candidate that was so many times as fast is expected to be clear."""


_BEYOND: Final = 8.0
"""A default that takes this many times as long as each finalist is slower beyond doubt."""

_SLOW_SAMPLE: Final = 0.024
"""A sample that takes longer is one iteration, which is known after the first one."""

_WARM_UPS: Final = 4
"""Rounds that the others take before they are sampled."""


@dataclass(frozen=True)
class Contestant:
    """A benchmark that takes part in a race.

    Attributes:
        benchmark: the benchmark.
        microseconds: its time in earlier measurements. Time limits and the numbers of rounds follow from it.
        always_races: whether it takes part however slow it was.
    """

    benchmark: Benchmark
    microseconds: float
    always_races: bool = False

    @property
    def sample_seconds(self) -> float:
        """The time that a sample of it takes."""
        return max(self.microseconds * 1e-6, _SAMPLE_SECONDS)


@dataclass(frozen=True)
class RaceRules:
    """The rules of a race.

    Attributes:
        min_gain: the least gain worth an entry, as a fraction.
        seed: fixes orders and resamples.
        places: how many finalists race.
        gap_seconds: the least time between two blocks of the confirmation.
        block_seconds: the time for the rounds of a heat or of a block, as long as there are enough of them.
        deadline: when the last finalist is drawn and an undecided confirmation is extended no more, in the seconds
            of `time.monotonic()`.
        blocks: how many blocks the confirmation has.
        passes: how often the blocks may be gone through: an undecided confirmation gets as many rounds again.
        least_speedup: finalists that are surely not as fast as this leave; 0 where the default is no match for them
            at any speed.
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
        """Return the rules for a run that takes so long: pauses and blocks take a small part of it."""
        gap = min(self.gap_seconds, _GAP_PART * seconds)
        block = min(self.block_seconds, _BLOCK_PART * seconds)
        return replace(self, gap_seconds=gap, block_seconds=block)


def round_seconds(contestants: Sequence[Contestant]) -> float:
    """Return the time of a round."""
    return sum(contestant.sample_seconds for contestant in contestants)


def round_count(contestants: Sequence[Contestant], most: int, seconds: float) -> int:
    """Return how many rounds a heat or a block has: fewer if they take long."""
    fitting = int(seconds / round_seconds(contestants))
    return min(most, max(FEWEST_ROUNDS, fitting))


def opponents(default: Contestant, contestants: Sequence[Contestant]) -> list[Contestant]:
    """Return what runs in a heat: the default takes part unless it is so slow that no heat needs to tell."""
    slowest = max(contestant.sample_seconds for contestant in contestants)
    return [] if default.sample_seconds > _BEYOND * slowest else [default]


def groups(default: Contestant, contestants: Sequence[Contestant]) -> Iterator[list[int]]:
    """Yield the positions of contestants in groups that are small enough to race together with the default."""
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
    """Return the price of a race: what it takes if it goes through all heats and blocks once, its pauses aside.

    Args:
        default: the compiler's own choice.
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
    """Return how many rounds the iterations take that find out how large batches are."""
    return 1 if round_seconds(contestants) > _SLOW_SAMPLE * len(contestants) else _WARM_UPS
