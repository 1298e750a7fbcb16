"""The index of entries by form and sizes: finds the entries nearest to an op without comparing all of them.

Each form is compared with an op only once. Among the entries of a form, those that share sizes with the op are looked
up; the more sizes an entry shares, the nearer it is.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from iree.compiler import ir as mlir

from tuninglink.iree import ATTENTION_OUTPUTS, ROLES, OpKind, affine_maps, layout
from tuninglink.matching import predicates as pred
from tuninglink.matching.prunable import Spelling, kind_of, spelling_of
from tuninglink.matching.reader import Matcher, OpInfo, computation_of
from tuninglink.plain_data import written

_PER_FAMILY: Final = 8
"""The number of entries of a family that are compared with an op in detail."""

_FAMILIES: Final = 24
"""The maximum number of examined families, those with the fewest differences first."""

_UNSIZED: Final = 256
"""The maximum number of entries without fixed sizes that are compared with an op, in order."""


class NearEntry(NamedTuple):
    """An entry that may be near an op. The rank holds the numbers of differences and of agreements, and a distance."""

    rank: tuple[int, int, float]
    position: int


class NearestEntries:
    """The entries of a spec, for lookups by op.

    Entries without known predicates are ignored.
    """

    def __init__(self, matchers: Sequence[Matcher]) -> None:
        forms: dict[Hashable, dict[int, Spelling]] = {}
        for position, matcher in enumerate(matchers):
            form = spelling_of(matcher.predicates)
            if not all(
                isinstance(predicate, pred.HasValue | pred.IsUnconfigured)
                for predicate in form.predicates
            ):
                forms.setdefault((form.predicates, tuple(form.sizes)), {})[position] = form
        self._families = [_SpellingEntries(family) for family in forms.values()]
        self._found: dict[Hashable, list[NearEntry]] = {}

    def nearest(self, op: OpInfo) -> list[NearEntry]:
        """Return the entries near an op, the nearest first.

        Entries for other kinds of ops are omitted.
        """
        if op.key not in self._found:
            compared = [
                (count, family)
                for family in self._families
                if (count := family.differences(op)) is not None
            ]
            compared.sort(key=lambda item: item[0])
            candidates = [
                candidate
                for count, family in compared[:_FAMILIES]
                for candidate in family.nearest(op, count)
            ]
            self._found[op.key] = sorted(candidates)
        return self._found[op.key]


class _SpellingEntries:
    """Entries of one form, at least one."""

    def __init__(self, forms: Mapping[int, Spelling]) -> None:
        self._forms = forms
        first = next(iter(forms.values()))
        self._predicates = first.predicates
        self._dimensions = tuple(first.sizes)
        self._kind = kind_of(first.predicates)
        self._by_size: dict[tuple[int, int], list[int]] = {}
        for position, form in forms.items():
            for slot, size in enumerate(form.sizes.values()):
                self._by_size.setdefault((slot, size), []).append(position)
        self._by_volume = sorted(
            (math.prod(form.sizes.values()), position) for position, form in forms.items()
        )

    def differences(self, op: OpInfo) -> int | None:
        """Return the number of differing predicates other than sizes; None if the op has another kind."""
        if self._kind is not None and self._kind is not op.kind:
            return None
        count = 0
        for predicate in self._predicates:
            try:
                result = len(list(differences(predicate, op)))
            except CannotTellError:
                result = 0
            if result and self._kind is None and isinstance(predicate, pred.NameIn):
                return None
            count += result
        return count

    def nearest(self, op: OpInfo, count: int) -> Iterator[NearEntry]:
        """Yield the nearest entries to an op, given the number of differences other than sizes."""
        sizes = [_size(op, dimension) for dimension in self._dimensions]
        # The entries that share the most sizes with the op, and entries of similar size.
        positions = [*self._forms][:_UNSIZED]
        if sizes:
            shared: Counter[int] = Counter()
            for slot, size in enumerate(sizes):
                if size is not None:
                    shared.update(self._by_size.get((slot, size), ()))
            positions = [position for position, _ in shared.most_common(2 * _PER_FAMILY)]
            if len(positions) < _PER_FAMILY:
                here = bisect_left(self._by_volume, (math.prod(size or 1 for size in sizes), 0))
                around = self._by_volume[max(0, here - _PER_FAMILY) : here + _PER_FAMILY]
                positions += (position for _, position in around if position not in shared)
        candidates = []
        for position in positions:
            form = self._forms[position]
            different, distance = count, 0.0
            for actual, expected in zip(sizes, form.sizes.values(), strict=True):
                if actual != expected:
                    different += 1
                    distance += abs(math.log2(max(expected, 1) / max(actual or 1, 1)))
            for bound in form.bounds:
                size = _size(op, bound.dimension)
                different += size is not None and not bound.extent.admits(size)
            total = len(form.predicates) + len(form.sizes) + len(form.bounds)
            candidates.append(NearEntry((different, different - total, distance), position))
        yield from heapq.nsmallest(_PER_FAMILY, candidates)


def _size(op: OpInfo, dimension: pred.Dimension) -> int | None:
    """Return the size of a dimension, None if it is dynamic or does not exist."""
    group, number, position = dimension
    if group not in (pred.OPERAND, pred.RESULT):
        sizes = op.role_sizes.get(group, ())
        return sizes[number] if number < len(sizes) else None
    values = op.operands if group == pred.OPERAND else op.results
    sizes = (values[number].sizes or ()) if number < len(values) else ()
    return sizes[position] if position < len(sizes) else None


# --- The differences between the predicates of a matcher and an op, in the order of the compiler's interpreter

_INDEXING_MAPS: Final = "indexing_maps"


@dataclass(frozen=True)
class Difference:
    """A predicate of a matcher that does not hold for an op."""

    condition: str
    actual: str
    expected: str

    @written("text")
    def __str__(self) -> str:
        """Return the difference in words."""
        return f"{self.condition}: {self.actual}, the entry has {self.expected}"


class CannotTellError(Exception):
    """The value of a predicate cannot be determined; the message gives the reason."""


@dataclass(frozen=True)
class MatcherComparison:
    """The comparison of a matcher with an op."""

    differences: tuple[Difference, ...]
    unsure: str = ""

    @property
    def matches(self) -> bool | None:
        """Whether the matcher matches; None if undecidable."""
        if self.differences:
            return False
        return None if self.unsure else True


def compare(matcher: Matcher, op: OpInfo) -> MatcherComparison:
    """Compare a matcher with an op, possibly from another context."""
    result: list[Difference] = []
    try:
        for predicate in matcher.predicates:
            result += differences(predicate, op)
    except CannotTellError as failure:
        return MatcherComparison(tuple(result), str(failure))
    return MatcherComparison(tuple(result), matcher.stop.reason if matcher.stop else "")


def differences(predicate: pred.Predicate, op: OpInfo) -> Iterator[Difference]:  # noqa: C901, PLR0912 - a table
    """Yield the differences between an op and a predicate."""
    # A predicate about a missing part of the op, such as a third operand, yields nothing if another predicate of the
    # matcher already reports it.
    match predicate:
        case pred.NameIn(accepted):
            if op.name not in accepted:
                yield Difference("operation", op.name, " or ".join(accepted))
        case pred.IsKind(kind):
            if op.kind is not kind:
                actual = op.kind.value if op.kind in ROLES else f"no {kind.value}"
                yield Difference("kind", actual, kind.value)
        case pred.HasElementType(kind, operand, role, required):
            if op.kind is kind and op.operands[operand].element != required:
                yield Difference(f"{role} type", op.operands[operand].element, required)
        case pred.HasMaps():
            yield from _maps(predicate, op)
        case pred.IsUnmasked():
            outputs = ATTENTION_OUTPUTS.get(op.name)
            if outputs is not None and len(op.operands) - outputs > pred.UNMASKED_INPUTS:
                # The interpreter rejects some of them although all predicates of the matcher hold.
                raise CannotTellError("the attention has a mask")
        case pred.HasRoleSizes(kind, role, sizes):
            actual_sizes = op.role_sizes[role] if op.kind is kind else sizes
            if len(actual_sizes) != len(sizes) or any(
                size not in (None, one) for size, one in zip(sizes, actual_sizes, strict=True)
            ):
                product = (
                    "x".join(words) or "none"
                    for words in (
                        ["?" if size is None else str(size) for size in actual_sizes],
                        ["any" if size is None else str(size) for size in sizes],
                    )
                )
                yield Difference(role.replace("_", " "), *product)
        case pred.HasValue(value):
            count = len(op.operands if value.group == pred.OPERAND else op.results)
            if value.number >= count:
                yield Difference(f"{value.group}s", str(count), f"at least {value.number + 1}")
        case pred.HasOperandCount(count):
            if len(op.operands) != count:
                yield Difference("operands", str(len(op.operands)), str(count))
        case pred.IsCastCompatible() | pred.HasExtent():
            yield from _sizes(predicate, op)
        case pred.HasRegions(key, computation):
            if op.regions != key:
                actual = computation_of(op.operation)
                on_others = " on other values" if actual == computation else ""
                yield Difference("computation", actual + on_others, computation)
        case pred.HasAttributes(items):
            expected = dict(items)
            for name in sorted({*expected, *op.attributes} - {_INDEXING_MAPS}):
                if op.attributes.get(name) != expected.get(name):
                    values = op.attributes.get(name, "none"), expected.get(name, "none")
                    yield Difference(name.replace("_", " "), *values)
        case pred.IsDag():
            if not predicate.has_free_operands:
                raise CannotTellError("what computes the operands is compared as well")


def _maps(predicate: pred.HasMaps, op: OpInfo) -> Iterator[Difference]:
    required, actual = predicate.maps.operands, [str(map_) for map_ in op.maps]
    if len(actual) != len(required):
        yield Difference("indexing maps", str(len(actual)), str(len(required)))
        return
    if op.kind is OpKind.CONVOLUTION:
        texts = ", ".join(f"affine_map<{map_}>" for map_ in required)
        expected = mlir.Attribute.parse(f"[{texts}]", op.operation.context)
        layouts = layout(op.maps), layout(affine_maps(expected))
        if all(layouts) and layouts[0] != layouts[1]:
            yield Difference("layout", *layouts)
            return
    inputs, outputs = predicate.inputs, predicate.outputs
    hidden = [
        f"operand {position}" for position in range(len(inputs), len(required) - len(outputs))
    ]
    for name, one, other in zip((*inputs, *hidden, *outputs), actual, required, strict=True):
        if one != other:
            yield Difference(f"{name} map", one, other)


def _dimension_name(value: pred.ValueRef, dimension: int, op: OpInfo) -> str:
    """Return the role of the loop of a dimension if it has one."""
    if value.group == pred.OPERAND and value.number < len(op.operand_loops):
        loop = op.operand_loops[value.number][dimension]
        for role, loops in op.loops.items():
            if loop in loops:
                return role.value if len(loops) == 1 else f"{role.value}[{loops.index(loop)}]"
    return f"{value} dimension {dimension}"


def _sizes(predicate: pred.IsCastCompatible | pred.HasExtent, op: OpInfo) -> Iterator[Difference]:
    """Yield the differences between the type of an operand or a result and the required type or extent."""
    if isinstance(predicate, pred.HasExtent):
        value = pred.ValueRef(*predicate.dimension[:2])
    else:
        value = predicate.value
    values = op.operands if value.group == pred.OPERAND else op.results
    if value.number >= len(values):
        return
    actual = values[value.number]
    sizes = actual.sizes or ()
    if isinstance(predicate, pred.HasExtent):
        extent, dimension = predicate.extent, predicate.dimension[2]
        if dimension >= len(sizes):
            raise CannotTellError(f"{value} has no dimension {dimension}")
        size = sizes[dimension]
        if size is None:
            name = _dimension_name(value, dimension, op)
            raise CannotTellError(f"{name} is dynamic, and may be known to be {extent}")
        if not extent.admits(size):
            yield Difference(_dimension_name(value, dimension, op), str(size), str(extent))
        return
    required = predicate.type
    is_alike = actual.is_tensor and actual.encoding == required.encoding
    if not (is_alike if required.is_tensor else actual.text == required.text):
        yield Difference(f"{value} type", actual.text, required.text)
    elif required.is_tensor:
        expected = required.sizes or ()
        if actual.element != required.element or len(sizes) != len(expected):
            yield Difference(f"{value} type", str(actual), str(required))
            return
        for dimension, (size, one) in enumerate(zip(sizes, expected, strict=True)):
            if one is not None and size != one:
                in_words = "?" if size is None else str(size)
                yield Difference(_dimension_name(value, dimension, op), in_words, str(one))
