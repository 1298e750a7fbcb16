"""`tuninglink diff`: the changes from one report or spec to a later one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from tuninglink.cli import process
from tuninglink.cli.page_output import MIN_CHANGE_FLAG, PageOptions
from tuninglink.cli.terminal import render_table
from tuninglink.cli.usage import Positional, Usage
from tuninglink.comparing import LEAST_CHANGE, ChangeKind, Comparison, compare, to_html
from tuninglink.files import check_output
from tuninglink.llvm_flags import flags_of, group, option, options_from, toggle

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True)
class DiffOptions:
    fails: bool = toggle("Exit with 1 if something became worse.", name="fail-on-regression")
    least: float = option(LEAST_CHANGE, MIN_CHANGE_FLAG, name="min-change")
    page: PageOptions = group(PageOptions)


USAGE: Final[Usage] = Usage(
    name="diff",
    positionals=(
        Positional(
            "OLD",
            "A report as JSON, of `explain` or of `tune`, a directory of `--report`, or a spec.",
        ),
        Positional("NEW", "A later one of the same kind."),
    ),
    flags=flags_of(DiffOptions),
    main_flags=("fail-on-regression", "format", "output"),
    examples=(
        "tuninglink diff before.json after.json --fail-on-regression",
        "tuninglink diff before.json after.json -o changes.html",
        "tuninglink diff before.mlir after.mlir",
    ),
)


def diff_command(arguments: Sequence[str]) -> int:
    values, (old, new) = USAGE.parse(arguments)
    options = options_from(DiffOptions, values)
    check_output(options.page.output)
    comparison = compare(Path(old), Path(new), options.least)
    options.page.write(
        comparison, lambda stream: _table(comparison, stream), lambda: to_html(comparison)
    )
    is_failure = options.fails and comparison.counts[ChangeKind.REGRESSION]
    return process.FAILURE if is_failure else process.SUCCESS


def _table(comparison: Comparison, stream: TextIO) -> str:
    rows = [(change.kind.value, change.what, change.text) for change in comparison.changes]
    heading = "entry" if comparison.subject == "specs" else "dispatch"
    table = render_table(("", heading, "old → new"), rows, "", stream) if rows else ""
    return (
        table + ", ".join(f"{kind.value}s: {comparison.counts[kind]}" for kind in ChangeKind) + "\n"
    )
