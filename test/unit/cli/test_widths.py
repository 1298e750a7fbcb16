"""No line is wider than the terminal, and pipes have one layout."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

import pytest
from forked_commands import forked_commands
from places import ROOT
from rich.cells import cell_len

from tuninglink.cli.measuring import ProgressLines
from tuninglink.cli.process import run
from tuninglink.cli.terminal import Verbosity, folded, render_table
from tuninglink.cli.usage import SUMMARIES
from tuninglink.errors import Diagnostic, Severity
from tuninglink.tuning.flag_sets import FlagSet

WIDTHS = (60, 80, 120)
PROGRAM = str(ROOT / "examples" / "mmt_2048x1280x5120.mlir")
MLP = str(ROOT / "examples" / "model_mlp.mlir")
GFX942 = str(ROOT / "examples" / "spec_gfx942.mlir")
SM_80 = str(ROOT / "examples" / "spec_sm_80.mlir")
TABLE = str(ROOT / "test" / "cli" / "Inputs" / "recorded_table.json")
HELP = [
    *([], ["help"], ["help", "database"], ["database", "--help"]),
    *([*name.split(), "--help"] for name in SUMMARIES),
    *([*name.split(), "--help-all"] for name in SUMMARIES),
]
OUTPUTS = {
    "check": ["check", GFX942, SM_80, "--target", "gfx942", "--all", "-v"],
    "check with a model": ["check", GFX942, "--model", PROGRAM, "--target", "gfx942"],
    "explain": ["explain", PROGRAM, "--target", "gfx942", "--spec", GFX942],
    "compile": ["compile", MLP, "--target", "host", "--explain", "-v", "-o", "out.vmfb"],
    "link": ["link", GFX942, SM_80, "--target", "gfx942", "-v", "-o", "linked.mlir"],
    "targets": ["targets"],
    "all targets": ["targets", "--all"],
    "doctor": ["doctor"],
    "demo": ["demo", "--budget", "0"],
    "diff": ["diff", GFX942, SM_80],
    "upgrade": ["upgrade", GFX942, "--report", "--target", "gfx942", "-o", "new.mlir"],
    "dry run": ["tune", MLP, "--target", "gfx942", "--dry-run"],
    "candidates": [
        "tune",
        MLP,
        "--target",
        "gfx942",
        "--stop-after",
        "candidates",
        "--trials",
        "2",
    ],
    "tune": [
        *("tune", MLP, "--target", "host", "--device", "local-sync", "--jobs", "1", "--top", "1"),
        *(
            "--budget",
            "5s",
            "--flag-sets",
            "none",
            "--no-model",
            "--no-reference",
            "-o",
            "tuned.mlir",
        ),
    ],
    "verify": ["verify", MLP, "--target", "host", "--device", "local-sync", "--jobs", "1"],
    "database import": ["database", "import", "tuning.db", TABLE],
    "database show": ["database", "show", "tuning.db"],
    "database history": ["database", "history", "tuning.db"],
    "a place": ["check", "long.mlir"],
    "an unknown flag": ["check", GFX942, f"--{'long-' * 30}flag"],
    "a conflict": ["explain", PROGRAM, "--target", "znver4", "--iree-hal-target-device=cuda"],
    "no target": ["tune", PROGRAM],
    "a missing file": ["compile", f"{'folder/' * 30}program.mlir", "--target", "host"],
}
"""Commands, in an order in which the later ones find the files of the earlier ones."""

SLOW = {"tune", "verify", "demo", "doctor", "candidates"}
"""Commands of seconds, which are run on the narrowest terminal only."""


def widest(text: str) -> int:
    """Return the width of the widest line; what returns to the beginning of its line is a line of its own."""
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)
    return max(map(cell_len, re.split(r"[\r\n]+", plain)))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("line", HELP, ids=" ".join)
def test_help_is_as_wide_as_the_terminal(
    line: list[str],
    width: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert run(line) == 0
    shown = capsys.readouterr().out
    assert width // 2 < widest(shown) <= width


@pytest.mark.parametrize(("line", "most"), [(["--help"], 30), (["tune", "--help"], 45)])
def test_help_fits_the_screen(
    line: list[str],
    most: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(line) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= most
    monkeypatch.delenv("COLUMNS")
    assert run(line) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("width", WIDTHS)
def test_output_is_as_wide_as_the_terminal(
    width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    spec = Path(GFX942).read_text().split("module", 1)[1].replace("foreach_match", "foreach_mach")
    (tmp_path / "long.mlir").write_text(f"module {' '.join(spec.split())}\n")
    with contextlib.chdir(tmp_path), forked_commands() as run_on_terminal:
        for name, command in OUTPUTS.items():
            if name in SLOW and width != WIDTHS[0]:
                continue
            shown = run_on_terminal(command, width).errors
            assert "Traceback" not in shown
            assert 0 < widest(shown) <= width, f"{name}\n{shown}"
        # Progress may be shown before a report.
        _, brace, report = run_on_terminal(["doctor", "--format", "json"], width).errors.partition(
            "{"
        )
        assert json.loads(brace + report)["environment"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def table(rows: list[tuple[str, ...]], width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "dumb")  # which has a width as well
    shown = render_table(("line", "entry", "made for"), rows, "spec.mlir", Terminal())
    return re.sub(r"\x1b\[[0-9;]*m", "", shown)


def test_a_table_without_room_becomes_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("11", "match_" + "a" * 40, "tensor<64x64xf32>"), ("12", "b", "")]
    assert "line   entry" in table(rows, 80, monkeypatch)
    assert table(rows, 60, monkeypatch).splitlines() == [
        *("spec.mlir", "line 11", f"  entry     match_{'a' * 40}", "  made for  tensor<64x64xf32>"),
        *("", "line 12", "  entry  b"),
    ]


def test_the_widest_column_is_broken_on_a_wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("11", "match_one", "tensor<64x64xf32>, " * 8)]
    assert "line   entry       made for" in table(rows, 100, monkeypatch)
    assert table(rows, 99, monkeypatch).splitlines()[1] == "line 11"


def test_lines_are_broken_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert folded("a line of a few words\nanother\n", Terminal()) == (
        "a line of a few\n  words\nanother\n"
    )
    assert folded("  " + "x" * 30, Terminal()) == f"  {'x' * 18}\n    {'x' * 12}"
    colored = f"\x1b[1m{'word ' * 3}\x1b[0mend of\n"
    assert folded(colored, Terminal()) == f"\x1b[1m{'word ' * 3}\x1b[0mend\n  of\n"
    spinner = f"\r{'progress ' * 4}"
    assert folded(spinner, Terminal()) == spinner
    assert folded("x" * 30, io.StringIO()) == "x" * 30


def test_progress_of_a_worker_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    # Workers write to the terminal by their plain stream.
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("COLUMNS", "60")
    progress = ProgressLines("tune", Verbosity.NORMAL)
    progress.tuning_under(FlagSet("data tiling, " * 8, ()))
    progress.noticed(Diagnostic(Severity.WARNING, "the budget is too short, " * 8))
    # A worker that is killed leaves its line, and no cursor.
    assert stream.getvalue().count("\r\033[K\033[?25h") == 2
    lines = re.sub(r"\r?\x1b\[[?0-9;]*[mKh]", "", stream.getvalue()).splitlines()
    assert len(lines) > 4
    assert max(map(len, lines)) <= 60
