"""Behavior of the command with terminals, pipes and interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from places import ROOT
from processes import PATIENCE
from terminals import TerminalCommand

from tuninglink.cli.process import run as run_here
from tuninglink.cli.usage import SUMMARIES

if TYPE_CHECKING:
    from collections.abc import Iterator

SPEC = str(ROOT / "examples" / "spec_gfx942.mlir")
TUNINGLINK = str(Path(sys.executable).with_name("tuninglink"))
PLAIN = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "TERM"}}


def run_on_terminal(*arguments: str, **variables: str) -> tuple[int, str]:
    """Run the command with a terminal for its output; return the exit code and what was shown."""
    with TerminalCommand([TUNINGLINK, *arguments], {**PLAIN, **variables}) as command:
        return command.finish()


def test_errors_are_colored_on_a_terminal() -> None:
    code, shown = run_on_terminal("link", "missing.mlir")
    assert code == 1
    assert "\x1b[0;1;31merror: " in shown


def test_no_color_is_honored() -> None:
    code, shown = run_on_terminal("link", "missing.mlir", NO_COLOR="1")
    assert code == 1
    assert "error: cannot read the spec 'missing.mlir'" in shown
    assert "\x1b[0;1;31m" not in shown


def test_output_that_is_no_terminal_has_neither_colors_nor_progress() -> None:
    done = subprocess.run(
        [TUNINGLINK, "link", SPEC], capture_output=True, text=True, env=PLAIN, check=True
    )
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


def test_bytecode_is_not_written_to_a_terminal() -> None:
    code, shown = run_on_terminal("link", SPEC, "--emit-bytecode", NO_COLOR="1")
    assert code == 2
    assert "error: binary output is not written to a terminal" in shown
    assert "note: name a file with -o" in shown


def test_a_program_is_written_to_a_terminal_only_as_text() -> None:
    program = str(ROOT / "examples" / "matmul_128x768x768.mlir")
    command = ("compile", program, "--iree-hal-target-backends=vmvx")
    for binary in ((), ("--compile-to=flow", "--emit-mlir-bytecode"), ("-o", "-")):
        code, shown = run_on_terminal(*command, *binary, NO_COLOR="1")
        assert code == 1
        assert shown.startswith("error: binary output is not written to a terminal")
    code, shown = run_on_terminal(*command, "--compile-to=input", NO_COLOR="1")
    assert code == 0
    assert "linalg.matmul" in shown


def test_a_verbose_link_says_what_it_linked(tmp_path: Path) -> None:
    command = [
        TUNINGLINK,
        "link",
        SPEC,
        SPEC,
        "--target",
        "gfx942",
        "-v",
        "-o",
        tmp_path / "linked",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=PLAIN, check=True)
    *lines, time = done.stderr.splitlines()
    assert lines == [
        f"{SPEC}: matcher list, 1 entry",
        f"{SPEC}: matcher list, 1 entry",
        "tuninglink/shipped/default/gfx942.mlir: matcher list, 3 entries",
        "linked into one list: 3 specs with 5 entries",
    ]
    assert time.startswith("linking: ")


def test_tables_break_no_line_where_nobody_watches() -> None:
    done = subprocess.run(
        [TUNINGLINK, "targets"],
        capture_output=True,
        text=True,
        env={**PLAIN, "COLUMNS": "40"},
        check=True,
    )
    row = "match_matmul_transpose_b_2048x1280x5120_f16   configure             IREE 3.13, default spec"
    assert row in done.stdout
    assert all(line == line.rstrip() for line in done.stdout.splitlines())


@pytest.mark.parametrize("arguments", [("link", SPEC), ("targets", "--all"), ("--help",)])
def test_a_closed_pipe_is_quiet(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.Popen([TUNINGLINK, *arguments], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    _, said = process.communicate(timeout=PATIENCE)
    assert said == b""
    assert process.returncode == 1


def interrupted(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """Interrupt a process; return its exit code and its output."""
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    return process.returncode, said


@pytest.fixture(autouse=True)
def _heed_interrupts() -> Iterator[None]:
    """Handle interrupts again, which a shell makes its background jobs and their children ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def start(*command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_an_interrupt_ends_with_130_and_leaves_nothing(tmp_path: Path) -> None:
    waiting = tmp_path / "pipe"
    os.mkfifo(waiting)
    process = start(TUNINGLINK, "link", str(waiting), "-o", str(tmp_path / "out.mlir"))
    with waiting.open("wb"):  # now the command has begun to read
        assert interrupted(process) == (130, b"tuninglink: interrupted\n")
    assert list(tmp_path.iterdir()) == [waiting]


WRITE_AND_WAIT = """
import sys, time
from tuninglink.cli.main import exit_on_interrupt
from tuninglink.files import replacing

exit_on_interrupt("writing")
with replacing(sys.argv[1]) as place:
    place.write_bytes(b"half")
    print("ready", flush=True)
    time.sleep(600)
"""


def test_an_interrupt_while_a_file_is_written_leaves_what_was_there(tmp_path: Path) -> None:
    place = tmp_path / "out"
    place.write_bytes(b"before")
    process = start(sys.executable, "-c", WRITE_AND_WAIT, str(place))
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    assert interrupted(process) == (130, b"writing: interrupted\n")
    assert place.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [place]


WRITE_FILES = """
from itertools import count
from pathlib import Path
from tuninglink.cli.main import exit_on_interrupt
from tuninglink.files import temporary_directory

exit_on_interrupt("writing")
with temporary_directory() as directory:
    for number in count():
        (directory / str(number)).write_bytes(b"weights")
        if number == 1_000:
            print("ready", flush=True)
"""


def test_an_interrupt_removes_a_directory_while_files_are_written_to_it(tmp_path: Path) -> None:
    """The file that is written after the removal began kept the directory, and the next one was an error."""
    process = start("env", f"TMPDIR={tmp_path}", sys.executable, "-c", WRITE_FILES)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    assert interrupted(process) == (130, b"writing: interrupted\n")
    assert not list(tmp_path.iterdir())


STOP_AND_WAIT = """
import time
from tuninglink.cli import measuring
from tuninglink.cli.main import exit_on_interrupt
from tuninglink.cli.measuring import stopping
from tuninglink.files import temporary_directory
from tuninglink.tuning.deciding import Budget

class Clock:
    times = iter((0.0, 0.9, 1.1))
    def monotonic(self):
        print("asked", flush=True)
        return next(self.times)

measuring.time = Clock()
exit_on_interrupt("tuning")
with temporary_directory(), stopping(Budget(), "tuning"):
    print("ready", flush=True)
    while True:
        time.sleep(600)
"""


def test_a_second_interrupt_of_a_tuning_run_leaves_no_directory(tmp_path: Path) -> None:
    process = start("env", f"TMPDIR={tmp_path}", sys.executable, "-c", STOP_AND_WAIT)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    assert list(tmp_path.iterdir())
    # Soon after the first, an interrupt is the same one, which also a relaying process received.
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == b"asked\n"
    assert process.stderr
    process.stderr.readline()
    assert process.stderr.readline() == b"tuning: interrupted; ending with what is known so far\n"
    assert interrupted(process) == (130, b"")
    assert not list(tmp_path.iterdir())


def test_verbose_names_the_steps_and_quiet_leaves_remarks_out(tmp_path: Path) -> None:
    program = str(ROOT / "examples" / "mmt_2048x1280x5120.mlir")
    command = ["compile", program, "--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"]
    command += ["--compile-to=executable-configurations", "-o", str(tmp_path / "out.mlir")]
    said = {
        flag: subprocess.run(
            [TUNINGLINK, *command, flag], capture_output=True, text=True, env=PLAIN, check=True
        ).stderr
        for flag in ("-v", "-q")
    }
    assert f"compiling {program}: choosing configurations: " in said["-v"]
    assert "remark: the default spec for gfx942 configured 1 operation" in said["-v"]
    assert said["-q"] == ""


@pytest.mark.parametrize("command", SUMMARIES)
def test_the_help_of_every_command_has_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_here([*command.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"tuninglink {command} " in shown.partition("Examples:")[2]
