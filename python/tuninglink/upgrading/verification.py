"""What today's compiler says about an upgraded spec, part by part where it has to be."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tuninglink.errors import SpecError
from tuninglink.mlir import names
from tuninglink.mlir.serialization import parse_module

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import Place
    from tuninglink.upgrading.exclusion import Exclusion
    from tuninglink.upgrading.outline import NamedSequence, Outline


@dataclass(frozen=True)
class Verdict:
    """What the compiler says.

    Attributes:
        problems: sequences that it does not accept: index, what it says, and where in the outline's text.
        aliases: aliases that it does not accept, and what it says.
        error: what it says about the whole, and where in the whole, if that can be told.
    """

    problems: tuple[tuple[int, str, int], ...] = ()
    aliases: dict[str, str] = field(default_factory=dict)
    error: tuple[str, int | None] | None = None


def examine(
    failure: tuple[str, Place | None],
    exclusion: Exclusion,
    outline: Outline,
    name: str,
    context: mlir.Context,
) -> Verdict:
    """Finds the parts of a spec that the compiler refuses.

    Args:
        failure: what the compiler says about the whole, and where.
        exclusion: the whole.
        outline: its structure, before anything was left out.
        name: what it is called in diagnostics.
        context: where parts are parsed.
    """
    problems: list[tuple[int, str, int]] = []
    for index, sequence in enumerate(outline.sequences):
        if index not in exclusion.excluded:
            found = _check_sequence(outline, sequence, context)
            if found:
                problems.append((index, *found))
    aliases = _check_aliases(exclusion, outline, context)
    message, place = failure
    offset = None
    if place is not None and place.file == name:
        offset = _offset(exclusion.edited.text, place)
    return Verdict(tuple(problems), aliases, (message, offset))


def parse_failure(text: str, name: str, context: mlir.Context) -> tuple[str, Place | None] | None:
    """Returns what the compiler says about a text that it refuses, and where; None if it takes it."""
    try:
        parse_module(text.encode(errors="replace"), name, context)
    except SpecError as failure:
        first = failure.diagnostics[0]
        return first.message, first.place
    return None


def _check_sequence(
    outline: Outline, sequence: NamedSequence, context: mlir.Context
) -> tuple[str, int] | None:
    """Parses one sequence, with declarations of those that it refers to and the aliases that it uses."""
    text = outline.source.text
    if next(outline.foreach_matches(sequence), None) is not None:
        return None  # its matchers and actions are checked; it fails when one of them does
    lead = outline.types_of(sequence.start, sequence.end)
    lead += _aliases_of(outline, sequence.start, sequence.end)
    lead += f"\nmodule attributes {{{names.WITH_NAMED_SEQUENCE}}} {{\n"
    for name in sorted(outline.references(sequence.start, sequence.end) - {sequence.name}):
        other = outline.by_name.get((sequence.scope, name))
        if other is not None:
            lead += _declaration(outline, other) + "\n"
    whole = f"{lead}{text[sequence.start : sequence.end]}\n}}"
    failure = parse_failure(whole, "<sequence>", context)
    if failure is None:
        return None
    message, place = failure
    offset = _offset(whole, place) - len(lead) if place is not None else -1
    if 0 <= offset < sequence.end - sequence.start:
        return _said(message), sequence.start + offset
    return _said(message), sequence.start


def _check_aliases(exclusion: Exclusion, outline: Outline, context: mlir.Context) -> dict[str, str]:
    """Returns the aliases that cannot be read; what needs them has failed by itself."""
    found = dict(exclusion.aliases)
    uses = Counter(mark.text for mark in outline.source.marks)
    for alias in outline.aliases.values():
        if alias.name in found:
            continue
        whole = _aliases_of(outline, alias.value, alias.end)
        whole += f"module attributes {{iree_codegen.alias = {outline.source.text[alias.value : alias.end]}}} {{}}"
        failure = parse_failure(whole, "<alias>", context)
        if failure is not None:
            is_used = uses[alias.name] > 1
            found[alias.name] = _said(failure[0]) if is_used else "nothing uses it any more"
    return found


def _aliases_of(outline: Outline, start: int, end: int) -> str:
    """Returns the definitions of the aliases that a part of the text uses, those first that others need."""
    needed: dict[str, None] = {}
    pending = [(start, end, 0)]
    while pending:
        first, last, _ = pending.pop()
        for mark in outline.marks(first, last):
            alias = outline.aliases.get(mark.text)
            if alias is not None and alias.start != mark.start and alias.name not in needed:
                needed[alias.name] = None
                pending.append((alias.value, alias.end, 0))
    ordered = sorted((outline.aliases[each] for each in needed), key=lambda alias: alias.start)
    text = outline.source.text
    return "".join(f"{each.name} = {text[each.value : each.end]}\n" for each in ordered)


def _declaration(outline: Outline, sequence: NamedSequence) -> str:
    text = outline.source.text
    if outline.is_function(sequence):
        kind = text[sequence.start : text.index(".func", sequence.start)] + ".func"
        return f'{kind} private @"{sequence.name}"()'  # only its name matters to sequences
    arguments = text[sequence.arguments.start : sequence.arguments.end]
    results = f" -> {text[slice(*sequence.results)]}" if sequence.results else ""
    return f'transform.named_sequence private @"{sequence.name}"{arguments}{results}'


def _said(message: str) -> str:
    return f"today's compiler refuses it: {message.splitlines()[0][:300]}"


def _offset(text: str, place: Place) -> int:
    """Returns the offset of a place, whose column counts bytes."""
    position = 0
    for _ in range(place.line - 1):
        following = text.find("\n", position)
        if following < 0:
            break
        position = following + 1
    line_end = text.find("\n", position)
    line = text[position : line_end if line_end >= 0 else len(text)]
    before = line.encode(errors="replace")[: max(0, place.column - 1)]
    return position + len(before.decode(errors="ignore"))
