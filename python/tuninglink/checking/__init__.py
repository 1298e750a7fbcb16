"""Checking specs: everything that can be told about an entry before anybody relies on it."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.checking.answers import Answer
    from tuninglink.checking.checker import Checker
    from tuninglink.checking.compiling import CompileLimits
    from tuninglink.checking.report import EntryReport, SpecReport, to_json

__all__ = ["Answer", "Checker", "CompileLimits", "EntryReport", "SpecReport", "to_json"]

_HOMES = {
    "Answer": "answers",
    "Checker": "checker",
    "CompileLimits": "compiling",
    **dict.fromkeys(("EntryReport", "SpecReport", "to_json"), "report"),
}


def __getattr__(name: str) -> object:
    """Imports a name when it is first asked for: the limits of a command need no solver."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
