"""Whole programs without a spec and with one: their outputs and their times."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING
from unittest.mock import patch

import ml_dtypes
import numpy as np
import pytest
from programs import HOST_CPU, endless_linker
from tuning_programs import matmul

from tuninglink.errors import CompileError
from tuninglink.programs import (
    ALL_CALLS,
    CallOptions,
    FunctionWeight,
    GivenInput,
    ParameterFile,
    read_program,
)
from tuninglink.tuning.candidates import CandidateCompiler
from tuninglink.tuning.deciding import ModelRunError, ModelRuns

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tuninglink.devices import DeviceProcess

    Runs = Callable[..., ModelRuns]

FLAGS = HOST_CPU


@pytest.fixture
def runs(compiler: CandidateCompiler, device: DeviceProcess, tmp_path: Path) -> Runs:
    def make(source: str, options: CallOptions = ALL_CALLS) -> ModelRuns:
        path = tmp_path / "program.mlir"
        path.write_text(source)
        program = read_program(str(path), FLAGS, options=options)
        return ModelRuns(program, compiler, device, seed=0, seconds=0.2)

    return make


FENCES = """
util.func public @main(%view: !hal.buffer_view, %wait: !hal.fence, %signal: !hal.fence) -> !hal.buffer_view
    attributes {iree.abi.model = "coarse-fences", iree.abi.stub} {
  %x = hal.tensor.import wait(%wait) => %view : !hal.buffer_view -> tensor<4xf32>
  %y = arith.addf %x, %x : tensor<4xf32>
  %ready = hal.tensor.barrier join(%y : tensor<4xf32>) => %signal : !hal.fence
  %result = hal.tensor.export %ready : tensor<4xf32> -> !hal.buffer_view
  util.return %result : !hal.buffer_view
}
"""


def test_functions_with_fences_run(runs: Runs) -> None:
    program = runs(FENCES, CallOptions(inputs=(GivenInput.parse("4xf32=1,2,3,4"),)))
    (doubled,) = program.outputs()["main"]
    assert doubled.tolist() == [2, 4, 6, 8]


TYPES = """
func.func @main(%x: tensor<2xbf16>, %n: tensor<2xi64>, %i: i32) -> (tensor<2xbf16>, tensor<2xi64>, i32) {
  %y = arith.addf %x, %x : tensor<2xbf16>
  %m = arith.addi %n, %n : tensor<2xi64>
  return %y, %m, %i : tensor<2xbf16>, tensor<2xi64>, i32
}
"""


def test_outputs_have_the_types_of_the_program(runs: Runs) -> None:
    inputs = tuple(map(GivenInput.parse, ("2xbf16=0.5,1", "2xi64=3,4", "7")))
    floats, integers, scalar = runs(TYPES, CallOptions(inputs=inputs)).outputs()["main"]
    assert floats.dtype == ml_dtypes.bfloat16
    assert floats.astype(np.float32).tolist() == [1, 2]
    assert (integers.dtype, integers.tolist()) == (np.int64, [6, 8])
    assert scalar == 7


STATE = """
util.global private mutable @count = dense<0> : tensor<i32>
func.func @main(%x: tensor<i32>) -> tensor<i32> {
  %count = util.global.load @count : tensor<i32>
  %sum = arith.addi %x, %count : tensor<i32>
  util.global.store %sum, @count : tensor<i32>
  return %sum : tensor<i32>
}
"""


def test_every_run_begins_with_the_first_state(runs: Runs) -> None:
    program = runs(STATE, CallOptions(inputs=(GivenInput.parse("5"),)))
    for _ in range(2):
        (count,) = program.outputs()["main"]
        assert count == 5
    comparison = program.compare("")
    assert not comparison.failure
    assert any("keeps state between calls" in each for each in comparison.notes)


MASKED = """
func.func @main(%mask: tensor<4xi64>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %one = arith.constant dense<1> : tensor<4xi64>
  %least = arith.constant dense<-3.0e38> : tensor<4xf32>
  %off = arith.subi %one, %mask : tensor<4xi64>
  %factor = arith.sitofp %off : tensor<4xi64> to tensor<4xf32>
  %huge = arith.mulf %factor, %least : tensor<4xf32>
  %y = arith.addf %huge, %huge : tensor<4xf32>
  %z = arith.subf %y, %y : tensor<4xf32>
  %sum = arith.addf %x, %z : tensor<4xf32>
  return %sum : tensor<4xf32>
}
"""


def test_random_integers_suit_a_mask(runs: Runs) -> None:
    """Ones alone keep the mask from making infinities: twos make `inf - inf`, and so do zeros."""
    (result,) = runs(MASKED).outputs()["main"]
    assert np.isfinite(result).all()


PARAMETERS = """
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<2x3xf32>
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %w = util.global.load @w : tensor<2x3xf32>
  %y = arith.addf %x, %w : tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
"""


def safetensors(path: Path, name: str, values: np.ndarray) -> ParameterFile:
    data = values.tobytes()
    entry = {"dtype": "F32", "shape": values.shape, "data_offsets": [0, len(data)]}
    header = json.dumps({name: entry}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)
    return ParameterFile.parse(f"model={path}")


def test_weights_come_from_files_or_are_random(runs: Runs, tmp_path: Path) -> None:
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)
    file = safetensors(tmp_path / "weights.safetensors", "w", weights)
    inputs = (GivenInput.parse("2x3xf32=0"),)
    (loaded,) = runs(PARAMETERS, CallOptions((), inputs, (file,))).outputs()["main"]
    assert np.array_equal(loaded, weights)
    synthetic = runs(PARAMETERS, CallOptions((), inputs))
    (random,) = synthetic.outputs()["main"]
    assert np.isfinite(random).all()
    assert random.any()
    assert "the weights are random; --parameters names files with others" in (
        synthetic.compare("").notes
    )


def test_missing_weights_are_the_reason(runs: Runs, tmp_path: Path) -> None:
    file = safetensors(tmp_path / "weights.safetensors", "v", np.zeros((2, 3), np.float32))
    with pytest.raises(CompileError, match="parameter 'w' is missing"):
        runs(PARAMETERS, CallOptions((), (), (file,))).outputs()


TWO = """
func.func @small(%x: tensor<64xf32>) -> tensor<64xf32> {
  %y = arith.addf %x, %x : tensor<64xf32>
  return %y : tensor<64xf32>
}
func.func @large(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = arith.addf %x, %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
"""


def test_the_sum_is_weighted_and_what_was_left_out_is_named(runs: Runs) -> None:
    comparison = runs(TWO).compare("")
    (small,) = comparison.functions
    assert small.name == "small"
    (note,) = comparison.notes
    assert note.startswith("not compared: function 'large': the sizes of argument 0 are dynamic")
    weights = (FunctionWeight("small", 3), FunctionWeight("large", 1))
    options = CallOptions(weights, (GivenInput.parse("large:64xf32=1"),))
    comparison = runs(TWO, options).compare("")
    assert [(each.name, each.weight) for each in comparison.functions] == [
        ("small", 3),
        ("large", 1),
    ]
    assert comparison.default_ms > max(each.default_ms for each in comparison.functions)


FAILING = """
module attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
    transform.yield %op : !transform.any_op
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}) {
    %config = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_cpu.lowering_config<vector_common_parallel = [3, 7]>,
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


def test_a_spec_with_which_the_program_fails_makes_it_slower(runs: Runs) -> None:
    comparison = runs(matmul(4, 64, 64)).compare(FAILING)
    assert comparison.failure
    assert comparison.is_slower


def test_a_comparison_that_the_budget_does_not_leave_is_not_begun(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = runs(matmul(64, 64, 64))
    program.outputs()
    program.deadline = time.monotonic()
    assert program.compare("").functions  # a short one is run anyway
    monkeypatch.setattr("tuninglink.tuning.deciding.model_run._LEAST_SECONDS", 0.0)
    with pytest.raises(ModelRunError, match="which the budget did not leave"):
        program.compare("")


def test_few_rounds_do_not_show_that_a_machine_is_busy(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = runs(matmul(64, 64, 64))
    assert program.compare("").noise is not None
    monkeypatch.setattr("tuninglink.tuning.deciding.model_run._MOST_ROUNDS", 3)
    rounds = program.device.rounds
    monkeypatch.setattr(
        program.device, "rounds", lambda programs, _, *rest: rounds(programs, 3, *rest)
    )
    few = program.compare("")
    assert few.functions
    assert few.noise is None


ENDLESS = """
func.func @main(%x: tensor<4xf32>, %n: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>) {
  %zero = arith.constant 0 : index
  %result = scf.while (%value = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %first = tensor.extract %value[%zero] : tensor<4xf32>
    %more = arith.cmpf ueq, %first, %first : f32
    scf.condition(%more) %value : tensor<4xf32>
  } do {
  ^bb0(%value: tensor<4xf32>):
    %next = arith.addf %value, %value : tensor<4xf32>
    scf.yield %next : tensor<4xf32>
  }
  %sum = arith.addi %n, %n : tensor<4xi64>
  return %result, %sum : tensor<4xf32>, tensor<4xi64>
}
"""


def test_a_program_that_never_ends_is_called_once_after_the_budget(runs: Runs) -> None:
    program = runs(ENDLESS)
    program.begin().result()
    program.deadline = time.monotonic()
    with (
        patch.object(program.device, "ask", wraps=program.device.ask) as ask,
        pytest.raises(ModelRunError, match="function 'main': no answer within 2 s"),
    ):
        program.finite_integers()
    assert ask.call_count == 1


def test_a_compilation_that_outlasts_the_budget_is_no_failure_of_the_program(
    runs: Runs, tmp_path: Path
) -> None:
    program, other = runs(matmul(4, 64, 64)), runs(matmul(4, 64, 64))
    program.finite_integers()
    with CandidateCompiler(endless_linker(tmp_path), 1) as compiler:
        for late in (program, other):
            late.compiler, late.deadline = compiler, time.monotonic()
        with pytest.raises(ModelRunError, match="it did not compile in the time that the budget"):
            program.compare("// the program without a spec is compiled already")
        with pytest.raises(ModelRunError, match="it did not compile in the time that the budget"):
            other.rebase("// repairs")
    assert not other.failure
