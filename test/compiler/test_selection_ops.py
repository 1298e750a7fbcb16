"""Ops that select elements of rows, top-k and arg_compare: their spaces on CPUs and GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from verdict_trials import TARGETS, Trials

from tuninglink.solver import Verdict
from tuninglink.spaces import ProviderRegistry

if TYPE_CHECKING:
    from tuninglink.spaces.model import Space

VALUES: Final = "tensor<64x1024xf32>"


def selection(op: str, inputs: str, result: str) -> str:
    """Return a program that selects the largest elements of rows, and their indices."""
    values, indices = f"{result}xf32>", f"{result}xi32>"
    types = ", ".join([VALUES, "tensor<64x1024xi32>"][: inputs.count("%")])
    return f"""
func.func @main(%values: {VALUES}, %indices: tensor<64x1024xi32>) -> ({values}, {indices}) {{
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : {values}
  %empty_indices = tensor.empty() : {indices}
  %start = linalg.fill ins(%least : f32) outs(%empty : {values}) -> {values}
  %start_indices = linalg.fill ins(%zero : i32) outs(%empty_indices : {indices}) -> {indices}
  %result:2 = iree_linalg_ext.{op} dimension(1) ins({inputs} : {types})
    outs(%start, %start_indices : {values}, {indices}) {{
  ^bb0(%one: f32, %other: f32):
    %larger = arith.cmpf ogt, %one, %other : f32
    iree_linalg_ext.yield %larger : i1
  }} -> {values}, {indices}
  return %result#0, %result#1 : {values}, {indices}
}}
"""


TOPK: Final = selection("topk", "%values, %indices", "tensor<64x8")
LARGEST: Final = selection("arg_compare", "%values", "tensor<64")


def only_space(subject: Trials, pipeline: str) -> Space:
    registry = ProviderRegistry(lambda _: None, entry_points=tuple)
    (space,) = registry.spaces(subject.workload, pipeline)
    return space


@pytest.mark.parametrize("source", [TOPK, LARGEST])
def test_only_rows_are_distributed_on_a_cpu(source: str) -> None:
    subject = Trials.of(source, TARGETS["znver4"])
    space = only_space(subject, "#iree_cpu.pipeline<Default>")
    solutions = sorted(space.constraints.enumerate(), key=lambda values: values["distribution[0]"])
    assert [solution["distribution[0]"] for solution in solutions] == [0, 1, 2, 4, 8, 16, 32]
    assert all(sum(values.values()) == values["distribution[0]"] for values in solutions)
    for solution in solutions[:2]:
        subject.configure(space, solution)
        assert subject.compile().error == ""


@pytest.mark.parametrize("target", ["gfx942", "sm_80"])
def test_lanes_of_one_subgroup_compare_on_a_gpu(target: str) -> None:
    subject = Trials.of(LARGEST, TARGETS[target])
    answer = subject.judge(ProviderRegistry(lambda _: None, entry_points=tuple))
    assert answer is not None
    # The compiler's own choice has several subgroups.
    assert answer.verdict is Verdict.REFUTED
    assert subject.compile().error
    space = only_space(subject, "#iree_gpu.pipeline<VectorDistribute>")
    for solution in space.constraints.sample(2, seed=1):
        subject.configure(space, solution)
        assert subject.compile().error == ""
