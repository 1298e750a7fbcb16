"""The upgrade of a spec: rules first, then verification by today's compiler."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.arguments import Content, described
from tuninglink.errors import Diagnostic, Place, Severity, SpecError, printable
from tuninglink.files import cannot
from tuninglink.mlir import decode, error, names, thread_context
from tuninglink.rules import Rule
from tuninglink.upgrading.attribute_rules import RULES
from tuninglink.upgrading.loops import Generalization, IterationSpaces
from tuninglink.upgrading.operation_rules import is_entry_point, unmarked
from tuninglink.upgrading.outline import (
    Exclusion,
    SpecOutline,
    exclude,
    find_rejected,
    parse_failure,
)
from tuninglink.upgrading.rule_definition import (
    AttributeRewriter,
    KeptOut,
    OperationSite,
    Refusal,
    Rewrites,
    RuleChange,
    Upgraded,
    UpgradedEntry,
    UpgradeRule,
)
from tuninglink.upgrading.spec_text import Edited, Edits, SpecText


def upgrade(
    source: str | os.PathLike[str] | Content,
    name: str = "",
    *,
    written_for: tuple[int, int] | None = None,
    context: mlir.Context | None = None,
) -> Upgraded:
    """Upgrade a spec that was written for an older compiler to today's syntax.

    Parts that rules do not change stay identical, including comments and layout. A spec in today's syntax is not
    changed at all. Parts that cannot be upgraded become comments with the reason.

    Args:
        source: the spec: text, its path, or text as bytes.
        name: its name in diagnostics and reports; by default its path, or `<memory>`.
        written_for: the version of the compiler that it was written for, if known. Rules for changes up to that
            version are not applied.
        context: the context for parsing and verifying the result; by default that of the calling thread.

    Raises:
        SpecError: the file cannot be read, the text is not a spec, or no part of it can be upgraded.
        TypeError: the source has another type.
    """
    is_path = isinstance(source, os.PathLike)
    if isinstance(source, str):
        is_named = source.endswith((".mlir", ".mlirbc")) and not {"{", "\n", "\0"} & set(source)
        is_path = is_named or os.path.isfile(source)  # noqa: PTH113 - any text
    if is_path:
        assert not isinstance(source, Content)
        name = name or printable(source)
        try:
            content: str | Content = Path(source).read_bytes()
        except OSError as failure:
            raise SpecError(cannot("read the spec", source, failure)) from None
    elif isinstance(source, str | Content):
        content, name = source, name or "<memory>"
    else:
        raise TypeError(f"a spec is text, a path, or bytes; found {described(source)}")
    text = content if isinstance(content, str) else decode(bytes(content), name)
    return _upgraded(text, name, written_for, context)


def _upgraded(
    text: str, name: str, written_for: tuple[int, int] | None, context: mlir.Context | None
) -> Upgraded:
    rewrites = rewrite(SpecOutline(SpecText(text, name)), written_for or (0, 0))
    upgraded = _verified(rewrites, context or thread_context())
    kept_out = {part.what for part in upgraded.kept_out}
    return replace(upgraded, hints=tuple(_hints(rewrites, kept_out)))


def upgrade_bytes(
    data: bytes,
    name: str = "<memory>",
    *,
    written_for: tuple[int, int] | None = None,
    context: mlir.Context | None = None,
) -> Upgraded:
    """Upgrade a spec given as bytes, such as the content of a file.

    Raises:
        SpecError: as for `upgrade`, and if the bytes are not text.
    """
    return _upgraded(decode(data, name), name, written_for, context)


def rewrite(outline: SpecOutline, written_for: tuple[int, int]) -> Rewrites:
    """Apply the rules for changes after a version. Rules that are not decisive apply to old specs only."""
    # A preprocessing spec does not see ops as they are in dispatches.
    has_main = any(sequence.name == names.TRANSFORM_MAIN for sequence in outline.sequences)
    is_preprocessing = has_main and not any(
        is_entry_point(outline, sequence) for sequence in outline.sequences
    )
    excluded = _OF_DISPATCHES if is_preprocessing else frozenset()
    rules = [
        rule for rule in RULES.values() if rule.since > written_for and rule.name not in excluded
    ]
    operation_rules = [rule for rule in rules if not rule.is_for_attributes]
    rewrites, attributes, dependent = Rewrites(outline), Rewrites(outline), Rewrites(outline)
    # Decisive rules determine whether the spec is old.
    generalization = Generalization(outline, rewrites.edits)
    decisive = [rule for rule in operation_rules if rule.is_decisive]
    _rewrite_operations(decisive, rewrites, generalization)
    attribute_rules = [rule for rule in rules if rule.is_for_attributes]
    spaces = IterationSpaces(outline, generalization)
    AttributeRewriter(outline, attribute_rules, spaces).rewrite(attributes)
    # The other rules apply to old specs only.
    if rewrites.is_old or attributes.is_old:
        rest = [rule for rule in operation_rules if not rule.is_decisive]
        _rewrite_operations(rest, dependent, generalization)
    rewrites.add(dependent)
    rewrites.add(attributes)
    return rewrites


_OF_DISPATCHES: Final = frozenset({"attention-dags", "online-attention"})
"""Rules for ops as they are in dispatches, which preprocessing specs do not see."""


def _rewrite_operations(
    rules: Iterable[UpgradeRule], rewrites: Rewrites, generalization: Generalization
) -> None:
    outline = rewrites.outline
    by_target: dict[str, list[UpgradeRule]] = {}
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
    """Yield warnings about failing configurations, or remarks on unmarked entry points of a current spec."""
    outline = rewrites.outline
    for offset, reason in rewrites.failures:
        sequence = outline.sequence_at(offset)
        if sequence is None or f"@{sequence.name}" not in kept_out:
            message = f"the configuration is upgraded, and does not compile: {reason}"
            place, rule = outline.source.place(offset), Rule.DOES_NOT_COMPILE
            yield Diagnostic(Severity.WARNING, message, place, rule=rule)
    for sequence in unmarked(outline) if not rewrites.is_old else ():
        message = (
            f"'@{sequence.name}' is not marked as an entry point: today's compiler runs it alone, and silently "
            f"drops it next to another spec; mark it '{names.ENTRY_POINT}' and return an operation, or use "
            "'tuninglink link'"
        )
        place, rule = outline.source.place(sequence.start), Rule.ENTRY_POINT
        yield Diagnostic(Severity.REMARK, message, place, rule=rule)


def _verified(rewrites: Rewrites, context: mlir.Context) -> Upgraded:
    """Return the upgraded spec without the parts that today's compiler rejects."""
    original, refused = rewrites.outline, rewrites.refused
    name = original.source.name
    # Exclude the parts that rules refused.
    edited = rewrites.edits.apply(original.source.text)
    outline = SpecOutline(SpecText(edited.text, name)) if refused else None
    exclusion = Exclusion(Edits().apply(edited.text), {}, {})
    if outline is not None:
        exclusion = exclude(outline, original, refused, {})
    # Exclude the parts that the compiler rejects, until it accepts the rest.
    failure = parse_failure(exclusion.edited.text, name, context)
    while failure is not None:
        outline = outline or SpecOutline(SpecText(edited.text, name))
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
    """Return the upgraded spec with the result for each entry."""
    outline = rewrites.outline
    place = outline.source.place
    # The excluded parts.
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
    # The changes that are still in the result, and the entries.
    changes = tuple(change for change in rewrites.changes if change.sequence not in out)
    by_sequence: dict[str | None, list[RuleChange]] = {}
    for change in changes:
        by_sequence.setdefault(change.sequence, []).append(change)
    entries = tuple(
        UpgradedEntry(
            pair.matcher,
            pair.action,
            place(pair.start),
            tuple(
                change
                for part in (pair.matcher, pair.action)
                for change in by_sequence.get(part, ())
            ),
            next((out[part] for part in (pair.matcher, pair.action) if part in out), None),
        )
        for sequence in outline.sequences
        for foreach_match in outline.foreach_matches(sequence)
        for pair in foreach_match.pairs
    )
    # A spec without any entry, or without an entry point, is none.
    entry_points = {
        sequence.name for sequence in outline.sequences if is_entry_point(outline, sequence)
    }
    lost = ""
    if entries and all(entry.kept_out for entry in entries):
        lost = "entry"
    elif entry_points and entry_points <= out.keys():
        lost = "entry point"
    if lost:
        notes = [error(f"{part.what}: {part.reason}", part.place) for part in kept_out]
        raise SpecError(error(f"no {lost} of the spec can be upgraded", place(0)), *notes)

    def origin(offset: int) -> Place:
        return place(edited.original(exclusion.edited.original(offset)))

    return Upgraded(exclusion.edited.text, changes, (*kept_out, *aliases), entries, origin)
