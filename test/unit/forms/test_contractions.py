"""Contractions are read from ops; their padded forms, and which programs the entries of these replace."""

from __future__ import annotations

from dataclasses import replace

import pytest
from attention_programs import target
from contraction_programs import contraction, near_problems, program_of
from iree.compiler import ir as mlir
from replaced_operations import is_replaced

from tuninglink.forms import PaddedContraction, forms_of
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


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (contraction(1024, 1024, 4096), "divide its sizes"),
        (contraction(1, 1024, 4096), "by more than 1.5"),
        (replace(contraction(17, 8, 24), types=("f16", "f16", "f16")), "into f16"),
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
