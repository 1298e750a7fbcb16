"""Dynamic sizes: their values for given arguments, and the ranges for which the compiler specializes code."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import isqrt, prod
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.structured_op import Sizes, shape
from tuninglink.mlir import collect, defining_op

if TYPE_CHECKING:
    Value = mlir.Value[Any]


SPECIALIZATION_RANGES: Final = "iree_codegen.specialization_ranges"
"""The attribute of an op."""

RANGES: Final = "tuninglink.specialization_ranges"
"""The attribute of a matcher in a spec: a list of a range for each loop, for each specialization."""

UNBOUNDED: Final = (1 << 53) - 1
"""The upper end of an unbounded range, which is also the compiler's upper bound of sizes."""


@dataclass(frozen=True)
class SizeRange:
    """The sizes of a loop that an entry applies to: multiples of a divisor up to `high`, or `UNBOUNDED`."""

    low: int
    high: int
    divisor: int = 1

    def __contains__(self, size: int) -> bool:
        return self.low <= size <= self.high and size % self.divisor == 0

    def __str__(self) -> str:
        if self.low == self.high:
            return str(self.low)
        high = "" if self.high >= UNBOUNDED else str(self.high)
        return f"{self.low}..{high}" + (f" by {self.divisor}" if self.divisor > 1 else "")


def ranges_around(sizes: Sequence[int], least: int = 1) -> dict[int, SizeRange]:
    """Return a range around each of several sizes. The boundary of two ranges has the same ratio to both sizes.

    A range has at least `least` sizes. A size of 1 has its own range if possible: its code needs no loop.
    """
    ordered = sorted(set(sizes))
    ranges: dict[int, SizeRange] = {}
    last = SizeRange(0, 0)
    for size, following in zip(ordered, [*ordered[1:], None], strict=True):
        if size > last.high:
            low = last.high + 1
            middle = UNBOUNDED if following is None else isqrt(size * following)
            last = SizeRange(low, 1 if size == least == 1 else max(middle, low + least - 1))
        ranges[size] = last
    return ranges


def sizes_between(sizes: Sequence[int]) -> list[int]:
    """Return sizes at which configurations for the given sizes may be slow: the low end and the middle of each range."""
    ranges = ranges_around(sizes).items()
    lower = {low for size, range_ in ranges for low in (range_.low, isqrt(range_.low * size))}
    return sorted(lower - set(sizes))


def specialization_ranges(
    boxes: Sequence[Mapping[int, SizeRange]], loops: int, context: mlir.Context
) -> mlir.Attribute:
    """Return the attribute that makes the compiler specialize code for each of several boxes.

    A box has the ranges of loops, by number. Other loops may have any size.
    """
    lists = []
    for box in boxes:
        assumptions = ["<>"] * loops
        for loop, sizes in box.items():
            divisor = f", udiv = {sizes.divisor}" if sizes.divisor > 1 else ""
            if loop in range(loops):
                assumptions[loop] = f"<umin = {sizes.low}, umax = {sizes.high}{divisor}>"
        lists.append(f"[{', '.join(assumptions)}]")
    return mlir.Attribute.parse(f"#util<int.assumption.multi_array[{', '.join(lists)}]>", context)


DISPATCH: Final = "stream.cmd.dispatch"
BUFFER_VIEW_DIM: Final = "hal.buffer_view.dim"
"""The op that returns the size of a dimension of an argument."""

LOAD: Final = "iree_tensor_ext.dispatch.tensor.load"

_ARITHMETIC: Final[Mapping[str, Callable[[int, int], int]]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.divui": operator.floordiv,
    "arith.divsi": operator.floordiv,
    "arith.floordivsi": operator.floordiv,
    "arith.ceildivui": lambda a, b: -(-a // b),
    "arith.ceildivsi": lambda a, b: -(-a // b),
    "arith.remui": operator.mod,
    "arith.remsi": operator.mod,
    "arith.minui": min,
    "arith.minsi": min,
    "arith.maxui": max,
    "arith.maxsi": max,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.shli": operator.lshift,
    "arith.shrui": operator.rshift,
}
_PREDICATES: Final[Sequence[Callable[[int, int], int]]] = (
    *(operator.eq, operator.ne),
    *(operator.lt, operator.le, operator.gt, operator.ge) * 2,
)
"""The predicates of `arith.cmpi` by number: the signed ones, then the unsigned ones. Sizes satisfy both alike."""

_UNCHANGED: Final = frozenset(
    {
        *(f"arith.{name}" for name in ("extui", "extsi", "trunci", "index_cast", "index_castui")),
        "iree_tensor_ext.dispatch.workload.ordinal",
        "util.assume.int",
    }
)
"""Ops that return their operand, perhaps with another type that also holds any size."""


@dataclass(eq=False)
class SizeEvaluator:
    """An evaluator of dynamic sizes, for the sizes of a program's arguments, or the values that a dispatch receives.

    Evaluated values are added to those `given`.
    """

    size_of: SizeLookup | None = None
    arguments: Sequence[int | None] = ()
    given: dict[Value, int | None] = field(default_factory=dict)

    def value(self, value: Value) -> int | None:
        """Return the value of an integer, or None if it is unknown."""
        if value in self.given:
            return self.given[value]
        result: int | None = None
        op = defining_op(value)
        attributes: Any = op.attributes if op is not None else {}
        match op.name if op is not None else "":
            case "arith.constant":
                constant = attributes["value"]
                if isinstance(constant, (mlir.IntegerAttr, mlir.BoolAttr)):
                    result = int(constant.value)
            case "hal.interface.constant.load":
                result = dict(enumerate(self.arguments)).get(attributes["ordinal"].value)
            case name if op is not None and name == BUFFER_VIEW_DIM:
                # The size of a dimension of a program argument.
                source = op.operands[0]
                if self.size_of is not None and isinstance(source, mlir.BlockArgument):
                    result = self.size_of(source.arg_number, attributes["index"].value)
            case name if op is not None and name in _UNCHANGED:
                result = self.value(op.operands[mlir.OpResult(value).result_number])
            case name if op is not None and (name in _ARITHMETIC or name == "arith.cmpi"):
                function = _ARITHMETIC.get(name) or _PREDICATES[int(attributes["predicate"].value)]
                left, right = map(self.value, op.operands)
                if left is not None and right is not None:
                    result = int(function(left, right))
        self.given[value] = result
        return result

    def shape(self, value: Value) -> Sizes | None:
        """Return the sizes of a tensor, None for unknown sizes."""
        static = shape(value.type)
        op = defining_op(value)
        if static is None or None not in static or op is None:
            return static
        dynamic: list[Value] = []
        if op.name == "tensor.empty":
            dynamic = list(op.operands)
        elif op.name == LOAD:
            segments: Any = op.attributes["operandSegmentSizes"]
            source, dimensions, offsets, sizes = list(segments)[:4]
            start = source + dimensions + offsets
            dynamic = list(op.operands)[start : start + sizes]
        elif op.name.startswith(("linalg.", "iree_linalg_ext.")) and op.results:
            # A result has the shape of its output operand.
            number = mlir.OpResult(value).result_number
            return self.shape(op.operands[len(op.operands) - len(op.results) + number])
        if len(dynamic) != static.count(None):
            return static
        dynamic_sizes = iter(map(self.value, dynamic))
        return tuple(next(dynamic_sizes) if size is None else size for size in static)


def called_dispatches(call: mlir.Operation) -> Iterator[str]:
    """Yield the names of the dispatches that a call may run, one for each target."""
    entry_points: Any = call.attributes["entry_points"]
    for entry_point in entry_points:
        *path, _ = entry_point.value
        yield "::".join(f"@{name}" for name in path)


def dispatch_arguments(
    program: mlir.Operation, size_of: SizeLookup
) -> dict[str, list[tuple[int | None, ...]]]:
    """Return the values that each call in a program at `executable-sources` passes to a dispatch, by its name."""
    evaluator = SizeEvaluator(size_of)
    values_by_dispatch: dict[str, list[tuple[int | None, ...]]] = {}
    for call in collect(program, DISPATCH):
        segments: Any = call.attributes["operandSegmentSizes"]
        workload, arguments, *_ = segments
        operands = list(call.operands)[workload : workload + arguments]
        values = tuple(map(evaluator.value, operands))
        for dispatch in called_dispatches(call):
            values_by_dispatch.setdefault(dispatch, []).append(values)
    return values_by_dispatch


# --- Sizes that a user assigns to the dynamic dimensions of a program's arguments ----------------

_WRITTEN: Final = re.compile(r"((?:\d+\.\d+=)*)(\S+)")
_SIZE: Final = re.compile(r"([1-9]\d*)(?::([1-9]\d*))?")

SizeLookup = Callable[[int, int], int | None]
"""Returns the size of a dimension of an argument, or None."""


@dataclass(frozen=True)
class GivenSizes:
    """The sizes of dynamic dimensions, each with a weight.

    Attributes:
        sizes: the sizes and their weights.
        places: the pairs of argument position in the public functions and dimension number that share these sizes;
            empty for every dynamic dimension.
    """

    sizes: tuple[tuple[int, int], ...]
    places: tuple[tuple[int, int], ...] = ()

    @classmethod
    def parse(cls, text: str) -> GivenSizes:
        """Read `[ARGUMENT.DIMENSION=]...SIZE[:WEIGHT][,SIZE[:WEIGHT]]...`.

        Raises:
            ValueError: the text does not have this form.
        """
        written = _WRITTEN.fullmatch(text)
        parts = [_SIZE.fullmatch(word) for word in written[2].split(",")] if written else []
        if written is None or not all(parts):
            raise ValueError(
                "expected [ARGUMENT.DIMENSION=]SIZE[:WEIGHT],... such as 0.0=1,8:2,64,512"
            )
        sizes = tuple((int(part[1]), int(part[2] or 1)) for part in parts if part)
        places = [place.split(".") for place in written[1].split("=")[:-1]]
        return cls(sizes, tuple((int(argument), int(number)) for argument, number in places))

    def applies_to(self, argument: int, dimension: int) -> bool:
        """Return whether these sizes apply to a dimension."""
        return not self.places or (argument, dimension) in self.places

    @property
    def place(self) -> str:
        """The dimensions in the user's notation: `0.1`, or `*` for every dynamic one."""
        places = (f"{argument}.{dimension}" for argument, dimension in self.places)
        return "=".join(places) or "*"

    def __str__(self) -> str:
        sizes = ",".join(
            f"{size}:{weight}" if weight > 1 else str(size) for size, weight in self.sizes
        )
        return f"{self.place}={sizes}" if self.places else sizes


@dataclass(frozen=True)
class SizeCombination:
    """One size for each dimension with given sizes, and the weight of the combination."""

    given: tuple[GivenSizes, ...]
    sizes: tuple[int, ...]
    weight: int

    def size_of(self, argument: int, dimension: int) -> int | None:
        """Return the size of a dimension of an argument, or None. The last assignment wins."""
        last = None
        for given, size in zip(self.given, self.sizes, strict=True):
            if given.applies_to(argument, dimension):
                last = size
        return last

    def __str__(self) -> str:
        places = (given.place for given in self.given)
        sizes = dict(zip(places, self.sizes, strict=True))
        return " ".join(f"{place}={size}" for place, size in sizes.items())


def combinations(given: Sequence[GivenSizes]) -> list[SizeCombination]:
    """Return all combinations of sizes. The last assignment to a dimension wins."""
    return [
        SizeCombination(
            tuple(given), tuple(size for size, _ in chosen), prod(weight for _, weight in chosen)
        )
        for chosen in product(*(dimension.sizes for dimension in given))
    ]
