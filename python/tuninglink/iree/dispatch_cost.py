"""The costs of dispatches, from their IR: arithmetic operations, and bytes read and written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.dispatches import find_dispatches
from tuninglink.iree.dynamic_sizes import SizeEvaluator, dispatch_arguments
from tuninglink.iree.given_sizes import GivenSizes, combinations
from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.iree.peak_rates import PeakRates, Rates
from tuninglink.iree.structured_op import StructuredOp, element_type, shape
from tuninglink.mlir.walk import visit
from tuninglink.plain_data import written

_LOAD: Final = "iree_tensor_ext.dispatch.tensor.load"
_STORE: Final = "iree_tensor_ext.dispatch.tensor.store"
_BITS: Final = 8
_INDEX_BITS: Final = 64

_ARITHMETIC: Final = frozenset(
    f"arith.{name}"
    for name in (
        *("addf", "subf", "mulf", "divf", "negf", "remf", "maximumf", "minimumf", "maxnumf"),
        *("minnumf", "addi", "subi", "muli", "divsi", "divui", "maxsi", "maxui", "minsi", "minui"),
    )
)
_FUSED: Final = "math.fma"

_SOFTMAX: Final = "linalg.softmax"
_SOFTMAX_OPERATIONS: Final = 5
"""Operations for an element of a softmax: maximum, difference, exponential, sum and quotient."""


@dataclass(frozen=True)
class DispatchCost:
    """The cost of one call of a dispatch.

    Attributes:
        flops: the number of arithmetic operations, on integers or floats. A function of `math` counts as one. None if
            a size is dynamic.
        bytes: the number of bytes read and written, counting each load and store once. None if a size is dynamic.
        element_type: the element type that most of the operations combine, such as `f16` for a product that
            accumulates in f32; empty if there are no operations.
    """

    flops: int | None
    bytes: int | None
    element_type: str = ""

    @property
    def is_known(self) -> bool:
        """Whether the cost is known, that is, no size is dynamic."""
        return self.flops is not None and self.bytes is not None

    @property
    @written()
    def intensity(self) -> float | None:
        """The arithmetic intensity in operations per byte, or None if it is unknown."""
        return self.flops / self.bytes if self.flops is not None and self.bytes else None

    def rates(self, microseconds: float | None, peaks: PeakRates | None) -> Rates:
        """Return the rates at which a call runs.

        Args:
            microseconds: the time of the call; None if unknown.
            peaks: the peak rates of the device; None if unknown.
        """
        if not microseconds:
            return Rates(None, None, None)
        least = None
        if peaks is not None and self.flops is not None and self.bytes is not None:
            least = peaks.least_us(self.flops, self.bytes, self.element_type)
        return Rates(
            None if self.flops is None else self.flops / microseconds * 1e-3,
            None if self.bytes is None else self.bytes / microseconds * 1e-3,
            None if least is None else least / microseconds,
        )


def cost_of(module: mlir.Operation, arguments: Sequence[int | None] = ()) -> DispatchCost:
    """Return the cost of one call of a dispatch.

    An attention counts as its two products, a softmax as five operations per element. Other unstructured ops are not
    counted.

    Args:
        module: the dispatch at `executable-sources`.
        arguments: the values that the call passes, which determine the dynamic sizes.
    """
    evaluator = SizeEvaluator(arguments=arguments)
    flops: list[tuple[int | None, str]] = []
    moved: list[int | None] = []

    def visitor(operation: mlir.Operation) -> mlir.WalkResult | None:
        name = operation.name
        if name == _LOAD:
            moved.append(_bytes(operation.results[0], evaluator))
        elif name == _STORE:
            moved.append(_bytes(operation.operands[0], evaluator))
        elif name.startswith(("linalg.", "iree_linalg_ext.")):
            op = StructuredOp(operation)
            flops.append((flops_of(op, evaluator), _combined_type(op)))
            return mlir.WalkResult.SKIP
        return None

    visit(module, visitor)
    heaviest = max(flops, key=lambda work: inf if work[0] is None else work[0], default=(0, ""))
    return DispatchCost(
        _sum(count for count, _ in flops), _sum(moved), heaviest[1] if heaviest[0] != 0 else ""
    )


_PRODUCTS: Final = frozenset({OpKind.CONTRACTION, OpKind.CONVOLUTION, OpKind.ATTENTION})
_FACTORS: Final = 2


def _combined_type(op: StructuredOp) -> str:
    """Return the widest element type of the operands, preferably a float type; of a product, only of its factors."""
    operands = list(op.operation.operands)
    types = [
        element_type(operand.type)
        for operand in (operands[:_FACTORS] if op.kind in _PRODUCTS else operands)
    ]
    return str(
        max(types, key=lambda type_: (isinstance(type_, mlir.FloatType), _width(type_) or 0))
    )


def mean_cost(
    module: mlir.Operation, calls: Iterable[tuple[int, Sequence[int | None]]]
) -> DispatchCost:
    """Return the mean cost of calls of a dispatch.

    Args:
        module: the dispatch at `executable-sources`.
        calls: the weight of each call, and the values that it passes.
    """
    costs = [(weight, cost_of(module, arguments)) for weight, arguments in calls]
    return DispatchCost(
        _mean((weight, cost.flops) for weight, cost in costs),
        _mean((weight, cost.bytes) for weight, cost in costs),
        costs[0][1].element_type if costs else "",
    )


def _mean(weighted: Iterable[tuple[int, int | None]]) -> int | None:
    pairs = list(weighted)
    total = _sum(None if number is None else weight * number for weight, number in pairs)
    weights = sum(weight for weight, _ in pairs)
    return None if total is None or not weights else round(total / weights)


def flops_of(op: StructuredOp, evaluator: SizeEvaluator | None = None) -> int | None:
    """Return the number of arithmetic operations of an op, or None if a size is unknown.

    Args:
        op: the op.
        evaluator: evaluates dynamic sizes.
    """
    sizes = op.sizes if evaluator is None else evaluator.loops(op)
    if op.kind is OpKind.ATTENTION:
        loops = {
            role: [sizes[loop] for loop in role_loops] for role, role_loops in op.loops.items()
        }
        outer = [*loops[Role.BATCH], *loops[Role.M], *loops[Role.K2]]
        return _sum(_product(2, [*outer, *loops[role]]) for role in (Role.K1, Role.N))
    if op.operation.name == _SOFTMAX:
        operand = op.operation.operands[0]
        dimensions = shape(operand.type) if evaluator is None else evaluator.shape(operand)
        return _product(_SOFTMAX_OPERATIONS, dimensions or [None])
    if not op.maps or not op.operation.regions:
        return 0
    return _product(_body_operations(op.operation), sizes)


def _body_operations(operation: mlir.Operation) -> int:
    count = 0

    def visitor(inner: mlir.Operation) -> None:
        nonlocal count
        name = inner.name
        if name == _FUSED:
            count += 2
        elif name.startswith("math.") or name in _ARITHMETIC:
            count += not isinstance(inner.results[0].type, mlir.IndexType)

    # Iterating the block would import the Python module of the linalg dialect: 0.2 s.
    visit(operation, visitor)
    return count


def _product(count: int, sizes: Iterable[int | None]) -> int | None:
    factors = list(sizes)
    if not count:
        return 0
    return (
        None
        if None in factors
        else count * prod(factor for factor in factors if factor is not None)
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    terms = list(numbers)
    return None if None in terms else sum(term for term in terms if term is not None)


def _bytes(value: mlir.Value[Any], evaluator: SizeEvaluator) -> int | None:
    sizes = evaluator.shape(value)
    bits = _width(element_type(value.type))
    return None if sizes is None or bits is None else _product(-(-bits // _BITS), sizes)


def _width(type_: mlir.Type) -> int | None:
    if isinstance(type_, mlir.IndexType):
        return _INDEX_BITS
    if isinstance(type_, mlir.ComplexType):
        part = _width(type_.element_type)
        return None if part is None else 2 * part
    width: Any = getattr(type_, "width", None)
    return int(width) if width else None


def dispatch_costs(
    program: mlir.Operation, sizes: Sequence[GivenSizes] = ()
) -> dict[str, DispatchCost]:
    """Return the cost of a call of each dispatch, by name.

    A cost that depends on given sizes is the mean over all calls and sizes.

    Args:
        program: a program at `executable-sources`.
        sizes: the sizes of dynamic dimensions.
    """
    dispatches = find_dispatches(program)
    costs = {dispatch.name: cost_of(dispatch.module) for dispatch in dispatches}
    dynamic = [dispatch for dispatch in dispatches if not costs[dispatch.name].is_known]
    if not dynamic or not sizes:
        return costs
    calls: dict[str, list[tuple[int, Sequence[int | None]]]] = {}
    for combination in combinations(sizes):
        for name, arguments in dispatch_arguments(program, combination.size_of).items():
            calls.setdefault(name, []).extend(
                (combination.weight, argument) for argument in arguments
            )
    dynamic_costs = {
        dispatch.name: mean_cost(dispatch.module, calls.get(dispatch.name, ()))
        for dispatch in dynamic
    }
    return costs | dynamic_costs
