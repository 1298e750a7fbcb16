"""The costs of dispatches, from their IR: arithmetic operations, bytes read and written, and the number of calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.dispatches import find_dispatches
from tuninglink.iree.dynamic_sizes import (
    DISPATCH,
    LOAD,
    GivenSizes,
    SizeEvaluator,
    called_dispatches,
    combinations,
    dispatch_arguments,
)
from tuninglink.iree.processors import PeakRates, Rates, rate_class
from tuninglink.iree.structured_op import OpKind, Role, StructuredOp, element_type
from tuninglink.mlir import (
    body,
    collect,
    constant_value,
    defining_op,
    names,
    postorder,
    symbol_name,
    visit,
)
from tuninglink.plain_data import written

_STORE: Final = "iree_tensor_ext.dispatch.tensor.store"

_ARITHMETIC: Final = frozenset(
    f"arith.{name}"
    for name in (
        *("addf", "subf", "mulf", "divf", "negf", "remf", "maximumf", "minimumf", "maxnumf"),
        *("minnumf", "addi", "subi", "muli", "divsi", "divui", "maxsi", "maxui", "minsi", "minui"),
    )
)


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
        """Return the rates at which a call of this duration runs on a device with these peak rates."""
        if not microseconds:
            return Rates(None, None, None)
        least = None
        if peaks is not None and self.flops is not None and self.bytes is not None:
            # The roofline model (Williams et al., CACM 2009) takes the longer of the times for operations and for
            # bytes. Bytes that are in a cache may take less time.
            tflops = peaks.tflops.get(self.element_type)
            tflops = tflops or peaks.tflops.get(rate_class(self.element_type))
            if tflops is not None or not self.flops:
                seconds = self.flops / tflops if tflops else 0.0
                least = max(seconds, self.bytes / peaks.tbps) * 1e-6
        return Rates(
            None if self.flops is None else self.flops / microseconds * 1e-3,
            None if self.bytes is None else self.bytes / microseconds * 1e-3,
            None if least is None else least / microseconds,
        )


def cost_of(module: mlir.Operation, arguments: Sequence[int | None] = ()) -> DispatchCost:
    """Return the cost of one call of a dispatch at `executable-sources`, whose arguments determine the dynamic sizes.

    An attention counts as its two products, a softmax as five operations per element. Other unstructured ops are not
    counted.
    """
    evaluator = SizeEvaluator(arguments=arguments)
    flops: list[tuple[int | None, str]] = []
    moved: list[int | None] = []

    def visitor(operation: mlir.Operation) -> mlir.WalkResult | None:
        name = operation.name
        if name in (LOAD, _STORE):
            value = operation.results[0] if name == LOAD else operation.operands[0]
            sizes, bits = evaluator.shape(value), _width(element_type(value.type))
            moved.append(None if sizes is None or bits is None else _product(-(-bits // 8), sizes))
        elif name.startswith(("linalg.", "iree_linalg_ext.")):
            op = StructuredOp(operation)
            # The type is the widest of the operands, preferably a float type; of a product, only of its factors.
            operands = list(operation.operands)[: 2 if op.kind in _PRODUCTS else None]
            types = [element_type(operand.type) for operand in operands]
            widest = max(types, key=lambda t: (isinstance(t, mlir.FloatType), _width(t) or 0))
            flops.append((_flops(op, evaluator), str(widest)))
            return mlir.WalkResult.SKIP
        return None

    visit(module, visitor)
    heaviest = max(flops, key=lambda work: inf if work[0] is None else work[0], default=(0, ""))
    combined = heaviest[1] if heaviest[0] != 0 else ""
    return DispatchCost(_sum(count for count, _ in flops), _sum(moved), combined)


_PRODUCTS: Final = frozenset({OpKind.CONTRACTION, OpKind.CONVOLUTION, OpKind.ATTENTION})


def _flops(op: StructuredOp, evaluator: SizeEvaluator) -> int | None:
    """Return the number of arithmetic operations of an op, or None if a size is unknown."""
    sizes = op.loop_sizes(evaluator.shape)
    if op.kind is OpKind.ATTENTION:
        loops = {role: [sizes[loop] for loop in numbers] for role, numbers in op.loops.items()}
        outer = [*loops[Role.BATCH], *loops[Role.M], *loops[Role.K2]]
        return _sum(_product(2, [*outer, *loops[role]]) for role in (Role.K1, Role.N))
    if op.name == "linalg.softmax":
        # Maximum, difference, exponential, sum and quotient.
        return _product(5, evaluator.shape(op.operation.operands[0]) or [None])
    if not op.maps or not op.operation.regions:
        return 0
    count = 0
    # Iterating the block would import the Python module of the linalg dialect: 0.2 s.
    for inner in collect(op.operation):
        if inner.name == "math.fma":
            count += 2
        elif inner.name.startswith("math.") or inner.name in _ARITHMETIC:
            count += not isinstance(inner.results[0].type, mlir.IndexType)
    return _product(count, sizes)


def _product(count: int, sizes: Iterable[int | None]) -> int | None:
    factors = list(sizes)
    unknown = count and None in factors
    return None if unknown else count * prod(factor for factor in factors if factor is not None)


def _sum(numbers: Iterable[int | None]) -> int | None:
    terms = list(numbers)
    return None if None in terms else sum(term for term in terms if term is not None)


def _width(type_: mlir.Type) -> int | None:
    if isinstance(type_, mlir.IndexType):
        return 64
    if isinstance(type_, mlir.ComplexType):
        part = _width(type_.element_type)
        return None if part is None else 2 * part
    width: Any = getattr(type_, "width", None)
    return int(width) if width else None


def dispatch_costs(
    program: mlir.Operation, sizes: Sequence[GivenSizes] = ()
) -> dict[str, DispatchCost]:
    """Return the cost of a call of each dispatch, by name, in a program at `executable-sources`.

    A cost that depends on given sizes of dynamic dimensions is the mean over all calls and sizes.
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

    for dispatch in dynamic:
        of_calls = [
            (w, cost_of(dispatch.module, values)) for w, values in calls.get(dispatch.name, ())
        ]
        weights = sum(weight for weight, _ in of_calls)
        means: list[int | None] = []
        for counts in (
            [(weight, cost.flops) for weight, cost in of_calls],
            [(weight, cost.bytes) for weight, cost in of_calls],
        ):
            total = _sum(_product(weight, [count]) for weight, count in counts)
            means.append(None if total is None or not weights else round(total / weights))
        element = of_calls[0][1].element_type if of_calls else ""
        costs[dispatch.name] = DispatchCost(means[0], means[1], element)
    return costs


# --- The static number of calls of each dispatch in a program ------------------------------------

Value = mlir.Value[Any]

_CALL: Final = "util.call"
_CONDITIONAL: Final = "cf.cond_br"
_LESS: Final = frozenset({2, 6})
"""The values of `slt` and `ult` in `arith.cmpi`."""


def count_calls(
    program: mlir.Operation, weights: Mapping[str, int] | None = None, *, initializations: int = 1
) -> Counter[str]:
    """Return the number of calls of each dispatch, by name, in a program at `executable-sources`, or later.

    Both sides of a branch count. Each entry point is called once by default, otherwise as often as its weight says, 0
    for missing names. Initializers run a number of times.
    """
    calls_by_function: dict[str, tuple[Counter[str], Counter[str]]] = {}
    for op in body(program):
        is_code = op.name in (names.FUNCTION, names.UTIL_FUNCTION, "util.initializer")
        if is_code and op.regions[0].blocks:
            # How often one call of the function calls other functions, and dispatches. Initializers have no name.
            callees, dispatches = calls_by_function[symbol_name(op) or ""] = Counter(), Counter()
            trips = _trips(op)
            for call in collect(op, _CALL, DISPATCH):
                inside = call
                while inside.parent is not None and inside.parent.operation != op:
                    inside = inside.parent.operation
                count = trips.get(inside.block, 1)
                if call.name == _CALL:
                    callee: Any = call.attributes["callee"]
                    callees[callee.value] += count
                else:
                    for dispatch in called_dispatches(call):
                        dispatches[dispatch] += count
    called = {callee for callees, _ in calls_by_function.values() for callee in callees}
    calls: Counter[str] = Counter()
    times: Counter[str] = Counter()
    for name in calls_by_function.keys() - called:
        entered = 1 if weights is None else weights.get(name, 0)
        times[name] = entered if name else initializations

    # Callers come before callees. Recursive calls count once.
    known = {
        name: [callee for callee in callees if callee in calls_by_function]
        for name, (callees, _) in calls_by_function.items()
    }
    for name in reversed(list(postorder(calls_by_function, known.__getitem__))):
        callees, dispatches = calls_by_function[name]
        for callee, count in callees.items():
            times[callee] += count * times[name]
        for dispatch, count in dispatches.items():
            calls[dispatch] += count * times[name]
    return calls


def _trips(function: mlir.Operation) -> dict[mlir.Block, int]:
    """Return the trip counts of the blocks in loops. Other blocks run once."""
    blocks = list(function.regions[0].blocks)
    if len(blocks) == 1:
        return {}
    ends = {block: block.operations[len(block.operations) - 1].operation for block in blocks}
    predecessors: dict[mlir.Block, list[mlir.Block]] = {block: [] for block in blocks}
    for block, end in ends.items():
        for successor in end.successors:
            predecessors[successor].append(block)
    # Multiply the trip counts of nested loops.
    position = {block: number for number, block in enumerate(blocks)}
    trips = dict.fromkeys(blocks, 1)
    for header in blocks:
        # The compiler orders the blocks such that only the branches of loops lead backward.
        before = predecessors[header]
        latches = [block for block in before if position[block] >= position[header]]
        entries = [block for block in before if block not in latches]
        if not latches:
            continue
        entry_ends, latch_ends = ([ends[block] for block in some] for some in (entries, latches))
        count = _trip_count(header, ends[header], entry_ends, latch_ends)
        # The natural loop has the blocks from which a latch is reached without the header.
        inside = {header}
        pending = list(latches)
        while pending:
            block = pending.pop()
            if block not in inside:
                inside.add(block)
                pending += predecessors[block]
        for block in inside - {header}:
            trips[block] *= count
    return trips


def _trip_count(
    header: mlir.Block,
    end: mlir.Operation,
    entries: Sequence[mlir.Operation],
    latches: Sequence[mlir.Operation],
) -> int:
    """Return the trip count of a loop, or 1 if it is unknown, given the last ops of its header and of those before it."""
    if end.name != _CONDITIONAL or len(entries) != 1 or len(latches) != 1:
        return 1
    # The header compares the induction variable with the bound.
    comparison = defining_op(end.operands[0])
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
    sum_ = defining_op(following) if following is not None else None
    if first is None or sum_ is None or sum_.name != "arith.addi" or variable not in sum_.operands:
        return 1
    steps = [constant_value(operand) for operand in sum_.operands if operand != variable]
    step = steps[0] if steps else None
    low, high = constant_value(first), constant_value(bound)
    if low is None or high is None or step is None or step <= 0:
        return 1
    return max(0, -(-(high - low) // step))


def _passed_value(end: mlir.Operation, header: mlir.Block, number: int) -> Value | None:
    """Return the value that the last op of a block passes to an argument of a loop's header."""
    operands: list[Value] = list(end.operands)
    if end.name == "cf.br":
        return operands[number]
    if end.name != _CONDITIONAL or list(end.successors).count(header) != 1:
        return None
    sizes: Any = end.attributes["operandSegmentSizes"]
    condition, taken, _ = sizes
    start: int = condition if end.successors[0] == header else condition + taken
    return operands[start + number]
