"""Attention as products for CPUs: which problems have the form, and which programs its entries replace."""

from __future__ import annotations

import random

import numpy as np
import pytest
from attention_programs import (
    attended,
    attention,
    called,
    can_be_products,
    inputs_of,
    loaded,
    near_problems,
    program_of,
    random_attention,
    random_products,
    target,
    worst_error,
)
from replaced_operations import is_replaced, replaced

from tuninglink.forms import AttentionProducts, forms_of
from tuninglink.mlir import collect, names
from tuninglink.replacing import Attention, NoFormError, comparison, spec, spellings

CPU = target("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=generic")


def _words(*sizes: int) -> list[str]:
    return [*map(str, forms_of(attention(*sizes, element="f32"), CPU))]


def test_keys_are_padded_to_whole_vectors_first() -> None:
    padded = "attention as products, padded: 197 to 208 keys"
    assert _words(3, 197, 64, 64, 197) == [padded, "attention as products"]


def test_whole_vectors_and_few_queries_are_not_padded() -> None:
    assert _words(3, 197, 64, 64, 192) == ["attention as products"]
    assert _words(8, 1, 64, 64, 300) == ["attention as products"]


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (attention(8, 64, 64, 64, 64, element="bf16"), "in f32 only"),
        (attention(8, 64, 64, 64, 64, element="f32", scale="f16"), "in f32 only"),
        (
            attention(8, 64, 64, 64, 64, element="f32", mask="mj", masks="f16"),
            "in f32 only",
        ),
        (attention(16, 4096, 64, 64, 4096, element="f32"), "more than 256 MiB"),
    ],
)
def test_a_problem_without_the_form_has_a_reason(problem: Attention, reason: str) -> None:
    with pytest.raises(NoFormError, match=reason):
        forms_of(problem, CPU)


def _random_problem(choose: random.Random, most: int = 40) -> Attention:
    while not can_be_products(problem := random_attention(choose, most)):
        pass
    return problem


@pytest.mark.parametrize("seed", range(10))
def test_an_entry_replaces_each_spelling_of_its_problem_and_nothing_near(seed: int) -> None:
    choose = random.Random(seed)
    problem = _random_problem(choose)
    library = spec([random_products(problem, choose)])
    same = spellings(problem)
    for spelled in same:
        assert not [*collect(replaced(library, program_of(spelled)), names.ATTENTION)]
    for other in near_problems(problem):
        if other not in same:
            assert not is_replaced(library, program_of(other)), other
    for body in ("%y = arith.mulf %x, %x : f32", "%y = arith.negf %x : f32"):
        assert not is_replaced(library, program_of(problem, body))
    assert not is_replaced(library, program_of(problem, attributes="{lowering = 1}"))


@pytest.mark.parametrize("seed", range(4))
def test_products_are_as_exact_as_the_op(seed: int) -> None:
    choose = random.Random(seed)
    problem = _random_problem(choose, 24)
    program = loaded(comparison(random_products(problem, choose)))
    inputs = inputs_of(problem, seed)
    expected = attended(problem, inputs)
    plain, form = (
        worst_error(called(program[name], inputs), expected) for name in ("plain", "form")
    )
    assert form <= 2 * plain + 1e-6


def test_rows_without_keys_are_not_numbers_as_in_the_op() -> None:
    problem = attention(1, 16, 8, 8, 20, element="f32", mask="mj", masks="i1")
    query, key, value, mask = inputs_of(problem, 1)
    mask[3] = False
    program = loaded(comparison(AttentionProducts(problem, 32)))
    plain, form = (called(program[name], [query, key, value, mask]) for name in ("plain", "form"))
    assert np.isnan(plain[0, 3]).all()
    assert worst_error(form, plain.astype(np.float64)) < 1e-5
