"""Profiles of programs: recorded by the runtime, read by `explain`, and as weights of `tune`."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from places import TOOLS
from processes import eventually
from programs import HOST_CPU, listening

from tuninglink.cli.compile import specs_of
from tuninglink.compiler import CompileOptions, SpecChoice
from tuninglink.devices import DeviceError, DeviceProcess, Settings, Timing
from tuninglink.errors import TuninglinkError
from tuninglink.explaining import (
    DispatchEvent,
    Profile,
    explain,
    explain_file,
    read_profile,
    runtime_tool,
    until_configured,
)
from tuninglink.iree import GivenSizes
from tuninglink.plain_data import to_json_by_line
from tuninglink.programs import (
    ALL_CALLS,
    CallOptions,
    DispatchedProgram,
    GivenInput,
    read_program,
)
from tuninglink.tuning import (
    ProgramMeasurement,
    program_profiles,
    record_profile,
    weighed,
)
from tuninglink.tuning.scheduling import DefaultQueue

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.programs import Benchmark
    from tuninglink.tuning.candidates import CandidateCompiler

FLAGS = HOST_CPU
ROUNDS = 25

LOOP = """
func.func @main(%x: tensor<48x48xf32>, %y: tensor<96x48xf32>, %rounds: index) -> tensor<96x48xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %small = tensor.empty() : tensor<48x48xf32>
  %large = tensor.empty() : tensor<96x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%small : tensor<48x48xf32>) -> tensor<48x48xf32>
  %g = linalg.fill ins(%zero : f32) outs(%large : tensor<96x48xf32>) -> tensor<96x48xf32>
  %power = scf.for %i = %c0 to %rounds step %c1 iter_args(%a = %x) -> tensor<48x48xf32> {
    %m = linalg.matmul ins(%a, %x : tensor<48x48xf32>, tensor<48x48xf32>)
        outs(%f : tensor<48x48xf32>) -> tensor<48x48xf32>
    scf.yield %m : tensor<48x48xf32>
  }
  %r = linalg.matmul ins(%y, %power : tensor<96x48xf32>, tensor<48x48xf32>)
      outs(%g : tensor<96x48xf32>) -> tensor<96x48xf32>
  return %r : tensor<96x48xf32>
}
"""
"""The small product runs a given number of times, and has less work than the large one."""

DYNAMIC = """
func.func @main(%l: tensor<?x32xf32>, %r: tensor<32x16xf32>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %l, %c0 : tensor<?x32xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%rows) : tensor<?x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x16xf32>) -> tensor<?x16xf32>
  %m = linalg.matmul ins(%l, %r : tensor<?x32xf32>, tensor<32x16xf32>)
      outs(%f : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %m : tensor<?x16xf32>
}
"""

INPUTS = ("48x48xf32=0.01", "96x48xf32=1", str(ROUNDS))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "loop.mlir"
    path.write_text(LOOP)
    return path


@pytest.fixture
def dispatched(program: Path) -> DispatchedProgram:
    return read_program(str(program), FLAGS)


def notes_of(failure: TuninglinkError) -> str:
    return "\n".join(note.message for note in failure.diagnostics[0].notes)


def image_of(program: DispatchedProgram, compiler: CandidateCompiler) -> bytes:
    compiled = compiler.submit_whole(program.saved, "", 600.0).result()
    return compiled.image  # type: ignore[union-attr]


@pytest.fixture
def image(dispatched: DispatchedProgram, compiler: CandidateCompiler) -> bytes:
    return image_of(dispatched, compiler)


def recorded(image: bytes, directory: Path, device: str, runs: int, *modes: str) -> Path:
    module, output = directory / "loop.vmfb", directory / "loop.ireeprof"
    module.write_bytes(image)
    command = [
        str(runtime_tool("iree-benchmark-module")),
        *(f"--module={module}", f"--device={device}", "--function=main"),
        *(f"--input={value}" for value in INPUTS),
        *(f"--benchmark_min_time={runs}x", f"--device_profiling_output={output}"),
        f"--device_profiling_mode={','.join(modes)}",
    ]
    subprocess.run(command, check=True, capture_output=True)
    return output


@pytest.mark.parametrize("device", ["local-sync", "local-task"])
def test_times_and_calls_of_dispatches_are_read(
    program: Path, image: bytes, tmp_path: Path, device: str
) -> None:
    profile = read_profile(str(recorded(image, tmp_path, device, 4, "host-execution")))
    assert sorted(profile.counts.values()) == [4, 4 * ROUNDS]
    explained = explain(str(program), flags=FLAGS, times=[profile])
    assert explained.measure == "time"
    assert sorted(dispatch.calls for dispatch in explained.dispatches) == [1, ROUNDS]
    assert any("the profile counted" in note for note in explained.notes)


def test_tasks_have_the_weights_of_a_profile(
    dispatched: DispatchedProgram, image: bytes, tmp_path: Path
) -> None:
    path = recorded(image, tmp_path, "local-sync", 3, "host-execution")
    profile = read_profile(str(path))
    tasks = weighed(dispatched, profile).tasks
    assert all(task.profiled_us for task in tasks)
    times = {task.label: task.profiled_us for task in tasks}
    calls = {name: count / 3 for name, count in profile.counts.items()}
    assert times == pytest.approx({name: profile.by_name[name] * calls[name] for name in times})


def test_the_dispatch_with_the_most_time_is_first(dispatched: DispatchedProgram) -> None:
    def order(program: DispatchedProgram) -> list[str]:
        tuner = SimpleNamespace(devices=SimpleNamespace(at_once=1, descriptions=("a device",)))
        queue = DefaultQueue(tuner, program.tasks, lambda _: None)  # type: ignore[arg-type]
        return [task.label for task in queue.waiting]

    by_work = order(dispatched)
    profile = program_profiles.Profile({by_work[0]: 2.0, by_work[-1]: 7.0})
    assert order(weighed(dispatched, profile)) == by_work[::-1]
    assert order(weighed(dispatched, program_profiles.Profile({"other": 1.0}))) == by_work


def test_an_explanation_with_times_is_a_profile(
    program: Path, image: bytes, tmp_path: Path
) -> None:
    profile = read_profile(str(recorded(image, tmp_path, "local-sync", 2, "host-execution")))
    explained = explain(str(program), flags=FLAGS, times=[profile])
    path = tmp_path / "explanation.json"
    path.write_text(to_json_by_line(explained))
    again = explain(str(program), flags=FLAGS, times=[read_profile(str(path))])
    assert [dispatch.weight for dispatch in again.dispatches] == [
        dispatch.weight for dispatch in explained.dispatches
    ]
    dispatches = tuple(
        replace(dispatch, default_microseconds=dispatch.microseconds)
        for dispatch in explained.dispatches
    )
    path.write_text(to_json_by_line(replace(explained, dispatches=dispatches)))
    defaults = read_profile(str(path)).defaults
    assert defaults == {dispatch.name: dispatch.microseconds for dispatch in dispatches}
    path.write_text(to_json_by_line(explain(str(program), flags=FLAGS)))
    with pytest.raises(TuninglinkError, match="has no times of dispatches"):
        read_profile(str(path))


def test_a_profile_without_dispatches_is_an_error(image: bytes, tmp_path: Path) -> None:
    path = recorded(image, tmp_path, "local-sync", 1, "queue-events")
    with pytest.raises(TuninglinkError, match="has no times of dispatches") as failure:
        read_profile(str(path))
    assert "--device_profiling_mode=host-execution" in notes_of(failure.value)


def test_a_profile_that_is_cut_off_is_an_error(image: bytes, tmp_path: Path) -> None:
    path = recorded(image, tmp_path, "local-sync", 1, "host-execution")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(TuninglinkError, match="profile file length extends past"):
        read_profile(str(path))


def record(program: DispatchedProgram, image: bytes, device: str) -> program_profiles.Profile:
    assert program.calls is not None
    return record_profile(program.calls, image, device)


@pytest.mark.parametrize("device", ["local-sync", "local-task"])
def test_a_program_is_profiled_with_its_inputs(
    program: Path, compiler: CandidateCompiler, device: str
) -> None:
    inputs = tuple(map(GivenInput.parse, INPUTS))
    called = read_program(str(program), FLAGS, options=CallOptions(inputs=inputs))
    profile = record(called, image_of(called, compiler), device)
    assert sorted(profile.counts.values()) == [1, ROUNDS]
    assert profile.runs == 1
    assert profile.device


WEIGHTS = """
util.global private @weight = #flow.parameter.named<"model"::"w"> : tensor<32x16xbf16>
func.func @main(%x: tensor<8x32xbf16>, %mask: tensor<8x16xi1>, %scale: f32) -> tensor<8x16xf32> {
  %w = util.global.load @weight : tensor<32x16xbf16>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x16xf32>) -> tensor<8x16xf32>
  %m = linalg.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>)
      outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%m, %mask : tensor<8x16xf32>, tensor<8x16xi1>) outs(%empty : tensor<8x16xf32>) {
    ^bb0(%a: f32, %k: i1, %o: f32):
      %s = arith.mulf %a, %scale : f32
      %c = arith.select %k, %s, %a : f32
      linalg.yield %c : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}
"""


def test_random_inputs_and_weights_reach_the_program(
    tmp_path: Path, compiler: CandidateCompiler
) -> None:
    path = tmp_path / "weights.mlir"
    path.write_text(WEIGHTS)
    called = read_program(str(path), FLAGS, options=ALL_CALLS)
    profile = record(called, image_of(called, compiler), "local-sync")
    assert sum(profile.counts.values()) >= 1


@pytest.mark.parametrize(("microseconds", "runs"), [(10.0, [1, 201]), (5e5, [1, 7]), (4e6, [1])])
def test_a_program_runs_for_seconds(microseconds: float, runs: list[int]) -> None:
    """The start of the runtime's tool does not count, which takes longer than most programs."""
    counts = []

    def run(runs: int) -> list[DispatchEvent]:
        counts.append(runs)
        return [DispatchEvent("main_dispatch_0", microseconds, is_of_device=False)] * runs

    (total,) = program_profiles.run_for_seconds(run).values()
    assert counts == runs
    assert total == (microseconds, 1)


def test_a_function_that_cannot_be_called_is_named(dispatched: DispatchedProgram) -> None:
    calls = dispatched.calls
    assert calls is not None
    blocked = tuple(replace(function, obstacle="it takes a list") for function in calls.functions)
    with pytest.raises(TuninglinkError, match="no function that can be called") as failure:
        record_profile(replace(calls, functions=blocked), b"", "local-sync")
    assert "function 'main': it takes a list" in notes_of(failure.value)


def test_a_program_for_another_device_is_an_error(dispatched: DispatchedProgram) -> None:
    with pytest.raises(TuninglinkError, match="does not run on device 'local-sync'") as failure:
        record(dispatched, b"not a module", "local-sync")
    assert "must be compiled for the device" in notes_of(failure.value)


def test_without_profiles_each_dispatch_is_measured_alone(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_profiles, "_RECORDED", {})
    options = CompileOptions(input=str(program), flags=tuple(FLAGS))
    choice = specs_of(options, ())
    measurement = ProgramMeasurement(str(program), options, "local-sync")
    assert not measurement.is_profiled
    _, before = explain_file(str(program), until_configured(options), choice, FLAGS)
    # What other sources know does not matter where all is measured.
    after = measurement.add_times(before, b"", choice, lambda _: None, [Profile({})])
    assert after.measure == "time"
    assert not any("no time is known" in note for note in after.notes)
    assert any("of each dispatch alone" in note for note in after.notes)


@pytest.mark.parametrize("has_profiles", [True, False])
def test_a_program_without_dispatches_has_no_times(
    has_profiles: bool,  # noqa: FBT001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not has_profiles:
        monkeypatch.setattr(program_profiles, "_RECORDED", {})
    path = tmp_path / "empty.mlir"
    path.write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    )
    options = CompileOptions(input=str(path), flags=tuple(FLAGS))
    choice = specs_of(options, ())
    _, before = explain_file(str(path), until_configured(options), choice, FLAGS)
    measurement = ProgramMeasurement(str(path), options, "local-sync")
    assert measurement.add_times(before, b"", choice, lambda _: None) == before


def test_the_time_of_a_dynamic_dispatch_is_the_mean_over_its_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cost is this mean, too: a geometric mean of the times gave rates above the peaks."""

    class TimedByStride(DeviceProcess):
        def measure(self, benchmark: Benchmark, *_: object) -> Timing:
            return Timing((float(benchmark.layout.stride),), 1)

    def opened(uri: str, settings: Settings) -> TimedByStride:
        return TimedByStride(uri, settings=settings)

    monkeypatch.setattr(program_profiles, "opened_device", opened)
    path = tmp_path / "dynamic.mlir"
    path.write_text(DYNAMIC)
    sizes = (GivenSizes.parse("0.0=8:3,64"),)
    (task,) = read_program(str(path), FLAGS, sizes=sizes).tasks
    strides = {size.sizes: size.layout.stride for size in task.sized if size.weight}
    small, large = sorted(strides.values())
    assert small < large
    options = CompileOptions(input=str(path), flags=tuple(FLAGS), sizes=sizes)
    measurement = ProgramMeasurement(str(path), options, "local-sync")
    profile, _ = measurement.time_dispatches(SpecChoice(), lambda _: None)
    assert list(profile.by_name.values()) == [(3 * small + large) / 4]


def test_a_device_that_does_not_run_the_code_is_an_error(
    dispatched: DispatchedProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = dispatched.tasks[0]
    foreign = replace(
        dispatched, tasks=(replace(task, target=replace(task.target, backend="cuda")),)
    )
    monkeypatch.setattr(program_profiles, "read_program", lambda *_, **__: foreign)
    measurement = ProgramMeasurement("loop.mlir", CompileOptions(), "local-sync")
    with pytest.raises(TuninglinkError, match="no dispatch of the program runs alone") as failure:
        measurement.time_dispatches(SpecChoice(), lambda _: None)
    assert "driver 'local-sync' does not run what 'cuda' compiles" in notes_of(failure.value)


def test_a_missing_device_is_an_error_before_the_program_is_compiled() -> None:
    with pytest.raises(DeviceError, match="there is no driver 'local-taks'"):
        ProgramMeasurement("missing.mlir", CompileOptions(), "local-taks")


def test_an_interrupt_leaves_no_weights_behind(program: Path, tmp_path: Path) -> None:
    """The runtime's tool reads the program and its weights from files, which may be large."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    command = [str(TOOLS / "tuninglink"), "explain", str(program), "--no-project", *FLAGS]
    command += ["--device", "local-sync", *(f"--input={text}" for text in INPUTS)]
    with subprocess.Popen(
        listening(command),
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as explaining:
        assert eventually(lambda: any(folder.glob("tuninglink-*/program.vmfb")))
        explaining.send_signal(signal.SIGINT)
        output, _ = explaining.communicate()
    assert explaining.returncode == 130, output
    assert eventually(lambda: not any(folder.glob("tuninglink-*")))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{}", "'format' is missing"),
        (b"[1]", "it has another format"),
        (b'{"format": "tuninglink.tuning"}', "it has another format"),
        (b"\xf8", "it is not text in UTF-8"),
        (b"a,b", "it has another format"),
    ],
)
def test_a_file_that_is_not_a_profile_is_an_error_without_python(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "profile"
    path.write_bytes(content)
    with pytest.raises(TuninglinkError, match=f"is not a profile: {reason}\n"):
        read_profile(str(path))
