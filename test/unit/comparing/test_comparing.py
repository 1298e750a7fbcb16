"""Comparisons of reports: regressions, improvements, and mere changes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from browser import AS_IT_SHOULD_BE, CLIPPED, WIDE, browse, needs_chromium, of_width
from places import ROOT

from tuninglink.comparing import (
    Change,
    ChangeKind,
    Comparison,
    Estimate,
    compare,
    compare_specs,
    time_change,
    to_html,
)
from tuninglink.errors import TuninglinkError
from tuninglink.specs import link_specs, load_spec

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


def tuned(
    problem: str,
    outcome: str,
    default_us: float,
    tuned_us: float | None = None,
    *,
    width: float | None = None,
) -> Object:
    """Return a problem whose speedup has an interval of a width, as a fraction; none by default."""
    times: Object = {"default_us": default_us, "tuned_us": tuned_us}
    if width is not None and tuned_us is not None:
        speedup = default_us / tuned_us
        interval = [speedup * (1 - width / 2), speedup * (1 + width / 2)]
        times |= {"speedup": speedup, "interval": interval, "configuration": f"#info<{problem}>"}
    return {"problem": problem, "target": "sm_80", "outcome": outcome, **times}


def explanation(*dispatches: Object) -> Object:
    return {"format": "tuninglink.explanation", "version": 2, "dispatches": dispatches}


def report(
    *dispatches: Object, device: str = "a GPU", tuned_ms: float = 1.0, compiler: str = "3.13.0"
) -> Object:
    base = {"format": "tuninglink.tuning", "version": 1, "device": device, "compiler": compiler}
    return {**base, "dispatches": dispatches, "model": {"tuned_ms": tuned_ms}}


def compared(directory: Path, old: Object, new: Object) -> list[Change]:
    return list(comparison(directory, old, new).changes)


def comparison(directory: Path, old: Object, new: Object) -> Comparison:
    paths = directory / "old.json", directory / "new.json"
    for path, content in zip(paths, (old, new), strict=True):
        path.write_text(json.dumps(content))
    return compare(*paths)


def test_a_report_is_like_itself(tmp_path: Path) -> None:
    same = explanation(explained("matmul 8", "tuned", matcher="@m"), explained("conv", "unmatched"))
    assert compared(tmp_path, same, same) == []
    same = report(tuned("contraction 8", "won", 4.0, 2.0))
    assert compared(tmp_path, same, same) == []


def test_a_directory_stands_for_the_report_in_it(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report(tuned("contraction 8", "won", 4.0, 2.0))))
    assert compare(tmp_path, path).changes == ()


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


def placed(dispatch: Object, file: str, line: int) -> Object:
    """Return a dispatch whose op is at a place."""
    (operation,) = dispatch["operations"]
    place = {"file": file, "line": line, "column": 3}
    return {**dispatch, "operations": [{**operation, "place": place}]}


def replaced(called: str, line: int = 7) -> Object:
    places = [
        {"file": file, "line": at, "column": 3} for file, at in (("p.mlir", line), ("s.mlir", 1))
    ]
    return {
        "operation": "linalg.matmul",
        "function": "main",
        "place": places[0],
        "spec": "s.mlir",
        "matcher": "m",
        "matcher_place": places[1],
        "called": called,
    }


def test_a_dispatch_on_one_side_is_explained_by_a_replace_entry(tmp_path: Path) -> None:
    plain = placed(explained("matmul 34", "tuned", matcher="@m"), "p.mlir", 7)
    padded = placed(explained("matmul 48", "tuned", matcher="@n"), "s.mlir", 12)
    wider = placed(explained("matmul 64", "no-entry"), "s.mlir", 20)
    other = placed(explained("conv", "tuned", matcher="@c"), "p.mlir", 9)
    without = explanation(plain, other)
    rows, cols = (
        {**explanation(dispatch, other), "replaced": [replaced(called)]}
        for dispatch, called in ((padded, "rows"), (wider, "cols"))
    )
    assert compared(tmp_path, rows, rows) == []
    assert compared(tmp_path, without, rows) == [
        Change(BETTER, "linalg.matmul in @main", "not replaced → replaced by @rows"),
        Change(OTHER, "matmul 34 for gfx942", "tuned → replaced by @rows"),
        Change(OTHER, "matmul 48 for gfx942", "missing → tuned in s.mlir"),
    ]
    assert compared(tmp_path, rows, without) == [
        Change(WORSE, "linalg.matmul in @main", "replaced by @rows → not replaced"),
        Change(OTHER, "matmul 48 for gfx942", "tuned in s.mlir → missing"),
        Change(OTHER, "matmul 34 for gfx942", "replaced by @rows → tuned"),
    ]
    assert compared(tmp_path, rows, cols) == [
        Change(OTHER, "linalg.matmul in @main", "replaced by @rows → replaced by @cols"),
        Change(OTHER, "matmul 48 for gfx942", "tuned in s.mlir → missing"),
        Change(OTHER, "matmul 64 for gfx942", "missing → no-entry in s.mlir"),
    ]
    # The function is called on both sides, and another dispatch is lost without a replace entry.
    assert compared(tmp_path, rows, {**explanation(wider), "replaced": [replaced("rows")]}) == [
        Change(WORSE, "matmul 48 for gfx942", "tuned in s.mlir → missing"),
        Change(WORSE, "conv for gfx942", "tuned → missing"),
        Change(OTHER, "matmul 64 for gfx942", "missing → no-entry in s.mlir"),
    ]


def test_other_forms_have_other_problems(tmp_path: Path) -> None:
    def under(name: str, problem: str, *flags: str) -> Object:
        flag_sets = [{"name": name, "flags": flags, "taken": True}]
        return {**report(tuned(problem, "won", 4.0, 2.0)), "flag_sets": flag_sets}

    old = under("padded: 257 to 272 keys", "attention 272")
    assert compared(tmp_path, old, under("padded: 257 to 288 keys", "attention 288")) == [
        Change(OTHER, "flags", "padded: 257 to 272 keys → padded: 257 to 288 keys"),
        Change(OTHER, "attention 272 for sm_80", "gone"),
        Change(OTHER, "attention 288 for sm_80", "new"),
    ]
    assert compared(tmp_path, old, report()) == [
        Change(OTHER, "flags", "padded: 257 to 272 keys → default"),
        Change(OTHER, "attention 272 for sm_80", "gone"),
    ]
    same = {**report(), "flag_sets": old["flag_sets"]}
    assert compared(tmp_path, old, same) == [Change(WORSE, "attention 272 for sm_80", "gone")]


BOTH = ROOT / "test" / "cli" / "Inputs" / "replace-and-configure.mlir"


def changes_of(old: bytes, new: bytes) -> list[tuple[str, str]]:
    found = compare_specs(load_spec(old), load_spec(new)).changes
    assert all(change.kind is OTHER for change in found)
    return [(change.what, change.text) for change in found]


def test_replace_entries_are_compared() -> None:
    both = BOTH.read_bytes()
    assert changes_of(both, both) == []
    padding = both.replace(b"%z = arith.constant 0.0", b"%z = arith.constant 1.0")
    assert changes_of(both, padding) == [("@match_rows", "function changed")]
    # The action is a part of what is called, names are not.
    action = both.replace(b"get_operand %root[all]", b"get_operand %root[0, 1, 2]")
    assert changes_of(both, action) == [("@match_rows", "function changed")]
    renamed = both.replace(b"rows", b"lines")
    assert changes_of(both, renamed) == []
    matcher = both.replace(b"%m, [34]", b"%m, [35]")
    assert changes_of(both, matcher) == [("@match_rows", "matcher changed")]
    assert changes_of(both, matcher.replace(b"match_rows", b"match_lines")) == [
        ("@match_rows", "removed"),
        ("@match_lines", "added"),
    ]
    configuring = both.replace(b"%m, [48]", b"%m, [47]")
    assert changes_of(both, configuring) == [("@match_conf", "matcher changed")]


def test_the_order_of_replace_entries_is_compared() -> None:
    first = BOTH.read_bytes()
    parts = [first, *(first.replace(b"%m, [34]", size) for size in (b"%m, [35]", b"%m, [36]"))]
    orders = [
        link_specs([load_spec(parts[at]) for at in order]).spec.bytecode()
        for order in ((0, 1, 2), (2, 0, 1))
    ]
    # Only the entry that moved is named; the configure entries are the same.
    assert changes_of(*orders) == [("@match_rows_1 → @match_rows", "comes before @match_rows_1")]
    comparison = compare_specs(*map(load_spec, orders))
    assert comparison.old.facts["replace entries"] == "3"
    assert [
        item.what for item in comparison.items if item.old and item.old.state == "replaces"
    ] == [
        "@match_rows → @match_rows_0",
        "@match_rows_0 → @match_rows_1",
        "@match_rows_1 → @match_rows",
    ]


def frozen(left_out: str = "") -> str:
    """Return a frozen spec with entries for a matmul and for a convolution."""
    record = f'{{dispatch = "@d", operation = "{left_out}"}}' if left_out else ""
    matchers = "".join(
        f"""
          transform.named_sequence @match_{name}(%op: !transform.any_op {{transform.readonly}})
              -> (!transform.any_op, !transform.any_param) attributes {{
            tuninglink.provenance = {{operation = "{name}", flops = {flops} : i64}}}} {{
            %info = transform.param.constant "{name}" -> !transform.any_param
            transform.yield %op, %info : !transform.any_op, !transform.any_param
          }}"""
        for name, flops in (("matmul", 75), ("conv", 20))
    )
    return f"""module attributes {{transform.with_named_sequence, tuninglink.provenance = {{
      compiler = "3.12.0", program = "m.mlir", targets = ["gfx942"], flops = 100 : i64, left_out = [{record}]}}}} {{
      transform.named_sequence @set(%op: !transform.any_op {{transform.readonly}}, %info: !transform.any_param {{transform.readonly}}) {{
        transform.annotate %op "compilation_info" = %info : !transform.any_op, !transform.any_param
        transform.yield
      }}{matchers}
      transform.named_sequence @__kernel_config(%root: !transform.any_op {{transform.consumed}})
          -> !transform.any_op attributes {{iree_codegen.tuning_spec_entrypoint}} {{
        %result = transform.foreach_match in %root @match_matmul -> @set, @match_conv -> @set
          : (!transform.any_op) -> !transform.any_op
        transform.yield %result : !transform.any_op
      }}
    }}"""


def now(
    words: str, flops: int, matcher: str = "", *, invalid: str = "", other: bool = False
) -> Object:
    """Return a dispatch of an explanation with a frozen spec."""
    dispatch = explained(words, "tuned" if matcher else "no-entry", matcher=matcher)
    (operation,) = dispatch["operations"]
    choice = {**operation["configuration"], "lowering_config": "l"} if other else None
    operation |= {"invalid": invalid, "compilers_choice": choice}
    return {**dispatch, "calls": 2, "flops": flops, "bytes": None, "microseconds": None}


def kept_of(tmp_path: Path, spec: str, *dispatches: Object) -> list[tuple[ChangeKind, str, str]]:
    (tmp_path / "frozen.mlir").write_text(spec)
    names = ("match_matmul", "match_conv")
    entries = [{"matcher": name, "operations": 1} for name in names]
    program = {"program": "m.mlir", "specs": [{"entries": entries}]}
    (tmp_path / "new.json").write_text(json.dumps({**explanation(*dispatches), **program}))
    comparison = compare(tmp_path / "frozen.mlir", tmp_path / "new.json")
    assert comparison.subject == "frozen choices"
    return [(change.kind, change.what, change.text) for change in comparison.changes]


def test_frozen_choices_that_take_effect_are_kept(tmp_path: Path) -> None:
    matmul, conv = now("matmul", 30, "match_matmul", other=True), now("conv", 10, "match_conv")
    # The compiler's choice for a dispatch that had no entry is none that was lost.
    summary = "2 of 2 entries kept; the compiler would choose otherwise for 60.0% of the FLOPs"
    assert kept_of(tmp_path, frozen("norm"), matmul, conv, now("norm", 10)) == [
        (OTHER, "program", summary)
    ]


def test_frozen_choices_that_are_lost_cost_the_work_of_their_dispatches(tmp_path: Path) -> None:
    invalid = now("matmul", 30, "match_matmul", invalid="too many threads")
    padded = {**now("padded conv", 20), "microseconds": 3.5}
    assert kept_of(tmp_path, frozen(), invalid, padded) == [
        (
            OTHER,
            "program",
            "0 of 2 entries kept; the compiler's choice is used for 100.0% of the FLOPs, 7 µs",
        ),
        (WORSE, "matmul", "not valid: too many threads; 60.0% of the FLOPs"),
        (WORSE, "conv", "it configures no dispatch; it was 20.0% of the FLOPs"),
        (OTHER, "padded conv", "new: the compiler's choice; 40.0% of the FLOPs, 7 µs"),
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
        compiler="3.14.0",
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
        (report(), "the files are not of the same kind"),
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


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (Estimate(10, 9.5, 10.5), Estimate(12, 11.5, 12.5), WORSE),
        (Estimate(10, 9.5, 10.5), Estimate(8, 7.5, 8.5), BETTER),
        (Estimate(10, 8, 12), Estimate(13, 11, 15), None),  # 30 %, and the intervals overlap
        (Estimate(10, 9.99, 10.01), Estimate(10.2, 10.19, 10.21), WORSE),  # 2 %, and they are apart
        (
            Estimate(10, 9.99, 10.01),
            Estimate(10.05, 10.04, 10.06),
            None,
        ),  # less than the least change
        (Estimate(10, 9.5, 10.5), Estimate(10.4), None),  # a point within the interval
        (Estimate(10, 9.5, 10.5), Estimate(10.6), WORSE),
        (Estimate(10), Estimate(10.4), None),  # without intervals, 5 % decide
        (Estimate(10), Estimate(10.6), WORSE),
        (Estimate(10, 0, float("inf")), Estimate(30), None),
    ],
)
def test_intervals_decide_whether_a_time_changed(
    old: Estimate, new: Estimate, kind: ChangeKind | None
) -> None:
    assert time_change(old, new, 0.01) is kind


def test_under_one_compiler_speedups_are_compared(tmp_path: Path) -> None:
    """A slower clock makes the default and the winner slower; another compiler has another default."""
    old = report(tuned("a", "won", 4.0, 2.0, width=0.02), tuned("b", "default", 4.0))
    slower = tuned("a", "won", 5.0, 2.5, width=0.02), tuned("b", "default", 5.0)
    assert compared(tmp_path, old, report(*slower)) == []
    assert compared(tmp_path, old, report(*slower, compiler="3.14.0")) == [
        Change(WORSE, "a for sm_80", "2 µs → 2.5 µs"),
        Change(WORSE, "b for sm_80", "4 µs → 5 µs"),
    ]
    worse = tuned("a", "won", 4.0, 2.2, width=0.02), tuned("b", "default", 4.0)
    (change,) = compared(tmp_path, old, report(*worse))
    assert change.text == "2 µs → 2.2 µs, speedup 2.00 [1.98, 2.02] → 1.82 [1.80, 1.84]"


PAIR = (
    report(
        tuned("contraction 8x256x1024 f32xf32xf32", "won", 4.0, 2.0, width=0.02),
        tuned("softmax", "default", 4.0),
    ),
    report(
        tuned("contraction 8x256x1024 f32xf32xf32", "won", 4.0, 3.0, width=0.02),
        tuned("softmax", "default", 4.0),
        tuned("sort", "default", 1.0),
    ),
)


@needs_chromium
def test_a_page_shows_what_changed_first(tmp_path: Path) -> None:
    found = browse(
        to_html(comparison(tmp_path, *PAIR)),
        tmp_path,
        ask="""
          const rows = () => [...byId("items").tBodies[0].rows].filter((row) => row.className === "row" && !row.hidden);
          const cells = () => rows().map((row) => [...row.cells].map((cell) => cell.textContent));
          const answer = { changed: cells(), summary: byId("summary").textContent,
            chips: [...document.querySelectorAll("#groups button")].map((chip) => chip.textContent) };
          document.querySelectorAll("#groups button")[2].click();
          answer.same = cells().map((row) => row[0]);
          document.querySelectorAll("#groups button")[2].click();
          rows()[0].querySelector("button").click();
          answer.sides = [...document.querySelectorAll("tr.details .sides > div")].map((side) => side.textContent);
          return answer;""",
    )
    assert (
        found["summary"]
        == "1 regression, 0 improvements, 1 change in 4 rows of two reports of tuning."
    )
    assert [row[:4] for row in found["changed"]] == [
        ["contraction 8x256x1024 f32xf32xf32 for sm_80", "regression", "won", "won"],
        ["sort for sm_80", "change", "missing", "default"],
    ]
    assert found["changed"][0][4:7] == ["2 µs [1.98, 2.02]", "3 µs [2.97, 3.03]", "0.67"]
    assert found["chips"] == ["regression 1", "change 1", "same 2"]
    assert found["same"] == ["softmax for sm_80", "program"]
    assert [side[:16] for side in found["sides"]] == ["OldStatewonTime2", "NewStatewonTime3"]


@needs_chromium
@pytest.mark.parametrize(("width", "flags"), [(400, ()), (1180, (WIDE,))])
def test_nothing_is_clipped(tmp_path: Path, width: int, flags: tuple[str, ...]) -> None:
    page = of_width(to_html(comparison(tmp_path, *PAIR)), width)
    assert browse(page, tmp_path, *flags, ask=CLIPPED) == AS_IT_SHOULD_BE
