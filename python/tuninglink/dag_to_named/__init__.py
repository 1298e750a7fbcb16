"""Conversion of DAG matchers to contraction and convolution matchers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.dag_to_named.perturbations import Program, perturbations
from tuninglink.dag_to_named.replacement import NotExpressible, read_dag, replace_dag
from tuninglink.mlir import names
from tuninglink.mlir.serialization import parse_module, to_text
from tuninglink.mlir.symbols import reference, symbol_name
from tuninglink.mlir.walk import body, collect
from tuninglink.payloads import PayloadError, payload_for, spec_of, winners
from tuninglink.specs.structure import Anatomy, Entry

if TYPE_CHECKING:
    from tuninglink.mlir.diagnostics import Place
    from tuninglink.payloads import Payload
    from tuninglink.specs.spec import Spec

__all__ = ["ConvertedEntry", "ConvertedSpec", "convert_dags"]


@dataclass(frozen=True)
class ConvertedEntry:
    """The result for one entry.

    Attributes:
        matcher: the symbol of its matcher.
        action: the symbol of its action.
        place: the definition of its matcher, or None without a location.
        matcher_ops: the ops that replace its DAG matchers, such as `transform.iree.match.contraction`; empty if
            the entry is unchanged.
        programs: the number of programs on which the old and the new matcher agree.
        reason: the reason why the entry is unchanged; empty if it is converted.
    """

    matcher: str
    action: str
    place: Place | None
    matcher_ops: tuple[str, ...] = ()
    programs: int = 0
    reason: str = ""

    def __str__(self) -> str:
        names = f"@{self.matcher} -> @{self.action}"
        if not self.matcher_ops:
            return f"{names}: as it was: {self.reason}"
        replaced_by = " and ".join(f"'{op}'" for op in self.matcher_ops)
        return f"{names}: {replaced_by}; the same answers on {self.programs} programs"


@dataclass(frozen=True)
class ConvertedSpec:
    """A spec with its DAG matchers converted where the interpreter shows no difference.

    Attributes:
        text: the spec, as the compiler prints it.
        entries: the result for each entry, in order of precedence.
    """

    text: str
    entries: tuple[ConvertedEntry, ...]

    def __str__(self) -> str:
        """Return the results in words, one line each."""
        count = sum(bool(entry.matcher_ops) for entry in self.entries)
        lines = [f"{count} of {len(self.entries)} entries modernized"]
        lines += [f"  {entry}" for entry in self.entries]
        return "\n".join(lines) + "\n"


class _Different(Exception):  # noqa: N818 - an answer, not an error
    """An error for an old and a new matcher that are not proven equivalent."""


def convert_dags(spec: Spec) -> ConvertedSpec:
    """Convert DAG matchers to contraction and convolution matchers where the matches stay the same.

    For each entry, a matching program and variants with one difference each are generated. The interpreter runs the
    old and the new matcher on all of them. An entry is converted if both match the first program and agree on the
    others. One difference is intended: a DAG matcher rejects an op with any attribute that the DAG lacks, and the new
    matcher only one with a configuration.

    Args:
        spec: the spec. It is not changed.
    """
    return _Conversion(spec).run()


@dataclass
class _Conversion:
    """The conversion of a spec."""

    spec: Spec
    _reasons: dict[str, str] = field(default_factory=dict)
    """The reasons why sequences stay unchanged, by name."""
    _matcher_ops: dict[str, str] = field(default_factory=dict)
    """The matcher op that replaces the DAG matchers of each sequence."""

    def run(self) -> ConvertedSpec:
        module = self._converted()
        entries = self._compare(Anatomy(module))
        while any(entry.reason and self._convertible(entry) for entry in entries):
            # A sequence that one entry needs unchanged stays unchanged for all its users.
            for entry in entries:
                if entry.reason:
                    self._keep(self._convertible(entry), entry)
            module = self._converted()
            entries = self._compare(Anatomy(module))
        return ConvertedSpec(to_text(module), tuple(entries))

    def _converted(self) -> mlir.Operation:
        """Return a copy of the spec with its DAG matchers converted, except for sequences in `_reasons`."""
        module = self.spec.module.clone()
        for sequence in body(module):
            name = symbol_name(sequence) or ""
            if sequence.name != names.NAMED_SEQUENCE:
                continue
            dags = collect(sequence, names.MATCH_DAG)
            if not dags or name in self._reasons:
                continue
            try:
                matchers = [read_dag(dag) for dag in dags]
            except NotExpressible as failure:
                self._reasons[name] = failure.reason
                continue
            for matcher in matchers:
                self._matcher_ops[name] = matcher.named
                replace_dag(matcher)
        return module

    @cached_property
    def _includes(self) -> dict[str, list[str]]:
        """The sequences that each sequence includes, by name."""
        return {
            symbol_name(sequence) or "": [
                reference(op.attributes["target"]) for op in collect(sequence, names.INCLUDE)
            ]
            for sequence in body(self.spec.module)
            if sequence.name == names.NAMED_SEQUENCE
        }

    def _used(self, entry: Entry | ConvertedEntry) -> list[str]:
        """Return the sequences with DAG matchers that an entry's matcher includes."""
        waiting, seen = [entry.matcher], {entry.matcher}
        while waiting:
            for target in self._includes.get(waiting.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return [name for name in sorted(seen) if name in self._matcher_ops or name in self._reasons]

    def _convertible(self, entry: ConvertedEntry) -> list[str]:
        return [name for name in self._used(entry) if name not in self._reasons]

    def _keep(self, sequences: Iterable[str], entry: ConvertedEntry) -> None:
        for sequence in sequences:
            self._reasons[sequence] = f"@{entry.matcher} needs it: {entry.reason}"
            self._matcher_ops.pop(sequence, None)

    def _compare(self, fresh: Anatomy) -> list[ConvertedEntry]:
        return [
            self._answer(old, new)
            for old, new in zip(self.spec.entries, fresh.entries, strict=True)
        ]

    def _answer(self, old: Entry, new: Entry) -> ConvertedEntry:
        answer = ConvertedEntry(old.matcher, old.action, old.place)
        used = self._used(old)
        matcher_ops = tuple(
            dict.fromkeys(self._matcher_ops[name] for name in used if name in self._matcher_ops)
        )
        if not matcher_ops:
            reasons = [self._reasons[name] for name in used]
            return replace(answer, reason="; ".join(reasons) or "it has no dag matcher")
        try:
            programs = _same_answers(old, new)
        except _Different as failure:
            return replace(answer, reason=str(failure))
        return replace(answer, matcher_ops=matcher_ops, programs=programs)


def _same_answers(old: Entry, new: Entry) -> int:
    """Compare two entries, and return the number of programs.

    Raises:
        _Different: their answers differ, or cannot be compared.
    """
    try:
        payload = payload_for(old)
    except PayloadError as failure:
        raise _Different(f"no matching program was found: {failure.reason}") from None
    context = old.anatomy.module.context
    programs = list(perturbations(payload.body, context))
    if not programs:
        raise _Different("the program that is made for it has no 'linalg.generic' at its end")
    before, after = (_matched(entry, payload, programs) for entry in (old, new))
    if not (before[0] and after[0]):
        raise _Different("the new matcher does not match the program that is made for the old one")
    for program, was, now in zip(programs, before, after, strict=True):
        if was != now:
            raise _Different(
                f"where {program.what}, the dag {'matches' if was else 'does not match'}, and "
                f"what would replace it {'does' if now else 'does not'}"
            )
    return len(programs)


def _matched(entry: Entry, payload: Payload, programs: Sequence[Program]) -> list[bool]:
    """Return for each program whether a spec with only one entry matches it."""
    context = entry.anatomy.module.context
    alone = Anatomy(parse_module(spec_of(entry), "entry", context))
    payloads = [replace(payload, body=program.text) for program in programs]
    try:
        return [winner is not None for winner in winners(alone, payloads)]
    except mlir.MLIRError as failure:
        raise _Different(f"the interpreter fails on it: {failure}") from None
