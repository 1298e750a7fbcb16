"""Prices: what races and the comparison of the whole program take, before they begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.tuning.deciding.contestants import Contestant, race_seconds, round_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.deciding.contestants import RaceRules
    from tuninglink.tuning.deciding.defaults import MeasuredTask

_WARM_UPS: Final = 12
"""Iterations of each side that a race does not count: two before each heat and each part of a block."""

_CHECK_SECONDS: Final = 0.2
"""Loading a finalist and comparing its outputs."""

_MODEL_ROUNDS: Final = 25
_LEAST_MODEL_SECONDS: Final = 1.0
_MOST_MODEL_SECONDS: Final = 20.0
"""What the rounds of a whole program take, between these."""

_LEAST_COMPILE_SECONDS: Final = 0.5


def task_race_seconds(
    default: Contestant, finalists: Sequence[Contestant], rules: RaceRules | None = None
) -> float:
    """Returns the price of a race, with loading, checks, and the iterations that find out how large batches are.

    Args:
        default: the compiler's choice.
        finalists: the finalists, the best first.
        rules: the rules of the race.
    """
    warm_ups = _WARM_UPS * round_seconds([default, *finalists[:1]]) if finalists else 0.0
    return race_seconds(default, finalists, rules) + warm_ups + _CHECK_SECONDS * len(finalists)


def least_race_seconds(measured: MeasuredTask) -> float:
    """Returns the price of a race of one finalist such as the default.

    Args:
        measured: the compiler's choice.
    """
    default = Contestant(measured.benchmark, measured.default_us)
    return task_race_seconds(default, [default])


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
