"""Comparing reports: what changed from an explanation, or from a report of tuning, to a later one."""

from tuninglink.comparing.changes import Change, ChangeKind
from tuninglink.comparing.reports import compare_reports

__all__ = ["Change", "ChangeKind", "compare_reports"]
