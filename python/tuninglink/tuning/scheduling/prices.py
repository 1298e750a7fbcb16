"""Prices: what races and comparisons of the whole program will take, before they begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.tuning.deciding.race import BLOCK_ROUNDS, BLOCKS, HEATS
from tuninglink.tuning.devices.timing import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

_SAMPLE_SECONDS: Final = Settings().sample_seconds
_GAP_SECONDS: Final = 2.0
"""The pause between two blocks of a confirmation."""

_CHECK_SECONDS: Final = 0.2
"""Loading a finalist and comparing its outputs."""

_MODEL_ROUNDS: Final = 50
_LEAST_MODEL_SECONDS: Final = 1.0
_MOST_MODEL_SECONDS: Final = 20.0
"""What the rounds of a whole program take, between these."""

_LEAST_COMPILE_SECONDS: Final = 0.5


def race_seconds(default_us: float, finalists_us: Sequence[float]) -> float:
    """Returns the price of a race.

    Args:
        default_us: the time of the compiler's choice.
        finalists_us: the times of the finalists, the best first.
    """
    if not finalists_us:
        return 0.0
    fastest = min(default_us, *finalists_us)
    iterations = max(1.0, _SAMPLE_SECONDS * 1e6 / fastest)
    samples = [each * 1e-6 * iterations for each in (default_us, *finalists_us)]
    price = _CHECK_SECONDS * len(samples)
    for rounds, keep in HEATS:
        if len(samples) > 2:  # noqa: PLR2004 - two need no heat
            price += rounds * sum(samples)
            samples = samples[: 1 + keep]
    return price + BLOCKS * BLOCK_ROUNDS * sum(samples[:2]) + (BLOCKS - 1) * _GAP_SECONDS


def guard_seconds(compile_seconds: Sequence[float], program_us: float, jobs: int) -> float:
    """Returns the price of comparing the whole program: two compilations and the rounds.

    Args:
        compile_seconds: how long the dispatches compile, one by one.
        program_us: the time of all calls of all dispatches.
        jobs: how many compile at once.
    """
    longest = max(compile_seconds, default=0.0)
    compiling = max(_LEAST_COMPILE_SECONDS, longest, sum(compile_seconds) / max(1, jobs))
    rounds = _MODEL_ROUNDS * 2 * program_us * 1e-6
    return 2 * compiling + min(max(rounds, _LEAST_MODEL_SECONDS), _MOST_MODEL_SECONDS)
