"""Questions about structured operations, as the compiler answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

# `iree.compiler.dialects.linalg` hands these on, but takes 90 ms to build classes for its operations.
from iree.compiler._mlir_libs import _mlirDialectsLinalg  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from iree.compiler import ir as mlir


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
