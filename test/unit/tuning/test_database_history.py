"""The history of problems over compilers and drivers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from database_writers import HERE, PROBLEM, failed, trial

from tuninglink.cli import process
from tuninglink.cli.completion import known_records
from tuninglink.comparing import ChangeKind
from tuninglink.errors import TuninglinkError
from tuninglink.tuning.database import (
    Database,
    EnvironmentRecord,
    HistoryFilter,
    ProblemRecord,
    Trial,
    history_among,
)

if TYPE_CHECKING:
    from pathlib import Path


NEXT = replace(HERE, compiler="3.14.0", runtime="3.14.0")
AFTER_NEXT = replace(HERE, compiler="3.100.0", runtime="3.100.0")
SECOND = ProblemRecord("p2", "attention", "attention 4x64x64 f16", "func.func @g()")


def measured(
    number: int,
    time: float,
    environment: EnvironmentRecord = HERE,
    problem: ProblemRecord = PROBLEM,
    origin: str = "space",
) -> Trial:
    """Return a raced trial whose samples are within 2 % of a time."""
    samples = tuple(time * factor for factor in (0.99, 0.995, 1.0, 1.005, 1.01))
    raced = trial(number, samples=samples, stage="race", origin=origin, time="2026-11-21T10:00")
    return replace(raced, environment=environment, problem=problem)


def versions(problem: ProblemRecord = PROBLEM) -> list[Trial]:
    """Return a problem whose default became faster, and whose best became slower, in the order of a merge."""
    return [
        measured(1, 50.0, AFTER_NEXT, problem),
        measured(0, 70.0, AFTER_NEXT, problem, "default"),
        replace(failed(2), environment=AFTER_NEXT, problem=problem),
        measured(0, 100.0, HERE, problem, "default"),
        measured(1, 40.0, HERE, problem),
        measured(0, 100.2, NEXT, problem, "default"),
        measured(1, 40.1, NEXT, problem),
    ]


def test_versions_are_in_order_and_intervals_tell_what_changed() -> None:
    (problem,) = history_among(versions(), HistoryFilter()).problems
    points = problem.points
    assert [point.compiler for point in points] == ["3.13.0", "3.14.0", "3.100.0"]
    assert [point.default_change for point in points] == [None, None, ChangeKind.IMPROVEMENT]
    assert [point.best_change for point in points] == [None, None, ChangeKind.REGRESSION]
    assert points[2].speedup == 1.4
    assert (points[2].trials, points[2].failures) == (3, 1)
    assert points[0].best == "#p: workgroup[0] = 1"
    assert problem.is_changed


def test_the_best_configuration_has_options_with_value_0_but_no_tiles_of_0() -> None:
    best = measured(1, 40.0, HERE)
    knobs = {"workgroup[0]": 64, "workgroup[1]": 0, "mma_kind": 0}
    best = replace(best, configuration=replace(best.configuration, knobs=knobs))
    (problem,) = history_among([best], HistoryFilter(is_everything=True)).problems
    assert problem.points[0].best == "#p: workgroup[0] = 64, mma_kind = 0"


def test_a_large_least_change_hides_small_ones() -> None:
    (problem,) = history_among(versions(), HistoryFilter(), least=0.5).problems
    assert not problem.is_changed


def test_a_problem_whose_hash_another_compiler_changed_is_one_problem() -> None:
    other = replace(PROBLEM, key="another hash")
    renamed = [measured(0, 70.0, NEXT, other, "default")]
    (problem,) = history_among([*versions()[3:5], *renamed], HistoryFilter()).problems
    assert len(problem.points) == 2
    # Two problems of one version with the same words are two problems, and the words do not tell which is which.
    both = [*versions()[3:5], measured(0, 90.0, HERE, other, "default"), *renamed]
    assert [
        len(each.points) for each in history_among(both, HistoryFilter(is_everything=True)).problems
    ] == [1, 2]


def test_other_devices_and_flags_are_other_histories() -> None:
    elsewhere = replace(NEXT, device="NVIDIA A100")
    trials = [
        measured(0, 100.0),
        measured(0, 90.0, elsewhere),
        measured(0, 90.0, replace(NEXT, flags="-O3")),
    ]
    assert history_among(trials, HistoryFilter()).problems == ()
    assert history_among(trials, HistoryFilter()).hidden == 3
    assert len(history_among(trials, HistoryFilter(is_everything=True)).problems) == 3


def test_problems_are_filtered() -> None:
    trials = [
        *versions(),
        *versions(SECOND),
        measured(0, 10.0, problem=replace(SECOND, key="p3", kind="sort")),
    ]

    def shown(**given: object) -> list[str]:
        selected = HistoryFilter(**given)  # type: ignore[arg-type]
        return [problem.kind for problem in history_among(trials, selected).problems]

    assert shown() == ["contraction", "attention"]
    assert shown(words=("64", "F16")) == ["attention"]
    assert shown(kinds=("contraction", "sort")) == ["contraction"]
    assert shown(kinds=("sort",), is_everything=True) == ["sort"]
    assert shown(targets=("gfx942",)) == []
    assert shown(devices=("h200",), is_changed=True) == ["contraction", "attention"]


def test_the_command_writes_tables_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trials.db"
    with Database(path) as database:
        database.record_all([*versions(), measured(0, 10.0, problem=SECOND)])
    assert process.run_command(["database", "history", str(path), "--changed", "8x8x8"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "contraction 8x8x8 f32 for sm_80 on NVIDIA H200" in text
    assert "70.00 [69.30, 70.70] faster 50.00 [49.50, 50.50] slower 1.40" in text
    assert process.run_command(["database", "history", str(path)]) == 0
    assert "not shown: 1 other problem with one compiler and driver only" in capsys.readouterr().out
    assert process.run_command(["database", "history", str(path), "softmax"]) == 0
    assert capsys.readouterr().out == "no problem fits\n"
    with pytest.raises(TuninglinkError) as raised:
        process.run_command(["database", "history", str(path), "--kind", "contration"])
    message = (
        "error: the database has no kind of operation 'contration'; did you mean 'contraction'?"
    )
    (diagnostic,) = raised.value.diagnostics
    assert str(diagnostic) == message
    assert [each.message for each in diagnostic.notes] == ["it has attention, contraction"]
    with pytest.raises(TuninglinkError, match="has no target 'sm_08'; did you mean 'sm_80'"):
        process.run_command(["database", "history", str(path), "--target", "sm_08"])
    assert process.run_command(["database", "history", str(path), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["format"], document["hidden"]) == ("tuninglink.history", 1)
    assert document["problems"][0]["points"][2]["best_change"] == "regression"


def test_values_are_completed_from_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trials.db"
    with Database(path) as database:
        database.record_all([*versions(), measured(0, 10.0, problem=SECOND)])
    monkeypatch.setenv("COMP_WORDS", f"tuninglink database history {path} --kind ")
    values = {
        name: list(known_records(name)()) for name in ("kind", "description", "target", "device")
    }
    assert values == {
        "kind": ["attention", "contraction"],
        "description": ["attention 4x64x64 f16", "contraction 8x8x8 f32"],
        "target": ["sm_80"],
        "device": ["NVIDIA H200"],
    }
    path.write_text("something else")
    assert list(known_records("kind")()) == []
