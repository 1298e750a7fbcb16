"""A process that writes trials until it is killed."""

from __future__ import annotations

import sys
from pathlib import Path

from tuninglink.programs import Failure, FailureKind
from tuninglink.tuning.database import (
    ConfigurationRecord,
    Database,
    EnvironmentRecord,
    ProblemRecord,
    Trial,
)

PROBLEM = ProblemRecord("p1", "contraction", "contraction 8x8x8 f32", "func.func @f()")
HERE = EnvironmentRecord("sm_80", "", "NVIDIA H200", "cuda 1", "3.13.0", "3.13.0")


def trial(number: int, **changes: object) -> Trial:
    configuration = ConfigurationRecord(
        f"c{number}", "#p", {"workgroup[0]": number}, f"#info<{number}>"
    )
    given = {"stage": "screen", "origin": "space", "samples": (100.0 + number, 90.0), "batch": 4}
    return Trial(PROBLEM, HERE, configuration, **{**given, **changes})


def failed(number: int, kind: FailureKind = FailureKind.COMPILE) -> Trial:
    return trial(number, samples=(), failure=Failure(kind, "no"))


if __name__ == "__main__":
    path, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    with Database(path) as database:
        for number in range(first, last):
            database.record(trial(number, time="2026-11-21"))
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()
