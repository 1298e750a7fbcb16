"""Upgrading a spec: rules first, then today's compiler has the last word."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tuninglink.errors import SpecError
from tuninglink.mlir import names
from tuninglink.mlir.contexts import thread_context
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error
from tuninglink.mlir.serialization import decode
from tuninglink.upgrading.attribute_rewriter import AttributeRewriter
from tuninglink.upgrading.edits import Edited, Edits
from tuninglink.upgrading.exclusion import Exclusion, exclude
from tuninglink.upgrading.generic_forms import Generalization
from tuninglink.upgrading.iteration_space import IterationSpaces
from tuninglink.upgrading.outline import SpecOutline
from tuninglink.upgrading.rejected_parts import find_rejected, parse_failure
from tuninglink.upgrading.rewrites import Rewrites
from tuninglink.upgrading.rule_definition import (
    AttributeRule,
    OperationRule,
    OperationSite,
    Refusal,
)
from tuninglink.upgrading.rules import RULES
from tuninglink.upgrading.rules.entry_points import unmarked
from tuninglink.upgrading.spec_text import Source
from tuninglink.upgrading.upgrade_report import KeptOut, Upgraded, UpgradedEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import Place
    from tuninglink.upgrading.upgrade_report import RuleChange


def upgrade(
    text: str,
    name: str = "<memory>",
    *,
    written_for: tuple[int, int] | None = None,
    context: mlir.Context | None = None,
) -> Upgraded:
    """Brings a spec that was written for an older compiler into today's syntax.

    What no rule changes comes back as it was, comments and layout included; a spec in today's syntax comes
    back character for character. What cannot be upgraded stands in the result as a comment, with the
    reason; the rest goes on.

    Args:
        text: the spec.
        name: what to call it in diagnostics and reports, usually its path.
        written_for: the version of the compiler that it was written for, if known; rules for changes up to
            that version are not applied.
        context: where the result is parsed and verified; by default the context of the calling thread.

    Raises:
        SpecError: the text is no spec at all, or nothing of it can be upgraded.
    """
    rewrites = rewrite(SpecOutline(Source(text, name)), written_for or (0, 0))
    upgraded = _verified(rewrites, context or thread_context())
    kept_out = {each.what for each in upgraded.kept_out}
    return replace(upgraded, hints=tuple(_hints(rewrites, kept_out)))


def upgrade_bytes(
    data: bytes,
    name: str = "<memory>",
    *,
    written_for: tuple[int, int] | None = None,
    context: mlir.Context | None = None,
) -> Upgraded:
    """Upgrades a spec that comes as bytes, as files do.

    Raises:
        SpecError: as `upgrade` does, and when the bytes are no text.
    """
    return upgrade(decode(data, name), name, written_for=written_for, context=context)


def rewrite(outline: SpecOutline, written_for: tuple[int, int]) -> Rewrites:
    """Applies the rules for changes after a version; those that are not decisive only to an old spec."""
    rules = [rule for rule in RULES.values() if rule.since > written_for]
    operation_rules = [rule for rule in rules if isinstance(rule, OperationRule)]
    rewrites, attributes, others = Rewrites(outline), Rewrites(outline), Rewrites(outline)
    generalization = Generalization(outline, rewrites.edits)
    decisive = [rule for rule in operation_rules if rule.is_decisive]
    _rewrite_operations(decisive, rewrites, generalization)
    attribute_rules = [rule for rule in rules if isinstance(rule, AttributeRule)]
    spaces = IterationSpaces(outline, generalization)
    AttributeRewriter(outline, attribute_rules, spaces).rewrite(attributes)
    if rewrites.is_old or attributes.is_old:
        rest = [rule for rule in operation_rules if not rule.is_decisive]
        _rewrite_operations(rest, others, generalization)
    rewrites.add(others)
    rewrites.add(attributes)
    return rewrites


def _rewrite_operations(
    rules: Iterable[OperationRule], rewrites: Rewrites, generalization: Generalization
) -> None:
    outline = rewrites.outline
    by_target: dict[str, list[OperationRule]] = {}
    for rule in rules:
        for target in rule.targets:
            by_target.setdefault(target, []).append(rule)
    for mark in outline.source.marks:
        for rule in by_target.get(mark.text, ()):
            site = OperationSite(mark, outline, rewrites.edits, generalization)
            try:
                rule.rewrite(site)
            except Refusal as refusal:
                rewrites.refuse(mark.start, str(refusal))
            finally:
                rewrites.record(rule.name, mark.start, site.notes)


def _hints(rewrites: Rewrites, kept_out: set[str]) -> Iterator[Diagnostic]:
    """Yields what to know of the result: of old configurations, or of the entry point of a spec of today."""
    outline = rewrites.outline
    for offset, reason in rewrites.failures:
        sequence = outline.sequence_at(offset)
        if sequence is None or f"@{sequence.name}" not in kept_out:
            message = f"the configuration is upgraded, and does not compile: {reason}"
            yield Diagnostic(Severity.WARNING, message, outline.source.place(offset))
    for sequence in unmarked(outline) if not rewrites.is_old else ():
        message = (
            f"'@{sequence.name}' is no marked entry point: today's compiler runs it alone, and drops it in "
            f"silence beside another spec; mark it '{names.ENTRY_POINT}' and return an operation, or let "
            "'tuninglink link' do so"
        )
        yield Diagnostic(Severity.REMARK, message, outline.source.place(sequence.start))


def _verified(rewrites: Rewrites, context: mlir.Context) -> Upgraded:
    """Returns the upgraded spec without the parts that today's compiler rejects.

    Raises:
        SpecError: nothing is left, or the compiler rejects the rest as a whole.
    """
    original, refused = rewrites.outline, rewrites.refused
    name = original.source.name
    edited = rewrites.edits.apply(original.source.text)
    outline = SpecOutline(Source(edited.text, name)) if refused else None
    exclusion = Exclusion(Edits().apply(edited.text), {}, {})
    if outline is not None:
        exclusion = exclude(outline, original, refused, {})
    failure = parse_failure(exclusion.edited.text, name, context)
    while failure is not None:
        outline = outline or SpecOutline(Source(edited.text, name))
        sequences, aliases = find_rejected(exclusion, outline, context)
        if not sequences and not aliases:
            break
        for index, (reason, offset) in sequences.items():
            refused.setdefault(index, (reason, edited.original(offset)))
        exclusion = exclude(outline, original, refused, exclusion.aliases | aliases)
        failure = parse_failure(exclusion.edited.text, name, context)
    upgraded = _result(rewrites, edited, exclusion)
    if failure is not None:
        message, at = failure
        raise SpecError(error(message, upgraded.origin(at or 0)))
    return upgraded


def _result(rewrites: Rewrites, edited: Edited, exclusion: Exclusion) -> Upgraded:
    """Returns the upgraded spec with what became of each entry.

    Raises:
        SpecError: no entry is left.
    """
    outline = rewrites.outline
    place = outline.source.place
    out: dict[str, KeptOut] = {}
    kept_out = []
    for index, reason in exclusion.excluded.items():
        sequence = outline.sequences[index]
        _, offset = rewrites.refused.get(index, ("", sequence.start))
        out[sequence.name] = KeptOut(f"@{sequence.name}", reason, place(offset))
        kept_out.append(out[sequence.name])
    aliases = (
        KeptOut(name, reason, place(outline.aliases[name].start))
        for name, reason in exclusion.aliases.items()
    )
    changes = tuple(change for change in rewrites.changes if change.sequence not in out)
    entries = tuple(_entries(outline, changes, out))
    if entries and all(entry.kept_out for entry in entries):
        notes = [error(f"{each.what}: {each.reason}", each.place) for each in kept_out]
        raise SpecError(error("no entry of the spec can be upgraded", place(0)), *notes)

    def origin(offset: int) -> Place:
        return place(edited.original(exclusion.edited.original(offset)))

    return Upgraded(exclusion.edited.text, changes, (*kept_out, *aliases), entries, origin)


def _entries(
    outline: SpecOutline, changes: Iterable[RuleChange], out: dict[str, KeptOut]
) -> Iterator[UpgradedEntry]:
    by_sequence: dict[str | None, list[RuleChange]] = {}
    for change in changes:
        by_sequence.setdefault(change.sequence, []).append(change)
    for sequence in outline.sequences:
        for foreach_match in outline.foreach_matches(sequence):
            for pair in foreach_match.pairs:
                parts = (pair.matcher, pair.action)
                result = tuple(one for part in parts for one in by_sequence.get(part, ()))
                kept_out = next((out[part] for part in parts if part in out), None)
                place = outline.source.place(pair.start)
                yield UpgradedEntry(pair.matcher, pair.action, place, result, kept_out)
