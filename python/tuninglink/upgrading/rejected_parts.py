"""The parts of an upgraded spec that today's compiler rejects."""

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
    """Return the reason and the offset of a parser error, or None if the compiler accepts the text."""
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
    """Find the parts of a spec that the compiler rejects, apart from excluded ones.

    Returns:
        For the index of a named sequence, the reason and the place; and for the name of an alias, the reason.
    """
    sequences, types = {}, _type_aliases(outline.source)
    # Check each sequence by itself.
    for index, sequence in enumerate(outline.sequences):
        if index not in exclusion.excluded:
            rejection = _check_sequence(outline, sequence, types, context)
            if rejection is not None:
                sequences[index] = rejection
    # Check each alias by itself. A used alias has already failed where it is used.
    uses = Counter(mark.text for mark in outline.source.marks)
    aliases = {}
    for alias in outline.aliases.values():
        if alias.name not in exclusion.aliases:
            value = outline.source.text[alias.value : alias.end]
            whole = _aliases_of(outline, alias.value, alias.end)
            whole += f"module attributes {{iree_codegen.alias = {value}}} {{}}"
            failure = parse_failure(whole, "<alias>", context)
            if failure is not None:  # its users have been rejected already
                is_used = uses[alias.name] > 1
                aliases[alias.name] = _rejection(failure[0]) if is_used else "it is unused"
    return sequences, aliases


def _check_sequence(
    outline: SpecOutline, sequence: NamedSequence, types: dict[str, str], context: mlir.Context
) -> tuple[str, int] | None:
    """Parse one sequence with the aliases that it uses and declarations of the sequences that it refers to."""
    text = outline.source.text
    if next(outline.foreach_matches(sequence), None) is not None:
        return None  # its matchers and actions are checked, and it fails together with them
    lead = _types_of(text[sequence.start : sequence.end], types)
    lead += _aliases_of(outline, sequence.start, sequence.end)
    lead += f"\nmodule attributes {{{names.WITH_NAMED_SEQUENCE}}} {{\n"
    for name in sorted(outline.references(sequence.start, sequence.end) - {sequence.name}):
        callee = outline.by_name.get((sequence.scope, name))
        if callee is not None:
            lead += _declaration(outline, callee) + "\n"
    whole = f"{lead}{text[sequence.start : sequence.end]}\n}}"
    failure = parse_failure(whole, "<sequence>", context)
    if failure is None:
        return None
    message, failure_offset = failure
    offset = sequence.start + (failure_offset or 0) - len(lead)
    is_inside = sequence.start <= offset < sequence.end
    return _rejection(message), offset if is_inside else sequence.start


def _type_aliases(source: Source) -> dict[str, str]:
    """Return the definitions of type aliases, by name, `!` included."""
    before = takewhile(lambda token: token.text != "module", source.tokens(0, len(source.text)))
    tokens = list(before)
    starts = [index for index, (_, equals) in enumerate(pairwise(tokens)) if equals.text == "="]
    return {
        tokens[start].text: source.text[tokens[start].start : tokens[end - 1].end]
        for start, end in pairwise((*starts, len(tokens)))
        if tokens[start].text[0] == "!"
    }


def _types_of(text: str, types: dict[str, str]) -> str:
    """Return the definitions of the type aliases that a part of the text uses."""
    needed: set[str] = set()
    pending = _TYPE.findall(text) if types else []
    while pending:
        name = pending.pop()
        if name in types and name not in needed:
            needed.add(name)
            pending += _TYPE.findall(types[name])
    return "".join(f"{definition}\n" for name, definition in types.items() if name in needed)


def _aliases_of(outline: SpecOutline, start: int, end: int) -> str:
    """Return the definitions of the aliases that a part of the text uses, in order of dependence."""
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
    return "".join(f"{alias.name} = {text[alias.value : alias.end]}\n" for alias in ordered)


def _declaration(outline: SpecOutline, sequence: NamedSequence) -> str:
    text = outline.source.text
    if outline.is_function(sequence):
        kind = text[sequence.start : text.index(".func", sequence.start)] + ".func"
        return f'{kind} private @"{sequence.name}"()'  # sequences refer to it only by name
    arguments = text[sequence.arguments.start : sequence.arguments.end]
    results = f" -> {text[slice(*sequence.results)]}" if sequence.results else ""
    return f'transform.named_sequence private @"{sequence.name}"{arguments}{results}'


def _rejection(message: str) -> str:
    return f"today's compiler rejects it: {message.splitlines()[0][:300]}"


def _offset(text: str, place: Place) -> int:
    """Return the offset of a place, whose column counts bytes."""
    position = 0
    for _ in range(place.line - 1):
        position = text.find("\n", position) + 1
        if not position:
            return len(text)
    line_end = text.find("\n", position)
    line = text[position : line_end if line_end >= 0 else len(text)]
    before = line.encode(errors="replace")[: max(0, place.column - 1)]
    return position + len(before.decode(errors="ignore"))
