"""Forms compute what their ops do, on the CPU: alone, and in the place of ops of whole programs."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import pytest
from attention_programs import (
    TOLERANCES,
    attended,
    attention,
    called,
    inputs_of,
    loaded,
    opened,
    program_of,
    random_attention,
    random_padding,
    target,
    worst_error,
)
from contraction_programs import contraction, inputs_of as contraction_inputs
from iree.compiler import ir as mlir
from replaced_operations import is_replaced

from tuninglink.forms import BroadcastMatmul, FoldedBatch, PaddedAttention, PaddedContraction
from tuninglink.mlir import thread_context
from tuninglink.predicting import predicted_forms, predictions
from tuninglink.replacing import Attention, Contraction, comparison, spec

if TYPE_CHECKING:
    from pathlib import Path


GROUPED = Attention(("apmk", "ajk", "ajn", "", "apmn"), ("f32",) * 5, "apmnkj", (2, 3, 9, 8, 8, 7))
"""Groups of queries that share keys and values."""

ODD = [
    (attention(2, 33, 72, 72, 33), {"m": 48, "n": 128, "k": 128, "j": 48}),
    (attention(2, 33, 72, 72, 33, element="f32"), {"k": 128}),
    (attention(3, 17, 80, 80, 65, scale="f32"), {"m": 32, "j": 80}),
    (attention(1, 2, 19, 96, 96, 19, element="f32", mask="abmj"), {"m": 32, "k": 128, "j": 32}),
    (attention(2, 5, 24, 40, 31, mask="mj", masks="i1"), {"n": 32, "j": 32}),
    (attention(2, 5, 24, 24, 31, mask="aj", masks="i1", transposed=True), {"m": 16, "j": 48}),
    (attention(2, 5, 24, 24, 31, mask="am"), {"m": 16, "k": 32}),
    (attention(37, 16, 16, 1, element="f32"), {"m": 48, "j": 16}),
    (GROUPED, {"m": 16, "k": 16, "j": 16}),
]


def _compare(form: PaddedAttention, inputs: list[np.ndarray]) -> None:
    """Compare a form with its op and with NumPy."""
    module = loaded(comparison(form))
    plain, other = (called(module[name], inputs) for name in ("plain", "form"))
    expected = attended(form.problem, inputs)
    tolerance = TOLERANCES[form.problem.types[0]]
    assert worst_error(other, plain.astype(np.float64)) <= tolerance
    assert worst_error(other, expected) <= worst_error(plain, expected) + tolerance


@pytest.mark.parametrize(("problem", "sizes"), ODD)
def test_odd_lengths_and_heads(problem: Attention, sizes: dict[str, int]) -> None:
    _compare(PaddedAttention(problem, tuple(sizes.items())), inputs_of(problem, 1))


@pytest.mark.parametrize("seed", range(8))
def test_random_problems_padded_at_random(seed: int) -> None:
    choose = random.Random(seed)
    problem = random_attention(choose)
    _compare(random_padding(problem, choose), inputs_of(problem, seed))


OPEN = [
    (attention(2, 9, 8, 8, 17, element="f32"), "mj", {"m": 16, "j": 16}),
    (attention(3, 9, 12, 8, 33, scale="f32", mask="amj"), "amj", {"m": 16, "n": 16, "j": 32}),
    (attention(2, 3, 9, 8, 8, 7, element="f32", mask="abmj", masks="i1"), "abmj", {"j": 4}),
    (attention(2, 9, 8, 8, 7, element="f32", transposed=True), "j", {"m": 16, "j": 16}),
    (attention(2, 9, 8, 8, 7, element="f32", mask="j"), "m", {"m": 4, "j": 8}),
    (attention(2, 9, 8, 8, 7, element="f32"), "a", {"m": 16, "j": 16}),
    (attention(2, 9, 8, 8, 7, element="f32"), "m", {"k": 9, "j": 16}),
]
"""Problems, their loops of dynamic sizes, and the sizes, or the blocks of dynamic ones, that these are padded to."""


@pytest.mark.parametrize(("problem", "loops", "sizes"), OPEN)
def test_dynamic_lengths(problem: Attention, loops: str, sizes: dict[str, int]) -> None:
    form = PaddedAttention(opened(problem, loops), tuple(sizes.items()))
    module = loaded(comparison(form))
    tolerance = TOLERANCES[problem.types[0]]
    for change in (0, 7):
        new = {loop: problem.loop_sizes[loop] + change for loop in loops}
        inputs = inputs_of(problem.resized(new), 1)
        plain, other = (called(module[name], inputs) for name in ("plain", "form"))
        assert worst_error(other, plain.astype(np.float64)) <= tolerance
        assert worst_error(other, attended(problem.resized(new), inputs)) <= 2 * tolerance


@pytest.mark.parametrize("element", ["f16", "f32"])
def test_rows_without_keys_infinities_and_what_is_not_a_number(element: str) -> None:
    problem = attention(2, 9, 8, 8, 7, element=element, mask="amj")
    query, key, value, mask = inputs_of(problem, 2)
    mask[0, 2] = -np.inf  # no key counts
    mask[0, 3] = -np.inf
    mask[0, 3, 4] = 0  # one key counts
    query[1, 4] = np.inf
    query[1, 5, 0] = np.nan
    key[1, 2, 3] = -np.inf
    value[0, 4, 1] = np.inf
    form = PaddedAttention(problem, (("m", 16), ("k", 16), ("j", 16)))
    module = loaded(comparison(form))
    plain, other = (called(module[at], [query, key, value, mask]) for at in ("plain", "form"))
    assert np.isnan(plain).any()
    assert np.isinf(plain).any()
    np.testing.assert_allclose(other, plain, atol=TOLERANCES[element])


def _run(program: str, library: str, inputs: list[np.ndarray], path: Path) -> np.ndarray:
    """Run a program whose ops a preprocessing spec replaces."""
    path.write_text(library)
    text = program.replace("util.func public", "func.func").replace("util.return", "return")
    return called(loaded(text, path)["main"], inputs)


def test_a_program_keeps_its_scale(tmp_path: Path) -> None:
    problem = attention(2, 9, 8, 8, 9, element="f32")
    form = PaddedAttention(problem, (("m", 16), ("j", 16)))
    inputs = inputs_of(problem, 3)
    for scale in ("0.5", "3.0", "-1.0"):
        program = program_of(problem).replace("0.5", scale)
        result = _run(program, spec([form]), inputs, tmp_path / "spec.mlir")
        assert worst_error(result, attended(problem, inputs, float(scale))) < 1e-5


@pytest.mark.parametrize(
    "problem",
    [
        attention(2, 29, 16, 16, 29),
        attention(2, 3, 32, 12, 12, 48, scale="f32"),
        attention(3, 29, 24, 24, 61, mask="amj", masks="i1"),
    ],
    ids=str,
)
def test_predicted_forms_compute_the_same(
    problem: Attention, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictions, "_LEAST_WORK", 0.0)
    cuda = target("--iree-hal-target-backends=cuda", "--iree-cuda-target=sm_80")
    program = program_of(problem)
    library = predicted_forms(mlir.Module.parse(program, thread_context()).operation, [cuda])
    assert is_replaced(library, program)
    inputs = inputs_of(problem, 5)
    path = tmp_path / "spec.mlir"
    plain, padded = (_run(program, own, inputs, path) for own in (spec([]), library))
    assert worst_error(padded, plain.astype(np.float64)) <= TOLERANCES["f16"]
    assert worst_error(padded, attended(problem, inputs, 0.5)) <= TOLERANCES["f16"]


def test_modified_scores_are_computed_as_the_program_says(tmp_path: Path) -> None:
    problem = attention(2, 9, 8, 8, 9, element="f32")
    form = PaddedAttention(problem, (("m", 16), ("j", 16)))
    inputs = inputs_of(problem, 3)
    # The compiler hands over scores in base two.
    program = program_of(problem, "%y = arith.negf %x : f32")
    result = _run(program, spec([form]), inputs, tmp_path / "spec.mlir")
    assert worst_error(result, attended(problem, inputs, -0.5)) < 1e-5


def test_layouts_of_square_operands_are_told_apart(tmp_path: Path) -> None:
    problem = attention(2, 8, 8, 8, 8, element="f32")
    form = PaddedAttention(problem, (("m", 16), ("n", 24), ("k", 12), ("j", 20)))
    inputs = inputs_of(problem, 4)
    for operands in (
        ("amk", "akj", "anj", "", "amn"),
        ("amk", "ajk", "anj", "", "amn"),
        ("amk", "ajk", "ajn", "", "anm"),
    ):
        other = replace(problem, operands=operands)
        result = _run(program_of(other), spec([form]), inputs, tmp_path / "spec.mlir")
        assert worst_error(result, attended(other, inputs, 0.5)) < 1e-5


@pytest.mark.parametrize("name", ["linalg.batch_matmul", "linalg.generic"])
def test_contractions_accumulate_onto_what_the_program_gives(name: str) -> None:
    operands = ("amk", "akn", "amn")
    problem = Contraction(operands, ("f16", "f16", "f32"), "amnk", (2, 17, 9, 21), name)
    module = loaded(comparison(PaddedContraction(problem, (("m", 32), ("n", 16), ("k", 32)))))
    generator = np.random.default_rng(5)
    lhs, rhs = (generator.standard_normal(shape) for shape in ((2, 17, 21), (2, 21, 9)))
    inputs = [lhs.astype(np.float16), rhs.astype(np.float16), np.ones((2, 17, 9), np.float32)]
    expected = np.ones((2, 17, 9)) + inputs[0].astype(np.float64) @ inputs[1].astype(np.float64)
    for function in ("plain", "form"):
        assert worst_error(called(module[function], inputs), expected) < 1e-4


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("sizes", [(), (("m", 32), ("n", 16), ("k", 320))])
def test_wide_sums_are_rounded_once(element: str, sizes: tuple[tuple[str, int], ...]) -> None:
    problem = Contraction(("amk", "ank", "amn"), (element,) * 3, "amnk", (2, 17, 9, 300))
    module = loaded(comparison(PaddedContraction(problem, sizes)))
    inputs = contraction_inputs(problem, 7)
    lhs, rhs, start = (value.astype(np.float64) for value in inputs)
    exact = start + lhs @ rhs.swapaxes(1, 2)
    plain, form = (called(module[name], inputs).astype(np.float64) for name in ("plain", "form"))
    # Half of the distance to the next number, and a little for the sum in f32.
    rounding = np.abs(exact) * float(ml_dtypes.finfo(inputs[0].dtype).eps) / 2 + 1e-4
    assert (np.abs(form - exact) <= rounding).all()
    assert not (np.abs(plain - exact) <= rounding).all()


def test_a_wide_sum_that_exceeds_f16_on_the_way_is_finite() -> None:
    problem = contraction(3, 5, 64, rhs="nk")
    problem = replace(problem, types=("f16",) * 3)
    module = loaded(comparison(PaddedContraction(problem, (("m", 16),))))
    lhs, rhs = np.full((3, 64), 64, np.float16), np.full((5, 64), 64, np.float16)
    rhs[:, 32:] *= -1
    inputs = [lhs, rhs, np.ones((3, 5), np.float16)]
    assert not np.isfinite(called(module["plain"], inputs)).any()
    assert (called(module["form"], inputs) == 1).all()


def test_a_folded_batch_accumulates_onto_what_the_program_gives() -> None:
    problem = BroadcastMatmul((2, 3), (17, 9, 21), ("f16", "f16", "f32"))
    module = loaded(comparison(FoldedBatch(problem)))
    inputs = contraction_inputs(problem, 6)
    lhs, matrix, start = (value.astype(np.float64) for value in inputs)
    for function in ("plain", "form"):
        assert worst_error(called(module[function], inputs), start + lhs @ matrix) < 1e-4
