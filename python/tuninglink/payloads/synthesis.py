"""Synthesis of a program that an entry matches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.targets import Target
from tuninglink.matching.conditions import Condition, Opaque
from tuninglink.matching.entry_conditions import MatcherConditions
from tuninglink.mlir.diagnostics import first_error
from tuninglink.payloads.drafts import Configured, Draft, configured_together
from tuninglink.payloads.interpretation import configured_if_matched, matches
from tuninglink.payloads.operations import UnknownArithmeticError
from tuninglink.payloads.payload import Payload, PayloadError
from tuninglink.payloads.sizing import NoSizes, Sized, find_contradiction, find_sizes
from tuninglink.payloads.unsized_ops import UnsizedOp, UnsizedOps, constants
from tuninglink.solver.answers import Verdict
from tuninglink.specs.sequences import SequenceTable
from tuninglink.specs.structure import Entry

_MOST_CANDIDATES: Final = 100
"""The number of operations to try for a matcher with few conditions."""

_MOST_REJECTIONS: Final = 8
"""The number of sized operations to try that the interpreter does not match."""

_GENERALIZING: Final = frozenset({"rocm", "cuda"})
"""Backends that generalize named operations before specs match."""


def payload_for(entry: Entry, target: Target | str | None = None) -> Payload:
    """Create a program that an entry matches.

    The operation is the most common one that satisfies the conditions of the matcher. A solver finds the sizes;
    unconstrained sizes are moderate multiples of the configuration's tiles. A run of the interpreter confirms that the
    entry alone matches the program. `configures` determines whether an earlier entry of the spec matches it first.
    The same entry always results in the same program.

    Args:
        entry: the entry.
        target: the target of the program; named operations are kept for targets whose backend keeps them.

    Raises:
        PayloadError: no program was found. The error states whether it is proven that none exists.
        TargetError: the target is unknown.
    """
    return Synthesizer(target).payload(entry)


class Synthesizer:
    """A synthesizer of programs for many entries that shares work between entries that differ only in sizes.

    The entries belong to specs in one context.

    Args:
        target: the target of the programs; named operations are kept for targets whose backend keeps them.
        matchers: the conditions of a spec's matchers, if they were already read.

    Raises:
        TargetError: the target is unknown.
    """

    def __init__(
        self, target: Target | str | None = None, matchers: MatcherConditions | None = None
    ) -> None:
        self._matchers = matchers
        self._target = Target.parse(target) if isinstance(target, str) else target
        generalizes = self._target is None or self._target.backend in _GENERALIZING
        self._unsized_ops = UnsizedOps(generalizes=generalizes)

    def payload(self, entry: Entry) -> Payload:
        """Return a program that an entry matches; see `payload_for`."""
        return self._made(entry, None).write()

    def configured(self, entry: Entry, attribute: mlir.Attribute) -> Configured:
        """Return a program that an entry matches, configured by the entry.

        Args:
            entry: the entry.
            attribute: the target of the dispatch, a `#hal.executable.target` in the context of the entry.

        Raises:
            PayloadError: no program was found.
        """
        return self._made(entry, attribute)

    def configured_together(
        self, entries: Sequence[Entry], attribute: mlir.Attribute
    ) -> Iterator[Configured | PayloadError]:
        """Yield the result or the error of `configured` for each entry, with few runs of the interpreter.

        Args:
            entries: entries of one spec.
            attribute: see `configured`.
        """
        drafts = [self._first_draft(entry) for entry in entries]
        for entry, together in zip(entries, configured_together(drafts, attribute), strict=True):
            try:
                yield together or self.configured(entry, attribute)
            except PayloadError as failure:
                yield failure

    def _first_draft(self, entry: Entry) -> Draft | None:
        with entry.anatomy.module.context, mlir.Location.unknown():
            return self._synthesis(entry, None).first_draft()

    def _made(self, entry: Entry, attribute: mlir.Attribute | None) -> Configured:
        with entry.anatomy.module.context, mlir.Location.unknown():
            return self._synthesis(entry, attribute).run()

    def _synthesis(self, entry: Entry, attribute: mlir.Attribute | None) -> _Synthesis:
        table = entry.anatomy.table
        if self._matchers is None or self._matchers.table is not table:
            self._matchers = MatcherConditions(table)
        return _Synthesis(entry, self._target, attribute, self._unsized_ops, self._matchers)


class _Synthesis:
    def __init__(
        self,
        entry: Entry,
        target: Target | None,
        attribute: mlir.Attribute | None,
        unsized_ops: UnsizedOps,
        matchers: MatcherConditions,
    ) -> None:
        self._entry = entry
        self._target = target
        self._attribute = attribute
        self._unsized_ops = unsized_ops
        self._matchers = matchers
        self._matcher = _with_includes(entry.anatomy.table, entry.matcher)

    def _error(self, reason: str, verdict: Verdict = Verdict.NOT_DECIDED) -> PayloadError:
        return PayloadError(self._entry, reason, verdict)

    def run(self) -> Configured:
        """Try the candidate operations, and return the first that the entry matches.

        Raises:
            PayloadError: the entry matches none of them.
        """
        condition = self._condition()
        try:
            return self._first_match(condition)
        except UnknownArithmeticError as failure:
            raise self._error(str(failure)) from None

    def first_draft(self) -> Draft | None:
        """Return the first candidate operation, if it has sizes that the compiler accepts."""
        try:
            condition = self._condition()
            unsized = next(self._unsized_ops.of(condition, self._matcher), None)
            if unsized is None:
                return None
            sized = self._sized(unsized, condition)
            if isinstance(sized, NoSizes):
                return None
            return self._draft(unsized, sized, condition).verified()
        except (PayloadError, UnknownArithmeticError, mlir.MLIRError):
            return None

    def _condition(self) -> Condition:
        """Return the condition of the matcher.

        Raises:
            PayloadError: it cannot be read, or contradicts itself.
        """
        condition = self._matchers.of(self._entry.matcher)
        if isinstance(condition, Opaque):
            is_refuted = condition.is_contradiction
            verdict = Verdict.REFUTED if is_refuted else Verdict.NOT_DECIDED
            raise self._error(condition.reason, verdict)
        if condition.names is not None and not condition.names:
            raise self._error("no operation has all the required names", Verdict.REFUTED)
        contradiction = find_contradiction(condition.sizes)
        if contradiction is not None:
            raise self._error(contradiction.reason, contradiction.verdict)
        return condition

    @cached_property
    def _configurations(self) -> tuple[mlir.Attribute, ...]:
        action = _with_includes(self._entry.anatomy.table, self._entry.action)
        return constants([*self._matcher, *action])

    def _sized(self, unsized: UnsizedOp, condition: Condition) -> Sized | NoSizes:
        return find_sizes(unsized, condition.sizes, lambda: self._configurations)

    def _draft(self, unsized: UnsizedOp, sized: Sized, condition: Condition) -> Draft:
        return Draft(self._entry, self._target, unsized, sized, condition)

    def _first_match(self, condition: Condition) -> Configured:
        """Return a payload with the first operation that the entry matches."""
        failures: list[NoSizes] = []
        rejections = 0
        is_proof = True
        unsized_ops = self._unsized_ops.of(condition, self._matcher)
        for unsized in islice(unsized_ops, _MOST_CANDIDATES):
            sized = self._sized(unsized, condition)
            made = sized if isinstance(sized, NoSizes) else self._made(unsized, sized, condition)
            if isinstance(made, Configured):
                return made
            is_proof &= unsized.template.is_exact or condition.maps is not None
            failures.append(made)
            rejections += isinstance(sized, Sized)
            if rejections == _MOST_REJECTIONS:
                break
        if not failures:
            raise self._no_operation(condition.names or frozenset())
        first = failures[0]
        if len(failures) > 1:
            reason = (
                f"none of {len(failures)} operations fits; the first does not since {first.reason}"
            )
            raise self._error(reason)
        raise self._error(first.reason, first.verdict if is_proof else Verdict.NOT_DECIDED)

    def _no_operation(self, op_names: frozenset[str]) -> PayloadError:
        """Return the error for a matcher without candidate operations."""
        if not op_names:
            return self._error("no operation has operands of the required ranks")
        context = self._entry.anatomy.module.context
        existing = sorted(name for name in op_names if context.is_registered_operation(name))
        if not existing:
            names_ = " or ".join(f"'{name}'" for name in sorted(op_names))
            return self._error(
                f"the compiler does not define the operation {names_}", Verdict.REFUTED
            )
        names_ = " or ".join(f"'{name}'" for name in existing)
        return self._error(f"no program with {names_} was found that fits")

    def _made(self, unsized: UnsizedOp, sized: Sized, condition: Condition) -> Configured | NoSizes:
        """Return the payload with a sized operation, if the compiler accepts it and the entry matches it."""
        draft = self._draft(unsized, sized, condition)
        try:
            matched = self._matched(draft) if self._attribute is None else self._configured(draft)
        except mlir.MLIRError as failure:
            reason = f"the compiler rejects the candidate operation: {first_error(failure)}"
            return NoSizes(Verdict.NOT_DECIDED, reason)
        if matched is not None:
            return matched
        reason = f"the interpreter does not match it with {draft.shapes}"
        template = unsized.template
        if template.is_exact and template.name_only_argument is not None:
            reason += f": argument {template.name_only_argument} of its graph is only used by ops that match by name"
        return NoSizes(Verdict.NOT_DECIDED, reason)

    def _matched(self, draft: Draft) -> Configured | None:
        """Return a payload, or None if the entry does not match it."""
        payload = draft.payload()
        is_matched = matches(self._entry, payload)
        return Configured(payload.shapes, None, lambda: payload) if is_matched else None

    def _configured(self, draft: Draft) -> Configured | None:
        """Return a payload as the entry configures it, or None without a match."""
        assert self._attribute is not None
        module, shapes = draft.body, draft.shapes
        try:
            function = configured_if_matched(self._entry, module, self._attribute)
        except mlir.MLIRError:
            return self._matched(draft)  # The matcher alone may still match.
        if function is None:
            return None
        dispatch = draft.workload(function, module, self._attribute)
        return Configured(shapes, dispatch, draft.payload)


def _with_includes(table: SequenceTable, path: str) -> list[mlir.Operation]:
    """Return a sequence after the sequences that it runs."""
    return [sequence for _, sequence in table.closure(path)][::-1]
