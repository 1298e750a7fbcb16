"""Comparison of reports: the changes from an explanation, or a tuning report, to a later one."""

from tuninglink.comparing.reports import Change, ChangeKind, compare_reports

__all__ = ["Change", "ChangeKind", "compare_reports"]
