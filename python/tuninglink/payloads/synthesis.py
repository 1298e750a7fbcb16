"""Making a program that an entry matches."""

from __future__ import annotations

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
from tuninglink.payloads.candidates import Candidates
from tuninglink.payloads.interpretation import matches
from tuninglink.payloads.operations import UnknownArithmeticError
from tuninglink.payloads.payload import Payload, PayloadError, Size
from tuninglink.payloads.preferences import tiles
from tuninglink.payloads.programs import write_body, write_program
from tuninglink.payloads.sizing import NoSizes, Sized, find_contradiction, find_sizes
from tuninglink.solver.answers import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.matching.conditions import Condition
    from tuninglink.payloads.templates import Template
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
    target = Target.parse(target) if isinstance(target, str) else target
    with entry.anatomy.module.context, mlir.Location.unknown():
        return _Synthesis(entry, target).run()


class _Synthesis:
    def __init__(self, entry: Entry, target: Target | None) -> None:
        self._entry = entry
        self._target = target
        self._matcher = _involved(entry.anatomy.table, entry.matcher)

    def _error(self, reason: str, verdict: Verdict = Verdict.NOT_DECIDED) -> PayloadError:
        return PayloadError(self._entry, reason, verdict)

    def run(self) -> Payload:
        """Tries all operations that may do, and returns the first that does.

        Raises:
            PayloadError: none does.
        """
        matcher = MatcherReader(self._entry.anatomy.table).read(self._entry.matcher)
        condition = exact_condition(matcher)
        if isinstance(condition, Opaque):
            raise self._error(condition.reason)
        if condition.names is not None and not condition.names:
            raise self._error("no operation has all the names that it asks for", Verdict.REFUTED)
        contradiction = find_contradiction(condition.sizes)
        if contradiction is not None:
            raise self._error(contradiction.reason, contradiction.verdict)
        try:
            return self._first_that_fits(condition)
        except UnknownArithmeticError as failure:
            raise self._error(str(failure)) from None

    def _first_that_fits(self, condition: Condition) -> Payload:
        """Returns a payload with the first operation that fits."""
        failures: list[NoSizes] = []
        rejections = 0
        is_proof = True
        for template in islice(self._candidates(condition), _MOST_CANDIDATES):
            sized = find_sizes(template, condition.sizes, self._tiles(template))
            made = sized if isinstance(sized, NoSizes) else self._made(template, sized, condition)
            if isinstance(made, Payload):
                return made
            is_proof &= template.is_exact or condition.maps is not None
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

    def _tiles(self, template: Template) -> dict[int, int]:
        action = _involved(self._entry.anatomy.table, self._entry.action)
        return tiles([*self._matcher, *action], template.op)

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

    def _candidates(self, condition: Condition) -> Iterator[Template]:
        target = self._target
        generalizes = target is None or target.backend in _GENERALIZING
        return Candidates(condition, self._matcher, generalizes=generalizes).all()

    def _made(self, template: Template, sized: Sized, condition: Condition) -> Payload | NoSizes:
        """Returns the payload with a sized operation, if the compiler takes it and the entry matches it."""
        try:
            payload = self._write(template, sized, condition)
        except mlir.MLIRError as failure:
            first, *_ = failure.error_diagnostics
            reason = f"the compiler refuses what it may look for: {first.message}"
            return NoSizes(Verdict.NOT_DECIDED, reason)
        if matches(self._entry, payload):
            return payload
        reason = f"the interpreter does not find that it matches {payload.shapes}"
        if template.is_exact and template.forgotten is not None:
            reason += (
                f": argument {template.forgotten} of its graph is used where only a name counts"
            )
        return NoSizes(Verdict.NOT_DECIDED, reason)

    def _write(self, template: Template, sized: Sized, condition: Condition) -> Payload:
        fills = _leaves_fills_alone(condition)
        body = write_body(template, sized, fills=fills)
        program = write_program(template, sized, fills=fills)
        sizes = tuple(
            Size(loop, template.op.roles[loop], size, loop in sized.demanded)
            for loop, size in enumerate(sized.loops)
        )
        for each in (body, program):
            each.verify()
        (function,) = collect(body, names.FUNCTION)
        root = list(function.regions[0].blocks[0].operations)[-2]
        shapes = ", ".join(str(each.type) for each in root.operands)
        return Payload(self._entry, self._target, to_text(program), to_text(body), shapes, sizes)


def _leaves_fills_alone(condition: Condition) -> bool:
    """Tells whether a matcher surely does not match the fills beside the operation that it looks for."""
    if condition.names is not None:
        return names.FILL not in condition.names
    return bool(condition.kinds or condition.root is not None or condition.maps is not None)


def _involved(table: SequenceTable, path: str) -> list[mlir.Operation]:
    """Returns a sequence and, behind it, what it runs."""
    return [sequence for _, sequence in table.closure(path)][::-1]
