"""Kernels of Triton compute what NumPy computes in f64, in Triton's interpreter, which needs no GPU."""

from __future__ import annotations

import os
import pickle
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from attention_programs import called, loaded
from contraction_programs import contraction
from iree.compiler import ir as mlir
from kernel_programs import (
    convolution_program,
    convolved,
    dequantized_program,
    heads_program,
    linear_program,
    product_program,
    quantized_program,
    shifted_program,
    stepped,
)
from moved_attention import (
    attended,
    decomposed_program,
    fused_program,
    grouped_program,
    selected_program,
)
from places import ROOT

from tuninglink.kernels import (
    Candidate,
    ConvolutionProblem,
    KernelProblem,
    ProductProblem,
    QuantizedProduct,
    ScaledAttention,
    TritonProvider,
    kernel_problem,
    problems_of,
    repeated_program,
)
from tuninglink.mlir import collect, thread_context
from tuninglink.replacing import UNIT, Attention
from tuninglink.specs import library_files, load_spec

pytest.importorskip("triton", reason="the extra 'kernels' is not installed")

STEPS = (
    ("bias", "relu", "truncation"),
    ("gelu", "residual"),
    ("scale", "gelu", "truncation"),
    ("factor",),
)
TILE = {"m": 16, "n": 32, "k": 16, "w": 4, "s": 2, "g": 2}
QUERIES = {"m": 16, "j": 16, "w": 4, "s": 2}
TYPES = {"f16": np.float16, "f32": np.float32, "i1": np.int8, "i8": np.int8, "i32": np.int32} | {
    "i64": np.int64,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
}


def product(
    *sizes: int, rhs: str = "kn", steps: tuple[str, ...] = (), element: str = "f16"
) -> ProductProblem:
    if not steps:
        types = (element, element, "i32" if element == "i8" else "f32")
        return ProductProblem(replace(contraction(*sizes, rhs=rhs), types=types))
    m, n, k = sizes
    module = mlir.Module.parse(product_program(m, n, k, steps, rhs=rhs), thread_context()).operation
    (end,) = collect(module, "util.return")
    problem = kernel_problem(end.operands[0].owner.operation)
    assert isinstance(problem, ProductProblem)
    return problem


def linear(*sizes: int, gate: bool) -> KernelProblem:
    module = mlir.Module.parse(linear_program(*sizes, gate=gate), thread_context()).operation
    (end,) = collect(module, "util.return")
    return kernel_problem(end.operands[0].owner.operation)


def quantized(*sizes: int, **options: Any) -> KernelProblem:
    module = mlir.Module.parse(quantized_program(*sizes, **options), thread_context()).operation
    (end,) = collect(module, "util.return")
    return kernel_problem(end.operands[0].owner.operation)


def convolution(*shapes: tuple[int, ...], **options: Any) -> KernelProblem:
    program = convolution_program(*shapes, **options)
    module = mlir.Module.parse(program, thread_context()).operation
    (end,) = collect(module, "util.return")
    return kernel_problem(end.operands[0].owner.operation)


def attention(
    query: str, key: str, value: str, mask: str | None = None, kind: str = "f16", **sizes: int
) -> ScaledAttention:
    masks = () if mask is None else (mask,)
    output = query[:-1] + "n"
    kinds = ("f16", "f16", "f16", "f32", *[kind] * len(masks), "f16")
    problem = Attention(
        (query, key, value, "", *masks, output), kinds, "".join(sizes), tuple(sizes.values())
    )
    return ScaledAttention(problem, 0.3)


CASES: list[tuple[str, KernelProblem, dict[str, int], tuple[str, ...]]] = [
    ("nn, odd m", product(33, 40, 72), {**TILE, "t": 0}, ()),
    ("nt, odd k", product(33, 40, 71, rhs="nk"), {**TILE, "t": 0}, ()),
    ("batch", product(3, 17, 33, 20, rhs="nk"), {**TILE, "t": 0}, ()),
    ("nt, descriptors", product(3, 33, 40, 64, rhs="nk"), {**TILE, "t": 1}, ()),
    ("nn, descriptors", product(33, 40, 72), {**TILE, "t": 1}, ()),
    (
        "windows",
        convolution((2, 32, 12, 11), (24, 32, 3, 3), bias=True),
        {**TILE, "t": 0},
        (),
    ),
    (
        "windows apart",
        convolution((1, 16, 15, 17), (8, 16, 2, 3), stride=2, dilation=2, bias=False),
        {**TILE, "t": 0},
        (),
    ),
    (
        "planar windows",
        convolution((2, 5, 15, 17), (24, 5, 2, 3), stride=2, dilation=2, bias=True),
        {**TILE, "t": 0},
        (),
    ),
    (
        "patches",
        convolution((2, 3, 12, 16), (24, 3, 4, 4), stride=4, bias=False),
        {**TILE, "t": 0},
        (),
    ),
    ("pixels", convolution((3, 20, 7, 5), (16, 20, 1, 1), bias=False), {**TILE, "t": 0}, ()),
    (
        "pixels apart",
        convolution((2, 32, 7, 5), (16, 32, 1, 1), stride=2, bias=True),
        {**TILE, "t": 0},
        (),
    ),
    ("folded batches", linear(3, 11, 40, 24, gate=False), {**TILE, "t": 0}, ("silu",)),
    ("descriptors", linear(3, 11, 40, 24, gate=False), {**TILE, "t": 1}, ("silu",)),
    ("gate", linear(3, 11, 40, 24, gate=True), {**TILE, "t": 0}, ("silu", "gate")),
    *(("steps", product(17, 40, 24, steps=at, rhs="nk"), {**TILE, "t": 0}, at) for at in STEPS),
    *(
        (f"wide {at}", product(33, 104, 72, rhs=rhs), {**TILE, "x": 16, **at}, ())
        for at in ({"t": 0}, {"t": 1})
        for rhs in ("kn", "nk")
    ),
    ("wide steps", product(17, 90, 24, steps=STEPS[2]), {**TILE, "x": 16, "t": 0}, STEPS[2]),
    ("wide steps", product(17, 64, 24, steps=STEPS[1]), {**TILE, "x": 16, "t": 1}, STEPS[1]),
    *(
        (
            f"parts of {kind}",
            product(*sizes, rhs=rhs, element=kind),
            {**TILE, "k": 32, "t": at, "z": 3},
            (),
        )
        for kind, sizes, rhs, at in (
            ("f16", (3, 7, 140, 168), "nk", 0),
            ("f16", (17, 40, 168), "kn", 1),
            ("f8E4M3FN", (17, 40, 150), "kn", 0),
            ("i8", (17, 40, 150), "nk", 0),
        )
    ),
    ("parts", product(17, 40, 150, steps=STEPS[1]), {**TILE, "k": 32, "t": 0, "z": 5}, STEPS[1]),
    ("parts", linear(3, 11, 40, 96, gate=True), {**TILE, "t": 0, "z": 2}, ("silu", "gate")),
    (
        "parts of bytes",
        quantized(17, 140, 171, product="wide"),
        {**TILE, "k": 32, "t": 0, "z": 2},
        ("quantization",),
    ),
    *(
        ("f8", product(33, 40, 71, rhs=rhs, element="f8E4M3FN"), {**TILE, "k": 32, "t": 0}, ())
        for rhs in ("kn", "nk")
    ),
    ("bytes", quantized(33, 40, 71, rhs="kn", steps=False), {**TILE, "k": 32, "t": 0}, ()),
    (
        "wide bytes",
        quantized(17, 40, 64, product="wide", steps=False),
        {**TILE, "k": 32, "t": 1},
        (),
    ),
    *(
        ("bytes", quantized(17, 40, 71, product=at), {**TILE, "k": 32, "t": 0}, ("quantization",))
        for at in ("named", "wide")
    ),
    ("attention", attention("abmk", "abjk", "abjn", a=2, b=2, m=33, n=16, k=16, j=33), QUERIES, ()),
    ("odd heads", attention("amk", "ajk", "ajn", a=3, m=17, n=40, k=72, j=35), QUERIES, ()),
    ("few", attention("amk", "ajk", "ajn", a=2, m=17, n=16, k=16, j=9), QUERIES, ()),
    ("rest", attention("amk", "ajk", "ajn", a=2, m=17, n=24, k=72, j=83), {**QUERIES, "j": 32}, ()),
    (
        "no rest",
        attention("amk", "akj", "ajn", a=2, m=17, n=24, k=72, j=96),
        {**QUERIES, "j": 32},
        (),
    ),
    (
        "negative",
        replace(attention("amk", "ajk", "ajn", a=2, m=17, n=16, k=16, j=37), scale=-0.3),
        QUERIES,
        (),
    ),
    ("turned", attention("amk", "akj", "anj", a=2, m=16, n=24, k=33, j=50), QUERIES, ()),
    ("groups", attention("apmk", "ajk", "ajn", a=2, p=3, m=17, n=16, k=16, j=20), QUERIES, ()),
    ("mask", attention("amk", "ajk", "ajn", "mj", a=2, m=17, n=16, k=16, j=35), QUERIES, ()),
    (
        "boolean",
        attention("amk", "ajk", "ajn", "mj", "i1", m=17, a=2, n=16, k=16, j=35),
        QUERIES,
        (),
    ),
    (
        "causal",
        attention("amk", "ajk", "ajn", "amj", "i1", a=2, m=33, n=16, k=16, j=33),
        QUERIES,
        (),
    ),
    ("masks", attention("amk", "ajk", "ajn", "amj", a=2, m=17, n=16, k=16, j=35), QUERIES, ()),
]
"""Names, problems, options, and the steps after a product."""


def arrays(problem: KernelProblem, random: np.random.Generator) -> list[np.ndarray[Any, Any]]:
    """Return operands, and a result that is overwritten; masks exclude keys, but not all of a query."""
    found = []
    if isinstance(problem, ConvolutionProblem):
        shapes: list[tuple[int, ...]] = [problem.images, problem.filters]
        shapes += [(problem.filters[0],)] if problem.has_bias else []
        shapes += [(problem.filters[0], 1, 1), problem.result, problem.result]
        kinds = [TYPES[kind] for _, kind in problem.operands]
        return [
            random.standard_normal(shape).astype(kind)
            for shape, kind in zip(shapes, kinds, strict=True)
        ]
    for loops, kind in problem.operands:
        shape = [1 if loop == UNIT else problem.loop_sizes[loop] for loop in loops]
        own = random.standard_normal(shape)
        own = np.clip(own * 100, -128, 127) if kind in ("i8", "i32") else own
        found.append(own.astype(TYPES[kind]))
    mask = problem.attention.mask if isinstance(problem, ScaledAttention) else None
    if mask is not None and found[3].dtype == np.int8:
        # Of the causal one, each query sees the keys up to its own.
        found[3][...] = (
            np.tri(*found[3].shape[-2:]) if mask == "amj" else random.random(found[3].shape) < 0.5
        )
        found[3][..., 0] = 1
    elif mask is not None:
        excluded = random.random(found[3].shape) < 0.5
        excluded[..., :16] = True  # the first tile of keys
        excluded[..., -1] = False
        found[3][excluded] = -np.inf
    found[-1][...] = 7
    return found


def reference(problem: KernelProblem, inputs: list[Any], steps: tuple[str, ...]) -> Any:
    """Compute a problem in f64."""
    wide = [value.astype(np.float64) for value in inputs[:-1]]
    loops = [own for own, _ in problem.operands]
    if isinstance(problem, ConvolutionProblem):
        images, filters, *bias, factor, residual = wide
        value = convolved(images, filters, problem.strides[0], problem.dilations[0])
        value = value + (bias[0][:, None, None] if bias else 0)
        return value * factor + residual
    if isinstance(problem, ProductProblem):
        value = np.einsum(f"{loops[0]},{loops[1]}->{loops[-1]}", wide[0], wide[1])
        return stepped(value, steps, wide[2:])
    outer = "".join(sorted(loops[-1][:-1]))  # batches before rows
    scores = np.einsum(f"{loops[0]},{loops[1]}->{outer}j", wide[0], wide[1]) * problem.scale
    if len(wide) > 3:
        is_boolean = inputs[3].dtype == np.int8
        mask = np.where(wide[3], 0, -np.inf) if is_boolean else wide[3]
        scores += np.einsum(f"{loops[3]},{outer}j->{outer}j", mask, np.ones(scores.shape))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum(f"{outer}j,{loops[2]}->{loops[-1]}", weights, wide[2])


def interpreted(calls: list[Any]) -> list[np.ndarray[Any, Any]]:
    """Return the results of calls of kernels."""
    # The interpreter is chosen when Triton is imported.
    script = ROOT / "test" / "support" / "interpreted_kernels.py"
    output = subprocess.run(
        [sys.executable, script],
        input=pickle.dumps(calls),
        env={**os.environ, "TRITON_INTERPRET": "1"},
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    results: list[np.ndarray[Any, Any]] = pickle.loads(output)
    return results


def launches(provider: TritonProvider, candidate: Candidate) -> list[tuple[Any, ...]]:
    """Return the name and the grid of each launch, and the tensor that it writes for the next one."""
    listed = []
    for launch in provider.launches(candidate):
        partial = None
        if launch.result:
            *shape, kind = launch.result.removeprefix("tensor<").removesuffix(">").split("x")
            partial = np.full([*map(int, shape)], 7, TYPES[kind])
        listed.append((launch.name, launch.grid, partial))
    return listed


def test_kernels_compute_the_integers_that_the_compiler_computes_for_quantized_products() -> None:
    provider, random = TritonProvider(), np.random.default_rng(0)
    calls, expected = [], []
    left, right, few = (
        random.integers(-128, 128, shape).astype(np.int8)
        for shape in ((17, 96), (40, 96), (2, 7, 96))
    )
    row, bias = (random.random(40).astype(np.float32) * at for at in (0.004, 9))
    turned, points = right.T.copy(), [np.array(at, np.int8) for at in (-125, 7)]
    numbers: dict[str, float]
    for program, given, numbers in (
        *(
            (
                dequantized_program(17, 40, 96, signed=signed, zero=zero),
                [left, right, row, bias],
                {"f32": 0.3125, "i64": zero},
            )
            for signed, zero in ((True, 3), (False, 130))
        ),
        (shifted_program(2, 7, 40, 96), [few, turned, *points, row], {}),
        (shifted_program(2, 7, 40, 96, points=(None, 0)), [few, turned, points[0], row], {}),
    ):
        module = mlir.Module.parse(program, thread_context()).operation
        (end,) = collect(module, "util.return")
        problem = kernel_problem(end.operands[0].owner.operation)
        assert isinstance(problem, QuantizedProduct)
        own = loaded(program.replace("util.func public", "func.func").replace("util.", ""))
        expected.append(called(own.main, given))
        assert 40 < expected[-1].std() < 300
        # What the program gives to the kernel.
        kinds = [str(problem.tensors()[at]) for at in problem.taken]
        tensors = iter(given)
        values = [numbers[kind] if kind in numbers else next(tensors) for kind in kinds]
        results = loaded(problem.given).graph(*values)
        inputs = [
            np.array(value.to_host() if hasattr(value, "to_host") else value, TYPES[kind])
            for value, (_, kind) in zip(results, problem.operands, strict=False)
        ]
        for options in ({"t": 0}, {"t": 0, "z": 2}):
            tile = {**TILE, "k": 32, **options}
            candidate = Candidate("triton", problem, "sm_90a", tuple(tile.items()))
            call = (provider.source(candidate), launches(provider, candidate))
            calls.append((*call, [*inputs, np.full_like(expected[-1], 7)]))
            expected.append(expected[-1])
        del expected[-1]
    for result, wanted in zip(interpreted(calls), expected, strict=True):
        assert (result == wanted).all()


def test_kernels_compute_what_numpy_computes() -> None:
    provider, random = TritonProvider(), np.random.default_rng(0)
    calls, expected = [], []
    for _, problem, options, steps in CASES:
        candidate = Candidate("triton", problem, "sm_90a", tuple(options.items()))
        inputs = arrays(problem, random)
        expected.append(reference(problem, inputs, steps))
        windows = problem.plain.windows if isinstance(problem, ConvolutionProblem) else None
        if windows is not None and not windows.is_planar:
            # Channels are contiguous.
            moved = [np.ascontiguousarray(np.moveaxis(value, 1, -1)) for value in inputs[:2]]
            inputs = [*moved, *inputs[2:]]
        calls.append((provider.source(candidate), launches(provider, candidate), inputs))
    # Attentions whose operands and results are moved read and write memory as the program has it.
    names = [name for name, *_ in CASES]
    fused = random.standard_normal((2, 33, 3, 4, 24)).astype(np.float16)
    query, key, value = (fused[:, :, at].copy() for at in range(3))
    few, small = key[:, :, :2].copy(), value[:, :, :2].copy()
    mask = (random.random((2, 1, 33, 33)) < 0.5).astype(np.int8)
    mask[..., 0] = 1
    added = np.where(mask, 0, -30000).astype(np.float16)
    bias = random.standard_normal((4, 33, 33)).astype(np.float16)
    # No key of the first query counts: of -65504 for each, the mean is left.
    bits = (random.random((33, 33)) < 0.5).astype(np.int8)
    bits[0] = 0
    replaced = np.where(bits, 0, -1e30)
    heads = {"batches": 2, "heads": 4, "rows": 33, "keys": 33, "size": 24}
    for name, program, memory, read in (
        (
            "slices",
            fused_program(2, 33, 4, 24, first=1),
            [fused] * 3,
            (key, value, query, 0.3),
        ),
        (
            "slices with a causal mask",
            fused_program(2, 33, 4, 24, mask="f16"),
            [fused] * 3,
            (query, key, value, 0.3, np.tril(np.ones((33, 33)))),
        ),
        (
            "groups of heads",
            grouped_program(2, 33, 4, 2, 24),
            [query, few, small],
            (query, np.repeat(few, 2, 2), np.repeat(small, 2, 2), 0.3),
        ),
        (
            "heads",
            heads_program(**heads, masked=False),
            [query, key, value],
            (query, key, value, 0.25),
        ),
        (
            "heads with a mask",
            heads_program(**heads, masked=True),
            [query, key, value, mask],
            (query, key, value, 0.25, mask),
        ),
        (
            "products and a softmax",
            decomposed_program(2, 33, 4, 24, masked=False),
            [query, key, value],
            (query, key, value, 0.25),
        ),
        (
            "products and a softmax with masks",
            decomposed_program(2, 33, 4, 24, masked=True),
            [query, key, value, added, bias],
            (query, key, value, 0.25, None, added.astype(float) + bias),
        ),
        *(
            (
                f"products and a softmax with bits, {excludes}",
                selected_program(2, 33, 4, 24, "-65504.0", excludes=excludes),
                [query, key, value, 1 - bits if excludes else bits],
                (query, key, value, 0.25, None, replaced),
            )
            for excludes in (False, True)
        ),
    ):
        module = mlir.Module.parse(program, thread_context()).operation
        (problem,) = problems_of(module)
        assert isinstance(problem, ScaledAttention)
        candidate = Candidate("triton", problem, "sm_90a", tuple(QUERIES.items()))
        inputs = [*memory, np.full((2, 33, 4, 24), 7, np.float16)]
        expected.append(attended(*read))
        calls.append((provider.source(candidate), launches(provider, candidate), inputs))
        names.append(name)
    for name, result, wanted in zip(names, interpreted(calls), expected, strict=True):
        error = np.abs(result - wanted).max() / np.abs(wanted).max()
        assert error < (1e-3 if result.dtype == np.float16 else 1e-5), name


def test_the_shipped_kernels_compute_what_the_compiler_computes_for_cpus() -> None:
    files = library_files("kernels-sm90a")
    command = runpy.run_path(str(ROOT / "benchmarks" / "kernel_library.py"))
    choices = command["choices"]([load_spec(file.content, name=file.name) for file in files])
    ordered = sorted(choices, key=lambda problem: problem.work)
    attentions = [problem for problem in ordered if isinstance(problem, ScaledAttention)]
    provider, random = TritonProvider(), np.random.default_rng(0)
    calls, expected = [], []
    for problem in (ordered[0], attentions[0]):
        program = repeated_program(problem, 1)
        (given,) = re.findall(r"@main\((.*?)\) ->", program)
        inputs = []
        for shape, kind in re.findall(r"tensor<((?:\d+x)*)(\w+)>", given):
            values = random.standard_normal([*map(int, shape.split("x")[:-1])])
            inputs.append((values > 0 if kind == "i1" else values).astype(TYPES[kind]))
        expected.append(called(loaded(program).main, inputs))
        candidate, result = choices[problem], np.full_like(expected[-1], 7)
        call = (provider.source(candidate), launches(provider, candidate))
        calls.append((*call, [*inputs, result]))
    for (_, own, _), result, wanted in zip(calls, interpreted(calls), expected, strict=True):
        assert np.abs(result - wanted).max() < 2e-3 * np.abs(wanted).max(), own
