"""Options are declared once: help, completion and reading follow from the declaration."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

import tuninglink.cli
from tuninglink.cli.completion import completions, known_dispatches
from tuninglink.cli.process import USAGE_ERROR, run
from tuninglink.cli.tune import parse_tune_arguments
from tuninglink.cli.usage import (
    SUMMARIES,
    TOPICS,
    Positional,
    Usage,
    flag_lines,
    help_text,
    spelling,
    usage_of,
)
from tuninglink.compiler import TARGET_FLAG
from tuninglink.errors import TuninglinkError
from tuninglink.llvm_flags import CommandLine, Flag, choice, read_count, switch
from tuninglink.tuning.deciding import Numerics

LONGEST_COMMAND = 60


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_help_has_every_flag_with_a_meaning(name: str) -> None:
    usage = usage_of(name)
    assert usage.name == name
    text = help_text(usage, is_complete=True)
    for flag, declared in usage.flags.items():
        dashes = "--" if len(flag) > 1 else "-"
        if declared.help:
            assert f"{dashes}{flag}" in text
    listed = [name for part in usage.sections for name in (*part.flags, *part.more)]
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("name", SUMMARIES)
def test_fields_and_values_of_flags_are_declared(name: str) -> None:
    for flag in usage_of(name).flags.values():
        assert flag.target
        assert flag.switch or flag.metavar or not flag.help


def test_a_long_meaning_is_wrapped_behind_the_flags() -> None:
    text = flag_lines({"x": Flag("x", metavar="N", help="word " * 40), "hidden": Flag("y")}, 80)
    first, *rest = text.splitlines()
    assert first.startswith("  -x N                 word")
    assert rest
    assert all(line.startswith(" " * 23 + "word") for line in rest)


def test_the_meaning_of_a_long_flag_is_on_its_own_line() -> None:
    text = flag_lines({"a-flag-with-a-long-name": Flag("x", metavar="VALUE", help="word")}, 80)
    assert text.splitlines() == ["  --a-flag-with-a-long-name VALUE", " " * 23 + "word"]


@pytest.mark.parametrize("arguments", [["-j4"], ["-j", "4"], ["-j=4"], ["--jobs", "4"]])
def test_a_number_may_join_a_short_flag(arguments: list[str]) -> None:
    jobs = Flag("jobs", read_count, short="j")
    line = CommandLine({"jobs": jobs}, [*arguments, "-O2"])
    assert line.values == {"jobs": 4}
    assert [unknown.argument for unknown in line.unknown] == ["-O2"]


def completed(line: str) -> list[str]:
    *words, word = f"tuninglink {line}".split(" ")
    return list(completions(words, word))


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_shell_completes_every_flag(name: str) -> None:
    usage = usage_of(name)
    assert {f"--{flag}" for flag in (*usage.flags, "quiet", "help")} <= set(completed(f"{name} --"))
    assert f"-{usage.flags['output'].short if 'output' in usage.flags else 'q'}" in completed(
        f"{name} -"
    )


def test_a_shell_completes_values() -> None:
    assert "library:auto" in completed("link lib")
    assert completed("compile --spec gfx942=library:au") == ["gfx942=library:auto"]
    assert completed("link ./mine") == []
    assert completed("tune --numerics=r") == completed("tune --numerics r") == ["rounding"]
    assert TARGET_FLAG.values is not None
    assert "gfx942" in TARGET_FLAG.values()
    assert "local-sync" in completed("tune --device ")
    assert "neighbors" in completed("tune --search ")
    assert {"TileAndFuse", "DoubleTilingExpert"} <= set(completed("tune --pipeline "))


def test_a_shell_completes_commands() -> None:
    assert completed("database ex") == ["export"]
    assert completed("help database ins") == ["insights"]
    assert "help" in completed("")
    assert completed("nothing x") == completed("help nothing x") == []


def test_a_shell_completes_a_flag_once() -> None:
    assert completed("tune --report x --repor") == []
    assert completed("tune --spec x --spec") == ["--spec", "--spec-dir"]
    assert completed("check --output --str") == ["--strict"]
    assert completed("check -- --str") == []


def test_a_shell_completes_the_dispatches_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    program = ROOT / "examples" / "model_mlp.mlir"
    monkeypatch.setenv("COMP_WORDS", f"tuninglink tune {program} --only ")
    assert list(known_dispatches())[:1] == ["model_dispatch_0"]
    monkeypatch.setenv("COMP_WORDS", "tuninglink tune missing.mlir --only 'mlp")
    assert not list(known_dispatches())


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"], ["help"], ["help", "--help"]])
def test_the_overview_lists_commands_by_topic(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 0
    shown = capsys.readouterr().out
    headings = [line for line in shown.splitlines() if line.endswith(":")]
    assert headings == [f"{topic}:" for topic in TOPICS]
    for topic, commands in TOPICS.items():
        below = shown.partition(f"{topic}:\n")[2].splitlines()[: len(commands)]
        assert [line.split()[0] for line in below] == list(commands)
    assert "tuninglink demo" in shown
    listed = {*(name for commands in TOPICS.values() for name in commands), "demo"}
    assert listed == {name.split()[0] for name in SUMMARIES}


@pytest.mark.parametrize("words", [["database"], ["database", "-h"], ["help", "database"]])
def test_the_overview_of_a_group_lists_its_commands(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 0
    shown = capsys.readouterr().out
    names = [name.split()[1] for name in SUMMARIES if name.startswith("database ")]
    assert [line.split()[0] for line in shown.splitlines() if line.startswith("  ")] == names


@pytest.mark.parametrize("name", SUMMARIES)
def test_help_describes_a_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", *name.split()]) == 0
    shown = capsys.readouterr().out
    assert run([*name.split(), "--help"]) == 0
    assert capsys.readouterr().out == shown
    assert shown.startswith(f"Usage: tuninglink {name}")


def test_help_needs_no_extra() -> None:
    program = """
import sys

class Missing:
    def find_spec(self, name, *rest):
        if name in ("iree.runtime", "ml_dtypes", "sklearn"):
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Missing())
from tuninglink.cli.process import run

sys.exit(max(run([*name.split(), "--help"]) for name in sys.argv[1:]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, *SUMMARIES], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"Usage: tuninglink {name} " in done.stdout for name in SUMMARIES)


def test_help_on_no_command_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", "lnik"]) == USAGE_ERROR
    assert "no such command 'lnik'; did you mean 'link'?" in capsys.readouterr().err


def test_rare_flags_are_in_the_complete_help_only(capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for flag in ("--help", "--help-all"):
        assert run(["tune", flag]) == 0
        shown.append(capsys.readouterr().out)
    short, complete = shown
    flags = [spelling(name, flag) for name, flag in usage_of("tune").flags.items() if flag.help]
    assert all(f"  {flag}" in complete for flag in flags)
    assert 12 <= sum(f"  {flag}" in short for flag in flags) <= 16
    headings = ["Program:", "Target:", "Budget:", "Scope:", "Numerics:", "Output:"]
    for text in shown:
        assert [line for line in text.splitlines() if line in headings] == headings


def test_the_flags_for_specs_are_described_once() -> None:
    sections = [
        help_text(usage_of(name)).partition("\nSpecs:\n")[2].partition("\n\n")[0]
        for name in ("compile", "explain")
    ]
    assert sections[0] == sections[1]
    assert "--spec SPEC" in sections[0]


def test_the_old_spelling_of_any_results_is_read() -> None:
    read = [
        parse_tune_arguments(["in.mlir", flag]) for flag in ("--allow-numerics", "--numerics=any")
    ]
    assert read[0] == read[1]


FLAGS = {
    "output": Flag("output", short="o", metavar="OUT", help="The result."),
    "numerics": choice("numerics", Numerics, "The results."),
    "no-upgrade": switch("upgrade", "Refuse.", value=False),
}


def usage(*positionals: Positional) -> Usage:
    return Usage(name="link", positionals=positionals, flags=FLAGS, examples=())


def test_a_short_name_is_that_of_its_flag() -> None:
    for line in (["-o", "x"], ["--output", "x"], ["-o=x"], ["--output=x"]):
        assert usage().parse(line) == ({"output": "x"}, ())
    with pytest.raises(TuninglinkError, match="flag '--output' is given more than once"):
        usage().parse(["-o", "x", "--output", "y"])


def test_a_switch_that_turns_something_off() -> None:
    assert usage().parse(["--no-upgrade"])[0] == {"upgrade": False}
    assert usage().parse(["--no-upgrade=false"])[0] == {"upgrade": True}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--outptu x", "unknown flag '--outptu'; did you mean '--output'?"),
        ("-o", "flag '-o' needs a value"),
        ("--numerics bit", "expected one of bitwise, rounding, any"),
        ("", "the argument OLD is missing"),
        ("a", "the argument NEW is missing"),
        ("a b c", "unexpected argument 'c'"),
    ],
)
def test_usage_errors_name_the_argument(line: str, message: str) -> None:
    command = usage(Positional("OLD", "One."), Positional("NEW", "Another one."))
    with pytest.raises(TuninglinkError) as caught:
        command.parse(line.split())
    assert message in str(caught.value)


def test_the_usage_line_is_made_from_the_declarations() -> None:
    command = Usage(
        name="link",
        positionals=(Positional("SPEC", "", optional=True, repeats=True),),
        flags={**FLAGS, "spec": Flag("specs", repeats=True, metavar="SPEC", help="More.")},
        main_flags=("spec", "output"),
        examples=(),
    )
    assert command.line == "tuninglink link [SPEC]... [--spec SPEC]... [-o OUT] [FLAG]..."


def test_commands_are_short() -> None:
    for path in Path(tuninglink.cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                assert length <= LONGEST_COMMAND, f"{path.name}: {node.name} has {length} lines"


def test_values_of_own_flags_are_not_response_files(tmp_path: Path) -> None:
    array, more = tmp_path / "x.npy", tmp_path / "more"
    array.write_bytes(b"\x93NUMPY")
    more.write_text(f"--input @{array} -x")
    known = {"input": Flag("inputs", repeats=True)}
    line = CommandLine(known, ["--input", f"@{array}", f"@{more}", f"--input=@{array}"])
    assert line.values == {"inputs": (f"@{array}",) * 3}
    assert [flag.argument for flag in line.unknown] == ["-x"]
