"""Output of reports as a table, as JSON or as a page, to standard output or to a file."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from tuninglink.comparing.changes import LEAST_CHANGE
from tuninglink.compiler.compile_options import ExplanationFormat
from tuninglink.compiler.flags import COMPILE_FLAGS
from tuninglink.files import STANDARD_STREAM, check_output, write_output
from tuninglink.llvm_flags import Flag, choice, read_fraction
from tuninglink.plain_data import to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PAGE_FLAGS: Final[Mapping[str, Flag]] = {
    "format": choice(
        "report_format",
        ExplanationFormat,
        "How the report is written. Default: that of the suffix of FILE, or table.",
    ),
    "output": replace(
        COMPILE_FLAGS["output"],
        metavar="FILE",
        help="Where to write the report. Default: standard output.",
    ),
}
"""The flags of a command whose report can be a page."""

MIN_CHANGE_FLAG: Final = Flag(
    "min_change",
    read_fraction,
    metavar="PART",
    help="The smallest change of a time that counts, as in 5% or 0.05, if the intervals of the two times are apart. "
    f"Default: {LEAST_CHANGE:.0%}.",
)
"""The flag of a command that reports changes of times."""


def format_for(path: str, requested: ExplanationFormat | None) -> ExplanationFormat:
    """Return the requested format of a report, or the format for the suffix of its file."""
    by_name = {
        ".json": ExplanationFormat.JSON,
        ".html": ExplanationFormat.HTML,
        ".htm": ExplanationFormat.HTML,
    }
    return requested or by_name.get(Path(path).suffix.lower(), ExplanationFormat.TABLE)


def checked_output(values: Mapping[str, Any]) -> str:
    """Return the file to write, from the values of `PAGE_FLAGS`.

    Raises:
        TuninglinkError: it cannot be written.
    """
    output: str = values.get("output", STANDARD_STREAM)
    check_output(output)
    return output


def write_report(
    values: Mapping[str, Any],
    report: object,
    to_table: Callable[[TextIO], str],
    to_page: Callable[[], str],
) -> None:
    """Write a report as its flags request.

    Args:
        values: the values of `PAGE_FLAGS`.
        report: the report, as data.
        to_table: returns the report as tables for a stream, whose width may matter.
        to_page: returns the report as a page.

    Raises:
        TuninglinkError: it cannot be written.
    """
    output: str = values.get("output", STANDARD_STREAM)
    report_format = format_for(output, values.get("report_format"))
    if report_format is ExplanationFormat.JSON:
        text = to_json(report)
    elif report_format is ExplanationFormat.HTML:
        text = to_page()
    else:
        text = to_table(sys.stdout if output == STANDARD_STREAM else io.StringIO())
    write_output(output, text)
