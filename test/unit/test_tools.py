"""The tools of releases and of the scheduled run of the suite."""

from __future__ import annotations

import datetime as dt
import re
import sys

import pytest
from places import ROOT
from releases import since_3_13

sys.path.insert(0, str(ROOT / "tools"))
from typing import TYPE_CHECKING

import failure_report
import reference
import release
import spell_tests

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name in ("pyproject.toml", "CHANGELOG.md"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    return tmp_path


def test_a_release_is_prepared(source: Path) -> None:
    assert len(release.problems("7.8.9", source)) == 2
    release.prepare("7.8.9", dt.date(2026, 1, 2), source)
    assert release.problems("7.8.9", source) == []
    changelog = (source / "CHANGELOG.md").read_text()
    assert "\n## Unreleased\n\n## 7.8.9 - 2026-01-02\n" in changelog


@pytest.mark.parametrize("version", ["v1.0.0", "1.0", "1.0.0.dev1"])
def test_other_versions_are_refused(version: str, source: Path) -> None:
    (problem,) = release.problems(version, source)
    assert version in problem


LOG = """\
FAIL: Tuninglink :: cli/check.mlir (3 of 92)
PASS: Tuninglink :: cli/link.mlir (4 of 92)
make: *** [Makefile:97: lit] Error 1
FAILED test/unit/test_a.py::test_b - AssertionError
FAILED test/unit/test_a.py::test_b - AssertionError
"""


def test_a_report_names_what_failed() -> None:
    doctor = (
        "an embedded spec takes effect on rocm   FAILED: its entry did not configure the program\n"
    )
    text = failure_report.report([LOG, doctor], "https://example.com/run")
    listed = [line for line in text.splitlines() if line.startswith("- ")]
    assert listed == [
        "- `FAIL: Tuninglink :: cli/check.mlir`",
        "- `make: *** [Makefile:97: lit] Error 1`",
        "- `FAILED test/unit/test_a.py::test_b - AssertionError`",
        f"- `{doctor.strip()}`",
    ]
    assert "https://example.com/run" in text


def test_a_long_report_fits_into_an_issue() -> None:
    log = "".join(f"FAILED test/{number}.py::test - {'x' * 1000}\n" for number in range(5000))
    assert len(failure_report.report([log], "")) < 2**16


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        (
            "linalg.elementwise <exp> ins(",
            "linalg.elementwise kind=#linalg.elementwise_kind<exp> ins(",
        ),
        (
            "iree_linalg_ext.attention <{indexing_maps = [#q]}> ins(",
            "iree_linalg_ext.attention {indexing_maps = [#q]} ins(",
        ),
        ("attention <{{maps = [{maps}]}}> ins(", "attention {{maps = [{maps}]}} ins("),
        (
            "online_attention <{a = #b<{c = 1}>}> {d = 2} ins(",
            "online_attention {a = #b<{c = 1}>, d = 2} ins(",
        ),
    ],
)
def test_programs_are_respelled_for_an_older_compiler(newer: str, older: str) -> None:
    assert spell_tests.respelled(newer, (3, 12)) == older
    assert spell_tests.respelled(newer, (3, 13)) == newer


SPECS = sorted((spell_tests.ROOT / "specs").rglob("*.mlir"))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_shipped_specs_have_no_syntax_that_the_oldest_compiler_lacks(spec: Path) -> None:
    text = spec.read_text()
    assert spell_tests.respelled(text, (3, 12)) == text
    assert not re.search(r"iree_linalg_ext\.(?:online_)?attention" + " <", text)


TESTS = [
    path
    for folder in ("test", "examples")
    for path in (spell_tests.ROOT / folder).rglob("*")
    if path.suffix in (".py", ".mlir", ".test")
]


@pytest.mark.skipif("build" in spell_tests.ROOT.parts, reason="this is the copy in older spelling")
def test_programs_of_tests_can_be_respelled() -> None:
    # The properties of attention ops need braces: `<{indexing_maps = …}>`.
    bare = re.compile(r"attention" + r" <[^{]")
    assert not [path for path in TESTS if bare.search(path.read_text())]


@pytest.mark.parametrize("page", reference.PAGES)
@since_3_13
def test_the_reference_is_that_of_the_code(page: str) -> None:
    text = (reference.FOLDER / f"{page}.md").read_text()
    assert text == reference.PAGES[page](), "run python tools/reference.py"


def test_the_reference_holds_generated_pages_only() -> None:
    assert {path.stem for path in reference.FOLDER.iterdir()} == set(reference.PAGES)
