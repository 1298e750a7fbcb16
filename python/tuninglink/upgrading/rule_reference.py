"""The table of rules in docs/upgrade.md, printed by `python -m tuninglink.upgrading.rule_reference`."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from tuninglink.upgrading.rule_definition import UpgradeRule
from tuninglink.upgrading.rules import RULES


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
