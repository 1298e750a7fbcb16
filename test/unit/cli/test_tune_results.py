"""Results of `tuninglink tune` that cannot be written where they should be."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tuninglink.cli.measuring import ProgressLines, summary
from tuninglink.cli.terminal import Verbosity
from tuninglink.cli.tune import busy_warnings, entry_count, gain_line, save_result, user_flags
from tuninglink.files import write_output
from tuninglink.tuning import Tuned, TuningReport
from tuninglink.tuning.deciding import (
    ConfidenceInterval,
    Ending,
    ModelComparison,
    TaskOutcome,
    TaskResult,
)
from tuninglink.tuning.flag_sets import NO_TIME, NOT_COMPILED, FlagSet, FlagsResult, SetResult


def test_a_result_that_cannot_be_written_is_kept_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    failure = save_result(
        str(tmp_path / "removed" / "mine.mlir"), lambda path: write_output(path, "spec")
    )
    assert failure is not None
    (diagnostic,) = failure.diagnostics
    assert diagnostic.message.startswith("cannot write '")
    (note,) = diagnostic.notes
    place = re.fullmatch("it is in '(.*)'", note.message)
    assert place is not None
    assert Path(place[1]).name == "mine.mlir"
    assert Path(place[1]).read_text() == "spec"


def test_a_result_is_kept_if_the_reader_of_standard_output_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def write(path: str) -> None:
        if path == "-":
            raise BrokenPipeError(32, "broken pipe")
        write_output(path, "spec")

    assert save_result("-", write) is not None
    (kept,) = tmp_path.glob("*/tuned.mlir")
    assert kept.read_text() == "spec"


def test_a_result_that_can_be_written_is_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "mine.mlir"
    assert save_result(str(path), lambda place: write_output(place, "spec")) is None
    assert path.read_text() == "spec"


def test_the_command_to_copy_has_the_flags_as_the_user_wrote_them() -> None:
    own = ["model.mlir", "-o", "tuned.mlir", "--budget", "5m", "--only", "matmul"]
    assert user_flags([*own, "--target", "host", "--iree-opt-level=O2"]) == (
        "--target",
        "host",
        "--iree-opt-level=O2",
    )
    assert user_flags([*own, "--iree-hal-target-backends", "vmvx"]) == (
        "--iree-hal-target-backends=vmvx",
    )


@pytest.mark.parametrize(("driver", "notes"), [("local-task 3.13", 2), ("cuda 570", 1)])
def test_a_machine_that_is_too_busy_is_a_warning_with_the_evidence(driver: str, notes: int) -> None:
    report = SimpleNamespace(noise=ConfidenceInterval(0.82, 0.99, 1.18), driver=driver)
    (warning,) = busy_warnings(report)
    assert warning.message.endswith("the default against itself is 0.990 [0.820, 1.180]")
    assert len(warning.notes) == notes
    for noise in (None, ConfidenceInterval(0.98, 1.0, 1.02)):
        assert not list(busy_warnings(SimpleNamespace(noise=noise, driver=driver)))


def test_predicted_entries_are_counted() -> None:
    def tuned(*outcomes: TaskOutcome) -> SimpleNamespace:
        dispatches = [SimpleNamespace(outcome=outcome) for outcome in outcomes]
        entries = sum(outcome in (TaskOutcome.WON, TaskOutcome.PREDICTED) for outcome in outcomes)
        return SimpleNamespace(entries=entries, report=SimpleNamespace(dispatches=dispatches))

    won, predicted = TaskOutcome.WON, TaskOutcome.PREDICTED
    assert entry_count(tuned(won, TaskOutcome.DEFAULT)) == "1 problem"
    assert entry_count(tuned(won, predicted, predicted)) == "3 problems: 1 won, 2 predicted"


def test_the_gain_of_flags_is_shown_where_that_of_the_spec_is_unknown() -> None:
    gain = ConfidenceInterval(1.49, 1.5, 1.53)
    best = SetResult(FlagSet("peeling", ("--peel",)), milliseconds=4.0, speedup=gain)
    sets = FlagsResult((best,), best, default_ms=6.0)
    alone = "whole program: 6 ms by default, 4 ms tuned: speedup 1.500 [1.490, 1.530]"
    why = "it takes about 13 s"
    assert gain_line(Tuned("", 0, TuningReport(""), sets)) == alone
    report = TuningReport("", notes=(why,))
    expected = f"{alone} by the flags alone; with the spec not guarded; {why}"
    assert gain_line(Tuned("", 2, report, sets)) == expected
    assert gain_line(Tuned("", 2, report)) == f"whole program: not guarded; {why}"
    assert gain_line(Tuned("", 0, report)).startswith("nothing wins: no configuration ")
    short = gain_line(Tuned("", 0, report, FlagsResult(reason="the 0.1 s for them are too short")))
    assert short.endswith("was compared with the default")
    interrupted = gain_line(Tuned("", 0, report, is_interrupted=True))
    assert interrupted == "nothing wins: tuning was interrupted"
    whole = ModelComparison(6.0, 3.0, ConfidenceInterval(1.9, 2.0, 2.1))
    measured = gain_line(Tuned("", 2, TuningReport("", whole=whole), sets))
    gained = "3 ms tuned: speedup 2.000 [1.900, 2.100]"
    assert measured == f"whole program: 6 ms by default, {gained}"
    failing = TuningReport("", whole=replace(whole, default_fails=True))
    repaired = "6 ms with the entries for defaults that fail"
    assert gain_line(Tuned("", 2, failing)) == f"whole program: {repaired}, {gained}"


@pytest.mark.parametrize(
    ("notes", "last"),
    [
        ([NO_TIME, NOT_COMPILED], "  no sets were compared: there was no time"),
        ([NO_TIME, "the compiler rejects the flags"], "  no set is faster"),
    ],
)
def test_sets_that_had_no_time_are_not_called_slower(
    notes: list[str], last: str, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tuple(SetResult(FlagSet(note, (note,)), note=note) for note in notes)
    ProgressLines("tuninglink tune", Verbosity.NORMAL).sets_compared(FlagsResult(results))
    assert capsys.readouterr().err.splitlines() == [*(f"  {note}: {note}" for note in notes), last]


def test_a_task_without_candidates_is_said_to_have_none_once() -> None:
    prepared = SimpleNamespace(spaces=SimpleNamespace(reason=""))
    result = TaskResult(prepared, 0.03, 18.56, (), TaskOutcome.DEFAULT)
    assert (
        summary(result) == "no candidates, 18.56 us by default; 3% of the time, 0 candidates tried"
    )
    none = replace(result, ending=Ending.NO_CANDIDATES)
    assert summary(none) == "no candidates, 18.56 us by default; 3% of the time"


@pytest.mark.parametrize(("counts", "calls"), [((1, 2), "3 calls"), ((1, 0), "1 call and in ini")])
def test_problems_of_initializers_have_no_calls(
    counts: tuple[int, ...], calls: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program = SimpleNamespace(tasks=[SimpleNamespace(calls=count) for count in counts])
    device = SimpleNamespace(uri="local-sync", name="CPU")
    ProgressLines("tuninglink tune", Verbosity.NORMAL).found(program, [device])
    assert capsys.readouterr().err.startswith(f"2 problems in {calls}")
