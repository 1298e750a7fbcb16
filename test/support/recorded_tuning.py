"""Tuning on a device of recorded timings: the time of a benchmark follows from its code, so every run is the same.

As a program it tunes until it is done or killed, and prints the key of each trial that is kept:

    python recorded_tuning.py PROGRAM DATABASE SPEC TRIALS
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

from programs import HOST_CPU
from tuning_programs import whole_samples

from tuninglink.devices import (
    BestTime,
    CallOutputs,
    DeviceDescription,
    DeviceError,
    DeviceSet,
    Measurement,
    Rounds,
    Timing,
)
from tuninglink.mlir import error
from tuninglink.programs import CompiledProgram, read_program
from tuninglink.tuning import Tuner, program_guard
from tuninglink.tuning.candidates import CandidateCompiler
from tuninglink.tuning.database import Database, Journal
from tuninglink.tuning.deciding import Ledger, ModelRuns, RaceRules, TuningSettings
from tuninglink.tuning.flag_sets import Listener
from tuninglink.tuning.scheduling import TuningContext, context

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from tuninglink.programs import Benchmark
    from tuninglink.tuning.candidates import PreparedTask
    from tuninglink.tuning.deciding import Budget, TrialResult, TuningResult

FLAGS: Final = HOST_CPU
DESCRIPTION: Final = DeviceDescription("recorded", "a record", "local-sync", "", "1", 1)


class RemoteDescription(DeviceDescription):
    """The description of a device whose processors do not compile."""

    @property
    def is_local(self) -> bool:
        return False


REMOTE: Final = RemoteDescription(**vars(DESCRIPTION))


@dataclass
class RecordedDevices:
    """Stands for `Devices` and for the process of the only one.

    Attributes:
        program_us: the time of a whole program.
        measurements: the number of measurements until the device is gone.
    """

    ahead = None

    program_us: Callable[[CompiledProgram], float] = lambda _: 0.0
    measurements: float = float("inf")
    description: DeviceDescription = DESCRIPTION
    at_once: int = 1
    _defaults: set[bytes] = field(default_factory=set)

    @property
    def descriptions(self) -> list[DeviceDescription]:
        return [self.description]

    @property
    def first(self) -> RecordedDevices:
        return self

    def us(self, benchmark: Benchmark) -> float:
        """Return the time of a benchmark: from 50 to 150 microseconds, 200 for the default."""
        if benchmark.image in self._defaults:
            return 200.0
        return 50.0 + int.from_bytes(sha256(benchmark.image).digest()[:4], "big") % 1000 / 10

    def measure_default(self, benchmark: Benchmark, _seconds: float = 0.1) -> float:
        self._defaults.add(benchmark.image)
        return self.us(benchmark)

    def submit(self, benchmark: Benchmark, _best: BestTime) -> Future:
        job: Future = Future()
        self.measurements -= 1
        if self.measurements < 0:
            job.set_exception(DeviceError(error("device 'recorded' does not open: it may be busy")))
        else:
            us = self.us(benchmark)
            job.set_result(Measurement(us, Timing((us,), 1)))
        return job

    def compare(self, *_: object) -> None:
        """Return None: the outputs agree."""

    def rounds(
        self, programs: Sequence[Benchmark] | Sequence[CompiledProgram], count: int, *_: object
    ) -> Rounds:
        is_whole = isinstance(programs[0], CompiledProgram)
        times = tuple(map(self.program_us if is_whole else self.us, programs))
        return Rounds((times,) * count, (1,) * len(times))

    def program_outputs(self, *_: object) -> CallOutputs:
        return CallOutputs((), 0.001)


def without_pauses() -> AbstractContextManager[object]:
    """Leave out the pauses of races, where times are recorded, or do not matter."""
    return patch.object(context, "RaceRules", partial(RaceRules, gap_seconds=0.0))


def brief_comparisons() -> AbstractContextManager[object]:
    """End comparisons of whole programs after the least time, where their precision does not matter."""
    return patch.object(program_guard, "ModelRuns", partial(ModelRuns, seconds=0.0))


def tune(
    program: Path,
    database: Database | None,
    devices: RecordedDevices | DeviceSet,
    compiler: CandidateCompiler,
    *,
    settings: TuningSettings,
    listener: Listener | None = None,
    keep: Callable[[str], object] = lambda _: None,
    ledger: Ledger | None = None,
    flags: Sequence[str] = FLAGS,
) -> TuningResult:
    """Tune a program as the command does."""
    journal = Journal(database, DESCRIPTION, settings, flags) if database else None
    tasks = TuningContext(settings, compiler, devices, listener or Listener(), journal)
    ledger = ledger or Ledger(trials=settings.trials)
    with without_pauses(), whole_samples():
        read = read_program(str(program), flags)
        return Tuner(read, flags, tasks, ledger, keep=keep).run()


class _Keys(Listener):
    def tried(self, prepared: PreparedTask, trial: TrialResult, budget: Budget) -> None:  # noqa: ARG002
        print(trial.candidate.key, flush=True)  # noqa: T201 - what the process is read by


@dataclass
class Interruption:
    """The outcome of a tuner that was killed and started again.

    Attributes:
        reported: the keys of the trials that it reported as kept.
        recorded: the number of times that each key is in the database.
        spec: what it wrote in the end.
    """

    reported: set[str] = field(default_factory=set)
    recorded: Counter[str] = field(default_factory=Counter)
    spec: str = ""


def interrupt(program: Path, directory: Path, kills: int, trials: int, seed: int) -> Interruption:
    """Tune a program, killed this number of times at random moments and started again."""
    database, spec = directory / f"{kills}.db", directory / f"{kills}.mlir"
    command = [sys.executable, __file__, program, database, spec, str(trials)]
    chance = random.Random(seed)
    found = Interruption()
    for _ in range(kills):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tuner:
            for _ in range(chance.randrange(trials + 2)):
                found.reported.add(tuner.stdout.readline().rstrip())
            time.sleep(chance.uniform(0.0, 0.5))
            tuner.kill()
            found.reported |= {line.rstrip() for line in tuner.stdout if line.endswith("\n")}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    found.reported.discard("")
    with Database(database, read_only=True) as opened:
        screened = [each for each in opened.all_trials() if each.stage == "screen"]
    found.recorded = Counter(each.configuration.key for each in screened)
    found.spec = spec.read_text()
    return found


if __name__ == "__main__":
    _program, _database, _spec, _trials = sys.argv[1:]
    _settings = TuningSettings(trials=int(_trials), search="random", runs_model=False)
    with Database(Path(_database)) as _opened, CandidateCompiler(FLAGS, 2) as _compiler:
        _result = tune(
            Path(_program),
            _opened,
            RecordedDevices(),
            _compiler,
            settings=_settings,
            listener=_Keys(),
        )
    Path(_spec).write_text(_result.spec)
