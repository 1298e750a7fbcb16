"""`tuninglink diff`: what changed from one report to a later one."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.terminal import print_table
from tuninglink.cli.usage import FORMAT_FLAG, Positional, ReportFormat, Usage
from tuninglink.comparing import LEAST_CHANGE, ChangeKind, compare_reports
from tuninglink.llvm_flags import Flag, read_fraction, switch
from tuninglink.plain_data import to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE: Final = Usage(
    name="diff",
    positionals=(
        Positional("OLD", "A report as JSON: of `explain` or of `tune`."),
        Positional("NEW", "A later one of the same kind."),
    ),
    flags={
        "fail-on-regression": switch("fail", "Exit with 1 if something became worse."),
        "min-change": Flag(
            "min_change",
            read_fraction,
            metavar="PART",
            help=f"The smallest change of a time that counts, as in 5% or 0.05. Default: {LEAST_CHANGE:.0%}.",
        ),
        "format": FORMAT_FLAG,
    },
    main_flags=("fail-on-regression",),
    examples=("tuninglink diff before.json after.json --fail-on-regression",),
)


def diff_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink diff` with the arguments after the command's name, and return the exit code.

    Raises:
        TuninglinkError: the arguments are wrong, or a report cannot be read.
    """
    values, (old, new) = USAGE.parse(arguments)
    changes = compare_reports(Path(old), Path(new), values.get("min_change", LEAST_CHANGE))
    counts = Counter(change.kind for change in changes)
    if values.get("report_format") is ReportFormat.JSON:
        sys.stdout.write(to_json(changes))
    else:
        if changes:
            rows = [(change.kind.value, change.what, change.text) for change in changes]
            print_table(("", "dispatch", "old → new"), rows)
        sys.stdout.write(", ".join(f"{kind.value}s: {counts[kind]}" for kind in ChangeKind) + "\n")
    is_failure = values.get("fail") and counts[ChangeKind.REGRESSION]
    return process.FAILURE if is_failure else process.SUCCESS
