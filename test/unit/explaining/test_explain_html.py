"""The page of an explanation, in a headless Chromium where one is installed."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import TYPE_CHECKING

import pytest
from browser import AS_IT_SHOULD_BE, CLIPPED, DARK, NASTY, WIDE, browse, needs_chromium, of_width

from tuninglink.cli.page_output import to_html
from tuninglink.errors import Place
from tuninglink.explaining import (
    ConfigurationText,
    DispatchReport,
    EntryReference,
    EntryUsage,
    Explanation,
    KnobRow,
    Match,
    NearMiss,
    OperationReport,
    SpecSummary,
    Status,
)
from tuninglink.iree import DispatchCost, PeakRates
from tuninglink.matching import Difference

if TYPE_CHECKING:
    from pathlib import Path


def entry(number: int) -> EntryReference:
    return EntryReference(0, f"entry_{number}", "act", Place("spec.mlir", 10 * number + 1, 1))


def dispatch(number: int) -> DispatchReport:
    """Return a dispatch: every fourth is tuned, and the others are matmuls without an entry."""
    is_tuned = number % 4 == 0
    missed = NearMiss(entry(2), (Difference("n", str(number), "1281"), Difference("k", "1", "2")))
    operation = OperationReport(
        words=f"matmul 64x{number}x32 f16·f16→f32",
        name="linalg.generic",
        place=Place("program.mlir", number + 1, 3),
        configuration=ConfigurationText("#info<pipeline = A, size = [64, 1, 1]>", "#tiles<[8, 4]>"),
        match=Match(0, entry(1), is_own=True) if is_tuned else None,
        knobs=(
            KnobRow("workgroup[0]", "8", "8" if is_tuned else None, "tile", ("8", "16")),
            KnobRow("workgroup[1]", "4", "2" if is_tuned else None, "tile"),
        ),
        compilers_choice=ConfigurationText(
            "#info<pipeline = B, size = [64, 1, 1]>", "#tiles<[8, 2]>"
        )
        if is_tuned
        else None,
        nearest=() if is_tuned else (missed,),
    )
    status = Status.TUNED if is_tuned else Status.UNMATCHED
    name = f"@dispatch_{number}::@hsaco"
    return DispatchReport(
        name,
        (f"dispatch_{number}",),
        "gfx942",
        status,
        (operation,),
        calls=2,
        cost=DispatchCost(2 * 64 * 32 * number, 2 * (64 + number) * 32),
        start=f"// start {number}",
    )


def explanation(count: int, program: str = "program.mlir") -> Explanation:
    dispatches = tuple(map(dispatch, range(count)))
    tuned = sum(each.status is Status.TUNED for each in dispatches)
    usages = (
        EntryUsage(entry(1), tuned),
        EntryUsage(entry(2), 0, (entry(1),)),
        EntryUsage(entry(3), 0),
    )
    spec = SpecSummary(
        source="spec.mlir",
        name="mine",
        kind="matcher list",
        is_default=False,
        usages=usages,
        configured=tuned,
        covered=tuned,
        dispatches=len(dispatches),
        used=int(tuned > 0),
        unused=1 + (tuned == 0),
        shadowed=1,
    )
    return Explanation(program, (spec,), dispatches, (f"note {program}",))


def test_a_page_loads_nothing() -> None:
    page = to_html(explanation(1))
    assert page.startswith("<!DOCTYPE html>")
    assert '<meta charset="utf-8">' in page
    assert "default-src 'none'" in page
    template = page.replace(json.dumps("program.mlir"), "")
    assert not re.search(r"https?:|//[a-z]|@import|url\(|<link|<img|\ssrc=", template)


def test_text_cannot_end_the_script_that_holds_it() -> None:
    page = to_html(explanation(1, NASTY))
    assert "<img" not in page
    assert page.count("</script>") == 1


@needs_chromium
def test_nasty_text_is_shown_as_it_is(tmp_path: Path) -> None:
    shown = browse(
        to_html(explanation(1, NASTY)),
        tmp_path,
        ask="""
          return [document.getElementById("program").textContent, document.querySelectorAll("img").length,
            document.querySelector(".notes").textContent];""",
    )
    assert shown == [NASTY, 0, f"note {NASTY}"]


@needs_chromium
def test_two_thousand_dispatches_are_shown_sorted_filtered_and_opened(tmp_path: Path) -> None:
    found = browse(
        to_html(explanation(2000)),
        tmp_path,
        ask="""
          const rows = () => [...document.querySelectorAll("#dispatches tr.row")];
          const shown = () => rows().filter((each) => !each.hidden);
          const first = () => shown()[0].querySelector("button").textContent;
          const heads = [...document.querySelectorAll("#dispatches th button")];
          const filter = document.getElementById("filter");
          const type = (text) => { filter.value = text; filter.dispatchEvent(new Event("input")); };
          const answer = { rows: rows().length, text: shown()[0].textContent, summary: document.getElementById("summary").textContent };
          answer.first = first();
          heads[0].click();
          answer.last = [...shown()].at(-1).querySelector("button").textContent;
          answer.sort = heads[0].parentElement.getAttribute("aria-sort");
          type("64x1999x32");
          answer.words = [shown().length, first(), document.getElementById("count").textContent];
          type("nowhere");
          answer.none = [shown().length, document.getElementById("nothing").hidden];
          type("");
          document.querySelector("#groups .chip").click();
          answer.tuned = [shown().length, document.querySelector("#groups .chip").getAttribute("aria-pressed")];
          type("64x1996x32");
          shown()[0].querySelector("button").click();
          const details = shown()[0].nextElementSibling;
          answer.knobs = [...details.querySelectorAll(".knobs tr")].map((row) => [...row.cells].map((each) => each.textContent));
          answer.changed = [...details.querySelectorAll(".changed")].map((each) => each.textContent);
          answer.start = details.querySelector(".start").textContent;
          details.querySelector(".copy").click();
          shown()[0].querySelector("button").click();
          answer.closed = document.querySelectorAll("tr.details").length;
          document.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }));
          answer.focus = document.activeElement.id;
          document.querySelector("#specs .expand").click();
          answer.entries = [...document.querySelectorAll("#specs .details tbody tr")].map((each) => each.textContent);
          return answer;""",
    )
    assert found["rows"] == 2000
    assert found["summary"] == "Tuned: 25 % of FLOPs, 25 % of calls (500 of 2,000 dispatches)"
    assert found["first"] == "matmul 64x1999x32 f16·f16→f32"
    assert "nearest @entry_2: n: 1999, the entry has 1281 (and 1 more)" in found["text"]
    assert found["last"] == "matmul 64x1999x32 f16·f16→f32"
    assert found["sort"] == "ascending"
    assert found["words"] == [1, "matmul 64x1999x32 f16·f16→f32", "1 of 2,000 shown"]
    assert found["none"] == [0, False]
    assert found["tuned"] == [500, "true"]
    assert found["knobs"] == [
        ["Knob", "Mine", "Compiler's", "Allowed"],
        ["workgroup[0]", "8", "8", "8, 16"],
        ["workgroup[1]", "4", "2", ""],
    ]
    assert found["changed"] == ["4"]
    assert found["start"] == "// start 1996"
    assert found["closed"] == 0
    assert found["focus"] == "filter"
    assert found["entries"] == [
        "@entry_1spec.mlir:11:1500used",
        "@entry_2spec.mlir:21:10shadowed by @entry_1",
        "@entry_3spec.mlir:31:10unused",
    ]


@needs_chromium
def test_the_map_leads_to_the_row_of_a_problem(tmp_path: Path) -> None:
    """Areas are shares of FLOPs, equal problems are one area, and problems that are not tunable are folded."""
    equal = dataclasses.replace(dispatch(10), name="@again::@hsaco")
    copy = OperationReport("elementwise 64", "linalg.generic", None, ConfigurationText())
    folded = DispatchReport(
        "@copy", (), "gfx942", Status.NOT_TUNABLE, (copy,), 1, DispatchCost(64, 512)
    )
    dispatches = (dispatch(10), dispatch(3), folded, equal)
    page = to_html(Explanation("program.mlir", (), dispatches))
    found = browse(
        page,
        tmp_path,
        ask="""
          const cells = [...document.querySelectorAll("#map button")];
          const rows = () => [...document.querySelectorAll("#dispatches tr.row")].filter((each) => !each.hidden);
          const area = (each) => each.getBoundingClientRect().width * each.getBoundingClientRect().height;
          const total = cells.reduce((sum, each) => sum + area(each), 0);
          const answer = { cells: cells.map((each) => [each.className, each.title]) };
          answer.areas = cells.map((each) => Math.round(100 * area(each) / total));
          answer.before = rows().map((each) => each.cells[2].textContent);
          cells[2].focus();
          document.activeElement.click();
          answer.focus = document.activeElement.textContent;
          answer.after = rows().length;
          answer.opened = document.querySelectorAll("#dispatches tr.details").length;
          return answer;""",
    )
    assert found["cells"] == [
        ["tunable", "86.9 % matmul 64x10x32 f16·f16→f32: unmatched"],
        ["tunable", "13.0 % matmul 64x3x32 f16·f16→f32: unmatched"],
        ["none", "0.0 % elementwise 64: not tunable"],
    ]
    assert found["areas"][:2] == [87, 13]
    assert found["before"] == ["2", "1"]
    assert (found["focus"], found["after"], found["opened"]) == ("elementwise 64", 3, 1)


@needs_chromium
def test_times_bring_rates_and_what_an_entry_saves(tmp_path: Path) -> None:
    """A measured saving counts before the one that the entry records; unknown figures are empty."""
    tuned, recorded, untimed = dispatch(4), dispatch(8), dispatch(3)
    measured = dataclasses.replace(tuned, microseconds=2.0, default_microseconds=5.0)
    match = Match(0, entry(1), is_own=True, provenance={"default_us": 9.0, "tuned_us": 8.5})
    operation = dataclasses.replace(recorded.operations[0], match=match)
    recorded = dataclasses.replace(recorded, operations=(operation,), microseconds=1.0)
    peaks = PeakRates("MI300X", "a data sheet", {"fp32": 0.1}, 5.0)
    timed = (
        dataclasses.replace(
            each, cost=dataclasses.replace(each.cost, element_type="f32"), peaks=peaks
        )
        for each in (measured, recorded, untimed)
    )
    found = browse(
        to_html(Explanation("program.mlir", (), tuple(timed))),
        tmp_path,
        ask="""
          const cells = (row) => [...row.cells].map((each) => each.textContent);
          return { titles: cells(byId("dispatches").tHead.rows[0]), peaks: byId("peaks").textContent,
            rows: [...byId("dispatches").tBodies[0].rows].map(cells),
            sources: [...document.querySelectorAll("td span[title]")].map((each) => each.title) };""",
    )
    assert found["titles"][3:9] == [
        "µs a call",
        "GFLOP/s",
        "GB/s",
        "Roofline",
        "Saves µs",
        "Status",
    ]
    assert [row[1:8] for row in found["rows"]] == [
        ["66.7 %", "2", "2", "8.19", "2.18", "8.2 %", "6"],
        ["33.3 %", "2", "1", "32.8", "4.61", "33 %", "1 *"],
        ["", "2", "", "", "", "", ""],
    ]
    assert found["sources"] == ["Measured", "As the entry records"]
    assert found["peaks"] == "Peak rates of MI300X: 100 GFLOP/s fp32, 5 TB/s (a data sheet)."


@needs_chromium
def test_a_page_is_light_or_dark_as_the_reader_prefers(tmp_path: Path) -> None:
    page = to_html(explanation(3))
    ask = "return getComputedStyle(document.body).backgroundColor;"
    assert browse(page, tmp_path, ask=ask) == "rgb(255, 255, 255)"
    assert browse(page, tmp_path, DARK, ask=ask) == "rgb(20, 23, 27)"


@needs_chromium
def test_a_page_without_dispatches_says_so(tmp_path: Path) -> None:
    nothing = Explanation("program.mlir", (), (), ("there is no dispatch to configure",))
    ask = 'return document.querySelector(".notes").textContent;'
    assert browse(to_html(nothing), tmp_path, ask=ask) == "there is no dispatch to configure"


@needs_chromium
@pytest.mark.parametrize(("width", "flags"), [(400, ()), (1180, (WIDE,))])
def test_nothing_is_clipped(tmp_path: Path, width: int, flags: tuple[str, ...]) -> None:
    long = KnobRow("vector_common_parallel[1]", "#iree_cpu.pipeline<Expert>", "16", "", ("8", "16"))
    dispatches = tuple(
        dataclasses.replace(each, operations=(dataclasses.replace(operation, knobs=(long,)),))
        for each in explanation(60).dispatches
        for operation in each.operations
    )
    page = of_width(to_html(dataclasses.replace(explanation(60), dispatches=dispatches)), width)
    assert browse(page, tmp_path, *flags, ask=CLIPPED) == AS_IT_SHOULD_BE
