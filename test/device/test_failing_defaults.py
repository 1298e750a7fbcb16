"""Defaults that fail: the dispatch is tuned like any other, and the program runs with its spec."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recorded_tuning import (
    DESCRIPTION,
    FLAGS,
    RecordedDevices,
    brief_comparisons,
    without_pauses,
)
from tuning_programs import TWO_MATMULS, whole_samples

import tuninglink
from tuninglink.cli.measuring import summary
from tuninglink.devices import DeviceProcess
from tuninglink.programs import Failure, FailureKind, read_program
from tuninglink.tuning import Tuner, report_of
from tuninglink.tuning.candidates import CandidateCompiler
from tuninglink.tuning.deciding import FAILING_DEFAULT, Ledger, TaskOutcome, TuningSettings
from tuninglink.tuning.flag_sets import Listener
from tuninglink.tuning.references import References
from tuninglink.tuning.scheduling import TuningContext

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.compiler import SavedProgram
    from tuninglink.devices import Outputs
    from tuninglink.programs import Benchmark, TuningTask
    from tuninglink.tuning.deciding import TuningResult

FAILING = "main_dispatch_0"
FAILURE = Failure(FailureKind.COMPILE, "failed to bufferize")


class FailingCompiler(CandidateCompiler):
    """Fails on one dispatch unless a spec configures it."""

    def submit_program(self, source: bytes | str, spec: str, seconds: float) -> Future:
        if FAILING in str(source) and FAILING not in spec:
            return _failed()
        return super().submit_program(source, spec, seconds)

    def submit_whole(self, program: SavedProgram, spec: str, seconds: float) -> Future:
        return super().submit_whole(program, spec, seconds) if FAILING in spec else _failed()


def _failed() -> Future:
    job: Future = Future()
    job.set_result(FAILURE)
    return job


@dataclass
class ComputingDevices(RecordedDevices):
    """A device of recorded times that computes on this machine."""

    device: DeviceProcess | None = None

    def outputs(self, benchmark: Benchmark) -> Outputs:
        assert self.device is not None
        return self.device.outputs(benchmark)


@dataclass
class Failures(Listener):
    """Records the defaults that fail."""

    failing: list[str] = field(default_factory=list)

    def default_fails(self, task: TuningTask, failure: Failure) -> None:
        self.failing.append(f"{task.name.partition('::')[0]}: {failure.message}")


def tuned(tmp_path: Path, listener: Listener, *, has_references: bool) -> TuningResult:
    path = tmp_path / "program.mlir"
    path.write_text(TWO_MATMULS)
    settings = TuningSettings(trials=4, search="random")
    with (
        DeviceProcess("local-sync") as device,
        FailingCompiler(FLAGS, 2) as compiler,
        References(0) as references,
        without_pauses(),
        brief_comparisons(),
        whole_samples(),
    ):
        context = TuningContext(
            settings,
            compiler,
            ComputingDevices(lambda _: 1000.0, device=device),
            listener,
            references=references if has_references else None,
        )
        program = read_program(str(path), FLAGS)
        return Tuner(program, FLAGS, context, Ledger(trials=settings.trials)).run()


def test_a_right_candidate_replaces_a_default_that_fails(tmp_path: Path) -> None:
    listener = Failures()
    result = tuned(tmp_path, listener, has_references=True)
    assert listener.failing == [f"@{FAILING}: {FAILURE.message}"]
    outcomes = {each.task.name.partition("::")[0]: each for each in result.tasks}
    repaired = outcomes[f"@{FAILING}"]
    assert repaired.verdict is TaskOutcome.WON
    assert repaired.decision is None
    assert "the compiler's own choice fails" in summary(repaired)
    assert 0.0 < repaired.share < 1.0
    (report,) = (
        each for each in report_of("", DESCRIPTION, result).dispatches if each.default_fails
    )
    assert report.tuned_us is not None
    assert report.saved_us is None
    # It has a time, but no time of a default that it could be compared with.
    spec = tuninglink.load_spec(result.spec.encode())
    assert len(spec.entries) == 2
    assert result.spec.count(FAILING_DEFAULT) == 1
    # The program runs with the spec only, and is compared with the one that has the repair alone.
    assert result.model is not None
    assert result.model.default_fails
    assert any(FAILURE.message in each for each in result.model.notes)
    assert not any("wrong default" in each for each in result.model.notes)
    assert not result.wrong_defaults.count


def test_without_references_a_default_that_fails_is_left(tmp_path: Path) -> None:
    result = tuned(tmp_path, Listener(), has_references=False)
    (omission,) = result.omissions
    assert omission.reason == f"the compiler's own choice fails: {FAILURE.message}"
    assert [each.task.name.partition("::")[0] for each in result.tasks] == ["@main_dispatch_1"]
