"""Threads that no loop is mapped to, and the basis that uses them."""

from __future__ import annotations

import pytest

from tuninglink.checking import Checker
from tuninglink.iree import Target
from tuninglink.rules import Rule

TARGET = Target.parse("gfx942")


def spec(knobs: str, threads: int) -> str:
    """Return a spec for a product of few rows with a lowering config for VectorDistribute."""
    return f"""
module attributes {{transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint}} {{
  transform.named_sequence @set(%op: !transform.any_op {{transform.readonly}},
      %configuration: !transform.any_param {{transform.readonly}}) {{
    transform.annotate %op "compilation_info" = %configuration : !transform.any_op, !transform.any_param
    transform.yield
  }}
  transform.named_sequence @pick(%op: !transform.any_op {{transform.readonly}})
      -> (!transform.any_op, !transform.any_param) {{
    %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [8] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
    %configuration = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_gpu.lowering_config<{{{knobs}}}>,
      translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute>
        workgroup_size = [{threads}, 1, 1] subgroup_size = 64>> -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }}
  transform.named_sequence @__kernel_config(%all: !transform.any_op {{transform.consumed}}) -> !transform.any_op
      attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    %done = transform.foreach_match in %all @pick -> @set : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }}
}}
"""


def tiled(lanes: str, subgroups: str = "[[1, 1, 2], [0, 1, 2]]", k: int = 2048, n: int = 1) -> str:
    """Return the knobs of lanes that take 8 elements of a reduction at a time."""
    return (
        f"workgroup = [4, {n}, 0], partial_reduction = [0, 0, {k}], thread = [0, 0, 8], "
        f"subgroup_basis = {subgroups}, lane_basis = {lanes}"
    )


MATRICES = (
    "workgroup = [8, 256, 0], reduction = [0, 0, 32], subgroup_basis = {}, promote_operands = [0, 1], "
    "mma_kind = #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16>"
)


def findings(knobs: str, threads: int = 128) -> dict[Rule, tuple[str, list[str]]]:
    """Return the messages about a configuration with their notes, by rule."""
    report = Checker(target=TARGET).check(spec(knobs, threads).encode())
    return {
        item.rule: (item.message, [note.message for note in item.notes])
        for item in report.findings()
        if item.rule
    }


@pytest.mark.parametrize(
    ("knobs", "threads", "what", "right"),
    [
        (
            tiled("[[1, 4, 16], [0, 0, 2]]"),
            128,
            "4 lanes",
            "lane_basis = [[1, 1, 64], [0, 1, 2]]",
        ),
        (
            # The reduction has no room; the columns have.
            tiled("[[1, 4, 16], [0, 0, 2]]", k=256, n=8),
            128,
            "4 lanes",
            "lane_basis = [[1, 4, 16], [0, 1, 2]]",
        ),
        (
            tiled("[[1, 1, 64], [0, 1, 2]]", "[[4, 1], [1, 1, 1]]", k=4096),
            256,
            "4 subgroups",
            "subgroup_basis = [[1, 1, 4], [0, 1, 2]]",
        ),
        (
            MATRICES.format("[[1, 4], [0, 0, 0]]"),
            256,
            "4 subgroups",
            "subgroup_basis = [[1, 4, 1], [0, 1, 2]]",
        ),
    ],
    ids=["reduction", "columns", "subgroups", "intrinsics"],
)
def test_threads_that_repeat_work_are_named_with_the_basis_that_uses_them(
    knobs: str, threads: int, what: str, right: str
) -> None:
    message, notes = findings(knobs, threads)[Rule.REPEATED_WORK]
    assert f"{what} each compute the same" in message
    assert notes == [f"to use them, write {right}"]
    name = right.partition(" ")[0]
    start = knobs.index(f"{name} = ")
    corrected = knobs[:start] + right + knobs[knobs.index("]]", start) + 2 :]
    assert Rule.REPEATED_WORK not in findings(corrected, threads)


@pytest.mark.parametrize(
    "knobs",
    [
        tiled("[[1, 1, 64], [0, 1, 2]]"),
        tiled("[[1, 64], [0, 0, 1]]"),
        tiled("[[64, 1, 1], [1, 2, 0]]"),
        tiled("[[1, 4, 16], [0, 1, 7]]"),  # another fault: there is no count 7
    ],
)
def test_a_basis_that_uses_all_its_counts_repeats_nothing(knobs: str) -> None:
    assert Rule.REPEATED_WORK not in findings(knobs)


def test_a_basis_without_a_loop_to_take_them_gets_advice() -> None:
    _, notes = findings(tiled("[[1, 64, 1], [0, 0, 2]]", k=64))[Rule.REPEATED_WORK]
    assert notes == ["map a loop to them whose tile they divide, or take fewer"]


@pytest.mark.parametrize(
    ("lanes", "k", "is_slow"),
    [
        ("[[1, 64, 1], [0, 0, 2]]", 2048, True),
        ("[[1, 16, 4], [0, 0, 2]]", 1024, False),
        ("[[1, 1, 64], [0, 1, 2]]", 4096, False),
    ],
)
def test_elements_that_each_lane_repeats_are_slow_to_compile(
    lanes: str, k: int, *, is_slow: bool
) -> None:
    found = findings(tiled(lanes, k=k))
    assert (Rule.SLOW in found) == is_slow
    if is_slow:
        assert "at most 512 elements of an input" in found[Rule.SLOW][0]
