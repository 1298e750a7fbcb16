"""Exclusion of parts of a spec that cannot be upgraded: they become comments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuninglink.upgrading.edits import Edit, Edited, Edits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.upgrading.outline import SpecOutline
    from tuninglink.upgrading.outline_parts import Alias, ForeachMatch, NamedSequence, Pair
    from tuninglink.upgrading.spec_text import Token


@dataclass(frozen=True)
class Exclusion:
    """A spec without the parts that cannot be upgraded.

    Attributes:
        edited: the text.
        excluded: the reasons for excluded sequences, by index.
        aliases: the reasons for excluded aliases, by name.
    """

    edited: Edited
    excluded: dict[int, str]
    aliases: dict[str, str]


def exclude(
    outline: SpecOutline,
    original: SpecOutline,
    refused: Mapping[int, tuple[str, int]],
    aliases: Mapping[str, str],
) -> Exclusion:
    """Turn sequences into comments, together with dependent sequences and their entries.

    Args:
        outline: the spec.
        original: the spec before any change. Comments contain its text.
        refused: for the index of a sequence, the reason why it cannot be upgraded, and the place.
        aliases: for the name of an alias, the reason why it cannot be parsed.
    """
    # Exclude the sequences, or the entries that use them.
    excluded = _with_dependents(outline, {index: why for index, (why, _) in refused.items()})
    edits = Edits()
    names = {(outline.sequences[index].scope, outline.sequences[index].name) for index in excluded}
    for index, sequence in enumerate(outline.sequences):
        if index in excluded:
            before = original.sequences[index]
            written = original.source.text[before.start : before.end]
            edits.edits.append(_comment(outline, sequence, written, excluded[index]))
        elif names:
            for foreach_match in outline.foreach_matches(sequence):
                _exclude_pairs(outline, sequence, foreach_match, names, edits)
    # Exclude the aliases.
    for name, reason in aliases.items():
        defined = original.aliases[name]
        written = original.source.text[defined.start : defined.end]
        edits.edits.append(_comment(outline, outline.aliases[name], written, reason))
    return Exclusion(edits.apply(outline.source.text), excluded, dict(aliases))


def _with_dependents(outline: SpecOutline, refused: Mapping[int, str]) -> dict[int, str]:
    """Add the sequences that refer to a refused one other than by an entry."""
    excluded = dict(refused)
    # The users of each sequence, apart from entries.
    users: dict[tuple[int, str], list[int]] = {}
    for index, sequence in enumerate(outline.sequences):
        body = sequence.body
        if body is None:
            continue
        matches = list(outline.foreach_matches(sequence))
        starts = (body.start, *(match.end for match in matches))
        ends = (*(match.start for match in matches), body.end)
        for span in zip(starts, ends, strict=True):
            for name in outline.references(*span):
                users.setdefault((sequence.scope, name), []).append(index)
    # Users of excluded sequences are excluded, transitively.
    pending = list(excluded)
    while pending:
        gone = outline.sequences[pending.pop()]
        for index in users.get((gone.scope, gone.name), ()):
            if index not in excluded:
                excluded[index] = f"it needs '@{gone.name}', which is kept out"
                pending.append(index)
    return dict(sorted(excluded.items()))


def _comment(outline: SpecOutline, part: NamedSequence | Alias, written: str, reason: str) -> Edit:
    """Replace a part of the text by a comment with the reason and the original text."""
    text = outline.source.text
    before = text[outline.source.line_start(part.start) : part.start]
    indent, lead = ("", "\n") if before.strip() else (before, "")
    body = "\n".join(
        f"{indent}// {word.removeprefix(indent)}".rstrip() for word in written.split("\n")
    )
    rest = text[part.end : outline.source.line_end(part.end)].strip()
    trail = "\n" if rest and not rest.startswith("//") else ""
    why = " ".join(reason.split())
    return Edit(part.start, part.end, f"{lead}// Kept out: {why}.\n{body}{trail}")


def _exclude_pairs(
    outline: SpecOutline,
    sequence: NamedSequence,
    foreach_match: ForeachMatch,
    names: set[tuple[int, str]],
    edits: Edits,
) -> None:
    """Turn the pairs with one of `names` into comments, and remove a comma for each."""
    pairs = foreach_match.pairs
    has_survivor = False
    for index, pair in enumerate(pairs):
        if not names & {(sequence.scope, pair.matcher), (sequence.scope, pair.action)}:
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


def _comma(outline: SpecOutline, start: int, end: int) -> Token | None:
    return next((token for token in outline.source.tokens(start, end) if token.text == ","), None)


def _comment_pair(outline: SpecOutline, pair: Pair, comma: Token | None, edits: Edits) -> None:
    text = outline.source.text
    line_end = outline.source.line_end(pair.end)
    rest = text[pair.end : line_end]
    if comma is not None and pair.end <= comma.start < line_end:
        rest = text[pair.end : comma.start] + text[comma.end : line_end]
    written = " ".join(text[pair.start : pair.end].split())
    edits.replace(pair.start, pair.end, f"// Kept out: {written}" + ("\n" if rest.strip() else ""))
