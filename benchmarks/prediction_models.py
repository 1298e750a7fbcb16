"""Small models of PyTorch in f32 whose dispatches train a prediction of gains; `prediction.py collect` exports them.

    python benchmarks/prediction_models.py DIR NAME...

A dispatch takes 20 us to 20 ms on one thread. `HELD_OUT` lists the models that no prediction is trained on.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final

import torch
from fresh_torch_models import (
    _Encoder,
    _Experts,
    _ImageEncoder,
    _latent_decoder,
    _MixerBlock,
    _Step,
)
from mixed_torch_models import MIXED, _PromptLayer, _Windows
from small_torch_models import ONNX_MODELS, _UNet, mobilenet, small_llama
from torch import nn
from torch.nn import functional
from torch_models import (
    Decoder,
    DecoderSizes,
    Function,
    _Bottleneck,
    _Prefill,
    _ResidualBlock,
    _SelfAttention,
    build,
)

import tuninglink.torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch_models import Functions


def _main(module: nn.Module, *inputs: torch.Tensor) -> Functions:
    return {"main": Function(module, inputs)}


class _Basic(nn.Module):
    """Two 3x3 convolutions beside a shortcut (He et al. 2015)."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, out, 3, stride, 1, bias=False),
            nn.BatchNorm2d(out),
            nn.ReLU(),
            nn.Conv2d(out, out, 3, padding=1, bias=False),
            nn.BatchNorm2d(out),
        )
        self.shortcut = nn.Identity()
        if stride > 1 or channels != out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the output of the block."""
        return torch.relu(self.body(value) + self.shortcut(value))


def _resnet() -> Functions:
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    stem += [nn.MaxPool2d(3, 2, 1)]
    blocks = [_Basic(64, 64, 1), _Basic(64, 128, 2), _Basic(128, 256, 2), _Basic(256, 512, 2)]
    end = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)]
    return _main(nn.Sequential(*stem, *blocks, *end), torch.randn(1, 3, 160, 160))


class _Inverted(nn.Module):
    """An inverted bottleneck with squeeze and excitation (Tan and Le 2019)."""

    def __init__(self, channels: int, out: int, kernel: int, stride: int, factor: int = 4) -> None:
        super().__init__()
        inner = factor * channels
        self.up = nn.Sequential(nn.Conv2d(channels, inner, 1), nn.BatchNorm2d(inner), nn.SiLU())
        self.spatial = nn.Sequential(
            nn.Conv2d(inner, inner, kernel, stride, kernel // 2, groups=inner),
            nn.BatchNorm2d(inner),
            nn.SiLU(),
        )
        self.squeeze = nn.Conv2d(inner, channels // 4, 1)
        self.excite = nn.Conv2d(channels // 4, inner, 1)
        self.down = nn.Sequential(nn.Conv2d(inner, out, 1), nn.BatchNorm2d(out))
        self.is_residual = stride == 1 and channels == out

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the output of the block."""
        inner = self.spatial(self.up(value))
        scale = functional.silu(self.squeeze(inner.mean((2, 3), keepdim=True)))
        result = self.down(inner * torch.sigmoid(self.excite(scale)))
        return value + result if self.is_residual else result


def _efficientnet() -> Functions:
    stem = [nn.Conv2d(3, 24, 3, 2, 1), nn.BatchNorm2d(24), nn.SiLU()]
    blocks = [_Inverted(24, 40, 5, 2), _Inverted(40, 40, 5, 1), _Inverted(40, 80, 3, 2)]
    blocks += [_Inverted(80, 112, 5, 1), _Inverted(112, 192, 5, 2)]
    end = [nn.Conv2d(192, 640, 1), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return _main(
        nn.Sequential(*stem, *blocks, *end, nn.Linear(640, 200)), torch.randn(1, 3, 176, 176)
    )


class _ConvNext(nn.Module):
    """A block of ConvNeXt (Liu et al. 2022)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depth = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the output of the block."""
        inner = self.norm(self.depth(value).permute(0, 2, 3, 1))
        return value + self.down(functional.gelu(self.up(inner))).permute(0, 3, 1, 2)


def _convnext() -> Functions:
    layers: list[nn.Module] = [nn.Conv2d(3, 48, 4, 4), _ConvNext(48)]
    for channels in (96, 192):
        layers += [nn.Conv2d(channels // 2, channels, 2, 2), _ConvNext(channels)]
    return _main(nn.Sequential(*layers), torch.randn(1, 3, 128, 128))


def _vgg() -> Functions:
    layers: list[nn.Module] = []
    for before, after in ((3, 32), (32, 64), (64, 96), (96, 160)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Flatten(), nn.Linear(160 * 36, 512), nn.ReLU(), nn.Linear(512, 128)]
    return _main(nn.Sequential(*layers), torch.randn(1, 3, 96, 96))


class _Wave(nn.Module):
    """A gated dilated convolution in time (van den Oord et al. 2016)."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.both = nn.Conv1d(channels, 2 * channels, 3, padding=dilation, dilation=dilation)
        self.out = nn.Conv1d(channels, channels, 1)

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the output of the layer."""
        left, right = self.both(value).chunk(2, 1)
        return value + self.out(torch.tanh(left) * torch.sigmoid(right))


def _wavenet() -> Functions:
    layers = [nn.Conv1d(40, 96, 1), *(_Wave(96, 1 << step) for step in range(4))]
    return _main(nn.Sequential(*layers), torch.randn(1, 40, 500))


class _Speech(nn.Module):
    """Two convolutions in time before an encoder, as in Whisper (Radford et al. 2022)."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv1d(80, 320, 3, padding=1), nn.Conv1d(320, 320, 3, 2, 1)
        self.encoder = _Encoder(1, 320, 5)

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the tokens."""
        inner = functional.gelu(self.second(functional.gelu(self.first(value))))
        return self.encoder(inner.transpose(1, 2))


class _Recurrent(nn.Module):
    """Four steps of an LSTM on a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.LSTMCell(256, 384), nn.Linear(384, 64)

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the last output."""
        state = torch.zeros(value.shape[1], 384), torch.zeros(value.shape[1], 384)
        for step in range(4):
            state = self.cell(value[step], state)
        return self.out(state[0])


class _Detector(nn.Module):
    """A pyramid of features with heads, after RetinaNet (Lin et al. 2017)."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 40, 5, 4, 2), nn.LeakyReLU(0.1))
        self.down = nn.ModuleList(nn.Conv2d(40 << s, 80 << s, 3, 2, 1) for s in range(2))
        self.side = nn.ModuleList(nn.Conv2d(40 << s, 72, 1) for s in range(3))
        self.head = nn.Conv2d(72, 72, 3, padding=1)
        self.boxes, self.classes = nn.Conv2d(72, 36, 3, padding=1), nn.Conv2d(72, 90, 1)

    def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return boxes and classes of all levels."""
        levels = [self.stem(image)]
        for down in self.down:
            levels.append(functional.leaky_relu(down(levels[-1]), 0.1))
        value, result = None, []
        for side, level in zip(reversed(self.side), reversed(levels), strict=True):
            here = side(level)
            if value is not None:
                here = here + functional.interpolate(value, scale_factor=2.0, mode="nearest")
            value = here
            head = torch.relu(self.head(value))
            result += [self.boxes(head), torch.sigmoid(self.classes(head))]
        return tuple(result)


class _Tower(nn.Module):
    """A two-tower retriever: perceptrons with norms, and all products of their results."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = (
            nn.Sequential(
                *(nn.Linear(200, 600), nn.LayerNorm(600), nn.GELU()),
                *(nn.Linear(600, 300), nn.LayerNorm(300), nn.GELU(), nn.Linear(300, 120)),
            )
            for _ in range(2)
        )

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Return the probabilities of all pairs."""
        one = functional.normalize(self.left(left), dim=-1)
        other = functional.normalize(self.right(right), dim=-1)
        return torch.softmax(20 * one @ other.T, -1)


class _Bert(nn.Module):
    """Layers with the norm after each residual, behind embeddings (Devlin et al. 2018)."""

    def __init__(self, features: int, heads: int, hidden: int, tokens: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(4000, features), nn.Embedding(tokens, features)
        self.norm = nn.LayerNorm(features)
        layer = nn.TransformerEncoderLayer(
            features, heads, hidden, activation="gelu", batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the features of the tokens."""
        places = torch.arange(tokens.shape[1]).unsqueeze(0)
        return self.encoder(self.norm(self.words(tokens) + self.places(places)))


class _Gpt(nn.Module):
    """A causal encoder behind embeddings, with logits of the last token (Radford et al. 2019)."""

    def __init__(self, features: int, heads: int, tokens: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(5000, features), nn.Embedding(tokens, features)
        self.layers = _Encoder(2, features, heads, is_causal=True)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        places = torch.arange(tokens.shape[1]).unsqueeze(0)
        value = self.layers(self.words(tokens) + self.places(places))
        return value[:, -1] @ self.words.weight.T


def _pair(channels: int, size: int) -> Functions:
    block = nn.Sequential(_ResidualBlock(channels), _SelfAttention(channels, heads=2))
    return _main(block, torch.randn(1, channels, size, size))


def _prefill() -> Functions:
    sizes = DecoderSizes(1, 384, 1024, 6, 2, vocabulary=2000, prompt=80)
    tokens = torch.randint(0, sizes.vocabulary, (1, sizes.prompt))
    return _main(_Prefill(Decoder(sizes)), tokens)


def _encoder(heads: int, size: int, batch: int, tokens: int) -> Functions:
    return _main(_Encoder(1, heads * size, heads), torch.randn(batch, tokens, heads * size))


MODELS: Final[Mapping[str, Callable[[], Functions]]] = {
    "resnet": _resnet,
    "vit": lambda: _main(_ImageEncoder(1, 192, 3, 196, 16), torch.randn(1, 3, 224, 224)),
    "mobilenet": mobilenet,
    "prefill": _prefill,
    "llama": lambda: {"main": small_llama()["decode"]},
    "unet": lambda: _main(_UNet(12), torch.randn(1, 1, 96, 96)),
    "ranker": ONNX_MODELS["ranker"],
    "dit": lambda: _main(
        _Encoder(1, 288, 6, is_conditional=True), torch.randn(1, 256, 288), torch.randn(1, 288)
    ),
    "efficientnet": _efficientnet,
    "convnext": _convnext,
    "experts": lambda: _main(_Experts(192, 384), torch.randn(64, 192)),
    "mixer": lambda: _main(_MixerBlock(196, 256), torch.randn(1, 196, 256)),
    "step": lambda: _main(
        _Step(512, 8, 2, 64, 1408), torch.randn(2, 512), *(torch.randn(2, 2, 255, 2, 64),) * 2
    ),
    "upsampler": lambda: _main(_latent_decoder([], (96, 64), 4), torch.randn(1, 4, 24, 24)),
    "unet_block": lambda: _pair(96, 32),
    "bottleneck": lambda: _main(
        nn.Sequential(_Bottleneck(128, 64, 256), _Bottleneck(256, 128, 512)),
        torch.randn(1, 128, 28, 28),
    ),
    "vgg": _vgg,
    "wavenet": _wavenet,
    "speech": lambda: _main(_Speech(), torch.randn(1, 80, 300)),
    "windows": lambda: _main(_Windows(2, 64), torch.randn(1, 3, 112, 112)),
    "prompt": lambda: _main(_PromptLayer(448, 7, 1, 1200), torch.randn(1, 120, 448)),
    "recurrent": lambda: _main(_Recurrent(), torch.randn(4, 8, 256)),
    "detector": lambda: _main(_Detector(), torch.randn(1, 3, 160, 160)),
    "tower": lambda: _main(_Tower(), torch.randn(48, 200), torch.randn(200, 200)),
    "text": lambda: _main(_Encoder(1, 256, 4, is_causal=True), torch.randn(1, 77, 256)),
    "encoder_wide": lambda: _encoder(10, 72, 1, 50),
    "encoder_long": lambda: _encoder(2, 96, 1, 400),
    "encoder_batch": lambda: _encoder(4, 40, 6, 33),
}
"""The models that predictions are trained on."""

HELD_OUT: Final[Mapping[str, Callable[[], Functions]]] = {
    **{name: MIXED[name] for name in ("conformer_small", "regnet_small", "relative_small")},
    "bert_small": lambda: _main(_Bert(256, 4, 1024, 128), torch.randint(0, 4000, (1, 128))),
    "gpt_small": lambda: _main(_Gpt(320, 5, 96), torch.randint(0, 5000, (1, 96))),
}
"""The models that predictions are judged by."""


def main() -> None:
    """Export models."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    models = {**MODELS, **HELD_OUT}
    parser.add_argument("directory", type=Path)
    parser.add_argument("models", nargs="+", choices=sorted(models))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name in arguments.models:
        path = arguments.directory / f"{name}.mlirbc"
        if path.exists():
            continue
        try:
            function = build(models[name], torch.float32)["main"]
            content = tuninglink.torch.export(function.module, function.inputs)
        except Exception:  # noqa: BLE001 - the other models remain
            print(f"{name} is left out: {traceback.format_exc()}", file=sys.stderr)
            continue
        path.with_suffix(".part").write_bytes(content)
        path.with_suffix(".part").rename(path)


if __name__ == "__main__":
    main()
