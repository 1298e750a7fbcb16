"""Reports as files: `report.json`, and `index.html`, one page that loads nothing.

The form of the former is described in `report.schema.json` beside this file.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from tuninglink.files import make_directory, write_file
from tuninglink.pages import render_page

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.tuning.report.model import OutputReport, ProblemReport, Speedup, TuningReport

    Object = dict[str, Any]


FORMAT: Final = "tuninglink.tuning"
"""What the document says that it is."""

VERSION: Final = 1
"""The version of the form. What is added does not change it; what is changed or removed does."""


def schema() -> Object:
    """Return the JSON Schema of the documents."""
    file = resources.files("tuninglink.tuning.report") / "report.schema.json"
    loads: Object = json.loads(file.read_text(encoding="utf-8"))
    return loads


def to_object(report: TuningReport) -> Object:
    """Return a report as what `json` writes."""
    model = report.model
    return {
        "format": FORMAT,
        "version": VERSION,
        "program": report.program,
        "device": report.device,
        "driver": report.driver,
        "compiler": report.compiler,
        "date": report.date,
        "seconds": report.seconds,
        "stages": {name: asdict(stage) for name, stage in report.stages.items()},
        "model": model
        and {
            "default_ms": model.default_ms,
            "tuned_ms": model.tuned_ms,
            "speedup": model.speedup.median,
            "interval": _interval(model.speedup),
            "functions": [
                {
                    "name": function.name,
                    "weight": function.weight,
                    "default_ms": function.default_ms,
                    "tuned_ms": function.tuned_ms,
                    "speedup": function.speedup.median,
                    "interval": _interval(function.speedup),
                }
                for function in model.functions
            ],
        },
        "outputs": report.outputs and _outputs(report.outputs),
        "guarded": report.is_guarded,
        "flag_sets": [
            {
                "name": set_.name,
                "flags": list(set_.flags),
                "milliseconds": set_.milliseconds,
                "speedup": set_.speedup and set_.speedup.median,
                "interval": set_.speedup and _interval(set_.speedup),
                "error": set_.error if set_.error != math.inf else None,
                "note": set_.note,
                "taken": set_.taken,
                "entries": set_.entries,
            }
            for set_ in report.flag_sets
        ],
        "notes": list(report.notes),
        "dispatches": [_dispatch(dispatch) for dispatch in report.dispatches],
        "omissions": [asdict(omission) for omission in report.omissions],
        "spec": report.spec,
    }


def to_json(report: TuningReport) -> str:
    """Return a report as JSON text."""
    return json.dumps(to_object(report), indent=1, ensure_ascii=False) + "\n"


def _outputs(outputs: OutputReport) -> Object:
    return {
        **asdict(outputs),
        "default_error": _error(outputs.default_error),
        "tuned_error": _error(outputs.tuned_error),
    }


def _error(error: float | None) -> float | str | None:
    return "infinite" if error == math.inf else error


def _dispatch(dispatch: ProblemReport) -> Object:
    return {
        "names": list(dispatch.names),
        "problem": dispatch.problem,
        "target": dispatch.target,
        "outcome": dispatch.outcome,
        "ending": dispatch.ending,
        "default_result": dispatch.default_result,
        "default_finding": dispatch.default_finding,
        "share": dispatch.share,
        "default_us": dispatch.default_us,
        "tuned_us": dispatch.tuned_us,
        "speedup": dispatch.speedup and dispatch.speedup.median,
        "interval": dispatch.speedup and _interval(dispatch.speedup),
        "trials": len(dispatch.trials),
        "failures": dispatch.failures,
        "configuration": dispatch.configuration,
        "notes": list(dispatch.notes),
        "sizes": [
            {
                "sizes": part.sizes,
                "weight": part.weight,
                "default_us": part.default_us,
                "tuned_us": part.tuned_us,
                "speedup": part.speedup.median,
                "interval": _interval(part.speedup),
                "range": part.range,
            }
            for part in dispatch.sizes
        ],
        "history": [{**asdict(trial), "knobs": dict(trial.knobs)} for trial in dispatch.trials],
    }


def _interval(speedup: Speedup) -> list[float]:
    return [speedup.low, speedup.high]


def write_report(report: TuningReport, directory: Path) -> None:
    """Write `report.json` and `index.html`.

    Args:
        report: what is written.
        directory: where; made if there is none.

    Raises:
        TuninglinkError: a file cannot be written.
    """
    place = make_directory(directory)
    write_file(place / "report.json", to_json(report).encode())
    write_file(place / "index.html", to_html(report).encode())


def to_html(report: TuningReport) -> str:
    """Return a report as a page."""
    return render_page("tuninglink.tuning.report", "report.html", to_object(report))
