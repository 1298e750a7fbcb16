"""Questions about structured operations, as the compiler answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

# `iree.compiler.dialects.linalg` hands these on, but takes 90 ms to build classes for its operations.
from iree.compiler._mlir_libs import _mlirDialectsLinalg  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iree.compiler import ir as mlir

_CONTRACTION_ROLES = ("batch", "m", "n", "k")
_CONVOLUTION_ROLES = {
    "batch": "batch",
    "output_image": "output_image",
    "output_channel": "output_channel",
    "filter": "filter_loop",
    "input_channel": "input_channel",
    "depth": "depth",
}


def indexing_maps(operation: mlir.Operation) -> mlir.Attribute | None:
    """Returns the indexing maps of a structured operation, None if it is none."""
    maps: mlir.Attribute | None = _mlirDialectsLinalg.get_indexing_maps(operation)
    return maps


def is_contraction(operation: mlir.Operation) -> bool:
    """Tells whether an operation multiplies and adds over loops of single dimensions."""
    return bool(_mlirDialectsLinalg.isa_contraction_op(operation))


def is_convolution(operation: mlir.Operation) -> bool:
    """Tells whether an operation is a convolution."""
    return bool(_mlirDialectsLinalg.isa_convolution_op(operation))


def contraction_loops(maps: Sequence[mlir.AffineMap]) -> dict[str, list[int]]:
    """Returns the numbers of the loops in each role of a contraction with these indexing maps."""
    found = _mlirDialectsLinalg.infer_contraction_dimensions_from_maps(list(maps))
    return {role: list(getattr(found, role)) for role in _CONTRACTION_ROLES} if found else {}


def convolution_loops(maps: Sequence[mlir.AffineMap]) -> dict[str, list[int]]:
    """Returns the numbers of the loops in each role of a convolution with these indexing maps."""
    found = _mlirDialectsLinalg.infer_convolution_dimensions_from_maps(list(maps))
    if not found:
        return {}
    return {role: list(getattr(found, name)) for role, name in _CONVOLUTION_ROLES.items()}
