"""Outputs of whole programs, against a reference and against a user's expected values."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from programs import HOST_CPU
from tuning_programs import matmul

from tuninglink.devices import Device
from tuninglink.errors import CompileError
from tuninglink.programs import ALL_CALLS, CallOptions, Failure, GivenInput, read_program
from tuninglink.tuning.deciding import ModelRuns, Numerics, OutputJudge, judge_default
from tuninglink.tuning.references import ProgramReference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tuninglink.devices import (
        Answer,
        CallOutputs,
        DeviceDescription,
        DeviceProcess,
        Request,
    )
    from tuninglink.programs import CompiledProgram
    from tuninglink.tuning.candidates import CandidateCompiler

FLAGS = HOST_CPU
SPEC = """
module attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    %config = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_cpu.lowering_config<distribution = [16, 16, 0], vector_common_parallel = [4, 8, 0],
                                                  vector_reduction = [0, 0, 2]>,
      translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>
      -> !transform.any_param
    transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__kernel_config(%module: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %result = transform.foreach_match in %module @match -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %result : !transform.any_op
  }
}
"""


@dataclass
class WrongDevice(Device):
    """A device that computes some programs wrong.

    Attributes:
        process: runs them.
        error: the relative error of the outputs of an image.
    """

    process: DeviceProcess
    error: Callable[[bytes], float] = lambda _: 0.0

    @property
    def description(self) -> DeviceDescription:
        return self.process.description

    def ask(self, request: Request[Answer]) -> Answer | Failure:
        return self.process.ask(request)

    def program_outputs(
        self, program: CompiledProgram, most_seconds: float = math.inf
    ) -> CallOutputs | Failure:
        outputs = self.process.program_outputs(program, most_seconds)
        if isinstance(outputs, Failure):
            return outputs
        factor = np.float32(1 + self.error(program.image))
        return replace(outputs, arrays=tuple(array * factor for array in outputs.arrays))


@pytest.fixture(scope="module")
def case(
    compiler: CandidateCompiler, device: DeviceProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., ModelRuns]]:
    path = tmp_path_factory.mktemp("outputs") / "program.mlir"
    opened: dict[object, ProgramReference] = {}

    def make(
        default: float = 0.0,
        tuned: float = 0.0,
        *,
        source: str = "",
        options: CallOptions = ALL_CALLS,
        numerics: Numerics = Numerics.ROUNDING,
        seconds: float = 60.0,
    ) -> ModelRuns:
        path.write_text(source or matmul(64, 64, 64))
        program = read_program(str(path), FLAGS, options=options)
        key = (source, options, seconds)
        reference = opened.get(key) or ProgramReference(program.saved, "llvm-cpu", 0, seconds)
        opened[key] = reference
        runs = ModelRuns(program, compiler, device, seed=0, seconds=0.2)
        first = runs._image("")
        runs.device = WrongDevice(device, lambda image: default if image == first else tuned)
        runs.judge = OutputJudge(program.tasks, reference, numerics)
        return runs

    yield make
    for reference in opened.values():
        reference.__exit__()


def test_a_right_program_agrees_with_the_reference(case: Callable[..., ModelRuns]) -> None:
    comparison = case().compare(SPEC)
    assert not comparison.failure
    outputs = comparison.outputs
    assert outputs is not None
    assert outputs.source == "llvm-cpu for a generic processor"
    assert outputs.tolerance == 1e-4
    assert outputs.default_error is not None
    assert outputs.default_error < 1e-5
    assert not outputs.finding


def test_a_tuned_program_may_have_four_times_the_error_of_the_default(
    case: Callable[..., ModelRuns],
) -> None:
    assert not case(default=1.5e-5, tuned=5e-5).compare(SPEC).failure
    comparison = case(default=1.5e-5, tuned=8e-5).compare(SPEC)
    assert "relative error 8e-05, at most 6e-05 is accepted" in comparison.failure
    assert comparison.is_slower
    assert not case(tuned=0.1, numerics=Numerics.ANY).compare(SPEC).failure


def test_a_spec_that_repairs_the_program_stays_at_any_speed(case: Callable[..., ModelRuns]) -> None:
    comparison = case(default=0.9).compare(SPEC)
    assert comparison.outputs is not None
    assert comparison.outputs.is_repaired
    assert "the default is wrong" in comparison.outputs.finding
    assert not comparison.is_slower


def test_a_program_that_stays_wrong_is_not_made_worse(case: Callable[..., ModelRuns]) -> None:
    comparison = case(default=0.9, tuned=0.9).compare(SPEC)
    assert not comparison.failure
    assert comparison.outputs is not None
    assert "tuninglink verify" in comparison.outputs.finding
    assert case(default=0.5, tuned=0.9).compare(SPEC).failure


def test_a_wrong_default_is_said_where_nothing_is_won(case: Callable[..., ModelRuns]) -> None:
    verdict = judge_default(case(default=0.9))
    assert verdict.outputs is not None
    assert verdict.outputs.default_is_wrong


def test_outputs_may_have_to_be_equal_bit_for_bit(case: Callable[..., ModelRuns]) -> None:
    bitwise = Numerics.BITWISE
    assert not case(numerics=bitwise).compare("").failure
    assert "bit for bit" in case(tuned=1e-6, numerics=bitwise).compare(SPEC).failure


def test_without_time_for_the_reference_the_default_is_compared_with(
    case: Callable[..., ModelRuns],
) -> None:
    outputs = case(default=0.3, tuned=0.3, seconds=0.01).compare(SPEC).outputs
    assert outputs is not None
    assert outputs.default_error is None
    assert outputs.source == "the program without a spec"
    assert "takes more than 0.01 s" in outputs.note
    assert case(tuned=0.3, seconds=0.01).compare(SPEC).failure
    # Entries for wrong defaults are meant to change the outputs.
    assert not case(tuned=0.3, seconds=0.01).compare(SPEC, is_repair=True).failure


def test_a_spec_is_compared_with_another_one(case: Callable[..., ModelRuns]) -> None:
    """The program with the repairs alone is the standard for other entries, its outputs included."""
    other = SPEC.replace("[16, 16, 0]", "[32, 32, 0]")
    comparison = case(tuned=0.3, seconds=0.01).compare(other, base=SPEC)
    assert not comparison.failure
    assert comparison.outputs is not None
    assert comparison.outputs.tuned_error == pytest.approx(0.0, abs=1e-5)


DOUBLE = """
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %y = arith.addf %x, %x : tensor<4xf32>
  %n = arith.fptosi %y : tensor<4xf32> to tensor<4xi32>
  return %y, %n : tensor<4xf32>, tensor<4xi32>
}
"""


def given(*expected: str, inputs: tuple[str, ...] = ("4xf32=1,2,3,4",)) -> CallOptions:
    return CallOptions(
        inputs=tuple(map(GivenInput.parse, inputs)),
        expected=tuple(map(GivenInput.parse, expected)),
    )


def test_outputs_are_compared_with_what_the_user_expects(
    case: Callable[..., ModelRuns], tmp_path: Path
) -> None:
    np.save(tmp_path / "y.npy", np.array([2, 4, 6, 8], np.float64))
    right = given(f"@{tmp_path / 'y.npy'}", "4xi32=2,4,6,8")
    outputs = case(source=DOUBLE, options=right).compared_outputs()
    assert (outputs.source, outputs.default_error) == ("--expected", 0.0)
    wrong = given("main:4xf32=2,4,6,9", "4xi32=2,4,6,8")
    outputs = case(source=DOUBLE, options=wrong).compared_outputs()
    assert outputs.default_is_wrong


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (given("4xf32=1"), "function 'main' has 2 results; 1 are expected"),
        (given("5xf32=1", "4xi32=1"), "result 0 of function 'main' is 4xf32; '5xf32=1' is 5x"),
        (given("f:4xf32=1"), "the program has no function 'f'"),
        (given("4xf32=1", "4xi32=1", inputs=()), "the inputs of function 'main' are random"),
        (given("@missing.npy", "4xi32=1"), "cannot read"),
    ],
)
def test_expected_values_have_to_fit(tmp_path: Path, options: CallOptions, message: str) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(DOUBLE)
    with pytest.raises(CompileError) as refused:
        read_program(str(path), FLAGS, options=options)
    assert message in refused.value.diagnostics[0].message


def test_the_reference_of_a_program_is_right(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(matmul(16, 24, 32))
    draw = np.random.default_rng(0)
    a, b = (draw.standard_normal(shape, np.float32) for shape in ((16, 32), (32, 24)))
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    given = tuple(GivenInput("", f"@{tmp_path / name}.npy") for name in ("a", "b"))
    options = CallOptions(inputs=given)
    program = read_program(str(path), FLAGS, options=options)
    assert program.calls is not None
    with ProgramReference(program.saved, "llvm-cpu", 0, 300.0) as reference:
        outputs = reference.outputs(program.calls, program.calls.functions, (0, 1))
    assert not isinstance(outputs, str)
    np.testing.assert_allclose(outputs["main"][0], a @ b, rtol=1e-4, atol=1e-4)
    assert reference.name == "llvm-cpu for a generic processor"
