"""Upgrades of specs that were written for older compilers."""

from typing import TYPE_CHECKING

from tuninglink.lazy import lazy_getattr

if TYPE_CHECKING:
    from tuninglink.upgrading.upgrade_report import KeptOut, RuleChange, Upgraded, UpgradedEntry
    from tuninglink.upgrading.upgrader import upgrade, upgrade_bytes

__all__ = ["KeptOut", "RuleChange", "Upgraded", "UpgradedEntry", "upgrade", "upgrade_bytes"]

_HOMES = {
    **dict.fromkeys(
        ("RuleChange", "KeptOut", "Upgraded", "UpgradedEntry"), "upgrading.upgrade_report"
    ),
    **dict.fromkeys(("upgrade", "upgrade_bytes"), "upgrading.upgrader"),
}

__getattr__ = lazy_getattr(__name__, _HOMES)  # present specs need no rules
