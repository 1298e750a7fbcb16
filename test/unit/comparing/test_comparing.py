"""Comparing reports: what is worse, what is better, and what merely changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tuninglink.comparing import Change, ChangeKind, compare_reports
from tuninglink.errors import TuninglinkError

if TYPE_CHECKING:
    from pathlib import Path

    Object = dict[str, Any]

WORSE, BETTER, OTHER = ChangeKind.REGRESSION, ChangeKind.IMPROVEMENT, ChangeKind.CHANGE


def explained(words: str, status: str, *, matcher: str = "", number: int = 0) -> Object:
    entry = {"matcher": matcher, "action": "@a", "place": None}
    info = {"translation_info": "t", "lowering_config": matcher, "decomposition_config": None}
    match = {"spec": "s", "entry": entry} if matcher else None
    operation = {"words": words, "configuration": info, "match": match}
    name = f"@main_dispatch_{number}"
    return {"name": name, "target": "gfx942", "status": status, "operations": [operation]}


def tuned(problem: str, outcome: str, default_us: float, tuned_us: float | None = None) -> Object:
    times = {"default_us": default_us, "tuned_us": tuned_us}
    return {"problem": problem, "target": "sm_80", "outcome": outcome, **times}


def explanation(*dispatches: Object) -> Object:
    return {"format": "tuninglink.explanation", "version": 2, "dispatches": dispatches}


def report(*dispatches: Object, device: str = "a GPU", tuned_ms: float = 1.0) -> Object:
    base = {"format": "tuninglink.tuning", "version": 1, "device": device}
    return {**base, "dispatches": dispatches, "model": {"tuned_ms": tuned_ms}}


def compared(directory: Path, old: Object, new: Object) -> list[Change]:
    paths = directory / "old.json", directory / "new.json"
    for path, content in zip(paths, (old, new), strict=True):
        path.write_text(json.dumps(content))
    return compare_reports(*paths)


def test_a_report_is_like_itself(tmp_path: Path) -> None:
    same = explanation(explained("matmul 8", "tuned", matcher="@m"), explained("conv", "unmatched"))
    assert compared(tmp_path, same, same) == []
    same = report(tuned("contraction 8", "won", 4.0, 2.0))
    assert compared(tmp_path, same, same) == []


def test_a_dispatch_that_is_tuned_no_longer_is_a_regression(tmp_path: Path) -> None:
    old = explanation(
        explained("matmul 8", "tuned", matcher="@m"),
        explained("matmul 8", "tuned", matcher="@m", number=1),
        explained("matmul 16", "tuned", matcher="@n", number=2),
        explained("conv", "unmatched", number=3),
        explained("attention", "tuned", matcher="@x", number=4),
    )
    new = explanation(
        explained("conv", "tuned", matcher="@c"),  # numbered otherwise
        explained("matmul 8", "tuned", matcher="@m", number=1),
        explained("matmul 8", "unmatched", number=2),
        explained("attention", "tuned", matcher="@y", number=3),
        explained("softmax", "unmatched", number=4),
    )
    assert compared(tmp_path, old, new) == [
        Change(WORSE, "matmul 8 for gfx942", "tuned → unmatched"),
        Change(WORSE, "matmul 16 for gfx942", "tuned → missing"),
        Change(BETTER, "conv for gfx942", "unmatched → tuned"),
        Change(OTHER, "attention for gfx942", "entry @x → @y"),
        Change(OTHER, "softmax for gfx942", "missing → unmatched"),
    ]


def test_times_are_compared_with_the_spec(tmp_path: Path) -> None:
    old = report(
        tuned("a", "won", 4.0, 2.0), tuned("b", "won", 4.0, 2.0), tuned("c", "default", 4.0)
    )
    new = report(
        tuned("a", "won", 4.0, 2.2),
        tuned("b", "undecided", 4.0, 2.0),
        tuned("c", "won", 4.1, 3.0),
        tuned_ms=1.04,
    )
    assert compared(tmp_path, old, new) == [
        Change(WORSE, "a for sm_80", "2 µs → 2.2 µs"),
        Change(WORSE, "b for sm_80", "won → undecided"),
        Change(WORSE, "b for sm_80", "2 µs → 4 µs"),
        Change(BETTER, "c for sm_80", "default → won"),
        Change(BETTER, "c for sm_80", "4 µs → 3 µs"),
    ]
    slower = report(tuned_ms=1.2)
    assert compared(tmp_path, report(), slower) == [Change(WORSE, "program", "1 ms → 1.2 ms")]
    elsewhere = report(device="a faster GPU", tuned_ms=0.1)
    (only,) = compared(tmp_path, report(), elsewhere)
    assert only.kind is OTHER
    assert "times are not compared" in only.text


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (report(), "the reports are not of the same kind"),
        (
            {"format": "tuninglink.explanation", "version": 0},
            "is not a report of a supported version",
        ),
        ([], "is not a report of a supported version"),
        ({"format": "tuninglink.explanation", "version": 2}, "is not a complete report"),
    ],
)
def test_what_is_no_report_is_one_diagnostic(tmp_path: Path, new: Object, message: str) -> None:
    with pytest.raises(TuninglinkError, match=message) as raised:
        compared(tmp_path, explanation(), new)
    assert len(raised.value.diagnostics) == 1
