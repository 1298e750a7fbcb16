"""Models of PyTorch with random weights for `models.py --suite mixed`, which were written after the tuner was finished.

A decoder's prompt, windows of an image, a conformer, a net of grouped convolutions, and an encoder with relative positions;
three of them also in a size for CPUs. `models.py --suite encoders` has encoders whose tokens or head sizes no intrinsic
divides.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from fresh_torch_models import _Encoder, _program
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch_models import Functions


class _PromptLayer(nn.Module):
    """A layer of a decoder over a prompt, with fewer heads of keys and values than of queries (Ainslie et al. 2023)."""

    def __init__(self, features: int, heads: int, shared: int, hidden: int) -> None:
        super().__init__()
        self.heads, self.shared, self.size = heads, shared, features // heads
        self.query = nn.Linear(features, features, bias=False)
        self.key, self.value = (
            nn.Linear(features, shared * self.size, bias=False) for _ in range(2)
        )
        self.out = nn.Linear(features, features, bias=False)
        self.gate, self.up = (nn.Linear(features, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, features, bias=False)
        self.norms = nn.ModuleList(nn.RMSNorm(features) for _ in range(2))

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the output of the layer."""
        batch, tokens, _ = value.shape
        normed = self.norms[0](value)
        query, key, own = (
            layer(normed).view(batch, tokens, heads, self.size).transpose(1, 2)
            for layer, heads in (
                (self.query, self.heads),
                (self.key, self.shared),
                (self.value, self.shared),
            )
        )
        key, own = (x.repeat_interleave(self.heads // self.shared, 1) for x in (key, own))
        attended = functional.scaled_dot_product_attention(query, key, own, is_causal=True)
        value = value + self.out(attended.transpose(1, 2).reshape(batch, tokens, -1))
        normed = self.norms[1](value)
        return value + self.down(functional.silu(self.gate(normed)) * self.up(normed))


class _Window(nn.Module):
    """A block that attends within windows of 7x7 pixels, shifted in every second one (Liu et al. 2021)."""

    def __init__(self, features: int, shift: int) -> None:
        super().__init__()
        self.shift, self.heads = shift, features // 32
        self.norms = nn.ModuleList(nn.LayerNorm(features) for _ in range(2))
        self.qkv, self.out = nn.Linear(features, 3 * features), nn.Linear(features, features)
        self.bias = nn.Parameter(torch.randn(self.heads, 49, 49))
        self.mlp = nn.Sequential(
            nn.Linear(features, 4 * features), nn.GELU(), nn.Linear(4 * features, features)
        )

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the output of the block: batch, height, width, features."""
        batch, height, width, features = value.shape
        shifted = torch.roll(self.norms[0](value), (-self.shift, -self.shift), (1, 2))
        windows = shifted.view(batch, height // 7, 7, width // 7, 7, features)
        tokens = windows.transpose(2, 3).reshape(-1, 49, features)
        query, key, own = self.qkv(tokens).view(-1, 49, 3, self.heads, 32).permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-1, -2) / math.sqrt(32) + self.bias
        attended = (torch.softmax(scores.float(), -1).to(value.dtype) @ own).transpose(1, 2)
        joined = self.out(attended.reshape(-1, 49, features))
        pieces = joined.view(batch, height // 7, width // 7, 7, 7, features).transpose(2, 3)
        back = torch.roll(pieces.reshape(value.shape), (self.shift, self.shift), (1, 2))
        value = value + back
        return value + self.mlp(self.norms[1](value))


class _Windows(nn.Module):
    def __init__(self, stages: int, features: int) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, features, 4, stride=4)
        widths = [features << stage for stage in range(stages)]
        self.stages = nn.ModuleList(
            nn.Sequential(_Window(width, 0), _Window(width, 3)) for width in widths
        )
        self.merges = nn.ModuleList(nn.Linear(4 * width, 2 * width) for width in widths[:-1])

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Return the features of the last stage."""
        value = self.patch(image).permute(0, 2, 3, 1)
        for index, stage in enumerate(self.stages):
            value = stage(value)
            if index < len(self.merges):
                batch, height, width, features = value.shape
                blocks = value.view(batch, height // 2, 2, width // 2, 2, features).transpose(2, 3)
                value = self.merges[index](
                    blocks.reshape(batch, height // 2, width // 2, 4 * features)
                )
        return value


class _Conformer(nn.Module):
    """A layer of a conformer: two half steps, attention, and a depthwise convolution in time (Gulati et al. 2020)."""

    def __init__(self, features: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.steps = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(features),
                nn.Linear(features, 4 * features),
                nn.SiLU(),
                nn.Linear(4 * features, features),
            )
            for _ in range(2)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(features) for _ in range(3))
        self.qkv, self.out = nn.Linear(features, 3 * features), nn.Linear(features, features)
        self.first = nn.Conv1d(features, 2 * features, 1)
        self.depth = nn.Conv1d(features, features, 31, padding=15, groups=features)
        self.middle, self.last = nn.BatchNorm1d(features), nn.Conv1d(features, features, 1)

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the output of the layer."""
        batch, tokens, features = value.shape
        value = value + self.steps[0](value) / 2
        parts = self.qkv(self.norms[0](value)).view(batch, tokens, 3, self.heads, -1)
        attended = functional.scaled_dot_product_attention(*parts.permute(2, 0, 3, 1, 4))
        value = value + self.out(attended.transpose(1, 2).reshape(batch, tokens, features))
        channels = functional.glu(self.first(self.norms[1](value).transpose(1, 2)), 1)
        mixed = self.last(functional.silu(self.middle(self.depth(channels))))
        value = value + mixed.transpose(1, 2)
        return self.norms[2](value + self.steps[1](value) / 2)


class _Grouped(nn.Module):
    """A block of a RegNetY: a grouped convolution between two of 1x1, with channels scaled (Radosavovic et al. 2020)."""

    def __init__(self, before: int, channels: int, width: int) -> None:
        super().__init__()
        self.short = nn.Conv2d(before, channels, 1, stride=2)
        self.first = nn.Conv2d(before, channels, 1)
        self.grouped = nn.Conv2d(
            channels, channels, 3, stride=2, padding=1, groups=channels // width
        )
        self.squeeze = nn.Conv2d(channels, before // 4, 1)
        self.excite = nn.Conv2d(before // 4, channels, 1)
        self.last = nn.Conv2d(channels, channels, 1)

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the output of the block, half as high and as wide."""
        made = functional.relu(self.grouped(functional.relu(self.first(value))))
        squeezed = functional.relu(self.squeeze(made.mean((2, 3), keepdim=True)))
        made = made * torch.sigmoid(self.excite(squeezed))
        return functional.relu(self.short(value) + self.last(made))


class _Relative(nn.Module):
    """A layer of an encoder whose scores get a bias by relative position, unscaled (Raffel et al. 2020)."""

    def __init__(self, features: int, heads: int, tokens: int) -> None:
        super().__init__()
        self.heads = heads
        self.bias = nn.Parameter(torch.randn(1, heads, tokens, tokens))
        self.norms = nn.ModuleList(nn.RMSNorm(features) for _ in range(2))
        self.qkv = nn.Linear(features, 3 * features, bias=False)
        self.out = nn.Linear(features, features, bias=False)
        self.gate, self.up = (nn.Linear(features, 2 * features, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * features, features, bias=False)

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the output of the layer."""
        batch, tokens, features = value.shape
        parts = self.qkv(self.norms[0](value)).view(batch, tokens, 3, self.heads, -1)
        query, key, own = parts.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(
            query, key, own, attn_mask=self.bias.to(value.dtype), scale=1.0
        )
        value = value + self.out(attended.transpose(1, 2).reshape(batch, tokens, features))
        normed = self.norms[1](value)
        return value + self.down(functional.gelu(self.gate(normed)) * self.up(normed))


def _layers(made: Callable[[], nn.Module], count: int, *sizes: int) -> Functions:
    return _program(nn.Sequential(*(made() for _ in range(count))), torch.randn(*sizes))


def _encoder(heads: int, size: int, batch: int, tokens: int) -> Functions:
    features = heads * size
    return _program(_Encoder(4, features, heads), torch.randn(batch, tokens, features))


def _regnet(batch: int, size: int, width: int, channels: tuple[int, ...]) -> Functions:
    stem = nn.Sequential(nn.Conv2d(3, 32, 3, stride=2, padding=1), nn.ReLU())
    blocks = [
        _Grouped(before, after, width)
        for before, after in zip((32, *channels), channels, strict=False)
    ]
    return _program(nn.Sequential(stem, *blocks), torch.randn(batch, 3, size, size))


MIXED: Mapping[str, Callable[[], Functions]] = {
    "prompt": lambda: _layers(lambda: _PromptLayer(1536, 16, 4, 4096), 2, 2, 384, 1536),
    "windows": lambda: _program(_Windows(3, 96), torch.randn(8, 3, 224, 224)),
    "conformer": lambda: _layers(lambda: _Conformer(256, 4), 4, 8, 300, 256),
    "regnet": lambda: _regnet(8, 224, 24, (48, 120, 336, 888)),
    "relative": lambda: _layers(lambda: _Relative(512, 8, 200), 4, 8, 200, 512),
    "encoder_197": lambda: _encoder(12, 64, 8, 197),
    "encoder_249": lambda: _encoder(16, 72, 4, 249),
    "encoder_257": lambda: _encoder(16, 80, 4, 257),
    "encoder_577": lambda: _encoder(8, 96, 4, 577),
    "conformer_small": lambda: _layers(lambda: _Conformer(144, 4), 2, 1, 100, 144),
    "regnet_small": lambda: _regnet(1, 112, 16, (48, 96, 192)),
    "relative_small": lambda: _layers(lambda: _Relative(256, 4, 64), 2, 1, 64, 256),
}
"""The models by name."""
