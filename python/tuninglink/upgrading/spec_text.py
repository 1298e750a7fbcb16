"""The text of a spec, tokenized without loss: brackets, aliases, named sequences, entries and references; and its edits.

Everything is linear in the length of the text, and the depth of recursion does not depend on the text.
"""

from __future__ import annotations

import heapq
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby, islice
from typing import Final, NamedTuple, NoReturn

from tuninglink.errors import Diagnostic, Place, SpecError
from tuninglink.mlir import error, names, note

MAX_DEPTH: Final = 128
"""The greatest nesting of brackets. Specs need a dozen levels. The compiler's recursive parser ends the process at
some thousands."""

_OPENERS: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}

_OPENED_BY: Final = {closer: opener for opener, closer in _OPENERS.items()}

_WORD: Final = r"[A-Za-z_$][\w$.]*"

# The structure: strings, comments, arrows (whose `>` is not a bracket), brackets, attributes and aliases. Alternatives
# that begin with a literal let `re` skip other text at full speed, unlike named groups.
_STRUCTURE: Final = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|"|//[^\n]*|->|\(|\)|\[|\]|\{|\}|<|>|#[A-Za-z_$][\w$.\-]*'
)

# Words at the beginning of parts that may be old.
_WORDS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"transform\.[\w.]+",
        r"linalg\.[\w.]+",
        r"iree_linalg_ext\.[\w.]+",
        r"tensor\.(?:un)?pack\b",
        r"(?:util|func)\.func\b",
        r"module\b",
        r"#[A-Za-z_$][\w$.\-]*",
    )
)
_INSIDE_WORD: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.-%@^!#"
)

TRANSFORM: Final = "transform."
"""The start of the names of transform operations."""

VALUE: Final = re.compile(r"%[\w$.\-]+")
"""The name of a value."""

_RESULTS: Final = re.compile(
    r"(?P<names>%[\w$.\-]+(?::\d+)?(?:\s*,\s*%[\w$.\-]+(?::\d+)?)*)\s*=\s*$"
)
_LONGEST_RESULTS: Final = 200

_TOKEN: Final = re.compile(
    r"(?P<space>\s+|//[^\n]*)"
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")'
    rf'|(?P<symbol>@(?:[A-Za-z_$][\w$.\-]*|"(?:[^"\\\n]|\\.)*"))'
    r"|(?P<name>[#!^][A-Za-z_$][\w$.\-]*|%[\w$.\-]+(?:\#\d+)?)"
    r"|(?P<number>-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d*(?:[eE][-+]?\d+)?)?))"
    rf"|(?P<word>{_WORD})"
    r"|(?P<punctuation>->|::|==|.)",
    re.DOTALL,
)

FUNCTIONS: Final = ("util.func", "func.func")
"""Other operations with symbols: programs that replace matched operations."""

_LONGEST_HEADER: Final = 9
"""The tokens of a named sequence: visibility, name, arguments, arrow, type with parameters, attributes, body."""

_FOREACH_WORDS: Final = frozenset({"restrict_root", "flatten_results", "in"})

_PAYLOADS: Final = ("linalg.", "iree_linalg_ext.", "tensor.")
"""The dialects of operations that can be the root op of a DAG."""

_AFTER_MAPS: Final = frozenset({"ins", "outs", ":"})
"""What follows the indexing maps of an operation."""

_REFERENCE: Final = re.compile(
    r'//[^\n]*|(?P<name>@(?:[A-Za-z_$][\w$.\-]*|"(?:[^"\\\n]|\\.)*")|[#!][A-Za-z_$][\w$.\-]*)|"(?:[^"\\\n]|\\.)*"'
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text. An opening bracket represents everything up to its closing bracket."""

    kind: str
    start: int
    end: int
    text: str


_NO_TOKEN: Final = Token("", 0, 0, "")
"""A placeholder after the last token."""


class Mark(NamedTuple):
    """A word at the beginning of a part that may be old: an attribute or alias (`#…`), an operation, or `module`."""

    text: str
    start: int
    end: int
    depth: int
    inside: int


@dataclass(frozen=True, slots=True)
class Alias:
    """The definition of an alias: `#name = value`."""

    name: str
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class Pair:
    """A `matcher -> action` pair of a `foreach_match`."""

    matcher: str
    action: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ForeachMatch:
    """A `transform.foreach_match`."""

    start: int
    end: int
    pairs: tuple[Pair, ...]
    result: str | None


@dataclass(frozen=True, slots=True)
class NamedSequence:
    """A `transform.named_sequence`, or a function.

    Attributes:
        index: its position in `SpecText.sequences`.
        scope: the offset of the brackets around it, which its symbol is defined in.
        is_marked: whether it has the marker of an entry point.
        is_entry_point: whether it is an entry point, by its marker or its name.
    """

    name: str
    index: int
    start: int
    end: int
    scope: int
    arguments: Token
    results: tuple[int, int] | None
    attributes: Token | None
    body: Token | None
    is_marked: bool
    is_entry_point: bool
    foreach_matches: tuple[ForeachMatch, ...]


@dataclass(frozen=True, slots=True)
class Dag:
    """The DAG of a `match.cast_compatible_dag_from_root`: the name of its last operation, and the region's braces."""

    root: Mark
    region: Token


def plain(symbol: str) -> str:
    """Return a symbol without `@` and quotes."""
    return symbol[1:].strip('"')


class SpecText:
    """The text of a spec, its brackets, and its parts with their positions.

    Attributes:
        closers: for the offset of each opening bracket that of its closing bracket.

    Raises:
        SpecError: a string is not closed, brackets do not match, or they are nested too deeply.
    """

    def __init__(self, text: str, name: str = "<memory>") -> None:
        self.text = text
        self.name = name
        self.closers: dict[int, int] = {}
        self._marks: list[Mark] = []
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        stack: list[int] = []
        words = heapq.merge(
            *(pattern.finditer(text) for pattern in _WORDS), key=lambda match: match.start()
        )
        word, done = next(words, None), 0
        spans = (match.span() for match in _STRUCTURE.finditer(text))
        for start, end in chain(spans, [(len(text), len(text))]):
            # Words before this part of the structure are marks, except in a string or a comment, which ends at `done`.
            while word is not None and (at := word.start()) < start:
                if at >= done and (not at or text[at - 1] not in _INSIDE_WORD):
                    inside = stack[-1] if stack else -1
                    self._marks.append(Mark(word.group(), at, word.end(), len(stack), inside))
                word = next(words, None)
            first = text[start : start + 1]
            if first in _OPENERS:
                stack.append(start)
                if len(stack) > MAX_DEPTH:
                    self._fail(start, f"brackets are nested deeper than {MAX_DEPTH} levels")
            elif first in _OPENED_BY:
                if stack and text[stack[-1]] == _OPENED_BY[first]:
                    self.closers[stack.pop()] = start
                elif first == ">":
                    continue  # the operator of an affine constraint: `d0 >= 0`
                elif not stack:
                    self._fail(start, f"unmatched '{first}'")
                else:
                    opener = text[stack[-1]]
                    remedy = note(f"to close this '{opener}'", self.place(stack[-1]))
                    self._fail(start, f"expected '{_OPENERS[opener]}' before '{first}'", remedy)
            elif first == '"' and end == start + 1:
                self._fail(start, "the string that begins here is not closed on its line")
            elif first != "#":
                done = end
        if stack:
            what = text[stack[-1]]
            self._fail(stack[-1], f"'{what}' is never closed; the spec may be cut off")

    def _fail(self, offset: int, message: str, *notes: Diagnostic) -> NoReturn:
        raise SpecError(error(message, self.place(offset), notes))

    def place(self, offset: int) -> Place:
        """Return the place of an offset. Its column counts bytes, as the compiler's does."""
        line = bisect_right(self._lines, offset)
        before = self.text[self._lines[line - 1] : offset]
        return Place(self.name, line, len(before.encode(errors="replace")) + 1)

    def offset(self, place: Place) -> int:
        """Return the offset of a place, whose column counts bytes."""
        start = self._lines[min(place.line, len(self._lines)) - 1]
        line = self.text[start : self.line_end(start)].encode(errors="replace")
        return start + len(line[: place.column - 1].decode(errors="replace"))

    def indent(self, offset: int) -> str:
        """Return the leading white space of an offset's line, up to the offset."""
        line = self.text[self.line_start(offset) : offset]
        return line[: len(line) - len(line.lstrip())]

    def line_start(self, offset: int) -> int:
        """Return the offset where a line begins."""
        return self.text.rfind("\n", 0, offset) + 1

    def line_end(self, offset: int) -> int:
        """Return the offset where a line ends."""
        end = self.text.find("\n", offset)
        return end if end >= 0 else len(self.text)

    def results(self, start: int) -> tuple[int, list[str]]:
        """Return the offset and the names of the results of the operation at `start`; no names without `=`."""
        match_ = _RESULTS.search(self.text, max(0, start - _LONGEST_RESULTS), start)
        return (match_.start(), VALUE.findall(match_["names"])) if match_ else (start, [])

    def following(self, mark: Mark) -> Iterator[Token]:
        """Yield the tokens after a mark, up to the end of the enclosing brackets."""
        return self.tokens(mark.end, self.closers.get(mark.inside, len(self.text)))

    def tokens(self, start: int, end: int) -> Iterator[Token]:
        """Yield the tokens in a part of the text, without white space and comments.

        A bracket with its content is one token, so that the cost is linear in the text outside of brackets.
        """
        position = start
        text, closers = self.text, self.closers
        while position < end:
            closer = closers.get(position)
            if closer is not None:
                yield Token("group", position, closer + 1, text[position])
                position = closer + 1
                continue
            match = _TOKEN.match(text, position, end)
            if match is None:  # only the end of the text does not match
                return
            position = match.end()
            if match.lastgroup != "space":
                yield Token(match.lastgroup or "", match.start(), position, match.group())

    def inside(self, brackets: Token) -> Iterator[Token]:
        """Yield the tokens in brackets."""
        return self.tokens(brackets.start + 1, brackets.end - 1)

    def marks(self, start: int = 0, end: int | None = None) -> Sequence[Mark]:
        """Return the words that begin parts that may be old, from `start` to `end`, in order."""
        first = bisect_left(self._marks, start, key=lambda mark: mark.start)
        last = None if end is None else bisect_left(self._marks, end, key=lambda mark: mark.start)
        return self._marks[first:last]

    @cached_property
    def aliases(self) -> dict[str, Alias]:
        """The definitions of attribute aliases, by name, `#` included."""
        aliases: dict[str, Alias] = {}
        for mark in self._marks:
            if mark.depth == 0 and mark.text[0] == "#":
                tokens = self.tokens(mark.end, len(self.text))
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
        for mark in self._marks:
            is_nested = sequences and mark.start < sequences[-1].end
            if is_nested or mark.text not in (names.NAMED_SEQUENCE, *FUNCTIONS):
                continue
            tokens = [
                *islice(self.following(mark), _LONGEST_HEADER),
                *[_NO_TOKEN] * _LONGEST_HEADER,
            ]
            # The visibility, if it is given, the name and the arguments.
            if tokens[0].kind == "word":
                del tokens[0]
            symbol, arguments, arrow, first, parameters = tokens[:5]
            if symbol.kind != "symbol" or arguments.text != "(":
                continue
            del tokens[:2]
            # The type of the result.
            results, end = None, arguments.end
            if arrow.text == "->":
                if first is _NO_TOKEN:
                    continue
                is_parametric = parameters.text == "<"
                end = parameters.end if is_parametric else first.end
                results = first.start, end
                del tokens[: 3 if is_parametric else 2]
            # The attributes and the body.
            attributes = body = None
            if tokens[0].text == "attributes":
                attributes = tokens[1] if tokens[1] is not _NO_TOKEN else None
                del tokens[:2]
            if tokens[0].text == "{":
                body = tokens[0]
            last = body or attributes
            written = self.text[attributes.start : attributes.end] if attributes else ""
            name, is_marked = plain(symbol.text), names.ENTRY_POINT in written
            sequences.append(
                NamedSequence(
                    name=name,
                    index=len(sequences),
                    start=mark.start,
                    end=last.end if last is not None else end,
                    scope=mark.inside,
                    arguments=arguments,
                    results=results,
                    attributes=attributes,
                    body=body,
                    is_marked=is_marked,
                    is_entry_point=is_marked or name == names.KERNEL_CONFIG,
                    foreach_matches=tuple(self._foreach_matches(body)) if body else (),
                )
            )
        return tuple(sequences)

    def _foreach_matches(self, body: Token) -> Iterator[ForeachMatch]:
        """Yield the `foreach_match` operations in a body."""
        for mark in self.marks(body.start, body.end):
            if mark.text != names.FOREACH_MATCH:
                continue
            tokens = []
            for token in self.tokens(mark.end, body.end - 1):
                if token.text == "=" or (token.kind == "word" and token.text not in _FOREACH_WORDS):
                    break
                tokens.append(token)
            texts = [token.text for token in tokens]
            if "in" not in texts or not any(text[0] == "%" for text in texts[texts.index("in") :]):
                continue
            start = texts.index("in")
            colon = texts.index(":", start) if ":" in texts[start:] else len(tokens) - 1
            end = tokens[colon].end
            if texts[colon + 2 : colon + 3] == ["->"] and texts[colon + 3 :]:  # `: (types) -> type`
                end = tokens[colon + 3].end
            # Read the pairs.
            pairs = []
            for is_comma, piece in groupby(
                tokens[start : colon + 1], key=lambda token: token.text == ","
            ):
                path = [
                    token for token in piece if token.kind == "symbol" or token.text in {"::", "->"}
                ]
                arrows = [index for index, token in enumerate(path) if token.text == "->"]
                if not is_comma and len(arrows) == 1 and 0 < arrows[0] < len(path) - 1:
                    words = [
                        plain(token.text) if token.kind == "symbol" else token.text
                        for token in path
                    ]
                    matcher, action = "".join(words[: arrows[0]]), "".join(words[arrows[0] + 1 :])
                    pairs.append(Pair(matcher, action, path[0].start, path[-1].end))
            results = self.results(mark.start)[1]
            yield ForeachMatch(mark.start, end, tuple(pairs), results[0] if results else None)

    def sequence_at(self, offset: int) -> NamedSequence | None:
        """Return the sequence at an offset, or None."""
        index = bisect_right(self.sequences, offset, key=lambda sequence: sequence.start) - 1
        if index < 0 or offset >= self.sequences[index].end:
            return None
        return self.sequences[index]

    @cached_property
    def by_name(self) -> dict[tuple[int, str], NamedSequence]:
        """The sequences by scope and name."""
        return {(sequence.scope, sequence.name): sequence for sequence in reversed(self.sequences)}

    def includes(self, sequence: NamedSequence) -> Iterator[NamedSequence]:
        """Yield the sequences that a sequence includes."""
        for mark in self.marks(sequence.start, sequence.end):
            if mark.text == names.INCLUDE:
                target = next(self.tokens(mark.end, sequence.end), None)
                symbol = plain(target.text) if target is not None else ""
                callee = self.by_name.get((sequence.scope, symbol))
                if callee is not None and callee.body is not None:
                    yield callee

    def dag(self, mark: Mark) -> Dag | None:
        """Return the DAG of the operation at `mark`."""
        for region in self.following(mark):
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

    def maps(self, tokens: Iterable[Token]) -> tuple[list[str], Token | None]:
        """Return the indexing maps of an operation, among its tokens or in its attributes, and their brackets."""
        previous = ""
        for token in tokens:
            if token.text == "[" and previous == "indexing_maps":
                pieces = groupby(self.inside(token), key=lambda inner: inner.text == ",")
                parts = [list(piece) for _, piece in pieces][::2]
                texts = [self.text[part[0].start : part[-1].end] for part in parts]
                aliases = [(text, self.aliases.get(text)) for text in texts]
                return [self.text[at.value : at.end] if at else text for text, at in aliases], token
            if token.text in _AFTER_MAPS or token.text.startswith(TRANSFORM):
                break
            if token.text in {"{", "<"}:
                maps, brackets = self.maps(self.inside(token))
                if brackets is not None:
                    return maps, brackets
            if token.text != "=":
                previous = token.text
        return [], None

    def references(self, start: int, end: int) -> set[str]:
        """Return the symbols, attribute and type aliases that a part of the text refers to: `@x`, `#x` and `!x`."""
        matches = _REFERENCE.finditer(self.text, start, end)
        return {match["name"] for match in matches if match["name"]}


# --- Edits of a text -----------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class Edit:
    """The replacement of the text from `start` to `end` by `text`."""

    start: int
    end: int
    text: str


@dataclass
class Edits:
    """The edits of a text. Of overlapping edits, which only malformed text causes, the first is applied."""

    edits: list[Edit] = field(default_factory=list)

    def replace(self, start: int, end: int, text: str) -> None:
        """Replace the text from `start` to `end`."""
        self.edits.append(Edit(start, end, text))

    def insert(self, at: int, text: str) -> None:
        """Add `text` before the character at `at`."""
        self.edits.append(Edit(at, at, text))

    def apply(self, text: str) -> Edited:
        """Apply the edits."""
        pieces: list[str] = []
        anchors: list[tuple[int, int]] = [(0, 0)]
        position = length = 0
        for edit in sorted(set(self.edits)):
            if edit.start < position:
                continue  # the text is malformed, which the compiler will report
            kept = text[position : edit.start]
            pieces += (kept, edit.text)
            length += len(kept)
            anchors.append((length, edit.start))
            length += len(edit.text)
            anchors.append((length, edit.end))
            position = edit.end
        pieces.append(text[position:])
        return Edited("".join(pieces), tuple(anchors))


@dataclass(frozen=True)
class Edited:
    """A text after its edits."""

    text: str
    anchors: tuple[tuple[int, int], ...]

    def original(self, offset: int) -> int:
        """Return the offset in the old text that corresponds to `offset` in the new text."""
        index = bisect_right(self.anchors, (offset, len(self.text) + offset + 1 << 32)) - 1
        fresh, old = self.anchors[index]
        following = self.anchors[index + 1][1] if index + 1 < len(self.anchors) else None
        moved = old + offset - fresh
        return moved if following is None else min(moved, following)
