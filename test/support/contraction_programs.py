"""Random contractions, programs of them, and problems near them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from tuninglink.forms import BroadcastMatmul, FoldedBatch, PaddedContraction
from tuninglink.mlir import names
from tuninglink.replacing import Contraction, comparison

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}

ROWS = """
func.func @main(%l: tensor<34x48xf32>, %r: tensor<48x32xf32>) -> tensor<34x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<34x32xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<34x32xf32>) -> tensor<34x32xf32>
  %c = linalg.matmul ins(%l, %r : tensor<34x48xf32>, tensor<48x32xf32>) outs(%i : tensor<34x32xf32>) -> tensor<34x32xf32>
  return %c : tensor<34x32xf32>
}
"""
"""The product whose rows the specs `test/cli/Inputs/replace-*.mlir` pad."""


def contraction(*sizes: int, name: str = "linalg.matmul", rhs: str = "kn") -> Contraction:
    """Return a contraction of f16 into f32, with a batch if there are four sizes."""
    batches = "a" * (len(sizes) - len("mnk"))
    operands = (f"{batches}mk", batches + rhs, f"{batches}mn")
    return Contraction(operands, ("f16", "f16", "f32"), f"{batches}mnk", sizes, name)


def program_of(problem: Contraction | BroadcastMatmul) -> str:
    """Return a program of one contraction, as it is at the preprocessing stage."""
    is_broadcast = isinstance(problem, BroadcastMatmul)
    text = comparison(FoldedBatch(problem) if is_broadcast else PaddedContraction(problem, ()))
    plain = text[: text.index("  func.func @form")] + "}"
    return plain.replace("func.func", "util.func public").replace(" return ", " util.return ")


def near_problems(problem: Contraction) -> list[Contraction]:
    """Return problems that differ from one in a size, a type or the layout of the result."""
    near = [problem.resized({loop: problem.loop_sizes[loop] + 1}) for loop in problem.loops]
    near += [
        replace(problem, types=types)
        for types in (("f16", "f16", "f16"), ("f16", "f32", "f32"), ("bf16", "bf16", "f32"))
        if types != problem.types
    ]
    lhs, rhs, output = problem.operands
    operands = (lhs, rhs, output[:-2] + "nm")
    return [*near, replace(problem, name=names.GENERIC, operands=operands)]


def random_contraction(choose: random.Random, most: int = 40) -> Contraction:
    """Return a problem with any spelling and types, whose sizes are at most `most`."""
    sizes = [choose.randint(1, 3)] * choose.randint(0, 1)
    sizes += [choose.randint(1, most) for _ in "mnk"]
    problem = contraction(*sizes, name=names.GENERIC)
    element = choose.choice(("f16", "f16", "bf16", "f32"))
    types = (element, element, "f32")
    return choose.choice(replace(problem, types=types).spellings)


def random_broadcast(choose: random.Random, most: int = 12) -> BroadcastMatmul:
    """Return a batch matmul by one matrix, whose sizes are at most `most`; its matrix may be square."""
    batches = tuple(choose.randint(1, 4) for _ in range(choose.randint(2, 3)))
    m, n, k = (choose.randint(1, most) for _ in "mnk")
    element = choose.choice(("f16", "f16", "bf16", "f32"))
    n = choose.choice((n, k))
    return BroadcastMatmul(batches, (m, n, k), (element, element, "f32"))


def programs_near(problem: BroadcastMatmul) -> list[tuple[BroadcastMatmul, str]]:
    """Return programs that differ from that of a problem in a size, a type, the broadcast, or what is broadcast.

    Each has the problem with its operands.
    """
    first, *others = problem.batches
    m, n, k = problem.sizes
    element = "bf16" if problem.types[0] == "f16" else "f16"
    near = [
        replace(problem, batches=(first + 1, *others)),
        replace(problem, batches=(first, *others, 2)),
        replace(problem, sizes=(m + 1, n, k)),
        replace(problem, sizes=(m, n + 1, k)),
        replace(problem, sizes=(m, n, k + 1)),
        replace(problem, types=(element, element, "f32")),
    ]
    program = program_of(problem)
    changed = [_with_element(program, problem.types[1], name) for name in ("negf", "absf")]
    if n == k:
        # The matrix is broadcast transposed.
        rank = len(problem.batches)
        loops = f"(d{rank}, d{rank + 1})>"
        assert loops in program
        changed.append(program.replace(loops, f"(d{rank + 1}, d{rank})>", 1))
    return [
        *((other, program_of(other)) for other in near),
        *((problem, other) for other in changed),
    ]


def _with_element(program: str, element: str, name: str) -> str:
    """Return a program that broadcasts another function of the elements than the identity."""
    dialect = "math" if name == "absf" else "arith"
    body = f"%other = {dialect}.{name} %in : {element}\n      linalg.yield %other"
    assert "linalg.yield %in" in program
    return program.replace("linalg.yield %in", body, 1)


def random_padding(problem: Contraction, choose: random.Random) -> PaddedContraction:
    """Return a form that pads some loops of a problem by any number."""
    padded = choose.sample("mnk", choose.randint(1, 3))
    sizes = problem.loop_sizes
    return PaddedContraction(
        problem,
        tuple((loop, sizes[loop] + choose.randint(1, 20)) for loop in "mnk" if loop in padded),
    )


def inputs_of(problem: Contraction | BroadcastMatmul, seed: int) -> list[np.ndarray[Any, Any]]:
    """Return random factors, and a random tensor that the accumulation starts from."""
    generator = np.random.default_rng(seed)
    if isinstance(problem, BroadcastMatmul):
        (m, n, k), count = problem.sizes, math.prod(problem.batches)
        shapes = [[count, m, k], [k, n], [count, m, n]]
    else:
        sizes = problem.loop_sizes
        shapes = [[sizes[loop] for loop in loops] for loops in problem.operands]
    return [
        generator.standard_normal(shape).astype(TYPES[element])
        for shape, element in zip(shapes, problem.types, strict=True)
    ]


def summed(problem: Contraction, inputs: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Return the result of a contraction in double precision."""
    lhs, rhs, start = (tensor.astype(np.float64) for tensor in inputs)
    *factors, output = problem.operands
    return start + np.einsum(f"{','.join(factors)}->{output}", lhs, rhs)
