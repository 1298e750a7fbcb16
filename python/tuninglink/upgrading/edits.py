"""Changes to a text, collected first and made together, with a way back to where things stood before."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Edit:
    """Replaces what stands from `start` to `end` with `text`."""

    start: int
    end: int
    text: str


@dataclass
class Edits:
    """Changes to one text. Of those that overlap, which only broken text brings about, the first is made."""

    edits: list[Edit] = field(default_factory=list)

    def replace(self, start: int, end: int, text: str) -> None:
        """Replace what stands from `start` to `end`."""
        self.edits.append(Edit(start, end, text))

    def insert(self, at: int, text: str) -> None:
        """Add `text` before the character at `at`."""
        self.edits.append(Edit(at, at, text))

    def apply(self, text: str) -> Edited:
        """Make the changes."""
        pieces: list[str] = []
        anchors: list[tuple[int, int]] = [(0, 0)]
        position = length = 0
        for edit in sorted(set(self.edits)):
            if edit.start < position:
                continue  # two operations found the same thing: the text is broken, and the compiler will say so
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
    """A text after changes.

    Attributes:
        text: the new text.
        anchors: pairs of an offset in the new text and the one in the old text that it corresponds to, in
            order; from each anchor on, up to the next, the two texts run in parallel, or the new text has
            replaced the old.
    """

    text: str
    anchors: tuple[tuple[int, int], ...]

    def original(self, offset: int) -> int:
        """Return where in the old text the thing at `offset` of the new text comes from."""
        index = bisect_right(self.anchors, (offset, len(self.text) + offset + 1 << 32)) - 1
        fresh, old = self.anchors[index]
        following = self.anchors[index + 1][1] if index + 1 < len(self.anchors) else None
        moved = old + offset - fresh
        return moved if following is None else min(moved, following)
