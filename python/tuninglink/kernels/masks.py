"""Masks that a program computes from constants and indices.

Frontends write a causal mask in many ways: comparisons of indices, triangles of constants, products with -inf or with the
least number of a type. Its elements tell what it is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
from iree.compiler import ir as mlir

from tuninglink.iree import StructuredOp
from tuninglink.kernels.producers import COLLAPSE, EXPAND, PLAIN
from tuninglink.kernels.steps import is_elementwise
from tuninglink.mlir import defining_op, names
from tuninglink.payloads import Value
from tuninglink.programs import (
    Array,
    UnsupportedOperationError,
    dtype_of,
    evaluate,
    is_unsigned,
    widened,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

EXCLUDED: Final = -1e4
"""The largest number that excludes a key where it is added to its score or takes its place, as frontends use it."""

_AT_ONCE: Final = 1 << 20
"""The number of elements that are computed at once."""

_MOST_NUMBERS: Final = 1 << 16
"""The numbers of a constant that a matcher shows."""

_OF_BITS: Final = frozenset(f"arith.{name}" for name in ("andi", "ori", "xori", "muli", "select"))
_WIDENING: Final = frozenset(f"arith.{name}" for name in ("extui", "uitofp", "extsi", "sitofp"))
_FIRST_ORDER: Final = 2
"""The predicate of `arith.cmpi` from which on it compares the order."""


def is_causal_mask(value: Value, rows: int, columns: int, *, excludes: bool = False) -> bool:
    """Return whether a program computes a mask with which queries attend to the keys until their own only.

    Its last two dimensions are queries and keys.

    Args:
        value: the mask: bits, or numbers that are added to scores.
        rows: the number of queries.
        columns: the number of keys.
        excludes: whether bits are 1 where a key is excluded.
    """
    kind = mlir.RankedTensorType(value.type)
    if not kind.has_static_shape or [*kind.shape[-2:]] != [rows, columns] or not rows * columns:
        return False
    is_bits = str(kind.element_type) == "i1"
    # The last row shows whether the mask depends on others, such as heads.
    end, step = rows, 1
    while end:
        query, key = range(max(0, end - step), end), range(columns)
        try:
            mask = _Elements().at(value, np.ix_(*map(range, kind.shape[:-2]), query, key))
        except UnsupportedOperationError:
            return False
        taken = (mask != excludes) if is_bits else mask == 0
        is_causal = taken == (np.arange(columns) <= np.array(query)[:, np.newaxis])
        if not (is_causal & (taken | is_bits | (mask <= EXCLUDED))).all():
            return False
        end, step = query.start, max(1, _AT_ONCE // max(columns, mask.size // len(query)))
    return True


def uniform_number(value: Value) -> float | None:
    """Return the number that all elements of a tensor are, or that a value is, if a program computes it from constants."""
    shape = value.type.shape if isinstance(value.type, mlir.RankedTensorType) else ()
    try:
        numbers = _Elements().at(value, np.ix_(*map(range, shape)))
    except UnsupportedOperationError:
        return None
    return float(numbers.item()) if numbers.size == 1 else None


class _Elements:
    """Elements of tensors that a program computes from constants and indices.

    Its methods raise `UnsupportedOperationError` for others.
    """

    def __init__(self) -> None:
        # The positions are kept with their elements, as they are found by their identity.
        self._computed: dict[tuple[object, ...], tuple[Sequence[Array], Array]] = {}

    def at(self, value: Value, index: Sequence[Array]) -> Array:
        """Return the elements of a tensor at positions that broadcast, or a number."""
        key = (value, *map(id, index))
        if key not in self._computed:
            operation = defining_op(value)
            if operation is None:
                raise UnsupportedOperationError("an argument")
            try:
                elements = self._result(operation, index)
            except (
                TypeError,
                ValueError,
            ) as failure:  # NumPy lacks the type, or refuses the numbers
                raise UnsupportedOperationError(str(failure)) from failure
            if elements.size > 2 * _AT_ONCE:
                raise UnsupportedOperationError("many batches")
            self._computed[key] = index, elements
        return self._computed[key][1]

    def _result(self, operation: mlir.Operation, index: Sequence[Array]) -> Array:
        if operation.name == names.CONSTANT:
            return _constant(operation.attributes["value"], index)
        if operation.name == names.FILL:
            return self.at(operation.operands[0], ())
        if operation.name == names.TRANSPOSE:
            order = list(mlir.DenseI64ArrayAttr(operation.attributes["permutation"]))
            places = [index[order.index(at)] for at in range(len(order))]
            return self.at(operation.operands[0], places)
        if operation.name in (COLLAPSE, EXPAND):
            return self.at(operation.operands[0], _reshaped(operation, index))
        if not is_elementwise(operation) or {*operation.attributes} - PLAIN:
            raise UnsupportedOperationError(operation.name)
        op = StructuredOp(operation)
        written = op.operand_loops[-1]
        if len(operation.results) > 1 or {*written} != {*range(op.loop_count)}:
            raise UnsupportedOperationError("an op with another result")
        loops = [index[written.index(loop)] for loop in range(op.loop_count)]
        block, values = operation.regions[0].blocks[0], dict[Value, Array]()
        for number, argument in enumerate(block.arguments):
            if [*argument.uses]:
                results = op.maps[number].results if op.operands[number].is_tensor else ()
                places = [_position(at, loops) for at in results]
                values[argument] = self.at(operation.operands[number], places)
        *body, end = (item.operation for item in block.operations)
        for item in body:
            if item.name == "linalg.index":
                computed = loops[mlir.IntegerAttr(item.attributes["dim"]).value]
            elif item.name == names.CONSTANT:
                computed = _constant(item.attributes["value"], ())
            else:
                taken = [values[at] if at in values else self.at(at, ()) for at in item.operands]
                computed = _element(item, taken)
            values[item.results[0]] = computed
        (yielded,) = end.operands
        return values[yielded] if yielded in values else self.at(yielded, ())


def _constant(attribute: mlir.Attribute, index: Sequence[Array]) -> Array:
    """Return elements of a constant."""
    if isinstance(attribute, mlir.DenseElementsAttr):
        if not attribute.is_splat:
            kind = mlir.RankedTensorType(attribute.type).element_type
            if str(kind) == "bf16" or len(attribute) > _MOST_NUMBERS:
                raise UnsupportedOperationError("a constant of many numbers")
            return widened(np.array(attribute)[tuple(index)], kind)
        attribute = attribute.get_splat_value()
    if not isinstance(attribute, mlir.FloatAttr | mlir.IntegerAttr | mlir.BoolAttr):
        raise UnsupportedOperationError("a constant of another type")
    return widened(np.asarray(attribute.value), attribute.type)


def _reshaped(operation: mlir.Operation, index: Sequence[Array]) -> list[Array]:
    """Return the positions in a tensor before it is reshaped."""
    is_expanded, places = operation.name == EXPAND, list[Array]()
    wide = operation.results[0] if is_expanded else operation.operands[0]
    shape = mlir.RankedTensorType(wide.type).shape
    for number, listed in enumerate(mlir.ArrayAttr(operation.attributes["reassociation"])):
        group = [mlir.IntegerAttr(at).value for at in mlir.ArrayAttr(listed)]
        sizes = [shape[at] for at in group]
        strides = [math.prod(sizes[at + 1 :]) for at in range(len(sizes))]
        if is_expanded:
            parts = [index[at] * step for at, step in zip(group, strides, strict=True)]
            places.append(sum(parts, start=np.zeros((), np.int64)))
        else:
            both = zip(sizes, strides, strict=True)
            places += [index[number] // step % size for size, step in both]
    return places


def _position(expression: mlir.AffineExpr, loops: Sequence[Array]) -> Array:
    if isinstance(expression, mlir.AffineDimExpr):
        return loops[expression.position]
    if isinstance(expression, mlir.AffineConstantExpr):
        return np.asarray(expression.value)
    raise UnsupportedOperationError(f"the expression {expression}")


def _element(item: mlir.Operation, taken: list[Array]) -> Array:
    """Return what an op of a body computes, to the precision of its type."""
    kind = item.results[0].type
    are_bits = [at.dtype == np.bool_ for at in taken]
    if item.name == "arith.cmpi":
        predicate = mlir.IntegerAttr(item.attributes["predicate"]).value
        is_supported = predicate < _FIRST_ORDER or not any(are_bits)
    else:
        is_supported = not any(are_bits) or item.name in _OF_BITS | _WIDENING
    if not is_supported or (is_unsigned(item) and any((at < 0).any() for at in taken)):
        raise UnsupportedOperationError(f"{item.name} of such numbers")
    result = evaluate(item, taken)
    if isinstance(kind, mlir.FloatType):
        with np.errstate(all="ignore"):
            result = widened(result.astype(dtype_of(kind)), kind)
    return result
