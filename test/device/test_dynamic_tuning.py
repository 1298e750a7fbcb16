"""Dynamic dispatches as the tuner compiles and measures them: one module for all sizes, and code for ranges of sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from iree import runtime
from programs import TARGETS
from recorded_tuning import brief_comparisons, without_pauses

import tuninglink
from tuninglink.checking import Checker
from tuninglink.devices import Timing
from tuninglink.emission import write_spec
from tuninglink.iree import UNBOUNDED, GivenSizes, SizeRange
from tuninglink.programs import (
    Benchmark,
    Failure,
    FailureKind,
    dynamic_loops,
    read_program,
    specialize,
)
from tuninglink.spaces import ProviderRegistry
from tuninglink.tuning import DispatchTuning
from tuninglink.tuning.candidates import (
    CandidateCompiler,
    CandidateOrigin,
    Compiled,
    PreparedTask,
    prepare,
)
from tuninglink.tuning.deciding import Ledger, SizeChecks, TuneOptions, TuningSettings
from tuninglink.tuning.flag_sets import Listener

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tuninglink.devices import DeviceProcess
    from tuninglink.programs import TuningTask
    from tuninglink.tuning.candidates import Candidate
    from tuninglink.tuning.deciding import TrialResult

K, N = 64, 96
PROGRAM = f"""
func.func @layer(%lhs: tensor<?x{K}xf32>, %rhs: tensor<{K}x{N}xf32>) -> tensor<?x{N}xf32> {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %lhs, %c0 : tensor<?x{K}xf32>
  %empty = tensor.empty(%rows) : tensor<?x{N}xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x{N}xf32>) -> tensor<?x{N}xf32>
  %result = linalg.matmul ins(%lhs, %rhs : tensor<?x{K}xf32>, tensor<{K}x{N}xf32>)
    outs(%init : tensor<?x{N}xf32>) -> tensor<?x{N}xf32>
  return %result : tensor<?x{N}xf32>
}}
"""
CPU = "llvm-cpu"
FLAGS = {
    **TARGETS,
    CPU: (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=host",
    ),
}
BOXES = ({0: SizeRange(1, 1)}, {0: SizeRange(2, 22)}, {0: SizeRange(23, UNBOUNDED)})


def read(path: Path, target: str = CPU, program: str = PROGRAM) -> TuningTask:
    path.write_text(program)
    sizes = [GivenSizes.parse("0.0=1,8:2,64")]
    (task,) = read_program(str(path), FLAGS[target], sizes=sizes).tasks
    return task


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> TuningTask:
    return read(tmp_path_factory.mktemp("dynamic") / "layer.mlir")


@pytest.fixture(scope="module")
def compiler() -> Iterator[CandidateCompiler]:
    with CandidateCompiler(FLAGS[CPU], 2) as made:
        yield made


def compiled(compiler: CandidateCompiler, task: TuningTask, spec: str = "") -> Benchmark:
    outcome = compiler.submit_program(task.source, spec, 120).result()
    assert isinstance(outcome, Compiled), outcome
    return task.benchmark(outcome.image)


def prepared(task: TuningTask, target: str = CPU) -> PreparedTask:
    return prepare(task, FLAGS[target], [], ProviderRegistry(pytest.fail), {})


def first_that_compiles(compiler: CandidateCompiler, task: PreparedTask) -> Candidate:
    for candidate in task.spaces.sample(8, 0):
        outcome = compiler.submit(task.template, candidate, 120).result()
        if isinstance(outcome, Benchmark):
            return candidate
    pytest.fail("no candidate compiles")


def test_one_module_is_measured_at_all_sizes(
    task: TuningTask, compiler: CandidateCompiler, device: DeviceProcess
) -> None:
    default = compiled(compiler, task)
    assert [function.weight for function in default.measured] == [1, 2, 1]
    for benchmark in (default, *map(default.at, default.measured)):
        timing = device.measure(benchmark)
        assert isinstance(timing, Timing), timing


def test_candidates_are_checked_at_sizes_that_were_not_given(
    task: TuningTask, compiler: CandidateCompiler, device: DeviceProcess
) -> None:
    default = compiled(compiler, task)
    candidate = first_that_compiles(compiler, prepared(task))
    tuned = compiled(compiler, task, prepared(task).spec(candidate, {}))
    assert device.compare(tuned, default, K) is None
    # The code for one row computes one row of 63: a candidate that is right at the given sizes alone is refused.
    (other,) = [function for function in task.sized if function.sizes == "0.0=63"]
    one = specialize(task, BOXES[0])
    assert one is not None
    wrong = Benchmark(_at_all_sizes(compiler, one, task).image, "", default.layout, (other,))
    failure = device.compare(wrong, replace(default, sized=(other,)), K)
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.WRONG
    assert failure.message.startswith("at 0.0=63: binding 2: ")


def _at_all_sizes(
    compiler: CandidateCompiler, specialized: TuningTask, task: TuningTask
) -> Benchmark:
    """Return a specialized dispatch with the functions for all sizes of the dynamic one."""
    wide = specialize(replace(task, sized=tuple(
        replace(function, loops=(1, *function.loops[1:])) for function in task.sized
    )), specialized.bounds)  # fmt: skip
    assert wide is not None
    return compiled(compiler, wide)


def test_a_candidate_that_is_slower_at_one_size_does_not_race(
    task: TuningTask, compiler: CandidateCompiler
) -> None:
    default = compiled(compiler, task)
    other = replace(default, image=default.image + b"\0")
    checks = SizeChecks(
        _Times({other.image: {1: 30.0, 8: 5.0, 64: 5.0}}), default, 0, lambda _: None
    )  # type: ignore[arg-type]
    failure = checks.failure(other)
    assert failure is not None
    assert failure.kind is FailureKind.SLOWER
    assert failure.message.startswith("slower than the default at 0.0=1: 0.333")
    assert [round(each.speedup.median, 2) for each in checks.comparisons(other)] == [0.33, 2.0, 2.0]


class _Times:
    """A device on which every image takes a given time at each size, and 10 us where none is given."""

    def __init__(self, times: Mapping[bytes, Mapping[int, float]]) -> None:
        self._times = times

    def rounds(
        self, benchmarks: list[Benchmark], count: int, _seed: int, _seconds: float
    ) -> _Samples:
        row = tuple(
            self._times.get(each.image, {}).get(each.layout.bindings[0].shape[0], 10.0)
            for each in benchmarks
        )
        return _Samples((row,) * count)


class _Samples:
    def __init__(self, samples: tuple[tuple[float, ...], ...]) -> None:
        self.samples = samples


@pytest.mark.parametrize("target", [CPU, "cuda", "hip"])
def test_a_spec_finds_a_specialized_dispatch(tmp_path: Path, target: str) -> None:
    dynamic = read(tmp_path / "layer.mlir", target)
    assert dynamic_loops(dynamic) == (0,)
    for box in BOXES:
        specialized = specialize(dynamic, box)
        assert specialized is not None
        sizes = [int(function.sizes.partition("=")[2]) for function in specialized.sized]
        assert all(size in box[0] for size in sizes)
        # It raises an exception where no matcher with these bounds finds the dispatch.
        assert prepared(specialized, target).form == "contraction"


@pytest.mark.parametrize("target", ["cuda", "hip"])
def test_spaces_for_gpus_take_open_dimensions(tmp_path: Path, target: str) -> None:
    dynamic = read(tmp_path / "layer.mlir", target, PROGRAM.replace("f32", "f16"))
    of_gpu = prepared(dynamic, target)
    candidates = of_gpu.spaces.sample(4, 0)
    assert {candidate.pipeline for candidate in candidates} == {
        "#iree_gpu.pipeline<TileAndFuse>",
        "#iree_gpu.pipeline<VectorDistribute>",
    }
    with CandidateCompiler(FLAGS[target], 2) as compiler:
        jobs = [compiler.submit(of_gpu.template, candidate, 120) for candidate in candidates]
        assert all(isinstance(job.result(), Benchmark) for job in jobs)


def test_a_size_that_is_not_measured_has_no_range(task: TuningTask) -> None:
    assert specialize(task, {0: SizeRange(200, 300)}) is None


@pytest.fixture(scope="module")
def spec(task: TuningTask, compiler: CandidateCompiler) -> str:
    """Return a spec with an entry for each range, and one for all sizes."""
    entries = []
    for box in BOXES[:2]:
        specialized = specialize(task, box)
        assert specialized is not None
        of_range = prepared(specialized)
        entries.append(of_range.entry(first_that_compiles(compiler, of_range), {}))
    open_ = prepared(task)
    entry = open_.entry(first_that_compiles(compiler, open_), {})
    return write_spec("tuned", [*entries, replace(entry, specializations=BOXES[:2])])


@pytest.fixture(scope="module")
def program(spec: str) -> tuninglink.Compilation:
    return tuninglink.compile(
        PROGRAM.encode(), specs=[spec.encode()], default_specs=False, flags=FLAGS[CPU]
    )


def test_each_range_has_its_entry(program: tuninglink.Compilation) -> None:
    matchers = [each.entry.matcher for each in program.applied if each.entry]
    assert len(matchers) == len(set(matchers)) == 3


def test_all_sizes_compute_the_same(program: tuninglink.Compilation) -> None:
    # One test for all sizes: several would be shared out to processes that each compile the program.
    module = runtime.load_vm_flatbuffer(program.output, driver="local-sync")
    for rows in (1, 2, 7, 8, 22, 23, 63, 64, 65, 385):
        random = np.random.default_rng(rows)
        lhs = random.standard_normal((rows, K), dtype=np.float32)
        rhs = random.standard_normal((K, N), dtype=np.float32)
        result = module.layer(lhs, rhs).to_host()
        np.testing.assert_allclose(result, lhs @ rhs, rtol=1e-4, atol=1e-4, err_msg=f"{rows} rows")


def test_a_benchmark_calls_the_code_for_its_sizes(
    task: TuningTask, compiler: CandidateCompiler, device: DeviceProcess, spec: str
) -> None:
    # The code for one row would compute one row at all sizes.
    assert device.compare(compiled(compiler, task, spec), compiled(compiler, task), K) is None


def test_sizes_may_be_left_to_the_compiler(task: TuningTask, compiler: CandidateCompiler) -> None:
    one = specialize(task, BOXES[0])
    assert one is not None
    of_range, open_ = prepared(one), prepared(task)
    entries = [
        of_range.entry(first_that_compiles(compiler, of_range), {}),
        replace(open_.entry(open_.spaces.default, {}), specializations=BOXES[:1]),
    ]
    spec = write_spec("tuned", entries).encode()
    assert not Checker().check(spec).structure
    flags = [*FLAGS[CPU], "--compile-to=executable-configurations"]
    program = tuninglink.compile(PROGRAM.encode(), specs=[spec], default_specs=False, flags=flags)
    (entry,) = [each.entry for each in program.applied if each.entry]
    assert entry.action == "configure"
    assert program.output.count(b"linalg.matmul") == 2


def test_the_whole_program_runs_at_each_size(tmp_path: Path) -> None:
    path = tmp_path / "layer.mlir"
    path.write_text(PROGRAM)
    settings = TuningSettings(
        devices=("local-sync://",), trials=1, search="random", jobs=1, checks_defaults=False
    )
    # Flags make the compiler choose badly, so that any other choice is better.
    flags = (*FLAGS[CPU], "--iree-llvmcpu-distribution-size=1")
    sizes = (GivenSizes.parse("0.0=1,8:2"),)
    options = TuneOptions(input=str(path), flags=flags, settings=settings, sizes=sizes)
    with without_pauses(), brief_comparisons():
        result, _ = DispatchTuning(options, Listener()).run(Ledger(trials=1))
    (task,) = result.tasks
    if not result.entries:  # on a busy machine
        assert result.model is None
        return
    assert [each.sizes for each in task.sizes] == ["0.0=1", "0.0=8"]
    program = tuninglink.compile(
        PROGRAM.encode(), specs=[result.spec.encode()], default_specs=False, flags=FLAGS[CPU]
    )
    parts = (task, *task.ranges)
    configured = [part for part in parts if part.winner and not _is_default(part.winner)]
    assert len([each for each in program.applied if each.entry]) == len(configured)
    assert result.model is not None
    assert [(each.name, each.weight) for each in result.model.functions] == [
        ("layer at 0.0=1", 1),
        ("layer at 0.0=8", 2),
    ]


def _is_default(trial: TrialResult) -> bool:
    """Return whether a part is left to the compiler: its entry keeps other entries away."""
    return trial.candidate.origin is CandidateOrigin.DEFAULT
