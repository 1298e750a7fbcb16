"""Contractions, reduced to the properties that constraints on tiles need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import Role
from tuninglink.iree.structured_op import Sizes, StructuredOp, element_type
from tuninglink.solver.answers import UndecidedError
from tuninglink.spaces.gpu import Gpu, Intrinsic, check_element_types
from tuninglink.spaces.gpu.root_loops import check_sizes, computed_inputs

if TYPE_CHECKING:
    from tuninglink.spaces.workload import Workload

FOR_FEW_ROWS = "VDMFMA"
"""The prefix of the virtual intrinsics for few rows, which are for TileAndFuse."""

_OPERANDS = 3


@dataclass(frozen=True)
class Operand:
    """A matrix.

    Attributes:
        loops: the loop over each of its dimensions.
        element_type: the element type, as MLIR prints it.
        bits: the width of an element.
        inputs: the matrices from which an elementwise op computes it; empty if it is read from memory.
    """

    loops: tuple[int, ...]
    element_type: str
    bits: int
    inputs: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class Contraction:
    """A sum of products of two operands.

    An intrinsic runs over the innermost loops of rows, columns and products.

    Attributes:
        sizes: the sizes of the loops. None is a dynamic loop: one of `outer`, or m and n of an open contraction.
        outer: the other parallel loops: batch loops, and outer loops over rows and columns.
        outer_k: the outer reduction loops.
        m: the innermost loop over the rows of the result.
        n: the innermost loop over its columns.
        k: the innermost reduction loop.
        lhs: the first operand.
        rhs: the second operand.
        result: the result.
        accumulates: whether sums start from given values instead of a constant.
        is_plain: whether it is a product of two matrices; the compiler's own constraints cover only these.
        image: the operand made from the image of a convolution, None if it was not a convolution.
        filter_loops: the loops of `outer_k` over a filter, which code generation processes one element at a time,
            whatever the tiles are.
    """

    sizes: Sizes
    outer: tuple[int, ...]
    outer_k: tuple[int, ...]
    m: int
    n: int
    k: int
    lhs: Operand
    rhs: Operand
    result: Operand
    accumulates: bool
    is_plain: bool
    image: int | None = None
    filter_loops: tuple[int, ...] = ()

    @property
    def matrix_loops(self) -> tuple[int, int, int]:
        """The loops that intrinsics run over: m, n and k."""
        return self.m, self.n, self.k

    @property
    def element_types(self) -> tuple[str, str, str]:
        """The element types of the operands and of the result."""
        return self.lhs.element_type, self.rhs.element_type, self.result.element_type

    @property
    def is_open(self) -> bool:
        """Whether the loops over rows or columns are dynamic."""
        return self.sizes[self.m] is None or self.sizes[self.n] is None

    def size(self, loop: int) -> int:
        """Return the size of a loop that is not dynamic."""
        size = self.sizes[loop]
        assert size is not None
        return size


def read_contraction(workload: Workload) -> Contraction:
    """Read the contraction of a root op.

    Raises:
        UndecidedError: the op does not have this form, or its inner sizes are unknown.
    """
    contraction = read_open_contraction(workload)
    if contraction.is_open:
        raise UndecidedError(f"{workload.problem} has inner dimensions of unknown size")
    return contraction


def read_open_contraction(workload: Workload) -> Contraction:
    """Read the contraction of a root op, whose rows and columns may be dynamic.

    Raises:
        UndecidedError: the op does not have this form, or the sizes of its reductions are unknown.
    """
    op, problem = StructuredOp(workload.root), workload.problem
    # Classify the loops, as `linalg::inferContractionDims` does.
    loops = {role: problem.loops(role) for role in (Role.BATCH, Role.M, Role.N, Role.K)}
    for role in (Role.M, Role.N, Role.K):
        if not loops[role]:
            raise UndecidedError(f"{problem} has no dimensions of the kind '{role.value}'")
    operands = op.operation.operands
    if not len(op.maps) == len(operands) == _OPERANDS:
        raise UndecidedError(f"{problem} has other operands than two matrices and a result")
    lhs, rhs, result = map(read_operand, operands, op.maps)
    lhs, rhs = map(_with_inputs, (lhs, rhs), operands)
    (*outer_m, m), (*outer_n, n), (*outer_k, k) = (loops[each] for each in (Role.M, Role.N, Role.K))
    # Rows and columns may be dynamic, reductions may not.
    check_sizes(workload)
    sizes = tuple(dimension.size for dimension in problem.dimensions)
    if any(sizes[loop] is None for loop in (*outer_k, k)):
        raise UndecidedError(f"{problem} has reductions of unknown size")
    # Only the innermost loop of each role is tiled by intrinsics.
    outer = tuple(sorted((*loops[Role.BATCH], *outer_m, *outer_n)))
    is_plain = not outer and not outer_k
    return Contraction(
        sizes,
        outer,
        tuple(outer_k),
        m,
        n,
        k,
        lhs,
        rhs,
        result,
        accumulates=not starts_from_fill(op),
        is_plain=is_plain,
    )


def starts_from_fill(op: StructuredOp) -> bool:
    """Return whether sums start from a constant."""
    return op.accumulation is not None and op.accumulation.starts_from_fill


def intrinsics_for(contraction: Contraction, device: Gpu, virtual: str = "") -> list[Intrinsic]:
    """Return the intrinsics that compute a contraction.

    Args:
        contraction: the contraction.
        device: the device.
        virtual: the name prefix of the virtual intrinsics that the pipeline can use, if any.

    Raises:
        UndecidedError: the target has no such intrinsic.
    """
    types = contraction.element_types
    check_element_types(types, device)
    # The other virtual intrinsics are for attention and do not compile here.
    intrinsics = [
        each
        for each in device.multiplying(*types)
        if not each.is_transposed and (not each.is_virtual or each.is_named(virtual))
    ]
    if not intrinsics:
        raise UndecidedError(f"no intrinsic of the target multiplies {'x'.join(types)}")
    return intrinsics


def static_sizes(workload: Workload) -> tuple[int, ...]:
    """Return the sizes of the loops of a root op.

    Raises:
        UndecidedError: a size is unknown or zero.
    """
    check_sizes(workload)
    sizes = [
        dimension.size for dimension in workload.problem.dimensions if dimension.size is not None
    ]
    if len(sizes) != len(workload.problem.dimensions):
        raise UndecidedError(f"{workload.problem} has dimensions of unknown size")
    return tuple(sizes)


def read_operand(operand: mlir.Value[Any], access: mlir.AffineMap) -> Operand:
    """Read an operand whose dimensions are each indexed by a single loop.

    Raises:
        UndecidedError: the operand does not have this form, or the width of its elements is unknown.
    """
    loops = loops_of(access)
    if len(loops) != len(access.results):
        raise UndecidedError(f"an operand is read through {access}")
    return operand_over(operand, loops)


def _with_inputs(operand: Operand, value: mlir.Value[Any]) -> Operand:
    """Return an operand with the inputs that it is computed from."""
    inputs = [operand_over(*input_) for input_ in computed_inputs(value, operand.loops)]
    return replace(operand, inputs=tuple(inputs))


def loops_of(access: mlir.AffineMap) -> list[int]:
    """Return the loops that index a dimension of an operand by themselves."""
    return [result.position for result in access.results if isinstance(result, mlir.AffineDimExpr)]


def operand_over(operand: mlir.Value[Any], loops: Iterable[int]) -> Operand:
    """Return an operand with the loops over its dimensions.

    Raises:
        UndecidedError: the width of its elements is unknown.
    """
    element = element_type(operand.type)
    if not isinstance(element, mlir.IntegerType | mlir.FloatType):
        raise UndecidedError(f"an operand has elements of type {element}")
    return Operand(tuple(loops), str(element), element.width)
