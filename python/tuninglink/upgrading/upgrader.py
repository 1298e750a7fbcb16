"""The upgrade of a spec: rules first, then verification by today's compiler."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.arguments import Content, described
from tuninglink.errors import Diagnostic, Severity, SpecError, printable
from tuninglink.files import cannot
from tuninglink.mlir import decode, error, names, parse_module, postorder, thread_context
from tuninglink.rules import Rule
from tuninglink.upgrading.attribute_rules import RULES
from tuninglink.upgrading.loops import Generalization, IterationSpaces
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
from tuninglink.upgrading.spec_text import (
    FUNCTIONS,
    Alias,
    Edited,
    Edits,
    NamedSequence,
    SpecText,
    plain,
)


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
        source: the spec: text, its path, or text in UTF-8 as bytes.
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
    spec, context = SpecText(text, name), context or thread_context()
    if "named_sequence" not in text:
        module = parse_module(text.encode(errors="replace"), name, context)
        raise SpecError(error("not a tuning spec: it has no named sequence", module))
    return _verified(rewrite(spec, written_for or (0, 0)), context)


def rewrite(spec: SpecText, written_for: tuple[int, int]) -> Rewrites:
    """Apply the rules for changes after a version. Rules that are not decisive apply to old specs only."""
    # Replace entries do not see ops as they are in dispatches.
    texts = {sequence.name: spec.text[sequence.start : sequence.end] for sequence in spec.sequences}
    main = [names.TRANSFORM_MAIN]
    replacing = {*postorder(main, lambda name: re.findall(r"@([\w$.-]+)", texts.get(name, "")))}
    rules = [rule for rule in RULES.values() if rule.since > written_for]
    rewrites, attributes = Rewrites(spec), Rewrites(spec)
    generalization = Generalization(spec, rewrites.edits)
    spaces = IterationSpaces(spec, generalization)
    # The decisive rules and those for attributes determine whether the spec is old. The others apply to old specs only.
    for is_decisive in (True, False):
        by_target: dict[str, list[UpgradeRule]] = {}
        for rule in rules:
            if not rule.is_for_attributes and rule.is_decisive is is_decisive:
                for target in rule.targets:
                    by_target.setdefault(target, []).append(rule)
        for mark in spec.marks() if is_decisive or rewrites.is_old or attributes.is_old else ():
            for rule in by_target.get(mark.text, ()):
                sequence = spec.sequence_at(mark.start)
                if sequence and sequence.name in replacing and rule.name in _OF_DISPATCHES:
                    continue
                site = OperationSite(mark, sequence, spec, rewrites.edits, generalization)
                try:
                    rule.rewrite(site)
                except Refusal as refusal:
                    rewrites.refuse(mark.start, str(refusal))
                finally:
                    rewrites.record(rule.name, mark.start, site.notes)
        if is_decisive:
            for_attributes = [rule for rule in rules if rule.is_for_attributes]
            AttributeRewriter(spec, for_attributes, spaces).rewrite(attributes)
    rewrites.edits.edits += attributes.edits.edits
    rewrites.changes += attributes.changes
    rewrites.refused = {**attributes.refused, **rewrites.refused}
    rewrites.failures += attributes.failures
    rewrites.is_old |= attributes.is_old
    return rewrites


_OF_DISPATCHES: Final = frozenset({"attention-dags", "online-attention", "generalized-operations"})
"""Rules for ops as they are in dispatches, which replace entries do not see."""


# --- Verification: the parts that today's compiler rejects become comments ------------------------


@dataclass(frozen=True)
class _Exclusion:
    """A spec without the parts that cannot be upgraded, and the reasons by sequence and by alias."""

    edited: Edited
    excluded: dict[int, str]
    aliases: dict[str, str]


def _verified(rewrites: Rewrites, context: mlir.Context) -> Upgraded:
    """Return the upgraded spec without the parts that today's compiler rejects."""
    original, refused = rewrites.spec, rewrites.refused
    name = original.name
    # Exclude the parts that rules refused.
    edited = rewrites.edits.apply(original.text)
    spec = SpecText(edited.text, name) if refused else None
    exclusion = _Exclusion(Edits().apply(edited.text), {}, {})
    if spec is not None:
        exclusion = _exclude(spec, original, refused, {})
    # Exclude the parts that the compiler rejects, until it accepts the rest.
    failure = _parse_failure(exclusion.edited.text, name, context)
    while failure is not None:
        spec = spec or SpecText(edited.text, name)
        sequences, aliases = _find_rejected(exclusion, spec, context)
        if not sequences and not aliases:
            break
        for index, (reason, offset) in sequences.items():
            refused.setdefault(index, (reason, edited.original(offset)))
        exclusion = _exclude(spec, original, refused, exclusion.aliases | aliases)
        failure = _parse_failure(exclusion.edited.text, name, context)
    upgraded = _result(rewrites, edited, exclusion)
    if failure is not None:
        message, at = failure
        raise SpecError(error(message, upgraded.origin(at or 0)))
    return upgraded


def _result(rewrites: Rewrites, edited: Edited, exclusion: _Exclusion) -> Upgraded:
    """Return the upgraded spec with the result for each entry."""
    spec = rewrites.spec
    place = spec.place
    # The excluded parts.
    out: dict[str, KeptOut] = {}
    kept_out = []
    for index, reason in exclusion.excluded.items():
        sequence = spec.sequences[index]
        _, offset = rewrites.refused.get(index, ("", sequence.start))
        out[sequence.name] = KeptOut(f"@{sequence.name}", reason, place(offset))
        kept_out.append(out[sequence.name])
    aliases = (
        KeptOut(name, reason, place(spec.aliases[name].start))
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
        for sequence in spec.sequences
        for foreach_match in sequence.foreach_matches
        for pair in foreach_match.pairs
    )
    # A spec without any entry, or without an entry point, is none.
    entry_points = {sequence.name for sequence in spec.sequences if sequence.is_entry_point}
    lost = "entry point" if entry_points and entry_points <= out.keys() else ""
    lost = "entry" if entries and all(entry.kept_out for entry in entries) else lost
    if lost:
        notes = [error(f"{part.what}: {part.reason}", part.place) for part in kept_out]
        raise SpecError(error(f"no {lost} of the spec can be upgraded", place(0)), *notes)

    # Warnings about configurations that are known to fail, and remarks on unmarked entry points of a current spec.
    hints = []
    for offset, reason in rewrites.failures:
        failing = spec.sequence_at(offset)
        if failing is None or failing.name not in out:
            message = f"the configuration is upgraded, and does not compile: {reason}"
            hints.append(
                Diagnostic(Severity.WARNING, message, place(offset), rule=Rule.DOES_NOT_COMPILE)
            )
    for sequence in spec.sequences if not rewrites.is_old else ():
        if sequence.is_entry_point and not sequence.is_marked and sequence.body is not None:
            message = (
                f"'@{sequence.name}' is not marked as an entry point: today's compiler runs it alone, and silently "
                f"drops it next to another spec; mark it '{names.ENTRY_POINT}' and return an operation, or use "
                "'tuninglink link'"
            )
            at = place(sequence.start)
            hints.append(Diagnostic(Severity.REMARK, message, at, rule=Rule.ENTRY_POINT))

    return Upgraded(
        exclusion.edited.text,
        changes,
        (*kept_out, *aliases),
        entries,
        lambda offset: place(edited.original(exclusion.edited.original(offset))),
        tuple(hints),
    )


def _parse_failure(text: str, name: str, context: mlir.Context) -> tuple[str, int | None] | None:
    """Return the reason and the offset of a parser error, or None if the compiler accepts the text."""
    try:
        parse_module(text.encode(errors="replace"), name, context)
    except SpecError as failure:
        first = failure.diagnostics[0]
        place = first.place
        if place is None or place.file != name:
            return first.message, None
        # The column counts bytes.
        rest = text.split("\n", place.line - 1)[-1]
        before = rest.encode(errors="replace")[: max(0, place.column - 1)]
        return first.message, len(text) - len(rest) + len(before.decode(errors="ignore"))
    return None


def _find_rejected(
    exclusion: _Exclusion, spec: SpecText, context: mlir.Context
) -> tuple[dict[int, tuple[str, int]], dict[str, str]]:
    """Find the parts of a spec that the compiler rejects, apart from excluded ones."""
    text = spec.text
    # Where the values of aliases are, of types first.
    every = spec.tokens(0, len(text))
    tokens = list(takewhile(lambda token: token.text != "module", every))
    starts = [index for index, (_, equals) in enumerate(pairwise(tokens)) if equals.text == "="]
    definitions = {
        tokens[start].text: (tokens[min(start + 2, end - 1)].start, tokens[end - 1].end)
        for start, end in pairwise((*starts, len(tokens)))
        if tokens[start].text[0] == "!"
    }
    definitions |= {alias.name: (alias.value, alias.end) for alias in spec.aliases.values()}
    uses = Counter(mark.text for mark in spec.marks())
    sequences, aliases = {}, {}
    # A sequence with a `foreach_match` fails together with its matchers and actions.
    parts: list[NamedSequence | Alias] = [
        sequence
        for sequence in spec.sequences
        if sequence.index not in exclusion.excluded and not sequence.foreach_matches
    ]
    parts += [alias for alias in spec.aliases.values() if alias.name not in exclusion.aliases]
    for part in parts:
        start = part.value if isinstance(part, Alias) else part.start
        lead = _lead(spec, definitions, part, start)
        tail = "} {}" if isinstance(part, Alias) else "\n}"
        whole = f"{lead}{text[start : part.end]}{tail}"
        failure = _parse_failure(whole, "<part>", context)
        if failure is None:
            continue
        message, failure_offset = failure
        reason = f"today's compiler rejects it: {message.splitlines()[0][:300]}"
        if isinstance(part, Alias):
            # A used alias has already failed where it is used.
            aliases[part.name] = reason if uses[part.name] > 1 else "it is unused"
        else:
            offset = start + (failure_offset or 0) - len(lead)
            sequences[part.index] = reason, offset if start <= offset < part.end else start
    return sequences, aliases


def _lead(
    spec: SpecText,
    definitions: Mapping[str, tuple[int, int]],
    part: NamedSequence | Alias,
    start: int,
) -> str:
    """Return the text before a part that is parsed alone: definitions of aliases, and the start of a module."""
    # The aliases that it uses, in order of dependence.
    needed: set[str] = set()
    pending = [(start, part.end)]
    while pending:
        for name in spec.references(*pending.pop()) & (definitions.keys() - needed):
            needed.add(name)
            pending.append(definitions[name])
    lines = [
        f"{name} = {spec.text[slice(*span)]}\n"
        for name, span in definitions.items()
        if name in needed
    ]
    if isinstance(part, Alias):
        return "".join((*lines, "module attributes {iree_codegen.alias = "))
    # Declarations of the sequences that it refers to.
    lines.append(f"module attributes {{{names.WITH_NAMED_SEQUENCE}}} {{\n")
    symbols = {plain(name) for name in spec.references(start, part.end) if name[0] == "@"}
    for symbol in sorted(symbols - {part.name}):
        callee = spec.by_name.get((part.scope, symbol))
        if callee is None:
            continue
        if spec.text.startswith(FUNCTIONS, callee.start):  # sequences refer to it only by name
            kind = spec.text[callee.start : spec.text.index(".func", callee.start)]
            lines.append(f'{kind}.func private @"{symbol}"()\n')
        else:
            arguments = spec.text[callee.arguments.start : callee.arguments.end]
            results = f" -> {spec.text[slice(*callee.results)]}" if callee.results else ""
            lines.append(f'transform.named_sequence private @"{symbol}"{arguments}{results}\n')
    return "".join(lines)


def _exclude(
    spec: SpecText,
    original: SpecText,
    refused: Mapping[int, tuple[str, int]],
    aliases: Mapping[str, str],
) -> _Exclusion:
    """Turn sequences and aliases into comments, together with dependent sequences and their entries."""
    excluded = _with_dependents(spec, {index: why for index, (why, _) in refused.items()})
    edits, text = Edits(), spec.text
    # 1. The sequences and aliases, with the original text.
    parts: list[tuple[NamedSequence | Alias, NamedSequence | Alias, str]] = [
        *((spec.sequences[at], original.sequences[at], why) for at, why in excluded.items()),
        *((spec.aliases[name], original.aliases[name], why) for name, why in aliases.items()),
    ]
    for part, before, reason in parts:
        lead = text[spec.line_start(part.start) : part.start]
        indent, lead = ("", "\n") if lead.strip() else (lead, "")
        body = "\n".join(
            f"{indent}// {line.removeprefix(indent)}".rstrip()
            for line in original.text[before.start : before.end].split("\n")
        )
        rest = text[part.end : spec.line_end(part.end)].strip()
        trail = "\n" if rest and not rest.startswith("//") else ""
        why = " ".join(reason.split())
        edits.replace(part.start, part.end, f"{lead}// Kept out: {why}.\n{body}{trail}")
    # 2. The entries of the other sequences that use an excluded one, with one comma each.
    gone = {(spec.sequences[index].scope, spec.sequences[index].name) for index in excluded}
    for sequence in spec.sequences if gone else ():
        lists = sequence.foreach_matches if sequence.index not in excluded else ()
        for pairs in (foreach_match.pairs for foreach_match in lists):
            has_survivor = False
            for index, pair in enumerate(pairs):
                if gone.isdisjoint({(sequence.scope, pair.matcher), (sequence.scope, pair.action)}):
                    has_survivor = True
                    continue
                # The comma before it, or the one after it if all pairs before are excluded.
                start, end = pair.end, pair.end
                if has_survivor:
                    start, end = pairs[index - 1].end, pair.start
                elif index + 1 < len(pairs):
                    end = pairs[index + 1].start
                comma = next(
                    (token for token in spec.tokens(start, end) if token.text == ","), None
                )
                line_end = spec.line_end(pair.end)
                rest = text[pair.end : line_end]
                if comma is not None:
                    edits.replace(comma.start, comma.end, "")
                    if pair.end <= comma.start < line_end:
                        rest = text[pair.end : comma.start] + text[comma.end : line_end]
                written = " ".join(text[pair.start : pair.end].split())
                trail = "\n" if rest.strip() else ""
                edits.replace(pair.start, pair.end, f"// Kept out: {written}{trail}")
    return _Exclusion(edits.apply(text), excluded, dict(aliases))


def _with_dependents(spec: SpecText, refused: Mapping[int, str]) -> dict[int, str]:
    """Add the sequences that refer to a refused one other than by an entry."""
    excluded = dict(refused)
    # The users of each sequence, apart from entries.
    users: dict[tuple[int, str], list[int]] = {}
    for sequence in spec.sequences:
        body, matches = sequence.body, sequence.foreach_matches
        if body is None:
            continue
        starts = (body.start, *(match.end for match in matches))
        ends = (*(match.start for match in matches), body.end)
        for span in zip(starts, ends, strict=True):
            for name in spec.references(*span):
                if name[0] == "@":
                    users.setdefault((sequence.scope, plain(name)), []).append(sequence.index)
    # Users of excluded sequences are excluded, transitively.
    pending = list(excluded)
    while pending:
        gone = spec.sequences[pending.pop()]
        for index in users.get((gone.scope, gone.name), ()):
            if index not in excluded:
                excluded[index] = f"it needs '@{gone.name}', which is kept out"
                pending.append(index)
    return dict(sorted(excluded.items()))
