"""Times of dispatches from a database of the tuner, in an explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from programs import EXAMPLES, TARGETS

import tuninglink
from tuninglink.compiler import Phase
from tuninglink.mlir import DiagnosticSink
from tuninglink.programs import read_program
from tuninglink.tuning.database import (
    ConfigurationRecord,
    Database,
    EnvironmentRecord,
    ProblemRecord,
    Trial,
    recorded_times,
)

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = EXAMPLES / "mmt_2048x1280x5120.mlir"
FLAGS = TARGETS["hip"]


def test_the_time_is_that_of_the_configuration_that_a_dispatch_has(tmp_path: Path) -> None:
    (task,) = read_program(str(PROGRAM), FLAGS).tasks
    options = {
        "default_specs": False,
        "flags": FLAGS,
        "diagnostics": DiagnosticSink(lambda _: None),
    }
    (point,) = tuninglink.init_spec(PROGRAM, flags=FLAGS).entries.values()
    own = point.attributes["compilation_info"]
    other = own.replace("subgroup_size = 64", "subgroup_size = 32")
    file = tmp_path / "trials.db"
    with Database(file) as database:
        for attribute, time in ((own, 125.0), (other, 99.0)):
            database.record(
                Trial(
                    ProblemRecord(task.key, "contraction", "a matmul", task.label),
                    EnvironmentRecord("gfx942", "", "a device", "hip", "3.13.0", "3.13.0"),
                    ConfigurationRecord(attribute, "a pipeline", {}, attribute),
                    "final",
                    "default",
                    samples=(time,),
                    batch=1,
                )
            )
    with Database(file, read_only=True) as database:
        times = recorded_times(database, str(PROGRAM), FLAGS, Phase.START)
    explained = tuninglink.explain(PROGRAM, times=[times], **options)
    assert [each.microseconds for each in explained.dispatches] == [125.0]
    tuned = tuninglink.explain(
        PROGRAM, specs=[EXAMPLES / "spec_gfx942.mlir"], times=[times], **options
    )
    assert [each.microseconds for each in tuned.dispatches] == [None]
    assert tuned.notes[-1] == "no time is known of any dispatch of the program"
