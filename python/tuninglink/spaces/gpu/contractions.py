"""Contractions as constraints on tiles see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import Role
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.solver.answers import UndecidedError

if TYPE_CHECKING:
    from tuninglink.spaces.gpu.device import Device
    from tuninglink.spaces.workload import Workload

_NARROW_FLOATS = ("f8", "f6", "f4")
_OPERANDS = 3
_MOST = 1 << 31
"""Sizes from here on are no sizes of anything that a GPU computes."""


@dataclass(frozen=True)
class Operand:
    """A matrix.

    Attributes:
        loops: the loop that each of its dimensions runs over.
        element_type: as MLIR writes it.
        bits: how wide an element is.
    """

    loops: tuple[int, ...]
    element_type: str
    bits: int


@dataclass(frozen=True)
class Contraction:
    """A product of two matrices, or of many pairs.

    Attributes:
        sizes: the sizes of the loops.
        batch: the loops over the pairs.
        m: the loop over the rows of the result.
        n: the loop over its columns.
        k: the loop over the products that are added up.
        lhs: the first operand.
        rhs: the second operand.
        result: what is computed.
        accumulates: whether sums start from given values, not from a constant.
    """

    sizes: tuple[int, ...]
    batch: tuple[int, ...]
    m: int
    n: int
    k: int
    lhs: Operand
    rhs: Operand
    result: Operand
    accumulates: bool

    @property
    def matrix_loops(self) -> tuple[int, int, int]:
        """The loops that intrinsics run over: m, n and k."""
        return self.m, self.n, self.k

    @property
    def is_plain(self) -> bool:
        """Whether there is one pair of matrices, to which the compiler's own constraints are limited."""
        return not self.batch


def read_contraction(workload: Workload) -> Contraction:
    """Returns the contraction that a root op is.

    Raises:
        UndecidedError: it has no such form, or its sizes are not known.
    """
    op, problem = StructuredOp(workload.root), workload.problem
    sizes = static_sizes(workload)
    for role in (Role.M, Role.N, Role.K):
        count = len(problem.loops(role))
        if count != 1:
            raise UndecidedError(f"{problem} has {count} dimensions of the kind '{role.value}'")
    operands = op.operation.operands
    if not len(op.maps) == len(operands) == _OPERANDS:
        raise UndecidedError(f"{problem} has other operands than two matrices and a result")
    lhs, rhs, result = map(read_operand, operands, op.maps)
    (m,), (n,), (k,) = map(problem.loops, (Role.M, Role.N, Role.K))
    accumulates = op.accumulation is None or not op.accumulation.starts_from_fill
    batch = problem.loops(Role.BATCH)
    return Contraction(sizes, batch, m, n, k, lhs, rhs, result, accumulates)


def check_types(contraction: Contraction, device: Device) -> None:
    """Checks that the device is known to lower the element types of a contraction.

    Raises:
        UndecidedError: one is of 8 bits or fewer, and the device has no intrinsic for it.
    """
    known = {each for found in device.intrinsics for each in found.element_types}
    for each in (contraction.lhs, contraction.rhs, contraction.result):
        if each.element_type.startswith(_NARROW_FLOATS) and each.element_type not in known:
            raise UndecidedError(f"{device.architecture} may not have {each.element_type}")


def static_sizes(workload: Workload) -> tuple[int, ...]:
    """Returns the sizes of the loops of a root op.

    Raises:
        UndecidedError: one is not known, or there is nothing to compute.
    """
    sizes = []
    for each in workload.problem.dimensions:
        if each.size is None:
            raise UndecidedError(f"{workload.problem} has dimensions of unknown size")
        if not 0 < each.size < _MOST:
            raise UndecidedError(f"{workload.problem} has a dimension of size {each.size}")
        sizes.append(each.size)
    return tuple(sizes)


def read_operand(operand: mlir.Value[Any], access: mlir.AffineMap) -> Operand:
    """Returns an operand that a loop runs over in each of its dimensions.

    Raises:
        UndecidedError: it is none, or the width of its elements is not known.
    """
    kind = operand.type
    if not isinstance(kind, mlir.ShapedType):
        raise UndecidedError(f"an operand is of type {kind}")
    loops = [each.position for each in access.results if isinstance(each, mlir.AffineDimExpr)]
    if len(loops) != len(access.results):
        raise UndecidedError(f"an operand is read through {access}")
    element = kind.element_type
    if not isinstance(element, mlir.IntegerType | mlir.FloatType):
        raise UndecidedError(f"an operand has elements of type {element}")
    return Operand(tuple(loops), str(element), element.width)
