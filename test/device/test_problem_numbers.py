"""Programs of problems compute what NumPy computes."""

from __future__ import annotations

import numpy as np
import pytest
from iree.compiler.tools import compile_str
from iree.runtime import Config, VmModule, load_vm_module

from tuninglink.tuning.problems.programs import function_name, program_of
from tuninglink.tuning.problems.words import read_words

IMAGES = np.random.default_rng(0).standard_normal((2, 4, 9, 8), dtype=np.float32) - 2
ROWS = IMAGES.reshape(16, 36)


def _run(words: str, *inputs: np.ndarray) -> list[np.ndarray]:
    problem = read_words(words)
    image = compile_str(program_of([problem]), target_backends=["llvm-cpu"])
    config = Config("local-sync")
    module = load_vm_module(VmModule.copy_buffer(config.vm_instance, image), config)
    results = module[function_name(problem)](*inputs)
    return [np.asarray(r) for r in (results if isinstance(results, tuple) else (results,))]


def _windows(padded: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Return the windows of the last dimensions; those of a window follow."""
    axes = tuple(range(padded.ndim - len(sizes), padded.ndim))
    return np.lib.stride_tricks.sliding_window_view(padded, sizes, axes)


def _framed(filler: float) -> np.ndarray:
    return np.pad(IMAGES, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=filler)


@pytest.mark.parametrize(
    ("words", "inputs", "expected"),
    [
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
            "avg_pool 2x8x36 3 f32 channels_last",
            [ROWS.reshape(2, 8, 36).transpose(0, 2, 1).copy()],
            [_windows(ROWS.reshape(2, 8, 36), (3,))[:, :, ::3].mean(-1).transpose(0, 2, 1)],
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
    ],
)
def test_programs_compute_the_results_of_numpy(
    words: str, inputs: list[np.ndarray], expected: list[np.ndarray]
) -> None:
    results = _run(words, *inputs)
    assert len(results) == len(expected)
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-4, atol=1e-4)
