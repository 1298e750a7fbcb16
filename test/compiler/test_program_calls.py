"""Reading what the functions of a program take, and what a user gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from programs import TARGETS

from tuninglink.errors import CompileError
from tuninglink.programs import (
    CallOptions,
    FunctionWeight,
    GivenInput,
    ParameterFile,
    read_program,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.programs import FunctionCall, ProgramCalls

CPU = "llvm-cpu"

FRAMEWORK: Final = """
util.global private @weight = #flow.parameter.named<"model"::"weight"> : tensor<8xf32>
util.func public @forward$async(%view: !hal.buffer_view, %unused: !hal.buffer_view, %wait: !hal.fence,
    %signal: !hal.fence) -> !hal.buffer_view attributes {iree.abi.model = "coarse-fences", iree.abi.stub} {
  %x = hal.tensor.import wait(%wait) => %view : !hal.buffer_view -> tensor<8xf32>
  %weight = util.global.load @weight : tensor<8xf32>
  %y = arith.addf %x, %weight : tensor<8xf32>
  %ready = hal.tensor.barrier join(%y : tensor<8xf32>) => %signal : !hal.fence
  %result = hal.tensor.export %ready : tensor<8xf32> -> !hal.buffer_view
  util.return %result : !hal.buffer_view
}
util.func public @forward(%view: !hal.buffer_view, %unused: !hal.buffer_view) -> !hal.buffer_view
    attributes {iree.abi.stub} {
  %wait = util.null : !hal.fence
  %c-1 = arith.constant -1 : i32
  %c0 = arith.constant 0 : index
  %device = hal.devices.get %c0 : !hal.device
  %signal = hal.fence.create device(%device : !hal.device) flags("None") : !hal.fence
  %result = util.call @forward$async(%view, %unused, %wait, %signal)
    : (!hal.buffer_view, !hal.buffer_view, !hal.fence, !hal.fence) -> !hal.buffer_view
  %status = hal.fence.await until([%signal]) timeout_millis(%c-1) flags("None") : i32
  util.return %result : !hal.buffer_view
}
"""
"""The form of what the importers of PyTorch write: `@forward` around `@forward$async`."""

SEVERAL = """
util.global private mutable @count = dense<0> : tensor<i32>
func.func @prefill(%ids: tensor<1x16xi64>, %scale: f32) -> tensor<1x16xi64> {
  %sum = arith.addi %ids, %ids : tensor<1x16xi64>
  return %sum : tensor<1x16xi64>
}
func.func @decode(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %sum = arith.addf %x, %x : tensor<?x4xf32>
  return %sum : tensor<?x4xf32>
}
func.func @step(%x: tensor<i32>) -> tensor<i32> {
  %count = util.global.load @count : tensor<i32>
  %sum = arith.addi %x, %count : tensor<i32>
  util.global.store %sum, @count : tensor<i32>
  return %sum : tensor<i32>
}
"""


@pytest.fixture
def several(tmp_path: Path) -> Path:
    path = tmp_path / "several.mlir"
    path.write_text(SEVERAL)
    return path


def calls(path: Path, *inputs: str, functions: tuple[str, ...] = ()) -> ProgramCalls:
    options = CallOptions(
        tuple(map(FunctionWeight.parse, functions)), tuple(map(GivenInput.parse, inputs))
    )
    program = read_program(str(path), TARGETS[CPU], options=options)
    assert program.calls is not None
    return program.calls


def by_name(found: ProgramCalls) -> dict[str, FunctionCall]:
    return {function.name: function for function in found.functions}


def test_shapes_come_from_the_imports_behind_buffer_views(tmp_path: Path) -> None:
    path = tmp_path / "framework.mlir"
    path.write_text(FRAMEWORK)
    found = calls(path)
    (function,) = found.functions
    assert (function.name, function.has_fences, function.obstacle) == ("forward", False, "")
    assert [(each.shape, each.element_type) for each in function.inputs] == [
        ((8,), "f32"),
        ((1,), "f32"),
    ]
    (weight,) = found.parameters.parameters
    assert (weight.scope, weight.key, weight.shape) == ("model", "weight", (8,))
    assert found.parameters.is_synthetic
    assert not found.is_stateful


def test_a_function_with_fences_alone_is_called_with_them(tmp_path: Path) -> None:
    path = tmp_path / "fences.mlir"
    path.write_text(FRAMEWORK[: FRAMEWORK.index("util.func public @forward(")])
    (function,) = calls(path).functions
    assert (function.name, function.has_fences) == ("forward$async", True)


def test_all_functions_count_and_say_what_keeps_them_from_being_called(several: Path) -> None:
    found = calls(several)
    functions = by_name(found)
    assert list(functions) == ["prefill", "decode", "step"]
    assert [each.is_scalar for each in functions["prefill"].inputs] == [False, True]
    assert "the sizes of argument 0 are dynamic" in functions["decode"].obstacle
    assert found.is_stateful


def test_dispatches_count_as_often_as_their_functions_are_called(several: Path) -> None:
    options = CallOptions((FunctionWeight.parse("prefill=3"), FunctionWeight.parse("step")))
    program = read_program(str(several), TARGETS[CPU], options=options)
    assert {task.label.partition("_")[0]: task.calls for task in program.tasks} == {
        "prefill": 3,
        "step": 1,
    }


def test_inputs_are_given_as_to_iree_run_module(several: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.arange(16).reshape(1, 16))
    found = by_name(
        calls(several, f"prefill:@{tmp_path / 'ids.npy'}", "prefill:2.5", "decode:3x4xf32=1")
    )
    ids, scale = found["prefill"].inputs
    assert ids.content == np.arange(16, dtype=np.int64).tobytes()
    assert scale.content == np.float32(2.5).tobytes()
    (x,) = found["decode"].inputs
    assert x.shape == (3, 4)
    assert x.content == np.ones((3, 4), np.float32).tobytes()
    (count,) = by_name(calls(several, "7", functions=("step",)))["step"].inputs
    assert (count.shape, count.content) == ((), np.int32(7).tobytes())


@pytest.mark.parametrize(
    ("inputs", "functions", "message"),
    [
        (["decod:1"], [], r"no function 'decod'; did you mean 'decode'\?"),
        ([], ["encode"], "no function 'encode'"),
        (["1"], [], "'--input 1' does not name its function"),
        (["prefill:1"], [], "function 'prefill' takes 2 inputs; 1 are given"),
        (["decode:3x5xf32=1"], [], r"input 0 of function 'decode' is \?x4xf32; .* is 3x5xf32"),
        (["decode:3x4xi32=1"], [], r"is \?x4xf32; .* is 3x4xi32"),
        (["decode:3x4xf32=1,2"], [], "has 2 values, and its shape 12"),
        (["decode:3x4xf32=one"], [], "is not an input"),
        (["decode:@missing.npy"], [], r"cannot read input 'missing\.npy'"),
    ],
)
def test_what_does_not_fit_is_refused(
    several: Path, inputs: list[str], functions: list[str], message: str
) -> None:
    with pytest.raises(CompileError, match=message):
        calls(several, *inputs, functions=tuple(functions))


def test_arguments_are_read(tmp_path: Path) -> None:
    weights = tmp_path / "weights.safetensors"
    weights.write_bytes(b"")
    assert FunctionWeight.parse("@decode=100") == FunctionWeight("decode", 100)
    assert GivenInput.parse("f:2x3xf32=0") == GivenInput("f", "2x3xf32=0")
    assert GivenInput.parse("2x3xf32=0") == GivenInput("", "2x3xf32=0")
    assert ParameterFile.parse(f"model={weights}") == ParameterFile("model", str(weights))
    assert ParameterFile.parse(str(weights)) == ParameterFile("", str(weights))
    for text in ("decode=0", "decode=half", ""):
        with pytest.raises(ValueError, match="expected NAME"):
            FunctionWeight.parse(text)
    with pytest.raises(ValueError, match="does not exist"):
        ParameterFile.parse("missing.irpa")
    with pytest.raises(ValueError, match="expected"):
        ParameterFile.parse(__file__)
