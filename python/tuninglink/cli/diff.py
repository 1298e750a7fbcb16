"""`tuninglink diff`: what changed from one report to a later one."""

from __future__ import annotations

import json
from collections import Counter
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from tuninglink.cli import process
from tuninglink.cli.terminal import print_table
from tuninglink.comparing import ChangeKind, compare_reports
from tuninglink.comparing.reports import LEAST_CHANGE
from tuninglink.plain_data import plain


class DiffFormat(Enum):
    """What the changes are written as."""

    TABLE = "table"
    JSON = "json"


Old = Annotated[Path, typer.Argument(help="A report as JSON: of `explain` or of `tune`.")]
New = Annotated[Path, typer.Argument(help="A later one of the same kind.")]


def diff(
    old: Old,
    new: New,
    *,
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit with 1 if something became worse.")
    ] = False,
    min_change: Annotated[
        float, typer.Option(help="The smallest change of a time that counts, as a fraction.", min=0)
    ] = LEAST_CHANGE,
    form: Annotated[
        DiffFormat, typer.Option("--format", help="A table, or JSON.")
    ] = DiffFormat.TABLE,
) -> None:
    """Say what changed from one report to a later one: dispatches that are not tuned any more, and times.

    Examples:
        tuninglink diff before.json after.json --fail-on-regression
    """
    changes = compare_reports(old, new, min_change)
    counts = Counter(change.kind for change in changes)
    if form is DiffFormat.JSON:
        typer.echo(json.dumps(plain(changes), indent=1, ensure_ascii=False))
    else:
        if changes:
            rows = [(change.kind.value, change.what, change.text) for change in changes]
            print_table(("", "dispatch", "old → new"), rows)
        typer.echo(", ".join(f"{kind.value}s: {counts[kind]}" for kind in ChangeKind))
    if fail_on_regression and counts[ChangeKind.REGRESSION]:
        raise typer.Exit(process.FAILURE)
