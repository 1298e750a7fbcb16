"""What a user asks of the tuner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from tuninglink.tuning.devices.timing import Caches


class Numerics(Enum):
    """Which results of tuned programs are accepted; the value is what a user writes."""

    BITWISE = "bitwise"
    """Those that equal the default's bit for bit."""

    ROUNDING = "rounding"
    """Those that rounding in another order explains."""

    ANY = "any"
    """All, as far as the whole program is concerned."""


@dataclass(frozen=True)
class TuningSettings:
    """How to tune.

    Attributes:
        devices: the devices, equal ones; none for the one that runs what the program is compiled for.
        seconds: how long tuning may take, the run of the whole program aside.
        trials: how many candidates of a dispatch may be tried; None for no limit.
        top: how many tasks are tuned, the heaviest ones; None for all.
        patterns: only tasks with one of these in the name of a dispatch or its function; none for all.
        min_share: only tasks with this share of the time of all dispatches.
        min_gain: the least gain worth an entry, as a fraction.
        jobs: how many compilations run at once; None for as many as there are cores.
        timeout: the seconds after which a compilation or a benchmark counts as hanging.
        caches: whether data is in the caches when a dispatch begins.
        seed: fixes samples, inputs and orders.
        search: the name of the search.
        runs_model: whether the whole program is run in the end.
        generalizes: whether entries for ranges of sizes are looked for.
        checks_defaults: whether the compiler's choices are compared with references.
        numerics: which results are accepted.
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
    caches: Caches = Caches.WARM
    seed: int = 0
    search: str = "model"
    runs_model: bool = True
    generalizes: bool = False
    checks_defaults: bool = True
    numerics: Numerics = Numerics.ROUNDING
