"""Random depthwise convolutions, programs of them, and problems near them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tuninglink.forms import Depthwise, ShiftedSum
from tuninglink.replacing import comparison

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence


def depthwise(
    *image: int,
    window: Sequence[int] = (3, 3),
    strides: tuple[int, ...] = (1, 1),
    dilations: tuple[int, ...] = (1, 1),
    container: str = "vector",
) -> Depthwise:
    """Return the depthwise convolution of images, given their number, channels, and the sizes of the result."""
    count, channels, *result = image
    read = [
        (size - 1) * stride + (length - 1) * dilation + 1
        for size, length, stride, dilation in zip(result, window, strides, dilations, strict=True)
    ]
    shapes = ((count, channels, *read), (channels, *window), (count, channels, *result))
    return Depthwise(shapes, strides, dilations, container)


def random_depthwise(choose: random.Random) -> Depthwise:
    """Return a problem with any spelling and steps, whose sizes are at most 20."""
    image = (choose.randint(1, 2), *(choose.randint(1, 20) for _ in range(3)))
    steps = [(choose.choice((1, 1, 2, 3)), choose.choice((1, 1, 2))) for _ in range(2)]
    strides, dilations = steps
    window = [choose.randint(1, 4) for _ in range(2)]
    problem = depthwise(*image, window=window, strides=strides, dilations=dilations)
    return choose.choice(problem.spellings)


def near_problems(problem: Depthwise) -> list[Depthwise]:
    """Return problems that differ from one in sizes or steps."""
    (count, channels, *_), (_, *window), (*_, rows, columns) = problem.shapes
    others = [
        ((count + 1, channels, rows, columns), window),
        ((count, channels + 1, rows, columns), window),
        ((count, channels, rows + 1, columns), window),
        ((count, channels, rows, columns), [window[0], window[1] + 1]),
    ]
    near = [
        depthwise(*image, window=sizes, strides=problem.strides, dilations=problem.dilations)
        for image, sizes in others
    ]
    # Steps that are not taken change no size.
    if rows == 1:
        near.append(replace(problem, strides=(problem.strides[0] + 1, problem.strides[1])))
    if window[0] == 1:
        near.append(replace(problem, dilations=(problem.dilations[0] + 1, problem.dilations[1])))
    return [replace(other, container=problem.container) for other in near]


def program_of(problem: Depthwise) -> str:
    """Return a program of one depthwise convolution, as it is at the preprocessing stage."""
    text = comparison(ShiftedSum(problem))
    start, end = text.index("  func.func @plain"), text.index("  func.func @form")
    plain = f"module {{\n{text[start:end]}}}"
    return plain.replace("func.func", "util.func public").replace(" return ", " util.return ")


def inputs_of(problem: Depthwise, seed: int) -> list[np.ndarray[Any, Any]]:
    """Return a random image, filter, and start of the accumulation."""
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(shape).astype(np.float32) for shape in problem.shapes]
