"""The settings of the tuner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from tuninglink.spaces.knobs import FixedKnob
from tuninglink.tuning.devices import Caches


class Numerics(Enum):
    """The acceptance policy for results of tuned programs. The values match the flag's."""

    BITWISE = "bitwise"
    """Accept results that are bitwise equal to the default's."""

    ROUNDING = "rounding"
    """Accept differences that a different order of rounding explains."""

    ANY = "any"
    """Accept all results of the whole program."""


class LastStage(Enum):
    """The stages after which a run can end. The values match the flag's."""

    CANDIDATES = "candidates"
    """Draw candidates."""

    COMPILATION = "compilation"
    """Compile them."""

    MEASUREMENT = "measurement"
    """Measure them, without a race."""


@dataclass(frozen=True)
class TuningSettings:
    """The settings of a tuning run.

    Attributes:
        devices: the devices, which must be equal; empty to choose the one for the program's target.
        seconds: the time limit, without the run of the whole program.
        trials: the limit on the candidates of a dispatch; None for no limit.
        top: the number of heaviest tasks to tune; None for all.
        patterns: substrings of the names of dispatches or functions to tune; empty for all.
        min_share: the least share of a task in the time of all dispatches.
        min_gain: the least gain worth an entry, as a fraction.
        jobs: the number of parallel compilations; None for the number of cores.
        timeout: the time limit of a compilation or a benchmark, in seconds.
        caches: whether data is in the caches when a dispatch starts.
        seed: the seed of samples, inputs and orders.
        search: the name of the search.
        runs_model: whether the whole program is run at the end.
        checks_defaults: whether the compiler's choices are compared with references.
        numerics: the acceptance policy for results.
        pipelines: the names of pipelines to choose from; empty for all.
        fixed: knobs with the values that all candidates have.
        stop_after: the last stage of the run; None for the whole run.
    """

    devices: tuple[str, ...] = ()
    seconds: float = math.inf
    trials: int | None = None
    top: int | None = None
    patterns: tuple[str, ...] = ()
    min_share: float = 0.0
    min_gain: float = 0.02
    jobs: int | None = None
    timeout: float = 30.0
    caches: Caches = Caches.PROGRAM
    seed: int = 0
    search: str = "model"
    runs_model: bool = True
    checks_defaults: bool = True
    numerics: Numerics = Numerics.ROUNDING
    pipelines: tuple[str, ...] = ()
    fixed: tuple[FixedKnob, ...] = ()
    stop_after: LastStage | None = None
