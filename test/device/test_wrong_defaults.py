"""Wrong defaults: all are judged, and right candidates are found for them before anything else."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
import pytest
from recorded_tuning import DESCRIPTION, FLAGS, REMOTE, RecordedDevices, without_pauses
from tuning_programs import whole_samples

import tuninglink
from tuninglink.cli.measuring import summary
from tuninglink.devices import DeviceProcess
from tuninglink.programs import Failure, read_program
from tuninglink.specs import provenance_of
from tuninglink.tuning import EntryVerdict, Retuner, Tuner, target_of
from tuninglink.tuning.candidates import CandidateCompiler
from tuninglink.tuning.database import Database, Journal
from tuninglink.tuning.deciding import (
    WRONG_DEFAULT,
    Budget,
    DefaultJudgements,
    Ending,
    Ledger,
    MeasuredTask,
    TaskOutcome,
    TuningSettings,
)
from tuninglink.tuning.flag_sets import Listener
from tuninglink.tuning.references import References
from tuninglink.tuning.scheduling import TuningContext

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tuninglink.devices import Outputs
    from tuninglink.programs import Benchmark, OutputVerdict, TuningTask
    from tuninglink.tuning.candidates import TunableTask
    from tuninglink.tuning.deciding import (
        TaskResult,
        TrialResult,
        TuningResult,
        WrongDefaults,
    )

CHAIN = """
func.func @main(%a: tensor<32x256xf32>, %b: tensor<256x64xf32>, %c: tensor<64x16xf32>, %d: tensor<16x8xf32>)
    -> tensor<32x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty0 = tensor.empty() : tensor<32x64xf32>
  %start0 = linalg.fill ins(%zero : f32) outs(%empty0 : tensor<32x64xf32>) -> tensor<32x64xf32>
  %heavy = linalg.matmul ins(%a, %b : tensor<32x256xf32>, tensor<256x64xf32>)
    outs(%start0 : tensor<32x64xf32>) -> tensor<32x64xf32>
  %empty1 = tensor.empty() : tensor<32x16xf32>
  %start1 = linalg.fill ins(%zero : f32) outs(%empty1 : tensor<32x16xf32>) -> tensor<32x16xf32>
  %small = linalg.matmul ins(%heavy, %c : tensor<32x64xf32>, tensor<64x16xf32>)
    outs(%start1 : tensor<32x16xf32>) -> tensor<32x16xf32>
  %empty2 = tensor.empty() : tensor<32x8xf32>
  %start2 = linalg.fill ins(%zero : f32) outs(%empty2 : tensor<32x8xf32>) -> tensor<32x8xf32>
  %smaller = linalg.matmul ins(%small, %d : tensor<32x16xf32>, tensor<16x8xf32>)
    outs(%start2 : tensor<32x8xf32>) -> tensor<32x8xf32>
  return %smaller : tensor<32x8xf32>
}
"""
HEAVY = "@main_dispatch_0"


def chain(sizes: list[int]) -> str:
    """Return a program of products in a row, the first one heavy, the others with outputs of the given sizes."""
    body, value, inner = [], "%a", 256
    arguments = ["%a: tensor<32x256xf32>"]
    for number, size in enumerate([64, *sizes]):
        arguments.append(f"%w{number}: tensor<{inner}x{size}xf32>")
        body.append(
            f"""
  %empty{number} = tensor.empty() : tensor<32x{size}xf32>
  %start{number} = linalg.fill ins(%zero : f32) outs(%empty{number} : tensor<32x{size}xf32>) -> tensor<32x{size}xf32>
  %r{number} = linalg.matmul ins({value}, %w{number} : tensor<32x{inner}xf32>, tensor<{inner}x{size}xf32>)
    outs(%start{number} : tensor<32x{size}xf32>) -> tensor<32x{size}xf32>"""
        )
        value, inner = f"%r{number}", size
    return f"""
func.func @main({", ".join(arguments)}) -> tensor<32x{inner}xf32> {{
  %zero = arith.constant 0.0 : f32{"".join(body)}
  return {value} : tensor<32x{inner}xf32>
}}
"""


TRIALS = 32
"""The maximum number of trials of a run: the heavy dispatch alone would use all of them."""


@dataclass
class WrongDevices(RecordedDevices):
    """A device of recorded times that computes on this machine, the defaults of small dispatches wrong.

    Attributes:
        device: computes.
        is_right: returns whether a candidate of a small dispatch is computed right, by its number.
    """

    device: DeviceProcess | None = None
    is_right: Callable[[int], bool] = bool
    _small: dict[bytes, int] = field(default_factory=dict)

    def us(self, benchmark: Benchmark) -> float:
        return super().us(benchmark) * (1000.0 if _is_heavy(benchmark) else 1.0)

    def outputs(self, benchmark: Benchmark) -> Outputs:
        assert self.device is not None
        outputs = self.device.outputs(benchmark)
        if _is_heavy(benchmark):
            return outputs
        if benchmark.image in self._defaults:
            return _shifted(outputs)
        number = self._small.setdefault(benchmark.image, len(self._small))
        return outputs if self.is_right(number) else _shifted(outputs)


def _is_heavy(benchmark: Benchmark) -> bool:
    return any(binding.shape == (256, 64) for binding in benchmark.layout.bindings)


def _shifted(outputs: Outputs) -> Outputs:
    """Return outputs of which a part is wrong."""
    bindings = {}
    for number, content in outputs.bindings.items():
        values = content.view(np.float32).copy()
        values[::3] += 4.0
        bindings[number] = values.view(np.uint8)
    return replace(outputs, bindings=bindings)


@dataclass
class Stopping(Listener):
    """Stops a run once all wrong defaults are decided on, or some trials after they are known.

    Attributes:
        count: the number of wrong defaults.
        tasks: the tasks of the trials, in order, with the keys of the candidates.
    """

    ledger: Ledger
    count: int = 2
    wrong: list[str] = field(default_factory=list)
    tasks: list[tuple[str, str]] = field(default_factory=list)
    trials: int = 0
    decided: int = 0
    races: int = 0
    summary: str = ""

    def racing(self, prepared: TunableTask, finalists: int) -> None:  # noqa: ARG002
        self.races += prepared.task.name.partition("::")[0] != HEAVY

    def default_is_wrong(self, task: TuningTask, judgement: OutputVerdict) -> None:
        assert judgement.samples
        self.wrong.append(task.name.partition("::")[0])

    def tried(self, prepared: TunableTask, trial: TrialResult, budget: Budget) -> None:  # noqa: ARG002
        name = prepared.task.name.partition("::")[0]
        self.tasks.append((name, str(trial.candidate.knobs)))
        self.trials += len(self.wrong) == self.count
        if self.trials >= TRIALS:
            self.ledger.whole.stop()

    def ended(self, result: TaskResult) -> None:
        self.decided += result.default_is_wrong
        if self.decided == self.count:
            self.ledger.whole.stop()

    def repaired(self, wrong: WrongDefaults) -> None:
        self.summary = str(wrong)


def tuned(
    tmp_path: Path,
    is_right: Callable[[int], bool],
    trials: int | None = None,
    *,
    source: str = CHAIN,
    count: int = 2,
) -> tuple[TuningResult, Stopping]:
    path = tmp_path / "program.mlir"
    path.write_text(source)
    settings = TuningSettings(search="random", runs_model=False, trials=trials)
    ledger = Ledger(trials=trials)
    listener = Stopping(ledger, count)
    with (
        DeviceProcess("local-sync") as device,
        CandidateCompiler(FLAGS, 2) as compiler,
        References(0) as references,
        without_pauses(),
        whole_samples(),
    ):
        devices = WrongDevices(description=REMOTE, device=device, is_right=is_right)
        tuner = TuningContext(settings, compiler, devices, listener, references=references)
        result = Tuner(read_program(str(path), FLAGS), FLAGS, tuner, ledger).run()
    return result, listener


@pytest.fixture(scope="module")
def repaired(tmp_path_factory: pytest.TempPathFactory) -> tuple[TuningResult, Stopping]:
    """Return a run with two wrong defaults, for which one candidate in four is right."""
    return tuned(tmp_path_factory.mktemp("repaired"), is_right=lambda number: number % 4 == 3)


def test_wrong_defaults_of_small_dispatches_are_repaired_beside_a_heavy_one(
    repaired: tuple[TuningResult, Stopping],
) -> None:
    result, listener = repaired
    assert sorted(listener.wrong) == ["@main_dispatch_1", "@main_dispatch_2"]
    outcomes = {each.task.name.partition("::")[0]: each for each in result.tasks}
    for name in listener.wrong:
        outcome = outcomes[name]
        assert outcome.default_is_wrong
        assert outcome.share < 0.01
        assert outcome.verdict is TaskOutcome.WON
        assert outcome.winner is not None
        # The wrong candidates among the fastest were passed over.
        rejected = {candidate.key for candidate, _ in outcome.wrong}
        assert rejected
        assert outcome.winner.candidate.key not in rejected
    heavy = outcomes.get(HEAVY)
    assert heavy is None or heavy.ending is Ending.INTERRUPTED
    assert result.spec.count(WRONG_DEFAULT) == 2
    assert listener.summary == "wrong defaults: 2 of 2 replaced by right candidates"


def judged_first() -> AbstractContextManager[object]:
    """Wait for the verdicts on all defaults before the first turn; else it may go to a heavy task on a busy machine."""

    def wait(tuner: Tuner, *_: object) -> None:
        judgements = tuner.context.judgements
        assert judgements is not None
        while judgements.is_busy:
            judgements.wait(math.inf)

    return patch.object(Tuner, "_reserve", wait)


def test_many_wrong_defaults_are_repaired_before_any_other_task_is_tuned(tmp_path: Path) -> None:
    """What repaired one of them is tried first on the others, and no race compares it with a wrong default."""
    sizes = [48, 40, 24]
    with judged_first():
        result, listener = tuned(tmp_path, bool, source=chain(sizes), count=len(sizes))
    outcomes = {each.task.name.partition("::")[0]: each for each in result.tasks}
    assert len(listener.wrong) == len(sizes)
    for name in listener.wrong:
        assert outcomes[name].verdict is TaskOutcome.WON
        assert outcomes[name].default_is_wrong
    first_turns = [name for name, _ in listener.tasks]
    repaired = max(first_turns.index(name) for name in listener.wrong)
    assert HEAVY not in first_turns[:repaired]
    by_task = {
        name: {knobs for task, knobs in listener.tasks if task == name} for name in listener.wrong
    }
    order = sorted(by_task, key=first_turns.index)
    assert by_task[order[0]] & by_task[order[-1]]
    assert listener.races == 0
    assert listener.summary == "wrong defaults: 3 of 3 replaced by right candidates"


@dataclass
class SlowerDevices(WrongDevices):
    """Entries are right, and slower than wrong defaults."""

    is_right: Callable[[int], bool] = lambda _: True

    def us(self, benchmark: Benchmark) -> float:
        return 200.0 if benchmark.image in self._defaults else 400.0


def test_retuning_keeps_slower_entries_that_replace_wrong_defaults(
    repaired: tuple[TuningResult, Stopping],
) -> None:
    result, _ = repaired
    spec = tuninglink.load_spec(result.spec.encode())
    entries = [
        position
        for position, entry in enumerate(spec.entries)
        if WRONG_DEFAULT in provenance_of(spec.anatomy.table, entry.matcher).values()
    ]
    assert len(entries) == 2
    settings = TuningSettings(search="random")
    with (
        DeviceProcess("local-sync") as device,
        CandidateCompiler(FLAGS, 2) as compiler,
        References(0) as references,
        Database() as database,
        without_pauses(),
    ):
        devices = SlowerDevices(device=device)
        context = TuningContext(settings, compiler, devices, references=references)
        context = replace(context, journal=Journal(database, DESCRIPTION, settings, FLAGS))
        # The second time, the races are in the database.
        for _ in range(2):
            retuner = Retuner([spec], FLAGS, context, Budget(), target_of(FLAGS), improves=False)
            results = retuner.run().entries
            for position in entries:
                assert results[position].verdict is EntryVerdict.KEPT
                assert results[position].after["reason"] == WRONG_DEFAULT
                assert results[position].after["default_us"] == 200.0


BATCH = """
func.func @main(%a: tensor<96x49x49xf16>, %b: tensor<96x49x32xf16>) -> tensor<96x49x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96x49x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<96x49x32xf32>) -> tensor<96x49x32xf32>
  %r = linalg.batch_matmul ins(%a, %b : tensor<96x49x49xf16>, tensor<96x49x32xf16>)
    outs(%start : tensor<96x49x32xf32>) -> tensor<96x49x32xf32>
  return %r : tensor<96x49x32xf32>
}
"""


def test_defaults_known_to_be_miscompiled_are_wrong_before_they_are_judged(tmp_path: Path) -> None:
    flags = ["--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"]
    faults = {}
    with (
        CandidateCompiler(flags, 1) as compiler,
        References(0) as references,
        DeviceProcess("local-sync") as device,
    ):
        judgements = DefaultJudgements(device, references, in_background=False)
        for size in (49, 64):
            path = tmp_path / "program.mlir"
            path.write_text(
                BATCH.replace("49x49x", f"49x{size}x").replace("49x32xf16", f"{size}x32xf16")
            )
            (task,) = read_program(str(path), flags).tasks
            compiled = compiler.submit_default(task, 60.0).result()
            assert not isinstance(compiled, Failure)
            faults[size] = compiled.fault
            if compiled.fault:
                benchmark = task.benchmark(compiled.image)
                judgements.reject(MeasuredTask(task, benchmark, 1.0, 1.0, fault=compiled.fault))
                assert judgements.is_wrong(task)
                assert not judgements.fails(task)
                ((named, verdict),) = judgements.take_news()
                assert named is task
                assert verdict.reason == compiled.fault
    assert "operand 1 is read beyond its end (49 % 64 == 0)" in faults[49]
    assert not faults[64]


def test_without_a_right_candidate_the_summary_says_so(tmp_path: Path) -> None:
    result, listener = tuned(tmp_path, is_right=lambda _: False, trials=1)
    outcomes = {each.task.name.partition("::")[0]: each for each in result.tasks}
    assert len(listener.wrong) == 2
    for name in listener.wrong:
        outcome = outcomes[name]
        assert outcome.default_is_wrong
        assert outcome.verdict is not TaskOutcome.WON
        assert len(outcome.wrong) == len(outcome.trials) == 1
        assert "no right candidate was found: the program computes wrong results" in summary(
            outcome
        )
    assert WRONG_DEFAULT not in result.spec
    assert listener.summary == (
        "wrong defaults: 0 of 2 replaced by right candidates; no right candidate found for 2; "
        "the program computes wrong results"
    )
