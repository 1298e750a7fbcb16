"""The table of rules in docs/upgrade.md, printed by `python tools/rule_reference.py`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tuninglink.upgrading.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tuninglink.upgrading.rule_definition import UpgradeRule


def table(rules: Iterable[UpgradeRule]) -> str:
    """Return a table of rules in Markdown."""
    rows = [
        "| rule | new form since | what changed | evidence |",
        "| --- | --- | --- | --- |",
    ]
    for rule in rules:
        major, minor = rule.since
        links = ", ".join(f"[{title}]({address})" for title, address in rule.links())
        rows.append(f"| `{rule.name}` | {major}.{minor} | {rule.summary} | {links} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table(RULES.values()))
