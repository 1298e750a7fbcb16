"""Reports about specs as JSON, in the form that `docs/check.md` describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tuninglink.plain_data import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tuninglink.checking.check_report import EntryReport, SpecReport
    from tuninglink.checking.entry_answers import Answer
    from tuninglink.checking.model_matches import ModelMatch
    from tuninglink.matching.reachability import EntryOverlap

SCHEMA_VERSION: Final = 1
"""The version of the JSON; grows when a field changes its meaning or goes, not when one is added."""


def to_json(reports: Iterable[SpecReport], target: str | None) -> dict[str, Any]:
    """Return reports as plain data, in the form that `docs/check.md` describes.

    Args:
        reports: the reports.
        target: the target of the configurations.
    """
    specs = list(map(_spec_to_json, reports))
    return {"schema_version": SCHEMA_VERSION, "target": target, "specs": specs}


def _spec_to_json(report: SpecReport) -> dict[str, Any]:
    return {
        "source": report.source,
        "kind": report.kind or None,
        "has_errors": report.has_errors(),
        "diagnostics": plain(report.diagnostics()),
        "entries": list(map(_entry_to_json, report.entries)),
    }


def _entry_to_json(report: EntryReport) -> dict[str, Any]:
    return {
        "position": report.position,
        "matcher": report.entry.matcher,
        "action": report.entry.action,
        "place": plain(report.entry.place),
        "payload": report.payload or None,
        "answers": {
            question: None if answer is None else _answer_to_json(answer)
            for question, answer in report.answers.items()
        },
        "overlaps": None if report.overlap is None else _overlap_to_json(report.overlap),
        "in_model": None if report.in_model is None else list(map(_match_to_json, report.in_model)),
    }


def _match_to_json(match: ModelMatch) -> dict[str, Any]:
    return {**plain(match), "answer": _answer_to_json(match.answer)}


def _overlap_to_json(overlap: EntryOverlap) -> dict[str, Any]:
    return {
        "at_most": overlap.at_most,
        "winners": [
            {
                "position": winner.position,
                "matcher": winner.entry.matcher,
                "place": plain(winner.entry.place),
                "witness": str(winner.witness),
            }
            for winner in overlap.winners
        ],
    }


def _answer_to_json(answer: Answer) -> dict[str, Any]:
    return {
        "verdict": answer.verdict.value,
        "reason": answer.reason or None,
        "details": list(answer.details),
        "warning": answer.warning or answer.crash or None,
    }
