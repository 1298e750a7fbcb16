"""Specs to start from: they pass `check`, take effect in their program, and change not a byte of its code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from programs import PROGRAMS, TARGETS
from tuning_programs import ATTENTION, CONVOLUTION, ONE_IMAGE, REDUCTION, matmul

import tuninglink
from tuninglink.errors import CompileError
from tuninglink.mlir import DiagnosticSink

if TYPE_CHECKING:
    from tuninglink.scaffolding import InitSpec

QUIET = DiagnosticSink(lambda _: None)
PARTS = (matmul(128, 256, 512, "f16", "first"), CONVOLUTION, ONE_IMAGE, ATTENTION, REDUCTION)
MATMULS = matmul(64, 64, 64, "f16", "small") + matmul(128, 256, 512, "f16", "large")


BIASED = """
func.func @main(%lhs: tensor<8x64xf32>, %rhs: tensor<64x4xf32>) -> tensor<8x4xf32> {
  %bias = arith.constant dense_resource<bias> : tensor<4xf32>
  %empty = tensor.empty() : tensor<8x4xf32>
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x4xf32>) -> tensor<8x4xf32>
  %product = linalg.matmul ins(%lhs, %rhs : tensor<8x64xf32>, tensor<64x4xf32>) outs(%init : tensor<8x4xf32>) -> tensor<8x4xf32>
  %sum = linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%product, %bias : tensor<8x4xf32>, tensor<4xf32>) outs(%empty : tensor<8x4xf32>) {
  ^bb0(%value: f32, %addend: f32, %out: f32):
    %added = arith.addf %value, %addend : f32
    linalg.yield %added : f32
  } -> tensor<8x4xf32>
  return %sum : tensor<8x4xf32>
}
{-# dialect_resources: { builtin: { bias: "0x040000000000803F000000400000404000008040" } } #-}
"""
"""A product whose weights stay in its dispatch as a resource, which programs of PyTorch have."""


def init(source: str, target: str, **options: object) -> InitSpec:
    return tuninglink.init_spec(
        source.encode(), flags=TARGETS[target], diagnostics=QUIET, **options
    )


def compiled(source: str, target: str, *specs: str) -> tuninglink.compiler.Compilation:
    return tuninglink.compile(
        source.encode(),
        specs=[each.encode() for each in specs],
        default_specs=False,
        flags=[*TARGETS[target], "--compile-to=executable-targets"],
        diagnostics=QUIET,
    )


@pytest.mark.parametrize("target", ["hip", "cuda", "llvm-cpu", "vulkan"])
def test_a_spec_takes_effect_and_changes_no_byte(target: str) -> None:
    # The compiler itself fails on attention for Vulkan.
    parts = PARTS if target != "vulkan" else tuple(each for each in PARTS if each != ATTENTION)
    source = "\n".join(part.replace("@main", f"@part{number}") for number, part in enumerate(parts))
    written = init(source, target)
    assert written.left_out == ()
    assert len(written.entries) == len(parts)
    plain, tuned = compiled(source, target), compiled(source, target, written.text)
    assert tuned.output == plain.output
    assert {each.entry.matcher for each in tuned.applied if each.entry} == set(written.entries)
    assert all(each.is_own for each in tuned.applied)
    wanted = {name for each in written.entries.values() for name in each.dispatches}
    assert {each.dispatch for each in tuned.applied} == wanted


def test_weights_in_a_dispatch_are_no_change_of_its_code() -> None:
    written = init(BIASED, "cuda")
    assert written.left_out == ()
    assert len(written.entries) == 1


def test_an_edited_spec_changes_the_code() -> None:
    written = init(MATMULS, "hip", dispatches=["large"])
    edited = re.sub(
        r"(?m)^( *%\d+ = .*)reduction = \[0, 0, 8\]", r"\1reduction = [0, 0, 4]", written.text
    )
    assert edited != written.text
    assert compiled(MATMULS, "hip", edited).output != compiled(MATMULS, "hip").output


def test_each_knob_has_a_comment_with_its_meaning_and_the_values_that_are_valid() -> None:
    lines = init(MATMULS, "hip", dispatches=["large"]).text.splitlines()
    comments = [line.strip() for line in lines if line.strip().startswith("//")]
    knob = comments.index(
        "//   reduction[2] = 8  (tile of a step of the reduction; with an mma_kind in intrinsics: k = 512)"
    )
    assert comments[knob + 1] == "//       also: 1, 2, 4"
    assert any(each.startswith("// matmul 128x256x512 f16·f16→f32") for each in comments)


def test_the_costliest_problems_come_first_and_equal_ones_are_one() -> None:
    source = MATMULS + matmul(64, 64, 64, "f16", "again")
    written = init(source, "hip")
    first, second = written.entries.values()
    assert "128x256x512" in first.words
    assert first.calls * (first.cost.flops or 0) > second.calls * (second.cost.flops or 0)
    (only,) = init(source, "hip", top=1).entries.values()
    assert only.words == first.words


def test_what_is_not_worth_tuning_is_left_out_unless_it_is_named() -> None:
    source = """
func.func @add(%a: tensor<1024xf32>, %b: tensor<1024xf32>) -> tensor<1024xf32> {
  %sum = arith.addf %a, %b : tensor<1024xf32>
  return %sum : tensor<1024xf32>
}"""
    with pytest.raises(CompileError, match="only element-wise ops"):
        init(source, "hip")
    written = init(source, "hip", dispatches=["add"])
    assert compiled(source, "hip", written.text).output == compiled(source, "hip").output
    with pytest.raises(CompileError, match="no dispatch in '<memory>' is called 'nobody'"):
        init(source, "hip", dispatches=["nobody"])


def test_an_entry_for_attention_with_a_mask_is_a_dag() -> None:
    source = (PROGRAMS / "attention.mlir").read_text()
    written = init(source, "hip", dispatches=["masked"])
    assert written.left_out == ()
    (dag,) = re.findall(r"cast_compatible_dag_from_root.*\n.*\n.*online_attention", written.text)
    assert dag
    assert [each.is_own for each in compiled(source, "hip", written.text).applied] == [True]


def test_a_dispatch_that_no_matcher_finds_is_named_with_the_reason() -> None:
    source = (PROGRAMS / "reduction.mlir").read_text()
    (left_out,) = init(source, "hip", dispatches=["normalization_dispatch_1"]).left_out
    assert left_out.dispatches == ("@normalization_dispatch_1::@rocm_hsaco_fb",)
    assert "regions use outer values" in left_out.reason
