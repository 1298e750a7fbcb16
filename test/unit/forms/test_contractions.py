"""Contractions are read from ops; their padded forms, and which programs the entries of these replace."""

from __future__ import annotations

from dataclasses import replace

import pytest
from attention_programs import target
from contraction_programs import contraction, near_problems, program_of
from iree.compiler import ir as mlir
from replaced_operations import is_replaced

from tuninglink.forms import PaddedContraction, forms_of, problems_in, promising_forms
from tuninglink.mlir import collect, names, thread_context
from tuninglink.replacing import Contraction, NoFormError, spec

CUDA = target("--iree-hal-target-backends=cuda", "--iree-cuda-target=sm_80")
AMD = target("--iree-hal-target-backends=rocm", "--iree-rocm-target=gfx942")


PROBLEMS = [
    contraction(17, 8, 24),
    contraction(17, 8, 24, rhs="nk"),
    contraction(17, 8, 24, name=names.GENERIC, rhs="nk"),
    contraction(2, 17, 8, 24, name="linalg.batch_matmul"),
    contraction(2, 17, 8, 24, name=names.GENERIC),
    contraction(8, 8, 8),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: f"{problem.name} {problem}")
def test_reading_a_written_problem_returns_it(problem: Contraction) -> None:
    module = mlir.Module.parse(program_of(problem), thread_context()).operation
    (operation,) = collect(module, problem.name)
    assert Contraction.of(operation) == problem


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: f"{problem.name} {problem}")
def test_an_entry_replaces_each_spelling_of_its_problem_and_nothing_near(
    problem: Contraction,
) -> None:
    library = spec([PaddedContraction(problem, (("m", 32), ("k", 32)))])
    assert len(problem.spellings) == 4
    for spelled in problem.spellings:
        assert is_replaced(library, program_of(spelled))
    for other in near_problems(problem):
        assert not is_replaced(library, program_of(other)), other


def test_another_body_is_left_alone() -> None:
    problem = PROBLEMS[2]
    library = spec([PaddedContraction(problem, (("m", 32), ("k", 32)))])
    program = program_of(problem)
    assert is_replaced(library, program)
    for old, new in (("arith.addf", "arith.maximumf"), ("arith.mulf", "arith.addf")):
        assert old in program
        assert not is_replaced(library, program.replace(old, new))


def test_sizes_that_no_intrinsic_divides_are_padded_to_tiles_first() -> None:
    forms = forms_of(contraction(1028, 1024, 4096), CUDA)
    assert [*map(str, forms)] == [
        "padded: 1028 to 1088 along m",
        "padded: 1028 to 1056 along m",
        "padded: 1028 to 1040 along m",
    ]
    (first, *_) = forms_of(contraction(1024, 1024, 4100), AMD)
    assert str(first) == "padded: 4100 to 4224 along k"


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_narrow_sums_become_wide_before_sizes_are_padded(element: str) -> None:
    narrow = replace(contraction(1028, 1024, 4096), types=(element,) * 3)
    assert [*map(str, forms_of(narrow, AMD))] == [
        "sums in f32",
        "padded: 1028 to 1088 along m; sums in f32",
        "padded: 1028 to 1056 along m; sums in f32",
        "padded: 1028 to 1040 along m; sums in f32",
    ]
    # Intrinsics divide these sizes, or padding multiplies the operations.
    for rows in (1024, 1):
        forms = forms_of(narrow.resized({"m": rows}), CUDA)
        assert [*map(str, forms)] == ["sums in f32"]


def test_an_entry_with_wide_sums_replaces_just_those_that_are_narrow() -> None:
    narrow = replace(contraction(17, 8, 24), types=("f16",) * 3)
    library = spec([PaddedContraction(narrow, ())])
    for spelled in narrow.spellings:
        assert is_replaced(library, program_of(spelled))
    for other in (contraction(17, 8, 24), *near_problems(narrow)[:5]):
        assert not is_replaced(library, program_of(other)), other


PROGRAM = """
func.func @main(%a: tensor<257x64xf16>, %b: tensor<64x64xf16>, %c: tensor<257x64xf32>,
    %d: tensor<1028x4096xf16>, %e: tensor<4096x1024xf16>, %f: tensor<1028x1024xf32>)
    -> (tensor<257x64xf32>, tensor<1028x1024xf32>) {
  %0 = linalg.matmul ins(%a, %b : tensor<257x64xf16>, tensor<64x64xf16>) outs(%c : tensor<257x64xf32>) -> tensor<257x64xf32>
  %1 = linalg.matmul ins(%d, %e : tensor<1028x4096xf16>, tensor<4096x1024xf16>) outs(%f : tensor<1028x1024xf32>) -> tensor<1028x1024xf32>
  return %0, %1 : tensor<257x64xf32>, tensor<1028x1024xf32>
}
"""


def test_problems_of_a_program_are_its_contractions_too_and_the_heaviest_comes_first() -> None:
    small, large = contraction(257, 64, 64), contraction(1028, 1024, 4096)
    shares = problems_in(mlir.Module.parse(PROGRAM, thread_context()).operation)
    assert shares[small] == pytest.approx(257 * 64 * 64 / (257 * 64 * 64 + 1028 * 1024 * 4096))
    assert [*promising_forms(shares, CUDA)] == [large, small]


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (contraction(1024, 1024, 4096), "divide its sizes"),
        (contraction(1, 1024, 4096), "by more than 1.5"),
        (replace(contraction(17, 8, 24), types=("f32", "f32", "f32")), "multiplies f32xf32"),
    ],
)
def test_a_problem_without_a_form_has_a_reason(problem: Contraction, reason: str) -> None:
    with pytest.raises(NoFormError, match=reason):
        forms_of(problem, CUDA)


def test_other_ops_are_refused() -> None:
    module = mlir.Module.parse(program_of(PROBLEMS[0]), thread_context()).operation
    (function,) = collect(module, names.UTIL_FUNCTION)
    with pytest.raises(NoFormError, match="neither a matmul nor"):
        forms_of(function, CUDA)
