"""The tuner as a whole: it survives being killed, failing candidates and a device that is gone."""

from __future__ import annotations

import math
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from clocks import limits_in_processor_time
from device_benchmarks import DOUBLE, FAULT, HANG, OVERRUN, SLOW_DOUBLE, WRONG, benchmark, straight
from processes import PATIENCE
from recorded_tuning import FLAGS, RecordedDevices, interrupt, tune, without_pauses
from tuning_programs import TWO_MATMULS, matmul, prepared

import tuninglink
from tuninglink.devices import (
    BestTime,
    DeviceError,
    Devices,
    Measurement,
    Rounds,
    Settings,
    Timing,
    opening,
    physical_cores,
)
from tuninglink.errors import TuninglinkError
from tuninglink.programs import CompiledProgram, Failure, FailureKind
from tuninglink.solver import UndecidedError
from tuninglink.tuning import tuner as tuner_module
from tuninglink.tuning.candidates import CandidateCompiler, Compiled
from tuninglink.tuning.database import (
    ConfigurationRecord,
    Database,
    EnvironmentRecord,
    Journal,
    ProblemRecord,
    Trial,
)
from tuninglink.tuning.deciding import (
    Budget,
    Ledger,
    MeasuredTask,
    TaskOutcome,
    TuningSettings,
    WinnerVerification,
)
from tuninglink.tuning.flag_sets import Listener
from tuninglink.tuning.scheduling import Scheduler, TuningContext, tune_task
from tuninglink.tuning.scheduling.task_run import TaskRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tuninglink.compiler import SavedProgram
    from tuninglink.programs import Benchmark, TuningTask
    from tuninglink.tuning.candidates import Candidate, TunableTask

SETTINGS = TuningSettings(trials=4, search="random", runs_model=False)
ONE_TRIAL = replace(
    SETTINGS, trials=1
)  # which wins: recorded candidates are faster than the default


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(TWO_MATMULS)
    return path


@pytest.fixture(scope="module")
def compiler() -> Iterator[RememberingCompiler]:
    with RememberingCompiler(FLAGS, 2) as made:
        yield made


class RememberingCompiler(CandidateCompiler):
    """Remembers with which spec a program was compiled."""

    def __init__(self, flags: tuple[str, ...], jobs: int) -> None:
        super().__init__(flags, jobs)
        self.specs: dict[bytes, str] = {}

    def submit_whole(self, program: SavedProgram, spec: str, seconds: float) -> Future:
        job = super().submit_whole(program, spec, seconds)
        compiled = job.result()
        assert isinstance(compiled, Compiled), compiled
        self.specs[compiled.image] = spec
        return job


def test_a_killed_tuner_loses_nothing_and_finds_the_same(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(matmul(8, 64, 128))
    straight_on, killed = (interrupt(path, tmp_path, kills, 4, seed=1) for kills in (0, 1))
    assert killed.reported <= set(killed.recorded)
    assert set(killed.recorded.values()) == {1}
    assert killed.recorded == straight_on.recorded
    assert killed.spec == straight_on.spec
    assert len(tuninglink.load_spec(killed.spec.encode()).entries) == 1


def test_what_was_won_before_the_device_was_gone_is_written(
    program: Path, compiler: RememberingCompiler
) -> None:
    devices = RecordedDevices(measurements=6)
    with Database() as database:
        result = tune(program, database, devices, compiler, settings=SETTINGS)
        assert len(list(database.all_trials())) > 6
    assert isinstance(result.failure, DeviceError)
    assert [each.verdict for each in result.tasks] == [TaskOutcome.WON]
    assert len(tuninglink.load_spec(result.spec.encode()).entries) == 1


def test_entries_that_slow_the_program_down_are_left_out(
    program: Path, compiler: RememberingCompiler
) -> None:
    harmful = "@match_main_dispatch_0_"

    def program_us(each: CompiledProgram) -> float:
        spec = compiler.specs[each.image]
        return (900.0 if spec else 1000.0) * (1.5 if harmful in spec else 1.0)

    settings = replace(ONE_TRIAL, runs_model=True)
    result = tune(program, None, RecordedDevices(program_us), compiler, settings=settings)
    verdicts = {each.task.name: each.verdict for each in result.tasks}
    assert verdicts == {
        "@main_dispatch_0::@embedded_elf_x86_64": TaskOutcome.LEFT_OUT,
        "@main_dispatch_1::@embedded_elf_x86_64": TaskOutcome.WON,
    }
    assert harmful not in result.spec
    assert len(tuninglink.load_spec(result.spec.encode()).entries) == 1
    assert result.model is not None
    assert (result.model.default_ms, result.model.tuned_ms) == (1.0, 0.9)


@pytest.mark.parametrize("interrupted", ["race", "whole program"])
def test_an_interrupt_ends_races_and_the_comparison_of_the_whole_program(
    program: Path, compiler: RememberingCompiler, interrupted: str
) -> None:
    ledger = Ledger(trials=1)

    class InterruptingDevices(RecordedDevices):
        def rounds(self, programs: Sequence, *arguments: object) -> Rounds:
            is_whole = isinstance(programs[0], CompiledProgram)
            if is_whole == (interrupted == "whole program"):
                ledger.whole.stop()  # as the handler of a signal does
            assert not (is_whole and ledger.whole.is_stopped)
            return super().rounds(programs, *arguments)

    settings = replace(ONE_TRIAL, runs_model=True)
    devices = InterruptingDevices(lambda _: 1000.0)
    result = tune(program, None, devices, compiler, settings=settings, ledger=ledger)
    assert result.failure is None
    assert (result.model, result.model_note) == (None, "tuning ended early")
    won = [each for each in result.tasks if each.verdict is TaskOutcome.WON]
    assert len(won) == 2 or interrupted == "race"
    assert len(tuninglink.load_spec(result.spec.encode()).entries) == len(won)


# --- Candidates that fail ----------------------------------------------------------------------------------

INJECTED: dict[str, Benchmark | Failure] = {
    "right": benchmark(DOUBLE),
    "wrong": benchmark(WRONG),
    "out-of-bounds": benchmark(OVERRUN),
    "slow": benchmark(SLOW_DOUBLE),
    "run": straight(FAULT),
    "timeout": straight(HANG),
    "compile-crash": Failure(FailureKind.COMPILE_CRASH, "the compiler crashed"),
    "compile-timeout": Failure(FailureKind.COMPILE_TIMEOUT, "too long"),
    "killed": Failure(FailureKind.COMPILE_CRASH, "it was killed", is_external=True),
}


@dataclass
class InjectingCompiler:
    """Returns injected candidates, one after the other."""

    jobs: int = 1
    injected: dict[str, str] = field(default_factory=dict)

    def submit(self, _template: object, candidate: Candidate, _seconds: float) -> Future:
        job: Future = Future()
        left = [each for each in INJECTED if each not in self.injected.values()]
        name = self.injected.setdefault(candidate.key, left[0] if left else "right")
        job.set_result(INJECTED[name])
        return job

    def submit_program(self, *_: object) -> Future:
        job: Future = Future()
        job.set_result(Compiled(benchmark(DOUBLE).image, 0.0))
        return job


def test_failing_candidates_cost_themselves() -> None:
    task = prepared(matmul(8, 256, 512), "host-cpu")
    settings = TuningSettings(trials=len(INJECTED), search="random")
    compiler = InjectingCompiler()
    with (
        Database() as database,
        limits_in_processor_time(),
        Devices(["local-sync"], Settings(), timeout=1.0) as devices,
        without_pauses(),
    ):
        journal = Journal(database, devices.first.description, settings, FLAGS)
        tuner = TuningContext(settings, compiler, devices, journal=journal)
        measured = MeasuredTask(task.task, benchmark(SLOW_DOUBLE), 1.0, 0.0, 1.0)
        result = tune_task(tuner, task, measured, Budget(trials=settings.trials))
        recorded = {
            (compiler.injected[each.configuration.key], each.failure.kind.value)
            for each in database.all_trials()
            if each.failure is not None
        }
    failing = {(each, each) for each in INJECTED if each not in ("right", "slow", "killed")}
    # On a machine under load, the time limit is not the candidate's own failure.
    assert recorded | {("timeout", "timeout")} == failing
    wrong = {compiler.injected[each.key] for each, _ in result.wrong}
    assert wrong == {"wrong", "out-of-bounds"}
    assert result.winner is None or compiler.injected[result.winner.candidate.key] == "right"
    assert result.verdict in (TaskOutcome.WON, TaskOutcome.UNDECIDED)


# --- Several devices ---------------------------------------------------------------------------------------


def test_equal_devices_share_the_work_each_with_its_own_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    class SlowerAndSlower:
        """A device that is twice as slow as the one before."""

        together = 1

        def __init__(self, uri: str, *_: object) -> None:
            self.description = RecordedDevices.description
            self._uri, self._factor = uri, 2.0 ** int(uri[-1])

        def measure(self, each: Benchmark, *_: object, **__: object) -> Timing:
            asked.append(self._uri)
            us = 60.0 if each is default else 40.0
            return Timing((us * self._factor,), 1)

        def close(self) -> None:
            """Nothing is open."""

    monkeypatch.setattr(opening, "DeviceProcess", SlowerAndSlower)
    default, other = benchmark(SLOW_DOUBLE), benchmark(DOUBLE)
    with Devices(["gpu://0", "gpu://1"], Settings(), timeout=1.0) as devices:
        assert devices.measure_default(default) == 60.0
        jobs = [devices.submit(other, BestTime(1e9)) for _ in range(4)]
        found = [job.result() for job in jobs]
    assert set(asked) == {"gpu://0", "gpu://1"}
    assert all(isinstance(each, Measurement) for each in found)
    assert [each.microseconds for each in found] == [40.0] * 4


def test_threaded_cpu_devices_share_out_the_cores() -> None:
    count = min(2, len(physical_cores()))
    with Devices(["local-task"] * count, Settings(), timeout=PATIENCE) as devices:
        each = len(physical_cores()) // count
        assert [found.cores for found in devices.descriptions] == [each] * count
        default, other = benchmark(SLOW_DOUBLE), benchmark(DOUBLE)
        assert not isinstance(devices.measure_default(default), Failure)
        jobs = [devices.submit(other, BestTime(1e9)) for _ in range(3)]
        assert all(isinstance(job.result(), Measurement) for job in jobs)
    with pytest.raises(TuninglinkError, match="need as many cores"):
        Devices(["local-task"] * (len(physical_cores()) + 1), Settings(), timeout=30.0)


# --- What is known from elsewhere --------------------------------------------------------------------------


def test_winners_of_the_nearest_problems_come_first() -> None:
    task = prepared(matmul(8, 256, 512), "host-cpu")
    far, near = task.spaces.sample(2, 0)
    here = EnvironmentRecord(
        task.task.target.name, "", "another device", "local-sync", "3.13.0", "1"
    )
    with Database() as database:
        for sizes, winner in (("512x512x512", far), ("8x256x1024", near)):
            problem = ProblemRecord(sizes, "contraction", f"contraction {sizes} f32xf32xf32", "")
            won = ConfigurationRecord(winner.key, winner.pipeline, winner.knobs)
            database.record(Trial(problem, here, won, "screen", "space", (1.0,)))
        journal = Journal(database, RecordedDevices.description, SETTINGS, FLAGS)
        winners = journal.prior(task).winners(task.spaces)
        assert [each.knobs for each in winners] == [near.knobs, far.knobs]


# --- Tasks that fail ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [KeyError("knob"), MemoryError(), UndecidedError("unknown")])
def test_a_task_fails_alone(
    program: Path,
    compiler: RememberingCompiler,
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception,
) -> None:
    prepare = tuner_module.prepare

    def failing(task: TuningTask, *arguments: object, **options: object) -> object:
        if task.name.startswith("@main_dispatch_0"):
            raise failure
        return prepare(task, *arguments, **options)

    monkeypatch.setattr(tuner_module, "prepare", failing)
    result = tune(program, None, RecordedDevices(), compiler, settings=ONE_TRIAL)
    assert [each.verdict for each in result.tasks] == [TaskOutcome.WON]
    (omission,) = result.omissions
    assert omission.dispatches == ("@main_dispatch_0::@embedded_elf_x86_64",)
    reason, _, part = omission.reason.partition(" (")
    assert reason in ("KeyError: 'knob'", "out of memory", "not decided: unknown")
    assert part.endswith("% of the time)")


def test_a_spec_that_gives_another_binary_loses_its_task_only(
    program: Path, compiler: RememberingCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = WinnerVerification.finish

    def differing(self: WinnerVerification, winner: Candidate, measured: Benchmark) -> None:
        if self.prepared.task.name.startswith("@main_dispatch_0"):
            measured = replace(measured, image=b"another")
        finish(self, winner, measured)

    monkeypatch.setattr(WinnerVerification, "finish", differing)
    result = tune(program, None, RecordedDevices(), compiler, settings=ONE_TRIAL)
    assert result.failure is None
    assert [each.verdict for each in result.tasks] == [TaskOutcome.WON]
    (omission,) = result.omissions
    assert "the binaries differ" in omission.reason


# --- Standing winners ----------------------------------------------------------------------------------------

ENDLESS = replace(SETTINGS, trials=None)


def test_a_best_candidate_stands_before_its_race(
    program: Path, compiler: RememberingCompiler
) -> None:
    """The device is gone before any race, yet what was far faster until then wins, and is written as it is found."""
    kept: list[str] = []
    devices = RecordedDevices(measurements=48)
    result = tune(program, None, devices, compiler, settings=ENDLESS, keep=kept.append)
    assert isinstance(result.failure, DeviceError)
    assert [each.verdict for each in result.tasks] == [TaskOutcome.WON, TaskOutcome.WON]
    assert all(each.reason == "" and each.decision for each in result.tasks)
    assert len(tuninglink.load_spec(result.spec.encode()).entries) == 2
    counts = [len(tuninglink.load_spec(each.encode()).entries) for each in kept]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (1, 2)


class FastDefault(RecordedDevices):
    def us(self, benchmark: Benchmark) -> float:
        return 100.0 if benchmark.image in self._defaults else 400.0


def test_a_spec_without_winners_is_not_kept(program: Path, compiler: RememberingCompiler) -> None:
    """A run that is killed would leave it in place of an earlier one."""
    kept: list[str] = []
    result = tune(program, None, FastDefault(), compiler, settings=SETTINGS, keep=kept.append)
    assert [each.verdict for each in result.tasks] == [TaskOutcome.DEFAULT] * 2
    assert not kept


class WrongWhereFast(RecordedDevices):
    """A device that computes wrong results for the fastest candidates."""

    def compare(self, candidate: Benchmark, *_: object) -> Failure | None:  # type: ignore[override]
        is_fast = self.us(candidate) < 80.0
        return Failure(FailureKind.WRONG, "it is off") if is_fast else None


def test_a_wrong_candidate_does_not_stand(program: Path, compiler: RememberingCompiler) -> None:
    devices = WrongWhereFast(measurements=48)
    result = tune(program, None, devices, compiler, settings=ENDLESS)
    assert [each.verdict for each in result.tasks] == [TaskOutcome.WON, TaskOutcome.WON]
    for each in result.tasks:
        assert each.winner is not None
        assert each.winner.microseconds is not None
        assert each.winner.microseconds >= 80.0
        assert each.wrong


def explored(
    compiler: CandidateCompiler, settings: TuningSettings, *, rows: int = 8, **context: Any
) -> TaskRun:
    """Return a task with three trials."""
    task, devices = prepared(matmul(rows, 64, 128), "host-cpu"), RecordedDevices()
    compiled = compiler.submit_program(task.task.source, "", PATIENCE).result()
    assert isinstance(compiled, Compiled), compiled
    default = MeasuredTask(task.task, task.task.benchmark(compiled.image), 200.0, 0.1)
    devices.measure_default(default.benchmark)
    run = TaskRun(TuningContext(settings, compiler, devices, **context), default)
    run.begin(task)
    run.explore(Budget(trials=3))
    return run


@dataclass
class EndingWithARace(Listener):
    """A listener that ends a run once the first race begins."""

    ledger: Ledger

    def racing(self, prepared: TunableTask, finalists: int) -> None:  # noqa: ARG002
        self.ledger.whole.deadline = 0.0


def test_a_leading_candidate_is_not_lost_to_the_race_of_another_task(
    compiler: RememberingCompiler,
) -> None:
    ledger = Ledger(600.0)
    settings, listener = replace(SETTINGS, seconds=600.0), EndingWithARace(ledger)
    runs = [explored(compiler, settings, rows=rows, listener=listener) for rows in (8, 4)]
    scheduler = Scheduler(runs[0]._context, ledger, pytest.fail, pytest.fail)
    scheduler.open = list(runs)
    scheduler._decide_all()
    assert [result.verdict for result in scheduler.results] == [TaskOutcome.WON] * 2
    assert not scheduler.open


def test_a_better_candidate_than_the_standing_one_is_not_lost_without_a_race(
    compiler: RememberingCompiler,
) -> None:
    """It was found after the last check: the race of a short run is not worth its time, as the standing one leads."""
    run = explored(compiler, replace(SETTINGS, seconds=30.0))
    trials = run.exploration.trials
    best = min(trials, key=lambda trial: trial.microseconds or math.inf)
    place = trials.index(best)
    trials[place] = replace(best, microseconds=None)
    run.check_best(Budget())
    assert run.standing is not None
    trials[place] = best
    result = run.decide(Budget())
    assert result is not None
    assert result.winner is not None
    assert result.winner.candidate == best.candidate


def test_a_rejected_candidate_may_have_lost_its_image(compiler: RememberingCompiler) -> None:
    run = explored(compiler, SETTINGS)
    measured, trials = run.trials[0], run.exploration.trials
    trials[0] = replace(measured, benchmark=None)
    run.exploration.reject(measured, Failure(FailureKind.WRONG, "it is wrong"))
    assert trials[0].candidate == measured.candidate
    assert trials[0].failure is not None
    assert [trial.failure for trial in trials[1:]] == [None, None]
