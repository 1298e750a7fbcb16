"""Checking specs: all faults of entries that can be detected before use."""

from typing import TYPE_CHECKING

from tuninglink.lazy import lazy_getattr

if TYPE_CHECKING:
    from tuninglink.checking.checker import Checker
    from tuninglink.checking.compiling import CompileLimits
    from tuninglink.checking.entry_answers import Answer
    from tuninglink.checking.json_report import to_json
from tuninglink.checking.check_report import EntryReport, SpecReport

__all__ = ["Answer", "Checker", "CompileLimits", "EntryReport", "SpecReport", "to_json"]

_HOMES = {
    "Answer": "checking.entry_answers",
    "Checker": "checking.checker",
    "CompileLimits": "checking.compiling",
    **dict.fromkeys(("EntryReport", "SpecReport"), "checking.check_report"),
    "to_json": "checking.json_report",
}

__getattr__ = lazy_getattr(__name__, _HOMES)  # the limits of a command need no solver
