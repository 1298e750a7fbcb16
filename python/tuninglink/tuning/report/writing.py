"""Reports as files: `report.json`, and `index.html`, one page that loads nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.files import make_directory, write_file
from tuninglink.pages import render_page
from tuninglink.plain_data import plain, to_json

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.tuning.report.model import TuningReport


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
    return render_page("tuninglink.tuning.report", "report.html", plain(report))
