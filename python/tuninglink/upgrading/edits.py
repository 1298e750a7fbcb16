"""Edits of a text: collected, applied together, and mapped back to offsets of the old text."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field


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
