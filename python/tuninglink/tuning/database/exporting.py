"""Databases as JSON: all that they hold, or the results in the form of the auto-tuning community (T4).

T4 is the results schema that Kernel Tuner writes (`kernel_tuner/schema/T4/1.0.0`); times are in milliseconds there.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from tuninglink.tuning.failures import FailureKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tuninglink.tuning.database.records import Trial

    Object = dict[str, Any]

FORMAT: Final = "tuninglink.trials"
VERSION: Final = 1
T4_VERSION: Final = "1.0.0"

_INVALIDITY: Final = {
    FailureKind.COMPILE: "compile",
    FailureKind.COMPILE_CRASH: "compile",
    FailureKind.COMPILE_TIMEOUT: "timeout",
    FailureKind.TIMEOUT: "timeout",
    FailureKind.LOAD: "runtime",
    FailureKind.RUN: "runtime",
    FailureKind.CRASH: "runtime",
    FailureKind.WRONG: "correctness",
    FailureKind.OUT_OF_BOUNDS: "correctness",
}


def to_json(trials: Iterable[Trial]) -> Object:
    """Returns trials with everything that is known of them."""
    problems: dict[str, Object] = {}
    found = []
    for each in trials:
        problems.setdefault(each.problem.key, asdict(each.problem))
        found.append(
            {
                "problem": each.problem.key,
                "environment": asdict(each.environment),
                "configuration": {**asdict(each.configuration)},
                "stage": each.stage,
                "origin": each.origin,
                "samples_us": list(each.samples),
                "batch": each.batch,
                "caches": each.caches,
                "clocks_mhz": list(each.clocks_mhz),
                "failure": each.failure
                and {"kind": each.failure.kind.value, "message": each.failure.message},
                "time": each.time,
            }
        )
    return {
        "format": FORMAT,
        "version": VERSION,
        "problems": list(problems.values()),
        "trials": found,
    }


def to_t4(trials: Iterable[Trial]) -> Object:
    """Returns trials as T4 results. What T4 has no place for is a parameter of the configuration."""
    return {"schema_version": T4_VERSION, "results": [_t4(each) for each in trials]}


def _t4(trial: Trial) -> Object:
    failure = trial.failure
    milliseconds = [each / 1000 for each in trial.samples]
    median = trial.median
    measurements = (
        [] if median is None else [{"name": "time", "value": median / 1000, "unit": "ms"}]
    )
    return {
        "timestamp": trial.time,
        "configuration": {
            "problem": trial.problem.description,
            "device": trial.environment.device,
            "pipeline": trial.configuration.pipeline,
            **trial.configuration.knobs,
        },
        "objectives": ["time"],
        "times": {"runtimes": milliseconds},
        "invalidity": _INVALIDITY[failure.kind] if failure else "correct",
        "correctness": 0 if failure else 1,
        "measurements": measurements,
    }
