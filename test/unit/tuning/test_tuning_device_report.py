"""Reports of tuning: the JSON, and the page in a headless Chromium where one is installed."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import TYPE_CHECKING

import jsonschema
import pytest
from browser import AS_IT_SHOULD_BE, CLIPPED, DARK, NASTY, WIDE, browse, needs_chromium, of_width
from json_schema import schema_of

from tuninglink.devices import Stage, UsedTime
from tuninglink.errors import TuninglinkError
from tuninglink.iree import DispatchCost, peaks_of_device
from tuninglink.plain_data import plain
from tuninglink.programs import Correctness, FailureKind, OutputComparison
from tuninglink.tuning import (
    OmittedDispatch,
    ProblemReport,
    TrialPoint,
    TuningReport,
    to_html,
    write_report,
)
from tuninglink.tuning.candidates import CandidateOrigin
from tuninglink.tuning.deciding import (
    ConfidenceInterval,
    FunctionComparison,
    ModelComparison,
    SizeComparison,
    TaskOutcome,
)
from tuninglink.tuning.flag_sets import FlagSet, SetResult

if TYPE_CHECKING:
    from pathlib import Path


def trial(number: int) -> TrialPoint:
    failure = FailureKind.COMPILE if number % 5 == 4 else None
    time = None if failure else 300.0 - 10 * number + 40 * (number % 3)
    return TrialPoint(
        0.1 * number,
        time,
        failure,
        CandidateOrigin.SPACE,
        "#iree_gpu.pipeline<TileAndFuse>",
        {"workgroup[0]": 2**number, "workgroup[1]": number % 3, "threads": 64},
    )


WON = ProblemReport(
    names=("@main_dispatch_0::@cuda_nvptx_fb", "@main_dispatch_7::@cuda_nvptx_fb"),
    problem="contraction 2048x1280x5120 f16xf16xf32",
    target="sm_80",
    outcome=TaskOutcome.WON,
    share=0.75,
    default_us=271.4,
    tuned_us=141.4,
    speedup=ConfidenceInterval(1.88, 1.92, 1.95),
    configuration="#iree_codegen.compilation_info<…>",
    history=tuple(map(trial, range(20))),
    notes=("a candidate is fast and wrong",),
    sizes=(
        SizeComparison("0.0=1", 1, 187.0, 76.0, ConfidenceInterval(2.4, 2.46, 2.5), "d0 = 1"),
        SizeComparison("0.0=64", 2, 1343.0, 729.0, ConfidenceInterval(1.8, 1.84, 1.9)),
    ),
    calls=3,
    cost=DispatchCost(2 * 2048 * 1280 * 5120, 23_592_960, "f16"),
    peaks=peaks_of_device("NVIDIA H200"),
)
KEPT = dataclasses.replace(
    WON,
    outcome=TaskOutcome.DEFAULT,
    tuned_us=None,
    speedup=None,
    configuration=None,
    history=(),
    share=0.25,
    sizes=(),
)
REPORT = TuningReport(
    program="model.mlir",
    device="NVIDIA H200",
    driver="cuda 570",
    compiler="3.13.0",
    date="2026-11-21T21:00:00+00:00",
    seconds=61.5,
    stages={
        Stage.PROGRAM: UsedTime(1.5),
        Stage.MEASUREMENT: UsedTime(60.0, 55.0),
    },
    dispatches=(WON, KEPT),
    omissions=(OmittedDispatch("@main_dispatch_3", "there is no space for a sort"),),
    model=ModelComparison(
        *(10.5, 7.25, ConfidenceInterval(1.4, 1.45, 1.5)),
        (FunctionComparison("main", 1, 10.5, 7.25, ConfidenceInterval(1.4, 1.45, 1.5)),),
    ),
    is_guarded=True,
    notes=(),
    spec="module attributes {transform.with_named_sequence} {}",
    flag_sets=(
        SetResult(FlagSet("tiled", ("--tiled",))),
        SetResult(
            FlagSet("wide", ("--wide",)),
            6.5,
            ConfidenceInterval(1.5, 1.6, math.inf),
            math.inf,
            entries=1,
            is_taken=True,
        ),
    ),
    whole=ModelComparison(12.0, 7.25, ConfidenceInterval(1.6, 1.655, 1.7)),
    noise=ConfidenceInterval(0.95, 1.01, 1.04),
)


SCHEMA = schema_of(TuningReport)


def test_a_report_fits_its_schema(tmp_path: Path) -> None:
    write_report(REPORT, tmp_path / "report")
    written = json.loads((tmp_path / "report" / "report.json").read_text())
    assert written == json.loads(json.dumps(plain(REPORT)))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for each in (REPORT, dataclasses.replace(REPORT, model=None, dispatches=())):
        jsonschema.validate(json.loads(json.dumps(plain(each))), SCHEMA)
    first = written["dispatches"][0]
    assert (first["trials"], first["failures"], first["interval"]) == (
        20,
        {"compile": 4},
        [1.88, 1.95],
    )
    assert written["model"]["tuned_ms"] == 7.25
    assert first["saved_us"] == pytest.approx(3 * 130)
    assert first["tuned_rates"]["gflops"] == pytest.approx(2 * 2048 * 1280 * 5120 / 141.4e3)
    assert first["tuned_rates"]["roofline"] == pytest.approx(0.192, abs=0.001)
    assert written["peaks"]["sm_80"]["tbps"] == 4.8
    assert [(each["sizes"], each["range"]) for each in first["sizes"]] == [
        ("0.0=1", "d0 = 1"),
        ("0.0=64", None),
    ]


WRONG = OutputComparison(
    source="llvm-cpu",
    tolerance=0.01,
    default_error=math.inf,
    tuned_error=0.001,
)


def test_results_of_the_program_fit_the_schema() -> None:
    right = dataclasses.replace(WRONG, default_error=None)
    for outputs in (WRONG, right):
        written = json.loads(json.dumps(plain(dataclasses.replace(REPORT, outputs=outputs))))
        jsonschema.validate(written, SCHEMA)
    assert plain(dataclasses.replace(REPORT, outputs=WRONG))["outputs"] == {
        "source": "llvm-cpu",
        "tolerance": 0.01,
        "default_error": "infinite",
        "tuned_error": 0.001,
        "note": "",
        "has_overflow": False,
        "narrow_sums": "",
        "default_is_wrong": True,
        "finding": WRONG.finding,
    }


@needs_chromium
def test_a_page_warns_of_wrong_results_of_the_program(tmp_path: Path) -> None:
    ask = "return [byId('outputs').hidden, byId('outputs').textContent]"
    hidden, _ = browse(to_html(REPORT), tmp_path, ask=ask)
    assert hidden
    page = to_html(dataclasses.replace(REPORT, outputs=WRONG))
    hidden, text = browse(page, tmp_path, ask=ask)
    assert not hidden
    assert f"Warning: {WRONG.finding}." in text
    assert "infinite by default, 0.001 with the spec; tolerance 0.01." in text


@needs_chromium
def test_a_page_has_a_section_of_wrong_defaults(tmp_path: Path) -> None:
    items = "[...document.querySelectorAll('#defaults li')].map((each) => each.textContent)"
    ask = f"return [byId('defaults').hidden, {items}]"
    assert browse(to_html(REPORT), tmp_path, ask=ask) == [True, []]
    open_, wrong, right = (
        dataclasses.replace(KEPT, problem=name, default_result=result, default_finding=name)
        for name, result in (
            ("first", Correctness.UNDECIDED),
            ("second", Correctness.WRONG),
            ("third", Correctness.RIGHT),
        )
    )
    page = to_html(dataclasses.replace(REPORT, dispatches=(open_, wrong, right)))
    shown = ["second: wrong; second", "first: not decided; first"]
    assert browse(page, tmp_path, ask=ask) == [False, shown]


def test_a_report_that_cannot_be_written_is_one_diagnostic(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TuninglinkError) as raised:
        write_report(REPORT, tmp_path / "file")
    assert len(raised.value.diagnostics) == 1


def test_a_page_loads_nothing() -> None:
    assert not re.search(r"https?:|@import|url\(|<link|\ssrc=", to_html(REPORT))


def test_text_cannot_end_the_script_that_holds_it() -> None:
    page = to_html(dataclasses.replace(REPORT, program=NASTY, spec=NASTY))
    assert "default-src 'none'" in page
    assert "<img" not in page
    assert page.count("</script>") == 1


@needs_chromium
def test_a_page_shows_trials_and_where_the_default_stands(tmp_path: Path) -> None:
    found = browse(
        to_html(REPORT),
        tmp_path,
        ask="""
          const rows = [...document.querySelectorAll("#dispatches > tbody > tr.row")];
          const opened = document.querySelector("#dispatches > tbody > tr.details");
          const answer = {
            model: document.getElementById("model").textContent,
            peaks: document.getElementById("peaks").textContent,
            rates: [...opened.querySelectorAll("p + .scroll tbody tr")].map((row) => row.textContent),
            first: [...rows[0].cells].map((each) => each.textContent),
            captions: [...opened.querySelectorAll("figcaption")].map((each) => each.textContent),
            points: opened.querySelectorAll("circle.trial").length,
            failed: opened.querySelectorAll("circle.failed").length,
            bars: [...opened.querySelectorAll("rect.bar title")].map((each) => parseInt(each.textContent)),
            best: opened.querySelector("path.best").getBoundingClientRect().width > 100,
            random: opened.querySelector("path.random").getAttribute("d"),
            lines: [opened.querySelectorAll("path.slow").length, opened.querySelectorAll("path.fast").length],
            fastest: [...opened.querySelectorAll("path.fast title")].map((each) => each.textContent),
            notes: opened.querySelector(".notes").textContent,
            sizes: [...opened.querySelectorAll("table.sizes tbody tr")].map((row) => row.textContent),
            omitted: document.querySelector("#omissions li").textContent,
            spec: document.getElementById("spec").textContent,
            noise: document.querySelector("#flag-sets tbody tr:last-of-type").textContent,
          };
          rows[1].querySelector("button").click();
          answer.opened = document.querySelectorAll("#dispatches tr.details").length;
          rows[0].querySelector("button").click();
          answer.closed = document.querySelectorAll("#dispatches tr.details").length;
          return answer;""",
    )
    assert found["model"].startswith(
        "The program takes 7.25 ms instead of 12 ms: speedup 1.66 [1.60, 1.70]. By the times of the dispatches, "
        "the entries save 35.9 % of the time of all dispatches. NVIDIA H200"
    )
    assert found["noise"] == "the default against itself1.01 [0.95, 1.04]"
    assert found["first"][1:] == [
        *("won", "75.0 %", "271.4", "141.4", "1.92 [1.88, 1.95]", "390 (35.9 %)"),
        *("190,000", "167", "19 %", "20"),
    ]
    assert found["rates"] == ["default271.498,90086.910 %", "tuned141.4190,00016719 %"]
    assert "4.8 TB/s (the vendor's data sheet)" in found["peaks"]
    assert found["captions"][0] == (
        "Best so far: 271 µs at first, 120 µs in the end; dotted: the same trials in random order"
    )
    assert "of 16 trials are faster than the default" in found["captions"][1]
    assert (found["points"], found["failed"], sum(found["bars"])) == (16, 4, 16)
    assert found["best"]
    heights = [float(each) for each in re.findall(r"V([\d.]+)", found["random"])]
    assert len(heights) == 20
    assert heights == sorted(heights)
    assert heights[0] < heights[-1]
    assert found["captions"][2].endswith("the fastest tenth of 16 trials on top")
    assert found["lines"] == [14, 2]
    assert found["fastest"][-1] == "120 µs"
    assert found["notes"] == "a candidate is fast and wrong"
    assert found["sizes"] == [
        "0.0=1d0 = 11187762.46 [2.40, 2.50]",
        "0.0=64all21,3437291.84 [1.80, 1.90]",
    ]
    assert found["omitted"] == "@main_dispatch_3: there is no space for a sort"
    assert found["spec"] == REPORT.spec
    assert (found["opened"], found["closed"]) == (2, 1)


@needs_chromium
def test_a_profile_weighs_what_entries_save(tmp_path: Path) -> None:
    profiled = dataclasses.replace(WON, profiled_us=1000.0)
    page = to_html(
        dataclasses.replace(REPORT, dispatches=(profiled, KEPT), profile="model.ireeprof")
    )
    ask = """
      const cells = (row) => [...row.cells].map((cell) => cell.textContent);
      return [cells(byId("dispatches").tHead.rows[0])[5], cells(byId("dispatches").tBodies[0].rows[0])[5], byId("model").textContent];"""
    title, time, text = browse(page, tmp_path, ask=ask)
    assert (title, time) == ("Profile µs", "1,000")
    assert "By the times in model.ireeprof, the entries save 479 µs of a run" in text


@needs_chromium
def test_dispatches_are_sorted_and_filtered_without_a_mouse(tmp_path: Path) -> None:
    """Every control is a button or a field, unknown values come last, and the count is announced."""
    third = dataclasses.replace(KEPT, problem="softmax 64x128 f32", default_us=900.0, share=0.01)
    found = browse(
        to_html(dataclasses.replace(REPORT, dispatches=(WON, KEPT, third))),
        tmp_path,
        ask="""
          const rows = () => [...document.querySelectorAll("#dispatches > tbody > tr.row")].filter((row) => !row.hidden);
          const shares = () => rows().map((row) => row.cells[2].textContent);
          const head = (title) => [...document.querySelectorAll("#dispatches > thead button")].find((each) => each.textContent === title);
          const answer = { before: shares() };
          head("Default µs").click();
          answer.slowest = shares();
          head("Tuned µs").click();
          answer.tuned = shares();
          head("Tuned µs").click();
          answer.again = shares();
          answer.sort = [...document.querySelectorAll("[aria-sort]")].map((each) => each.getAttribute("aria-sort"));
          document.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }));
          answer.focus = document.activeElement.id;
          const type = (words) => { byId("filter").value = words; byId("filter").dispatchEvent(new Event("input")); };
          type("softmax 128");
          answer.words = [shares(), byId("count").textContent, byId("count").getAttribute("role")];
          type("nothing like it");
          answer.none = [shares(), byId("nothing").hidden];
          byId("filter").dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
          const chips = [...document.querySelectorAll("#groups button")];
          answer.chips = chips.map((each) => each.textContent);
          chips[1].click();
          answer.kept = [shares(), chips[1].getAttribute("aria-pressed")];
          answer.mouse = [...document.querySelectorAll("[onclick]")].length;
          return answer;""",
    )
    assert found["before"] == ["75.0 %", "25.0 %", "1.0 %"]
    assert found["slowest"] == ["1.0 %", "75.0 %", "25.0 %"]
    assert found["tuned"] == found["again"] == ["75.0 %", "25.0 %", "1.0 %"]
    assert found["sort"] == ["ascending"]
    assert found["focus"] == "filter"
    assert found["words"] == [["1.0 %"], "1 of 3 shown", "status"]
    assert found["none"] == [[], False]
    assert found["chips"] == ["won 1", "default 2"]
    assert found["kept"] == [["25.0 %", "1.0 %"], "true"]
    assert found["mouse"] == 0


@needs_chromium
def test_a_page_without_dispatches_is_a_page(tmp_path: Path) -> None:
    nothing = dataclasses.replace(REPORT, dispatches=(), omissions=(), model=None, notes=(NASTY,))
    ask = 'return [document.querySelector("#notes").textContent, getComputedStyle(document.body).backgroundColor];'
    assert browse(to_html(nothing), tmp_path, DARK, ask=ask) == [NASTY, "rgb(20, 23, 27)"]


KNOBS = ("distribution[0]", "distribution[1]", "vector_reduction[2]", "cache_reduction[2]")
MANY_KNOBS = (
    *KNOBS,
    "vector_common_parallel[0]",
    "vector_common_parallel[1]",
    "enable_loop_peeling",
    "mma",
)


def with_many_knobs(number: int) -> TrialPoint:
    knobs = {name: (number * (place + 3)) % 23 for place, name in enumerate(MANY_KNOBS)}
    return dataclasses.replace(trial(0), microseconds=100.0 + number, knobs=knobs)


@needs_chromium
@pytest.mark.parametrize(("width", "flags"), [(400, ()), (1180, (WIDE,))])
def test_nothing_is_clipped_and_no_labels_overlap(
    tmp_path: Path, width: int, flags: tuple[str, ...]
) -> None:
    history = tuple(map(with_many_knobs, range(40)))
    report = dataclasses.replace(REPORT, dispatches=(dataclasses.replace(WON, history=history),))
    page = of_width(to_html(report), width)
    assert browse(page, tmp_path, *flags, ask=CLIPPED) == AS_IT_SHOULD_BE
