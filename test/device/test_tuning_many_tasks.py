"""Programs with many problems: rough times of defaults, first turns, and the price of the whole program."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
import recorded_tuning
from processes import eventually
from programs import endless_linker
from recorded_tuning import DESCRIPTION, FLAGS, REMOTE, RecordedDevices, tune
from tuning_programs import dispatched, matmul

from tuninglink.programs import Failure, FailureKind
from tuninglink.tuning import ProgramGuard, Tuner
from tuninglink.tuning.candidates import CandidateCompiler
from tuninglink.tuning.deciding import (
    DEFAULT_SECONDS,
    Account,
    Budget,
    Ledger,
    RaceRules,
    TaskOutcome,
    TuningSettings,
)
from tuninglink.tuning.flag_sets import Listener
from tuninglink.tuning.references import References
from tuninglink.tuning.scheduling import (
    DefaultQueue,
    TuningContext,
    context,
    default_queue,
    scheduler,
    task_run as open_tasks,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tuninglink.devices import DeviceDescription, Rounds
    from tuninglink.errors import Diagnostic
    from tuninglink.programs import Benchmark
    from tuninglink.tuning.candidates import PreparedTask
    from tuninglink.tuning.deciding import TrialResult

THREE_MATMULS = """
func.func @main(%a: tensor<8x128xf32>, %b: tensor<128x64xf32>, %c: tensor<64x32xf32>, %d: tensor<32x96xf32>)
    -> tensor<8x96xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x64xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8x64xf32>) -> tensor<8x64xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<8x128xf32>, tensor<128x64xf32>) outs(%1 : tensor<8x64xf32>) -> tensor<8x64xf32>
  %3 = tensor.empty() : tensor<8x32xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %5 = linalg.matmul ins(%2, %c : tensor<8x64xf32>, tensor<64x32xf32>) outs(%4 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %6 = tensor.empty() : tensor<8x96xf32>
  %7 = linalg.fill ins(%zero : f32) outs(%6 : tensor<8x96xf32>) -> tensor<8x96xf32>
  %8 = linalg.matmul ins(%5, %d : tensor<8x32xf32>, tensor<32x96xf32>) outs(%7 : tensor<8x96xf32>) -> tensor<8x96xf32>
  return %8 : tensor<8x96xf32>
}
"""

FIRST = 4
"""The candidates of a first turn in these tests."""


@dataclass
class Trials(Listener):
    """Records the tasks of trials in their order."""

    tasks: list[str] = field(default_factory=list)

    def tried(self, prepared: PreparedTask, trial: TrialResult, budget: Budget) -> None:  # noqa: ARG002
        self.tasks.append(prepared.task.key)


@dataclass
class TimedDefaults(RecordedDevices):
    """Records how long defaults are sampled."""

    seconds: list[float] = field(default_factory=list)

    def measure_default(self, benchmark: Benchmark, seconds: float = DEFAULT_SECONDS) -> float:
        self.seconds.append(seconds)
        return super().measure_default(benchmark)


@pytest.fixture(scope="module")
def compiler() -> Iterator[CandidateCompiler]:
    with CandidateCompiler(FLAGS, 2) as made:
        yield made


def test_all_heavy_tasks_get_candidates_before_one_gets_many(
    tmp_path: Path, compiler: CandidateCompiler
) -> None:
    program, listener = tmp_path / "program.mlir", Trials()
    program.write_text(THREE_MATMULS)
    settings = TuningSettings(trials=2 * FIRST, search="random", runs_model=False)
    devices = RecordedDevices(description=REMOTE)
    with patch.object(scheduler, "TURN_TRIALS", FIRST), patch.object(open_tasks, "FIRST_TRIALS", 2):
        result = tune(program, None, devices, compiler, settings=settings, listener=listener)
    assert Counter(listener.tasks) == {task.task.key: 2 * FIRST for task in result.tasks}
    tried: Counter[str] = Counter()
    for task in listener.tasks:
        tried[task] += 1
        if tried[task] > FIRST:
            break
    assert len(tried) == len(result.tasks) == 3
    assert min(tried.values()) >= 2


@dataclass
class ReadingDevices(RecordedDevices):
    """A device on which defaults read beyond an operand, where NaNs are."""

    def compare(self, benchmark: Benchmark, reference: Benchmark, *_: object) -> Failure | None:
        is_default = benchmark.image == reference.image
        return Failure(FailureKind.WRONG, "binding 2: nan") if is_default else None


@dataclass
class Warnings(Listener):
    """Keeps warnings."""

    messages: list[str] = field(default_factory=list)

    def noticed(self, diagnostic: Diagnostic) -> None:
        self.messages.append(diagnostic.message)


def test_without_a_reference_a_default_that_reads_beyond_an_operand_is_named(
    tmp_path: Path, compiler: CandidateCompiler
) -> None:
    program, listener = tmp_path / "program.mlir", Warnings()
    program.write_text(THREE_MATMULS)
    settings = TuningSettings(trials=1, search="random", runs_model=False, checks_defaults=False)
    result = tune(program, None, ReadingDevices(), compiler, settings=settings, listener=listener)
    assert {task.verdict for task in result.tasks} == {TaskOutcome.WON}
    assert sorted(listener.messages) == sorted(
        f"{task.task.name}: the compiler's own choice is wrong: binding 2: nan"
        for task in result.tasks
    )


@dataclass
class DisturbedDevices(RecordedDevices, Listener):
    """A device on which other work disturbs all comparisons with a default, up to the first block of the race."""

    is_racing: bool = False

    def racing(self, prepared: PreparedTask, finalists: int) -> None:  # noqa: ARG002
        self.is_racing = True

    def rounds(self, programs: Sequence[Benchmark], count: int, *_: object) -> Rounds:
        rounds = super().rounds(programs, count)
        if len(programs) > 2:
            return rounds  # a heat
        if self.is_racing:
            self.is_racing = False
            self.rounds = super().rounds  # type: ignore[method-assign]
        return replace(rounds, samples=((1.0, 2.0),) * count)


def test_a_disturbed_race_gets_the_time_that_is_left(
    tmp_path: Path, compiler: CandidateCompiler
) -> None:
    program, devices = tmp_path / "program.mlir", DisturbedDevices()
    program.write_text(matmul(4, 64, 64))
    settings = TuningSettings(trials=6, search="random", runs_model=False, checks_defaults=False)

    def late(*arguments: Any, **rules: Any) -> RaceRules:
        return RaceRules(*arguments, **{**rules, "deadline": 0.0}, gap_seconds=0.0)

    with patch.object(
        recorded_tuning, "without_pauses", partial(patch.object, context, "RaceRules", late)
    ):
        result = tune(program, None, devices, compiler, settings=settings, listener=devices)
    (task,) = result.tasks
    assert task.verdict is TaskOutcome.WON
    assert task.decision is not None
    assert [block.median > 1.0 for block in task.decision.blocks] == [False, True, True, True, True]


def test_a_disturbed_comparison_is_repeated_where_there_is_no_time_for_a_race(
    tmp_path: Path, compiler: CandidateCompiler
) -> None:
    program, devices = tmp_path / "program.mlir", DisturbedDevices(is_racing=True)
    program.write_text(matmul(4, 64, 64))
    settings = TuningSettings(trials=6, search="random", runs_model=False, checks_defaults=False)
    with patch.object(open_tasks, "_LEAST_PRICE", math.inf):
        result = tune(program, None, devices, compiler, settings=settings, ledger=Ledger(6000.0, 6))
    (task,) = result.tasks
    assert task.verdict is TaskOutcome.WON
    assert task.decision is not None
    assert len(task.decision.blocks) == 1


@pytest.mark.parametrize(("seconds", "most"), [(math.inf, DEFAULT_SECONDS), (600.0, 0.04)])
def test_defaults_of_short_runs_are_sampled_briefly(
    compiler: CandidateCompiler, seconds: float, most: float
) -> None:
    tasks = dispatched(THREE_MATMULS, "host-cpu").tasks
    devices = TimedDefaults()
    tuner = TuningContext(TuningSettings(runs_model=False), compiler, devices)
    queue = DefaultQueue(tuner, tasks, pytest.fail)
    with patch.object(default_queue, "_SAMPLING", 0.0002):  # for 3 tasks, not for 3,000
        queue.measure(Budget(seconds))
    assert len(queue.measured) == len(tasks)
    assert 0.0 < max(devices.seconds) <= most


@pytest.mark.parametrize(("program_us", "count"), [(0.0, 1), (1e9, 3)])
def test_defaults_are_measured_until_they_make_up_the_time_of_the_program(
    compiler: CandidateCompiler, program_us: float, count: int
) -> None:
    tasks, settings = dispatched(THREE_MATMULS, "host-cpu").tasks, TuningSettings()
    tuner = TuningContext(settings, compiler, RecordedDevices(), program_us=program_us)
    queue = DefaultQueue(tuner, tasks, pytest.fail)
    with patch.object(default_queue, "_MOST", 0.0), patch.object(default_queue, "_HEAVY", 0.01):
        queue.measure(Budget(600.0))
    assert len(queue.measured) == count


@pytest.mark.parametrize("description", [DESCRIPTION, REMOTE])
def test_defaults_that_do_not_compile_in_the_budget_are_not_awaited(
    description: DeviceDescription, tmp_path: Path
) -> None:
    tasks = dispatched(THREE_MATMULS, "host-cpu").tasks
    with (
        CandidateCompiler(endless_linker(tmp_path), 2) as compiler,
        patch.object(default_queue, "_PATIENCE", 0.0),
    ):
        devices = RecordedDevices(description=description)
        queue = DefaultQueue(TuningContext(TuningSettings(), compiler, devices), tasks, pytest.fail)
        queue.measure(Budget(0.01))
    assert not queue.measured
    assert len(queue.waiting) == len(tasks)


def test_the_time_of_compiling_the_program_replaces_its_estimate(
    compiler: CandidateCompiler,
) -> None:
    program = dispatched(THREE_MATMULS, "host-cpu")
    tuner = TuningContext(TuningSettings(), compiler, RecordedDevices(description=REMOTE))
    queue = DefaultQueue(tuner, program.tasks, pytest.fail)
    queue.measure(Budget())
    queue.measured[:] = [replace(default, processor_seconds=60.0) for default in queue.measured]
    ledger = Ledger(1000.0)
    with ProgramGuard(program, tuner, ledger) as guard:
        guard.reserve(queue)
        before = ledger.reserved(Account.GUARD)
        assert before > 180.0

        def is_updated() -> bool:
            guard.update()
            return ledger.reserved(Account.GUARD) < before

        assert eventually(is_updated)


def test_a_budget_that_does_not_cover_the_whole_program_is_reported_first(
    compiler: CandidateCompiler,
) -> None:
    program, warnings = dispatched(matmul(4, 64, 64), "host-cpu"), Warnings()
    settings = TuningSettings(checks_defaults=False)
    tuner = TuningContext(settings, compiler, RecordedDevices(), warnings)
    queue = DefaultQueue(tuner, program.tasks, pytest.fail)
    queue.measure(Budget())
    measured = list(queue.measured)
    for seconds in (1.0, 4000.0):
        queue.measured[:] = [replace(default, compile_seconds=seconds) for default in measured]
        ledger = Ledger(1000.0)
        with ProgramGuard(program, tuner, ledger) as guard:
            Tuner(program, FLAGS, tuner, ledger)._reserve(guard, queue)
    (message,) = warnings.messages
    factor, price = map(float, re.findall(r"([\d.]+) (?:times|s, without)", message))
    assert factor == pytest.approx(price / 400.0, abs=0.1)
    assert message.startswith("the 1000 s that are left of the budget are too short for this")
    assert message.endswith(" s, without which nothing guards the spec")


def test_the_reference_leaves_time_for_the_whole_program(compiler: CandidateCompiler) -> None:
    program = dispatched(matmul(4, 64, 64), "host-cpu")
    with References(seed=0) as references:
        devices = RecordedDevices()
        tuner = TuningContext(TuningSettings(), compiler, devices, references=references)
        queue = DefaultQueue(tuner, program.tasks, pytest.fail)
        queue.measure(Budget())
        ledger = Ledger(1000.0)
        with ProgramGuard(program, tuner, ledger) as guard:
            guard.reserve(queue)
            price, reference = ledger.reserved(Account.GUARD), guard._reference
            assert reference is not None
            assert reference.seconds == ledger.limit(Account.REFERENCE)
            # What is reserved is left of the budget, and its grace.
            ledger.whole.deadline = time.monotonic() + price
            ledger.latest = ledger.whole.deadline + 1.0
            guard.run([], lambda _: "", None)
            assert 1.0 <= reference.seconds <= price - guard.least_price + 1.0


def test_the_whole_program_pays_the_fixed_part_of_compilations_once(
    compiler: CandidateCompiler,
) -> None:
    """On a CPU, where the estimate stays, small dispatches took five times as long alone as in their program."""
    program = dispatched(THREE_MATMULS, "host-cpu")
    tuner = TuningContext(TuningSettings(checks_defaults=False), compiler, RecordedDevices())
    queue = DefaultQueue(tuner, program.tasks, pytest.fail)
    queue.measure(Budget())
    measured = list(queue.measured)

    def reserved(*seconds: float) -> float:
        queue.measured[:] = [
            replace(default, compile_seconds=value)
            for default, value in zip(measured, seconds, strict=True)
        ]
        ledger = Ledger(1000.0)
        with ProgramGuard(program, tuner, ledger) as guard:
            guard.reserve(queue)
        return ledger.reserved(Account.GUARD)

    # Three compilations of the rest on two jobs, for two programs, and a tenth in series.
    assert reserved(20.0, 20.0, 20.0) - reserved(8.0, 8.0, 8.0) == pytest.approx(3 * 3.0 * 1.1)
    assert reserved(8.0, 8.0, 80.0) - reserved(8.0, 8.0, 8.0) > 70.0
