"""Models of JAX for one thread of a CPU, which `models.py --suite cpu` exports as StableHLO.

None of them was used to choose the sets of flags or the defaults of the tuner.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True)
class JaxFunction:
    """An entry function of a model.

    Attributes:
        call: computes it from the inputs.
        inputs: its inputs, the weights included where they are arguments.
    """

    call: Callable[..., jax.Array]
    inputs: Sequence[np.ndarray]


class _Weights:
    """Random weights, always the same."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(0)

    def __call__(self, *sizes: int) -> np.ndarray:
        """Return a weight, whose scale keeps the variance of its other factor."""
        scale = np.sqrt(np.prod(sizes[:-1]))
        return (self._random.standard_normal(sizes) / scale).astype(np.float32)

    def inputs(self, *sizes: int) -> np.ndarray:
        """Return an input."""
        return self._random.standard_normal(sizes).astype(np.float32)


def _normal(x: jax.Array) -> jax.Array:
    """Normalize the last dimension."""
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def _attention(queries: jax.Array, keys: jax.Array, values: jax.Array, heads: int) -> jax.Array:
    """Return attention of (tokens, features) with several heads."""

    def split(x: jax.Array) -> jax.Array:
        return x.reshape(x.shape[0], heads, -1).transpose(1, 0, 2)

    queries, keys, values = split(queries), split(keys), split(values)
    weights = jax.nn.softmax(
        queries @ keys.transpose(0, 2, 1) / np.sqrt(queries.shape[-1]).astype(np.float32)
    )
    return (weights @ values).transpose(1, 0, 2).reshape(queries.shape[1], -1)


# --- A convolutional net in NHWC --------------------------------------------------------------------------------

_NHWC: Final = ("NHWC", "HWIO", "NHWC")


def convnext() -> JaxFunction:
    """Return a small ConvNeXt, one image: depthwise 7x7 convolutions and linear layers (Liu et al. 2022)."""
    # The weights: stem, three stages, the convolutions between them, and head.
    weight = _Weights()
    widths, depth = (48, 96, 192), 2
    stem = weight(4, 4, 3, widths[0])
    stages = [
        [(weight(7, 7, 1, width), weight(width, 4 * width), weight(4 * width, width))] * depth
        for width in widths
    ]
    between = [weight(2, 2, a, b) for a, b in itertools.pairwise(widths)]
    head = weight(widths[-1], 100)

    def call(x: jax.Array) -> jax.Array:
        x = lax.conv_general_dilated(x, stem, (4, 4), "VALID", dimension_numbers=_NHWC)
        for number, stage in enumerate(stages):
            if number:
                x = lax.conv_general_dilated(
                    _normal(x), between[number - 1], (2, 2), "VALID", dimension_numbers=_NHWC
                )
            for spatial, up, down in stage:
                y = lax.conv_general_dilated(
                    *(x, spatial, (1, 1), "SAME"),
                    dimension_numbers=_NHWC,
                    feature_group_count=x.shape[-1],
                )
                x = x + jax.nn.gelu(_normal(y) @ up) @ down
        return _normal(x.mean((1, 2))) @ head

    return JaxFunction(call, [weight.inputs(1, 128, 128, 3)])


# --- A transformer whose weights are arguments ------------------------------------------------------------------


def transformer() -> JaxFunction:
    """Two layers of a transformer with 512 features, 64 tokens; the weights are arguments."""
    weight = _Weights()
    features, layers = 512, 2
    sizes = [(features, 3 * features), (features, features), (features, 4 * features)]
    sizes.append((4 * features, features))

    def call(x: jax.Array, *weights: jax.Array) -> jax.Array:
        for layer in range(layers):
            projection, output, up, down = weights[4 * layer : 4 * layer + 4]
            parts = jnp.split(_normal(x) @ projection, 3, -1)
            x = x + _attention(*parts, heads=8) @ output
            x = x + jax.nn.gelu(_normal(x) @ up) @ down
        return _normal(x)

    return JaxFunction(
        call,
        [weight.inputs(64, features), *(weight(*each) for _ in range(layers) for each in sizes)],
    )


# --- Attention from a few latents to many inputs ------------------------------------------------------------------


def perceiver() -> JaxFunction:
    """Return a small Perceiver: 96 latents that attend to 784 inputs and to each other (Jaegle et al. 2021)."""
    weight = _Weights()
    features, inputs, rounds = 256, 784, 3
    latents, embedding = weight.inputs(96, features), weight(40, features)
    blocks = [
        [[weight(features, features) for _ in range(4)] for _ in range(2)]
        + [[weight(features, 2 * features), weight(2 * features, features)]]
        for _ in range(rounds)
    ]
    head = weight(features, 10)

    def attend(x: jax.Array, y: jax.Array, weights: Sequence[np.ndarray]) -> jax.Array:
        query, key, value, output = weights
        return _attention(x @ query, y @ key, y @ value, heads=4) @ output

    def call(data: jax.Array) -> jax.Array:
        context, x = _normal(data @ embedding), jnp.asarray(latents)
        for cross, own, (up, down) in blocks:
            x = x + attend(_normal(x), context, cross)
            x = x + attend(_normal(x), _normal(x), own)
            x = x + jax.nn.gelu(_normal(x) @ up) @ down
        return _normal(x).mean(0) @ head

    return JaxFunction(call, [weight.inputs(inputs, 40)])


JAX_MODELS: Mapping[str, Callable[[], JaxFunction]] = {
    "convnext": convnext,
    "transformer": transformer,
    "perceiver": perceiver,
}
"""The models by name."""
