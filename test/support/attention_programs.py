"""Random attention problems, programs of them, and what they compute according to NumPy."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from iree.compiler import ir as mlir
from iree.compiler.tools import compile_str
from iree.runtime import Config, VmModule, load_vm_module

from tuninglink.compiler import executable_target
from tuninglink.forms import AttentionProducts, PaddedAttention
from tuninglink.iree import Target
from tuninglink.mlir import thread_context
from tuninglink.payloads import DYNAMIC
from tuninglink.replacing import Attention, spellings

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TYPES: Mapping[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "i1": np.bool_,
}
TOLERANCES = {"f16": 4e-3, "bf16": 4e-2, "f32": 2e-5}
"""The largest errors of results of about 1 by their element type; f16 is rounded to between any two ops."""

LOWEST = -65504.0
"""The lowest finite f16, which models add to scores that do not count."""


def attention(
    *sizes: int,
    element: str = "f16",
    scale: str | None = None,
    mask: str = "",
    masks: str = "",
    transposed: bool = False,
) -> Attention:
    """Return the attention of batches, queries, values, features and keys; one size less has no batches.

    `mask` has the loops of the mask, `masks` its element type.
    """
    batches = "ab"[: len(sizes) - len("mnkj")]
    value = "nj" if transposed else "jn"
    operands = (f"{batches}mk", f"{batches}jk", batches + value, "")
    types = (element,) * 3 + (scale or element,)
    if mask:
        operands, types = (*operands, mask), (*types, masks or element)
    operands, types = (*operands, f"{batches}mn"), (*types, element)
    return Attention(operands, types, f"{batches}mnkj", sizes)


def random_attention(choose: random.Random, most: int = 40) -> Attention:
    """Return a problem with any spelling, mask and types, whose sizes are at most `most`."""
    batches = "ab"[: choose.choice((0, 1, 1, 1, 2))]
    sizes = [choose.randint(1, 3) for _ in batches] + [choose.randint(1, most) for _ in "mnkj"]
    if choose.random() < 0.5:
        sizes[-2] = sizes[-3]
    element = choose.choice(("f16", "f16", "f32", "f32", "bf16"))
    mask = choose.choice(("", "", "", f"{batches}mj", "mj", "j", f"{batches}j"))
    problem = attention(
        *sizes,
        element=element,
        scale=choose.choice((element, "f32")),
        mask=mask,
        masks=choose.choice((element, "f32", "i1")),
    )
    return choose.choice(spellings(problem))


def opened(problem: Attention, loops: str) -> Attention:
    """Return a problem with dynamic sizes of those of the loops that it has."""
    return problem.resized({loop: DYNAMIC for loop in loops if loop in problem.loops})


def random_padding(problem: Attention, choose: random.Random) -> PaddedAttention:
    """Return a form that pads some loops of a problem by any number, dynamic ones to any multiple."""
    loops = [loop for loop in "mnkj" if loop != "j" or problem.mask is None or "j" in problem.mask]
    padded = choose.sample(loops, choose.randint(1, len(loops)))
    sizes = problem.loop_sizes
    return PaddedAttention(
        problem,
        tuple(
            (loop, max(0, sizes[loop]) + choose.randint(1, 20)) for loop in "mnkj" if loop in padded
        ),
    )


def random_products(problem: Attention, choose: random.Random) -> AttentionProducts:
    """Return the form of a problem as products, with any number of keys added, perhaps none."""
    return AttentionProducts(problem, problem.loop_sizes["j"] + choose.choice((0, 1, 3, 16)))


def can_be_products(problem: Attention) -> bool:
    """Return whether a problem has the element types of products."""
    *kinds, result = problem.types
    return {*kinds[:4], result} == {"f32"} and {*kinds[4:]} <= {"f32", "i1"}


def inputs_of(problem: Attention, seed: int) -> list[np.ndarray[Any, Any]]:
    """Return random tensors: no scale, and a mask that excludes keys, all keys of one row with finite numbers."""
    generator = np.random.default_rng(seed)
    sizes = problem.loop_sizes
    tensors = []
    for loops, element in zip(problem.operands[:-1], problem.types, strict=False):
        shape = [sizes[loop] for loop in loops]
        if loops and loops == problem.mask:
            values = generator.standard_normal(shape)
            if element == "i1":
                values = values > -0.5
                values[..., :1] = True
            else:
                values[values > 1] = -np.inf
                values[..., :1] = 0
                if "m" in loops:
                    values[..., 0, :] = LOWEST
            tensors.append(values.astype(TYPES[element]))
        elif loops:
            tensors.append(generator.standard_normal(shape).astype(TYPES[element]))
    return tensors


def attended(
    problem: Attention, inputs: Sequence[np.ndarray[Any, Any]], scale: float | None = None
) -> np.ndarray[Any, Any]:
    """Return the result of an attention in double precision."""
    loops, scores = problem.operands, f"{problem.outer}mj"
    numbers = _scores(problem, inputs, scale)
    with np.errstate(invalid="ignore"):
        weights = np.exp(numbers - numbers.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
    return np.einsum(f"{scores},{loops[2]}->{loops[-1]}", weights, inputs[2].astype(np.float64))


def rounding(
    problem: Attention, inputs: Sequence[np.ndarray[Any, Any]], scale: float | None = None
) -> np.ndarray[Any, Any]:
    """Return how far the elements of a result may be off because scores are rounded to f32.

    A score s is the sum of a product and a mask, both times log2(e): two roundings, each by 2**-24 of it at most. So the
    logarithm of a weight is off by 2**-23 of the largest s of its row, and a mean of values by twice that, times the
    largest value. Scores of -65504 give 0.016; scores of about 10 give less than rounding elsewhere.
    """
    numbers = _scores(problem, inputs, scale)
    largest = np.abs(numbers).max(-1, where=np.isfinite(numbers), initial=0.0)
    value = float(np.abs(inputs[2].astype(np.float64)).max(initial=0.0))
    sizes = np.ones([problem.loop_sizes["n"]])
    bounds = 2 * 2.0**-23 * value * largest
    return np.einsum(f"{problem.outer}m,n->{problem.operands[-1]}", bounds, sizes)


def _scores(
    problem: Attention, inputs: Sequence[np.ndarray[Any, Any]], scale: float | None
) -> np.ndarray[Any, Any]:
    """Return the scaled and masked scores of an attention in double precision, keys last."""
    query, key, _, *masks = (tensor.astype(np.float64) for tensor in inputs)
    loops = problem.operands
    scores = f"{problem.outer}mj"
    if scale is None:
        scale = problem.loop_sizes["k"] ** -0.5
    numbers = np.einsum(f"{loops[0]},{loops[1]}->{scores}", query, key) * scale
    if masks and problem.mask:
        (mask,) = masks
        if inputs[-1].dtype == np.bool_:
            mask = np.where(inputs[-1], 0.0, -np.inf)
        numbers = numbers + np.einsum(
            f"{problem.mask},{scores}->{scores}", mask, np.ones_like(numbers)
        )
    return numbers


def loaded(program: str, spec: Path | None = None) -> Any:
    """Compile a program for CPUs, with a preprocessing spec if one is given, and load it."""
    flags = ["--iree-llvmcpu-target-cpu=host", "--mlir-disable-threading"]
    if spec is not None:
        flags.append(f"--iree-preprocessing-transform-spec-filename={spec}")
    image = compile_str(program, target_backends=["llvm-cpu"], extra_args=flags)
    config = Config("local-sync")
    return load_vm_module(VmModule.copy_buffer(config.vm_instance, image), config)


def called(function: Any, inputs: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Return a copy of the result of a call, since the memory of a result is freed with it."""
    result: np.ndarray[Any, Any] = function(*inputs).to_host().copy()
    return result


def worst_error(result: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> float:
    """Return the largest difference between results; infinite where only one is a number."""
    numbers = result.astype(np.float64)
    if numbers.shape != expected.shape or (np.isnan(numbers) != np.isnan(expected)).any():
        return math.inf
    differences = np.abs(numbers - expected)
    return float(np.nanmax(differences, initial=0.0))


def target(*flags: str) -> Target:
    """Return the target that flags of the compiler describe, with its intrinsics."""
    return Target.from_attribute(executable_target(flags, thread_context()))


def program_of(problem: Attention, body: str = "", attributes: str = "") -> str:
    """Return a program of one attention whose scale is 0.5, as it is at the preprocessing stage.

    Args:
        problem: the problem.
        body: ops that compute `%y` from a score `%x`, if scores are modified.
        attributes: the op's attributes.
    """
    context = thread_context()
    with context, mlir.Location.unknown():
        kinds = [str(kind) for kind in problem.tensors()]
    named = [f"%{at}" for at in range(len(kinds) - 1)]
    dynamic = [loop for loop in problem.operands[-1] if problem.loop_sizes[loop] == DYNAMIC]
    sizes = "\n".join(
        f"%at_{loop} = arith.constant {problem.operands[0].index(loop)} : index\n"
        f"%size_{loop} = tensor.dim %0, %at_{loop} : {kinds[0]}"
        for loop in dynamic
    )
    counts = ", ".join(f"%size_{loop}" for loop in dynamic)
    arguments = ", ".join(f"{n}: {k}" for n, k in zip(named, kinds, strict=False) if n != "%3")
    maps = ", ".join(
        f"affine_map<({', '.join(problem.loops)}) -> ({', '.join(loops)})>"
        for loops in problem.operands
    )
    return f"""util.func public @main({arguments}) -> {kinds[-1]} {{
      %3 = arith.constant 0.5 : {kinds[3]}
      {sizes}
      %empty = tensor.empty({counts}) : {kinds[-1]}
      %result = iree_linalg_ext.attention <{{indexing_maps = [{maps}]}}> {attributes}
          ins({", ".join(named)} : {", ".join(kinds[:-1])}) outs(%empty : {kinds[-1]}) {{
        ^bb0(%x: f32):
          {body}
          iree_linalg_ext.yield {"%y" if body else "%x"} : f32
      }} -> {kinds[-1]}
      util.return %result : {kinds[-1]}
    }}"""


def near_problems(problem: Attention) -> list[Attention]:
    """Return problems that differ from one in a type, a size, a layout, or a mask."""
    found = []
    for position, element in enumerate(problem.types):
        if position != len(problem.types) - 2 or problem.mask is None:
            others = {"f16", "f32", "bf16"} - {element}
            found += [replace(problem, types=_with(problem.types, position, new)) for new in others]
    found += [problem.resized({loop: problem.loop_sizes[loop] + 1}) for loop in problem.loops]
    query, *rest, output = problem.operands
    found.append(replace(problem, operands=(query, *rest, output[:-2] + output[:-3:-1])))
    found.append(replace(problem, operands=(query[:-2] + query[:-3:-1], *rest, output)))
    if problem.mask is None:
        found.append(problem.with_mask("mj", problem.types[0]))
    return found


def _with(items: tuple[str, ...], position: int, item: str) -> tuple[str, ...]:
    return (*items[:position], item, *items[position + 1 :])
