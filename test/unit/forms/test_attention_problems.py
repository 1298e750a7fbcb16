"""Attention problems are read from ops, and their spellings compute the same."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from attention_programs import attended, attention, inputs_of, program_of, random_attention
from iree.compiler import ir as mlir

from tuninglink.mlir import collect, names, thread_context
from tuninglink.replacing import Attention, NoFormError, spellings


def _read(program: str, name: str = names.ATTENTION) -> Attention:
    """Read the first op of a name; its module lives as long as it is read."""
    module = mlir.Module.parse(program, thread_context()).operation
    (operation, *_) = collect(module, name)
    return Attention.of(operation)


@pytest.mark.parametrize("seed", range(40))
def test_reading_a_written_problem_returns_it(seed: int) -> None:
    problem = random_attention(random.Random(seed))
    assert _read(program_of(problem)) == problem


def test_a_group_of_queries_is_another_loop_over_queries() -> None:
    operands = ("apmk", "ajk", "ajn", "", "apmn")
    grouped = Attention(operands, ("f16",) * 5, "apmnkj", (2, 4, 9, 8, 8, 9))
    assert _read(program_of(grouped)) == grouped


PLAIN = program_of(attention(2, 17, 8, 8, 9))


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (
            PLAIN.replace("yield %x", "yield %z").replace(
                "^bb0(%x: f32):", "^bb0(%x: f32):\n%z = arith.constant 1.0 : f32"
            ),
            "modifies its scores",
        ),
        (
            program_of(attention(2, 17, 8, 8, 9), "%y = arith.mulf %x, %x : f32"),
            "modifies its scores",
        ),
        (program_of(attention(2, 17, 8, 8, 9), attributes="{note = 1}"), "attributes"),
        (program_of(attention(2, 17, 8, 8, 9, element="f8E4M3FNUZ")), "element types"),
        (program_of(attention(2, 17, 8, 8, 9, mask="amj", masks="i8")), "mask of i8"),
        (PLAIN.replace("tensor<2x9x8xf16>", "tensor<2x?x8xf16>"), "dynamic sizes"),
    ],
)
def test_an_op_without_a_form_is_refused_with_the_reason(program: str, reason: str) -> None:
    with pytest.raises(NoFormError, match=reason):
        _read(program)


def test_other_ops_are_refused() -> None:
    with pytest.raises(NoFormError, match="not an attention"):
        _read(PLAIN, "tensor.empty")


def test_spellings_of_a_problem_in_a_dispatch_include_those_of_frontends() -> None:
    # A dispatch has values of n x k2, and no batch loop of size 1.
    found = spellings(attention(64, 257, 64, 64, 257, transposed=True))
    assert attention(64, 257, 64, 64, 257) in found
    assert attention(1, 64, 257, 64, 64, 257) in found


def test_batch_loops_fold_in_all_operands_that_have_them() -> None:
    for mask, folded in (("", ""), ("abmj", "amj"), ("mj", "mj")):
        found = spellings(attention(4, 16, 257, 64, 64, 257, mask=mask))
        assert attention(64, 257, 64, 64, 257, mask=folded) in found
    partly = spellings(attention(4, 16, 257, 64, 64, 257, mask="amj"))
    assert all(re.match("ab", problem.operands[0]) for problem in partly)


@pytest.mark.parametrize("seed", range(20))
def test_spellings_compute_the_same(seed: int) -> None:
    problem = random_attention(random.Random(seed), most=6)
    inputs = inputs_of(problem, seed)
    expected = attended(problem, inputs)
    for spelled in spellings(problem):
        tensors = [loops for loops in spelled.operands[:-1] if loops]
        own = [loops for loops in problem.operands[:-1] if loops]
        moved = []
        for value, loops, new in zip(inputs, own, tensors, strict=True):
            # Swap the last two loops, which batch loops are not among, then reshape batches.
            is_swapped = loops[-2:] == new[:-3:-1] and loops[-2:] != new[-2:]
            swapped = np.swapaxes(value, -1, -2) if is_swapped else value
            moved.append(swapped.reshape([spelled.loop_sizes[loop] for loop in new]))
        result = attended(spelled, moved).reshape(expected.shape)
        np.testing.assert_allclose(result, expected, atol=1e-12)
