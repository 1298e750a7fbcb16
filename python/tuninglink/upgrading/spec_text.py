"""A lossless tokenizer of specs: brackets, comments and strings with their positions.

It is independent of the meaning of specs. Everything is linear in the length of the text, and the depth of recursion
does not depend on the text.
"""

from __future__ import annotations

import heapq
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple, NoReturn

from tuninglink.errors import Diagnostic, Place, SpecError
from tuninglink.mlir import error, note

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
    )
)
_INSIDE_WORD: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.-%@^!#"
)

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


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text. An opening bracket represents everything up to its closing bracket."""

    kind: str
    start: int
    end: int
    text: str

    @property
    def is_transform(self) -> bool:
        return self.kind == "word" and self.text.startswith("transform.")


class Cursor:
    """A cursor over tokens."""

    def __init__(self, tokens: Iterator[Token]) -> None:
        self._tokens = tokens
        self._next = next(tokens, None)

    def take(self, text: str | None = None) -> Token | None:
        """Return the next token if it has the given text, and advance."""
        token = self._next
        if token is None or text not in (None, token.text):
            return None
        self._next = next(self._tokens, None)
        return token

    def take_kind(self, kind: str) -> Token | None:
        return self.take() if self._next is not None and self._next.kind == kind else None


class Mark(NamedTuple):
    """A word at the beginning of a part that may be old: an attribute or alias (`#…`), an operation, or `module`."""

    text: str
    start: int
    end: int
    depth: int
    inside: int


class SpecText:
    """The text of a spec with matched brackets.

    Attributes:
        closers: for the offset of each opening bracket that of its closing bracket.

    Raises:
        SpecError: a string is not closed, brackets do not match, or they are nested too deeply.
    """

    def __init__(self, text: str, name: str = "<memory>") -> None:
        self.text = text
        self.name = name
        self.closers: dict[int, int] = {}
        stack: list[int] = []
        for match in _STRUCTURE.finditer(self.text):
            start, first = match.start(), match.group()[0]
            if first in _OPENERS:
                stack.append(start)
                if len(stack) > MAX_DEPTH:
                    self._fail(start, f"brackets are nested deeper than {MAX_DEPTH} levels")
            elif first in _OPENED_BY:
                if stack and self.text[stack[-1]] == _OPENED_BY[first]:
                    self.closers[stack.pop()] = start
                elif not stack:
                    # An unmatched `>` is the operator of an affine constraint: `d0 >= 0`.
                    if first != ">":
                        self._fail(start, f"unmatched '{first}'")
                elif first != ">":
                    opener = self.text[stack[-1]]
                    remedy = note(f"to close this '{opener}'", self.place(stack[-1]))
                    self._fail(start, f"expected '{_OPENERS[opener]}' before '{first}'", remedy)
            elif first == '"' and match.end() == start + 1:
                self._fail(start, "the string that begins here is not closed on its line")
        if stack:
            what = self.text[stack[-1]]
            self._fail(stack[-1], f"'{what}' is never closed; the spec may be cut off")

    @cached_property
    def marks(self) -> list[Mark]:
        """The words at the beginning of parts that may be old, in order."""
        marks: list[Mark] = []
        stack: list[int] = []
        words = heapq.merge(
            *(pattern.finditer(self.text) for pattern in _WORDS), key=lambda match: match.start()
        )
        waiting = next(words, None)
        for match in _STRUCTURE.finditer(self.text):
            start, end = match.span()
            # Words before this part of the structure are marks.
            while waiting is not None and waiting.start() < start:
                marks += self._mark(waiting, stack)
                waiting = next(words, None)
            if start in self.closers:
                stack.append(start)
            elif stack and self.closers[stack[-1]] == start:
                stack.pop()
            elif self.text[start] == "#":
                marks += self._mark(match, stack)
            else:  # a string, a comment or an arrow, in which words are not marks
                while waiting is not None and waiting.start() < end:
                    waiting = next(words, None)
        while waiting is not None:
            marks += self._mark(waiting, stack)
            waiting = next(words, None)
        return marks

    def _mark(self, word: re.Match[str], stack: list[int]) -> Iterator[Mark]:
        start, end = word.span()
        if not start or self.text[start - 1] not in _INSIDE_WORD:
            yield Mark(word.group(), start, end, len(stack), stack[-1] if stack else -1)

    def _fail(self, offset: int, message: str, *notes: Diagnostic) -> NoReturn:
        raise SpecError(error(message, self.place(offset), notes))

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

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


# --- The parts of a spec's text, with their offsets, and edits of a text -------------------------


@dataclass(frozen=True, slots=True)
class Alias:
    """The definition of an alias: `#name = value`."""

    name: str
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class NamedSequence:
    """A `transform.named_sequence`."""

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
class Dag:
    """The DAG of a `match.cast_compatible_dag_from_root`: the name of its last operation, and the region's braces."""

    root: Mark
    region: Token


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
