"""Explanations as JSON, in the form that `explanation.schema.json` beside this file describes."""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from tuninglink.explaining.model import Status

if TYPE_CHECKING:
    from tuninglink.explaining.model import DispatchReport, Explanation, SpecSummary, Usage
    from tuninglink.explaining.operation_report import (
        EntryReference,
        NearMiss,
        OperationReport,
    )
    from tuninglink.mlir.diagnostics import Place

    Object = dict[str, Any]

FORMAT: Final = "tuninglink.explanation"
"""What the document says that it is."""

VERSION: Final = 2
"""The version of the form. What is added does not change it; what is changed or removed does."""


def schema() -> Object:
    """Returns the JSON Schema of the documents."""
    file = resources.files("tuninglink.explaining") / "explanation.schema.json"
    found: Object = json.loads(file.read_text(encoding="utf-8"))
    return found


def to_json(explanation: Explanation) -> str:
    """Returns an explanation as JSON text: a line for each spec and for each dispatch."""
    parts = [f"{json.dumps(key)}: {_lines(value)}" for key, value in to_object(explanation).items()]
    return "{{\n{}\n}}\n".format(",\n".join(parts))


def _lines(value: object) -> str:
    # With `indent`, the library takes ten times as long.
    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    each = (json.dumps(one, ensure_ascii=False) for one in value)
    return "[\n{}\n]".format(",\n".join(each)) if value else "[]"


def to_object(explanation: Explanation) -> Object:
    """Returns an explanation as what `json` writes."""
    statuses = {status.value: explanation.count(status) for status in Status}
    return {
        "format": FORMAT,
        "version": VERSION,
        "program": explanation.program,
        "summary": {
            "dispatches": len(explanation.dispatches),
            **statuses,
            "measure": explanation.measure,
            "tuned_share": explanation.share(explanation.weight(Status.TUNED)),
            "total": vars(explanation.weight()),
            "tuned_total": vars(explanation.weight(Status.TUNED)),
        },
        "notes": [*explanation.notes, *explanation.advice],
        "libraries": [
            {
                "source": each.source,
                "dispatches": sorted(each.dispatches),
                "share": explanation.share(explanation.covered_by(each)),
            }
            for each in explanation.libraries
        ],
        "specs": [_spec(each) for each in explanation.specs],
        "dispatches": [
            {**_dispatch(each), "problem": number}
            for number, row in enumerate(explanation.rows)
            for each in row.dispatches
        ],
    }


def _spec(spec: SpecSummary) -> Object:
    return {
        "source": spec.source,
        "name": spec.name,
        "kind": spec.kind,
        "default": spec.is_default,
        "operations": spec.configured,
        "covered": spec.covered,
        "dispatches": spec.dispatches,
        "used": spec.used,
        "unused": spec.unused,
        "shadowed": spec.shadowed,
        "unreachable": spec.unreachable,
        "entries": [_usage(each) for each in spec.usages],
    }


def _usage(usage: Usage) -> Object:
    entry = _entry(usage.entry)
    del entry["spec"]
    return {
        **entry,
        "operations": usage.count,
        "shadowed_by": [_entry(each) for each in usage.shadowed_by],
        "unreachable": usage.unreachable,
    }


def _dispatch(dispatch: DispatchReport) -> Object:
    return {
        "name": dispatch.name,
        "functions": list(dispatch.functions),
        "target": dispatch.target,
        "status": dispatch.status.value,
        "calls": dispatch.calls,
        "flops": dispatch.cost.flops,
        "bytes": dispatch.cost.bytes,
        "intensity": dispatch.cost.intensity,
        "microseconds": dispatch.microseconds,
        "start": dispatch.start,
        "operations": [_operation(each) for each in dispatch.operations],
    }


def _operation(operation: OperationReport) -> Object:
    match, choice = operation.match, operation.compilers_choice
    return {
        "words": operation.words,
        "name": operation.name,
        "kind": operation.kind,
        "types": list(operation.types),
        "maps": list(operation.maps),
        "place": _place(operation.place),
        "configuration": vars(operation.configuration),
        "knobs": [
            {**vars(each), "allowed": None if each.allowed is None else list(each.allowed)}
            for each in operation.knobs
        ],
        "compilers_choice": vars(choice) if choice else None,
        "match": {
            "spec": match.spec,
            "entry": _entry(match.entry) if match.entry else None,
            "is_own": match.is_own,
            "provenance": dict(match.provenance),
        }
        if match
        else None,
        "shadowed": [_entry(each) for each in operation.shadowed],
        "nearest": [_near_miss(each) for each in operation.nearest],
        "cannot_tell": list(operation.cannot_tell),
        "hint": operation.hint,
    }


def _near_miss(miss: NearMiss) -> Object:
    return {
        "entry": _entry(miss.entry),
        "differences": [{**vars(each), "text": str(each)} for each in miss.differences],
        "unsure": miss.unsure,
        "excluded": miss.excluded,
        "is_match": miss.is_match,
    }


def _entry(entry: EntryReference) -> Object:
    return {**vars(entry), "place": _place(entry.place)}


def _place(place: Place | None) -> Object | None:
    return vars(place) if place else None
