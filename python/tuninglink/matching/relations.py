"""Relations between conditions: overlap, and subsumption of later conditions by earlier ones.

Two conditions overlap if they can hold for the same op. Subsumption does not need a solver. All dimensions without a
fixed size may be dynamic at once, with nothing known beyond the matcher's requirements, and a condition that holds
then holds for every size. Several conditions together therefore subsume another one only if one of them does by
itself, which arithmetic decides.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from iree.compiler import ir as mlir

from tuninglink.matching import predicates as pred
from tuninglink.matching.condition_index import (
    DEPENDENT,
    TOO_MANY,
    ConditionIndex,
    Relation,
    are_independent,
)
from tuninglink.matching.exact import exact_condition
from tuninglink.matching.reader import MatcherReader
from tuninglink.mlir import collect, names, split_path
from tuninglink.plain_data import FLAT, HIDDEN, TEXT
from tuninglink.solver import Verdict
from tuninglink.specs import Entry, Spec, is_guarded, scopes_of, signature

_TRIES: Final = 8
"""The maximum number of conditions that are checked for proven overlaps with another one."""


@dataclass(frozen=True)
class OverlapAnswer:
    """The answer to whether two conditions can hold for the same operation.

    Attributes:
        verdict: proven: both can hold, with `witness`; refuted: they exclude each other; not decided: unknown.
        witness: static sizes for which both hold.
        reason: if not decided, why not.
    """

    verdict: Verdict
    witness: Mapping[pred.Dimension, int] | None = None
    reason: str = ""


class WinningCondition(NamedTuple):
    """An earlier condition with another label, provably the first to hold for an operation."""

    position: int
    form: int
    witness: Mapping[pred.Dimension, int]


class Overlaps(ConditionIndex):
    """Decides which of a list of conditions overlap; the first that holds takes precedence.

    Args:
        conditions: in order of precedence.
        labels: conditions with the same label do not overlap.
    """

    def overlap(self, first: int, second: int) -> OverlapAnswer:
        """Return whether the conditions at two positions can hold for the same operation."""
        for condition in (self.conditions[first], self.conditions[second]):
            if isinstance(condition, pred.Opaque):
                return OverlapAnswer(Verdict.NOT_DECIDED, reason=condition.reason)
        group, other = self.group_of.get(first), self.group_of.get(second)
        if group is None or other is None:
            return OverlapAnswer(Verdict.REFUTED)
        if group is not other and not self.are_related:
            return OverlapAnswer(Verdict.NOT_DECIDED, reason=TOO_MANY)
        relation = next((how for related, how in group.related if related is other), None)
        if relation is None:
            return OverlapAnswer(Verdict.REFUTED)
        # Both must hold for some static sizes.
        box, other_box = self.box(first, other), self.box(second, group)
        sizes = pred.static_sizes(pred.static_box(box, other_box))
        if sizes is None and pred.is_empty(pred.conjunction([*box.items(), *other_box.items()])):
            return OverlapAnswer(Verdict.REFUTED)
        reason = ""
        if sizes is None:
            reason = "only dynamic or empty dimensions might do"
        elif not are_independent(sizes):
            reason = DEPENDENT
        elif relation is Relation.UNSURE:
            # One condition must imply the other; otherwise an operation with both properties need not exist.
            reason = "the conditions are of different forms"
        if reason:
            return OverlapAnswer(Verdict.NOT_DECIDED, reason=reason)
        return OverlapAnswer(Verdict.PROVEN, sizes)

    def earlier(self, position: int, count: int) -> tuple[Sequence[WinningCondition], int]:
        """Find earlier conditions with other labels that take precedence over the one at `position` for some operation.

        Return at most `count` of them, and the number of those that may overlap.
        """
        group = self.group_of.get(position)
        if group is None or not self.are_related:
            return (), 0
        winners: dict[int, WinningCondition] = {}
        at_most = 0
        for other, relation in group.related:
            if relation is Relation.UNSURE:
                continue
            asked = pred.static_box(self.box(position, other))
            label = self.labels.get(position)
            meeting = self.sizes(other, group).meeting(asked, position, label)
            at_most += len(meeting)
            shown = 0
            for earlier in islice(meeting, _TRIES):
                narrower = position if relation is Relation.WITHIN else earlier
                # The condition that is the first to hold for an operation in the overlap.
                answer = self.overlap(position, earlier)
                form = self.group_of.get(narrower)
                if answer.witness is None or form is None:
                    continue
                used = self.used(form).union(answer.witness)
                sizes = pred.static_sizes(
                    pred.static_box(
                        dict.fromkeys(sorted(used), pred.ANYTHING),
                        {at: pred.Extent(size=size) for at, size in answer.witness.items()},
                    )
                )
                assert sizes is not None, "open dimensions can have any size"
                operation = {at: pred.Extent(size=sizes[pred.representative(at)]) for at in used}
                winner = self.containing(form, operation, earlier + 1)
                if winner is None or winner in winners or self.labels.get(winner) == label:
                    continue
                static = pred.static_box(operation)
                if any(
                    len(self.sizes(other_form, form).meeting(static, winner))
                    for other_form, how in form.related
                    if how is not Relation.WITHIN
                ):
                    continue  # The operation may have one of the other forms, too.
                winners[winner] = WinningCondition(winner, narrower, sizes)
                shown += 1
                if shown == count:
                    break
        return [winners[at] for at in sorted(winners)][:count], at_most


@dataclass(frozen=True)
class SubsumptionAnswer:
    """The answer to whether earlier conditions subsume a later one, so that it is never the first to hold.

    Attributes:
        verdict: proven: the earlier ones subsume it; refuted: they do not subsume it; not decided: unknown.
        subsuming: if proven, the position of a single condition that subsumes it; none if the later one never holds.
        witness: if refuted, sizes for which the condition holds and none of the earlier ones does. None is a dynamic
            dimension, with nothing known beyond the condition's requirements.
        reason: if not decided, why not.
    """

    verdict: Verdict
    subsuming: tuple[int, ...] = ()
    witness: Mapping[pred.Dimension, int | None] | None = None
    reason: str = ""


class Subsumption(ConditionIndex):
    """Decides which of a list of conditions are subsumed by earlier ones."""

    def __init__(self, conditions: Sequence[pred.Condition | pred.Opaque]) -> None:
        super().__init__(conditions)
        self._proofs: dict[int, SubsumptionAnswer | None] = {}

    def proof(self, position: int) -> SubsumptionAnswer | None:
        """Return the proof that earlier conditions subsume the one at `position`, None if there is none."""
        if position not in self._proofs:
            condition = self.conditions[position]
            first: int | None = None
            if self.first_universal is not None and self.first_universal < position:
                first = self.first_universal
            elif isinstance(condition, pred.Opaque):
                first = self.first_of_key.get(condition.key, position)
            elif position not in self.empty:
                group = self.group_of.get(position)
                assert group is not None, "a condition that may hold is in a group"
                first = self.containing(group, self.box(position, group), position)
                first = position if first is None else first
            # A condition that never holds needs no other.
            subsuming = () if first is None else (first,)
            is_proven = first != position
            self._proofs[position] = (
                SubsumptionAnswer(Verdict.PROVEN, subsuming) if is_proven else None
            )
        return self._proofs[position]

    def answer(self, position: int) -> SubsumptionAnswer:
        """Return whether earlier conditions subsume the one at `position`."""
        proof = self.proof(position)
        if proof is not None:
            return proof
        condition = self.conditions[position]
        if isinstance(condition, pred.Opaque):
            return SubsumptionAnswer(Verdict.NOT_DECIDED, reason=condition.reason)
        group = self.group_of.get(position)
        if group is None or not self.are_related:
            return SubsumptionAnswer(Verdict.NOT_DECIDED, reason=TOO_MANY)
        # No earlier condition may be unknown, or hold for reasons other than sizes.
        first_opaque = self.first_opaque
        if first_opaque is not None and first_opaque < position:
            reason = "an earlier matcher is not understood, and may match as well"
            return SubsumptionAnswer(Verdict.NOT_DECIDED, reason=reason)
        for other, relation in group.related:
            if relation is not Relation.WITHIN:
                asked = pred.static_box(self.box(position, other))
                if len(self.sizes(other, group).meeting(asked, position)):
                    reason = "an earlier condition is of another form, and may hold as well"
                    return SubsumptionAnswer(Verdict.NOT_DECIDED, reason=reason)
        # The refutation: sizes for which the condition at a position holds and no earlier one does.
        narrow = self.box(position, group)
        used = self.used(group).union(narrow)
        is_shown = condition.root is not None and all(
            interval.size is not None for interval in narrow.values()
        )
        if not is_shown and not are_independent(used):
            return SubsumptionAnswer(Verdict.NOT_DECIDED, reason=DEPENDENT)
        witness = {
            dimension: narrow.get(dimension, pred.ANYTHING).size for dimension in sorted(used)
        }
        return SubsumptionAnswer(Verdict.REFUTED, witness=witness)


# --- The conditions and configurations of all entries of a spec; configurations are compared by structure, not by name

_OTHER_TARGETS: Final[pred.Opaque] = pred.Opaque("it is for other targets than most entries")
_IN_REGION: Final[pred.Opaque] = pred.Opaque(
    "its list is in a region of another op, which decides whether it is walked"
)


@dataclass(frozen=True, eq=False)
class EntryList:
    """The entries of one `foreach_match`, where the first match decides."""

    operation: mlir.Operation
    start: int
    conditions: Sequence[pred.Condition | pred.Opaque]

    @cached_property
    def subsumption(self) -> Subsumption:
        return Subsumption(self.conditions)


@dataclass(frozen=True, eq=False)
class MatcherConditions:
    """The conditions of the matchers of a module; a matcher is read once."""

    reader: MatcherReader
    _conditions: dict[str, pred.Condition | pred.Opaque] = field(default_factory=dict, init=False)

    def of(self, path: str) -> pred.Condition | pred.Opaque:
        """Return the condition of the matcher at a path."""
        if path not in self._conditions:
            self._conditions[path] = exact_condition(self.reader.read(path))
        return self._conditions[path]


@dataclass(frozen=True, eq=False)
class EntryConditions:
    """Reads the conditions of the entries of a spec."""

    spec: Spec
    matchers: MatcherConditions | None = None

    @cached_property
    def lists(self) -> tuple[EntryList, ...]:
        """The entries by their `foreach_match`, each of which walks the whole payload; empty if they have guards."""
        table = self.spec.anatomy.table
        matchers = self.matchers or MatcherConditions(MatcherReader(table))
        lists = []
        start = 0
        for entry_point in self.spec.anatomy.entry_points:
            if is_guarded(entry_point.sequence):
                return ()
            for foreach_match in collect(entry_point.sequence, names.FOREACH_MATCH):
                is_walked = foreach_match.parent == entry_point.sequence
                conditions = [
                    matchers.of(matcher) if is_walked else _IN_REGION
                    for matcher, _ in table.pairs(foreach_match)
                ]
                # If an entry does not apply to a target, a later one may configure the ops that it matches. The
                # conditions are compared for the targets of most entries.
                scopes = scopes_of(self.spec, range(start, start + len(conditions)))
                for most, _ in Counter(scopes).most_common(1):
                    conditions = [
                        condition if scope == most else _OTHER_TARGETS
                        for condition, scope in zip(conditions, scopes, strict=True)
                    ]
                lists.append(EntryList(foreach_match, start, conditions))
                start += len(conditions)
        return tuple(lists)

    @cached_property
    def configurations(self) -> Sequence[int]:
        """The number of each entry's configuration; equal for entries with the same effect.

        The effect of an action that only annotates consists of the resulting attributes; that of other actions, of the
        structure of the action and the values that the matcher passes to it.
        """
        table = self.spec.anatomy.table
        structures: dict[str, Hashable] = {}
        numbers: dict[Hashable, int] = {}

        def yielded(path: str, position: int) -> Hashable:
            result = table.yielded(path, position)
            return (path, position) if result is None else result

        configurations = []
        for matcher, action in self.spec.anatomy.pairs:
            effect: Hashable
            annotations = table.annotations(action)
            if annotations is not None:
                attributes: dict[Hashable, Hashable] = {}
                for annotation in annotations:
                    value = annotation.value
                    key = yielded(matcher, annotation.operand), annotation.name
                    attributes[key] = yielded(matcher, value) if isinstance(value, int) else value
                effect = frozenset(attributes.items())
            else:
                if action not in structures:
                    sequence = table.lookup(action)
                    structure = action if sequence is None else structural_key(sequence)
                    # References are compared by name, which may refer to something else in another module.
                    structures[action] = tuple(split_path(action)[:-1]), structure
                sequence = table.lookup(matcher)
                count = len(signature(sequence).results) if sequence is not None else 0
                effect = structures[action], tuple(yielded(matcher, at) for at in range(count))
            configurations.append(numbers.setdefault(effect, len(numbers)))
        return configurations


def structural_key(
    operation: mlir.Operation, replaced: Mapping[str, str] = MappingProxyType({})
) -> Hashable:
    """Return the structural key of an operation and its regions. Keys compare within one context only.

    The key ignores locations and the symbol that the operation defines. Referenced symbols are `replaced`.
    """
    numbers: dict[mlir.Value[Any], int] = {}

    def attribute_key(attribute: mlir.Attribute, replaced: Mapping[str, str]) -> Hashable:
        if isinstance(attribute, mlir.FlatSymbolRefAttr):
            return replaced.get(attribute.value, attribute.value)
        if isinstance(attribute, mlir.ArrayAttr):
            return tuple(attribute_key(element, replaced) for element in attribute)
        return attribute

    def key(operation: mlir.Operation, replaced: Mapping[str, str]) -> Hashable:
        attributes = tuple(
            (name, attribute_key(attribute, replaced))
            for name, attribute in operation.attributes.items()
            if name != names.SYMBOL_NAME
        )
        operands = tuple(numbers.setdefault(value, len(numbers)) for value in operation.operands)
        results = tuple(
            (numbers.setdefault(result, len(numbers)), result.type) for result in operation.results
        )
        # The program that a matcher shows has its own symbols.
        inside = {} if operation.name in names.SHOWING else replaced
        blocks = tuple(
            tuple(
                (
                    tuple(
                        (numbers.setdefault(argument, len(numbers)), argument.type)
                        for argument in block.arguments
                    ),
                    tuple(key(view.operation, inside) for view in block.operations),
                )
                for block in region.blocks
            )
            for region in operation.regions
        )
        return operation.name, attributes, operands, results, blocks

    return key(operation, replaced)


# --- Unreachable entries, and overlapping entries, which match some of the same ops --------------

SHOWN: Final = 3
"""The maximum number of overlapping earlier entries that are named."""

_CHANGES: Final = "a matcher in between may change the payload"
_SUBSUMED: Final[pred.Opaque] = pred.Opaque("it is subsumed")


@dataclass(frozen=True)
class EntryReachability:
    """The answer to whether an entry can be the first of its `foreach_match` to match."""

    position: int
    entry: Entry
    verdict: Verdict
    subsuming: tuple[int, ...] = ()
    subsumed_by: tuple[Entry, ...] = ()
    witness: pred.Witness | None = None
    reason: str = ""

    @property
    def is_unreachable(self) -> bool:
        return self.verdict is Verdict.REFUTED

    @property
    def why_unreachable(self) -> str:
        """The reason why the entry is never reached, if so."""
        if not self.subsumed_by:
            return "it matches nothing"
        earlier = ", ".join(f"'@{entry.matcher}'" for entry in self.subsumed_by)
        return f"{earlier} comes first and matches all ops that it matches"

    def __str__(self) -> str:
        name = f"'@{self.entry.matcher} -> @{self.entry.action}'"
        if self.verdict is Verdict.PROVEN:
            return f"{name} is reached by {self.witness}"
        if self.verdict is Verdict.NOT_DECIDED:
            return f"whether {name} is reached is not decided: {self.reason}"
        if not self.subsumed_by:
            return f"{name} matches nothing"
        return f"{name} is never reached: {self.why_unreachable}"


@dataclass(frozen=True)
class WinningEntry:
    """An earlier entry that overlaps with a later one."""

    position: int
    entry: Entry = field(metadata=FLAT)
    witness: pred.Witness = field(metadata=TEXT)


@dataclass(frozen=True)
class EntryOverlap:
    """An entry, and earlier ones with other configurations that match some of the same ops."""

    position: int = field(metadata=HIDDEN)
    entry: Entry = field(metadata=HIDDEN)
    winners: tuple[WinningEntry, ...]
    at_most: int

    def __str__(self) -> str:
        first = self.winners[0]
        others = self.at_most - 1
        more = f", and up to {others} more earlier entries" if others else ""
        return (
            f"'@{self.entry.matcher} -> @{self.entry.action}' overlaps with '@{first.entry.matcher} -> "
            f"@{first.entry.action}'{more}, which decides about {first.witness} as it comes first"
        )


def find_reachability(
    spec: Spec, *, conditions: EntryConditions | None = None, needs_witnesses: bool = True
) -> list[EntryReachability]:
    """Return the reachability of each entry, in order; without witnesses only that of the unreachable entries."""
    read = conditions or EntryConditions(spec)
    anatomy = read.spec.anatomy
    reachability = []
    for entries in read.lists:
        # The matchers that may change the payload.
        changing = [
            position
            for position, condition in enumerate(entries.conditions)
            if isinstance(condition, pred.Opaque)
            and anatomy.table.may_change(anatomy.pairs[entries.start + position][0])
        ]
        for position, condition in enumerate(entries.conditions):
            subsumption: SubsumptionAnswer | None
            if needs_witnesses:
                subsumption = entries.subsumption.answer(position)
            else:
                subsumption = entries.subsumption.proof(position)
            if subsumption is None:
                continue
            # The subsuming matcher or a later one may change the payload before this one runs.
            if subsumption.subsuming and (
                bisect_left(changing, subsumption.subsuming[0]) != bisect_left(changing, position)
            ):
                subsumption = SubsumptionAnswer(Verdict.NOT_DECIDED, reason=_CHANGES)
            # An entry that others do not subsume is reached.
            verdict = subsumption.verdict
            if verdict is not Verdict.NOT_DECIDED:
                verdict = Verdict.REFUTED if verdict is Verdict.PROVEN else Verdict.PROVEN
            subsuming = tuple(entries.start + earlier for earlier in subsumption.subsuming)
            witness = None
            if subsumption.witness is not None and isinstance(condition, pred.Condition):
                witness = pred.witness_of(condition, subsumption.witness)
            reachability.append(
                EntryReachability(
                    entries.start + position,
                    anatomy.entry(entries.start + position),
                    verdict,
                    subsuming,
                    tuple(map(anatomy.entry, subsuming)),
                    witness,
                    subsumption.reason,
                )
            )
    return reachability


def find_unreachable(
    spec: Spec, *, conditions: EntryConditions | None = None
) -> list[EntryReachability]:
    """Find the entries that are never reached, in order."""
    entries = find_reachability(spec, conditions=conditions, needs_witnesses=False)
    return [entry for entry in entries if entry.is_unreachable]


def find_overlaps(
    spec: Spec, *, shown: int = SHOWN, conditions: EntryConditions | None = None
) -> list[EntryOverlap]:
    """Find the entries that overlap with earlier ones with other configurations.

    There is one finding for each later entry, so there are at most as many findings as entries. Subsumed and opaque
    entries are omitted, as are overlaps of matchers of different forms, which cannot be proven.
    """
    read = conditions or EntryConditions(spec)
    entry_at = read.spec.anatomy.entry
    result = []
    for entries in read.lists:
        reached: list[pred.Condition | pred.Opaque] = [
            condition if entries.subsumption.proof(position) is None else _SUBSUMED
            for position, condition in enumerate(entries.conditions)
        ]
        start = entries.start
        overlaps = Overlaps(reached, read.configurations[start : start + len(reached)])
        for position in range(len(reached)):
            earlier, at_most = overlaps.earlier(position, shown)
            winners = []
            for at, form, witness in earlier:
                condition = entries.conditions[form]
                assert isinstance(condition, pred.Condition), "only conditions can overlap"
                in_words = pred.witness_of(condition, witness)
                winners.append(WinningEntry(start + at, entry_at(start + at), in_words))
            if winners:
                at = start + position
                result.append(EntryOverlap(at, entry_at(at), tuple(winners), at_most))
    return result
