"""The formats of reports that are a table or JSON."""

from __future__ import annotations

from enum import Enum


class ReportFormat(Enum):
    """How a report is written, named as in `--format`."""

    TABLE = "table"
    JSON = "json"
