"""The problem matcher in the page on VS Code understands the diagnostics of the commands."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from places import ROOT

from tuninglink.errors import Diagnostic, Place, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGE = (ROOT / "docs" / "guides" / "editor.md").read_text()


@pytest.fixture(scope="module")
def matcher() -> Mapping[str, Any]:
    ((text),) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    (task,) = json.loads(text)["tasks"]
    return task["problemMatcher"]


def fields(matcher: Mapping[str, Any], line: str) -> dict[str, str] | None:
    pattern = matcher["pattern"]
    found = re.match(pattern["regexp"], line)
    names = ("file", "line", "column", "severity", "message")
    return found and {name: found[pattern[name]] for name in names}


@pytest.mark.parametrize("severity", Severity)
def test_every_diagnostic_with_a_place_matches(
    matcher: Mapping[str, Any], severity: Severity
) -> None:
    shown = str(Diagnostic(severity, "it is: wrong", Place("a folder/my spec.mlir", 12, 3)))
    assert fields(matcher, shown) == {
        "file": "a folder/my spec.mlir",
        "line": "12",
        "column": "3",
        "severity": severity.value,
        "message": "it is: wrong",
    }


def test_what_check_prints_matches(matcher: Mapping[str, Any], tmp_path: Path) -> None:
    (tmp_path / "broken.mlir").write_text("module {\n  oops\n}\n")
    command = (str(Path(sys.executable).with_name("tuninglink")), "check", "broken.mlir")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    found = [each for line in done.stderr.splitlines() if (each := fields(matcher, line))]
    assert {"file": "broken.mlir", "line": "2", "column": "3", "severity": "error"}.items() <= (
        found[0].items()
    )
