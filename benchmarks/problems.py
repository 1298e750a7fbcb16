"""Operations of models that benchmarks tune: each a function that becomes one dispatch."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "support"))

from mlir_function import Function
from model_programs import attention, linear, product

if TYPE_CHECKING:
    from collections.abc import Callable

    from mlir_function import Tensor
    from torch import Tensor as TorchTensor


class Problem(ABC):
    """An operation of a model, which becomes a dispatch."""

    element: str

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of its function."""

    @abstractmethod
    def add(self, function: Function) -> Tensor:
        """Add it to a function."""

    @abstractmethod
    def in_pytorch(self) -> Callable[[], object]:
        """Return a call that runs it with PyTorch on the current device."""

    @property
    def program(self) -> str:
        """The function that it is, as MLIR text."""
        function = Function(self.name)
        return function.text(self.add(function))

    def random(self, *sizes: int) -> TorchTensor:
        """Return a random tensor of PyTorch on the current device."""
        import torch  # noqa: PLC0415 - only where it is asked for

        types = {"f16": torch.float16, "bf16": torch.bfloat16}
        return torch.randn(*sizes, device="cuda", dtype=types[self.element])


@dataclass(frozen=True)
class Linear(Problem):
    """A linear layer; the sum is in f32, the result in the type of the operands."""

    m: int
    n: int
    k: int
    element: str = "f16"

    @property
    def name(self) -> str:
        """The name of its function."""
        return f"linear_{self.m}x{self.n}x{self.k}_{self.element}"

    def add(self, function: Function) -> Tensor:
        """Add it to a function."""
        return linear(function, (self.m, self.n, self.k), self.element)

    def in_pytorch(self) -> Callable[[], object]:
        """Return a call that runs it with PyTorch on the current device."""
        from torch.nn.functional import linear as call  # noqa: PLC0415 - only where asked for

        inputs, weights = self.random(self.m, self.k), self.random(self.n, self.k)
        return lambda: call(inputs, weights)


@dataclass(frozen=True)
class Matmul(Linear):
    """A matmul with transposed right-hand side whose result is the sum, in f32."""

    @property
    def name(self) -> str:
        """The name of its function."""
        return f"matmul_{self.m}x{self.n}x{self.k}_{self.element}"

    def add(self, function: Function) -> Tensor:
        """Add it to a function."""
        sizes: dict[str, int | None] = {"m": self.m, "n": self.n, "k": self.k}
        return product(function, "mk,nk->mn", sizes, self.element)


@dataclass(frozen=True)
class PlainMatmul(Matmul):
    """A matmul whose right-hand side has k rows, as weights in JAX, in ONNX and in GPT-2 have them."""

    @property
    def name(self) -> str:
        """The name of its function."""
        return f"matmul_kn_{self.m}x{self.n}x{self.k}_{self.element}"

    def add(self, function: Function) -> Tensor:
        """Add it to a function."""
        sizes: dict[str, int | None] = {"m": self.m, "n": self.n, "k": self.k}
        return product(function, "mk,kn->mn", sizes, self.element)


@dataclass(frozen=True)
class Batched(Problem):
    """A product of two batched matrices, the second one transposed or not."""

    batch: int
    m: int
    n: int
    k: int
    is_transposed: bool
    element: str = "f16"

    @property
    def name(self) -> str:
        """The name of its function."""
        order = "nk" if self.is_transposed else "kn"
        return f"batched_{order}_{self.batch}x{self.m}x{self.n}x{self.k}_{self.element}"

    def add(self, function: Function) -> Tensor:
        """Add it to a function."""
        accesses = "bmk,bnk->bmn" if self.is_transposed else "bmk,bkn->bmn"
        sizes: dict[str, int | None] = {"b": self.batch, "m": self.m, "n": self.n, "k": self.k}
        return product(function, accesses, sizes, self.element)

    def in_pytorch(self) -> Callable[[], object]:
        """Return a call that runs it with PyTorch on the current device."""
        lhs = self.random(self.batch, self.m, self.k)
        if self.is_transposed:
            keys = self.random(self.batch, self.n, self.k)
            return lambda: lhs @ keys.mT
        rhs = self.random(self.batch, self.k, self.n)
        return lambda: lhs @ rhs


@dataclass(frozen=True)
class Convolution(Problem):
    """A convolution of 3x3 on images in nhwc layout that are padded already; the sum is in f32."""

    batch: int
    size: int
    inputs: int
    outputs: int
    element: str = "f16"

    @property
    def name(self) -> str:
        """The name of its function."""
        return f"conv_{self.batch}x{self.size}x{self.size}x{self.inputs}_to_{self.outputs}_{self.element}"

    def add(self, function: Function) -> Tensor:
        """Add it to a function."""
        padded = self.size + 2
        image = function.argument(self.batch, padded, padded, self.inputs, element=self.element)
        weights = function.argument(3, 3, self.inputs, self.outputs, element=self.element)
        sizes = (self.batch, self.size, self.size, self.outputs)
        strides = "{strides = dense<1> : vector<2xi64>}"
        return function.named(
            f"linalg.conv_2d_nhwc_hwcf {strides}", (image, weights), sizes, "f32", 0
        )

    def in_pytorch(self) -> Callable[[], object]:
        """Return a call that runs it with PyTorch on the current device."""
        import torch  # noqa: PLC0415 - only where it is asked for

        last = torch.channels_last
        padded = self.size + 2
        image = self.random(self.batch, self.inputs, padded, padded).to(memory_format=last)
        weights = self.random(self.outputs, self.inputs, 3, 3).to(memory_format=last)
        torch.backends.cudnn.benchmark = True
        return lambda: torch.nn.functional.conv2d(image, weights)


@dataclass(frozen=True)
class Attention(Problem):
    """An attention over as many keys as queries."""

    heads: int
    tokens: int
    features: int
    element: str = "f16"

    @property
    def name(self) -> str:
        """The name of its function."""
        return f"attention_{self.heads}x{self.tokens}x{self.features}_{self.element}"

    def add(self, function: Function) -> Tensor:
        """Add it to a function."""
        sizes = {"b": self.heads, "m": self.tokens, "l": self.tokens}
        return attention(
            function, {**sizes, "n": self.features, "k": self.features}, element=self.element
        )

    def in_pytorch(self) -> Callable[[], object]:
        """Return a call that runs it with PyTorch on the current device."""
        from torch.nn.functional import (  # noqa: PLC0415 - only where it is asked for
            scaled_dot_product_attention as call,
        )

        query, key, value = (self.random(1, self.heads, self.tokens, self.features) for _ in "qkv")
        return lambda: call(query, key, value)
