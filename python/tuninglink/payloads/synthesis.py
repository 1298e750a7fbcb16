"""Making a program that an entry matches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.targets import Target
from tuninglink.matching.conditions import Opaque
from tuninglink.matching.exact import exact_condition
from tuninglink.matching.reader import MatcherReader
from tuninglink.mlir import names
from tuninglink.mlir.serialization import to_text
from tuninglink.mlir.walk import collect
from tuninglink.payloads.interpretation import configured_if_matched, matches
from tuninglink.payloads.operations import UnknownArithmeticError
from tuninglink.payloads.payload import Payload, PayloadError, Size
from tuninglink.payloads.preferred_sizes import constants
from tuninglink.payloads.program_writer import write_body, write_program
from tuninglink.payloads.sizing import NoSizes, Sized, find_contradiction, find_sizes
from tuninglink.payloads.unsized_ops import UnsizedOps
from tuninglink.solver.answers import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from tuninglink.matching.conditions import Condition
    from tuninglink.payloads.op_templates import Template
    from tuninglink.payloads.unsized_ops import UnsizedOp
    from tuninglink.spaces.workload import Workload
    from tuninglink.specs.sequences import SequenceTable
    from tuninglink.specs.structure import Entry

_MOST_CANDIDATES: Final = 100
"""How many operations are tried for a matcher that says little of what it looks for."""

_MOST_REJECTIONS: Final = 8
"""After how many that had sizes, and that the interpreter did not match all the same, no more are tried."""

_GENERALIZING: Final = frozenset({"rocm", "cuda"})
"""Backends that replace named operations by generic ones before they match."""


def payload_for(entry: Entry, target: Target | str | None = None) -> Payload:
    """Makes a program that an entry matches.

    The operation is what the matcher demands, and the most common one where it leaves that open. The sizes that
    it demands are found by a solver; those that it leaves open are moderate multiples of the tiles of the
    configuration. The result was matched by the compiler's interpreter, with the entry alone; whether an earlier
    entry of its spec takes it first, `configures` tells. The same entry always gets the same program.

    Args:
        entry: the entry.
        target: what the program is for; named operations are kept for targets whose backend does.

    Raises:
        PayloadError: none can be made. The error says whether it is proven that there is none.
        TargetError: there is no such target.
    """
    return Synthesizer(target).payload(entry)


class Synthesizer:
    """Makes programs for many entries: what entries that differ in sizes only have in common is made once.

    The entries are those of specs in one context.

    Args:
        target: what programs are for; named operations are kept for targets whose backend does.

    Raises:
        TargetError: there is no such target.
    """

    def __init__(self, target: Target | str | None = None) -> None:
        self._target = Target.parse(target) if isinstance(target, str) else target
        generalizes = self._target is None or self._target.backend in _GENERALIZING
        self._unsized_ops = UnsizedOps(generalizes=generalizes)

    def payload(self, entry: Entry) -> Payload:
        """Makes a program that an entry matches; see `payload_for`."""
        return self._made(entry, None).write()

    def configured(self, entry: Entry, attribute: mlir.Attribute) -> Configured:
        """Makes a program that an entry matches, and has the entry configure it.

        Args:
            entry: the entry.
            attribute: what the dispatch is for, a `#hal.executable.target` in the context of the entry.

        Raises:
            PayloadError: no program can be made.
        """
        return self._made(entry, attribute)

    def _made(self, entry: Entry, attribute: mlir.Attribute | None) -> Configured:
        with entry.anatomy.module.context, mlir.Location.unknown():
            return _Synthesis(entry, self._target, attribute, self._unsized_ops).run()


@dataclass(frozen=True)
class Configured:
    """A payload that is written when it is asked for, and its dispatch as its entry configures it.

    Attributes:
        shapes: see `Payload.shapes`.
        dispatch: the dispatch; None if the compiler refuses what the entry does, and where nobody asked.
        write: writes the payload, in the thread of the entry's context.
    """

    shapes: str
    dispatch: Workload | None
    write: Callable[[], Payload]


@dataclass(frozen=True)
class _Draft:
    """A sized operation for an entry, of which a payload can be written."""

    entry: Entry
    target: Target | None
    unsized: UnsizedOp
    sized: Sized
    fills: bool

    @property
    def template(self) -> Template:
        """The operation."""
        return self.unsized.template

    @cached_property
    def body(self) -> mlir.Operation:
        """The body of a payload that the compiler takes."""
        body = write_body(self.template, self.sized, fills=self.fills)
        body.verify()
        if self.fills not in self.unsized.verified:  # where sizes make no difference
            write_program(self.template, self.sized, fills=self.fills).verify()
            self.unsized.verified.add(self.fills)
        return body

    @cached_property
    def shapes(self) -> str:
        """The types of the operands of the root op."""
        (function,) = collect(self.body, names.FUNCTION)
        root = list(function.regions[0].blocks[0].operations)[-2]
        return ", ".join(str(operand.type) for operand in root.operands)

    def payload(self) -> Payload:
        """Writes the payload."""
        with self.entry.anatomy.module.context, mlir.Location.unknown():
            body = write_body(self.template, self.sized, fills=self.fills)
            program = write_program(self.template, self.sized, fills=self.fills)
        for each in (body, program):
            each.verify()
        sizes = tuple(
            Size(loop, self.template.op.roles[loop], size, loop in self.sized.demanded)
            for loop, size in enumerate(self.sized.loops)
        )
        texts = to_text(program), to_text(body)
        return Payload(self.entry, self.target, *texts, self.shapes, sizes)


class _Synthesis:
    def __init__(
        self,
        entry: Entry,
        target: Target | None,
        attribute: mlir.Attribute | None,
        unsized_ops: UnsizedOps,
    ) -> None:
        self._entry = entry
        self._target = target
        self._attribute = attribute
        self._unsized_ops = unsized_ops
        self._matcher = _involved(entry.anatomy.table, entry.matcher)

    def _error(self, reason: str, verdict: Verdict = Verdict.NOT_DECIDED) -> PayloadError:
        return PayloadError(self._entry, reason, verdict)

    def run(self) -> Configured:
        """Tries all operations that may do, and returns the first that does.

        Raises:
            PayloadError: none does.
        """
        matcher = MatcherReader(self._entry.anatomy.table).read(self._entry.matcher)
        condition = exact_condition(matcher)
        if isinstance(condition, Opaque):
            is_refuted = condition.is_contradiction
            verdict = Verdict.REFUTED if is_refuted else Verdict.NOT_DECIDED
            raise self._error(condition.reason, verdict)
        if condition.names is not None and not condition.names:
            raise self._error("no operation has all the names that it asks for", Verdict.REFUTED)
        contradiction = find_contradiction(condition.sizes)
        if contradiction is not None:
            raise self._error(contradiction.reason, contradiction.verdict)
        try:
            return self._first_that_fits(condition)
        except UnknownArithmeticError as failure:
            raise self._error(str(failure)) from None

    def _first_that_fits(self, condition: Condition) -> Configured:
        """Returns a payload with the first operation that fits."""
        action = _involved(self._entry.anatomy.table, self._entry.action)
        configurations = constants([*self._matcher, *action])
        failures: list[NoSizes] = []
        rejections = 0
        is_proof = True
        unsized_ops = self._unsized_ops.of(condition, self._matcher)
        for unsized in islice(unsized_ops, _MOST_CANDIDATES):
            sized = find_sizes(unsized, condition.sizes, configurations)
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

    def _no_operation(self, wanted: frozenset[str]) -> PayloadError:
        """Returns the error for operations of which none can be built."""
        if not wanted:
            return self._error("no operation has operands of the ranks that it asks for")
        context = self._entry.anatomy.module.context
        existing = sorted(name for name in wanted if context.is_registered_operation(name))
        if not existing:
            names_ = " or ".join(f"'{each}'" for each in sorted(wanted))
            return self._error(f"the compiler has no operation {names_}", Verdict.REFUTED)
        names_ = " or ".join(f"'{each}'" for each in existing)
        return self._error(f"no program with {names_} is known that fits")

    def _made(self, unsized: UnsizedOp, sized: Sized, condition: Condition) -> Configured | NoSizes:
        """Returns the payload with a sized operation, if the compiler takes it and the entry matches it."""
        fills = _leaves_fills_alone(condition)
        draft = _Draft(self._entry, self._target, unsized, sized, fills)
        try:
            matched = self._matched(draft) if self._attribute is None else self._configured(draft)
        except mlir.MLIRError as failure:
            first, *_ = failure.error_diagnostics
            reason = f"the compiler refuses what it may look for: {first.message}"
            return NoSizes(Verdict.NOT_DECIDED, reason)
        if matched is not None:
            return matched
        reason = f"the interpreter does not find that it matches {draft.shapes}"
        template = unsized.template
        if template.is_exact and template.forgotten is not None:
            reason += (
                f": argument {template.forgotten} of its graph is used where only a name counts"
            )
        return NoSizes(Verdict.NOT_DECIDED, reason)

    def _matched(self, draft: _Draft) -> Configured | None:
        """Returns a payload, None if the entry does not match it."""
        payload = draft.payload()
        is_matched = matches(self._entry, payload)
        return Configured(payload.shapes, None, lambda: payload) if is_matched else None

    def _configured(self, draft: _Draft) -> Configured | None:
        """Returns a payload as the entry configures it, None if the entry does not match it."""
        assert self._attribute is not None
        body, shapes = draft.body, draft.shapes
        try:
            dispatch = configured_if_matched(self._entry, body, self._attribute)
        except mlir.MLIRError:
            return self._matched(draft)  # The matcher alone may match all the same.
        return None if dispatch is None else Configured(shapes, dispatch, draft.payload)


def _leaves_fills_alone(condition: Condition) -> bool:
    """Tells whether a matcher surely does not match the fills beside the operation that it looks for."""
    if condition.names is not None:
        return names.FILL not in condition.names
    return bool(condition.kinds or condition.root is not None or condition.maps is not None)


def _involved(table: SequenceTable, path: str) -> list[mlir.Operation]:
    """Returns a sequence and, behind it, what it runs."""
    return [sequence for _, sequence in table.closure(path)][::-1]
