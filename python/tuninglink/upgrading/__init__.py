"""Upgrading specs that were written for older compilers."""

from typing import TYPE_CHECKING

from tuninglink.lazy import lazy_face

if TYPE_CHECKING:
    from tuninglink.upgrading.report import Change, KeptOut, Upgraded, UpgradedEntry
    from tuninglink.upgrading.upgrader import upgrade, upgrade_bytes

__all__ = ["Change", "KeptOut", "Upgraded", "UpgradedEntry", "upgrade", "upgrade_bytes"]

_HOMES = {
    **dict.fromkeys(("Change", "KeptOut", "Upgraded", "UpgradedEntry"), "upgrading.report"),
    **dict.fromkeys(("upgrade", "upgrade_bytes"), "upgrading.upgrader"),
}

__getattr__ = lazy_face(__name__, _HOMES)  # whoever loads specs of today needs no rules
