"""The price of comparing the whole program, before it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_MODEL_ROUNDS: Final = 50
_LEAST_MODEL_SECONDS: Final = 1.0
_MOST_MODEL_SECONDS: Final = 20.0
"""What the rounds of a whole program take, between these."""

_LEAST_COMPILE_SECONDS: Final = 0.5


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
