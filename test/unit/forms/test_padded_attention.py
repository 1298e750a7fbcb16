"""The padded forms of attention: which there are for a target, and which programs their entries replace."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from attention_programs import (
    attention,
    near_problems,
    opened,
    program_of,
    random_attention,
    random_padding,
    target,
)
from iree.compiler import ir as mlir
from replaced_operations import is_replaced, replaced

from tuninglink.forms import PaddedAttention, forms_of
from tuninglink.mlir import collect, names, symbols, thread_context
from tuninglink.replacing import Attention, NoFormError, entry, spec, spellings

CUDA = target("--iree-hal-target-backends=cuda", "--iree-cuda-target=sm_80")
AMD = target("--iree-hal-target-backends=rocm", "--iree-rocm-target=gfx942")
CPU = target("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=generic")


def _sizes(*sizes: int) -> list[dict[str, int]]:
    return [
        dict(form.sizes)
        for form in forms_of(attention(*sizes), CUDA)
        if isinstance(form, PaddedAttention)
    ]


def test_lengths_are_padded_to_multiples_of_intrinsics() -> None:
    assert _sizes(64, 257, 64, 64, 257) == [
        {"m": 288, "j": 288},
        {"m": 272, "j": 272},
        {"m": 320, "j": 320},
    ]
    assert _sizes(8, 1024, 64, 64, 77) == [{"j": 96}, {"j": 80}, {"j": 128}]


def test_heads_are_padded_to_powers_of_two_first() -> None:
    # The intrinsics of the second matmul divide 72 values, but not 72 features.
    first, second, *others = forms_of(attention(32, 1024, 72, 72, 1024), CUDA)
    assert str(first) == "padded: 72 to 128 values, 72 to 128 features"
    assert str(second) == "padded: 72 to 128 features"
    assert [form.is_default for form in (first, second, *others)] == [True, True, False, False]


@pytest.mark.parametrize("chosen", [CUDA, AMD])
def test_all_forms_are_whole_numbers_of_intrinsics(chosen: object) -> None:
    for sizes in ((8, 577, 96, 96, 577), (8, 197, 64, 64, 197), (8, 249, 80, 80, 249)):
        forms = forms_of(attention(*sizes), chosen)  # type: ignore[arg-type]
        assert 3 <= len(forms) <= 6
        for form in forms:
            assert isinstance(form, PaddedAttention)
            padded = {**form.problem.loop_sizes, **dict(form.sizes)}
            assert all(padded[loop] % 16 == 0 for loop in "mkj")


@pytest.mark.parametrize(
    ("problem", "chosen", "reason"),
    [
        (attention(8, 1024, 64, 64, 1024), CUDA, "intrinsics of sm_80 divide its sizes"),
        (attention(8, 1024, 64, 64, 1024), AMD, "intrinsics of gfx942 divide its sizes"),
        (
            attention(8, 257, 64, 64, 257, element="f32"),
            CUDA,
            "no intrinsic of sm_80 multiplies f32xf32",
        ),
        (attention(8, 257, 64, 64, 257), CPU, "as products in f32 only"),
        (attention(8, 1, 64, 64, 257), CUDA, "by more than 4"),
        (attention(8, 1024, 64, 64, 257, mask="am"), CUDA, "mask"),
    ],
)
def test_a_problem_without_a_form_has_a_reason(
    problem: Attention, chosen: object, reason: str
) -> None:
    with pytest.raises(NoFormError, match=reason):
        forms_of(problem, chosen)  # type: ignore[arg-type]


SQUARE = attention(2, 8, 8, 8, 8)
"""An attention whose operands have the same types in any layout."""


@pytest.mark.parametrize("seed", range(25))
def test_an_entry_replaces_each_spelling_of_its_problem_and_nothing_near(seed: int) -> None:
    choose = random.Random(seed)
    problem = SQUARE if seed % 2 else random_attention(choose)
    library = spec([random_padding(problem, choose)])
    same = spellings(problem)
    for spelled in same:
        assert is_replaced(library, program_of(spelled))
    for other in near_problems(problem):
        if other not in same:
            assert not is_replaced(library, program_of(other)), other
    for body in ("%y = arith.mulf %x, %x : f32", "%y = arith.negf %x : f32"):
        assert not is_replaced(library, program_of(problem, body))
    assert not is_replaced(library, program_of(problem, attributes="{lowering = 1}"))


@pytest.mark.parametrize("loops", ["m", "mj", "amj"])
def test_dynamic_sizes_are_replaced_by_entries_for_them_alone(loops: str) -> None:
    problem = attention(2, 17, 8, 8, 17)
    dynamic = opened(problem, loops)
    padding = (("m", 32), ("j", 32))
    assert not is_replaced(spec([PaddedAttention(problem, padding)]), program_of(dynamic))
    library = spec([PaddedAttention(dynamic, padding)])
    for spelled in spellings(dynamic):
        assert is_replaced(library, program_of(spelled))
    for change in ({"k": 9}, {"n": 9}):
        assert not is_replaced(library, program_of(dynamic.resized(change)))


def test_dynamic_lengths_are_padded_to_blocks() -> None:
    problem = opened(attention(48, 257, 80, 80, 257, mask="amj"), "amj")
    first, second, third, *_ = forms_of(problem, AMD)
    assert str(first) == (
        "padded: queries to multiples of 64, 80 to 128 values, 80 to 128 features, "
        "keys to multiples of 64"
    )
    blocks = [dict(form.sizes)["j"] for form in (first, second, third)]  # type: ignore[attr-defined]
    assert blocks == [64, 128, 32]
    # Dynamic batches change nothing.
    (form, *_) = forms_of(opened(attention(48, 257, 64, 64, 257), "a"), AMD)
    assert str(form) == "padded: 257 to 288 queries, 257 to 288 keys"


def test_the_first_of_several_forms_of_a_problem_replaces_it_and_leaves_no_function() -> None:
    problem = attention(2, 17, 8, 8, 17)
    forms = [PaddedAttention(problem, (("m", size), ("j", size))) for size in (32, 48)]
    module = replaced(spec(forms), program_of(problem))
    ops = [operation for operation in collect(module) if operation.name == names.ATTENTION]
    assert [str(op.results[0].type) for op in ops] == ["tensor<2x32x8xf16>"]
    assert {*symbols(module)} == {"main"}


def test_forms_of_problems_with_common_spellings_share_a_spec() -> None:
    problems = [attention(4, 16, 17, 8, 8, 17), attention(64, 17, 8, 8, 17)]
    library = spec([PaddedAttention(problem, (("m", 32), ("j", 32))) for problem in problems])
    assert all(is_replaced(library, program_of(problem)) for problem in problems)


def test_an_entry_is_deterministic_and_names_its_content() -> None:
    problem = attention(2, 17, 8, 8, 17)
    form, other = (PaddedAttention(problem, (("m", size),)) for size in (32, 48))
    assert entry(form) == entry(replace(form))
    first, second = ({*_symbols(entry(form))} for form in (form, other))
    assert not first & second


def _symbols(text: str) -> list[str]:
    return [*symbols(mlir.Module.parse(text, thread_context()).operation)]
