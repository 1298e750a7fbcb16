"""Keeping out of a spec what cannot be upgraded: it stays as a comment, and the rest works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuninglink.upgrading.edits import Edited, Edits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.upgrading.outline import ForeachMatch, NamedSequence, Outline, Pair
    from tuninglink.upgrading.source import Token


@dataclass(frozen=True)
class Exclusion:
    """A spec without what cannot be upgraded.

    Attributes:
        edited: the text.
        excluded: by the index of the sequence that is left out, why.
        aliases: by the name of the alias that is left out, why.
    """

    edited: Edited
    excluded: dict[int, str]
    aliases: dict[str, str]


def exclude(
    outline: Outline,
    original: Outline,
    refused: Mapping[int, str],
    aliases: Mapping[str, str] | None = None,
) -> Exclusion:
    """Turns sequences into comments, and those that depend on them, with the entries that they make up.

    Args:
        outline: the spec.
        original: the spec before any change; what is left out stays as it was there.
        refused: by the index of a sequence, why it cannot be upgraded.
        aliases: by the name of an alias, why it cannot be read.
    """
    if not refused and not aliases:
        return Exclusion(Edits().apply(outline.source.text), {}, {})
    excluded = _with_dependents(outline, refused)
    edits = Edits()
    names = {(outline.sequences[index].scope, outline.sequences[index].name) for index in excluded}
    for index, sequence in enumerate(outline.sequences):
        if index in excluded:
            was = original.sequences[index]
            written = original.source.text[was.start : was.end]
            span = (sequence.start, sequence.end)
            _comment_out(outline, span, written, excluded[index], edits)
        elif names:
            for foreach_match in outline.foreach_matches(sequence):
                _leave_out_pairs(outline, sequence, foreach_match, names, edits)
    for name, reason in (aliases or {}).items():
        alias, defined = outline.aliases[name], original.aliases[name]
        written = original.source.text[defined.start : defined.end]
        _comment_out(outline, (alias.start, alias.end), written, reason, edits)
    text = outline.source.text
    return Exclusion(edits.apply(text), excluded, dict(aliases or {}))


def _with_dependents(outline: Outline, refused: Mapping[int, str]) -> dict[int, str]:
    """Adds the sequences that refer to a refused one in any other way than as an entry's."""
    excluded = dict(refused)
    if not excluded:
        return excluded
    users: dict[tuple[int, str], list[int]] = {}
    for index, sequence in enumerate(outline.sequences):
        body = sequence.body
        if body is None:
            continue
        pairs = list(outline.foreach_matches(sequence))
        start = body.start
        spans = []
        for foreach_match in pairs:
            spans.append((start, foreach_match.start))
            start = foreach_match.end
        for span in (*spans, (start, body.end)):
            for name in outline.references(*span):
                users.setdefault((sequence.scope, name), []).append(index)
    pending = list(excluded)
    while pending:
        gone = outline.sequences[pending.pop()]
        for index in users.get((gone.scope, gone.name), ()):
            if index not in excluded:
                excluded[index] = f"it needs '@{gone.name}', which is kept out"
                pending.append(index)
    return dict(sorted(excluded.items()))


def _comment_out(
    outline: Outline, span: tuple[int, int], written: str, reason: str, edits: Edits
) -> None:
    """Replaces a part of the text by a comment that says why, and holds what was written there."""
    text = outline.source.text
    start, end = span
    line = text.rfind("\n", 0, start) + 1
    before = text[line:start]
    indent, lead = ("", "\n") if before.strip() else (before, "")
    body = "\n".join(
        f"{indent}// {each.removeprefix(indent)}".rstrip() for each in written.split("\n")
    )
    line_end = text.find("\n", end)
    rest = text[end : line_end if line_end >= 0 else len(text)].strip()
    trail = "\n" if rest and not rest.startswith("//") else ""
    why = " ".join(reason.split())
    edits.replace(start, end, f"{lead}// Kept out: {why}.\n{body}{trail}")


def _leave_out_pairs(
    outline: Outline,
    sequence: NamedSequence,
    foreach_match: ForeachMatch,
    names: set[tuple[int, str]],
    edits: Edits,
) -> None:
    pairs = foreach_match.pairs
    is_out = [
        (sequence.scope, pair.matcher) in names or (sequence.scope, pair.action) in names
        for pair in pairs
    ]
    if not any(is_out):
        return
    has_survivor = False
    for index, pair in enumerate(pairs):
        if not is_out[index]:
            has_survivor = True
            continue
        comma = None
        if has_survivor:
            comma = _comma(outline, pairs[index - 1].end, pair.start)
        elif index + 1 < len(pairs):
            comma = _comma(outline, pair.end, pairs[index + 1].start)
        if comma is not None:
            edits.replace(comma.start, comma.end, "")
        _comment_pair(outline, pair, comma, edits)


def _comma(outline: Outline, start: int, end: int) -> Token | None:
    return next((each for each in outline.source.tokens(start, end) if each.text == ","), None)


def _comment_pair(outline: Outline, pair: Pair, comma: Token | None, edits: Edits) -> None:
    text = outline.source.text
    line_end = text.find("\n", pair.end)
    line_end = line_end if line_end >= 0 else len(text)
    rest = text[pair.end : line_end]
    if comma is not None and pair.end <= comma.start < line_end:
        rest = text[pair.end : comma.start] + text[comma.end : line_end]
    written = " ".join(text[pair.start : pair.end].split())
    trail = "\n" if rest.strip() else ""
    edits.replace(pair.start, pair.end, f"// Kept out: {written}{trail}")
