"""Contractions as data, and the spellings of one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

# `iree.compiler.dialects` re-exports it, but takes 140 ms to build the classes of the ops.
from iree.compiler._mlir_libs import _mlirDialectsLinalg  # type: ignore[attr-defined]

from tuninglink.iree import OpKind, Role, StructuredOp
from tuninglink.mlir import names
from tuninglink.payloads import Value, added_product, computed, with_maps
from tuninglink.replacing.problem import FLOATS, NoFormError, Problem, read_problem

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

MATMUL: Final = "linalg.matmul"
BATCH_MATMUL: Final = "linalg.batch_matmul"


@dataclass(frozen=True)
class Contraction(Problem):
    """A contraction with one loop each of m, n and k, and any batches.

    Attributes:
        name: the name of the op: a matmul, a batch matmul, or a generic op.
    """

    name: str = names.GENERIC

    @classmethod
    def of(cls, operation: mlir.Operation, types: Collection[str] = FLOATS) -> Contraction:
        """Read a contraction on tensors of static sizes with some element types.

        Raises:
            NoFormError: the operation is something else, or has properties that no form covers.
        """
        op = StructuredOp(operation.operation)
        taken = (MATMUL, BATCH_MATMUL, names.GENERIC)
        if op.kind is not OpKind.CONTRACTION or op.name not in taken:
            raise NoFormError("it is neither a matmul nor a generic contraction")
        attributes = {"indexing_maps", "iterator_types", "operandSegmentSizes"}
        problem = cls(*read_problem(op, (Role.N, Role.K), attributes), op.name)
        if any(type_ not in types for type_ in problem.types):
            raise NoFormError(f"it has element types other than {', '.join(types)}")
        return problem

    @cached_property
    def spellings(self) -> tuple[Contraction, ...]:
        """The ways in which the problem may be written at the preprocessing stage, its own first."""
        lhs, rhs, output = self.operands
        named = {"": MATMUL, "a": BATCH_MATMUL}.get(self.outer, names.GENERIC)
        # A named op has its batch loop first in all operands, and rows before columns in the result.
        shapes_of = [(operand[:-2], {*operand[-2:]}) for operand in (lhs, rhs)]
        usual = [(self.outer, {*loops}) for loops in ("mk", "kn")]
        if shapes_of != usual or output != self.outer + "mn":
            named = names.GENERIC
        ordered = self.renumbered(self.outer + "mnk")
        others = (
            replace(ordered, name=name, operands=(lhs, columns, output))
            for name in (named, names.GENERIC)
            for columns in (rhs, rhs[:-2] + rhs[:-3:-1])
        )
        return tuple(dict.fromkeys([self, *others]))

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the op at the current insertion point."""
        *inputs, init = operands
        if self.name == names.GENERIC:
            return computed(inputs, self.maps(), init, added_product)
        segments = mlir.DenseI32ArrayAttr.get([2, 1])
        operation = with_maps(self.name, operands, self.maps(), 1, operandSegmentSizes=segments)
        _mlirDialectsLinalg.fill_builtin_region(operation)
        result: Value = operation.results[0]
        return result

    def __str__(self) -> str:
        """Return the sizes of the batches, m, n and k, and the types, such as `1028x1024x4096_f16_f32`."""
        return "_".join([self.extents, *dict.fromkeys(self.types)])
