"""References: the expected outputs of dispatches, and verdicts on right, wrong and undecidable results."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from programs import PROGRAMS, TARGETS
from tuning_programs import ATTENTION, CONVOLUTION, REDUCTION, matmul

from tuninglink.compiler import Phase, SavedProgram
from tuninglink.devices import Device, Expected, Outputs
from tuninglink.programs import Benchmark, Correctness, FailureKind, read_program
from tuninglink.tuning.candidates import Compiled, compile_program
from tuninglink.tuning.deciding import JudgedOutputs, Numerics
from tuninglink.tuning.references import (
    HOST,
    SCALAR,
    Reference,
    References,
    Reproducers,
    compile_reference,
    compute_reference,
    sums_of,
)

if TYPE_CHECKING:
    from tuninglink.devices import DeviceDescription, DeviceProcess
    from tuninglink.programs import DispatchedProgram, TuningTask


@cache
def program_of(source: str, flags: tuple[str, ...]) -> DispatchedProgram:
    with TemporaryDirectory() as directory:
        path = Path(directory) / "program.mlir"
        path.write_text(source)
        return read_program(str(path), flags)


GPU = TARGETS["cuda"]
CPU = HOST.flags


def task_of(source: str, flags: tuple[str, ...]) -> TuningTask:
    (task,) = program_of(source, flags).tasks
    return task


def reference_of(references: References, task: TuningTask) -> Reference:
    reference = references.reference(task)
    assert isinstance(reference, Reference), reference
    return reference


def outputs_of(reference: Reference, task: TuningTask) -> Outputs:
    """Return the outputs of a right kernel."""
    bindings = {
        tensor.binding: np.zeros(task.layout.bindings[tensor.binding].byte_length, np.uint8)
        for tensor, _ in reference.outputs
    }
    for tensor, expected in reference.outputs:
        tensor.content(bindings)[:] = expected.values
    return Outputs(bindings, None)


def wrong(outputs: Outputs, dtype: type, part: float = 0.5) -> Outputs:
    """Return outputs of which every seventh element is off by a part of its value, by default a half."""
    bindings = {number: content.copy() for number, content in outputs.bindings.items()}
    for content in bindings.values():
        content.view(dtype)[::7] *= dtype(1 + part)
    return Outputs(bindings, None)


@pytest.mark.parametrize(
    ("source", "dtype"),
    [
        (matmul(64, 96, 128, "f16"), np.float32),
        (CONVOLUTION, np.float32),
        (REDUCTION, np.float32),
        (ATTENTION, np.float16),
    ],
    ids=["matmul", "convolution", "reduction", "attention"],
)
def test_a_result_for_a_gpu_is_right_or_wrong(
    source: str, dtype: type, references: References
) -> None:
    task = task_of(source, GPU)
    outputs = outputs_of(reference_of(references, task), task)
    assert references.judge(task, outputs).correctness is Correctness.RIGHT
    judgement = references.judge(task, wrong(outputs, dtype))
    assert judgement.correctness is Correctness.WRONG, judgement.reason
    assert "elements differ" in judgement.reason
    actual, expected = judgement.samples[0].actual, judgement.samples[0].expected
    assert actual == pytest.approx(1.5 * expected, rel=0.02)


def test_a_wrong_reference_decides_nothing(references: References) -> None:
    task = task_of(matmul(32, 48, 80, "f16"), GPU)
    reference = reference_of(references, task)
    outputs = outputs_of(reference, task)
    tensor, expected = reference.outputs[0]
    values, perturbed = expected.values.copy(), expected.perturbed.copy()
    for part in (values, perturbed):
        part.view(np.float32)[5] += 100.0
    broken = Reference("a broken target", ((tensor, Expected(values, perturbed)),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(References, "reference", lambda *_: broken)
        judgement = references.judge(task, outputs)
    assert judgement.correctness is Correctness.UNDECIDED
    assert "the reference differs, NumPy does not" in judgement.reason


@pytest.mark.parametrize("name", ["matmul", "convolution", "reduction", "attention", "elementwise"])
def test_what_the_compiler_chooses_on_a_cpu_is_right(
    name: str, device: DeviceProcess, references: References
) -> None:
    program = program_of((PROGRAMS / f"{name}.mlir").read_text(), CPU)
    verdicts = {}
    for task in program.tasks:
        compiled = compile_program(task.source, "")
        assert isinstance(compiled, Compiled)
        outputs = device.outputs(Benchmark(compiled.image, task.function, task.layout))
        assert isinstance(outputs, Outputs), outputs
        verdicts[task.label] = references.judge(task, outputs)
    unexpected = {
        label: verdict
        for label, verdict in verdicts.items()
        if verdict.correctness in (Correctness.WRONG, Correctness.UNDECIDED)
    }
    assert not unexpected
    right = sum(verdict.correctness is Correctness.RIGHT for verdict in verdicts.values())
    assert right > 0.8 * len(verdicts), verdicts


def test_another_lowering_gives_the_same_within_the_tolerance() -> None:
    task = task_of(CONVOLUTION, CPU)
    scalar, vector = (compute_reference(task, [target], 0) for target in (SCALAR, HOST))
    assert isinstance(scalar, Reference)
    assert isinstance(vector, Reference)
    outputs = outputs_of(vector, task)
    assert scalar.compare(outputs, sums_of(task.source).error) is None
    failure = scalar.compare(wrong(outputs, np.float32), sums_of(task.source).error)
    assert failure is not None
    assert failure.kind is FailureKind.WRONG


@dataclass
class WrongDefault(Device):
    """A device that computes one benchmark wrong, or all but one.

    Attributes:
        device: the device that runs them.
        wrong: the images whose results it changes.
        part: by which part of their values.
    """

    device: DeviceProcess
    wrong: set[bytes]
    part: float = 0.5

    @property
    def description(self) -> DeviceDescription:
        """Those of the device."""
        return self.device.description

    def ask(self, request: Any) -> Any:
        """Change outputs, and leave all else alone."""
        answer = self.device.ask(request)
        is_wrong = any(
            isinstance(part, Benchmark) and part.image in self.wrong for part in request.arguments
        )
        if isinstance(answer, Outputs) and is_wrong:
            return wrong(answer, np.float32, self.part)
        return answer


def test_candidates_are_judged_by_the_reference_where_the_default_is_wrong(
    device: DeviceProcess, references: References
) -> None:
    gpu = task_of(matmul(48, 64, 96, "f16"), GPU)
    # The same dispatch, compiled for this machine in two ways, stands for a default and a candidate of a GPU.
    images = []
    for target in (HOST, SCALAR):
        program = SavedProgram(gpu.source, Phase.EXECUTABLE_SOURCES)
        compiled = compile_reference(program, target)
        assert isinstance(compiled, Compiled)
        images.append(Benchmark(compiled.image, gpu.function, gpu.layout))
    default, candidate = images

    def checks(*benchmarks: Benchmark) -> JudgedOutputs:
        computing = WrongDefault(device, {benchmark.image for benchmark in benchmarks})
        judgement = references.judge(gpu, computing.outputs(default))
        return JudgedOutputs(computing, default, 96, gpu, references, judgement)

    right = checks()
    assert not right.default_is_wrong
    assert right.failure(candidate) is None
    wrong_default = checks(default)
    assert wrong_default.default_is_wrong
    assert wrong_default.failure(candidate) is None
    both = checks(default, candidate)
    assert both.default_is_wrong
    failure = both.failure(candidate)
    assert failure is not None
    assert failure.kind is FailureKind.WRONG


def test_candidates_may_have_to_compute_the_same_bits(device: DeviceProcess) -> None:
    gpu = task_of(matmul(48, 64, 96, "f16"), GPU)
    images = []
    for target in (HOST, SCALAR):
        program = SavedProgram(gpu.source, Phase.EXECUTABLE_SOURCES)
        compiled = compile_reference(program, target)
        assert isinstance(compiled, Compiled)
        images.append(Benchmark(compiled.image, gpu.function, gpu.layout))
    default, candidate = images
    rounding = WrongDefault(device, {candidate.image}, 2.0**-22)
    assert JudgedOutputs(rounding, default, 96, gpu).failure(candidate) is None
    bitwise = JudgedOutputs(rounding, default, 96, gpu, numerics=Numerics.BITWISE)
    assert bitwise.failure(default) is None
    failure = bitwise.failure(candidate)
    assert failure is not None
    assert failure.kind is FailureKind.WRONG
    assert "are not the default's" in failure.message


HEADS = "tensor<2x64x32xf32>"
TILED_SCORES = """#iree_codegen.compilation_info<
  lowering_config = #iree_cpu.lowering_config<distribution = [1, 16, 32, 0, 0],
    vector_common_parallel = [1, 8, 16, 0, 0], vector_reduction = [0, 0, 0, 8, 16]>,
  translation_info = <pipeline = #iree_cpu.pipeline<LinalgExtTileAndVectorize>>>"""
"""A configuration with which llvm-cpu computes attention wrong: parts of the scores are not added up."""


def run_script(path: Path) -> str:
    command = [sys.executable, str(path / "reproduce.py")]
    tools = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=tools)
    return done.stdout


def test_a_wrong_result_on_a_cpu_is_shown_where_no_scalar_code_exists(
    device: DeviceProcess, references: References, tmp_path: Path
) -> None:
    source = f"""
func.func @main(%q: {HEADS}, %k: {HEADS}, %v: {HEADS}) -> {HEADS} {{
  %scale = arith.constant 0.25 : f32
  %empty = tensor.empty() : {HEADS}
  %result = iree_linalg_ext.attention <{{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>]}}> {{compilation_info = {TILED_SCORES}}}
      ins(%q, %k, %v, %scale : {HEADS}, {HEADS}, {HEADS}, f32) outs(%empty : {HEADS}) {{
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  }} -> {HEADS}
  return %result : {HEADS}
}}"""
    task = task_of(source, CPU)
    compiled = compile_program(task.source, "")
    assert isinstance(compiled, Compiled)
    outputs = device.outputs(Benchmark(compiled.image, task.function, task.layout))
    assert isinstance(outputs, Outputs), outputs
    judgement = references.judge(task, outputs)
    assert judgement.correctness is Correctness.WRONG
    assert "against llvm-cpu for a generic processor" in judgement.reason
    path = Reproducers(tmp_path, CPU, "local-sync").keep_wrong(task, judgement)
    assert path is not None
    # The expected result is that of the program without its configuration.
    assert "compilation_info" in (path / "dispatch.mlir").read_text()
    assert "compilation_info" not in (path / "unconfigured.mlir").read_text()
    error = run_script(path).partition("relative error ")[2].split()[0]
    assert float(error) > 0.01


def test_a_reproducer_runs_with_the_stock_tools(references: References, tmp_path: Path) -> None:
    task = task_of(matmul(24, 40, 56, "f16"), GPU)
    outputs = outputs_of(reference_of(references, task), task)
    judgement = references.judge(task, wrong(outputs, np.float32))
    flags = [*CPU, "--iree-llvmcpu-distribution-size=8"]
    path = Reproducers(tmp_path, flags, "local-sync").keep_wrong(task, judgement)
    assert path is not None
    assert "output 0: relative error" in run_script(path)
    # The script draws the inputs that the benchmark has, so that what it expects is what was recorded.
    (row, column), expected = judgement.samples[0].position, judgement.samples[0].expected
    computed = np.load(path / "expected.0.npy")
    assert computed[row, column] == pytest.approx(expected, rel=1e-5)
