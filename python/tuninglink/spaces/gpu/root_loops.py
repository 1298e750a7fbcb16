"""The loops of a root op without an intrinsic, the elementwise ops fused with it, and the configured ops next to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.lowering_configs import (
    LANE_BASIS,
    PARTIAL_REDUCTION,
    SERIAL,
    SUBGROUP_BASIS,
    read_basis,
)
from tuninglink.iree.op_kinds import OpKind, loops_in
from tuninglink.iree.root_ops import function_ops, is_computing
from tuninglink.iree.structured_op import REDUCTION, Sizes, StructuredOp, element_type, shape
from tuninglink.mlir import names
from tuninglink.mlir.attributes import integers_of
from tuninglink.solver.answers import UndecidedError
from tuninglink.spaces.configuration import dictionary_of
from tuninglink.spaces.gpu import Gpu, check_element_types

if TYPE_CHECKING:
    from tuninglink.spaces.gpu.gpu_rules import GpuRules
    from tuninglink.spaces.workload import Workload

_STEPS: Final = (PARTIAL_REDUCTION, SERIAL)
"""The entries with the tiles of an op next to the root op."""

_RESHAPES: Final = frozenset(
    {"tensor.expand_shape", "tensor.collapse_shape", "tensor.cast", "tensor.extract_slice"}
)


def computed_inputs(
    value: mlir.Value[Any], loops: Sequence[int]
) -> Iterator[tuple[mlir.Value[Any], list[int]]]:
    """Yield the inputs of the ops that compute an operand, with the loops of the root op over their dimensions.

    Nothing is yielded for an operand that is read from memory.

    Args:
        value: the operand.
        loops: the loop over each of its dimensions.

    Raises:
        UndecidedError: the operand is computed by an op that is not elementwise, or reshaped from its result.
    """
    owner = _owner(value)
    if owner is None or not is_computing(owner.name) or owner.name == names.FILL:
        source = owner
        while source is not None and source.name in _RESHAPES:
            source = _owner(source.operands[0])
        if source is not owner and source is not None and is_computing(source.name):
            raise UndecidedError(f"an operand is a reshaped result of {source.name}")
        return
    op = StructuredOp(owner)
    if REDUCTION in op.iterator_types or len(op.maps) != len(owner.operands):
        raise UndecidedError(f"{owner.name} computes an operand, and it is not element-wise")
    positions = {
        expression.position: loop
        for expression, loop in zip(op.maps[-1].results, loops, strict=True)
        if isinstance(expression, mlir.AffineDimExpr)
    }
    for operand, access in zip(owner.operands[: op.first_output], op.maps, strict=False):
        own = [
            positions[result.position]
            for result in access.results
            if isinstance(result, mlir.AffineDimExpr)
        ]
        further = list(computed_inputs(operand, own))
        yield from further or [(operand, own)]


def has_consumers(workload: Workload) -> bool:
    """Return whether other ops use the result of the root op."""
    operations = list(function_ops(workload.function).computing)
    after = operations[operations.index(workload.root) + 1 :]
    return any(op.name != names.FILL for op in after)


def mixes_types(op: StructuredOp) -> bool:
    """Return whether both operands of a product are widened, and from different types.

    `vector.contract` then absorbs both conversions, and is rejected. It absorbs none if only one operand is widened.
    """
    *inputs, result = op.element_types
    return len(set(inputs)) > 1 and result not in inputs


def _owner(value: mlir.Value[Any]) -> mlir.Operation | None:
    owner = value.owner
    return owner.operation if isinstance(owner, mlir.Operation | mlir.OpView) else None


_BYTE = 8


_MOST_ITERATIONS = 1 << 31
"""The exclusive upper bound of the sizes of ops on a GPU."""


@dataclass(frozen=True)
class Beside:
    """The results of an op next to the root op.

    Attributes:
        elements: the number of elements of its results for each element of the root op's result.
        bits: the width of an element.
    """

    elements: int
    bits: int


@dataclass(frozen=True)
class RootLoops:
    """The loops of a root op.

    Attributes:
        sizes: the sizes of the loops, None for a dynamic one.
        parallel: the parallel loops.
        reductions: the reduction loops.
        bits: the width of an element of the result.
        accumulates: whether a reduction starts from given values instead of a constant.
        mixes_types: whether operands of different types are both widened before they are multiplied.
        reuses_sums: whether the body uses an accumulator more than once, as an argmax does.
        finds_places: whether a reduction also returns the index of an element.
        inputs: the loops of each input.
    """

    sizes: Sizes
    parallel: tuple[int, ...]
    reductions: tuple[int, ...]
    bits: int
    accumulates: bool
    mixes_types: bool
    reuses_sums: bool = False
    finds_places: bool = False
    inputs: tuple[frozenset[int], ...] = ()

    def refuse_reused_sums(self, rules: GpuRules) -> None:
        """Reject bodies without one combining operation for each result, which lanes could apply to partial results."""
        reason = (
            "lanes cannot combine partial results of a body that uses an accumulator more than once"
        )
        if self.reuses_sums:
            rules.necessary(False, reason)  # noqa: FBT003 - that is the rule

    def refuse_mixed_types(self, rules: GpuRules) -> None:
        """Reject operands of different types, which only an intrinsic can multiply."""
        if self.mixes_types:
            require = rules.necessary if self.parallel else rules.sufficient
            require(False, "operands of different types need an intrinsic")  # noqa: FBT003 - that is the rule


def read_loops(workload: Workload, device: Gpu) -> RootLoops:
    """Return the loops of a root op.

    Raises:
        UndecidedError: there are no loops, or the types or sizes are not supported.
    """
    op = StructuredOp(workload.root)
    if not op.maps:
        raise UndecidedError(f"{op.name} has no loops")
    check_sizes(workload)
    mixes = op.kind is OpKind.CONTRACTION and mixes_types(op)
    if not mixes:  # which does not compile for any device
        check_element_types(op.element_types, device, needs_conversions=True)
    widths = {_bits(operand.type) for operand in workload.root.operands}
    kinds = op.iterator_types
    accumulation = op.accumulation
    return RootLoops(
        tuple(dimension.size for dimension in workload.problem.dimensions),
        tuple(loop for loop, kind in enumerate(kinds) if kind != REDUCTION),
        tuple(loop for loop, kind in enumerate(kinds) if kind == REDUCTION),
        max(widths),
        accumulation is not None and not accumulation.starts_from_fill,
        mixes,
        _reuses_sums(op),
        inputs=tuple(
            frozenset().union(*map(loops_in, access.results))
            for access in op.maps[: op.first_output]
        ),
    )


def _reuses_sums(op: StructuredOp) -> bool:
    """Return whether the body of a reduction uses an accumulator more than once; see `matchReduction` of MLIR."""
    if op.name != names.GENERIC or REDUCTION not in op.iterator_types:
        return False
    arguments = list(op.operation.regions[0].blocks[0].arguments)[op.first_output :]
    return any(len(list(argument.uses)) > 1 for argument in arguments)


def ops_beside(workload: Workload, loops: RootLoops) -> list[Beside]:
    """Return the ops next to a root op that have other loops.

    Raises:
        UndecidedError: the size of a result is unknown.
    """
    ops = []
    results = prod(loops.sizes[loop] or 1 for loop in loops.parallel)
    for each in function_ops(workload.function).computing:
        if each == workload.root or each.name == names.FILL:
            continue
        for result in each.results:
            dimensions = shape(result.type)
            sizes = [size for size in dimensions or () if size is not None]
            if dimensions is None or len(sizes) != len(dimensions):
                raise UndecidedError(f"{each.name} beside it has results of unknown size")
            elements = -(-prod(sizes) // results)
            if elements > 1:
                ops.append(Beside(elements, _bits(result.type)))
    return ops


def _bits(type_: mlir.Type) -> int:
    element = element_type(type_)
    if isinstance(element, mlir.IntegerType | mlir.FloatType) and element.width >= _BYTE:
        return int(element.width)
    raise UndecidedError(f"an operand has elements of type {element}")


def check_sizes(workload: Workload) -> None:
    """Check the known loop sizes of a root op.

    Raises:
        UndecidedError: a size is zero or too large.
    """
    for dimension in workload.problem.dimensions:
        if dimension.size is not None and not 0 < dimension.size < _MOST_ITERATIONS:
            raise UndecidedError(f"{workload.problem} has a dimension of size {dimension.size}")


@dataclass(frozen=True)
class NeighboringOp:
    """The configuration of an op next to the root op.

    Attributes:
        name: the name of the op.
        subgroups: the number of subgroups that it is distributed over.
        lanes: the number of lanes of each subgroup.
        step: the number of elements that it takes in a step.
    """

    name: str
    subgroups: int
    lanes: int
    step: int


def read_neighbors(workload: Workload, parallel: int) -> list[NeighboringOp]:
    """Return the configured ops next to the root op.

    Args:
        workload: the root op.
        parallel: the number of its parallel loops.

    Raises:
        UndecidedError: an op has further loops without a configuration of their distribution.
    """
    read = []
    for op_beside in function_ops(workload.function).computing:
        attribute = op_beside.attributes.get(names.LOWERING_CONFIG)
        entries = (dictionary_of(attribute) if attribute is not None else None) or {}
        if op_beside == workload.root:
            continue
        if SUBGROUP_BASIS not in entries:
            op = StructuredOp(op_beside)
            if op.maps and op.loop_count > parallel:
                raise UndecidedError(f"{op_beside.name} beside it has no configuration")
            continue
        bases = [read_basis(entries.get(name)) for name in (SUBGROUP_BASIS, LANE_BASIS)]
        subgroups, lanes = (prod(basis.counts) if basis else 1 for basis in bases)
        tiles = [size for name in _STEPS for size in integers_of(entries.get(name)) if size]
        read.append(NeighboringOp(op_beside.name, subgroups, lanes, prod(tiles)))
    return read
