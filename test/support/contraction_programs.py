"""Random contractions, programs of them, and problems near them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from tuninglink.forms import PaddedContraction
from tuninglink.mlir import names
from tuninglink.replacing import Contraction, comparison

if TYPE_CHECKING:
    import random

TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}


def contraction(*sizes: int, name: str = "linalg.matmul", rhs: str = "kn") -> Contraction:
    """Return a contraction of f16 into f32, with a batch if there are four sizes."""
    batches = "a" * (len(sizes) - len("mnk"))
    operands = (f"{batches}mk", batches + rhs, f"{batches}mn")
    return Contraction(operands, ("f16", "f16", "f32"), f"{batches}mnk", sizes, name)


def program_of(problem: Contraction) -> str:
    """Return a program of one contraction, as it is at the preprocessing stage."""
    text = comparison(PaddedContraction(problem, ()))
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


def random_padding(problem: Contraction, choose: random.Random) -> PaddedContraction:
    """Return a form that pads some loops of a problem by any number."""
    padded = choose.sample("mnk", choose.randint(1, 3))
    sizes = problem.loop_sizes
    return PaddedContraction(
        problem,
        tuple((loop, sizes[loop] + choose.randint(1, 20)) for loop in "mnk" if loop in padded),
    )


def inputs_of(problem: Contraction, seed: int) -> list[np.ndarray[Any, Any]]:
    """Return random factors, and a random tensor that the accumulation starts from."""
    generator = np.random.default_rng(seed)
    sizes = problem.loop_sizes
    return [
        generator.standard_normal([sizes[loop] for loop in loops]).astype(TYPES[element])
        for loops, element in zip(problem.operands, problem.types, strict=True)
    ]
