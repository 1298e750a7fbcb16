"""`tuninglink diff`: the changes from one report or spec to a later one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from tuninglink.cli import process
from tuninglink.cli.page_output import MIN_CHANGE_FLAG, PAGE_FLAGS, checked_output, write_report
from tuninglink.cli.terminal import render_table
from tuninglink.cli.usage import Positional, Usage
from tuninglink.comparing import LEAST_CHANGE, ChangeKind, Comparison, compare, to_html
from tuninglink.llvm_flags import switch

if TYPE_CHECKING:
    from collections.abc import Sequence


USAGE: Final[Usage] = Usage(
    name="diff",
    positionals=(
        Positional(
            "OLD",
            "A report as JSON, of `explain` or of `tune`, a directory of `--report`, or a spec.",
        ),
        Positional("NEW", "A later one of the same kind."),
    ),
    flags={
        "fail-on-regression": switch("fail", "Exit with 1 if something became worse."),
        "min-change": MIN_CHANGE_FLAG,
        **PAGE_FLAGS,
    },
    main_flags=("fail-on-regression", "format", "output"),
    examples=(
        "tuninglink diff before.json after.json --fail-on-regression",
        "tuninglink diff before.json after.json -o changes.html",
        "tuninglink diff before.mlir after.mlir",
    ),
)


def diff_command(arguments: Sequence[str]) -> int:
    values, (old, new) = USAGE.parse(arguments)
    checked_output(values)
    comparison = compare(Path(old), Path(new), values.get("min_change", LEAST_CHANGE))
    write_report(
        values, comparison, lambda stream: _table(comparison, stream), lambda: to_html(comparison)
    )
    is_failure = values.get("fail") and comparison.counts[ChangeKind.REGRESSION]
    return process.FAILURE if is_failure else process.SUCCESS


def _table(comparison: Comparison, stream: TextIO) -> str:
    rows = [(change.kind.value, change.what, change.text) for change in comparison.changes]
    heading = "entry" if comparison.subject == "specs" else "dispatch"
    table = render_table(("", heading, "old → new"), rows, "", stream) if rows else ""
    return (
        table + ", ".join(f"{kind.value}s: {comparison.counts[kind]}" for kind in ChangeKind) + "\n"
    )
