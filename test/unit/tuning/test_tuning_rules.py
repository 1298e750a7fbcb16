"""Rules that are learned from failures."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from database_writers import HERE, PROBLEM

from tuninglink.cli import commands
from tuninglink.tuning.database import ConfigurationRecord, Database, Trial
from tuninglink.tuning.database.rules import learn_rules
from tuninglink.tuning.results.failures import Failure, FailureKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pytest

PIPELINE = "#iree_gpu.pipeline<TileAndFuse>"


def trials(why: Callable[[Mapping[str, int]], str]) -> list[Trial]:
    """Returns 300 trials that fail for the reason that a function gives, if it gives one."""
    chance = random.Random(0)
    found = []
    for number in range(300):
        powers = {name: 2 ** chance.randrange(4, 9) for name in ("wg_0", "wg_1", "k", "threads")}
        configuration = ConfigurationRecord(f"c{number}", PIPELINE, powers)
        reason = why(powers)
        failure = Failure(FailureKind.COMPILE, reason) if reason else None
        samples = () if reason else (10.0,)
        found.append(
            Trial(PROBLEM, HERE, configuration, "screen", "space", samples, failure=failure)
        )
    return found


def test_a_product_beyond_a_limit_is_found() -> None:
    def why(knobs: Mapping[str, int]) -> str:
        used = knobs["wg_0"] * knobs["k"]
        return f"shared memory: {used} of 8192 bytes\nand more" if used > 8192 else ""

    (rule,) = learn_rules(trials(why))
    assert str(rule) in ("wg_0 * k >= 16384", "k * wg_0 >= 16384")
    assert rule.reason == "shared memory: N of N bytes"
    assert rule.scope == ("contraction", "sm_80", PIPELINE)
    assert rule.explained == rule.failures == 300 - rule.successes
    assert rule.problems == 1


def test_each_reason_has_its_rules_and_no_rule_holds_for_a_success() -> None:
    def why(knobs: Mapping[str, int]) -> str:
        if knobs["threads"] >= 128 and knobs["k"] == 16:
            return "too narrow"
        return "too wide" if knobs["wg_1"] == 256 else ""

    found = trials(why)
    rules = {each.reason: each for each in learn_rules(found)}
    assert {str(each) for each in rules["too narrow"].bounds} == {"threads >= 128", "k <= 16"}
    assert str(rules["too wide"]) in ("wg_1 >= 256", "wg_1 == 256")
    narrow = sum(each.failure is not None and "narrow" in each.failure.message for each in found)
    assert rules["too narrow"].explained == narrow


def test_what_nothing_explains_is_left_alone() -> None:
    chance = random.Random(1)
    assert learn_rules(trials(lambda _: "bad luck" if chance.random() < 0.02 else "")) == []
    assert learn_rules([]) == []


def test_the_command_lists_rules_with_their_evidence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Database(tmp_path / "t.db") as database:
        database.record_all(trials(lambda knobs: "no" if knobs["wg_1"] == 256 else ""))
    assert commands.run(["database", "rules", str(tmp_path / "t.db")]) == 0
    header, _, row = capfd.readouterr().out.splitlines()
    assert header.split()[:3] == ["candidates", "fail", "if"]
    assert "wg_1 >= 256" in row
    assert row.split()[-2:] == ["compile:", "no"]
