"""The text of a spec, tokenized without loss: brackets, comments, strings, and where each thing stands.

Nothing here knows what a spec means. Everything is linear in the length of the text, and no recursion
depends on what the text holds.
"""

from __future__ import annotations

import heapq
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NoReturn

from tuninglink.errors import SpecError
from tuninglink.mlir.diagnostics import Place, error, note

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH: Final = 128
"""How deep brackets may be nested. Specs need a dozen levels; the compiler's parser, which is recursive,
takes down the whole process at some thousands."""

_OPENERS: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}

_OPENED_BY: Final = {closer: opener for opener, closer in _OPENERS.items()}

_WORD: Final = r"[A-Za-z_$][\w$.]*"

# What matters for the structure: strings, comments, arrows (whose `>` closes nothing), brackets, and
# attributes or aliases. Alternatives that begin with a literal let `re` skip all else at full speed, which
# groups with names would not.
_STRUCTURE: Final = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|"|//[^\n]*|->|\(|\)|\[|\]|\{|\}|<|>|#[A-Za-z_$][\w$.\-]*'
)

# Words that may begin something old.
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
    """A piece of the text; a bracket stands for all up to the one that closes it.

    Attributes:
        kind: `string`, `symbol`, `name` (`%value`, `#alias`, `!type`, `^block`), `number`, `word`,
            `punctuation`, or `group` for brackets with what is in them.
        start: where it begins.
        end: where it ends.
        text: the characters, of a group only the opening bracket.
    """

    kind: str
    start: int
    end: int
    text: str

    @property
    def is_transform(self) -> bool:
        """Whether it is the name of an operation of the transform dialect."""
        return self.kind == "word" and self.text.startswith("transform.")


class Cursor:
    """Takes tokens one after the other."""

    def __init__(self, tokens: Iterator[Token]) -> None:
        self._tokens = tokens
        self._next = next(tokens, None)

    def take(self, text: str | None = None) -> Token | None:
        """Returns the next token if its text is as given, and goes on to the one behind it."""
        token = self._next
        if token is None or text not in (None, token.text):
            return None
        self._next = next(self._tokens, None)
        return token

    def take_kind(self, kind: str) -> Token | None:
        """Returns the next token if it is of a kind, and goes on to the one behind it."""
        return self.take() if self._next is not None and self._next.kind == kind else None


@dataclass(frozen=True, slots=True)
class Mark:
    """A word that may begin something old: an attribute or alias (`#…`), an operation, or `module`.

    Attributes:
        text: the word.
        start: where it begins.
        end: where it ends.
        depth: how many brackets are open there.
        inside: where the innermost of them opens, -1 for none.
    """

    text: str
    start: int
    end: int
    depth: int
    inside: int


class Source:
    """The text of a spec with its brackets matched.

    Attributes:
        closers: for each opening bracket the position of the one that closes it.
        marks: the words that may begin something old, in order.

    Raises:
        SpecError: a string is not closed, brackets do not match, or they are nested too deep.
    """

    def __init__(self, text: str, name: str = "<memory>") -> None:
        self.text = text
        self.name = name
        self.closers: dict[int, int] = {}
        self.marks: list[Mark] = []
        self._scan()

    def _scan(self) -> None:
        """Matches the brackets, and finds the marks on the way."""
        text = self.text
        stack: list[int] = []
        words = self._words()
        waiting = next(words, None)
        for match in _STRUCTURE.finditer(text):
            start, end = match.span()
            while waiting is not None and waiting.start() < start:
                self._mark(waiting.group(), waiting.start(), stack)
                waiting = next(words, None)
            first = text[start]
            if first in _OPENERS:
                self._open(start, stack)
            elif first in _OPENED_BY:
                self._close(start, first, stack)
            elif first == "#":
                self._mark(match.group(), start, stack)
            else:  # a string, a comment or an arrow
                if first == '"' and end == start + 1:
                    self._fail(start, "the string that begins here is not closed on its line")
                while waiting is not None and waiting.start() < end:
                    waiting = next(words, None)
        while waiting is not None:
            self._mark(waiting.group(), waiting.start(), stack)
            waiting = next(words, None)
        if stack:
            what = text[stack[-1]]
            self._fail(stack[-1], f"'{what}' is never closed; the spec may be cut off")

    def _open(self, start: int, stack: list[int]) -> None:
        stack.append(start)
        if len(stack) > MAX_DEPTH:
            self._fail(start, f"brackets are nested deeper than {MAX_DEPTH} levels")

    def _close(self, start: int, bracket: str, stack: list[int]) -> None:
        if stack and self.text[stack[-1]] == _OPENED_BY[bracket]:
            self.closers[stack.pop()] = start
        elif bracket != ">":  # else it is the operator of an affine constraint: `d0 >= 0`
            self._mismatch(start, stack)

    def _words(self) -> Iterator[re.Match[str]]:
        return heapq.merge(
            *(pattern.finditer(self.text) for pattern in _WORDS), key=lambda match: match.start()
        )

    def _mark(self, word: str, start: int, stack: list[int]) -> None:
        if start and self.text[start - 1] in _INSIDE_WORD:
            return
        inside = stack[-1] if stack else -1
        self.marks.append(Mark(word, start, start + len(word), len(stack), inside))

    def _mismatch(self, offset: int, stack: list[int]) -> NoReturn:
        result = self.text[offset]
        if not stack:
            self._fail(offset, f"'{result}' closes nothing")
        opener = self.text[stack[-1]]
        raise SpecError(
            error(
                f"expected '{_OPENERS[opener]}' before '{result}'",
                self.place(offset),
                [note(f"to close this '{opener}'", self.place(stack[-1]))],
            )
        )

    def _fail(self, offset: int, message: str) -> NoReturn:
        raise SpecError(error(message, self.place(offset)))

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def place(self, offset: int) -> Place:
        """Returns the place of an offset; its column counts bytes, as the compiler's does."""
        line = bisect_right(self._lines, offset)
        before = self.text[self._lines[line - 1] : offset]
        return Place(self.name, line, len(before.encode(errors="replace")) + 1)

    def offset(self, place: Place) -> int:
        """Returns the offset of a place, whose column counts bytes."""
        start = self._lines[min(place.line, len(self._lines)) - 1]
        line = self.text[start : self.line_end(start)].encode(errors="replace")
        return start + len(line[: place.column - 1].decode(errors="replace"))

    def indent(self, offset: int) -> str:
        """Returns the space that the line of an offset begins with, up to the offset."""
        line = self.text[self.line_start(offset) : offset]
        return line[: len(line) - len(line.lstrip())]

    def line_start(self, offset: int) -> int:
        """Returns where the line of an offset begins."""
        return self.text.rfind("\n", 0, offset) + 1

    def line_end(self, offset: int) -> int:
        """Returns where the line of an offset ends."""
        end = self.text.find("\n", offset)
        return end if end >= 0 else len(self.text)

    def results(self, start: int) -> tuple[int, list[str]]:
        """Returns where the results of the operation at `start` begin, and their names, none without `=`."""
        match_ = _RESULTS.search(self.text, max(0, start - _LONGEST_RESULTS), start)
        return (match_.start(), VALUE.findall(match_["names"])) if match_ else (start, [])

    def following(self, mark: Mark) -> Iterator[Token]:
        """Yields the tokens behind a mark, up to the end of the brackets that it stands in."""
        return self.tokens(mark.end, self.closers.get(mark.inside, len(self.text)))

    def tokens(self, start: int, end: int) -> Iterator[Token]:
        """Yields the tokens in a part of the text, without space and comments.

        A bracket and all that it holds is one token, so that this is linear in what stands outside of
        brackets.
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
            if match is None:  # nothing but the end of the text does not match
                return
            position = match.end()
            if match.lastgroup != "space":
                yield Token(match.lastgroup or "", match.start(), position, match.group())
