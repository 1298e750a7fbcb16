"""Prices: what races and the comparison of the whole program take, before they begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.tuning.deciding.contestants import Contestant, race_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.deciding.contestants import RaceRules
    from tuninglink.tuning.deciding.defaults import MeasuredTask

_CHECK_SECONDS: Final = 0.2
"""Loading a finalist and comparing its outputs."""

_MODEL_ROUNDS: Final = 10
"""Rounds that tell a clear gain, with the calls before them. There are more of them if there is time."""

_LEAST_MODEL_SECONDS: Final = 1.0
_MOST_MODEL_SECONDS: Final = 20.0
"""What the rounds of a whole program take, between these."""

_EXPECTED_SPEEDUP: Final = 2.0
"""The speedup of a finalist that is not known yet."""

_LEAST_COMPILE_SECONDS: Final = 0.5
_SERIAL: Final = 0.1
"""The part of a compilation that one processor does alone, about."""

_LOADING_SECONDS: Final = 2.0
"""What it takes to start the processes that compile, and to load the programs."""


def task_race_seconds(
    default: Contestant, finalists: Sequence[Contestant], rules: RaceRules | None = None
) -> float:
    """Return the price of a race with loading and checks, without its pauses.

    Args:
        default: the compiler's choice.
        finalists: the finalists, the best first.
        rules: the rules of the race.
    """
    return race_seconds(default, finalists, rules) + _CHECK_SECONDS * len(finalists)


def least_race_seconds(measured: MeasuredTask, rules: RaceRules | None = None) -> float:
    """Return the price of a race of one finalist that is as fast as may be expected.

    Args:
        measured: the compiler's choice.
        rules: the rules of the race.
    """
    default = Contestant(measured.benchmark, measured.default_us)
    finalist = Contestant(measured.benchmark, measured.default_us / _EXPECTED_SPEEDUP)
    return task_race_seconds(default, [finalist], rules)


def guard_seconds(compile_seconds: Sequence[float], program_us: float, jobs: int) -> float:
    """Return the price of comparing the whole program: two compilations at once and the rounds.

    Args:
        compile_seconds: how long the dispatches compile, one by one.
        program_us: the time of all calls of all dispatches.
        jobs: how many compile at once.
    """
    longest = max(compile_seconds, default=0.0)
    total = sum(compile_seconds)
    compiling = max(_LEAST_COMPILE_SECONDS, longest, 2 * total / max(1, jobs)) + _SERIAL * total
    rounds = _MODEL_ROUNDS * 2 * program_us * 1e-6
    return (
        _LOADING_SECONDS + compiling + min(max(rounds, _LEAST_MODEL_SECONDS), _MOST_MODEL_SECONDS)
    )
