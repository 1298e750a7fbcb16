"""The structure of a spec: its entry points, entries and kind.

The analysis does not change the IR. Linking makes its decisions from it; no later step can fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import chain

from iree.compiler import ir as mlir

from tuninglink.errors import Diagnostic, Place, SpecError
from tuninglink.mlir import body, error, join_path, names, note, place_of, references, symbol_name
from tuninglink.plain_data import HIDDEN
from tuninglink.specs.module_scan import is_any_op, no_entry_point, signature
from tuninglink.specs.sequences import (
    Annotation,
    Handle,
    SequenceTable,
    is_plain_foreach_match,
    is_prepared_foreach_match,
    pairs_of,
)

UNNAMED = "unnamed_spec"
"""The name of a spec without one in the attribute of its entry points in a chain."""


class SpecKind(Enum):
    """The two kinds of specs that linking distinguishes; the value is the word for diagnostics."""

    MATCHER_LIST = "matcher list"
    OPAQUE = "opaque spec"


@dataclass(frozen=True)
class EntryPoint:
    """A named sequence that the compiler runs on a dispatch."""

    sequence: mlir.Operation
    name: str

    @property
    def path(self) -> str:
        """The reference to the entry point."""
        return join_path([self.name])


@dataclass(frozen=True)
class Entry:
    """One `matcher -> action` pair of a `foreach_match`.

    Attributes:
        matcher: the matcher's symbol, with nested references joined by `::`.
        anatomy: the structure of the spec that the entry belongs to. Comparisons of entries ignore it.
    """

    matcher: str
    action: str
    place: Place | None
    anatomy: Anatomy = field(compare=False, repr=False, metadata=HIDDEN)


class Anatomy:
    """The structure of the spec in `module`.

    Attributes:
        entry_points: the entry points of the spec or, if it is a chain, of its members.
        driver: the entry point that linking writes to run the members in order; None if the spec is not a chain.
    """

    def __init__(self, module: mlir.Operation) -> None:
        self.module = module
        self.table = SequenceTable(module)
        self.driver: EntryPoint | None = None
        self._entries: dict[int, Entry] = {}
        ops = self.table.scan.entry_points
        if not ops:
            raise SpecError(no_entry_point(module))
        for sequence in ops:
            if problem := signature_problem(sequence):
                raise SpecError(problem)
        points = tuple(EntryPoint(op, symbol_name(op) or "") for op in ops)
        self.entry_points = points
        # Split the entry points of a chain into the one that runs the others, and the others in execution order.
        chained = {p.name: p for p in points if names.CHAINED_ENTRY_POINT in p.sequence.attributes}
        drivers = tuple(point for point in points if point.name not in chained)
        if chained and drivers:
            self.entry_points = drivers
            order = [path[-1] for path in sequences_run(drivers[0].sequence)]
            if len(drivers) == 1 and sorted(order) == sorted(chained):
                self.driver = drivers[0]
                if self.is_used(drivers[0]):
                    self.driver = None
                else:
                    self.entry_points = tuple(chained[name] for name in order)

    @cached_property
    def opaque_because(self) -> Diagnostic | None:
        """The reason why the spec is opaque, as a note at the op that causes it; None for a matcher list."""
        if len(self.entry_points) != 1:
            return note("it has more than one entry point", self.entry_points[1].sequence)
        sequence = self.entry_points[0].sequence
        if not is_plain_foreach_match(sequence):
            return note(
                "its entry point is more than one plain 'foreach_match' and a yield", sequence
            )
        return self._unreadable_because

    @cached_property
    def is_readable(self) -> bool:
        """Whether the spec is a matcher list, apart from compiler passes that it may run first."""
        return (
            len(self.entry_points) == 1
            and is_prepared_foreach_match(self.entry_points[0].sequence)
            and self._unreadable_because is None
        )

    @cached_property
    def _unreadable_because(self) -> Diagnostic | None:
        """The reason why the spec's only list is not a plain list of annotating entries, or None."""
        if self.driver or self.is_used(self.entry_points[0]):
            return note(
                "its entry point is used by another sequence", self.entry_points[0].sequence
            )
        table = self.table
        for matcher, action in self.distinct_pairs:
            sequence = table.lookup(matcher)
            if problem := pair_problem(table, self.foreach_match, matcher, action):
                return problem
            if sequence in table.scan.including and table.may_change(matcher):
                return note(f"its matcher '{matcher}' may change the program", sequence)
            if table.annotations(action) is None:
                message = f"its action '{action}' does more than annotate"
                return note(message, table.lookup(action))
        return None

    def is_used(self, entry_point: EntryPoint) -> bool:
        """Return whether an include or a list outside the driver of a chain refers to an entry point."""
        is_driven = self.driver not in (None, entry_point)
        symbol = mlir.FlatSymbolRefAttr.get(entry_point.name, self.module.context)
        return self.table.scan.included[entry_point.path] > is_driven or symbol in self._listed

    @cached_property
    def _listed(self) -> frozenset[mlir.Attribute]:
        pairs = chain.from_iterable(map(pairs_of, self.table.scan.lists))
        return frozenset(chain.from_iterable(pairs))

    @cached_property
    def kind(self) -> SpecKind:
        """Whether the spec is a matcher list or opaque."""
        return SpecKind.OPAQUE if self.opaque_because else SpecKind.MATCHER_LIST

    @cached_property
    def foreach_match(self) -> mlir.Operation:
        """The one `foreach_match` of a matcher list."""
        return next(body(self.entry_points[0].sequence))

    @cached_property
    def reaches_other_ops(self) -> bool:
        """Whether an entry of this matcher list configures an op other than its matcher's operand."""
        return any(
            self.table.yielded(matcher, annotation.operand) != 0
            for matcher, action in self.distinct_pairs
            for annotation in self.annotations(action)
        )

    def annotations(self, action: str) -> tuple[Annotation, ...]:
        """Return the annotations of an action of this matcher list."""
        return self.table.annotations(action) or ()

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """The `(matcher, action)` pairs of all entries, in order of precedence; empty for a guarded chain.

        The pairs of a guarded chain are in its parts.
        """
        # Only guards add pairs that are not entries.
        are_guarded = is_guarded(self.entry_points[0].sequence)
        if are_guarded and self.driver is not None:
            return []
        return [
            pair
            for entry_point in self.entry_points
            for foreach_match in self.table.lists(entry_point.sequence)
            for pair in self.table.pairs(foreach_match)
            if not (are_guarded and self.table.is_bookkeeping(pair[0]))
        ]

    @cached_property
    def distinct_pairs(self) -> list[tuple[str, str]]:
        """One pair for each combination of matcher shape and action; other pairs differ from one only in parameters."""
        return self.table.distinct(self.pairs)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The entries of all `foreach_match` ops in the entry points, in order of precedence."""
        return tuple(map(self.entry, range(len(self.pairs))))

    def entry(self, position: int) -> Entry:
        """Return the entry at `position`, without computing all `entries`."""
        entry = self._entries.get(position)
        if entry is None:
            matcher, action = self.pairs[position]
            sequence = self.table.lookup(matcher)
            place = place_of(sequence.location) if sequence is not None else None
            entry = self._entries[position] = Entry(matcher, action, place, self)
        return entry


def sequences_run(entry_point: mlir.Operation) -> list[tuple[str, ...]]:
    """Return the sequences that an entry point chains by includes that pass on the root; empty if it does more."""
    root: Handle = entry_point.regions[0].blocks[0].arguments[0]
    *operations, terminator = body(entry_point)
    targets: list[tuple[str, ...]] = []
    for operation in operations:
        if operation.name == names.INCLUDE and operation.operands[0] == root:
            targets += references(operation.attributes["target"])
            root = operation.results[0]
        elif operation.name not in (names.SELECT, names.MERGE_HANDLES):
            return []
    return targets if list(terminator.operands) == [root] else []


def signature_problem(sequence: mlir.Operation) -> Diagnostic | None:
    """Return the reason why the signature of an entry point prevents linking, or None if it can be linked."""
    kind = signature(sequence)
    name = symbol_name(sequence)
    if names.CHAINED_ENTRY_POINT in sequence.attributes:
        return None
    if len(kind.inputs) != 1 or not is_any_op(kind.inputs[0]):
        return error(f"entry point '@{name}' must take one '!transform.any_op'", sequence)
    if len(kind.results) > 1 or not all(map(is_any_op, kind.results)):
        return error(f"entry point '@{name}' must return one '!transform.any_op'", sequence)
    if not sequence.regions[0].blocks:
        return error(f"entry point '@{name}' has no body", sequence)
    return None


def is_guarded(sequence: mlir.Operation) -> bool:
    """Return whether an entry point takes the decided ops next to the root."""
    return len(signature(sequence).inputs) > 1


def pair_problem(
    table: SequenceTable, foreach_match: mlir.Operation, matcher: str, action: str
) -> Diagnostic | None:
    """Return the reason why a pair of a list cannot be an entry for ops of any name, or None if it can."""
    sequence = table.lookup(matcher)
    if sequence is None or table.lookup(action) is None:
        return note(f"its entry '{matcher} -> {action}' is dangling", foreach_match)
    if not is_any_op(signature(sequence).inputs[0]):
        return note(f"its matcher '{matcher}' takes a typed operation", sequence)
    return None
