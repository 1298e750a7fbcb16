"""Checking specs: all faults of entries that can be detected before use."""

from typing import TYPE_CHECKING

from tuninglink.lazy import lazy_getattr

if TYPE_CHECKING:
    from tuninglink.checking.checker import Checker
    from tuninglink.checking.compiling import CompileLimits
    from tuninglink.checking.entry_answers import Answer
from tuninglink.checking.check_report import CheckReport, EntryReport, SpecReport

__all__ = ["Answer", "CheckReport", "Checker", "CompileLimits", "EntryReport", "SpecReport"]

_HOMES = {
    "Answer": "checking.entry_answers",
    "Checker": "checking.checker",
    "CompileLimits": "checking.compiling",
    **dict.fromkeys(("CheckReport", "EntryReport", "SpecReport"), "checking.check_report"),
}

__getattr__ = lazy_getattr(__name__, _HOMES)  # the limits of a command need no solver
