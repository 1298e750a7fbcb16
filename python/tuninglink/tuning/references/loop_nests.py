"""NumPy evaluation of `linalg.generic` loops at some elements of their results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from iree.compiler import ir as mlir

from tuninglink.tuning.references.scalar_ops import (
    REDUCTIONS,
    Array,
    UnsupportedOperationError,
    evaluate,
)
from tuninglink.tuning.references.tensor_ops import PointQuery, Value, defining_operation

_MOST_ELEMENTS: Final = 1 << 26
"""The largest array for evaluation: 512 MiB of float64."""

_MOST_STEPS: Final = 1 << 17
"""The limit on iterations that are evaluated in sequence."""

_CHUNK: Final = 1 << 10
"""The number of iterations whose inputs are evaluated together."""


@dataclass
class NestEvaluation:
    """An evaluation of a `linalg.generic` at some elements of its results.

    Parallel loops take the requested positions. Reduction loops get additional axes after those of the positions.
    Operands that do not depend on a loop have size 1 on its axis, so that nothing is computed twice.

    Attributes:
        query: the query for elements of a result.
    """

    query: PointQuery
    _loops: list[Array] = field(default_factory=list)
    _axes: int = 0
    _values: dict[Value, Array] = field(default_factory=dict)

    def result(self) -> Array:
        """Return the elements.

        Raises:
            UnsupportedOperationError: this form of nest is not supported.
        """
        value = self._terminator.operands[self.query.result]
        if not self._reductions:
            self._enter([])
            return self._scalar(value)
        operation = defining_operation(value)
        operands = list(operation.operands)
        accumulator = self._accumulators[self.query.result]
        if operation.name in REDUCTIONS and operands.count(accumulator) == 1:
            operands.remove(accumulator)
            if not self._accumulates(operands[0]):
                return self._combined(REDUCTIONS[operation.name], operands[0])
        return self._in_sequence()

    # --- The operation -----------------------------------------------------------------------------------

    @property
    def _operation(self) -> mlir.Operation:
        return self.query.operation

    @cached_property
    def _maps(self) -> list[mlir.AffineMap]:
        attributes = mlir.ArrayAttr(self._operation.attributes["indexing_maps"])
        return [mlir.AffineMapAttr(attribute).value for attribute in attributes]

    @cached_property
    def _reductions(self) -> list[int]:
        kinds = mlir.ArrayAttr(self._operation.attributes["iterator_types"])
        return [position for position, kind in enumerate(kinds) if "reduction" in str(kind)]

    @cached_property
    def _block(self) -> mlir.Block:
        block: mlir.Block = self._operation.regions[0].blocks[0]
        return block

    @property
    def _terminator(self) -> mlir.Operation:
        return list(self._block.operations)[-1].operation

    @property
    def _accumulators(self) -> Sequence[Value]:
        """The arguments that hold the outputs."""
        return list(self._block.arguments)[-len(self._operation.results) :]

    @cached_property
    def _sizes(self) -> dict[int, int]:
        """The sizes of loops, from operands indexed by a single loop."""
        sizes: dict[int, int] = {}
        for operand, map_ in zip(self._operation.operands, self._maps, strict=True):
            if not isinstance(operand.type, mlir.RankedTensorType):
                continue
            for expression, size in zip(map_.results, operand.type.shape, strict=True):
                if isinstance(expression, mlir.AffineDimExpr):
                    sizes[expression.position] = size
        if any(size < 0 for size in sizes.values()):
            raise UnsupportedOperationError("a dynamic size")
        return sizes

    def _accumulates(self, value: Value) -> bool:
        """Return whether a value in the region depends on the content of an output."""
        if value in self._accumulators:
            return True
        owner = value.owner
        if isinstance(owner, mlir.Block):
            return False
        return any(self._accumulates(operand) for operand in owner.operands)

    # --- Loops and operands --------------------------------------------------------------------------------

    def _enter(self, reductions: Sequence[Array]) -> None:
        """Set the loops, and forget the values of other iterations.

        Args:
            reductions: the positions of the reduction loops, with one axis for each loop or one for all.
        """
        self._axes = max((part.ndim for part in reductions), default=0)
        kinds = mlir.ArrayAttr(self._operation.attributes["iterator_types"])
        self._loops = [np.zeros((), np.int64)] * len(kinds)
        first = len(self._maps) - len(self._operation.results)
        output = self._maps[first + self.query.result]
        for expression, part in zip(output.results, self.query.index, strict=True):
            if not isinstance(expression, mlir.AffineDimExpr):
                raise UnsupportedOperationError("an output map that is not a permutation")
            self._loops[expression.position] = part.reshape((*part.shape, *(1,) * self._axes))
        for loop, positions in zip(self._reductions, reductions, strict=True):
            self._loops[loop] = positions
        self._values = {}
        for position, (argument, map_) in enumerate(
            zip(self._block.arguments, self._maps, strict=True)
        ):
            if position < first or not self._reductions:
                self._values[argument] = self._operand(position, map_)

    def _initial(self, number: int) -> Array:
        """Return the initial content of an output at the positions of the query."""
        position = len(self._maps) - len(self._operation.results) + number
        value = self._operand(position, self._maps[position])
        # The output does not depend on reduction loops: their axes have size 1.
        return value.reshape(value.shape[: max(0, value.ndim - self._axes)])

    def _operand(self, position: int, map_: mlir.AffineMap) -> Array:
        operand = self._operation.operands[position]
        if not isinstance(operand.type, mlir.RankedTensorType):
            return self.query.at(operand, ())
        return self.query.at(operand, [self._expression(e) for e in map_.results])

    def _expression(self, expression: mlir.AffineExpr) -> Array:
        if isinstance(expression, mlir.AffineDimExpr):
            return self._loops[expression.position]
        if isinstance(expression, mlir.AffineConstantExpr):
            return np.asarray(expression.value)
        for kind, operation in _AFFINE:
            if isinstance(expression, kind):
                left, right = self._expression(expression.lhs), self._expression(expression.rhs)
                return operation(left, right)
        raise UnsupportedOperationError(f"the expression {expression}")

    # --- The region ------------------------------------------------------------------------------------------

    def _scalar(self, value: Value) -> Array:
        """Return a value of the region in all iterations."""
        if value in self._values:
            return self._values[value]
        operation = defining_operation(value)
        if operation.parent is not None and operation.parent.operation != self._operation:
            return self.query.at(value, ())
        if operation.name == "linalg.index":
            result = self._loops[mlir.IntegerAttr(operation.attributes["dim"]).value]
        elif operation.name == "tensor.extract":
            result = self._extracted(operation)
        elif operation.name == "arith.constant":
            result = self.query.at(value, ())
        else:
            result = evaluate(operation, [self._scalar(operand) for operand in operation.operands])
        self._values[value] = result
        return result

    def _extracted(self, operation: mlir.Operation) -> Array:
        """Return elements of a tensor. Elements out of bounds, which a `select` may drop, differ if loops are reversed."""
        source, *indices = operation.operands
        places = [self._scalar(index) for index in indices]
        safe, inside = [], np.ones((), np.bool_)
        for place, size in zip(places, mlir.RankedTensorType(source.type).shape, strict=True):
            inside = inside & (place >= 0) & (place < size)
            safe.append(np.clip(place, 0, size - 1))
        values = self.query.at(source, safe)
        if not self.query.is_reversed or bool(np.all(inside)):
            return values
        other = np.nan if values.dtype == np.float64 else values + 1
        return np.where(inside, values, other)

    # --- Reductions ------------------------------------------------------------------------------------------

    def _combined(self, combine: np.ufunc, value: Value) -> Array:
        """Combine the values of all iterations, in any order, with the initial output."""
        loops = []
        for axis, loop in enumerate(self._reductions):
            trailing = len(self._reductions) - axis - 1
            loops.append(np.arange(self._sizes[loop]).reshape(-1, *(1,) * trailing))
        self._enter(
            [np.broadcast_to(part, (1,) * (len(loops) - part.ndim) + part.shape) for part in loops]
        )
        term = self._scalar(value)
        shape = np.broadcast_shapes(term.shape, tuple(part.size for part in loops))
        if math.prod(shape) > _MOST_ELEMENTS:
            raise UnsupportedOperationError(f"{math.prod(shape)} values in memory")
        axes = tuple(range(-len(loops), 0))
        total = combine.reduce(np.broadcast_to(term, shape), axis=axes)
        result: Array = combine(total, self._initial(self.query.result))
        return result

    def _in_sequence(self) -> Array:
        """Evaluate the iterations in sequence, with all values that the region yields."""
        state: dict[Value, Array] = {}
        for positions in self._chunks():
            self._enter(positions)
            if not state:
                state = {
                    accumulator: self._initial(number)
                    for number, accumulator in enumerate(self._accumulators)
                }
            for step in range(positions[0].size):
                yielded = dict(state)
                results = [
                    self._step(operand, step, yielded) for operand in self._terminator.operands
                ]
                state = dict(zip(self._accumulators, results, strict=True))
        return state[self._accumulators[self.query.result]]

    def _chunks(self) -> Iterator[list[Array]]:
        """Yield the positions of the reduction loops in chunks of iterations."""
        sizes = [self._sizes[loop] for loop in self._reductions]
        count = math.prod(sizes)
        if count > _MOST_STEPS:
            raise UnsupportedOperationError(f"a reduction of {count} dependent steps")
        order = np.arange(count)[:: -1 if self.query.is_reversed else 1]
        for start in range(0, count, _CHUNK):
            yield list(np.unravel_index(order[start : start + _CHUNK], sizes))

    def _step(self, value: Value, step: int, values: dict[Value, Array]) -> Array:
        """Return a value of the region in one iteration.

        Args:
            value: the value.
            step: the number of the iteration in its chunk.
            values: values of this iteration, to which the value is added.
        """
        if value not in values:
            if self._accumulates(value):
                operation = defining_operation(value)
                operands = [self._step(operand, step, values) for operand in operation.operands]
                values[value] = evaluate(operation, operands)
            else:
                chunk = self._scalar(value)
                depends = chunk.ndim and chunk.shape[-1] > 1
                values[value] = chunk[..., step if depends else 0] if chunk.ndim else chunk
        return values[value]


_AFFINE: Final = (
    (mlir.AffineAddExpr, np.add),
    (mlir.AffineMulExpr, np.multiply),
    (mlir.AffineModExpr, np.mod),
    (mlir.AffineFloorDivExpr, np.floor_divide),
    (mlir.AffineCeilDivExpr, lambda left, right: -(-left // right)),
)
