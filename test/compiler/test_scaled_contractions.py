"""Contractions of operands with block scales on gfx950: specs express all candidates of their spaces."""

from __future__ import annotations

import re

import pytest
from tuning_programs import compiler_for, dispatched_for, whole_samples

from tuninglink.programs import Benchmark
from tuninglink.spaces import ProviderRegistry
from tuninglink.tuning.candidates import NotTunableError, PreparedTask, prepare
from tuninglink.tuning.deciding import WinnerVerification

GFX950 = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx950")


def product(rows: str, columns: str, blocks: str, element: str) -> str:
    """Return a program that multiplies two matrices with a scale for each 32 elements.

    Args:
        rows: the sizes over the rows, in the syntax of a tensor; the first may be of a batch.
        columns: the sizes over the columns.
        blocks: the number of blocks.
        element: the element type of the matrices.
    """
    batch = rows.rpartition("x")[0]
    outer, letters = (f"{batch}x", "b, ") if batch else ("", "")
    lhs, rhs = (f"tensor<{sizes}x{blocks}x32x{element}>" for sizes in (rows, outer + columns))
    scales = [f"tensor<{sizes}x{blocks}xf8E8M0FNU>" for sizes in (rows, outer + columns)]
    result = f"tensor<{rows}x{columns}xf32>"
    loops = f"({letters}m, n, k, e)"
    parallel = '"parallel", ' * (3 if batch else 2)
    stored = {"f4E2M1FN": "x16xi8"}.get(element, f"x32x{element}")
    arguments = [re.sub(r"x32x\w+", stored, type_) for type_ in (lhs, rhs)]
    return f"""
func.func @main(%a: {arguments[0]}, %b: {arguments[1]}, %s: {scales[0]}, %t: {scales[1]}) -> {result} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {result}
  %start = linalg.fill ins(%zero : f32) outs(%empty : {result}) -> {result}
  %lhs = iree_tensor_ext.bitcast %a : {arguments[0]} -> {lhs}
  %rhs = iree_tensor_ext.bitcast %b : {arguments[1]} -> {rhs}
  %result = linalg.generic {{
      indexing_maps = [affine_map<{loops} -> ({letters}m, k, e)>, affine_map<{loops} -> ({letters}n, k, e)>,
                       affine_map<{loops} -> ({letters}m, k)>, affine_map<{loops} -> ({letters}n, k)>,
                       affine_map<{loops} -> ({letters}m, n)>],
      iterator_types = [{parallel}"reduction", "reduction"]}}
    ins(%lhs, %rhs, %s, %t : {lhs}, {rhs}, {scales[0]}, {scales[1]}) outs(%start : {result}) {{
  ^bb0(%x: {element}, %y: {element}, %p: f8E8M0FNU, %q: f8E8M0FNU, %sum: f32):
    %wide_x = arith.scaling_extf %x, %p : {element}, f8E8M0FNU to f32
    %wide_y = arith.scaling_extf %y, %q : {element}, f8E8M0FNU to f32
    %product = arith.mulf %wide_x, %wide_y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }} -> {result}
  return %result : {result}
}}
"""


EVEN = product("128", "256", "16", "f8E4M3FN")
UNEVEN = product("100", "200", "12", "f4E2M1FN")
BATCHED = product("3x64", "64", "8", "f8E5M2")


def task_of(program: str, flags: tuple[str, ...] = GFX950) -> PreparedTask:
    """Return the only task of a program."""
    (task,) = dispatched_for(program, flags).tasks
    return prepare(task, flags, [], ProviderRegistry(lambda _: None), {})


@pytest.mark.parametrize("program", [EVEN, UNEVEN, BATCHED])
def test_a_spec_for_a_candidate_gives_its_binary(program: str) -> None:
    task = task_of(program)
    with whole_samples():
        candidates = [task.spaces.default, *task.spaces.sample(2, 0)]
    assert all("mma_kind" in candidate.knobs for candidate in candidates)
    assert len({candidate.space for candidate in candidates}) == 2  # operands swizzled, or not
    compiler = compiler_for(GFX950)
    verification = WinnerVerification(task, compiler, 120.0)
    images = set()
    for candidate in candidates:
        measured = compiler.submit(task.template, candidate, 120.0).result()
        assert isinstance(measured, Benchmark), measured
        assert verification.failure(candidate, measured) is None
        images.add(measured.image)
    assert len(images) > len(candidates) // 2


@pytest.mark.parametrize(
    ("reason", "program", "flags"),
    [
        ("a form other than", EVEN.replace("mulf %wide_x", "addf %wide_x"), GFX950),
        ("blocks of 32, not of 16", EVEN.replace("x32xf8", "x16xf8"), GFX950),
        ("no intrinsic of the target", EVEN, (*GFX950[:1], "--iree-rocm-target=gfx942")),
    ],
)
def test_other_products_have_no_space(reason: str, program: str, flags: tuple[str, ...]) -> None:
    with pytest.raises(NotTunableError, match=reason):
        task_of(program, flags)
