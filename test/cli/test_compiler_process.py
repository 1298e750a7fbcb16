"""`tuninglink compile` as a process: interrupts, closed pipes, full disks, terminals."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from elementwise_specs import PROGRAM
from places import TOOLS
from processes import children
from programs import TARGETS, listening
from terminals import TerminalCommand

VMVX = TARGETS["vmvx"]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return path


def write_functions(path: Path, count: int) -> Path:
    functions = [PROGRAM.replace("@add", f"@add{i}").replace("16", str(i)) for i in range(count)]
    path.write_text("".join(functions))
    return path


@pytest.fixture
def large_program(tmp_path: Path) -> Path:
    """Take the compiler a second."""
    return write_functions(tmp_path / "large.mlir", 200)


@pytest.fixture
def endless_program(tmp_path: Path) -> Path:
    """Take the compiler much longer than a test waits."""
    return write_functions(tmp_path / "endless.mlir", 4000)


def command(*arguments: str | Path) -> list[str]:
    return [str(each) for each in (TOOLS / "tuninglink", "compile", *arguments)]


def is_compiling(process: int) -> bool:
    """Return whether a command has reached the compiler's own threads, besides the one that awaits interrupts."""
    return any(len(list(Path(f"/proc/{each}/task").iterdir())) > 3 for each in children(process))


def test_an_interrupt_ends_it_at_once_and_leaves_nothing(
    endless_program: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out" / "large.vmfb"
    output.parent.mkdir()
    process = subprocess.Popen(
        listening(command(endless_program, *VMVX, "-o", output)), stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and not is_compiling(process.pid):
        time.sleep(0.01)
    assert process.poll() is None, "it must still be compiling"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    # Had it waited for the compiler, it would have succeeded.
    assert process.returncode == 130
    assert errors == "tuninglink: interrupted\n"
    assert list(output.parent.iterdir()) == []


def test_a_crash_of_the_compiler_is_an_error(program: Path) -> None:
    process = subprocess.Popen(
        command(program, *VMVX, "-o", "-"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while not children(process.pid):
        assert process.poll() is None
    os.kill(children(process.pid)[0], signal.SIGSEGV)
    output, errors = process.communicate()
    assert (process.returncode, output) == (1, b"")
    assert errors.startswith(b"error: the compiler crashed: segmentation fault\n")


EMPTY_REDUCTION = """
func.func @product(%lhs: tensor<8x0xf32>, %rhs: tensor<0x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x16xf32>) -> tensor<8x16xf32>
  %result = linalg.matmul ins(%lhs, %rhs : tensor<8x0xf32>, tensor<0x16xf32>)
      outs(%init : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %result : tensor<8x16xf32>
}
"""
"""The compiler divides by the size of the reduction."""


@pytest.mark.parametrize("name", ["compile", "explain", "tune"])
def test_a_reduction_of_no_elements_is_an_error(name: str, tmp_path: Path) -> None:
    program = tmp_path / "empty.mlir"
    program.write_text(EMPTY_REDUCTION)
    arguments = ["-o", str(tmp_path / "out")] if name != "explain" else []
    own = ["--flag-sets", "none", "--trials", "1"] if name == "tune" else []
    result = subprocess.run(
        [str(TOOLS / "tuninglink"), name, str(program), *arguments, *own, *TARGETS["llvm-cpu"]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert "error: the compiler crashed: floating point exception\n" in result.stderr


def test_a_terminated_command_ends_with_the_process_that_does_its_work(
    endless_program: Path, tmp_path: Path
) -> None:
    process = subprocess.Popen(command(endless_program, *VMVX, "-o", tmp_path / "out.vmfb"))
    while not children(process.pid):
        assert process.poll() is None
    (worker,) = children(process.pid)
    process.terminate()
    assert process.wait() == -signal.SIGTERM
    assert not Path(f"/proc/{worker}").exists()


def test_a_reader_who_has_gone_is_told_nothing(program: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    result = subprocess.run(
        command(program, *VMVX), stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert result.returncode == 1
    assert result.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_is_an_error(program: Path) -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            command(program, *VMVX), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == 1
    assert result.stderr == "error: cannot write '<stdout>': no space left on device\n"
    result = subprocess.run(
        command(program, *VMVX, "-o", "/dev/full"), capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert result.stderr == "error: cannot write '/dev/full': no space left on device\n"


def test_the_output_can_be_a_pipe_or_no_file_at_all(program: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(command(program, *VMVX, "-o", pipe))
    assert pipe.read_bytes().startswith(b"PK")
    assert process.wait() == 0
    subprocess.run(command(program, *VMVX, "-o", "/dev/null"), check=True)


def test_the_input_can_be_a_pipe(program: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(command(pipe, *VMVX), stdout=subprocess.PIPE)
    pipe.write_text(program.read_text())
    output, _ = process.communicate()
    assert process.returncode == 0
    assert output.startswith(b"PK")


def test_it_is_quiet_where_nobody_watches(large_program: Path) -> None:
    flags = [*VMVX, "--compile-to=flow", "-o", "/dev/null"]
    result = subprocess.run(command(large_program, *flags), capture_output=True, check=True)
    assert (result.stdout, result.stderr) == (b"", b"")


def test_it_shows_on_a_terminal_that_it_works(endless_program: Path) -> None:
    flags = [*VMVX, "--compile-to=stream", "-o", "/dev/null"]
    with TerminalCommand(command(endless_program, *flags)) as terminal:
        terminal.wait_for("compiling")
