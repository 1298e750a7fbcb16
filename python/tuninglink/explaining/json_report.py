"""Explanations as JSON, in the form that `explanation.schema.json` next to this file describes."""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from tuninglink.explaining.explanation import Status
from tuninglink.plain_data import plain

if TYPE_CHECKING:
    from tuninglink.explaining.explanation import (
        DispatchReport,
        EntryUsage,
        Explanation,
        SpecSummary,
    )
    from tuninglink.explaining.operation_report import NearMiss, OperationReport

    Object = dict[str, Any]

FORMAT: Final = "tuninglink.explanation"
"""What the document says that it is."""

VERSION: Final = 2
"""The version of the form. What is added does not change it; what is changed or removed does."""


def schema() -> Object:
    """Return the JSON Schema of the documents."""
    file = resources.files("tuninglink.explaining") / "explanation.schema.json"
    loads: Object = json.loads(file.read_text(encoding="utf-8"))
    return loads


def to_json(explanation: Explanation) -> str:
    """Return an explanation as JSON text: a line for each spec and for each dispatch."""
    parts = [f"{json.dumps(key)}: {_lines(value)}" for key, value in to_object(explanation).items()]
    return "{{\n{}\n}}\n".format(",\n".join(parts))


def _lines(value: object) -> str:
    # With `indent`, the library takes ten times as long.
    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    lines = (json.dumps(one, ensure_ascii=False) for one in value)
    return "[\n{}\n]".format(",\n".join(lines)) if value else "[]"


def to_object(explanation: Explanation) -> Object:
    """Return an explanation as plain data for `json`."""
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
            "total": plain(explanation.weight()),
            "tuned_total": plain(explanation.weight(Status.TUNED)),
        },
        "notes": [*explanation.notes, *explanation.advice],
        "libraries": [
            {
                "source": library.source,
                "dispatches": sorted(library.dispatches),
                "share": explanation.share(explanation.covered_by(library)),
            }
            for library in explanation.libraries
        ],
        "specs": [_spec(spec) for spec in explanation.specs],
        "dispatches": [
            {**_dispatch(dispatch), "problem": number}
            for number, row in enumerate(explanation.rows)
            for dispatch in row.dispatches
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
        "entries": [_usage(usage) for usage in spec.usages],
    }


def _usage(usage: EntryUsage) -> Object:
    entry: Object = plain(usage.entry)
    del entry["spec"]
    return {
        **entry,
        "operations": usage.count,
        "shadowed_by": plain(usage.shadowed_by),
        "unreachable": usage.unreachable,
    }


def _dispatch(dispatch: DispatchReport) -> Object:
    report: Object = plain(dispatch)
    operations = [_operation(operation) for operation in dispatch.operations]
    costs = {**report.pop("cost"), "intensity": dispatch.cost.intensity}
    return {**report, **costs, "operations": operations}


def _operation(operation: OperationReport) -> Object:
    return {**plain(operation), "nearest": [_near_miss(miss) for miss in operation.nearest]}


def _near_miss(miss: NearMiss) -> Object:
    differences = [
        {**plain(difference), "text": str(difference)} for difference in miss.differences
    ]
    return {**plain(miss), "differences": differences}
