"""Decompositions of operators of PyTorch that the compiler refuses or miscompiles (`iree-base-compiler` 3.13)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
from iree.compiler import ir as mlir
from iree.turbine import aot

from tuninglink.mlir.walk import collect

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def needed_decompositions(program: mlir.Operation) -> dict[Any, Callable[..., Any]]:
    """Return the decompositions without which the compiler refuses or miscompiles a program; empty if it needs none."""
    operators = collect(program, "torch.operator")
    names = (mlir.StringAttr(operator.attributes["name"]).value for operator in operators)
    if any(name.startswith("torch.aten.") for name in names):
        # The compiler knows attention as a whole.
        table = dict(torch.export.default_decompositions())
        table.pop(torch.ops.aten.scaled_dot_product_attention.default, None)
        return table | {torch.ops.aten.squeeze.dims: _squeezed} | _PADS
    if any(_cuts(pad) for name in _PAD_OPS for pad in collect(program, name)):
        return {**aot.decompositions.current_aot_decompositions(), **_PADS}
    return {}


def _cuts(pad: mlir.Operation) -> bool:
    """Return whether a pad has a negative size, at which the compiler may fold the pad to its operand."""
    sizes = [size.owner for size in pad.operands[1].owner.operands]
    return any(
        size.name == "torch.constant.int" and mlir.IntegerAttr(size.attributes["value"]).value < 0
        for size in sizes
    )


def _cut_and_padded(tensor: torch.Tensor, pads: Sequence[int], value: float = 0) -> torch.Tensor:
    """Decompose a pad with negative sizes into slices and a pad."""
    if all(pad >= 0 for pad in pads):
        return NotImplemented
    for position in range(0, len(pads), 2):
        dim = tensor.dim() - 1 - position // 2
        low, high = (max(0, -pad) for pad in pads[position : position + 2])
        tensor = torch.ops.aten.slice.Tensor(tensor, dim, low, tensor.shape[dim] - high)
    return torch.ops.aten.constant_pad_nd(tensor, [max(0, pad) for pad in pads], value)


def _padded(
    tensor: torch.Tensor, pads: Sequence[int], mode: str = "constant", value: float | None = None
) -> torch.Tensor:
    """Decompose a pad in any mode as `_cut_and_padded` if it is one with a constant."""
    return _cut_and_padded(tensor, pads, value or 0) if mode == "constant" else NotImplemented


_PAD_OPS: Final = ("torch.aten.constant_pad_nd", "torch.aten.pad")
_PADS: Final = {
    torch.ops.aten.constant_pad_nd.default: _cut_and_padded,
    torch.ops.aten.pad.default: _padded,
}


def _squeezed(tensor: torch.Tensor, dims: Sequence[int]) -> torch.Tensor:
    """Decompose `aten.squeeze.dims`, for which PyTorch has no decomposition."""
    removed = {dim % max(tensor.dim(), 1) for dim in dims}
    sizes = enumerate(tensor.shape)
    return tensor.reshape([size for dim, size in sizes if dim not in removed or size != 1])
