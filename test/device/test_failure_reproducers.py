"""Reproducers of dispatches that fail at run time: scripts that need the stock tools alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from stack_programs import OVERFLOWING_FLAGS, overflowing
from tuning_programs import matmul, prepared

from tuninglink.devices import DeviceProcess, Outputs
from tuninglink.programs import Benchmark, Failure, FailureKind, read_program
from tuninglink.tuning.candidates import Compiled, compile_program
from tuninglink.tuning.references import HOST, Reproducers

if TYPE_CHECKING:
    from tuninglink.programs import TuningTask


def task_of(source: str, flags: tuple[str, ...], directory: Path) -> TuningTask:
    path = directory / "program.mlir"
    path.write_text(source)
    (task,) = read_program(str(path), flags).tasks
    return task


def reproduce(directory: Path | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    assert directory is not None
    command = [sys.executable, str(directory / "reproduce.py"), *arguments]
    tools = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=tools)


def test_a_crash_is_reproduced(tmp_path: Path) -> None:
    task = task_of(overflowing(), OVERFLOWING_FLAGS, tmp_path)
    compiled = compile_program(task.source, "")
    assert isinstance(compiled, Compiled)
    with DeviceProcess("local-sync", timeout=60.0) as device:
        failure = device.outputs(Benchmark(compiled.image, task.function, task.layout))
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.CRASH
    path = Reproducers(tmp_path, OVERFLOWING_FLAGS, "local-sync").keep_dispatch(task, failure)
    done = reproduce(path)
    assert done.returncode == 1
    assert "benchmark.mlir: iree-run-module ended with" in done.stderr
    assert path is not None
    assert failure.message in (path / "reproduce.py").read_text()


@pytest.mark.parametrize("element", ["f16", "f32"])
def test_a_reproducer_computes_what_was_recorded(element: str, tmp_path: Path) -> None:
    task = task_of(matmul(24, 40, 56, element), HOST.flags, tmp_path)
    compiled = compile_program(task.source, "")
    assert isinstance(compiled, Compiled)
    with DeviceProcess("local-sync", timeout=60.0) as device:
        outputs = device.outputs(Benchmark(compiled.image, task.function, task.layout))
    assert isinstance(outputs, Outputs)
    failure = Failure(FailureKind.WRONG, 'element "\\0"')
    path = Reproducers(tmp_path, HOST.flags, "local-sync").keep_dispatch(task, failure)
    done = reproduce(path)
    # The result is right: the reference agrees, and nothing fails.
    assert done.returncode == 0, done.stderr
    assert "binding 2: relative error" in done.stdout
    assert path is not None
    written = np.load(path / "benchmark.npy").view(np.uint8).reshape(-1)
    part = task.layout.bindings[2]
    content = written[part.offset : part.offset + part.byte_length]
    np.testing.assert_array_equal(content, outputs.bindings[2])


def test_a_candidate_without_an_end_is_reproduced(tmp_path: Path) -> None:
    task = prepared(matmul(8, 256, 512), "host-cpu")
    (candidate,) = task.spaces.sample(1, 0)
    reproducers = Reproducers(tmp_path, HOST.flags, "local-sync")
    failure = Failure(FailureKind.TIMEOUT, "no answer")
    path = reproducers.keep_candidate(task, candidate, failure)
    assert reproduce(path).returncode == 0
    done = reproduce(path, "--seconds", "0")
    assert done.returncode == 1
    assert "no end after 0 s" in done.stderr


def test_failures_of_the_machine_have_no_reproducer(tmp_path: Path) -> None:
    task = prepared(matmul(8, 256, 512), "host-cpu")
    failure = Failure(FailureKind.CRASH, "it was killed", is_external=True)
    reproducers = Reproducers(tmp_path / "failures", HOST.flags, "local-sync")
    assert not reproducers.keep_candidate(task, task.spaces.default, failure)
    assert not reproducers.keep_dispatch(task.task, failure)
    assert not (tmp_path / "failures").exists()


def test_verify_fails_where_a_dispatch_crashes(tmp_path: Path) -> None:
    program = tmp_path / "program.mlir"
    program.write_text(overflowing())
    command = [Path(sys.executable).parent / "tuninglink", "verify", program, *OVERFLOWING_FLAGS]
    options = ["--device", "local-sync", "--failures", tmp_path / "failures"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "fails" in done.stdout
    assert "it does not run: the worker process ended (segmentation fault)" in done.stdout
    (directory,) = (tmp_path / "failures").iterdir()
    assert f"see {directory}" in done.stderr
    assert (directory / "reproduce.py").exists()
