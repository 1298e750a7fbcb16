"""Answers about entries and specs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tuninglink.matching.conditions import Opaque
from tuninglink.matching.entry_conditions import EntryConditions, MatcherConditions
from tuninglink.matching.extents import box, static_box
from tuninglink.matching.predicates import HasExtent
from tuninglink.matching.reachability import EntryOverlap, find_overlaps, find_reachability
from tuninglink.mlir.diagnostics import DiagnosticSink
from tuninglink.payloads.sizing import describe_fact
from tuninglink.plain_data import EMPTY_IS_NULL, HIDDEN
from tuninglink.rules import Rule
from tuninglink.solver.answers import Verdict
from tuninglink.specs.entry_settings import hidden_failure
from tuninglink.specs.spec import Spec
from tuninglink.specs.structure import Entry


@dataclass(frozen=True)
class Answer:
    """The answer to a question: proven, refuted or undecided.

    Attributes:
        verdict: proven, refuted or not decided.
        reason: the reason if it is not proven.
        details: further sentences for the report.
        warning: the objection of the compiler's own constraints, if not refuted; may be empty.
        crash: why the code may crash, if not refuted; may be empty.
        slow: why the configuration may take minutes to compile, if not decided; may be empty.
        knobs: the knobs that the answer is about, starting with the one to change; may be empty.
        replaced: the entries that the nearest valid configuration changes, with their new values; may be empty.
        spills: the registers that the code spills to memory, in words; empty if none are known.
        miscompilation: why the code computes wrong results although it compiles; empty if no reason is known.
    """

    verdict: Verdict
    reason: str = field(default="", metadata=EMPTY_IS_NULL)
    details: tuple[str, ...] = ()
    warning: str = field(default="", metadata=EMPTY_IS_NULL)
    crash: str = field(default="", metadata=EMPTY_IS_NULL)
    slow: str = field(default="", metadata=EMPTY_IS_NULL)
    knobs: tuple[str, ...] = ()
    replaced: tuple[tuple[str, str], ...] = field(default=(), metadata=HIDDEN)
    miscompilation: str = field(default="", metadata=EMPTY_IS_NULL)
    spills: str = field(default="", metadata=EMPTY_IS_NULL)


@dataclass(frozen=True)
class Details:
    """The nearest valid configuration, which takes longer to compute than the answer.

    Attributes:
        notes: the details of the answer, each a sentence.
        knobs: see `Answer`.
        replaced: see `Answer`.
    """

    notes: tuple[str, ...] = ()
    knobs: tuple[str, ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()


class Reachability:
    """Reachability of entries after the earlier entries of a spec.

    Args:
        spec: the spec.
        matchers: the conditions of its matchers that were already read.
    """

    def __init__(self, spec: Spec, matchers: MatcherConditions) -> None:
        conditions = EntryConditions(spec, matchers)
        self._found = {
            reachability.position: reachability
            for reachability in find_reachability(spec, conditions=conditions)
        }
        self._overlaps = {
            overlap.position: overlap for overlap in find_overlaps(spec, conditions=conditions)
        }
        self._may_fail = _failing_entry_point(spec)

    def answer(self, position: int) -> Answer:
        """Return whether the entry at a position can be the first to match."""
        result = self._found[position]
        if result.is_unreachable:
            return Answer(result.verdict, result.why_unreachable)
        if self._may_fail and result.verdict is Verdict.PROVEN:
            return Answer(Verdict.NOT_DECIDED, self._may_fail)
        return Answer(result.verdict, result.reason)

    def overlap(self, position: int) -> EntryOverlap | None:
        """Return the earlier entries that overlap with the entry at a position; None without any."""
        return self._overlaps.get(position)


def _failing_entry_point(spec: Spec) -> str:
    """Return why an entry point that may fail makes entries unreachable; empty without such an entry point."""
    for entry_point in spec.anatomy.entry_points:
        check = hidden_failure(spec.anatomy.table, entry_point.sequence)
        if check is not None:
            return f"entry point '@{entry_point.name}' may fail at '{check.name}'"
    return ""


def check_sizes(
    entries: Iterable[Entry], matchers: MatcherConditions, diagnostics: DiagnosticSink
) -> None:
    """Warn about entries that only match ops over loops or dimensions of size 0.

    The interpreter matches such ops, but the compiler removes them, or crashes on a reduction of size 0, before it
    applies specs.
    """
    for entry in {entry.matcher: entry for entry in entries}.values():
        condition = matchers.of(entry.matcher)
        if isinstance(condition, Opaque):
            continue
        extents = static_box(box(condition.sizes))
        sizes = {dimension: extent.static_size() for dimension, extent in extents.items()}
        if None in sizes.values():
            continue  # It matches nothing, which is an error.
        for dimension, size in sizes.items():
            if size == 0:
                fact = describe_fact(HasExtent(dimension, extents[dimension]))
                message = f"entry '{entry.matcher}' can never match: {fact}, and no dispatch has a size of 0"
                diagnostics.warning(message, entry.place, rule=Rule.MATCHES_NOTHING)
