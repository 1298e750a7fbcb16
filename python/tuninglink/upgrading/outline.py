"""The structure of a spec's text: aliases, named sequences, entries, and references."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, takewhile
from typing import Final

from tuninglink.mlir import names
from tuninglink.upgrading.outline_parts import Alias, Dag, ForeachMatch, NamedSequence, Pair
from tuninglink.upgrading.spec_text import Cursor, Mark, SpecText, Token

_FOREACH_WORDS: Final = frozenset({"restrict_root", "flatten_results", "in"})

_FUNCTIONS: Final = ("util.func", "func.func")
"""Other operations with symbols: programs that replace matched operations."""

_PAYLOADS: Final = ("linalg.", "iree_linalg_ext.", "tensor.")
"""The dialects of operations that can be the root op of a DAG."""

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
                alias = self._alias(mark)
                if alias:
                    aliases.setdefault(alias.name, alias)
        return aliases

    def _alias(self, mark: Mark) -> Alias | None:
        tokens = Cursor(self.source.tokens(mark.end, len(self.source.text)))
        first = tokens.take() if tokens.take("=") else None
        if first is None:
            return None
        group = tokens.take_kind("group")
        end = group.end if group is not None and group.start == first.end else first.end
        return Alias(mark.text, mark.start, first.start, end)

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

    def is_function(self, sequence: NamedSequence) -> bool:
        """Return whether an element of `sequences` is a function."""
        return self.source.text.startswith(_FUNCTIONS, sequence.start)

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
        return NamedSequence(
            plain(name.text),
            mark.start,
            last.end if last is not None else end,
            mark.inside,
            arguments,
            results,
            attributes,
            body,
        )

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
            foreach_match = (
                self._foreach_match(body, mark) if mark.text == names.FOREACH_MATCH else None
            )
            if foreach_match is not None:
                yield foreach_match

    def _foreach_match(self, body: Token, mark: Mark) -> ForeachMatch | None:
        tokens = list(takewhile(_is_of_foreach_match, self.source.tokens(mark.end, body.end - 1)))
        texts = [token.text for token in tokens]
        if "in" not in texts or not any(text[0] == "%" for text in texts[texts.index("in") :]):
            return None
        start = texts.index("in")
        colon = texts.index(":", start) if ":" in texts[start:] else len(tokens) - 1
        end = tokens[colon].end
        if texts[colon + 2 : colon + 3] == ["->"] and texts[colon + 3 :]:  # `: (types) -> type`
            end = tokens[colon + 3].end
        pairs = tuple(_pairs(tokens[start : colon + 1]))
        results = self.source.results(mark.start)[1]
        return ForeachMatch(mark.start, end, pairs, results[0] if results else None)

    def references(self, start: int, end: int) -> set[str]:
        """Return the symbols that a part of the text refers to."""
        return {
            plain(match["symbol"])
            for match in _REFERENCE.finditer(self.source.text, start, end)
            if match["symbol"]
        }


def _is_of_foreach_match(token: Token) -> bool:
    """Return whether a token belongs to a `foreach_match`, not to the name or results of the next operation."""
    return token.text != "=" and (token.kind != "word" or token.text in _FOREACH_WORDS)


def _pairs(tokens: Iterable[Token]) -> Iterator[Pair]:
    """Yield the pairs among the tokens of a `foreach_match`."""
    for is_comma, piece in groupby(tokens, key=lambda token: token.text == ","):
        paths = [token for token in piece if token.kind == "symbol" or token.text in {"::", "->"}]
        arrows = [index for index, token in enumerate(paths) if token.text == "->"]
        if not is_comma and len(arrows) == 1 and 0 < arrows[0] < len(paths) - 1:
            matcher, action = paths[: arrows[0]], paths[arrows[0] + 1 :]
            yield Pair(_path(matcher), _path(action), paths[0].start, paths[-1].end)


def _path(tokens: Iterable[Token]) -> str:
    """Return a symbol reference, with nested names joined by `::`."""
    return "".join(plain(token.text) if token.kind == "symbol" else token.text for token in tokens)
