"""Comparison of explanations: dispatches with another status or another configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tuninglink.comparing.changes import Change, ChangeKind, kind_of
from tuninglink.comparing.pairing import paired

if TYPE_CHECKING:
    from collections.abc import Iterator

    Object = dict[str, Any]

_TUNED: Final = "tuned"
_CONFIGURATION: Final = ("translation_info", "lowering_config", "decomposition_config")


def compare_explanations(old: Object, new: Object) -> Iterator[Change]:
    """Yield the changes, in the order of the dispatches.

    A dispatch that was tuned and now is not, or is missing, is a regression. One that is newly tuned is an improvement.

    Args:
        old: an explanation, as `tuninglink explain` writes it.
        new: a later one.
    """
    for what, before, after in paired(old["dispatches"], new["dispatches"], _key):
        change = _change(before, after)
        if change is not None:
            yield Change(change[0], what, change[1])


def _key(dispatch: Object) -> str:
    words = ", ".join(operation["words"] for operation in dispatch["operations"])
    return f"{words or dispatch['name']} for {dispatch['target']}"


def _change(before: Object | None, after: Object | None) -> tuple[ChangeKind, str] | None:
    was = before["status"] if before else "missing"
    status = after["status"] if after else "missing"
    if was != status:
        return kind_of(was, status, _TUNED), f"{was} → {status}"
    if not before or not after or before["operations"] == after["operations"]:
        return None
    entries = [_entries(dispatch) for dispatch in (before, after)]
    if entries[0] != entries[1]:
        return ChangeKind.CHANGE, f"entry {entries[0]} → {entries[1]}"
    if _configurations(before) != _configurations(after):
        return ChangeKind.CHANGE, "configuration changed"
    return None


def _entries(dispatch: Object) -> str:
    matches = [operation["match"] for operation in dispatch["operations"] if operation["match"]]
    return ", ".join(
        match["entry"]["matcher"] if match["entry"] else match["spec"] for match in matches
    )


def _configurations(dispatch: Object) -> list[list[str | None]]:
    configurations = [operation["configuration"] for operation in dispatch["operations"]]
    return [[configuration[name] for name in _CONFIGURATION] for configuration in configurations]
