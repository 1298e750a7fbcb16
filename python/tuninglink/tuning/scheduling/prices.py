"""Prices: estimates of the time for races and for the comparison of the whole program."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.deciding.contestants import Contestant, race_seconds
from tuninglink.tuning.deciding.winner_checks import SIZE_ROUNDS, SIZE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.deciding.contestants import RaceRules
    from tuninglink.tuning.deciding.defaults import MeasuredTask

_CHECK_SECONDS: Final = 0.2
"""The time for loading a finalist and comparing its outputs."""

MODEL_ROUNDS: Final = 10
"""The rounds that show a clear gain, warm-up calls included. There are more if time allows."""

FEWEST_MODEL_ROUNDS: Final = 4
"""The rounds without which a comparison is pointless, a warm-up call included."""

_LEAST_MODEL_SECONDS: Final = 1.0
_MOST_MODEL_SECONDS: Final = 20.0
"""The bounds on the time for the rounds of a whole program."""

_EXPECTED_SPEEDUP: Final = 2.0
"""The assumed speedup of a future finalist."""

_LEAST_COMPILE_SECONDS: Final = 0.5
_SERIAL: Final = 0.1
"""The approximate serial fraction of a compilation."""

_LOADING_SECONDS: Final = 2.0
"""The time for starting compiler processes and loading programs."""


def task_race_seconds(
    default: Contestant, finalists: Sequence[Contestant], rules: RaceRules | None = None
) -> float:
    """Return the price of a race, including loading and checks, without its pauses.

    Args:
        default: the compiler's choice.
        finalists: the finalists, the best first.
        rules: the rules of the race.
    """
    checks = sum(_check_seconds(default, finalist) for finalist in finalists)
    return race_seconds(default, finalists, rules) + checks


def _check_seconds(default: Contestant, finalist: Contestant) -> float:
    """Return the price of loading a finalist, comparing its outputs, and comparing its times at several sizes."""
    sizes = len(default.benchmark.measured)
    if sizes < 2:  # noqa: PLR2004 - its times are not compared before the race
        return _CHECK_SECONDS
    compared = default.sample_seconds + finalist.sample_seconds
    return _CHECK_SECONDS + min(SIZE_ROUNDS * compared, SIZE_SECONDS * sizes)


def least_race_seconds(measured: MeasuredTask, rules: RaceRules | None = None) -> float:
    """Return the price of a race with one finalist of the assumed speedup.

    Args:
        measured: the compiler's choice.
        rules: the rules of the race.
    """
    default = Contestant(measured.benchmark, measured.default_us, stretch=measured.stretch)
    finalist = replace(default, microseconds=measured.default_us / _EXPECTED_SPEEDUP)
    return task_race_seconds(default, [finalist], rules)


def guard_seconds(
    compile_seconds: Sequence[float], program_us: float, jobs: int, rounds: int = MODEL_ROUNDS
) -> float:
    """Return the price of comparing the whole program: two parallel compilations and the rounds.

    Args:
        compile_seconds: the compilation times of the dispatches.
        program_us: the time of all calls of all dispatches, in microseconds.
        jobs: the number of parallel compilations.
        rounds: the rounds, warm-up calls included.
    """
    longest = max(compile_seconds, default=0.0)
    total = sum(compile_seconds)
    compiling = max(_LEAST_COMPILE_SECONDS, longest, 2 * total / max(1, jobs)) + _SERIAL * total
    running = rounds * 2 * program_us * 1e-6
    return (
        _LOADING_SECONDS + compiling + min(max(running, _LEAST_MODEL_SECONDS), _MOST_MODEL_SECONDS)
    )
