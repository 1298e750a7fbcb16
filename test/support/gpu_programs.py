"""Programs of one dispatch for GPUs, for tests of constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from configured_programs import TARGETS
from iree.compiler import ir as mlir
from programs import configured_bytecode

from tuninglink.iree import find_root_ops
from tuninglink.spaces.model import Workload, read_workload

if TYPE_CHECKING:
    from collections.abc import Sequence

_kept: list[mlir.Module] = []
"""The modules of returned operations, which must outlive these."""


def matmul(
    m: int,
    n: int,
    k: int,
    operand: str = "f16",
    *,
    result: str = "f32",
    batch: int = 0,
    transposed: bool = False,
) -> str:
    """Return a matmul of `operand` elements into `result` elements; `transposed` is the right side."""
    lead, loops = ([batch], "b, ") if batch else ([], "")
    right = (n, k) if transposed else (k, n)
    types = [
        f"tensor<{'x'.join(map(str, [*lead, *shape]))}x{element}>"
        for shape, element in (((m, k), operand), (right, operand), ((m, n), result))
    ]
    accesses = (f"{loops}m, k", f"{loops}n, k" if transposed else f"{loops}k, n", f"{loops}m, n")
    maps = ", ".join(f"affine_map<({loops}m, n, k) -> ({each})>" for each in accesses)
    kinds = ", ".join(['"parallel"'] * (len(lead) + 2) + ['"reduction"'])
    letter = "f" if result.startswith("f") else "i"
    wide = ("%l", "%r")
    casts = ""
    if operand != result:
        cast = "extf" if letter == "f" else "extsi"
        casts = f"%wl = arith.{cast} %l : {operand} to {result} %wr = arith.{cast} %r : {operand} to {result}"
        wide = ("%wl", "%wr")
    return f"""
func.func @matmul(%lhs: {types[0]}, %rhs: {types[1]}) -> {types[2]} {{
  %zero = arith.constant {"0.0" if letter == "f" else "0"} : {result}
  %empty = tensor.empty() : {types[2]}
  %init = linalg.fill ins(%zero : {result}) outs(%empty : {types[2]}) -> {types[2]}
  %result = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins(%lhs, %rhs : {types[0]}, {types[1]}) outs(%init : {types[2]}) {{
  ^bb0(%l: {operand}, %r: {operand}, %o: {result}):
    {casts}
    %product = arith.mul{letter} {wide[0]}, {wide[1]} : {result}
    %sum = arith.add{letter} %o, %product : {result}
    linalg.yield %sum : {result}
  }} -> {types[2]}
  return %result : {types[2]}
}}"""


def attention(*sizes: int, element: str = "f16") -> str:
    """Return an attention of sizes b, m, n, k1 and k2."""
    batch, m, n, k1, k2 = sizes
    query, key, value, result = (
        f"tensor<{'x'.join(map(str, shape))}x{element}>"
        for shape in ((batch, m, k1), (batch, k2, k1), (batch, k2, n), (batch, m, n))
    )
    accesses = ("b, m, k1", "b, k2, k1", "b, k2, n", "", "b, m, n")
    maps = ", ".join(f"affine_map<(b, m, n, k1, k2) -> ({each})>" for each in accesses)
    return f"""
func.func @attention(%query: {query}, %key: {key}, %value: {value}) -> {result} {{
  %scale = arith.constant 0.125 : {element}
  %empty = tensor.empty() : {result}
  %result = iree_linalg_ext.attention <{{indexing_maps = [{maps}]}}>
      ins(%query, %key, %value, %scale : {query}, {key}, {value}, {element}) outs(%empty : {result}) {{
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  }} -> {result}
  return %result : {result}
}}"""


def configured_source(source: str, target: str, flags: Sequence[str] = ()) -> Workload:
    """Return the only dispatch of a program, as the compiler configures it, in a separate context."""
    module = mlir.Module.parse(
        configured_bytecode(source, *TARGETS[target], *flags), mlir.Context()
    )
    _kept.append(module)
    ((root, function),) = (
        (root, each.function) for each in find_root_ops(module.operation) for root in each.roots
    )
    return read_workload(root, function)
