"""Reports as files: `report.json`, and `index.html`, one page that loads nothing."""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Final

from tuninglink.files import make_directory, write_file
from tuninglink.tuning.report.json_report import to_json, to_object

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.tuning.report.model import TuningReport

_PLACEHOLDER: Final = "/*report*/null"
"""Where the template expects the report."""


def write_report(report: TuningReport, directory: Path) -> None:
    """Writes `report.json` and `index.html`.

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
    """Returns a report as a page.

    The page holds the report as JSON, and a script makes elements of it, so that no text of the program or of the
    spec is ever taken for HTML.
    """
    file = resources.files("tuninglink.tuning.report") / "report.html"
    template = file.read_text(encoding="utf-8")
    data = json.dumps(to_object(report), separators=(",", ":"), ensure_ascii=True)
    # Inside a script element only `<` can begin something else.
    before, after = template.split(_PLACEHOLDER)
    return before + data.replace("<", "\\u003c") + after
