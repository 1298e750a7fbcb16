"""Batch matmuls by one broadcast matrix are read from ops, and only programs of just these are replaced."""

from __future__ import annotations

import random

import pytest
from attention_programs import target
from contraction_programs import contraction, program_of, programs_near, random_broadcast
from iree.compiler import ir as mlir
from replaced_operations import is_replaced, replaced

from tuninglink.forms import BroadcastMatmul, FoldedBatch, forms_of, problem_of
from tuninglink.mlir import collect, symbols, thread_context
from tuninglink.replacing import BATCH_MATMUL, Contraction, NoFormError, spec

LAYER = BroadcastMatmul((8, 56), (56, 288, 96), ("f16", "f16", "f32"))
"""A linear layer of PyTorch from 96 to 288 features, on 8x56x56 pixels."""


def _problem_of(program: str) -> object:
    module = mlir.Module.parse(program, thread_context()).operation
    (operation,) = collect(module, BATCH_MATMUL)
    return problem_of(operation)


@pytest.mark.parametrize("seed", range(10))
def test_reading_a_written_problem_returns_it(seed: int) -> None:
    problem = random_broadcast(random.Random(seed))
    assert _problem_of(program_of(problem)) == problem


@pytest.mark.parametrize(
    "flags",
    [
        ("--iree-hal-target-backends=cuda", "--iree-cuda-target=sm_80"),
        ("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=generic"),
    ],
)
def test_batches_are_folded_for_all_targets(flags: tuple[str, ...]) -> None:
    (form,) = forms_of(LAYER, target(*flags))
    assert str(form) == "folded: 448 batches of 56 rows to 25088 rows"


def test_the_broadcast_is_gone() -> None:
    module = replaced(spec([FoldedBatch(LAYER)]), program_of(LAYER))
    kinds = [
        str(result.type)
        for operation in collect(module)
        for result in operation.results
        if operation.name.startswith("linalg.")
    ]
    assert kinds == ["tensor<25088x288xf32>"]
    assert {*symbols(module)} == {"plain"}


@pytest.mark.parametrize("seed", range(10))
def test_an_entry_replaces_its_problem_and_nothing_near(seed: int) -> None:
    problem = random_broadcast(random.Random(seed))
    library = spec([FoldedBatch(problem)])
    assert is_replaced(library, program_of(problem))
    for _, other in programs_near(problem):
        assert not is_replaced(library, other), other


def test_a_batch_of_matrices_is_an_ordinary_contraction() -> None:
    program = program_of(contraction(2, 17, 8, 24, name=BATCH_MATMUL))
    assert isinstance(_problem_of(program), Contraction)
    module = mlir.Module.parse(program, thread_context()).operation
    (operation,) = collect(module, BATCH_MATMUL)
    with pytest.raises(NoFormError, match="not broadcast to several batches"):
        BroadcastMatmul.of(operation)


def test_a_matrix_that_is_computed_before_its_broadcast_is_not_read() -> None:
    program = """
    #wide = affine_map<(b, c, k, n) -> (b, c, k, n)>
    #matrix = affine_map<(b, c, k, n) -> (k, n)>
    util.func @scaled(%l: tensor<6x4x8xf32>, %w: tensor<8x16xf32>, %s: tensor<8x16xf32>, %o: tensor<6x4x16xf32>) -> tensor<6x4x16xf32> {
      %e = tensor.empty() : tensor<2x3x8x16xf32>
      %m = linalg.generic {indexing_maps = [#matrix, #matrix, #wide], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
          ins(%w, %s : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<2x3x8x16xf32>) {
        ^bb0(%x: f32, %y: f32, %z: f32):
          %p = arith.mulf %x, %y : f32
          linalg.yield %p : f32
      } -> tensor<2x3x8x16xf32>
      %c = tensor.collapse_shape %m [[0, 1], [2], [3]] : tensor<2x3x8x16xf32> into tensor<6x8x16xf32>
      %r = linalg.batch_matmul ins(%l, %c : tensor<6x4x8xf32>, tensor<6x8x16xf32>) outs(%o : tensor<6x4x16xf32>) -> tensor<6x4x16xf32>
      util.return %r : tensor<6x4x16xf32>
    }"""
    assert isinstance(_problem_of(program), Contraction)
