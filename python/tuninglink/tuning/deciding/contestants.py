"""Contestants of a race, the rules that hold for them, and what running them takes."""

from __future__ import annotations

from dataclasses import dataclass
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

_HEAT_SECONDS: Final = 5.0
"""Time for the rounds of a heat or of a block, as long as there are enough of them."""

_GROUP_SECONDS: Final = 10.0
"""Time for the fewest rounds of a group; finalists that take longer together race apart."""

_SAMPLE_SECONDS: Final = Settings().sample_seconds

CLEAR_ROUNDS: Final = 5
"""Rounds of a block after which a ratio that is far from the threshold is clear."""

_CLEAR: Final = 2.0
"""A candidate that was so many times as fast is expected to be clear."""


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
    deadline: float | None = None
    blocks: int = BLOCKS
    passes: int = 3
    least_speedup: float = 1.0


def round_seconds(contestants: Sequence[Contestant]) -> float:
    """Returns the time of a round."""
    return sum(each.sample_seconds for each in contestants)


def round_count(contestants: Sequence[Contestant], most: int) -> int:
    """Returns how many rounds a heat or a block has: fewer if they take long."""
    fitting = int(_HEAT_SECONDS / round_seconds(contestants))
    return min(most, max(FEWEST_ROUNDS, fitting))


def groups(default: Contestant, contestants: Sequence[Contestant]) -> Iterator[list[int]]:
    """Yields the positions of contestants in groups that are small enough to race together with the default."""
    group: list[int] = []
    for position, contestant in enumerate(contestants):
        together = [default, *(contestants[each] for each in group), contestant]
        if group and FEWEST_ROUNDS * round_seconds(together) > _GROUP_SECONDS:
            yield group
            group = []
        group.append(position)
    if group:
        yield group


def race_seconds(
    default: Contestant, contestants: Sequence[Contestant], rules: RaceRules | None = None
) -> float:
    """Returns the price of a race: what it takes if it goes through all heats and blocks once.

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
                together = [default, *(running[each] for each in group)]
                price += round_count(together, most) * round_seconds(together)
            running = running[:keep]
    if running:
        pair = [default, running[0]]
        is_clear = default.microseconds > _CLEAR * running[0].microseconds
        rounds = round_count(pair, CLEAR_ROUNDS if is_clear else BLOCK_ROUNDS)
        block = rounds * round_seconds(pair)
        pauses = (rules.blocks - 1) * max(0.0, rules.gap_seconds - block)
        price += rules.blocks * block + pauses
    return price
