"""Depthwise convolutions are read from ops; their form for CPUs, and which programs its entries replace."""

from __future__ import annotations

import random

import numpy as np
import pytest
from attention_programs import called, loaded, target, worst_error
from depthwise_programs import depthwise, inputs_of, near_problems, program_of, random_depthwise
from iree.compiler import ir as mlir
from replaced_operations import is_replaced, replaced

from tuninglink.forms import Depthwise, ShiftedSum, forms_of
from tuninglink.mlir import collect, thread_context
from tuninglink.replacing import NoFormError, comparison, spec

CPU = target("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=generic")
CUDA = target("--iree-hal-target-backends=cuda", "--iree-cuda-target=sm_80")

NAME = "linalg.depthwise_conv_2d_nchw_chw"


def _read(program: str) -> Depthwise:
    module = mlir.Module.parse(program, thread_context()).operation
    (operation,) = collect(module, NAME)
    return Depthwise.of(operation)


@pytest.mark.parametrize("seed", range(8))
def test_an_entry_replaces_each_spelling_of_its_problem_and_nothing_near(seed: int) -> None:
    choose = random.Random(seed)
    problem = random_depthwise(choose)
    assert _read(program_of(problem)) == problem
    library = spec([ShiftedSum(problem, is_last=choose.random() < 0.5)])
    assert len(problem.spellings) == 2
    for spelled in problem.spellings:
        assert not [*collect(replaced(library, program_of(spelled)), NAME)]
    for other in near_problems(problem):
        assert not is_replaced(library, program_of(other)), other


@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_sum_of_shifted_images_is_the_convolution(seed: int, *, is_last: bool) -> None:
    problem = random_depthwise(random.Random(100 + seed))
    program = loaded(comparison(ShiftedSum(problem, is_last)))
    inputs = inputs_of(problem, seed)
    image, filter_, expected = (tensor.astype(np.float64) for tensor in inputs)
    _, (_, *window), (*_, rows, columns) = problem.shapes
    (down, right), (down_in, right_in) = problem.strides, problem.dilations
    for row, column in np.ndindex(*window):
        top, left = row * down_in, column * right_in
        shifted = image[:, :, top::down, left::right][:, :, :rows, :columns]
        expected += shifted * filter_[None, :, row, column, None, None]
    for name in ("plain", "form"):
        assert worst_error(called(program[name], inputs), expected) < 1e-5


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (depthwise(1, 8, 8, 8, strides=(2, 2)), "steps along rows"),
        (depthwise(1, 8, 8, 8, window=(8, 8)), "more than 49 elements"),
    ],
)
def test_a_problem_without_the_form_has_a_reason(problem: Depthwise, reason: str) -> None:
    with pytest.raises(NoFormError, match=reason):
        forms_of(problem, CPU)


def test_the_form_is_for_cpus() -> None:
    problem = depthwise(1, 32, 56, 56, strides=(2, 1))
    (form,) = forms_of(problem, CPU)
    assert str(form) == "depthwise convolution 1x32x56x56 as a sum of 3x3 shifted images"
    with pytest.raises(NoFormError, match="for llvm-cpu only"):
        forms_of(problem, CUDA)


TRANSPOSED = """
func.func @main(%x: tensor<1x8x10x10xf32>, %f: tensor<8x3x3xf32>, %o: tensor<1x8x4x4xf32>, %t: tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32> {
  %r = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>}
    ins(%x, %f : tensor<1x8x10x10xf32>, tensor<8x3x3xf32>) outs(%o : tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %l = linalg.transpose ins(%r : tensor<1x8x4x4xf32>) outs(%t : tensor<1x4x4x8xf32>) permutation = [0, 2, 3, 1]
  return %l : tensor<1x4x4x8xf32>
}
"""


def test_images_have_their_channels_last_where_the_result_is_read_so() -> None:
    problem = _read(TRANSPOSED)
    (form,) = forms_of(problem, CPU)
    assert str(form) == (
        "depthwise convolution 1x8x4x4 as a sum of 3x3 shifted images, channels last"
    )
    other = _read(TRANSPOSED.replace("[0, 2, 3, 1]", "[0, 3, 2, 1]"))
    assert other == problem
    with pytest.raises(NoFormError, match="steps along rows"):
        forms_of(other, CPU)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("dilations = dense<1> : vector<2xi64>, ", "", "not given alike"),
        ("dilations = dense<1> : vector", "dilations = dense<1> : tensor", "not given alike"),
        ("{dilations", "{lowering = 1, dilations", "attributes"),
        ("xf32>", "xf16>", "element types"),
    ],
)
def test_other_ops_are_refused(old: str, new: str, reason: str) -> None:
    program = program_of(depthwise(1, 8, 8, 8))
    assert old in program
    with pytest.raises(NoFormError, match=reason):
        _read(program.replace(old, new))
