"""Programs of attentions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from iree.compiler import ir as mlir
from iree.compiler.dialects import arith, linalg, tensor  # type: ignore[attr-defined]

from tuninglink.payloads.op_templates import Value
from tuninglink.tuning.problems import Attention, Mask
from tuninglink.tuning.problems.building_values import (
    computed,
    constant_zero,
    indexing_map,
    mlir_type,
    value_of,
)


def attention_parts(problem: Attention) -> tuple[list[list[int]], Callable[..., Value]]:
    """Return the shapes of queries, keys, values and mask, and the builder of the result."""
    heads, queries, keys = problem.heads, problem.queries, problem.keys
    kv_heads, features = problem.kv_heads or heads, problem.features
    accesses = ("bmk", "blk", "bln", "", *(["bml"] if problem.mask else []), "bmn")

    def compute(query: Value, key: Value, value: Value, *mask: Value) -> Value:
        if problem.mask is Mask.CAUSAL:
            mask = (_causal_mask([heads, queries, keys], mlir_type(problem.element)),)
        # The scale is that of the features.
        scale = arith.constant(mlir.F32Type.get(), features**-0.5)
        init = tensor.empty([heads, queries, features], mlir_type(problem.element))
        shared = (_repeated(operand, heads // kv_heads) for operand in (key, value))
        return _attended([query, *shared, value_of(scale), *mask, value_of(init)], accesses)

    shapes = [[heads, queries, features], *[[kv_heads, keys, features]] * 2]
    is_given = problem.mask is Mask.GIVEN
    return [*shapes, *([[heads, queries, keys]] if is_given else [])], compute


def _attended(operands: Sequence[Value], accesses: Sequence[str]) -> Value:
    """Return the result of an attention that leaves scores unchanged."""
    maps = [mlir.AffineMapAttr.get(indexing_map("bmnkl", access)) for access in accesses]
    op = mlir.Operation.create(
        "iree_linalg_ext.attention",
        results=[operands[-1].type],
        operands=operands,
        attributes={"indexing_maps": mlir.ArrayAttr.get(maps)},
        regions=1,
    )
    location = mlir.Location.unknown()
    body = op.regions[0].blocks.append(mlir.F32Type.get(), arg_locs=[location])
    with mlir.InsertionPoint(body):
        mlir.Operation.create("iree_linalg_ext.yield", operands=list(body.arguments))
    value: Value = op.results[0]
    return value


def _causal_mask(shape: Sequence[int], kind: mlir.Type) -> Value:
    """Return what hides the keys behind the position of each query, as PyTorch exports it."""
    zero = constant_zero(kind)
    hidden = value_of(arith.constant(kind, -math.inf))

    def score(_: Value) -> Value:
        query, key = (value_of(linalg.IndexOp(dimension)) for dimension in (1, 2))
        is_seen = arith.cmpi(arith.CmpIPredicate.sge, query, key)
        return value_of(arith.select(is_seen, zero, hidden))

    init = linalg.fill(zero, outs=[tensor.empty(shape, kind)])
    return computed([], [indexing_map("bml", "bml")], value_of(init), score)


def _repeated(operand: Value, count: int) -> Value:
    """Return keys or values whose heads several heads of queries share, as PyTorch exports them."""
    if count == 1:
        return operand
    kind = mlir.RankedTensorType(operand.type)
    heads, *rest = kind.shape
    maps = [indexing_map("bglk", access) for access in ("blk", "bglk")]
    init = value_of(tensor.empty([heads, count, *rest], kind.element_type))
    repeated = computed([operand], maps, init, lambda element, _: element)
    shape = mlir.RankedTensorType.get([heads * count, *rest], kind.element_type)
    groups = mlir.ArrayAttr.get([_indices(0, 1), _indices(2), _indices(3)])
    return value_of(tensor.CollapseShapeOp(shape, repeated, groups))


def _indices(*dimensions: int) -> mlir.ArrayAttr:
    kind = mlir.IntegerType.get_signless(64)
    return mlir.ArrayAttr.get([mlir.IntegerAttr.get(kind, index) for index in dimensions])
