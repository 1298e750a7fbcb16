"""Advice on shipped libraries, and `library:auto`, which applies all that fit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from problem_forms import KN, linear

import tuninglink
from tuninglink.cli.page_output import render
from tuninglink.compiler import ExplanationFormat
from tuninglink.explaining import catalog
from tuninglink.mlir import DiagnosticSink
from tuninglink.plain_data import plain
from tuninglink.specs import SpecFile, sources as libraries

if TYPE_CHECKING:
    from tuninglink.explaining import Explanation

AVX512 = "library:models-avx512"


def flags(cpu: str) -> list[str]:
    return [
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-triple=x86_64-linux-gnu",
        f"--iree-llvmcpu-target-cpu={cpu}",
    ]


def bert_layer() -> bytes:
    """Return a linear layer of BERT without a batch, as JAX exports it, and one of another size."""
    layer = linear("other", KN, "f32")
    sizes = {"tensor<32x64x": "tensor<384x768x", "tensor<64x64x": "tensor<768x768x"}
    bert = layer.replace("@other", "@bert")
    for old, new in sizes.items():
        bert = bert.replace(old, new)
    return (bert + layer).encode()


def explained(cpu: str, *specs: str) -> tuple[Explanation, list[str]]:
    said: list[str] = []
    explanation = tuninglink.explain(
        bert_layer(),
        specs=specs,
        flags=flags(cpu),
        diagnostics=DiagnosticSink(lambda each: said.append(each.message)),
    )
    return explanation, said


def test_a_library_that_this_compiler_does_not_read_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    newer = SpecFile("library:newer", b"module { transform.of_tomorrow }")
    files = (newer, *libraries.shipped_libraries())
    monkeypatch.setattr(catalog, "shipped_libraries", lambda: files)
    explanation, said = explained("rocketlake")
    assert said == []
    assert [library.source for library in explanation.libraries] == [AVX512]


def test_the_library_that_would_help_is_named() -> None:
    explanation, said = explained("rocketlake")
    assert said == []
    (library,) = explanation.libraries
    assert library.source == AVX512
    assert {each.partition("_dispatch")[0] for each in library.dispatches} == {"@bert"}
    (sentence,) = explanation.advice
    assert sentence.startswith(f"'{AVX512}' covers 100 % of the FLOPs")
    assert sentence in render(explanation, ExplanationFormat.TABLE, None)
    written = plain(explanation)
    assert written["libraries"][0]["source"] == AVX512
    assert json.dumps(written)


@pytest.mark.parametrize("cpu", ["haswell", "znver2"])
def test_a_library_for_other_targets_is_not_named(cpu: str) -> None:
    assert explained(cpu)[0].libraries == ()
    table = render(explained(cpu, "library:auto")[0], ExplanationFormat.TABLE, None)
    assert "SPEC" not in table


def test_all_libraries_that_fit_are_applied() -> None:
    explanation, said = explained("rocketlake", "library:auto")
    assert said == []
    assert explanation.libraries == ()
    assert [each.status.value for each in explanation.dispatches] == ["tuned", "unmatched"]
    table = render(explanation, ExplanationFormat.TABLE, None)
    assert AVX512 in table
    assert "gfx942" not in table
    assert "from @match_batch_matmul_1x384x768x768_f32: unit loop removed" in table


def test_libraries_that_configure_nothing_get_a_remark_together() -> None:
    said: list[str] = []
    result = tuninglink.compile(
        linear("other", KN, "f32").encode(),
        specs=["library:auto"],
        flags=[*flags("rocketlake"), "--compile-to=executable-configurations"],
        diagnostics=DiagnosticSink(lambda each: said.append(each.message)),
    )
    assert result.applied == ()
    assert said == ["'library:auto' configured nothing: none of its entries was the first to match"]
