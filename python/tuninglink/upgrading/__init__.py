"""Upgrading specs that were written for older compilers."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.upgrading.report import Change, EntryReport, KeptOut, Upgraded
    from tuninglink.upgrading.upgrader import upgrade, upgrade_bytes

__all__ = ["Change", "EntryReport", "KeptOut", "Upgraded", "upgrade", "upgrade_bytes"]

_HOMES = {
    **dict.fromkeys(("Change", "EntryReport", "KeptOut", "Upgraded"), "report"),
    **dict.fromkeys(("upgrade", "upgrade_bytes"), "upgrader"),
}


def __getattr__(name: str) -> object:
    """Imports a name when it is first asked for: whoever loads specs of today needs no rules."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
