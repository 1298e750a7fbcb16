"""Trials as gains over the compiler's choices, from which models of gains are trained."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final

import numpy as np

from tuninglink.errors import TuninglinkError
from tuninglink.predicting import MeasuredGains
from tuninglink.tuning.candidates import Candidate, distance
from tuninglink.tuning.database.database import RACE, SCREEN, Trial, grouped_trials
from tuninglink.tuning.database.exchange import problem_of_program, recorded_candidate

_FEWEST: Final = 8
"""Problems with fewer candidates show little."""

_NEAR: Final = 1.0
"""Problems of which one has twice the size of the other are in the same group."""


def gains_among(trials: Iterable[Trial], group: str = "") -> list[MeasuredGains]:
    """Return the gains of the candidates of each problem in each environment.

    A time is the least sample of a trial, as other work on the machine only adds to it, and the default's is that of its
    trials next in time. Where a race measured a candidate beside the default, the gain is the median of the ratios in its
    rounds. On a GPU, whose clock is steady, all trials of a candidate count. Candidates that ever failed are left out, and so
    are problems without a time of the default. `group` names the group of all problems; else those of similar sizes form one.
    """
    result: list[MeasuredGains] = []
    for own in grouped_trials(trials):
        first = own[0]
        screened = [trial for trial in own if trial.stage == SCREEN and trial.samples]
        defaults = [trial for trial in screened if trial.origin == "default"]
        if not defaults:
            continue
        failed = {trial.configuration.key for trial in own if trial.failure is not None}
        gains = {
            trial.configuration.key: float(np.log2(_beside(defaults, trial) / min(trial.samples)))
            for trial in screened
        }
        gains |= _raced(own)
        choice = defaults[0].configuration
        if not first.environment.driver.startswith("local"):
            times = [(trial.configuration.key, us) for trial in own for us in trial.samples]
            least = {key: min(us for other, us in times if other == key) for key in gains}
            gains = {key: float(np.log2(least[choice.key] / us)) for key, us in least.items()}
        known: dict[str, Candidate] = {}
        for trial in screened:
            tried = trial.configuration
            is_good = tried.key not in failed and tried.knobs
            if trial.origin != "default" and is_good:
                known[tried.key] = recorded_candidate(tried.pipeline, tried.knobs)
        if len(known) < _FEWEST:
            continue
        with suppress(TuninglinkError):  # older databases keep the names of programs only
            one = MeasuredGains(
                problem_of_program(first.problem.program, first.environment.device),
                recorded_candidate(choice.pipeline, choice.knobs),
                tuple(known.values()),
                tuple(gains[key] for key in known),
                group,
            )
            result.append(one)
    return result if group else _grouped(result)


def _beside(defaults: Sequence[Trial], trial: Trial) -> float:
    """Return the time of the default around a trial: the median of the three trials next in time."""
    moment = datetime.fromisoformat(trial.time)
    near = sorted(defaults, key=lambda one: abs(datetime.fromisoformat(one.time) - moment))
    return statistics.median(min(one.samples) for one in near[:3])


def _raced(trials: Sequence[Trial]) -> dict[str, float]:
    """Return the gains of candidates in races with the default."""
    raced = [trial for trial in trials if trial.stage == RACE and trial.samples]
    result = {}
    for default in (trial for trial in raced if trial.origin == "default"):
        for trial in raced:
            if trial.time == default.time and len(trial.samples) == len(default.samples):
                pairs = zip(default.samples, trial.samples, strict=True)
                ratio = statistics.median(one / other for one, other in pairs)
                result[trial.configuration.key] = float(np.log2(ratio))
    return result


def _grouped(measured: Sequence[MeasuredGains]) -> list[MeasuredGains]:
    """Return problems with the name of the group of each: near problems, and those that are near to these, share one."""
    names = [str(one.problem) for one in measured]
    groups = list(range(len(measured)))
    for one, name in enumerate(names):
        for other in range(one):
            if distance(name, names[other]) <= _NEAR:
                old, new = groups[one], groups[other]
                groups = [new if group == old else group for group in groups]
    return [
        replace(one, group=f"group {group}") for one, group in zip(measured, groups, strict=True)
    ]
