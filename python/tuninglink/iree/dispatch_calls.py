"""The static number of calls of each dispatch in a program.

At `executable-sources`, loops are cycles of blocks. The trip count of a loop is known if its induction variable starts
at a constant, grows by a constant and is compared with a constant. The body of any other cycle counts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import body, collect

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
            name: _weight(name, weights) if name else initializations
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


def _weight(name: str, weights: Mapping[str, int] | None) -> int:
    """Return the number of calls of an entry point."""
    return 1 if weights is None else weights.get(name, 0)


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
    """The calls that one call of a function makes.

    Attributes:
        callees: the numbers of calls of functions.
        dispatches: the numbers of calls of dispatches, by name.
    """

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
    """Return the block of a function that contains an op."""
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
