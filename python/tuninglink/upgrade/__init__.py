"""Upgrading specs that were written for older compilers."""

from tuninglink.upgrade.report import Change, EntryReport, KeptOut, Upgraded
from tuninglink.upgrade.upgrader import upgrade

__all__ = ["Change", "EntryReport", "KeptOut", "Upgraded", "upgrade"]
