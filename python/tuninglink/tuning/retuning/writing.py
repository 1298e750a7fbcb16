"""The new specs, and a report on what became of their entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tuninglink.emission.spec_writer import write_spec
from tuninglink.specs.revision import Revision
from tuninglink.specs.spec import Spec
from tuninglink.tuning.retuning.results import EntryResult, EntryVerdict

COLUMNS: Final = ("line", "verdict", "default us", "tuned us", "speedup", "entry", "what changed")
_UNKNOWN: Final = ""


def retuned_spec(spec: Spec, results: Sequence[EntryResult]) -> str:
    """Return a spec with what became of its entries, as text.

    Without a change it is as it was, and without entries it is one that does nothing.

    Args:
        spec: the spec as it was.
        results: what became of its entries, all of them, in order.
    """
    if all(
        result.verdict in (EntryVerdict.UNTOUCHED, EntryVerdict.UNDECIDED) for result in results
    ):
        return spec.text()
    kept = [result.position for result in results if result.stays]
    if not kept:
        return write_spec(spec.name, [])
    revision = Revision(spec)
    for result in results:
        if result.configuration is not None:
            revision.configure(result.position, result.configuration.attributes)
        if result.verdict in (EntryVerdict.KEPT, EntryVerdict.IMPROVED):
            revision.set_provenance(result.position, result.after)
    return revision.finish(kept).text()


def rows(results: Sequence[EntryResult]) -> list[tuple[str, ...]]:
    """Return the report as rows of a table, under `COLUMNS`."""
    return [_row(result) for result in results]


def _row(result: EntryResult) -> tuple[str, ...]:
    decision = next(
        (comparison.decision for comparison in result.comparisons if comparison.decision), None
    )
    place = result.entry.place
    return (
        str(place.line) if place else "?",
        result.verdict.value,
        f"{decision.default_us:.4g}" if decision else _UNKNOWN,
        f"{decision.tuned_us:.4g}" if decision else _UNKNOWN,
        str(decision.speedup) if decision else _UNKNOWN,
        result.entry.matcher,
        "; ".join(filter(None, (result.reason, *result.changes))),
    )
