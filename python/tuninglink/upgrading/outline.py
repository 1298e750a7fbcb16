"""The structure of a spec's text: aliases, named sequences, the entries, and what refers to what."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Final

from tuninglink.mlir import names
from tuninglink.upgrading.outline_parts import Alias, Dag, ForeachMatch, NamedSequence, Pair
from tuninglink.upgrading.spec_text import Cursor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tuninglink.upgrading.spec_text import Mark, Source, Token

_FOREACH_WORDS: Final = frozenset({"restrict_root", "flatten_results", "in"})

_FUNCTIONS: Final = ("util.func", "func.func")
"""What else has a symbol: programs that sequences put in the place of what they match."""

_PAYLOADS: Final = ("linalg.", "iree_linalg_ext.", "tensor.")
"""The dialects of operations that a DAG can have as its root."""

_REFERENCE: Final = re.compile(
    r'//[^\n]*|(?P<symbol>@(?:[A-Za-z_$][\w$.\-]*|"(?:[^"\\\n]|\\.)*"))|"(?:[^"\\\n]|\\.)*"'
)


def plain(symbol: str) -> str:
    """Returns a symbol without `@` and quotes."""
    return symbol[1:].strip('"')


class SpecOutline:
    """What stands where in a spec."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._starts = [mark.start for mark in source.marks]

    def marks(self, start: int, end: int) -> Sequence[Mark]:
        """Returns the marks from `start` to `end`."""
        first = bisect_left(self._starts, start)
        return self.source.marks[first : bisect_left(self._starts, end)]

    @cached_property
    def aliases(self) -> dict[str, Alias]:
        """The definitions of attribute aliases, by name, `#` included."""
        result: dict[str, Alias] = {}
        for mark in self.source.marks:
            if mark.depth == 0 and mark.text[0] == "#":
                alias = self._alias(mark)
                if alias:
                    result.setdefault(alias.name, alias)
        return result

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
        """The named sequences, in order, of nested modules too; what stands in one is part of it.

        Functions that stand among them are like sequences that match and include nothing.
        """
        result: list[NamedSequence] = []
        kinds = (names.NAMED_SEQUENCE, *_FUNCTIONS)
        for mark in self.source.marks:
            if mark.text in kinds and (not result or mark.start >= result[-1].end):
                sequence = self._sequence(mark)
                if sequence is not None:
                    result.append(sequence)
        return tuple(result)

    def is_function(self, sequence: NamedSequence) -> bool:
        """Tells whether what is listed as a sequence is a function."""
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
        """Returns the sequence that the text at `offset` belongs to."""
        index = bisect_right(self._sequence_starts, offset) - 1
        if index < 0 or offset >= self.sequences[index].end:
            return None
        return self.sequences[index]

    def index_of(self, sequence: NamedSequence) -> int:
        """Returns the position of a sequence among the sequences."""
        return bisect_left(self._sequence_starts, sequence.start)

    @cached_property
    def by_name(self) -> dict[tuple[int, str], NamedSequence]:
        """The sequences by scope and name."""
        return {(sequence.scope, sequence.name): sequence for sequence in reversed(self.sequences)}

    @cached_property
    def _matchers(self) -> dict[tuple[int, str], list[NamedSequence]]:
        """The matchers that are paired with each action."""
        matchers: dict[tuple[int, str], list[NamedSequence]] = {}
        for sequence in self.sequences:
            for foreach_match in self.foreach_matches(sequence):
                for pair in foreach_match.pairs:
                    matcher = self.by_name.get((sequence.scope, pair.matcher))
                    if matcher is not None:
                        matchers.setdefault((sequence.scope, pair.action), []).append(matcher)
        return matchers

    def matchers_of(self, action: NamedSequence) -> Sequence[NamedSequence]:
        """Returns the matchers that an action is paired with."""
        return self._matchers.get((action.scope, action.name), ())

    def includes(self, sequence: NamedSequence) -> Iterator[NamedSequence]:
        """Yields the sequences that a sequence includes."""
        for mark in self.marks(sequence.start, sequence.end):
            if mark.text == names.INCLUDE:
                target = next(self.source.tokens(mark.end, sequence.end), None)
                symbol = plain(target.text) if target is not None else ""
                other = self.by_name.get((sequence.scope, symbol))
                if other is not None and other.body is not None:
                    yield other

    def dags(self, sequence: NamedSequence) -> Iterator[Dag]:
        """Yields the DAGs that a sequence matches."""
        for mark in self.marks(sequence.start, sequence.end):
            dag = self.dag(mark) if mark.text == names.MATCH_DAG else None
            if dag is not None:
                yield dag

    def dag(self, mark: Mark) -> Dag | None:
        """Returns the DAG of the operation at `mark`."""
        for region in self.source.following(mark):
            if region.text == "{":
                roots = [
                    each
                    for each in self.marks(region.start, region.end)
                    if each.inside == region.start and each.text.startswith(_PAYLOADS)
                ]
                return Dag(roots[-1], region) if roots else None
            if region.kind == "word" or region.text == "=":
                return None
        return None

    def foreach_matches(self, sequence: NamedSequence) -> Iterator[ForeachMatch]:
        """Yields the `foreach_match` operations in a sequence."""
        body = sequence.body
        if body is None:
            return
        for mark in self.marks(body.start, body.end):
            result = self._foreach_match(body, mark) if mark.text == names.FOREACH_MATCH else None
            if result is not None:
                yield result

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
        """Returns the symbols that a part of the text refers to."""
        return {
            plain(match["symbol"])
            for match in _REFERENCE.finditer(self.source.text, start, end)
            if match["symbol"]
        }


def _is_of_foreach_match(token: Token) -> bool:
    """Tells whether a token is part of a `foreach_match`, not the name or results of the next operation."""
    return token.text != "=" and (token.kind != "word" or token.text in _FOREACH_WORDS)


def _pairs(tokens: Iterable[Token]) -> Iterator[Pair]:
    """Yields the pairs among the tokens of a `foreach_match`."""
    for is_comma, piece in groupby(tokens, key=lambda token: token.text == ","):
        paths = [each for each in piece if each.kind == "symbol" or each.text in {"::", "->"}]
        arrows = [index for index, each in enumerate(paths) if each.text == "->"]
        if not is_comma and len(arrows) == 1 and 0 < arrows[0] < len(paths) - 1:
            matcher, action = paths[: arrows[0]], paths[arrows[0] + 1 :]
            yield Pair(_path(matcher), _path(action), paths[0].start, paths[-1].end)


def _path(tokens: Iterable[Token]) -> str:
    """Returns a symbol reference, nested ones joined with `::`."""
    return "".join(plain(token.text) if token.kind == "symbol" else token.text for token in tokens)
