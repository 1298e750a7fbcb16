"""The parts of a spec's text, with their offsets, and edits of a text.

Edits are collected, applied together, and mapped back to offsets of the old text.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.upgrading.spec_text import Mark, Token


@dataclass(frozen=True, slots=True)
class Alias:
    """The definition of an alias: `#name = value`.

    Attributes:
        name: the alias, including `#`.
        start: the offset of the definition.
        value: the offset of its value.
        end: the offset of the end of its value.
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
        start: the offset of the operation.
        end: the offset of its end.
        scope: the offset of the enclosing bracket, the body of a module.
        arguments: the parentheses with its arguments.
        results: the offsets of the types of its results, or None without `->`.
        attributes: the braces with its attributes, if any.
        body: the braces with its body, or None for a declaration.
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
        start: the offset of the pair.
        end: the offset of its end, without a comma.
    """

    matcher: str
    action: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ForeachMatch:
    """A `transform.foreach_match`.

    Attributes:
        start: the offset of its name.
        end: the offset of the end of its types.
        pairs: its pairs, in order.
        result: the name of its first result, including `%`, or None.
    """

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
    """A text after its edits.

    Attributes:
        text: the new text.
        anchors: pairs of an offset in the new text and the corresponding one in the old text, in order. Between two
            anchors, the texts are equal, or the new text replaces the old.
    """

    text: str
    anchors: tuple[tuple[int, int], ...]

    def original(self, offset: int) -> int:
        """Return the offset in the old text that corresponds to `offset` in the new text."""
        index = bisect_right(self.anchors, (offset, len(self.text) + offset + 1 << 32)) - 1
        fresh, old = self.anchors[index]
        following = self.anchors[index + 1][1] if index + 1 < len(self.anchors) else None
        moved = old + offset - fresh
        return moved if following is None else min(moved, following)
