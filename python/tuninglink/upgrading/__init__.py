"""Upgrading specs that were written for older compilers."""

from typing import TYPE_CHECKING

from tuninglink.lazy import lazy_face

if TYPE_CHECKING:
    from tuninglink.upgrading.report import Change, EntryReport, KeptOut, Upgraded
    from tuninglink.upgrading.upgrader import upgrade, upgrade_bytes

__all__ = ["Change", "EntryReport", "KeptOut", "Upgraded", "upgrade", "upgrade_bytes"]

_HOMES = {
    **dict.fromkeys(("Change", "EntryReport", "KeptOut", "Upgraded"), "upgrading.report"),
    **dict.fromkeys(("upgrade", "upgrade_bytes"), "upgrading.upgrader"),
}

__getattr__ = lazy_face(__name__, _HOMES)  # whoever loads specs of today needs no rules
