"""Calls per dispatch: loops, functions and branches, in programs that the compiler itself has lowered."""

from __future__ import annotations

import pytest
from iree.compiler import ir as mlir
from programs import TARGETS, run

from tuninglink.iree import count_calls
from tuninglink.mlir import thread_context

TENSOR = "tensor<64x64xf32>"
MATMUL = f"""
func.func private @product(%a: {TENSOR}, %b: {TENSOR}) -> {TENSOR} attributes {{noinline}} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {TENSOR}
  %start = linalg.fill ins(%zero : f32) outs(%empty : {TENSOR}) -> {TENSOR}
  %product = linalg.matmul ins(%a, %b : {TENSOR}, {TENSOR}) outs(%start : {TENSOR}) -> {TENSOR}
  return %product : {TENSOR}
}}
"""


def loop(
    low: int, high: str, step: int, body: str, *, result: str = "%r", value: str = "%a"
) -> str:
    return f"""
  %low{low} = arith.constant {low} : index
  %step{step} = arith.constant {step} : index
  {result} = scf.for %i = %low{low} to {high} step %step{step} iter_args(%x = {value}) -> {TENSOR} {{
    {body}
    scf.yield %y : {TENSOR}
  }}"""


CALL = f"%y = func.call @product(%x, %b) : ({TENSOR}, {TENSOR}) -> {TENSOR}"
TWENTY = "%high = arith.constant 20 : index"
NESTED = loop(1, "%high", 1, CALL, result="%inner", value="%a").replace("%i ", "%j ")
NESTED = NESTED.replace("%x", "%z") + f"\n%y = arith.addf %inner, %x : {TENSOR}"


def program(body: str, extra: str = "") -> str:
    arguments = f"%a: {TENSOR}, %b: {TENSOR}{extra}"
    return (
        f"{MATMUL}\nfunc.func @main({arguments}) -> {TENSOR} {{{body}\n  return %r : {TENSOR}\n}}\n"
    )


@pytest.mark.parametrize(
    ("source", "calls"),
    [
        (program(f"%x = arith.addf %a, %b : {TENSOR}\n{CALL.replace('%y', '%r')}"), 1),
        (program(TWENTY + loop(0, "%high", 1, CALL)), 20),
        (program(TWENTY + loop(0, "%high", 3, CALL)), 7),
        (program(TWENTY + loop(0, "%high", 3, NESTED.replace("= %a", "= %x"))), 133),
        (program(loop(0, "%high", 1, CALL), ", %high: index"), 1),
    ],
    ids=["straight", "loop", "step", "nested", "unknown"],
)
def test_loops_with_known_trips_are_counted(source: str, calls: int) -> None:
    text = run(
        "iree-compile", "--compile-to=executable-sources", *TARGETS["vmvx"], "-o=-", source=source
    )
    module = mlir.Module.parse(text, thread_context())
    counts = count_calls(module.operation)
    (name,) = [each for each in counts if each.startswith("@product")]
    assert counts[name] == calls


INITIALIZED = f"""
util.global private @weights : {TENSOR}
util.initializer {{
  %value = util.unfoldable_constant dense<2.0> : {TENSOR}
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {TENSOR}
  %start = linalg.fill ins(%zero : f32) outs(%empty : {TENSOR}) -> {TENSOR}
  %product = linalg.matmul ins(%value, %value : {TENSOR}, {TENSOR}) outs(%start : {TENSOR}) -> {TENSOR}
  util.global.store %product, @weights : {TENSOR}
  util.return
}}
func.func @main(%a: {TENSOR}) -> {TENSOR} {{
  %weights = util.global.load @weights : {TENSOR}
  %sum = arith.addf %a, %weights : {TENSOR}
  return %sum : {TENSOR}
}}
"""


def test_the_initialization_of_a_program_may_count_or_not() -> None:
    flags = (*TARGETS["vmvx"], "--compile-to=executable-sources", "-o=-")
    module = mlir.Module.parse(run("iree-compile", *flags, source=INITIALIZED), thread_context())
    product, sum_ = "@_initializer_0_dispatch_0", "@main_dispatch_0"

    def counts(**options: int) -> dict[str, int]:
        calls = count_calls(module.operation, **options)
        return {name.partition("::")[0]: number for name, number in calls.items()}

    assert counts() == {product: 1, sum_: 1}
    assert counts(initializations=0) == {product: 0, sum_: 1}
