"""The structure of a spec's text: aliases, named sequences, the entries, and what refers to what."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tuninglink.mlir import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.upgrading.source import Mark, Source, Token

_FOREACH_WORDS: Final = frozenset({"restrict_root", "flatten_results", "in"})

_FUNCTIONS: Final = frozenset({"util.func", "func.func"})
"""What else has a symbol: programs that sequences put in the place of what they match."""

_PAYLOADS: Final = ("linalg.", "iree_linalg_ext.", "tensor.")
"""The dialects of operations that a DAG can have as its root."""

_TYPE: Final = re.compile(r"![A-Za-z_$][\w$.\-]*")

_REFERENCE: Final = re.compile(
    r'//[^\n]*|(?P<symbol>@(?:[A-Za-z_$][\w$.\-]*|"(?:[^"\\\n]|\\.)*"))|"(?:[^"\\\n]|\\.)*"'
)


@dataclass(frozen=True, slots=True)
class Alias:
    """The definition of an alias: `#name = value`.

    Attributes:
        name: the alias, `#` included.
        start: where the definition begins.
        value: where its value begins.
        end: where its value ends.
    """

    name: str
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class NamedSequence:
    """A `transform.named_sequence`.

    Attributes:
        name: its symbol, without `@` and quotes.
        start: where the operation begins.
        end: where it ends.
        scope: where the brackets open that it stands in; a module's body.
        arguments: the brackets with its arguments.
        results: where the types of its results begin and end, None without `->`.
        attributes: the brackets with its attributes, if any.
        body: the brackets with its body, None for a declaration.
    """

    name: str
    start: int
    end: int
    scope: int
    arguments: Token
    results: tuple[int, int] | None
    attributes: Token | None
    body: Token | None


@dataclass(frozen=True, slots=True)
class Pair:
    """A `matcher -> action` pair of a `foreach_match`.

    Attributes:
        matcher: the symbol of the matcher, without `@` and quotes.
        action: the symbol of the action.
        start: where the pair begins.
        end: where it ends, without a comma.
    """

    matcher: str
    action: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ForeachMatch:
    """A `transform.foreach_match`.

    Attributes:
        start: where its name begins.
        end: where its types end.
        operand: the first value that it searches in.
        pairs: its pairs, in order.
        result: the name of its first result, `%` included, None without one.
    """

    start: int
    end: int
    operand: str
    pairs: tuple[Pair, ...]
    result: str | None


@dataclass(frozen=True, slots=True)
class Dag:
    """The DAG of a `match.cast_compatible_dag_from_root`.

    Attributes:
        root: the name of its last operation.
        region: the brackets with its operations.
    """

    root: Mark
    region: Token


def plain(symbol: str) -> str:
    """Returns a symbol without `@` and quotes."""
    return symbol[1:].strip('"')


class Outline:
    """What stands where in a spec.

    Args:
        source: the text.
    """

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
        found: dict[str, Alias] = {}
        for mark in self.source.marks:
            if mark.depth == 0 and mark.text[0] == "#":
                alias = self._alias(mark)
                if alias:
                    found.setdefault(alias.name, alias)
        return found

    def _alias(self, mark: Mark) -> Alias | None:
        tokens = self.source.tokens(mark.end, len(self.source.text))
        equals, first = next(tokens, None), next(tokens, None)
        if equals is None or equals.text != "=" or first is None:
            return None
        end = first.end
        second = next(tokens, None)
        if second is not None and second.kind == "group" and second.start == end:
            end = second.end
        return Alias(mark.text, mark.start, first.start, end)

    @cached_property
    def _types(self) -> dict[str, str]:
        """The definitions of type aliases, by name, `!` included."""
        found: dict[str, str] = {}
        name, start, end = "", -1, -1
        previous = None
        for token in self.source.tokens(0, len(self.source.text)):
            begins = token.kind == "name" and token.text[0] in "!#" and token.start > end
            if (begins or token.text == "module") and start >= 0:
                found[name] = self.source.text[start:end]
                start = -1
            if token.text == "module":
                break
            if token.text == "=" and previous is not None and previous.text[0] == "!":
                name, start = previous.text, previous.start
            previous, end = token, token.end
        return found

    def types_of(self, start: int, end: int) -> str:
        """Returns the definitions of the type aliases that a part of the text uses."""
        if not self._types:
            return ""
        pending = _TYPE.findall(self.source.text, start, end)
        needed: set[str] = set()
        while pending:
            name = pending.pop()
            if name in self._types and name not in needed:
                needed.add(name)
                pending += _TYPE.findall(self._types[name])
        return "".join(f"{text}\n" for name, text in self._types.items() if name in needed)

    @cached_property
    def sequences(self) -> tuple[NamedSequence, ...]:
        """The named sequences, in order, of nested modules too; what stands in one is part of it.

        Functions that stand among them are like sequences that match and include nothing.
        """
        found: list[NamedSequence] = []
        kinds = {names.NAMED_SEQUENCE, *_FUNCTIONS}
        for mark in self.source.marks:
            if mark.text in kinds and (not found or mark.start >= found[-1].end):
                sequence = self._sequence(mark)
                if sequence is not None:
                    found.append(sequence)
        return tuple(found)

    def is_function(self, sequence: NamedSequence) -> bool:
        """Tells whether what is listed as a sequence is a function."""
        return self.source.text.startswith(tuple(_FUNCTIONS), sequence.start)

    def _sequence(self, mark: Mark) -> NamedSequence | None:
        limit = self.source.closers[mark.inside] if mark.inside >= 0 else len(self.source.text)
        tokens = self.source.tokens(mark.end, limit)
        token = next(tokens, None)
        if token is not None and token.kind == "word":  # its visibility
            token = next(tokens, None)
        arguments = next(tokens, None)
        if token is None or token.kind != "symbol" or arguments is None or arguments.text != "(":
            return None
        name, end = plain(token.text), arguments.end
        results, attributes, body = None, None, None
        token = next(tokens, None)
        if token is not None and token.text == "->":
            first = token = next(tokens, None)
            if first is None:
                return None
            end = first.end
            token = next(tokens, None)
            if token is not None and token.text == "<":
                end = token.end
                token = next(tokens, None)
            results = (first.start, end)
        if token is not None and token.text == "attributes":
            attributes = next(tokens, None)
            end = attributes.end if attributes else end
            token = next(tokens, None)
        if token is not None and token.text == "{":
            body, end = token, token.end
        return NamedSequence(
            name, mark.start, end, mark.inside, arguments, results, attributes, body
        )

    @cached_property
    def _sequence_starts(self) -> list[int]:
        return [each.start for each in self.sequences]

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
        return {(each.scope, each.name): each for each in reversed(self.sequences)}

    @cached_property
    def _matchers(self) -> dict[tuple[int, str], list[NamedSequence]]:
        """The matchers that are paired with each action."""
        found: dict[tuple[int, str], list[NamedSequence]] = {}
        for sequence in self.sequences:
            for foreach_match in self.foreach_matches(sequence):
                for pair in foreach_match.pairs:
                    matcher = self.by_name.get((sequence.scope, pair.matcher))
                    if matcher is not None:
                        found.setdefault((sequence.scope, pair.action), []).append(matcher)
        return found

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
        for mark in self.marks(sequence.start, sequence.end):
            if mark.text == names.FOREACH_MATCH:
                found = self._foreach_match(sequence, mark)
                if found:
                    yield found

    def _foreach_match(self, sequence: NamedSequence, mark: Mark) -> ForeachMatch | None:
        body = sequence.body
        if body is None:
            return None
        # The operation ends where the next one begins, with its name or its results.
        tokens: list[Token] = []
        for token in self.source.tokens(mark.end, body.end - 1):
            if token.text == "=" or (token.kind == "word" and token.text not in _FOREACH_WORDS):
                break
            tokens.append(token)
        position = 0
        while position < len(tokens) and tokens[position].text != "in":
            position += 1
        operands = [each for each in tokens[position:] if each.text.startswith("%")]
        if not operands:
            return None
        pairs: list[Pair] = []
        while position < len(tokens) and tokens[position].text != ":":
            if tokens[position].kind == "symbol":
                position = self._pair(tokens, position, pairs)
            else:
                position += 1
        end = tokens[min(position, len(tokens) - 1)].end
        # `: (types) -> type`
        if position + 3 < len(tokens) and tokens[position + 2].text == "->":
            end = tokens[position + 3].end
        result = self._result_name(mark.start)
        return ForeachMatch(mark.start, end, operands[0].text, tuple(pairs), result)

    def _pair(self, tokens: list[Token], position: int, pairs: list[Pair]) -> int:
        start = tokens[position].start
        matcher, position = _path(tokens, position)
        if position >= len(tokens) or tokens[position].text != "->":
            return position
        if position + 1 >= len(tokens) or tokens[position + 1].kind != "symbol":
            return position + 1
        action, position = _path(tokens, position + 1)
        pairs.append(Pair(matcher, action, start, tokens[position - 1].end))
        return position

    def _result_name(self, start: int) -> str | None:
        """Returns the first result that the operation at `start` gives a name to."""
        line = self.source.text[max(0, start - 200) : start]
        found = re.search(r"(%[\w$.\-]+)(?::\d+)?\s*(?:,\s*%[\w$.\-]+\s*)*=\s*$", line)
        return found.group(1) if found else None

    def references(self, start: int, end: int) -> set[str]:
        """Returns the symbols that a part of the text refers to."""
        return {
            plain(match["symbol"])
            for match in _REFERENCE.finditer(self.source.text, start, end)
            if match["symbol"]
        }


def _path(tokens: list[Token], position: int) -> tuple[str, int]:
    """Reads a symbol reference, nested ones joined with `::`."""
    path = plain(tokens[position].text)
    position += 1
    while (
        position + 1 < len(tokens)
        and tokens[position].text == "::"
        and tokens[position + 1].kind == "symbol"
    ):
        path += "::" + plain(tokens[position + 1].text)
        position += 2
    return path, position
