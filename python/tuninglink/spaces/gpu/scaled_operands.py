"""Products of operands with block scales, as data, and the intrinsics that compute them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import ProductLoops
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.mlir import names
from tuninglink.solver.answers import UndecidedError
from tuninglink.spaces.gpu import Gpu, Intrinsic
from tuninglink.spaces.gpu.contractions import (
    Contraction,
    Operand,
    read_operand,
    starts_from_fill,
    static_sizes,
)

if TYPE_CHECKING:
    from tuninglink.spaces.workload import Workload

_SCALING: Final = "arith.scaling_extf"
_BODY: Final = [_SCALING, _SCALING, "arith.mulf", "arith.addf", "linalg.yield"]
_OPERANDS: Final = 5

BLOCK: Final = 32
"""The number of elements that share a scale, the `B32` of the intrinsics."""
INTRINSIC_SHAPES: Final = {
    "MFMA_SCALE_F32_16x16x128_B32": (16, 16, 4),
    "MFMA_SCALE_F32_32x32x64_B32": (32, 32, 2),
}
"""The rows, columns and blocks of the intrinsics."""
_ELEMENT_TYPES: Final = frozenset({"f4E2M1FN", "f8E4M3FN", "f8E5M2"})
"""The element types for which the target description of gfx950 lists them, and that it can convert."""


def is_scaled(root: mlir.Operation) -> bool:
    """Return whether an op multiplies operands with scales."""
    return root.name == names.GENERIC and any(
        op.name == _SCALING for op in root.regions[0].blocks[0].operations
    )


@dataclass(frozen=True)
class ScaledContraction:
    """A contraction of scaled operands.

    Attributes:
        contraction: the contraction; its k is the loop over the blocks that share a scale.
        block: the loop over the elements of a block.
        scales: the scales of both operands.
    """

    contraction: Contraction
    block: int
    scales: tuple[Operand, Operand]

    @property
    def promoted(self) -> tuple[Operand, ...]:
        """The operands that can be promoted, in order."""
        return (self.contraction.lhs, self.contraction.rhs, *self.scales)


def read_scaled_contraction(workload: Workload) -> ScaledContraction:
    """Read the contraction of a root op.

    Raises:
        UndecidedError: the op does not have this form, or its sizes are unknown.
    """
    op, problem = StructuredOp(workload.root), workload.problem
    other_form = UndecidedError(f"{problem} is of another form than a product with block scales")
    body = [operation.name for operation in workload.root.regions[0].blocks[0].operations]
    if body != _BODY or len(op.maps) != _OPERANDS:
        raise other_form
    # Scales have one element for each block: the loops of reductions that they lack are those inside of blocks.
    lhs, rhs, *scales, result = map(read_operand, op.operation.operands, op.maps)
    loops = ProductLoops.of(lhs.loops, rhs.loops, result.loops)
    blocks = [loop for loop in loops.reductions if loop in scales[0].loops]
    elements = [loop for loop in loops.reductions if loop not in scales[0].loops]
    # Check the form of the scales, and the size of a block.
    sizes = static_sizes(workload)
    expected = [set(operand.loops) - {*elements} for operand in (lhs, rhs)]
    is_product = loops.rows and loops.columns and len(blocks) == len(elements) == 1
    if not is_product or [set(scale.loops) for scale in scales] != expected:
        raise other_form
    if sizes[elements[0]] != BLOCK:
        raise UndecidedError(f"intrinsics take blocks of {BLOCK}, not of {sizes[elements[0]]}")
    m, n = loops.rows[-1], loops.columns[-1]
    outer = sorted(set(result.loops) - {m, n})
    contraction = Contraction(
        sizes,
        tuple(outer),
        (),
        m,
        n,
        blocks[0],
        lhs,
        rhs,
        result,
        accumulates=not starts_from_fill(op),
        is_plain=False,
    )
    return ScaledContraction(contraction, elements[0], (scales[0], scales[1]))


def scaled_intrinsics(
    contraction: Contraction, device: Gpu, context: mlir.Context
) -> list[Intrinsic]:
    """Return the intrinsics that compute a contraction of scaled operands.

    Raises:
        UndecidedError: the target has no such intrinsic.
    """
    lhs, rhs, result = types = contraction.element_types
    if not (device.architecture == "gfx950" and lhs == rhs in _ELEMENT_TYPES and result == "f32"):
        raise UndecidedError(f"no intrinsic of the target multiplies scaled {'x'.join(types)}")
    return [
        Intrinsic(
            mlir.Attribute.parse(
                f"#iree_gpu.scaled_mma_layout<intrinsic = {name}, lhs_elem_type = {lhs}, "
                f"rhs_elem_type = {rhs}, acc_elem_type = {result}>",
                context,
            ),
            *shape,
            types,
        )
        for name, shape in INTRINSIC_SHAPES.items()
    ]
