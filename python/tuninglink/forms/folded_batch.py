"""Products of many batches by one matrix, and their form: the batches folded into the rows of a single product.

A linear layer of PyTorch on four dimensions or more, and such a `MatMul` of ONNX, arrive as a batch matmul whose right
operand is the weights, broadcast to several batch loops that are then folded into one. The compiler undoes a broadcast
to a single batch loop. Otherwise, the program writes the weights once for each batch whenever it runs, and multiplies
small matrices.

Why the folded product computes the same. An element of the result is what the accumulation starts from, plus the sum
over k of row m of batch b times a column of that batch's matrix, and all batches have the same one. Rows are contiguous:
row m of batch b is row b * rows + m of the folded tensor, for the left operand, the start and the result. The terms of
an element are the same; their order may change, so that results agree up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.forms.building import FormOf, collapsed, expanded
from tuninglink.mlir import defining_op, names
from tuninglink.payloads import Value, build, computed
from tuninglink.replacing import BATCH_MATMUL, MATMUL, Contraction, NoFormError, Spelled

if TYPE_CHECKING:
    from collections.abc import Sequence

_BROADCAST: Final = (names.GENERIC, "tensor.collapse_shape")
"""The producers of the right operand, in order."""


@dataclass(frozen=True)
class BroadcastMatmul(Spelled):
    """A batch matmul whose right operand is one matrix, broadcast to several batch loops.

    Its operands are the left operand and the start of the accumulation, whose batch loops are folded into one, and the
    matrix between them.

    Attributes:
        batches: the sizes of the batch loops.
        sizes: the sizes of m, n and k.
        types: the element types of the operands.
    """

    batches: tuple[int, ...]
    sizes: tuple[int, int, int]
    types: tuple[str, str, str]

    @classmethod
    def of(cls, operation: mlir.Operation) -> BroadcastMatmul:
        """Read a `linalg.batch_matmul` on tensors of static sizes.

        Raises:
            NoFormError: the operation is something else, or has another right operand.
        """
        problem = Contraction.of(operation)
        if problem.name != BATCH_MATMUL:
            raise NoFormError("it is not a batch matmul")
        source: mlir.Operation = operation.operation
        for name, position in zip(reversed(_BROADCAST), (1, 0), strict=True):
            producer = defining_op(source.operands[position])
            if producer is None or producer.name != name:
                raise NoFormError("its right operand is not broadcast to several batches")
            source = producer
        types = [value.type for value in source.operands]
        if len(types) != 2 or not all(isinstance(kind, mlir.RankedTensorType) for kind in types):  # noqa: PLR2004
            raise NoFormError("its right operand is something other than a broadcast matrix")
        matrix, wide = (list(kind.shape) for kind in types)
        sizes = problem.loop_sizes
        if matrix != [sizes["k"], sizes["n"]] or wide[-2:] != matrix:
            raise NoFormError("its right operand is something other than a broadcast matrix")
        m, n, k = (sizes[loop] for loop in "mnk")
        lhs, rhs, result = problem.types
        return cls(tuple(wide[:-2]), (m, n, k), (lhs, rhs, result))

    def tensors(self) -> tuple[mlir.Type, ...]:
        """Return the types of the operands, in the current context."""
        (m, n, k), count = self.sizes, prod(self.batches)
        shapes = ([count, m, k], [k, n], [count, m, n])
        return tuple(
            mlir.RankedTensorType.get(shape, mlir.Type.parse(element))
            for shape, element in zip(shapes, self.types, strict=True)
        )

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the broadcast, its reshape and the op at the current insertion point."""
        lhs, matrix, init = operands
        _, n, k = self.sizes
        rank = len(self.batches) + 2
        dims = [mlir.AffineDimExpr.get(at) for at in range(rank)]
        maps = [mlir.AffineMap.get(rank, 0, dims[-2:]), mlir.AffineMap.get_identity(rank)]
        kind = mlir.RankedTensorType.get([*self.batches, k, n], matrix.type.element_type)
        wide = computed([matrix], maps, build("tensor.empty", kind), lambda element, _: element)
        groups = [[*range(rank - 2)], [rank - 2], [rank - 1]]
        sizes = (prod(self.batches), *self.sizes)
        batched = Contraction(("amk", "akn", "amn"), self.types, "amnk", sizes, BATCH_MATMUL)
        return batched.build([lhs, collapsed(wide, groups), init])

    def __str__(self) -> str:
        """Return the sizes of the batches, m, n and k, and the types, such as `8x56x56x288x96_f16_f32`."""
        sizes = "x".join(map(str, self.batches + self.sizes))
        return "_".join([sizes, *dict.fromkeys(self.types)])


@dataclass(frozen=True)
class FoldedBatch(FormOf[BroadcastMatmul]):
    """A single product in place of one for each batch."""

    @property
    def label(self) -> str:
        """The name of the form, for symbols."""
        return f"fold_batch_{self.problem}"

    def __str__(self) -> str:
        count, rows = prod(self.problem.batches), self.problem.sizes[0]
        return f"folded: {count} batches of {rows} rows to {count * rows} rows"

    @property
    def spellings(self) -> tuple[FoldedBatch, ...]:
        """The form itself: frontends write its problem in one way."""
        return (self,)

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the form at the current insertion point."""
        lhs, matrix, init = operands
        groups = [[0, 1], [2]]
        rows, n, k = self.problem.sizes
        sizes = (prod(self.problem.batches) * rows, n, k)
        folded = Contraction(("mk", "kn", "mn"), self.problem.types, "mnk", sizes, MATMUL)
        result = folded.build([collapsed(lhs, groups), matrix, collapsed(init, groups)])
        return expanded(result, groups, init.type)
