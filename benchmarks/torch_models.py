"""Models of PyTorch with random weights, as `benchmarks/models.py` exports and runs them.

Nothing here was written for the tuner: BERT, GPT-2, ViT, ResNet and Whisper are the modules of `transformers`; the
decoder follows Llama (RMS norm, rotary embedding, grouped queries, SwiGLU), and the U-Net block SDXL's second level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Inputs = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Function:
    """An entry function of a model.

    Attributes:
        module: the module that computes it.
        inputs: its inputs; those of a floating-point type are converted with the module.
    """

    module: nn.Module
    inputs: Inputs


Functions = dict[str, Function]


class _First(nn.Module):
    """A module of `transformers` without its wrapper of outputs."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the first output."""
        return self.module(value, return_dict=False)[0]


class _Masked(_First):
    """A decoder of `transformers` that gets the mask which it adds to scores; to make one, it uses ops that IREE lacks."""

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        """Return the first output."""
        length = value.shape[1]
        causal = torch.full(
            (length, length), -1e4, dtype=self.module.dtype, device=value.device
        ).triu(1)
        return self.module(value, attention_mask=causal[None, None], return_dict=False)[0]


def transformer(module: nn.Module, *inputs: torch.Tensor) -> Functions:
    """Return a model of `transformers` as a program of one function."""
    return {"main": Function(_First(module), inputs)}


def _tokens(vocabulary: int, *sizes: int) -> torch.Tensor:
    return torch.randint(0, vocabulary, sizes)


def bert(layers: int = 12) -> Functions:
    """BERT-base, one sequence of 384 tokens (Devlin et al. 2018)."""
    from transformers import BertConfig, BertModel  # noqa: PLC0415 - seconds to load

    config = BertConfig(num_hidden_layers=layers)
    return transformer(
        BertModel(config, add_pooling_layer=False), _tokens(config.vocab_size, 1, 384)
    )


def resnet50() -> Functions:
    """ResNet-50, a batch of eight images, NCHW (He et al. 2015; strides as in torchvision's)."""
    from transformers import ResNetConfig, ResNetForImageClassification  # noqa: PLC0415

    model = ResNetForImageClassification(ResNetConfig(num_labels=1000))
    return transformer(model, torch.randn(8, 3, 224, 224))


def resnet50_image() -> Functions:
    """ResNet-50 for one image."""
    from transformers import ResNetConfig, ResNetForImageClassification  # noqa: PLC0415

    model = ResNetForImageClassification(ResNetConfig(num_labels=1000))
    return transformer(model, torch.randn(1, 3, 224, 224))


def gpt2(layers: int = 12) -> Functions:
    """GPT-2 small, a prompt of 256 tokens (Radford et al. 2019)."""
    from transformers import GPT2Config, GPT2Model  # noqa: PLC0415

    config = GPT2Config(use_cache=False, n_layer=layers, attn_implementation="eager")
    tokens = _tokens(config.vocab_size, 1, 256)
    return {"main": Function(_Masked(GPT2Model(config)), (tokens,))}


def vit(layers: int = 12) -> Functions:
    """ViT-B/16, a batch of four images (Dosovitskiy et al. 2020)."""
    from transformers import ViTConfig, ViTModel  # noqa: PLC0415

    config = ViTConfig(num_hidden_layers=layers)
    return transformer(ViTModel(config, add_pooling_layer=False), torch.randn(4, 3, 224, 224))


def whisper() -> Functions:
    """Return the encoder of Whisper tiny, 30 seconds of sound (Radford et al. 2022)."""
    from transformers import WhisperConfig  # noqa: PLC0415
    from transformers.models.whisper.modeling_whisper import WhisperEncoder  # noqa: PLC0415

    return transformer(WhisperEncoder(WhisperConfig()), torch.randn(1, 80, 3000))


# --- A decoder after Llama, with a prompt and one step ---------------------------------------------------------


@dataclass(frozen=True)
class DecoderSizes:
    """Sizes of a decoder; the defaults are those of TinyLlama 1.1B with 4 of its 22 layers."""

    layers: int = 4
    features: int = 2048
    inner: int = 5632
    heads: int = 32
    key_heads: int = 4
    vocabulary: int = 32000
    prompt: int = 512

    @property
    def head(self) -> int:
        """Features of a head."""
        return self.features // self.heads


class _RMSNorm(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        wide = value.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)
        return self.weight * (wide * scale).to(value.dtype)


def _angles(sizes: DecoderSizes) -> torch.Tensor:
    """Return the angles of rotary embeddings: (positions, half of a head's features)."""
    half = sizes.head // 2
    rates = 10000.0 ** (-torch.arange(half, dtype=torch.float32) / half)
    return torch.outer(torch.arange(sizes.prompt + 1, dtype=torch.float32), rates)


def _rotated(value: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    """Return rotary embeddings of (batch, heads, tokens, features) by the angles of their positions."""
    half = value.shape[-1] // 2
    cosine, sine = angles.cos().to(value.dtype), angles.sin().to(value.dtype)
    left, right = value[..., :half], value[..., half:]
    return torch.cat((left * cosine - right * sine, right * cosine + left * sine), -1)


class _DecoderLayer(nn.Module):
    def __init__(self, sizes: DecoderSizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.register_buffer("angles", _angles(sizes), persistent=False)
        narrow = sizes.key_heads * sizes.head
        self.attention_norm, self.inner_norm = _RMSNorm(sizes.features), _RMSNorm(sizes.features)
        self.query = nn.Linear(sizes.features, sizes.features, bias=False)
        self.key = nn.Linear(sizes.features, narrow, bias=False)
        self.value = nn.Linear(sizes.features, narrow, bias=False)
        self.output = nn.Linear(sizes.features, sizes.features, bias=False)
        self.gate = nn.Linear(sizes.features, sizes.inner, bias=False)
        self.up = nn.Linear(sizes.features, sizes.inner, bias=False)
        self.down = nn.Linear(sizes.inner, sizes.features, bias=False)

    def _heads(self, value: torch.Tensor) -> torch.Tensor:
        return value.unflatten(-1, (-1, self.sizes.head)).transpose(1, 2)

    def forward(
        self, value: torch.Tensor, old: tuple[torch.Tensor, torch.Tensor] | None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        normal = self.attention_norm(value)
        first = 0 if old is None else old[0].shape[2]
        angles = self.angles[first : first + value.shape[1]].float()
        query = _rotated(self._heads(self.query(normal)), angles)
        keys = _rotated(self._heads(self.key(normal)), angles)
        values = self._heads(self.value(normal))
        if old is not None:
            keys, values = torch.cat((old[0], keys), 2), torch.cat((old[1], values), 2)
        copies = self.sizes.heads // self.sizes.key_heads
        mixed = functional.scaled_dot_product_attention(
            query,
            keys.repeat_interleave(copies, 1),
            values.repeat_interleave(copies, 1),
            is_causal=old is None,
        )
        value = value + self.output(mixed.transpose(1, 2).flatten(2))
        normal = self.inner_norm(value)
        return (
            value + self.down(functional.silu(self.gate(normal)) * self.up(normal)),
            keys,
            values,
        )


class Decoder(nn.Module):
    """A decoder after Llama (Touvron et al. 2023)."""

    def __init__(self, sizes: DecoderSizes) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.features)
        self.layers = nn.ModuleList(_DecoderLayer(sizes) for _ in range(sizes.layers))
        self.norm = _RMSNorm(sizes.features)
        self.head = nn.Linear(sizes.features, sizes.vocabulary, bias=False)


class _Prefill(nn.Module):
    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(self, tokens: torch.Tensor) -> Inputs:
        """Return the logits of the next token, and the keys and values of all layers."""
        value, cache = self.decoder.embedding(tokens), []
        for layer in self.decoder.layers:
            value, keys, values = layer(value, None)
            cache += [keys, values]
        return (self.decoder.head(self.decoder.norm(value[:, -1:])), *cache)


class _Decode(nn.Module):
    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(self, token: torch.Tensor, *cache: torch.Tensor) -> Inputs:
        """Return the logits of the next token, and its keys and values in all layers."""
        value, new = self.decoder.embedding(token), []
        for position, layer in enumerate(self.decoder.layers):
            old = cache[2 * position], cache[2 * position + 1]
            value, keys, values = layer(value, old)
            new += [keys[:, :, -1:], values[:, :, -1:]]
        return (self.decoder.head(self.decoder.norm(value)), *new)


def llama(sizes: DecoderSizes = DecoderSizes()) -> Functions:
    """Return a decoder after Llama with a prompt of 512 tokens, and one step behind it."""
    decoder = Decoder(sizes)
    cache = [
        torch.randn(1, sizes.key_heads, sizes.prompt, sizes.head) for _ in range(2 * sizes.layers)
    ]
    return {
        "prefill": Function(_Prefill(decoder), (_tokens(sizes.vocabulary, 1, sizes.prompt),)),
        "decode": Function(_Decode(decoder), (_tokens(sizes.vocabulary, 1, 1), *cache)),
    }


# --- A block of SDXL's U-Net --------------------------------------------------------------------------------


class _ResidualBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first_norm, self.second_norm = (nn.GroupNorm(32, channels) for _ in range(2))
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        inner = self.first(functional.silu(self.first_norm(value)))
        return value + self.second(functional.silu(self.second_norm(inner)))


class _SelfAttention(nn.Module):
    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(32, channels)
        self.all = nn.Linear(channels, 3 * channels, bias=False)
        self.output = nn.Linear(channels, channels)

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        batch, channels, height, width = value.shape
        tokens = self.norm(value).flatten(2).transpose(1, 2)
        parts = self.all(tokens).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        mixed = self.output(mixed.transpose(1, 2).flatten(2))
        return value + mixed.transpose(1, 2).reshape(batch, channels, height, width)


def unet_block() -> Functions:
    """Return a block of a U-Net like SDXL's: 2x320x64x64, two residual blocks around self-attention (Podell et al. 2023)."""
    channels = 320
    block = nn.Sequential(
        _ResidualBlock(channels), _SelfAttention(channels, heads=5), _ResidualBlock(channels)
    )
    return {"main": Function(block, (torch.randn(2, channels, 64, 64),))}


class _Bottleneck(nn.Module):
    def __init__(self, channels: int, middle: int, result: int) -> None:
        super().__init__()
        self.narrow = nn.Conv2d(channels, middle, 1, bias=False)
        self.spatial = nn.Conv2d(middle, middle, 3, stride=2, padding=1, bias=False)
        self.wide = nn.Conv2d(middle, result, 1, bias=False)
        self.shortcut = nn.Conv2d(channels, result, 1, stride=2, bias=False)
        self.norms = nn.ModuleList(map(nn.BatchNorm2d, (middle, middle, result, result)))

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        value = torch.relu(value)
        inner = torch.relu(self.norms[0](self.narrow(value)))
        inner = torch.relu(self.norms[1](self.spatial(inner)))
        inner = self.norms[2](self.wide(inner))
        return torch.relu(inner + self.norms[3](self.shortcut(value)))


def bottleneck() -> Functions:
    """Return the first block of each of the last three stages of a ResNet-50, which halve the image."""
    blocks = nn.Sequential(
        _Bottleneck(256, 128, 512), _Bottleneck(512, 256, 1024), _Bottleneck(1024, 512, 2048)
    )
    return {"main": Function(blocks, (torch.randn(8, 256, 56, 56),))}


MODELS: Mapping[str, Callable[[], Functions]] = {
    "bert": bert,
    "resnet50": resnet50,
    "llama": llama,
    "gpt2": gpt2,
    "vit": vit,
    "whisper": whisper,
    "unet_block": unet_block,
    "bottleneck": bottleneck,
}
"""The models by name."""


def encoder(layers: int = 4, features: int = 512, tokens: int = 192) -> Functions:
    """PyTorch's own encoder, two sequences (Vaswani et al. 2017)."""
    layer = nn.TransformerEncoderLayer(
        features, features // 64, 4 * features, batch_first=True, norm_first=True
    )
    module = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    return {"main": Function(module, (torch.randn(2, tokens, features),))}


def short_bert() -> Functions:
    """BERT-base, one sequence of 128 tokens."""
    from transformers import BertConfig, BertModel  # noqa: PLC0415 - seconds to load

    config = BertConfig()
    return transformer(
        BertModel(config, add_pooling_layer=False), _tokens(config.vocab_size, 1, 128)
    )


def small_resnet() -> Functions:
    """ResNet-18 for one image of 160x160."""
    from transformers import ResNetConfig, ResNetForImageClassification  # noqa: PLC0415

    config = ResNetConfig(
        depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512], layer_type="basic", num_labels=1000
    )
    return transformer(ResNetForImageClassification(config), torch.randn(1, 3, 160, 160))


def narrow_llama() -> Functions:
    """Return a decoder after Llama of other widths, with a prompt of 192 tokens, and one step behind it."""
    return llama(DecoderSizes(2, 1536, 4096, 12, 12, prompt=192))


SHORTENED: Mapping[str, Callable[[], Functions]] = {
    "resnet50_image": resnet50_image,
    "bert_layers": lambda: bert(2),
    "gpt2_layers": lambda: gpt2(2),
    "vit_layers": lambda: vit(2),
    "encoder_layers": lambda: encoder(2, 384, 256),
    "llama_layer": lambda: llama(DecoderSizes(layers=1)),
}
"""The dispatches of models in smaller programs, which are exported and compiled faster, for `libraries.py`."""

HELD_OUT: Mapping[str, Callable[[], Functions]] = {
    "encoder": encoder,
    "short_bert": short_bert,
    "small_resnet": small_resnet,
    "narrow_llama": narrow_llama,
}
"""Models of other widths and lengths than those that libraries are made from, for `coverage.py`."""


def build(model: Callable[[], Functions], dtype: torch.dtype) -> Functions:
    """Return a model with weights that are always the same.

    Args:
        model: makes it.
        dtype: the type of weights and of floating-point inputs.
    """
    torch.manual_seed(0)
    functions = model()
    for function in functions.values():
        function.module.to(dtype).eval()
    return {
        key: Function(
            function.module,
            tuple(x.to(dtype) if x.is_floating_point() else x for x in function.inputs),
        )
        for key, function in functions.items()
    }
