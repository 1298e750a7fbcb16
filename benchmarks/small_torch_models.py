"""Models of PyTorch for one thread of a CPU, which `models.py --suite cpu` exports with iree-turbine or as ONNX.

None of them was used to choose the sets of flags or the defaults of the tuner.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch_models import DecoderSizes, Function, Functions, llama, transformer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def vit_tiny() -> Functions:
    """ViT-Tiny: 12 layers of 192 features, one image (Touvron et al. 2021)."""
    from transformers import ViTConfig, ViTModel  # noqa: PLC0415 - seconds to load

    config = ViTConfig(hidden_size=192, num_attention_heads=3, intermediate_size=768)
    return transformer(ViTModel(config, add_pooling_layer=False), torch.randn(1, 3, 224, 224))


def mobilenet() -> Functions:
    """MobileNet with eight of its 13 pairs of a depthwise and a 1x1 convolution, one image (Howard et al. 2017)."""
    shapes = [(32, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1)]
    shapes += [(256, 512, 2), (512, 512, 1), (512, 512, 1)]

    def block(channels: int, result: int, kernel: int, stride: int, groups: int) -> list[nn.Module]:
        spatial = nn.Conv2d(
            channels, result, kernel, stride, kernel // 2, groups=groups, bias=False
        )
        return [spatial, nn.BatchNorm2d(result), nn.ReLU6()]

    layers = block(3, 32, 3, 2, 1)
    for channels, result, stride in shapes:
        layers += block(channels, channels, 3, stride, channels)
        layers += block(channels, result, 1, 1, 1)
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 100)]
    return {"main": Function(nn.Sequential(*layers), (torch.randn(1, 3, 192, 192),))}


def small_llama() -> Functions:
    """Return a small decoder after Llama with a prompt of 64 tokens, and one step behind it."""
    return llama(DecoderSizes(2, 512, 1408, 8, 4, vocabulary=8000, prompt=64))


# --- Exported as ONNX ---------------------------------------------------------------------------------------


def _double_convolution(channels: int, result: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inner in (channels, result):
        layers += [nn.Conv2d(inner, result, 3, padding=1), nn.BatchNorm2d(result), nn.ReLU()]
    return nn.Sequential(*layers)


class _UNet(nn.Module):
    """A U-Net of three levels (Ronneberger et al. 2015)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        widths = [channels, 2 * channels, 4 * channels]
        self.down = nn.ModuleList(
            _double_convolution(a, b) for a, b in zip([1, *widths], widths, strict=False)
        )
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(2 * width, width, 2, stride=2) for width in reversed(widths[:-1])
        )
        self.after = nn.ModuleList(
            _double_convolution(2 * width, width) for width in reversed(widths[:-1])
        )
        self.result = nn.Conv2d(channels, 2, 1)

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        skipped = []
        for level in self.down:
            if skipped:
                value = nn.functional.max_pool2d(value, 2)
            value = level(value)
            skipped.append(value)
        for up, after, skip in zip(self.up, self.after, reversed(skipped[:-1]), strict=True):
            value = after(torch.cat((skip, up(value)), 1))
        return self.result(value)


def unet() -> Functions:
    """Return a small U-Net for one image of 96x96."""
    return {"main": Function(_UNet(16), (torch.randn(1, 1, 96, 96),))}


class _Ranker(nn.Module):
    """A recommender after DLRM: embeddings, their products by pairs, and two perceptrons (Naumov et al. 2019)."""

    def __init__(self, tables: int = 26, features: int = 32, dense: int = 13) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(1000, features) for _ in range(tables))
        self.bottom = self._perceptron(dense, 512, 256, features)
        pairs = torch.triu_indices(tables + 1, tables + 1, 1)
        self.register_buffer("left", pairs[0])
        self.register_buffer("right", pairs[1])
        self.top = self._perceptron(features + pairs.shape[1], 1024, 512, 256, 1)

    @staticmethod
    def _perceptron(*widths: int) -> nn.Sequential:
        layers: list[nn.Module] = []
        for before, after in itertools.pairwise(widths):
            layers += [nn.Linear(before, after), nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    def forward(self, dense: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        first = self.bottom(dense)
        rows = [table(categories[:, index]) for index, table in enumerate(self.tables)]
        stacked = torch.stack([first, *rows], 1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))[:, self.left, self.right]
        return torch.sigmoid(self.top(torch.cat((first, products), 1)))


def ranker() -> Functions:
    """Return a recommender after DLRM for 128 requests."""
    categories = torch.randint(0, 1000, (128, 26))
    return {"main": Function(_Ranker(), (torch.randn(128, 13), categories))}


SMALL_MODELS: Mapping[str, Callable[[], Functions]] = {
    "vit_tiny": vit_tiny,
    "mobilenet": mobilenet,
    "small_llama": small_llama,
}
"""Models that iree-turbine exports."""

ONNX_MODELS: Mapping[str, Callable[[], Functions]] = {"unet": unet, "ranker": ranker}
"""Models that are exported as ONNX."""
