"""The structure of a spec's text: aliases, named sequences, entries, and references."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise, takewhile
from typing import TYPE_CHECKING, Final

from tuninglink.errors import SpecError
from tuninglink.mlir import names, parse_module
from tuninglink.upgrading.spec_text import (
    Alias,
    Cursor,
    Dag,
    Edit,
    Edited,
    Edits,
    ForeachMatch,
    Mark,
    NamedSequence,
    Pair,
    SpecText,
    Token,
)

if TYPE_CHECKING:
    from iree.compiler import ir as mlir


_FOREACH_WORDS: Final = frozenset({"restrict_root", "flatten_results", "in"})

_FUNCTIONS: Final = ("util.func", "func.func")
"""Other operations with symbols: programs that replace matched operations."""

_PAYLOADS: Final = ("linalg.", "iree_linalg_ext.", "tensor.")
"""The dialects of operations that can be the root op of a DAG."""

_AFTER_MAPS: Final = frozenset({"ins", "outs", ":"})
"""What follows the indexing maps of an operation."""

_REFERENCE: Final = re.compile(
    r'//[^\n]*|(?P<symbol>@(?:[A-Za-z_$][\w$.\-]*|"(?:[^"\\\n]|\\.)*"))|"(?:[^"\\\n]|\\.)*"'
)


def plain(symbol: str) -> str:
    """Return a symbol without `@` and quotes."""
    return symbol[1:].strip('"')


class SpecOutline:
    """The parts of a spec's text, with their positions."""

    def __init__(self, source: SpecText) -> None:
        self.source = source

    @cached_property
    def _starts(self) -> list[int]:
        return [mark.start for mark in self.source.marks]

    def marks(self, start: int, end: int) -> Sequence[Mark]:
        """Return the marks from `start` to `end`."""
        first = bisect_left(self._starts, start)
        return self.source.marks[first : bisect_left(self._starts, end)]

    @cached_property
    def aliases(self) -> dict[str, Alias]:
        """The definitions of attribute aliases, by name, `#` included."""
        aliases: dict[str, Alias] = {}
        for mark in self.source.marks:
            if mark.depth == 0 and mark.text[0] == "#":
                tokens = self.source.tokens(mark.end, len(self.source.text))
                equals, first, group = (next(tokens, None) for _ in range(3))
                if equals is not None and equals.text == "=" and first is not None:
                    is_bracketed = group and group.kind == "group" and group.start == first.end
                    end = group.end if group is not None and is_bracketed else first.end
                    alias = Alias(mark.text, mark.start, first.start, end)
                    aliases.setdefault(alias.name, alias)
        return aliases

    @cached_property
    def sequences(self) -> tuple[NamedSequence, ...]:
        """The named sequences in order, including those of nested modules.

        A sequence includes everything inside it. Functions among them are treated as sequences without matchers and
        includes.
        """
        sequences: list[NamedSequence] = []
        kinds = (names.NAMED_SEQUENCE, *_FUNCTIONS)
        for mark in self.source.marks:
            if mark.text in kinds and (not sequences or mark.start >= sequences[-1].end):
                sequence = self._sequence(mark)
                if sequence is not None:
                    sequences.append(sequence)
        return tuple(sequences)

    def _sequence(self, mark: Mark) -> NamedSequence | None:
        tokens = Cursor(self.source.following(mark))
        tokens.take_kind("word")  # its visibility
        name, arguments = tokens.take_kind("symbol"), tokens.take("(")
        if name is None or arguments is None:
            return None
        results, end = None, arguments.end
        if tokens.take("->"):
            first = tokens.take()
            if first is None:
                return None
            end = (tokens.take("<") or first).end
            results = (first.start, end)
        attributes = tokens.take() if tokens.take("attributes") else None
        body = tokens.take("{")
        last = body or attributes
        end = last.end if last is not None else end
        symbol, scope = plain(name.text), mark.inside
        return NamedSequence(symbol, mark.start, end, scope, arguments, results, attributes, body)

    @cached_property
    def _sequence_starts(self) -> list[int]:
        return [sequence.start for sequence in self.sequences]

    def sequence_at(self, offset: int) -> NamedSequence | None:
        """Return the sequence at an offset, or None."""
        index = bisect_right(self._sequence_starts, offset) - 1
        if index < 0 or offset >= self.sequences[index].end:
            return None
        return self.sequences[index]

    def index_of(self, sequence: NamedSequence) -> int:
        """Return the index of a sequence in `sequences`."""
        return bisect_left(self._sequence_starts, sequence.start)

    @cached_property
    def by_name(self) -> dict[tuple[int, str], NamedSequence]:
        """The sequences by scope and name."""
        return {(sequence.scope, sequence.name): sequence for sequence in reversed(self.sequences)}

    @cached_property
    def _matchers(self) -> dict[tuple[int, str], list[NamedSequence]]:
        """The matchers paired with each action."""
        matchers: dict[tuple[int, str], list[NamedSequence]] = {}
        for sequence in self.sequences:
            for foreach_match in self.foreach_matches(sequence):
                for pair in foreach_match.pairs:
                    matcher = self.by_name.get((sequence.scope, pair.matcher))
                    if matcher is not None:
                        matchers.setdefault((sequence.scope, pair.action), []).append(matcher)
        return matchers

    def matchers_of(self, action: NamedSequence) -> Sequence[NamedSequence]:
        """Return the matchers paired with an action."""
        return self._matchers.get((action.scope, action.name), ())

    def includes(self, sequence: NamedSequence) -> Iterator[NamedSequence]:
        """Yield the sequences that a sequence includes."""
        for mark in self.marks(sequence.start, sequence.end):
            if mark.text == names.INCLUDE:
                target = next(self.source.tokens(mark.end, sequence.end), None)
                symbol = plain(target.text) if target is not None else ""
                callee = self.by_name.get((sequence.scope, symbol))
                if callee is not None and callee.body is not None:
                    yield callee

    def dags(self, sequence: NamedSequence) -> Iterator[Dag]:
        """Yield the DAGs that a sequence matches."""
        for mark in self.marks(sequence.start, sequence.end):
            dag = self.dag(mark) if mark.text == names.MATCH_DAG else None
            if dag is not None:
                yield dag

    def dag(self, mark: Mark) -> Dag | None:
        """Return the DAG of the operation at `mark`."""
        for region in self.source.following(mark):
            if region.text == "{":
                roots = [
                    candidate
                    for candidate in self.marks(region.start, region.end)
                    if candidate.inside == region.start and candidate.text.startswith(_PAYLOADS)
                ]
                return Dag(roots[-1], region) if roots else None
            if region.kind == "word" or region.text == "=":
                return None
        return None

    def foreach_matches(self, sequence: NamedSequence) -> Iterator[ForeachMatch]:
        """Yield the `foreach_match` operations in a sequence."""
        body = sequence.body
        if body is None:
            return
        for mark in self.marks(body.start, body.end):
            if mark.text != names.FOREACH_MATCH:
                continue
            following = self.source.tokens(mark.end, body.end - 1)
            tokens = list(takewhile(_is_of_foreach_match, following))
            texts = [token.text for token in tokens]
            if "in" not in texts or not any(text[0] == "%" for text in texts[texts.index("in") :]):
                continue
            start = texts.index("in")
            colon = texts.index(":", start) if ":" in texts[start:] else len(tokens) - 1
            end = tokens[colon].end
            if texts[colon + 2 : colon + 3] == ["->"] and texts[colon + 3 :]:  # `: (types) -> type`
                end = tokens[colon + 3].end
            pairs = tuple(_pairs(tokens[start : colon + 1]))
            results = self.source.results(mark.start)[1]
            yield ForeachMatch(mark.start, end, pairs, results[0] if results else None)

    def maps(self, brackets: Token | None) -> list[str]:
        """Return the indexing maps in brackets, with the values of aliases; empty without brackets."""
        if brackets is None:
            return []
        inside = self.source.tokens(brackets.start + 1, brackets.end - 1)
        pieces = [list(piece) for _, piece in groupby(inside, key=lambda token: token.text == ",")]
        texts = [self.source.text[piece[0].start : piece[-1].end] for piece in pieces[::2]]
        aliases = [self.aliases.get(text) for text in texts]
        return [
            self.source.text[alias.value : alias.end] if alias else text
            for text, alias in zip(texts, aliases, strict=True)
        ]

    def map_brackets(self, tokens: Iterable[Token]) -> Token | None:
        """Return the brackets with the indexing maps of an operation, among its tokens or in its attributes."""
        previous = ""
        for token in tokens:
            if token.text == "[" and previous == "indexing_maps":
                return token
            if token.text in _AFTER_MAPS or token.is_transform:
                return None
            if token.text in {"{", "<"}:
                inside = self.source.tokens(token.start + 1, token.end - 1)
                if (brackets := self.map_brackets(inside)) is not None:
                    return brackets
            if token.text != "=":
                previous = token.text
        return None

    def references(self, start: int, end: int) -> set[str]:
        """Return the symbols that a part of the text refers to."""
        return {
            plain(match["symbol"])
            for match in _REFERENCE.finditer(self.source.text, start, end)
            if match["symbol"]
        }


def _is_of_foreach_match(token: Token) -> bool:
    return token.text != "=" and (token.kind != "word" or token.text in _FOREACH_WORDS)


def _pairs(tokens: Iterable[Token]) -> Iterator[Pair]:
    """Yield the pairs among the tokens of a `foreach_match`."""
    for is_comma, piece in groupby(tokens, key=lambda token: token.text == ","):
        path = [token for token in piece if token.kind == "symbol" or token.text in {"::", "->"}]
        arrows = [index for index, token in enumerate(path) if token.text == "->"]
        if not is_comma and len(arrows) == 1 and 0 < arrows[0] < len(path) - 1:
            words = [plain(token.text) if token.kind == "symbol" else token.text for token in path]
            matcher, action = "".join(words[: arrows[0]]), "".join(words[arrows[0] + 1 :])
            yield Pair(matcher, action, path[0].start, path[-1].end)


# --- Exclusion of the parts of a spec that today's compiler rejects, by turning them into comments

_TYPE: Final = re.compile(r"![A-Za-z_$][\w$.\-]*")


def parse_failure(text: str, name: str, context: mlir.Context) -> tuple[str, int | None] | None:
    """Return the reason and the offset of a parser error, or None if the compiler accepts the text."""
    try:
        parse_module(text.encode(errors="replace"), name, context)
    except SpecError as failure:
        first = failure.diagnostics[0]
        place = first.place
        if place is None or place.file != name:
            return first.message, None
        # The column counts bytes.
        lines = text.split("\n", place.line)
        before = "".join(f"{line}\n" for line in lines[: place.line - 1])
        line = "".join(lines[place.line - 1 : place.line]).encode(errors="replace")
        column = len(line[: max(0, place.column - 1)].decode(errors="ignore"))
        return first.message, min(len(before) + column, len(text))
    return None


def find_rejected(
    exclusion: Exclusion, outline: SpecOutline, context: mlir.Context
) -> tuple[dict[int, tuple[str, int]], dict[str, str]]:
    """Find the parts of a spec that the compiler rejects, apart from excluded ones."""
    types = _type_aliases(outline.source)
    # Check each sequence by itself.
    checked = (
        (index, _check_sequence(outline, sequence, types, context))
        for index, sequence in enumerate(outline.sequences)
        if index not in exclusion.excluded
    )
    sequences = {index: rejection for index, rejection in checked if rejection is not None}
    # Check each alias by itself. A used alias has already failed where it is used.
    uses = Counter(mark.text for mark in outline.source.marks)
    aliases = {}
    for alias in outline.aliases.values():
        if alias.name not in exclusion.aliases:
            value = outline.source.text[alias.value : alias.end]
            whole = _aliases_of(outline, alias.value, alias.end)
            whole += f"module attributes {{iree_codegen.alias = {value}}} {{}}"
            failure = parse_failure(whole, "<alias>", context)
            if failure is not None:
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
        if callee is None:
            continue
        if text.startswith(_FUNCTIONS, callee.start):  # sequences refer to it only by name
            kind = text[callee.start : text.index(".func", callee.start)]
            lead += f'{kind}.func private @"{callee.name}"()\n'
        else:
            arguments = text[callee.arguments.start : callee.arguments.end]
            results = f" -> {text[slice(*callee.results)]}" if callee.results else ""
            lead += f'transform.named_sequence private @"{callee.name}"{arguments}{results}\n'
    whole = f"{lead}{text[sequence.start : sequence.end]}\n}}"
    failure = parse_failure(whole, "<sequence>", context)
    if failure is None:
        return None
    message, failure_offset = failure
    offset = sequence.start + (failure_offset or 0) - len(lead)
    is_inside = sequence.start <= offset < sequence.end
    return _rejection(message), offset if is_inside else sequence.start


def _type_aliases(source: SpecText) -> dict[str, str]:
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


def _rejection(message: str) -> str:
    return f"today's compiler rejects it: {message.splitlines()[0][:300]}"


@dataclass(frozen=True)
class Exclusion:
    """A spec without the parts that cannot be upgraded."""

    edited: Edited
    excluded: dict[int, str]
    aliases: dict[str, str]


def exclude(
    outline: SpecOutline,
    original: SpecOutline,
    refused: Mapping[int, tuple[str, int]],
    aliases: Mapping[str, str],
) -> Exclusion:
    """Turn sequences into comments, together with dependent sequences and their entries."""
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
                _exclude_pairs(outline.source, sequence, foreach_match.pairs, names, edits)
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
    """Replace a part of the text with a comment that contains the reason and the original text."""
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
    source: SpecText,
    sequence: NamedSequence,
    pairs: Sequence[Pair],
    names: set[tuple[int, str]],
    edits: Edits,
) -> None:
    """Turn the pairs with one of `names` into comments, and remove one comma for each pair."""
    has_survivor = False
    for index, pair in enumerate(pairs):
        if not names & {(sequence.scope, pair.matcher), (sequence.scope, pair.action)}:
            has_survivor = True
            continue
        # The comma before it, or the one after it if all pairs before are excluded.
        start, end = pair.end, pair.end
        if has_survivor:
            start, end = pairs[index - 1].end, pair.start
        elif index + 1 < len(pairs):
            end = pairs[index + 1].start
        comma = next((token for token in source.tokens(start, end) if token.text == ","), None)
        if comma is not None:
            edits.replace(comma.start, comma.end, "")
        text, line_end = source.text, source.line_end(pair.end)
        rest = text[pair.end : line_end]
        if comma is not None and pair.end <= comma.start < line_end:
            rest = text[pair.end : comma.start] + text[comma.end : line_end]
        written = " ".join(text[pair.start : pair.end].split())
        trail = "\n" if rest.strip() else ""
        edits.replace(pair.start, pair.end, f"// Kept out: {written}{trail}")
