"""What today's compiler rejects in an upgraded spec, part by part."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Final

from tuninglink.errors import SpecError
from tuninglink.mlir import names
from tuninglink.mlir.serialization import parse_module

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import Place
    from tuninglink.upgrading.exclusion import Exclusion
    from tuninglink.upgrading.outline import SpecOutline
    from tuninglink.upgrading.outline_parts import NamedSequence
    from tuninglink.upgrading.spec_text import Source

_TYPE: Final = re.compile(r"![A-Za-z_$][\w$.\-]*")


def parse_failure(text: str, name: str, context: mlir.Context) -> tuple[str, int | None] | None:
    """Returns why the compiler rejects a text, and where if it says so; None if it takes the text."""
    try:
        parse_module(text.encode(errors="replace"), name, context)
    except SpecError as failure:
        first = failure.diagnostics[0]
        is_here = first.place is not None and first.place.file == name
        return first.message, _offset(text, first.place) if first.place and is_here else None
    return None


def find_rejected(
    exclusion: Exclusion, outline: SpecOutline, context: mlir.Context
) -> tuple[dict[int, tuple[str, int]], dict[str, str]]:
    """Finds the parts of a spec that the compiler rejects, apart from those that are left out already.

    Returns:
        By the index of a named sequence, why it is rejected and where; and by the name of an alias, why.
    """
    sequences, types = {}, _type_aliases(outline.source)
    for index, sequence in enumerate(outline.sequences):
        if index not in exclusion.excluded:
            result = _check_sequence(outline, sequence, types, context)
            if result is not None:
                sequences[index] = result
    uses = Counter(mark.text for mark in outline.source.marks)
    aliases = {}
    for alias in outline.aliases.values():
        if alias.name not in exclusion.aliases:
            value = outline.source.text[alias.value : alias.end]
            whole = _aliases_of(outline, alias.value, alias.end)
            whole += f"module attributes {{iree_codegen.alias = {value}}} {{}}"
            failure = parse_failure(whole, "<alias>", context)
            if failure is not None:  # what uses the alias has failed by itself
                is_used = uses[alias.name] > 1
                aliases[alias.name] = _said(failure[0]) if is_used else "nothing uses it any more"
    return sequences, aliases


def _check_sequence(
    outline: SpecOutline, sequence: NamedSequence, types: dict[str, str], context: mlir.Context
) -> tuple[str, int] | None:
    """Parses one sequence, with declarations of those that it refers to and the aliases that it uses."""
    text = outline.source.text
    if next(outline.foreach_matches(sequence), None) is not None:
        return None  # its matchers and actions are checked; it fails when one of them does
    lead = _types_of(text[sequence.start : sequence.end], types)
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
    message, result = failure
    offset = sequence.start + (result or 0) - len(lead)
    is_inside = sequence.start <= offset < sequence.end
    return _said(message), offset if is_inside else sequence.start


def _type_aliases(source: Source) -> dict[str, str]:
    """Returns the definitions of type aliases, by name, `!` included."""
    before = takewhile(lambda token: token.text != "module", source.tokens(0, len(source.text)))
    tokens = list(before)
    starts = [index for index, (_, equals) in enumerate(pairwise(tokens)) if equals.text == "="]
    return {
        tokens[start].text: source.text[tokens[start].start : tokens[end - 1].end]
        for start, end in pairwise((*starts, len(tokens)))
        if tokens[start].text[0] == "!"
    }


def _types_of(text: str, types: dict[str, str]) -> str:
    """Returns the definitions of the type aliases that a part of the text uses."""
    needed: set[str] = set()
    pending = _TYPE.findall(text) if types else []
    while pending:
        name = pending.pop()
        if name in types and name not in needed:
            needed.add(name)
            pending += _TYPE.findall(types[name])
    return "".join(f"{each}\n" for name, each in types.items() if name in needed)


def _aliases_of(outline: SpecOutline, start: int, end: int) -> str:
    """Returns the definitions of the aliases that a part of the text uses, those first that others need."""
    needed = set()
    pending = [(start, end)]
    while pending:
        for mark in outline.marks(*pending.pop()):
            alias = outline.aliases.get(mark.text)
            if alias is not None and alias.start != mark.start and alias not in needed:
                needed.add(alias)
                pending.append((alias.value, alias.end))
    ordered = sorted(needed, key=lambda alias: alias.start)
    text = outline.source.text
    return "".join(f"{each.name} = {text[each.value : each.end]}\n" for each in ordered)


def _declaration(outline: SpecOutline, sequence: NamedSequence) -> str:
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
        position = text.find("\n", position) + 1
        if not position:
            return len(text)
    line_end = text.find("\n", position)
    line = text[position : line_end if line_end >= 0 else len(text)]
    before = line.encode(errors="replace")[: max(0, place.column - 1)]
    return position + len(before.decode(errors="ignore"))
