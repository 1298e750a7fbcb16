"""The loops of `linalg.generic` operations, evaluated with NumPy around some elements of their results."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from iree.compiler import ir as mlir

from tuninglink.tuning.references.scalar_ops import REDUCTIONS, UnsupportedOperationError, evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuninglink.tuning.references.scalar_ops import Array

    Value = mlir.Value[Any]

_MOST_ELEMENTS: Final = 1 << 26
"""The largest array that evaluation may make: 512 MiB of float64."""


def defining_operation(value: Value) -> mlir.Operation:
    """Returns the operation whose result a value is.

    Raises:
        UnsupportedOperationError: it is an argument of a block.
    """
    owner = value.owner
    if isinstance(owner, mlir.Block):
        raise UnsupportedOperationError("an argument of a block")
    return owner.operation


@dataclass
class NestEvaluation:
    """The loops of a `linalg.generic` around some elements of its results.

    Parallel loops have the positions that are asked for; a reduction loop gets an axis of its own, behind those of
    the positions. Operands that do not depend on a loop have size 1 there, so that nothing is computed twice.

    Attributes:
        at: evaluates elements of an operand, or a scalar from around the operation.
        operation: the `linalg.generic`.
        index: the positions of the elements.
    """

    at: Callable[[Value, Sequence[Array]], Array]
    operation: mlir.Operation
    index: Sequence[Array]
    _loops: list[Array] = field(default_factory=list)
    _reductions: int = 0
    _values: dict[Value, Array] = field(default_factory=dict)

    def result(self, number: int) -> Array:
        """Returns the elements of one result.

        Raises:
            UnsupportedOperationError: the nest is not of a form that is evaluated here.
        """
        maps = [
            mlir.AffineMapAttr(attribute).value
            for attribute in mlir.ArrayAttr(self.operation.attributes["indexing_maps"])
        ]
        results = len(self.operation.results)
        self._make_loops(maps[len(maps) - results + number])
        block = self.operation.regions[0].blocks[0]
        for position, (argument, map_) in enumerate(zip(block.arguments, maps, strict=True)):
            if position < len(maps) - results or not self._reductions:
                self._values[argument] = self._operand(position, map_)
        terminator = list(block.operations)[-1].operation
        output = block.arguments[len(maps) - results + number]
        value = terminator.operands[number]
        if not self._reductions:
            return self._scalar(value)
        return self._reduced(value, output, len(maps) - results + number, maps)

    def _make_loops(self, output: mlir.AffineMap) -> None:
        kinds = [str(kind) for kind in mlir.ArrayAttr(self.operation.attributes["iterator_types"])]
        reductions = [position for position, kind in enumerate(kinds) if "reduction" in kind]
        self._reductions = len(reductions)
        self._loops = [np.zeros((), np.int64)] * len(kinds)
        for expression, part in zip(output.results, self.index, strict=True):
            if not isinstance(expression, mlir.AffineDimExpr):
                raise UnsupportedOperationError("an output map that is not a permutation")
            place = expression.position
            self._loops[place] = part.reshape(*part.shape, *(1,) * len(reductions))
        sizes = self._sizes()
        for axis, loop in enumerate(reductions):
            trailing = len(reductions) - axis - 1
            self._loops[loop] = np.arange(sizes[loop]).reshape(-1, *(1,) * trailing)

    def _sizes(self) -> dict[int, int]:
        """Returns the sizes of loops, from the operands that are indexed by one loop."""
        sizes: dict[int, int] = {}
        maps = mlir.ArrayAttr(self.operation.attributes["indexing_maps"])
        for operand, attribute in zip(self.operation.operands, maps, strict=True):
            if not isinstance(operand.type, mlir.RankedTensorType):
                continue
            shape = operand.type.shape
            for expression, size in zip(
                mlir.AffineMapAttr(attribute).value.results, shape, strict=True
            ):
                if isinstance(expression, mlir.AffineDimExpr):
                    sizes[expression.position] = size
        if any(size < 0 for size in sizes.values()):
            raise UnsupportedOperationError("a dynamic size")
        return sizes

    def _operand(self, position: int, map_: mlir.AffineMap) -> Array:
        operand = self.operation.operands[position]
        if not isinstance(operand.type, mlir.RankedTensorType):
            return self.at(operand, ())
        return self.at(operand, [self._expression(e) for e in map_.results])

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

    def _scalar(self, value: Value) -> Array:
        if value in self._values:
            return self._values[value]
        operation = defining_operation(value)
        if operation.parent is not None and operation.parent.operation != self.operation:
            return self.at(value, ())
        if operation.name == "linalg.index":
            result = self._loops[mlir.IntegerAttr(operation.attributes["dim"]).value]
        elif operation.name == "tensor.extract":
            places = [self._scalar(operand) for operand in list(operation.operands)[1:]]
            result = self.at(operation.operands[0], places)
        elif operation.name == "arith.constant":
            result = self.at(value, ())
        else:
            result = evaluate(operation, [self._scalar(operand) for operand in operation.operands])
        self._values[value] = result
        return result

    def _reduced(
        self, value: Value, accumulator: Value, position: int, maps: Sequence[mlir.AffineMap]
    ) -> Array:
        """Combines the values of all reduction loops with what the output held."""
        operation = defining_operation(value)
        combine = REDUCTIONS.get(operation.name)
        operands = list(operation.operands)
        if combine is None or accumulator not in operands:
            raise UnsupportedOperationError(f"a reduction by {operation.name}")
        operands.remove(accumulator)
        term = self._scalar(operands[0])
        axes = tuple(range(-self._reductions, 0))
        sizes = [loop.size for loop in self._loops_of_reductions()]
        shape = np.broadcast_shapes(term.shape, tuple(sizes))
        if math.prod(shape) > _MOST_ELEMENTS:
            raise UnsupportedOperationError(f"{math.prod(shape)} values in memory")
        total = combine.reduce(np.broadcast_to(term, shape), axis=axes)
        initial = self._operand(position, maps[position])
        # The output does not depend on reduction loops: their axes have size 1.
        initial = initial.reshape(initial.shape[: max(0, initial.ndim - self._reductions)])
        result: Array = combine(total, initial)
        return result

    def _loops_of_reductions(self) -> list[Array]:
        kinds = mlir.ArrayAttr(self.operation.attributes["iterator_types"])
        return [
            loop for loop, kind in zip(self._loops, kinds, strict=True) if "reduction" in str(kind)
        ]


_AFFINE: Final = (
    (mlir.AffineAddExpr, np.add),
    (mlir.AffineMulExpr, np.multiply),
    (mlir.AffineModExpr, np.mod),
    (mlir.AffineFloorDivExpr, np.floor_divide),
    (mlir.AffineCeilDivExpr, lambda left, right: -(-left // right)),
)
