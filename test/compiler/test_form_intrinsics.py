"""The compiler's default configuration uses intrinsics for forms, and for just the attentions that `are_default` predicts."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from attention_programs import attention, opened, program_of, target
from compilations import run_compiler
from contraction_programs import contraction

from tuninglink.forms import PaddedAttention, attention_needs, forms_of
from tuninglink.replacing import Attention, Contraction, comparison

FLAGS = {
    "sm_80": ("--iree-hal-target-backends=cuda", "--iree-cuda-target=sm_80"),
    "gfx942": ("--iree-hal-target-backends=rocm", "--iree-rocm-target=gfx942"),
    "gfx1100": ("--iree-hal-target-backends=rocm", "--iree-rocm-target=gfx1100"),
}
SIZES = (
    *((272, head, head, 272) for head in (8, 24, 40, 72, 80, 96, 112, 128, 256)),
    *((256, 64, features, 256) for features in (16, 32, 48, 80, 160, 192)),
    *((256, values, 64, 256) for values in (16, 40, 72, 80, 144)),
    *((384, 64, features, 256) for features in (72, 80, 96, 192)),
    *((length, 96, 96, length) for length in (96, 192, 240, 576, 1024)),
    *((length, 64, 64, 256) for length in (16, 48, 80, 257)),
    *((256, 64, 64, length) for length in (16, 24, 48, 77, 80, 257, 288)),
)


def _with_intrinsics(programs: list[str], name: str) -> list[bool]:
    """Return whether each attention is configured with intrinsics."""
    text = "\n".join(
        program.replace("@main", f"@main_{number}_")
        .replace("util.func public", "func.func")
        .replace("util.return", "return")
        for number, program in enumerate(programs)
    )
    flags = [*FLAGS[name], "--compile-to=executable-configurations"]
    answer = run_compiler("iree-compile", ["-", *flags], text.encode())
    assert not answer.code, answer.errors
    found = {}
    number = -1
    for line in answer.output.decode().splitlines():
        if function := re.search(r"func\.func @main_(\d+)__dispatch", line):
            number = int(function[1])
        if "iree_linalg_ext.online_attention" in line:
            found[number] = "mma_kind" in line
    return [found[number] for number in range(len(programs))]


@pytest.mark.parametrize("name", FLAGS)
def test_the_default_uses_intrinsics_where_it_is_predicted(name: str) -> None:
    needs = attention_needs(target(*FLAGS[name]), "f16", "f16", "f16")
    problems = [attention(4, *sizes) for sizes in SIZES]
    predicted = [
        any(need.are_default(problem.loop_sizes) for need in needs) for problem in problems
    ]
    assert predicted == _with_intrinsics([*map(program_of, problems)], name)


@pytest.mark.parametrize("name", FLAGS)
def test_the_default_uses_intrinsics_for_blocks_of_dynamic_lengths(name: str) -> None:
    programs = []
    for mask in ("", "amj"):
        for loops in ("amj", "m", "j"):
            problem = opened(attention(4, 249, 64, 64, 249, scale="f32", mask=mask), loops)
            form = forms_of(problem, target(*FLAGS[name]))[0]
            text = comparison(form)
            programs.append(text[text.index("  func.func @form") :].rstrip()[:-1])
            aliases = "".join(f"{line}\n" for line in text.splitlines() if line.startswith("#map"))
            programs[-1] = _inlined(aliases, programs[-1]).replace("@form", "@main")
    assert _with_intrinsics(programs, name) == [True] * len(programs)


PRODUCT = contraction(1028, 1024, 4096)
NARROW = replace(PRODUCT, types=("f16",) * 3)
BRAIN = replace(PRODUCT, types=("bf16",) * 3)
USED = [
    ("gfx942", attention(64, 257, 64, 64, 257), "", "MFMA_F32_16x16x16_F16"),
    ("gfx942", attention(32, 1024, 72, 72, 1024), "", "MFMA_F32_16x16x16_F16"),
    ("gfx942", PRODUCT, "MFMA_F32_16x16x16_F16", "MFMA_F32_16x16x16_F16"),
    ("gfx942", NARROW, "", "MFMA_F32_16x16x16_F16"),
    ("gfx942", BRAIN, "", "MFMA_F32_16x16x16_BF16"),
    ("sm_80", attention(64, 257, 64, 64, 257), "", "NV_MMA_SYNC_F32_16x8x16_F16"),
    ("sm_80", attention(32, 1024, 72, 72, 1024), "", "NV_MMA_SYNC_F32_16x8x16_F16"),
    ("sm_80", PRODUCT, "NV_MMA_SYNC_F32_16x8x16_F16", "NV_MMA_SYNC_F32_16x8x16_F16"),
    ("sm_80", NARROW, "NV_MMA_SYNC_F16_16x8x16_F16", "NV_MMA_SYNC_F32_16x8x16_F16"),
    ("sm_80", BRAIN, "", "NV_MMA_SYNC_F32_16x8x16_BF16"),
]
"""Targets, problems, and the intrinsics of the default for the problem and for each of its first two forms."""


@pytest.mark.parametrize(("name", "problem", "plain", "form"), USED, ids=str)
def test_forms_use_intrinsics_where_the_default_uses_none(
    name: str, problem: Attention | Contraction, plain: str, form: str
) -> None:
    for own in forms_of(problem, target(*FLAGS[name]))[:2]:
        flags = [*FLAGS[name], "--compile-to=executable-configurations"]
        answer = run_compiler("iree-compile", ["-", *flags], comparison(own).encode())
        assert not answer.code, answer.errors
        used: dict[str, set[str]] = {"plain": set(), "form": set()}
        kind = ""
        for line in answer.output.decode().splitlines():
            if function := re.search(r"func\.func @(plain|form)_dispatch", line):
                kind = function[1]
            used.setdefault(kind, set()).update(
                re.findall(r"mma_kind = #iree_gpu.mma_layout<(\w+)", line)
            )
        assert (used["plain"], used["form"]) == ({plain} - {""}, {form}), own


def _inlined(aliases: str, text: str) -> str:
    """Return a text with the attributes in place of their aliases."""
    maps = dict(line.split(" = ", 1) for line in aliases.splitlines())
    return re.sub(r"#map\d*", lambda alias: maps[alias[0]], text)


@pytest.mark.parametrize("name", FLAGS)
def test_the_default_uses_intrinsics_for_forms_that_are_said_to_have_them(name: str) -> None:
    # The compiler keeps one of several dispatches with the same content.
    choose = random.Random(name)
    predicted = {}
    for head in (64, 72, 80, 96):
        length = choose.choice((197, 249, 257, 577))
        for form in forms_of(attention(4, length, head, head, length), target(*FLAGS[name])):
            assert isinstance(form, PaddedAttention)
            padded = form.problem.resized(dict(form.sizes)).with_mask("mj", "f16")
            predicted[padded] = form.is_default
    assert [*predicted.values()] == _with_intrinsics([*map(program_of, predicted)], name)
