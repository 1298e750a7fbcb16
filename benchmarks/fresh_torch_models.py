"""Models of PyTorch with random weights that the tuner and its libraries were not made with, for `models.py --suite fresh`.

Each has the layers of a kind of model that people ship, with sizes of its own: a decoder's step, a diffusion transformer,
a convolutional net with layer norms, decoders of latents, encoders of images and of text, a mixture of experts, a mixer of
tokens, and EfficientNet.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional
from torch_models import Function

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch_models import Functions


class _StepLayer(nn.Module):
    """A layer of a decoder that computes one token a sequence, with a cache of keys and values."""

    def __init__(self, features: int, heads: int, shared: int, size: int, hidden: int) -> None:
        super().__init__()
        self.shared, self.size = shared, size
        self.query = nn.Linear(features, heads * size, bias=False)
        self.key, self.value = (nn.Linear(features, shared * size, bias=False) for _ in range(2))
        self.out = nn.Linear(heads * size, features, bias=False)
        self.gate, self.up = (nn.Linear(features, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, features, bias=False)
        self.norms = nn.ModuleList(nn.RMSNorm(features) for _ in range(2))

    def forward(
        self, value: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the output, and the caches with the new token."""
        batch, normed = len(value), self.norms[0](value)
        query = self.query(normed).view(batch, self.shared, -1, self.size)
        keys, values = (
            torch.cat([cache, layer(normed).view(batch, 1, self.shared, self.size)], 1).transpose(
                1, 2
            )
            for cache, layer in ((keys, self.key), (values, self.value))
        )
        scores = (query @ keys.transpose(-1, -2)).float() / math.sqrt(self.size)
        attended = torch.softmax(scores, -1).to(value.dtype) @ values
        value = value + self.out(attended.reshape(batch, -1))
        normed = self.norms[1](value)
        return value + self.down(functional.silu(self.gate(normed)) * self.up(normed)), keys, values


class _Step(nn.Module):
    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(_StepLayer(*sizes) for _ in range(2))

    def forward(
        self, value: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """Return the output, and the caches of all layers."""
        caches: list[torch.Tensor] = []
        for number, layer in enumerate(self.layers):
            value, *cache = layer(value, keys[number], values[number])
            caches += cache
        return (value, *caches)


def _program(module: nn.Module, *inputs: torch.Tensor) -> Functions:
    return {"main": Function(module, inputs)}


def _step(features: int, size: int, hidden: int, batch: int, length: int) -> Functions:
    caches = (torch.randn(2, batch, length, 4, size) for _ in range(2))
    module = _Step(features, 16, 4, size, hidden)
    return _program(module, torch.randn(batch, features), *caches)


class _Block(nn.Module):
    """A layer of a transformer; with a condition, norms and residuals are scaled by it (Peebles and Xie 2023)."""

    def __init__(
        self, features: int, heads: int, *, is_causal: bool = False, is_conditional: bool = False
    ) -> None:
        super().__init__()
        self.heads, self.is_causal = heads, is_causal
        self.norms = nn.ModuleList(
            nn.LayerNorm(features, elementwise_affine=not is_conditional) for _ in range(2)
        )
        self.qkv, self.out = nn.Linear(features, 3 * features), nn.Linear(features, features)
        self.up, self.down = nn.Linear(features, 4 * features), nn.Linear(4 * features, features)
        self.condition = nn.Linear(features, 6 * features) if is_conditional else None

    def forward(self, value: torch.Tensor, *condition: torch.Tensor) -> torch.Tensor:
        """Return the output of the layer."""
        batch, tokens, features = value.shape
        one = torch.ones((), dtype=value.dtype, device=value.device)
        scales = [one, 0 * one, one] * 2
        if self.condition is not None:
            made = self.condition(functional.silu(condition[0])).unsqueeze(1).chunk(6, -1)
            scales = [1 + made[0], made[1], made[2], 1 + made[3], made[4], made[5]]
        normed = self.norms[0](value) * scales[0] + scales[1]
        parts = self.qkv(normed).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(*parts, is_causal=self.is_causal)
        joined = attended.transpose(1, 2).reshape(batch, tokens, features)
        value = value + scales[2] * self.out(joined)
        normed = self.norms[1](value) * scales[3] + scales[4]
        return value + scales[5] * self.down(functional.gelu(self.up(normed)))


class _Encoder(nn.Module):
    def __init__(
        self,
        layers: int,
        features: int,
        heads: int,
        *,
        is_causal: bool = False,
        is_conditional: bool = False,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            _Block(features, heads, is_causal=is_causal, is_conditional=is_conditional)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(features)

    def forward(self, value: torch.Tensor, *condition: torch.Tensor) -> torch.Tensor:
        """Return the output of the last layer."""
        for layer in self.layers:
            value = layer(value, *condition)
        return self.norm(value)


class _ImageEncoder(nn.Module):
    """An encoder of images in patches, with a token for their class (Radford et al. 2021)."""

    def __init__(self, layers: int, features: int, heads: int, patches: int, size: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, features, size, size, bias=False)
        self.first = nn.Parameter(0.02 * torch.randn(1, 1, features))
        self.positions = nn.Parameter(0.02 * torch.randn(1, patches + 1, features))
        self.norm, self.encoder = nn.LayerNorm(features), _Encoder(layers, features, heads)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Return the tokens of an image."""
        tokens = self.patches(image).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.first.expand(len(image), -1, -1), tokens], 1)
        return self.encoder(self.norm(tokens + self.positions))


class _Residual(nn.Module):
    """Two convolutions with group norms, beside a shortcut."""

    def __init__(self, channels: int, out: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.GroupNorm(32, count) for count in (channels, out))
        self.convolutions = nn.ModuleList(
            nn.Conv2d(count, out, 3, padding=1) for count in (channels, out)
        )
        self.shortcut = nn.Identity() if channels == out else nn.Conv2d(channels, out, 1)

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the output of the block."""
        result = value
        for norm, convolution in zip(self.norms, self.convolutions, strict=True):
            result = convolution(functional.silu(norm(result)))
        return self.shortcut(value) + result


class _ImageAttention(nn.Module):
    """Attention of one head over the pixels of an image."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(32, channels)
        self.parts = nn.ModuleList(nn.Conv2d(channels, channels, 1) for _ in range(3))
        self.out = nn.Conv2d(channels, channels, 1)

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the output of the block."""
        normed = self.norm(value)
        parts = (part(normed).flatten(2).unsqueeze(1).transpose(2, 3) for part in self.parts)
        attended = functional.scaled_dot_product_attention(*parts)
        return value + self.out(attended.transpose(2, 3).reshape(value.shape))


class _Upsampling(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the image with twice the width and height."""
        return self.convolution(functional.interpolate(value, scale_factor=2.0, mode="nearest"))


def _latent_decoder(first: list[nn.Module], channels: tuple[int, ...], out: int) -> nn.Sequential:
    """Return a decoder of latents with four channels, which doubles the size of an image before each next width."""
    layers: list[nn.Module] = [nn.Conv2d(4, channels[0], 3, padding=1), *first]
    for count, following in zip(channels, (*channels[1:], None), strict=True):
        layers += [_Residual(count, count)]
        if following is not None:
            layers += [_Upsampling(count), _Residual(count, following)]
    last = channels[-1]
    end = [nn.GroupNorm(32, last), nn.SiLU(), nn.Conv2d(last, out, 3, padding=1)]
    return nn.Sequential(*layers, *end)


def vae_decoder() -> Functions:
    """Return a decoder of latents as in Stable Diffusion, 32x32 to 256x256 (Rombach et al. 2022)."""
    first = [_Residual(512, 512), _ImageAttention(512), _Residual(512, 512)]
    module = _latent_decoder(first, (512, 512, 256, 128), 3)
    return _program(module, torch.randn(1, 4, 32, 32))


def upsampler() -> Functions:
    """Return an upsampler of latents, 48x48 to 96x96."""
    return _program(_latent_decoder([], (256, 128), 4), torch.randn(1, 4, 48, 48))


class _Experts(nn.Module):
    """Layers of eight experts, two for each token, all of which are computed."""

    def __init__(self, features: int, hidden: int, experts: int = 8) -> None:
        super().__init__()
        self.norm, self.gate = nn.LayerNorm(features), nn.Linear(features, experts, bias=False)
        self.first, self.second = (
            nn.Parameter(torch.randn(experts, features, hidden) / math.sqrt(features))
            for _ in range(2)
        )
        self.third = nn.Parameter(torch.randn(experts, hidden, features) / math.sqrt(hidden))

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the output for each token."""
        normed = self.norm(value)
        weights = torch.softmax(self.gate(normed).float(), -1)
        least = torch.topk(weights, 2, -1).values[:, 1:]
        weights = torch.where(weights >= least, weights, 0.0).to(value.dtype)
        tokens = normed.unsqueeze(0).expand(len(self.first), -1, -1)
        hidden = functional.silu(torch.bmm(tokens, self.first)) * torch.bmm(tokens, self.second)
        return value + torch.einsum("te,eth->th", weights, torch.bmm(hidden, self.third))


class _MixerBlock(nn.Module):
    """A block that mixes tokens, then features (Tolstikhin et al. 2021)."""

    def __init__(self, tokens: int, features: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(features) for _ in range(2))
        self.tokens, self.features = (
            nn.Sequential(nn.Linear(size, hidden), nn.GELU(), nn.Linear(hidden, size))
            for size, hidden in ((tokens, features // 2), (features, 4 * features))
        )

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the output of the block."""
        value = value + self.tokens(self.norms[0](value).transpose(1, 2)).transpose(1, 2)
        return value + self.features(self.norms[1](value))


def _image_net(name: str) -> Functions:
    import torchvision  # noqa: PLC0415 - other models do not need it

    return _program(getattr(torchvision.models, name)(), torch.randn(8, 3, 224, 224))


FRESH: Mapping[str, Callable[[], Functions]] = {
    "decoder_step": lambda: _step(2048, 128, 5632, 8, 1023),
    "narrow_step": lambda: _step(1536, 96, 4096, 4, 767),
    "dit": lambda: _program(
        _Encoder(4, 1152, 16, is_conditional=True), torch.randn(2, 1024, 1152), torch.randn(2, 1152)
    ),
    "convnext_tiny": lambda: _image_net("convnext_tiny"),
    "vae_decoder": vae_decoder,
    "upsampler": upsampler,
    "clip_image": lambda: _program(
        _ImageEncoder(6, 1024, 16, 256, 14), torch.randn(4, 3, 224, 224)
    ),
    "clip_text": lambda: _program(_Encoder(4, 768, 12, is_causal=True), torch.randn(8, 77, 768)),
    "experts": lambda: _program(
        nn.Sequential(*(_Experts(512, 1024) for _ in range(2))), torch.randn(512, 512)
    ),
    "mixer": lambda: _program(
        nn.Sequential(*(_MixerBlock(196, 512) for _ in range(4))), torch.randn(8, 196, 512)
    ),
    "efficientnet": lambda: _image_net("efficientnet_b0"),
}
"""The models by name."""
