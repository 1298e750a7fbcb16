"""Specs for winners: they find their dispatch, and give the binary that was measured."""

from __future__ import annotations

from dataclasses import replace

import pytest
from programs import FROM_SOURCES, TARGETS
from tuning_programs import (
    ATTENTION,
    CONVOLUTION,
    MASKED_ATTENTION,
    ONE_CHANNEL,
    ONE_IMAGE,
    REDUCTION,
    depthwise,
    dispatched,
    matmul,
    prepared,
)

import tuninglink
from tuninglink.compiler import Phase, compiler_run
from tuninglink.emission import write_spec
from tuninglink.iree import Role, SizeRange, StructuredOp
from tuninglink.specs import Applicability, provenance_of
from tuninglink.tuning.candidates import CandidateOrigin, apply_candidate, apply_specs

PROVENANCE = {"device": "a device", "default_us": 2.5, "interval": [1.25, 1.5], "trials": 7}


@pytest.mark.parametrize(
    ("source", "target", "form"),
    [
        (matmul(8, 256, 512), "llvm-cpu", "contraction"),
        (CONVOLUTION, "llvm-cpu", "convolution"),
        (ONE_IMAGE, "llvm-cpu", "convolution"),
        (REDUCTION, "llvm-cpu", "dag"),
        (matmul(128, 256, 512, "f16"), "cuda", "contraction"),
        (matmul(128, 256, 512, "f16"), "hip", "contraction"),
        (ATTENTION, "cuda", "attention"),
    ],
)
def test_a_spec_gives_the_binary_that_was_measured(source: str, target: str, form: str) -> None:
    task = prepared(source, target)
    assert task.form == form
    flags = TARGETS[target]
    candidate = (task.spaces.neighbors(task.spaces.default) or task.spaces.sample(1, 0))[0]
    assert candidate.configuration != task.spaces.default.configuration

    spec = write_spec("tuned", [task.entry(candidate, PROVENANCE)])
    compiled = tuninglink.compile(
        task.task.source, specs=[spec.encode()], default_specs=False, flags=[*flags, FROM_SOURCES]
    )
    with compiler_run(task.template.content, flags) as run:
        apply_candidate(run.module, candidate)
        run.advance(Phase.EXECUTABLE_CONFIGURATIONS, Phase.END)
        assert run.image() == compiled.output

    # It takes effect in the program itself.
    loaded = tuninglink.load_spec(spec.encode())
    saved = dispatched(source, target).saved
    (applied,) = apply_specs(saved.content, flags, [loaded], saved.phase).applied
    assert applied.is_own


@pytest.mark.parametrize("source", [depthwise(), depthwise(stride=2), ONE_CHANNEL])
def test_a_spec_unrolls_a_window_as_it_was_measured(source: str) -> None:
    task, flags = prepared(source, "llvm-cpu"), TARGETS["llvm-cpu"]
    candidate = task.spaces.given[0]
    assert candidate.origin is CandidateOrigin.REWRITING
    compiled = tuninglink.compile(
        task.task.source,
        specs=[task.spec(candidate, PROVENANCE).encode()],
        default_specs=False,
        flags=[*flags, FROM_SOURCES],
    )
    with compiler_run(task.template.content_for(candidate), flags) as run:
        assert "reduction" not in str(run.module)  # its window is gone
        apply_candidate(run.module, candidate)
        run.advance(Phase.EXECUTABLE_CONFIGURATIONS, Phase.END)
        assert run.image() == compiled.output


@pytest.mark.parametrize("source", [depthwise(window=7), CONVOLUTION])
def test_other_windows_are_not_unrolled(source: str) -> None:
    assert prepared(source, "llvm-cpu").rewriting is None


def test_a_convolution_of_one_channel_on_a_gpu_has_spaces() -> None:
    spaces = prepared(ONE_CHANNEL, "hip").spaces
    assert spaces.spaces
    assert "Error" not in spaces.reason  # of a provider that failed


def test_the_compilers_choice_stays_as_it_is() -> None:
    task = prepared(matmul(8, 256, 512), "llvm-cpu")
    flags = TARGETS["llvm-cpu"]
    compiled = tuninglink.compile(
        task.task.source, default_specs=False, flags=[*flags, FROM_SOURCES]
    )
    with compiler_run(task.template.content, flags) as run:
        apply_candidate(run.module, task.spaces.default)
        run.advance(Phase.EXECUTABLE_CONFIGURATIONS, Phase.END)
        assert run.image() == compiled.output


def test_provenance_is_on_the_matcher_and_survives_linking() -> None:
    first, second = (prepared(matmul(m, 256, 512), "llvm-cpu") for m in (8, 16))
    specs = [
        tuninglink.load_spec(
            write_spec("tuned", [each.entry(each.spaces.default, PROVENANCE)]).encode()
        )
        for each in (first, second)
    ]
    linked = tuninglink.link(specs)
    found = [provenance_of(each.anatomy.table, each.matcher) for each in linked.entries]
    assert found == [PROVENANCE, PROVENANCE]


def test_entries_are_bound_to_their_targets() -> None:
    here, there = (prepared(matmul(128, 256, 512, "f16"), each) for each in ("cuda", "hip"))
    assert here.matcher != there.matcher
    text = write_spec("tuned", [each.entry(each.spaces.default, {}) for each in (here, there)])
    spec = tuninglink.load_spec(text.encode())
    for task, position in ((here, 0), (there, 1)):
        applicability = Applicability(spec, task.task.target)
        assert applicability.among(None) == (position,)
        assert list(applicability.foreign()) == []


_TALLER = [("x18x18x", "x34x18x"), ("2x16x16x", "2x32x16x")]
"""Twice the rows of `CONVOLUTION`'s image."""
_LONGER_KEYS = [
    ("%k: tensor<2x64x", "%k: tensor<2x128x"),
    ("%v: tensor<2x64x", "%v: tensor<2x128x"),
]
_LONGER_KEYS += [
    (
        "tensor<2x64x64xf16>, tensor<2x64x64xf16>, tensor<2x64x64xf16>, f16",
        "tensor<2x64x64xf16>, tensor<2x128x64xf16>, tensor<2x128x64xf16>, f16",
    )
]

_LONGER_MASK = [*_LONGER_KEYS, ("f16, tensor<2x64x64xf16>)", "f16, tensor<2x64x128xf16>)")]
_LONGER_MASK += [("%mask: tensor<2x64x64x", "%mask: tensor<2x64x128x")]


@pytest.mark.parametrize(
    ("source", "target", "role", "changes"),
    [
        (CONVOLUTION, "llvm-cpu", Role.OUTPUT_IMAGE, _TALLER),
        (
            CONVOLUTION,
            "llvm-cpu",
            Role.INPUT_CHANNEL,
            [("x16xf32", "x32xf32"), ("3x3x16", "3x3x32")],
        ),
        (ATTENTION, "cuda", Role.K2, _LONGER_KEYS),
        (MASKED_ATTENTION, "llvm-cpu", Role.K2, _LONGER_MASK),
        (MASKED_ATTENTION, "llvm-cpu", Role.BATCH, [("tensor<2x", "tensor<4x")]),
    ],
)
def test_an_entry_for_ranges_applies_within_them(
    source: str, target: str, role: Role, changes: list[tuple[str, str]]
) -> None:
    task = prepared(source, target)
    exact = task.entry(task.spaces.sample(1, 0)[0], {})
    op = StructuredOp(exact.dispatch.root)
    loop = op.loops[role][0]
    size = op.sizes[loop]
    assert size is not None
    other = source
    for old, new in changes:
        assert old in other
        other = other.replace(old, new)

    def counts(sizes: SizeRange) -> list[int]:
        entry = replace(exact, ranges={loop: sizes})
        spec = tuninglink.load_spec(write_spec("ranges", [entry]).encode())
        programs = [dispatched(text, target).saved for text in (source, other)]
        return [
            len(apply_specs(saved.content, TARGETS[target], [spec], saved.phase).applied)
            for saved in programs
        ]

    assert counts(SizeRange(size, 2 * size, size)) == [1, 1]
    assert counts(SizeRange(size, 2 * size - 1)) == [1, 0]
    assert counts(SizeRange(size + 1, 2 * size)) == [0, 1]


def test_entries_of_the_same_name_are_kept_apart() -> None:
    task = prepared(matmul(8, 256, 512), "llvm-cpu")
    entry = task.entry(task.spaces.default, {})
    spec = tuninglink.load_spec(write_spec("tuned", [entry, entry]).encode())
    assert len({each.matcher for each in spec.entries}) == 2


def test_a_spec_without_entries_configures_nothing() -> None:
    spec = tuninglink.load_spec(write_spec("tuned", []).encode())
    assert spec.entries == ()
    saved = dispatched(matmul(8, 256, 512), "llvm-cpu").saved
    assert apply_specs(saved.content, TARGETS["llvm-cpu"], [spec], saved.phase).applied == ()
