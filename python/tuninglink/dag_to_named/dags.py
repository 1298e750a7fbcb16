"""Dag matchers as they stand in a spec, and what can be said of them in another way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.structured import (
    contraction_loops,
    convolution_loops,
    is_contraction,
    is_convolution,
)
from tuninglink.mlir import names
from tuninglink.mlir.walk import body

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GENERIC: Final = "linalg.generic"
DYNAMIC: Final = mlir.ShapedType.get_dynamic_size()
_OPERANDS: Final = 3
"""Left-hand side, right-hand side and result."""
_ATTRIBUTES: Final = frozenset({"indexing_maps", "iterator_types", "operandSegmentSizes"})


class NotExpressible(Exception):  # noqa: N818 - it is an answer, not an error
    """Another matcher cannot say what a dag matcher says.

    Attributes:
        reason: why not.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Product:
    """A contraction or convolution that a dag matcher looks for.

    Attributes:
        dag: the dag matcher.
        root: the `linalg.generic` in it.
        form: the operation that matches such products.
        loops: the numbers of the loops in each role, in the order in which `form` returns them.
        maps: the indexing maps.
        types: the types of left-hand side, right-hand side and result.
    """

    dag: mlir.Operation
    root: mlir.Operation
    form: str
    loops: Mapping[str, Sequence[int]]
    maps: tuple[mlir.AffineMap, ...]
    types: tuple[mlir.RankedTensorType, ...]

    def size(self, loop: int) -> int | None:
        """Returns the size of a loop, None if it is open or not the same to all operands."""
        found = {
            size
            for map_, type_ in zip(self.maps, self.types, strict=True)
            for expression, size in zip(map_.results, type_.shape, strict=True)
            if isinstance(expression, mlir.AffineDimExpr) and expression.position == loop
        }
        size = found.pop() if len(found) == 1 else DYNAMIC
        return None if size == DYNAMIC else size

    def needs_type(self, operand: int) -> bool:
        """Tells whether the sizes of the loops leave anything open about the shape of an operand.

        The size of a loop is that of the first dimension that it indexes, of the operands in order; in a program,
        the other ones may be open.
        """
        map_, type_ = self.maps[operand], self.types[operand]
        before = {
            expression.position
            for other in self.maps[:operand]
            for expression in other.results
            if isinstance(expression, mlir.AffineDimExpr)
        }
        return any(
            size != DYNAMIC
            and (
                not isinstance(expression, mlir.AffineDimExpr)
                or expression.position in before
                or self.size(expression.position) is None
            )
            for expression, size in zip(map_.results, type_.shape, strict=True)
        )


def read(dag: mlir.Operation) -> Product:
    """Returns the product that a dag matcher looks for.

    Raises:
        NotExpressible: it looks for something else.
    """
    operations = [each for each in body(dag) if each.name != names.YIELD]
    if len(operations) != 1:
        raise NotExpressible(f"its dag has {len(operations)} operations, not one")
    (root,) = operations
    if root.name != GENERIC:
        raise NotExpressible(f"its dag is a '{root.name}'")
    if any(list(result.uses) for result in dag.results):
        raise NotExpressible("the operands that its dag returns are used")
    if any(each.name not in _ATTRIBUTES for each in _attributes(root)):
        raise NotExpressible("the operation in its dag has attributes of its own")
    operands: list[Any] = list(root.operands)
    arguments: list[Any] = list(dag.regions[0].blocks[0].arguments)
    if len(operands) != _OPERANDS or operands != arguments:
        raise NotExpressible(
            "its operation does not take left-hand side, right-hand side and result"
        )
    types = [each.type for each in operands]
    if not all(isinstance(each, mlir.RankedTensorType) for each in types):
        raise NotExpressible("its operands are not all tensors")
    listed = mlir.ArrayAttr(root.attributes["indexing_maps"])
    maps = tuple(mlir.AffineMapAttr(each).value for each in listed)
    form, loops = _form(root, maps)
    return Product(dag, root, form, loops, maps, tuple(types))


def _form(
    root: mlir.Operation, maps: Sequence[mlir.AffineMap]
) -> tuple[str, Mapping[str, Sequence[int]]]:
    if is_contraction(root):
        return names.MATCH_CONTRACTION, contraction_loops(maps)
    if is_convolution(root):
        return names.MATCH_CONVOLUTION, convolution_loops(maps)
    raise NotExpressible("its operation is neither a contraction nor a convolution")


def _attributes(operation: mlir.Operation) -> list[mlir.NamedAttribute]:
    return [operation.attributes[index] for index in range(len(operation.attributes))]
