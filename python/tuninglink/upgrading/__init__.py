"""Upgrading specs that were written for older compilers."""

from tuninglink.upgrading.report import Change, EntryReport, KeptOut, Upgraded
from tuninglink.upgrading.upgrader import upgrade, upgrade_bytes

__all__ = ["Change", "EntryReport", "KeptOut", "Upgraded", "upgrade", "upgrade_bytes"]
