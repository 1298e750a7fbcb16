"""Comparison of specs, entry by entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.comparing.changes import (
    Change,
    ChangeKind,
    ComparedItem,
    Comparison,
    Estimate,
    Side,
    Source,
    paired,
)
from tuninglink.matching.reader import MatcherReader
from tuninglink.specs.entry_settings import provenance_of, rewriting_words, settings_of

if TYPE_CHECKING:
    from tuninglink.matching.matcher import Matcher
    from tuninglink.specs.spec import Spec
    from tuninglink.specs.structure import Entry

    Read = tuple[Spec, Entry, Matcher]


def compare_specs(old: Spec, new: Spec) -> Comparison:
    """Return the changes of the entries: added and removed ones, and other configurations.

    Entries are paired by the conditions of their matchers, those that cannot be read by the names.

    Args:
        old: a spec.
        new: a later one, in the same context.
    """
    items = [_item(before, after) for before, after in paired(_read(old), _read(new), _conditions)]
    old_source, new_source = (
        Source(spec.source, {"kind": spec.kind.value, "entries": str(len(spec.entries))})
        for spec in (old, new)
    )
    return Comparison("specs", old_source, new_source, tuple(items))


def _read(spec: Spec) -> list[Read]:
    reader = MatcherReader(spec.anatomy.table)
    return [(spec, entry, reader.read(entry.matcher)) for entry in spec.entries]


def _conditions(read: Read) -> object:
    _, entry, matcher = read
    return matcher.predicates if matcher.stop is None else entry.matcher


def _item(before: Read | None, after: Read | None) -> ComparedItem:
    sides = [None if read is None else _side(read) for read in (before, after)]
    names = [f"@{read[1].matcher}" for read in (before, after) if read is not None]
    what = " → ".join(dict.fromkeys(names))
    old, new = sides
    text = ""
    if old is None or new is None:
        text = "added" if old is None else "removed"
    elif old.configuration != new.configuration:
        text = "configuration changed"
    changes = (Change(ChangeKind.CHANGE, what, text),) if text else ()
    return ComparedItem(what, old, new, changes)


def _side(read: Read) -> Side:
    spec, entry, _ = read
    settings = settings_of(spec, entry)
    provenance = provenance_of(spec.anatomy.table, entry.matcher)
    time = provenance.get("tuned_us")
    words = rewriting_words(spec.anatomy.table, entry.action)
    if words:
        return Side("rewrites", _time(time), configuration=(words,))
    return Side(
        "computed" if settings is None else "configures" if settings else "configures nothing",
        _time(time),
        configuration=tuple(f"{name} = {value}" for name, value in (settings or {}).items()),
    )


def _time(value: object) -> Estimate | None:
    return Estimate(float(value)) if isinstance(value, int | float) else None
