"""Predicted forms: which attentions are padded for which targets, and what their entries say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from attention_programs import attention, opened, program_of, target
from iree.compiler import ir as mlir
from replaced_operations import is_replaced

from tuninglink.mlir import thread_context
from tuninglink.predicting import predicted_forms
from tuninglink.specs import ReplaceEntry, entry_binding, load_spec, provenance_of

if TYPE_CHECKING:
    from tuninglink.iree import Target
    from tuninglink.replacing import Attention

CUDA = target("--iree-hal-target-backends=cuda", "--iree-cuda-target=sm_80")
OTHER_CUDA = target("--iree-hal-target-backends=cuda", "--iree-cuda-target=sm_86")
AMD = target("--iree-hal-target-backends=rocm", "--iree-rocm-target=gfx942")
CPU = target("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=znver4")


def _predicted(*problems: Attention, targets: tuple[Target, ...] = (CUDA,)) -> str:
    programs = (
        program_of(problem).replace("@main", f"@main_{at}") for at, problem in enumerate(problems)
    )
    module = mlir.Module.parse("\n".join(programs), thread_context())
    return predicted_forms(module.operation, targets)


def _entries(text: str) -> tuple[ReplaceEntry, ...]:
    return load_spec(text.encode()).replace_entries if text else ()


@pytest.mark.parametrize(
    ("problem", "form"),
    [
        (attention(4, 16, 257, 64, 64, 257), "257 to 288 queries, 257 to 288 keys"),
        (attention(96, 77, 64, 64, 77, mask="amj"), "77 to 96 queries, 77 to 96 keys"),
        (attention(8, 1024, 64, 64, 77), "77 to 96 keys"),
        (attention(32, 1024, 72, 72, 1024), "72 to 128 values, 72 to 128 features"),
        (
            attention(64, 257, 80, 80, 257, element="bf16"),
            "257 to 288 queries, 80 to 128 values, 80 to 128 features, 257 to 288 keys",
        ),
        # Intrinsics divide these, but the default does not use them.
        (attention(32, 256, 80, 80, 256), "80 to 128 values, 80 to 128 features"),
        (attention(32, 1024, 96, 96, 1024), "96 to 128 values, 96 to 128 features"),
    ],
)
def test_attention_for_which_the_default_uses_no_intrinsic_is_padded(
    problem: Attention, form: str
) -> None:
    (entry,) = _entries(_predicted(problem))
    assert entry.form.startswith(f"padded: {form}; the default uses no intrinsic of sm_80; ")


@pytest.mark.parametrize(
    "problem",
    [
        attention(64, 256, 64, 64, 256),
        # The default uses intrinsics for this number of queries.
        attention(32, 768, 96, 96, 768),
        attention(64, 257, 64, 64, 257, element="f32"),
        opened(attention(64, 257, 64, 64, 257), "mj"),
        # Smaller, padded more, or of larger heads than what was measured.
        attention(2, 257, 64, 64, 257),
        attention(16, 256, 80, 80, 256),
        attention(4096, 33, 64, 64, 33),
        attention(64, 1024, 136, 136, 1024),
        attention(64, 257, 64, 64, 0),
    ],
    ids=str,
)
def test_others_are_left_alone(problem: Attention) -> None:
    assert _predicted(problem) == ""


@pytest.mark.parametrize("targets", [(OTHER_CUDA,), (AMD,), (CPU,), (CUDA, AMD), ()])
def test_nothing_is_predicted_without_a_single_target_with_a_model(
    targets: tuple[Target, ...],
) -> None:
    assert _predicted(attention(64, 257, 64, 64, 257), targets=targets) == ""


def test_each_problem_has_one_entry_with_its_gain_and_its_target() -> None:
    problems = [attention(64, 257, 64, 64, 257), attention(32, 1024, 72, 72, 1024)]
    text = _predicted(*problems, problems[0], attention(64, 256, 64, 64, 256))
    replacing = load_spec(text.encode()).replacing
    assert replacing
    provenance = {"source": "predicted", "expected_speedup": 11.4, "least_speedup": 3.44}
    longer, wider = replacing.entries
    for entry in (longer, wider):
        assert provenance_of(replacing.table, entry.matcher) == provenance
        assert entry_binding(entry, replacing) == ("sm_80",)
        gain = "11.40 times as fast as the compiler's choice, at least 3.44, as eleven like it on an H200"
        assert entry.form.endswith(f"; the default uses no intrinsic of sm_80; expected: {gain}")
    assert longer.form.startswith("padded: 257 to 288 queries")
    assert wider.form.startswith("padded: 72 to 128 values")
    # The matchers are those of the problems as they are written.
    assert all(is_replaced(text, program_of(problem)) for problem in problems)
    assert not is_replaced(text, program_of(attention(4, 16, 257, 64, 64, 257)))
