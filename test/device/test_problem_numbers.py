"""Programs of problems compute what NumPy computes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from iree.compiler import ir as mlir
from iree.compiler.tools import compile_str
from iree.runtime import Config, VmModule, load_vm_module

from tuninglink.tuning.problems import (
    Convolution,
    Gradient,
    Layout,
    Product,
    function_name,
    program_of,
    read_words,
)

if TYPE_CHECKING:
    from tuninglink.tuning.problems import Problem

IMAGES = np.random.default_rng(0).standard_normal((2, 4, 9, 8), dtype=np.float32) - 2
ROWS = IMAGES.reshape(16, 36)


def _loaded(*problems: Problem) -> Any:
    image = compile_str(program_of(problems), target_backends=["llvm-cpu"])
    config = Config("local-sync")
    return load_vm_module(VmModule.copy_buffer(config.vm_instance, image), config)


def _results(module: Any, problem: Problem, *inputs: np.ndarray) -> list[np.ndarray]:
    results = module[function_name(problem)](*inputs)
    # The memory of a result is freed with it, even if NumPy has a view of it.
    return [r.to_host().copy() for r in (results if isinstance(results, tuple) else (results,))]


def _windows(padded: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Return the windows of the last dimensions; those of a window follow."""
    axes = tuple(range(padded.ndim - len(sizes), padded.ndim))
    return np.lib.stride_tricks.sliding_window_view(padded, sizes, axes)


def _framed(filler: float) -> np.ndarray:
    return np.pad(IMAGES, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=filler)


POSITIONS = np.array([3, 11, 5], dtype=np.int32)
SEEN = np.where(np.tri(9, 7, dtype=bool), np.float32(0), -np.inf)
"""The scores that a causal mask adds for nine queries and seven keys."""
QUERIES, KEYS, VALUES = np.split(
    np.random.default_rng(1).standard_normal((3, 4, 9, 8), dtype=np.float32), 3
)


def _attended(kv_heads: int, mask: np.ndarray) -> np.ndarray:
    """Return the attention of four heads of queries to the first seven keys of so many heads."""
    keys, values = (
        np.repeat(operand[0, :kv_heads, :7], 4 // kv_heads, axis=0) for operand in (KEYS, VALUES)
    )
    scores = np.exp(QUERIES[0] @ keys.transpose(0, 2, 1) / np.sqrt(8) + mask)
    return scores / scores.sum(-1, keepdims=True) @ values


def _normalized(rows: np.ndarray) -> np.ndarray:
    return rows / np.sqrt((rows**2).mean(1, keepdims=True) + 1e-5)


CASES: list[tuple[str, list[np.ndarray], list[np.ndarray]]] = [
    (
        "attention 4x9x7x8 f32",
        [QUERIES[0], KEYS[0, :, :7].copy(), VALUES[0, :, :7].copy()],
        [_attended(4, np.float32(0))],
    ),
    (
        "attention 4x9x7x8 f32 mask",
        [
            *(QUERIES[0], KEYS[0, :, :7].copy(), VALUES[0, :, :7].copy()),
            KEYS[0, :, :, :7].copy(),
        ],
        [_attended(4, KEYS[0, :, :, :7])],
    ),
    (
        "attention 4x9x7x8 f32 causal kv_heads=2",
        [QUERIES[0], KEYS[0, :2, :7].copy(), VALUES[0, :2, :7].copy()],
        [_attended(2, SEEN)],
    ),
    ("softmax 16x36 f32", [ROWS], [np.exp(ROWS) / np.exp(ROWS).sum(1, keepdims=True)]),
    ("sum 16x36 f32", [ROWS], [ROWS.sum(1)]),
    (
        "layer_norm 16x36 f32",
        [ROWS],
        [_normalized(ROWS - ROWS.mean(1, keepdims=True))],
    ),
    (
        "layer_norm 16x36 f32 affine",
        [ROWS, ROWS[3], ROWS[5]],
        [_normalized(ROWS - ROWS.mean(1, keepdims=True)) * ROWS[3] + ROWS[5]],
    ),
    ("rms_norm 16x36 f32 affine", [ROWS, ROWS[3]], [_normalized(ROWS) * ROWS[3]]),
    (
        "max_pool 2x4x9x8 3x2 f32 stride=2 padding=1",
        [IMAGES],
        [_windows(_framed(-np.inf), (3, 2))[:, :, ::2, ::2].max((-1, -2))],
    ),
    (
        "avg_pool 2x4x9x8 3x2 f32 padding=1",
        [IMAGES],
        [_windows(_framed(0), (3, 2))[:, :, ::3, ::2].mean((-1, -2))],
    ),
    (
        "max_pool 2x1x4x9x8 2x3x2 f32 stride=1",
        [IMAGES[:, None]],
        [_windows(IMAGES[:, None], (2, 3, 2)).max((-1, -2, -3))],
    ),
    (
        "avg_pool 2x1x4x9x8 2x3x2 f32",
        [IMAGES[:, None]],
        [_windows(IMAGES[:, None], (2, 3, 2))[:, :, ::2, ::3, ::2].mean((-1, -2, -3))],
    ),
    (
        "avg_pool 2x1x4x9x8 2x3x2 f32 channels_last",
        [IMAGES[..., None]],
        [_windows(IMAGES, (2, 3, 2))[:, ::2, ::3, ::2].mean((-1, -2, -3))[..., None]],
    ),
    (
        "avg_pool 2x8x36 3 f32 channels_last",
        [ROWS.reshape(2, 8, 36).transpose(0, 2, 1).copy()],
        [_windows(ROWS.reshape(2, 8, 36), (3,))[:, :, ::3].mean(-1).transpose(0, 2, 1)],
    ),
    ("add 16x36 f32", [ROWS, ROWS[::-1].copy()], [ROWS + ROWS[::-1]]),
    ("transpose 16x36 f32", [ROWS], [ROWS.T]),
    ("gather 16x36x3 f32", [ROWS, POSITIONS], [ROWS[POSITIONS]]),
    (
        "scatter 16x36x3 f32",
        [ROWS[:3].copy(), POSITIONS[:, None].copy(), np.zeros_like(ROWS)],
        [np.eye(16, dtype=np.float32)[:, POSITIONS] @ ROWS[:3]],
    ),
    ("arg_compare 16x36 f32", [ROWS], [ROWS.max(1), ROWS.argmax(1)]),
    ("topk 16x36x5 f32", [ROWS], [-np.sort(-ROWS)[:, :5], np.argsort(-ROWS)[:, :5]]),
    (
        "conv 2x8x36 3x4 f32 stride=2",
        [ROWS.reshape(2, 8, 36), ROWS[:3, :32].reshape(3, 8, 4)],
        [
            np.einsum(
                "ncwk,fck->nfw",
                _windows(ROWS.reshape(2, 8, 36), (4,))[:, :, ::2],
                ROWS[:3, :32].reshape(3, 8, 4),
            )
        ],
    ),
    (
        "conv 2x1x4x9x8 2x2x3x2 f32",
        [IMAGES[:, None], ROWS[:2, :12].reshape(2, 1, 2, 3, 2)],
        [
            np.einsum(
                "ncdhwxyz,fcxyz->nfdhw",
                _windows(IMAGES[:, None], (2, 3, 2)),
                ROWS[:2, :12].reshape(2, 1, 2, 3, 2),
            )
        ],
    ),
]
"""Words, the arguments of their programs, and the results."""


def test_programs_compute_the_results_of_numpy() -> None:
    problems = {words: read_words(words) for words, _, _ in CASES}
    module = _loaded(*problems.values())
    for words, inputs, expected in CASES:
        results = _results(module, problems[words], *inputs)
        assert len(results) == len(expected), words
        for result, value in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, value, rtol=1e-4, atol=1e-4, err_msg=words)


SCALED = {
    "scaled_matmul 5x6x96 f4E2M1FN": (4, 2),
    "scaled_matmul 2x5x6x64 f4E2M1FN": (4, 2),
    "scaled_matmul 5x6x64 f8E4M3FN": (8, 4),
    "scaled_matmul 5x6x64 f8E5M2": (8, 5),
}
"""The bits of an element and of its exponent."""


def test_scaled_products_multiply_blocks_by_their_scales() -> None:
    problems = {words: read_words(words) for words in SCALED}
    module = _loaded(*problems.values())
    generator = np.random.default_rng(2)
    for words, (bits, exponent) in SCALED.items():
        problem = problems[words]
        assert isinstance(problem, Product)
        lead = () if problem.batch is None else (problem.batch,)
        matrices, scales, wide = [], [], []
        for rows in (problem.m, problem.n):
            # The largest exponents have infinities and NaNs.
            shape = (*lead, rows, problem.k // 32, 32)
            codes = generator.integers(0, 1 << (bits - 2), shape, np.uint8)
            codes |= generator.integers(0, 2, shape, np.uint8) << (bits - 1)
            scale = generator.integers(120, 130, shape[:-1], np.uint8)
            wide.append(_decoded(codes, bits, exponent) * np.exp2(scale - 127.0)[..., None])
            packed = codes[..., ::2] | codes[..., 1::2] << 4 if bits == 4 else codes
            matrices.append(packed.view(np.int8))
            scales.append(scale.view(np.int8))
        (result,) = _results(module, problem, *matrices, *scales)
        expected = np.einsum("...mkb,...nkb->...mn", *wide)
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4, err_msg=words)


def _decoded(codes: np.ndarray, bits: int, exponent: int) -> np.ndarray:
    """Return the numbers of floating-point codes with so many bits of exponent."""
    mantissa = bits - 1 - exponent
    power = (codes >> mantissa & (1 << exponent) - 1).astype(float)
    part = (codes & (1 << mantissa) - 1) / (1 << mantissa)
    bias = (1 << (exponent - 1)) - 1
    size = (part + (power > 0)) * np.exp2(np.maximum(power, 1) - bias)
    return np.where(codes >> (bits - 1), -size, size)


CONVOLUTIONS = [
    "conv 2x3x5x4 2x3x2 f32 padding=1 stride=2x1",
    "conv 1x2x6x5 3x2x3 f32 padding=0x2 stride=1x3 dilation=2x1 layout=nhwc_hwcf_nfhw",
    "conv 2x4x7 6x3 f32 groups=2 padding=1",
    "conv 1x4x4x5x3 2x2x3x1 f32 groups=2 stride=1x2x2 padding=1x0x2 layout=ndhwc_fdhwc",
    "conv 2x3x6x5 3x3x3 f32 groups=3 padding=1 stride=2 layout=nhwc_fhwc",
    "conv 1x2x4x4 3x1x2 f32 padding=2x0 layout=cnhw_wfch_hnwf",
    "conv 1x2x5x4 2x1x1 f32 padding=1x3 stride=1x2",
]
"""Shapes, steps, padding beyond the window, layouts and groups."""


def test_convolutions_and_their_gradients_agree_with_sums_over_all_windows() -> None:
    forward = [read_words(words) for words in CONVOLUTIONS]
    problems = [
        replace(problem, gradient=gradient)
        for problem in forward
        if isinstance(problem, Convolution)
        for gradient in (None, *Gradient)
    ]
    module = _loaded(*problems)
    for problem in problems:
        *operands, expected = _operands(problem)
        (result,) = _results(module, problem, *operands)
        result = result.reshape(expected.shape)
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4, err_msg=str(problem))


def _operands(problem: Convolution) -> list[np.ndarray]:
    """Return the operands of a convolution or gradient, and its result, in the shapes of its layout."""
    layout, default = problem.layout, Layout.default(len(problem.size))
    shapes = (
        (problem.images, problem.channels, *problem.size),
        (problem.outputs, problem.channels // problem.groups, *problem.kernel),
        (problem.images, problem.outputs, *problem.output_size),
    )
    generator = np.random.default_rng(0)
    given = [generator.standard_normal(shape, dtype=np.float32) for shape in shapes]
    orders = [
        [canonical.index(letter) for letter in order]
        for order, canonical in (
            (layout.image, default.image),
            (layout.filters, default.filters),
            (layout.result, default.result),
        )
    ]
    image, filters, result, *sums = (
        np.ascontiguousarray(array.transpose(order))
        for array, order in zip([*given, *_sums(problem, *given)], orders * 2, strict=True)
    )
    match problem.gradient:
        case None:
            operands, expected = (image, filters), sums[2]
        case Gradient.DATA:
            operands, expected = (result, filters), sums[0]
        case Gradient.WEIGHTS:
            operands, expected = (image, result), sums[1]
    with mlir.Context():
        (function,) = mlir.Module.parse(program_of([problem])).body.operations
        shapes = [kind.shape for kind in function.type.inputs]
    return [*map(np.reshape, operands, shapes), expected]


def _sums(problem: Convolution, *given: np.ndarray) -> list[np.ndarray]:
    """Return what all elements of all windows add to image, filters and result, given these or their gradients."""
    image, filters, result = given
    image_sum, filters_sum, result_sum = sums = [np.zeros_like(array) for array in given]
    groups, steps = (
        problem.groups,
        [*zip(problem.strides, problem.dilations, problem.padding, strict=True)],
    )
    for place, inner in product(np.ndindex(problem.output_size), np.ndindex(problem.kernel)):
        at = [
            stride * outer + dilation * element - margin
            for (stride, dilation, margin), outer, element in zip(steps, place, inner, strict=True)
        ]
        if any(not 0 <= index < size for index, size in zip(at, problem.size, strict=True)):
            continue
        for group in range(groups):
            channels, features = (
                slice(group * count // groups, (group + 1) * count // groups)
                for count in (problem.channels, problem.outputs)
            )
            pixel, weight = (slice(None), channels, *at), (features, slice(None), *inner)
            window = (slice(None), features, *place)
            result_sum[window] += image[pixel] @ filters[weight].T
            image_sum[pixel] += result[window] @ filters[weight]
            filters_sum[weight] += result[window].T @ image[pixel]
    return sums
