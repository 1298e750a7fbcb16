"""DAG matchers of a single contraction or convolution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tuninglink.iree.op_kinds import OpKind
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.mlir import names
from tuninglink.mlir.walk import body

if TYPE_CHECKING:
    from collections.abc import Mapping

    from iree.compiler import ir as mlir

_NAMED: Final[Mapping[OpKind, str]] = {
    OpKind.CONTRACTION: names.MATCH_CONTRACTION,
    OpKind.CONVOLUTION: names.MATCH_CONVOLUTION,
}
"""The matcher op for each kind."""

_OPERANDS: Final = 3
"""Left-hand side, right-hand side and result."""
_ATTRIBUTES: Final = frozenset({"indexing_maps", "iterator_types", "operandSegmentSizes"})


class NotExpressible(Exception):  # noqa: N818 - an answer, not an error
    """A DAG matcher has no equivalent named matcher op, for the reason in `reason`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class DagMatcher:
    """A DAG matcher of one contraction or convolution: a `linalg.generic` on tensors."""

    dag: mlir.Operation
    op: StructuredOp

    @property
    def named(self) -> str:
        """The name of the matcher op for ops of this kind."""
        return _NAMED[self.op.kind]

    def size(self, loop: int) -> int | None:
        """Return the size of a loop, or None if it is dynamic in an operand or the operands disagree."""
        sizes = {
            size
            for operand in range(_OPERANDS)
            for indexed, size in self._dimensions(operand)
            if indexed == loop
        }
        return sizes.pop() if len(sizes) == 1 else None

    def needs_type(self, operand: int) -> bool:
        """Return whether the sizes of the loops leave a static size of an operand undetermined.

        The size of a loop is that of the first operand dimension that it indexes. In a program, its other dimensions
        may be dynamic.
        """
        before = {loop for loops in self.op.operand_loops[:operand] for loop in loops}
        return any(
            size is not None and (loop is None or loop in before or self.size(loop) is None)
            for loop, size in self._dimensions(operand)
        )

    def _dimensions(self, operand: int) -> list[tuple[int | None, int | None]]:
        """Return the loop and the size of each dimension of an operand."""
        sizes = self.op.operands[operand].sizes or ()
        return list(zip(self.op.operand_loops[operand], sizes, strict=True))


def read_dag(dag: mlir.Operation) -> DagMatcher:
    """Read a DAG matcher of one contraction or convolution.

    Raises:
        NotExpressible: it matches something else.
    """
    operations = [op for op in body(dag) if op.name != names.YIELD]
    if len(operations) != 1:
        raise NotExpressible(f"its dag has {len(operations)} operations, not one")
    (root,) = operations
    if root.name != names.GENERIC:
        raise NotExpressible(f"its dag is a '{root.name}'")
    if any(list(result.uses) for result in dag.results):
        raise NotExpressible("the operands that its dag returns are used")
    if any(attribute not in _ATTRIBUTES for attribute in root.attributes):
        raise NotExpressible("the operation in its dag has additional attributes")
    operands: list[Any] = list(root.operands)
    if len(operands) != _OPERANDS or operands != list(dag.regions[0].blocks[0].arguments):
        raise NotExpressible(
            "its operation does not take left-hand side, right-hand side and result"
        )
    op = StructuredOp(root)
    if not all(operand.is_tensor for operand in op.operands):
        raise NotExpressible("its operands are not all tensors")
    if op.kind not in _NAMED:
        raise NotExpressible("its operation is neither a contraction nor a convolution")
    return DagMatcher(dag, op)
