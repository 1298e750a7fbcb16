"""What tells a derived entry from the one that it was derived from, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.iree.op_kinds import Role
    from tuninglink.matching.derivation.renumbering import LoopMapping


def change_in_words(mapping: LoopMapping, roles: Sequence[Role]) -> str:
    """Returns what was changed for another form of a problem, such as `unit batch added`.

    Args:
        mapping: how the loops of the two forms correspond.
        roles: the roles of the loops of the new form.
    """
    added = [roles[loop].value for loop, source in enumerate(mapping.sources) if source is None]
    kept = [source for source in mapping.sources if source is not None]
    words = [f"unit {each} added" for each in dict.fromkeys(added)]
    if mapping.dropped:
        count = len(mapping.dropped)
        words.append("unit loop removed" if count == 1 else f"{count} unit loops removed")
    if kept != sorted(kept):
        words.append("loops reordered")
    return ", ".join(words) or "scale of another type"
