"""The new specs, and a report on what became of their entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tuninglink.emission.spec_writer import write_spec
from tuninglink.specs.revision import Revision
from tuninglink.tuning.retuning.results import EntryVerdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.specs.spec import Spec
    from tuninglink.tuning.retuning.results import EntryComparison, EntryResult, RetuningResult

SCHEMA_VERSION: Final = 1
"""The version of the JSON; grows when a field changes its meaning or goes, not when one is added."""

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


def to_json(result: RetuningResult) -> dict[str, Any]:
    """Return the report as data for JSON."""
    return {"schema": SCHEMA_VERSION, "entries": [_entry(entry) for entry in result.entries]}


def rows(results: Sequence[EntryResult]) -> list[tuple[str, ...]]:
    """Return the report as rows of a table, under `COLUMNS`."""
    return [_row(result) for result in results]


def _entry(result: EntryResult) -> dict[str, Any]:
    place = result.entry.place
    return {
        "spec": result.spec.source,
        "entry": result.entry.matcher,
        "line": place.line if place else None,
        "verdict": result.verdict.value,
        "reason": result.reason,
        "before": dict(result.before),
        "after": dict(result.after),
        "problems": [_problem(comparison) for comparison in result.comparisons],
    }


def _problem(comparison: EntryComparison) -> dict[str, Any]:
    decision, failure = comparison.decision, comparison.failure
    return {
        "problem": str(comparison.task.spaces.problem),
        "source": comparison.task.source.value,
        "standing": comparison.standing.value,
        "default_us": decision.default_us if decision else comparison.measured.default_us,
        "tuned_us": decision.tuned_us if decision else None,
        "speedup": decision.speedup.median if decision else None,
        "interval": [decision.speedup.low, decision.speedup.high] if decision else None,
        "failure": failure.message if failure else None,
    }


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
