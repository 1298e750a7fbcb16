"""The costs of dispatches, from their IR: arithmetic operations, and bytes read and written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.dispatches import find_dispatches
from tuninglink.iree.dynamic_sizes import (
    GivenSizes,
    SizeEvaluator,
    combinations,
    dispatch_arguments,
)
from tuninglink.iree.processors import PeakRates, Rates
from tuninglink.iree.structured_op import OpKind, Role, StructuredOp, element_type, shape
from tuninglink.mlir import body, collect, names, symbol_name, visit
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
    """Return the mean cost of calls of a dispatch."""
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
    """Return the number of arithmetic operations of an op, or None if a size is unknown."""
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


# --- The static number of calls of each dispatch in a program ------------------------------------

Value = mlir.Value[Any]

_DISPATCH: Final = "stream.cmd.dispatch"
_CALL: Final = "util.call"
_BRANCH: Final = "cf.br"
_CONDITIONAL: Final = "cf.cond_br"
_LESS: Final = frozenset({2, 6})
"""The values of `slt` and `ult` in `arith.cmpi`."""


def count_calls(
    program: mlir.Operation,
    weights: Mapping[str, int] | None = None,
    *,
    initializations: int = 1,
) -> Counter[str]:
    """Return the number of calls of each dispatch, by name, for one call of each entry point.

    Both sides of a branch count.

    Args:
        program: a program at `executable-sources`, or later.
        weights: the numbers of calls of entry points, by name; 0 for missing names. By default each entry point is
            called once.
        initializations: the number of times that initializers run.
    """
    # Initializers have no name.
    functions = {symbol_name(op) or "": op for op in body(program) if _has_blocks(op)}
    callees_by_name = {name: _Function(function) for name, function in functions.items()}
    called = {callee for function in callees_by_name.values() for callee in function.callees}
    calls: Counter[str] = Counter()
    times: Counter[str] = Counter(
        {
            name: (1 if weights is None else weights.get(name, 0)) if name else initializations
            for name in callees_by_name
            if name not in called
        }
    )
    for name in _callers_first(callees_by_name):
        for callee, count in callees_by_name[name].callees.items():
            times[callee] += count * times[name]
        for dispatch, count in callees_by_name[name].dispatches.items():
            calls[dispatch] += count * times[name]
    return calls


def _has_blocks(operation: mlir.Operation) -> bool:
    is_code = operation.name in (names.FUNCTION, names.UTIL_FUNCTION, "util.initializer")
    return is_code and bool(operation.regions[0].blocks)


def _callers_first(functions: Mapping[str, _Function]) -> Sequence[str]:
    """Return the functions, callers before callees. Recursive calls count once."""
    order: dict[str, None] = {}
    for root in functions:
        pending = [(root, False)]
        entered: set[str] = set()
        while pending:
            name, is_left = pending.pop()
            if is_left:
                order.setdefault(name)
            elif name in functions and name not in order and name not in entered:
                entered.add(name)
                pending.append((name, True))
                pending += [(callee, False) for callee in functions[name].callees]
    return list(reversed(order))


class _Function:
    """The calls that one call of a function makes."""

    def __init__(self, operation: mlir.Operation) -> None:
        self.callees: Counter[str] = Counter()
        self.dispatches: Counter[str] = Counter()
        trips = _trips(operation)
        for call in collect(operation, _CALL, _DISPATCH):
            count = trips.get(_block_in(call, operation), 1)
            if call.name == _CALL:
                callee: Any = call.attributes["callee"]
                self.callees[callee.value] += count
                continue
            entry_points: Any = call.attributes["entry_points"]
            for entry_point in entry_points:
                *path, _ = entry_point.value
                self.dispatches["::".join(f"@{name}" for name in path)] += count


def _block_in(operation: mlir.Operation, function: mlir.Operation) -> mlir.Block:
    while operation.parent is not None and operation.parent.operation != function:
        operation = operation.parent.operation
    return operation.block


def _trips(function: mlir.Operation) -> dict[mlir.Block, int]:
    """Return the trip counts of the blocks in loops. Other blocks run once."""
    blocks = list(function.regions[0].blocks)
    if len(blocks) == 1:
        return {}
    predecessors: dict[mlir.Block, list[mlir.Block]] = {block: [] for block in blocks}
    for block in blocks:
        for successor in _terminator(block).successors:
            predecessors[successor].append(block)
    # Multiply the trip counts of nested loops.
    position = {block: number for number, block in enumerate(blocks)}
    trips = dict.fromkeys(blocks, 1)
    for header in blocks:
        # The compiler orders the blocks such that only the branches of loops lead backward.
        latches = [
            predecessor
            for predecessor in predecessors[header]
            if position[predecessor] >= position[header]
        ]
        entries = [
            predecessor for predecessor in predecessors[header] if predecessor not in latches
        ]
        if not latches:
            continue
        count = _trip_count(header, entries, latches)
        inside = _loop(header, latches, predecessors)
        for block in inside - {header}:
            trips[block] *= count
    return trips


def _loop(
    header: mlir.Block,
    latches: Sequence[mlir.Block],
    predecessors: Mapping[mlir.Block, Sequence[mlir.Block]],
) -> set[mlir.Block]:
    """Return the blocks of a natural loop."""
    inside = {header}
    pending = list(latches)
    while pending:
        block = pending.pop()
        if block not in inside:
            inside.add(block)
            pending += predecessors[block]
    return inside


def _trip_count(
    header: mlir.Block, entries: Sequence[mlir.Block], latches: Sequence[mlir.Block]
) -> int:
    """Return the trip count of a loop, or 1 if it is unknown."""
    end = _terminator(header)
    if end.name != _CONDITIONAL or len(entries) != 1 or len(latches) != 1:
        return 1
    # The header compares the induction variable with the bound.
    comparison = _defining(end.operands[0])
    if comparison is None or comparison.name != "arith.cmpi":
        return 1
    predicate: Any = comparison.attributes["predicate"]
    variable, bound = comparison.operands
    numbers = [index for index, argument in enumerate(header.arguments) if argument == variable]
    if predicate.value not in _LESS or not numbers:
        return 1
    # The variable starts at a value from the entry and is incremented in the latch.
    first = _passed_value(entries[0], header, numbers[0])
    following = _passed_value(latches[0], header, numbers[0])
    sum_ = _defining(following) if following is not None else None
    if first is None or sum_ is None or sum_.name != "arith.addi" or variable not in sum_.operands:
        return 1
    (step,) = [_constant(operand) for operand in sum_.operands if operand != variable] or [None]
    low, high = _constant(first), _constant(bound)
    if low is None or high is None or step is None or step <= 0:
        return 1
    return max(0, -(-(high - low) // step))


def _terminator(block: mlir.Block) -> mlir.Operation:
    return block.operations[len(block.operations) - 1].operation


def _passed_value(block: mlir.Block, header: mlir.Block, number: int) -> Value | None:
    """Return the value that a block passes to an argument of a loop's header."""
    end = _terminator(block)
    operands: list[Value] = list(end.operands)
    if end.name == _BRANCH:
        return operands[number]
    if end.name != _CONDITIONAL or list(end.successors).count(header) != 1:
        return None
    sizes: Any = end.attributes["operandSegmentSizes"]
    condition, taken, _ = sizes
    start: int = condition if end.successors[0] == header else condition + taken
    return operands[start + number]


def _defining(value: Value) -> mlir.Operation | None:
    owner = value.owner
    return None if isinstance(owner, mlir.Block) else owner.operation


def _constant(value: Value) -> int | None:
    operation = _defining(value)
    if operation is None or operation.name != "arith.constant":
        return None
    constant = operation.attributes["value"]
    return int(constant.value) if isinstance(constant, mlir.IntegerAttr) else None
