"""Boards as devices: measurements by the runtime's tools, their results, and whole runs of the tuner."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from boards import EMULATOR, aarch64_tools, small_directory, uri
from device_benchmarks import (
    DOUBLE,
    FAULT,
    HANG,
    LAYOUT,
    OVERRUN,
    SLOW_DOUBLE,
    VERY_SLOW_DOUBLE,
    WRONG,
    benchmark,
    compile_program,
    straight,
)
from processes import PATIENCE, eventually
from programs import HOST_CPU
from recorded_tuning import tune as tune_here
from tuning_programs import matmul

from tuninglink.cli.tune import parse_tune_arguments
from tuninglink.compiler import compile_flags
from tuninglink.devices import (
    BoardDevice,
    DeviceError,
    DeviceProcess,
    Devices,
    Rounds,
    Settings,
    Timing,
    check_devices,
    foreign_family,
)
from tuninglink.iree import Target
from tuninglink.programs import (
    Access,
    Benchmark,
    Binding,
    BufferLayout,
    CompiledProgram,
    Failure,
    FailureKind,
    Parameter,
    ParameterSource,
    ProgramInput,
)
from tuninglink.tuning.database import Database
from tuninglink.tuning.deciding import Contestant, Outcome, Race, RaceRules, TuningSettings
from tuninglink.tuning.flag_sets import Listener, choose_flags

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tuninglink.tuning.candidates import CandidateCompiler


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoardDevice]:
    with BoardDevice(uri(tmp_path_factory.mktemp("board")), Settings(), PATIENCE) as opened:
        yield opened


def failure(answer: object, kind: FailureKind) -> str:
    assert isinstance(answer, Failure)
    assert answer.kind is kind
    return answer.message


def test_a_board_is_described(board: BoardDevice) -> None:
    description = board.description
    assert description.uri == "run:env"
    assert description.driver == "local-sync"
    assert description.is_local
    assert description.name == DeviceProcess("local-sync").description.name


def test_a_slow_candidate_is_sampled_once(board: BoardDevice) -> None:
    fast = board.measure(benchmark(DOUBLE))
    assert isinstance(fast, Timing)
    assert len(fast.samples) >= 3
    assert fast.batch > 1
    slow = board.measure(benchmark(VERY_SLOW_DOUBLE), limit_microseconds=2 * fast.least)
    assert isinstance(slow, Timing)
    assert len(slow.samples) == 1
    assert slow.least > 100 * fast.least


def test_rounds_and_races_find_the_faster_one_with_the_right_result(board: BoardDevice) -> None:
    rounds = board.rounds([benchmark(DOUBLE), benchmark(VERY_SLOW_DOUBLE)], 3, seed=0)
    assert isinstance(rounds, Rounds)
    assert len(rounds.samples) == 3
    assert rounds.batches[0] > rounds.batches[1]
    assert rounds.timing(1).median > 100 * rounds.timing(0).median
    default, right, wrong = (
        Contestant(benchmark(element), 10.0) for element in (SLOW_DOUBLE, DOUBLE, WRONG)
    )

    def check(candidate: Benchmark) -> Failure | None:
        return board.compare(candidate, default.benchmark)

    result = Race(board, default, [wrong, right], check, RaceRules(gap_seconds=0.0)).run()
    assert result.winner == 1
    assert result.decision is not None
    assert result.decision.outcome is Outcome.FASTER
    assert result.failures[0].kind is FailureKind.WRONG


def test_failures_of_a_candidate_lose_only_that_candidate(board: BoardDevice) -> None:
    failure(board.measure(Benchmark(b"no module", "f", LAYOUT)), FailureKind.LOAD)
    missing = replace(benchmark(DOUBLE), function="missing")
    failure(board.measure(missing), FailureKind.LOAD)
    failure(board.measure(straight(FAULT)), FailureKind.RUN)
    message = failure(
        board.compare(benchmark(OVERRUN), benchmark(DOUBLE)), FailureKind.OUT_OF_BOUNDS
    )
    output = LAYOUT.bindings[1]
    assert f"the first at byte {output.offset + output.byte_length}, after binding 1" in message
    assert isinstance(board.measure(benchmark(DOUBLE)), Timing)


def test_a_hanging_candidate_is_ended_on_the_board(tmp_path: Path) -> None:
    with BoardDevice(uri(tmp_path), Settings(), timeout=1) as board:
        failure(board.measure(straight(HANG)), FailureKind.TIMEOUT)


def test_a_clock_that_drops_between_two_requests_is_a_throttled_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, sleep, pauses = tmp_path / "cpu", time.sleep, list[float]()
    clock = system / "cpu0" / "cpufreq" / "scaling_cur_freq"
    clock.parent.mkdir(parents=True)
    clock.with_name("scaling_governor").write_text("performance\n")
    clock.write_text("3000000\n")
    # The scripts of the session read the state of the processor from this directory.
    script = tmp_path / "other-processor"
    script.write_text(
        f'#!/bin/sh\n[ $# -gt 1 ] && exec "$@"\nsed "s|/sys/devices/system/cpu|{system}|" | "$@"\n'
    )
    script.chmod(0o755)

    def count(seconds: float) -> None:
        if seconds == 10.0:
            pauses.append(seconds)
        else:
            sleep(seconds)

    monkeypatch.setattr(time, "sleep", count)
    with BoardDevice(uri(tmp_path / "board", str(script)), Settings(), PATIENCE) as board:
        assert isinstance(board.measure(benchmark(DOUBLE)), Timing)
        assert pauses == []
        clock.write_text("2000000\n")
        assert isinstance(board.measure(benchmark(DOUBLE)), Timing)
        assert len(pauses) == 3
        # As pauses do not help, it is the highest one from now on.
        assert isinstance(board.measure(benchmark(DOUBLE)), Timing)
        assert len(pauses) == 3


def test_inputs_on_a_board_are_those_of_other_devices(board: BoardDevice) -> None:
    length = 5 << 19  # more than one period
    bindings = (
        Binding(Access.READ_WRITE, "i8", (length,), 64, length),
        Binding(Access.READ_WRITE, "f16", (3,), length + 128, 6),
    )
    layout = BufferLayout(bindings, stride=length + 384, guard=64)
    idle = replace(straight("util.return %buffer : !hal.buffer"), layout=layout)
    with DeviceProcess("local-sync") as device:
        expected, actual = device.outputs(idle), board.outputs(idle)
    assert not isinstance(expected, Failure)
    assert not isinstance(actual, Failure)
    assert actual.violation is expected.violation is None
    for number in range(2):
        assert (actual.bindings[number] == expected.bindings[number]).all()


PROGRAM = """
util.global private @weight = #flow.parameter.named<"model"::"w"> : tensor<4xf32>
func.func @main(%x: tensor<4xf32>, %n: i32, %bits: tensor<2xi1>, %half: tensor<2xbf16>)
    -> (tensor<4xf32>, i32, tensor<2xi1>, tensor<2xbf16>) {
  %w = util.global.load @weight : tensor<4xf32>
  %y = arith.addf %x, %w : tensor<4xf32>
  %m = arith.addi %n, %n : i32
  %sum = arith.addf %half, %half : tensor<2xbf16>
  return %y, %m, %bits, %sum : tensor<4xf32>, i32, tensor<2xi1>, tensor<2xbf16>
}"""


def test_a_program_on_a_board_returns_what_it_returns_elsewhere(board: BoardDevice) -> None:
    program = CompiledProgram(
        compile_program(PROGRAM, *HOST_CPU),
        "main",
        (
            ProgramInput((4,), "f32"),
            ProgramInput((), "i32", is_scalar=True),
            ProgramInput((2,), "i1"),
            ProgramInput((2,), "bf16"),
        ),
        parameters=ParameterSource((Parameter("model", "w", "f32", (4,)),)),
    )
    with DeviceProcess("local-sync") as device:
        expected = device.program_outputs(program)
    actual = board.program_outputs(program)
    assert not isinstance(expected, Failure)
    assert not isinstance(actual, Failure), actual.message
    assert len(actual.arrays) == 4
    for own, other in zip(actual.arrays, expected.arrays, strict=True):
        assert own.dtype.kind == other.dtype.kind
        assert np.array_equal(own.view(), other.view())
    assert actual.seconds > 0
    rounds = board.rounds([program, replace(program, is_stateful=True)], 3, seed=0)
    assert isinstance(rounds, Rounds)
    updated = replace(program, inputs=(ProgramInput((4,), "f32", is_updated=True),))
    assert "not read" in failure(board.program_outputs(updated), FailureKind.RUN)


def tune(program: Path, device: str, *flags: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "tuninglink", "tune", str(program), "--device", device]
    words += ["--flag-sets", "none", "--caches", "warm", "--jobs", "1", "--no-forms"]
    words += ["--timeout", f"{PATIENCE}s", *flags]
    return subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> tuple[str, str, int]:
    output, errors = process.communicate()
    return output, errors, process.returncode


def test_a_product_is_tuned_and_the_database_continues(tmp_path: Path) -> None:
    program, spec = tmp_path / "product.mlir", tmp_path / "tuned.mlir"
    program.write_text(matmul(32, 48, 64))
    place = tmp_path / "board"
    flags = ("--target", "host", "--trials", "2", "-o", str(spec))
    flags += ("--database", str(tmp_path / "tuning.db"))
    _, errors, code = finished(tune(program, uri(place), *flags))
    assert code == 0, errors
    assert "run:env" in errors
    assert "relative error of the outputs" in errors
    assert list(place.iterdir()) == []
    with Database(tmp_path / "tuning.db") as database:
        assert database.values("device") == [DeviceProcess("local-sync").description.name]


THREE = """
func.func @product(%a: tensor<16x32xf32>, %b: tensor<32x48xf32>) -> tensor<16x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x48xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x48xf32>) -> tensor<16x48xf32>
  %result = linalg.matmul ins(%a, %b : tensor<16x32xf32>, tensor<32x48xf32>)
    outs(%init : tensor<16x48xf32>) -> tensor<16x48xf32>
  return %result : tensor<16x48xf32>
}
func.func @depthwise(%image: tensor<1x10x10x16xf32>, %filter: tensor<3x3x16xf32>) -> tensor<1x8x8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x8x8x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
  %result = linalg.depthwise_conv_2d_nhwc_hwc
    ins(%image, %filter : tensor<1x10x10x16xf32>, tensor<3x3x16xf32>)
    outs(%init : tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
  return %result : tensor<1x8x8x16xf32>
}
func.func @quantized(%a: tensor<16x32xi8>, %b: tensor<32x48xi8>) -> tensor<16x48xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<16x48xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<16x48xi32>) -> tensor<16x48xi32>
  %result = linalg.matmul ins(%a, %b : tensor<16x32xi8>, tensor<32x48xi8>)
    outs(%init : tensor<16x48xi32>) -> tensor<16x48xi32>
  return %result : tensor<16x48xi32>
}
"""


def test_dispatches_for_another_processor_are_tuned_and_verified(tmp_path: Path) -> None:
    """Under an emulator, with the references that this machine computes."""
    tools = aarch64_tools()
    program, spec = tmp_path / "three.mlir", tmp_path / "tuned.mlir"
    program.write_text(THREE)
    place, report = tmp_path / "board", tmp_path / "report"
    device = uri(place, EMULATOR, tools)
    flags = ("--target", "neoverse-v1", "--trials", "1", "--min-gain", "90%")
    flags += ("-o", str(spec), "--report", str(report))
    _, errors, code = finished(tune(program, device, *flags))
    assert code == 0, errors
    assert "warning: times under an emulator are not times" in errors
    assert "relative error of the outputs against llvm-cpu" in errors
    dispatches = json.loads((report / "report.json").read_text())["dispatches"]
    assert {dispatch["default_result"] for dispatch in dispatches} == {"right"}
    assert [dispatch["trials"] for dispatch in dispatches] == [1, 1, 1]
    assert list(place.iterdir()) == []
    with pytest.raises(DeviceError, match="does not run code for aarch64") as raised:
        check_devices((), compile_flags(Target.parse("neoverse-v1")))
    assert "run:ssh board" in str(raised.value.diagnostics[0].notes)


def test_only_code_that_certainly_does_not_run_is_refused() -> None:
    triple = "--iree-llvmcpu-target-triple="
    for family, machine, expected in (
        ("aarch64", "x86_64", "aarch64"),
        ("arm64", "aarch64", ""),
        ("armv7a", "armv7l", ""),
        ("i686", "x86_64", ""),
        ("arm", "aarch64", ""),
        ("x86_64", "", ""),
    ):
        assert foreign_family((f"{triple}{family}-linux-gnu",), machine) == expected
    assert foreign_family((), "x86_64") == ""


def test_sets_of_flags_for_another_processor_are_not_compared(tmp_path: Path) -> None:
    program, sets = tmp_path / "product.mlir", tmp_path / "sets"
    program.write_text(matmul(16, 32, 32))
    sets.write_text("same: --iree-opt-aggressively-propagate-transposes\n")
    words = [str(program), "--target", "neoverse-v1", "--device", uri(tmp_path / "board")]
    options = parse_tune_arguments([*words, "--flag-sets", str(sets), "--jobs", "1", "--no-forms"])
    with choose_flags(options, Listener(), time.monotonic() + PATIENCE) as choice:
        assert choice.result.reason.startswith("code for aarch64 does not run on ")


def test_a_killed_run_leaves_nothing_on_the_board(tmp_path: Path) -> None:
    program, place = tmp_path / "product.mlir", tmp_path / "board"
    program.write_text(matmul(64, 96, 128))
    device = uri(place, lease=2)
    flags = ("--target", "host", "--no-reference", "-o", str(tmp_path / "tuned.mlir"))
    with tune(program, device, *flags) as process:
        try:
            assert eventually(lambda: any(place.glob("*/running")))
            (session,) = place.iterdir()
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
    assert eventually(lambda: not session.exists())


def test_a_dispatch_that_does_not_fit_on_the_board_loses_only_itself(
    tmp_path: Path, compiler: CandidateCompiler
) -> None:
    program, place = tmp_path / "two.mlir", tmp_path / "board"
    program.write_text(matmul(16, 32, 32) + matmul(16, 1024, 1024, name="large"))
    settings = TuningSettings(trials=2, runs_model=False, timeout=PATIENCE)
    with small_directory(place, 2) as command:
        device = uri(place, shlex.join(command))
        with Devices([device], Settings(), PATIENCE) as devices:
            result = tune_here(program, None, devices, compiler, settings=settings)
        assert list(place.iterdir()) == []
    (task,) = result.tasks
    assert len(task.trials) == 2
    assert all(trial.microseconds is not None for trial in task.trials)
    (omission,) = result.omissions
    assert "no space left in" in omission.reason
