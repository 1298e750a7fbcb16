"""Insights: what fast candidates of a database have in common, and what failures have in common."""

from __future__ import annotations

import io
import json
import random
from dataclasses import replace
from typing import TYPE_CHECKING

from browser import AS_IT_SHOULD_BE, CLIPPED, browse, needs_chromium, of_width
from database_writers import HERE, PROBLEM

from tuninglink.cli import process
from tuninglink.cli.database import insights_table
from tuninglink.programs import Failure, FailureKind
from tuninglink.tuning.database import ConfigurationRecord, Database, Trial, insights_among, to_html

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pytest

PIPELINE = "#iree_gpu.pipeline<TileAndFuse>"


def trials(
    failure_of: Callable[[Mapping[str, int]], str] = lambda _: "",
    time_of: Callable[[Mapping[str, int]], float] = lambda _: 10.0,
    problem: int = 1,
) -> list[Trial]:
    """Return 300 trials, the first of the compiler's choice, which is the slowest."""
    chance = random.Random(problem)
    record = replace(PROBLEM, key=f"p{problem}")
    result = []
    for number in range(300):
        knobs = {
            name: 2 ** chance.randrange(4, 9)
            for name in ("workgroup[0]", "workgroup[1]", "k", "threads")
        }
        if number == 0:
            knobs = dict.fromkeys(knobs, 16)
        configuration = ConfigurationRecord(f"c{number}", PIPELINE, knobs)
        reason = failure_of(knobs)
        failure = Failure(FailureKind.COMPILE, reason) if reason else None
        samples = () if reason else (problem * time_of(knobs),)
        origin = "space" if number else "default"
        result.append(
            Trial(record, HERE, configuration, "screen", origin, samples, failure=failure)
        )
    return result


def time(knobs: Mapping[str, int]) -> float:
    """Return a time that is good with many threads, and best with a wide tile."""
    return (1 if knobs["threads"] >= 128 else 4) * (1 if knobs["workgroup[1]"] == 256 else 2)


def test_the_conditions_of_fast_candidates_are_found_with_their_regret() -> None:
    recorded = [trial for problem in (1, 2, 3) for trial in trials(time_of=time, problem=problem)]
    (heuristic,) = insights_among(recorded).heuristics
    assert (heuristic.kind, heuristic.target) == ("contraction", "sm_80")
    assert (heuristic.problems, heuristic.candidates, heuristic.known_defaults) == (3, 900, 3)
    assert {str(step.condition) for step in heuristic.steps} == {
        "knob threads >= 128",
        "knob workgroup[1] >= 256",
    }
    assert heuristic.regret_of_all > heuristic.steps[0].regret > heuristic.steps[1].regret == 1
    assert all((step.winners, step.defaults) == (3, 0) for step in heuristic.steps)
    assert heuristic.regret_of_defaults == 8
    assert heuristic.regret_elsewhere == 1


def test_a_heuristic_that_is_worse_elsewhere_than_the_compiler_says_so() -> None:
    def time_of(knobs: Mapping[str, int]) -> float:
        return 1 if knobs["workgroup[1]"] >= 256 else 8

    # What is fast for one problem is slow for the other.
    recorded = [
        *trials(time_of=time_of),
        *trials(time_of=lambda knobs: 1 / time_of(knobs), problem=2),
    ]
    insights = insights_among(recorded)
    (heuristic,) = insights.heuristics
    assert heuristic.regret_elsewhere > heuristic.regret_of_defaults
    title = insights_table(insights, io.StringIO()).splitlines()[0]
    assert title.endswith("not learned from (worse than the compiler's choice)")


def test_equal_times_give_no_heuristic() -> None:
    assert insights_among(trials()).heuristics == ()
    assert insights_among([]).heuristics == ()


def test_a_product_beyond_a_limit_explains_failures() -> None:
    def failure(knobs: Mapping[str, int]) -> str:
        used = knobs["workgroup[0]"] * knobs["k"]
        return f"shared memory: {used} of 8192 bytes\nand more" if used > 8192 else ""

    (rule,) = insights_among(trials(failure)).failures
    assert list(map(str, rule.conditions)) == ["knob k * knob workgroup[0] >= 16384"]
    assert rule.reason == "shared memory: N of N bytes"
    assert rule.explained == rule.failures == 300 - rule.successes
    assert rule.problems == 1


def test_each_reason_has_its_rule() -> None:
    def failure(knobs: Mapping[str, int]) -> str:
        if knobs["threads"] >= 128 and knobs["k"] == 16:
            return "too narrow"
        return "too wide" if knobs["workgroup[1]"] == 256 else ""

    rules = {rule.reason: rule for rule in insights_among(trials(failure)).failures}
    narrow = set(map(str, rules["too narrow"].conditions))
    assert narrow == {"knob threads >= 128", "knob k <= 16"}
    assert list(map(str, rules["too wide"].conditions)) == ["knob workgroup[1] >= 256"]
    assert all(rule.explained == rule.failures for rule in rules.values())


def test_failures_by_chance_give_no_rule() -> None:
    chance = random.Random(1)
    recorded = trials(lambda _: "bad luck" if chance.random() < 0.02 else "")
    assert sum(trial.failure is not None for trial in recorded) >= 3
    assert insights_among(recorded).failures == ()


def test_the_command_prints_tables_and_json(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def failure(knobs: Mapping[str, int]) -> str:
        return "no" if knobs["k"] == 256 else ""

    file = str(tmp_path / "t.db")
    with Database(tmp_path / "t.db") as database:
        database.record_all(trials(failure, time))
    assert process.run_command(["database", "insights", file]) == 0
    text = capfd.readouterr().out
    assert text.startswith("contraction sm_80: ")
    assert "knob threads >= 128" in text
    assert text.splitlines()[-1].split()[-2:] == ["compile:", "no"]
    assert process.run_command(["database", "insights", file, "--format", "json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document["format"] == "tuninglink.insights"
    steps = document["heuristics"][0]["steps"]
    assert {"quantity": "knob threads", "relation": ">=", "value": 128}.items() <= steps[0].items()
    assert document["failures"][0]["conditions"] == [
        {"quantity": "knob k", "relation": ">=", "value": 256}
    ]


@needs_chromium
def test_a_page_shows_heuristics_and_failures(tmp_path: Path) -> None:
    recorded = trials(lambda knobs: "too many" if knobs["workgroup[0]"] == 256 else "", time)
    page = to_html(insights_among(recorded))
    found = browse(
        page,
        tmp_path,
        ask="""
          const cells = (table) => [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent));
          return { titles: [...document.querySelectorAll("#heuristics h2")].map((each) => each.textContent),
            steps: cells(document.querySelector("#heuristics table")), rules: cells(byId("rules")),
            bars: [...document.querySelectorAll(".bar")].map((bar) => bar.getBoundingClientRect().width) };""",
    )
    assert found["titles"] == ["contraction sm_80"]
    assert [row[0] for row in found["steps"][:2]] == ["all candidates", "the compiler's choice"]
    words = [row[0] for row in found["steps"][2:]]
    assert "1. knob threads >= 128 proposal" in words
    assert found["rules"][0][1].startswith("knob workgroup[0] >= 256")
    assert found["rules"][0][5] == "compile: too many"
    assert found["bars"][2] < found["bars"][0]
    assert browse(of_width(page, 400), tmp_path, ask=CLIPPED) == AS_IT_SHOULD_BE


@needs_chromium
def test_a_page_without_insights_says_so(tmp_path: Path) -> None:
    ask = "return [byId('none').hidden, byId('failures').hidden];"
    assert browse(to_html(insights_among([])), tmp_path, ask=ask) == [False, True]


def test_the_command_writes_a_page(tmp_path: Path) -> None:
    path = tmp_path / "trials.db"
    with Database(path) as database:
        database.record_all(trials(time_of=time))
    assert (
        process.run_command(["database", "insights", str(path), "-o", str(tmp_path / "page.html")])
        == 0
    )
    assert "What winners have in common" in (tmp_path / "page.html").read_text()
