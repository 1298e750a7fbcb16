"""Kinds of ops and roles of their loops, and their inference from indexing maps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Self

from iree.compiler import ir as mlir

# `iree.compiler.dialects` re-exports these, but takes 140 ms to build the classes of the ops.
from iree.compiler._mlir_libs import (  # type: ignore[attr-defined]
    _ireeCompilerDialects,
    _mlirDialectsLinalg,
)

from tuninglink.mlir import names

ATTENTION_OUTPUTS: Final = {names.ATTENTION: 1, names.ONLINE_ATTENTION: 3}
"""The number of outputs of the attention ops: the result; for online attention also the maximum and the sum."""


class OpKind(Enum):
    """The kind of an op, as in the compiler's matchers."""

    CONTRACTION = "contraction"
    CONVOLUTION = "convolution"
    ATTENTION = "attention"
    REDUCTION = "reduction"
    ELEMENTWISE = "elementwise"
    OTHER = "other"


class Role(Enum):
    """The role of a loop, named as in the compiler's matcher op for each kind."""

    BATCH = "batch"
    M = "m"
    N = "n"
    K = "k"
    K1 = "k1"
    K2 = "k2"
    OUTPUT_IMAGE = "output image"
    OUTPUT_CHANNEL = "output channel"
    FILTER = "filter"
    INPUT_CHANNEL = "input channel"
    DEPTH = "depth"
    PARALLEL = "parallel"
    REDUCTION = "reduction"


ROLES: Final[Mapping[OpKind, Mapping[Role, str]]] = {
    OpKind.CONTRACTION: {Role.BATCH: "batch", Role.M: "m", Role.N: "n", Role.K: "k"},
    OpKind.CONVOLUTION: {
        Role.BATCH: "batch",
        Role.OUTPUT_IMAGE: "output_image",
        Role.OUTPUT_CHANNEL: "output_channel",
        Role.FILTER: "filter_loop",
        Role.INPUT_CHANNEL: "input_channel",
        Role.DEPTH: "depth",
    },
    OpKind.ATTENTION: {
        Role.BATCH: "batch_dims",
        Role.M: "m_dims",
        Role.N: "n_dims",
        Role.K1: "k1_dims",
        Role.K2: "k2_dims",
    },
}
"""The roles of each kind, in the order of the results of its matcher op, with their names in the bindings."""


def loops_by_role(
    kind: OpKind, maps: Sequence[mlir.AffineMap], output: int = -1
) -> dict[Role, tuple[int, ...]]:
    """Return the loops of each role, in the order of `ROLES`; empty if the maps do not fit the kind.

    Args:
        kind: the kind of the op.
        maps: its indexing maps.
        output: the position of the first output's map.
    """
    dimensions: Any = None
    if kind is OpKind.CONTRACTION:
        dimensions = _mlirDialectsLinalg.infer_contraction_dimensions_from_maps(list(maps))
    elif kind is OpKind.CONVOLUTION:
        dimensions = _mlirDialectsLinalg.infer_convolution_dimensions_from_maps(list(maps))
    elif kind is OpKind.ATTENTION:
        detail = _ireeCompilerDialects.iree_codegen.get_attention_op_detail
        dimensions = detail(maps[0], maps[1], maps[2], maps[output])
    if dimensions is None:
        return {}
    return {role: tuple(getattr(dimensions, name)) for role, name in ROLES[kind].items()}


def affine_maps(attribute: mlir.Attribute | None) -> tuple[mlir.AffineMap, ...]:
    """Return the affine maps in an array attribute; empty for any other attribute."""
    if not isinstance(attribute, mlir.ArrayAttr):
        return ()
    return tuple(element.value for element in attribute if isinstance(element, mlir.AffineMapAttr))


def indexing_loops(map_: mlir.AffineMap) -> tuple[int | None, ...]:
    """Return the loop of each result of an indexing map, or None for an expression other than a loop."""
    return tuple(
        result.position if isinstance(result, mlir.AffineDimExpr) else None
        for result in map_.results
    )


def loops_in(expression: mlir.AffineExpr) -> frozenset[int]:
    """Return the loops that a result of an indexing map depends on."""
    if isinstance(expression, mlir.AffineDimExpr):
        return frozenset({expression.position})
    if isinstance(expression, mlir.AffineBinaryExpr):
        return loops_in(expression.lhs) | loops_in(expression.rhs)
    return frozenset()


@dataclass(frozen=True)
class ProductLoops:
    """The loops of a product of two operands, ascending, as `linalg::inferContractionDims` classifies them.

    Attributes:
        rows: the loops of the left-hand side and the result.
        columns: the loops of the right-hand side and the result.
        reductions: the loops of both operands.
        batches: the loops of both operands and the result.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    reductions: tuple[int, ...]
    batches: tuple[int, ...]

    @classmethod
    def of(cls, lhs: Collection[int], rhs: Collection[int], result: Collection[int]) -> Self:
        """Return the loops of a product, given the loops that index its operands and its result."""
        left, right, parallel = set(lhs), set(rhs), set(result)
        groups = (
            left & parallel - right,
            right & parallel - left,
            left & right - parallel,
            left & right & parallel,
        )
        return cls(*(tuple(sorted(group)) for group in groups))
