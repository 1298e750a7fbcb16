"""`tuninglink database`: commands that show, merge, export, import and analyze databases of trials."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.database_tables import history_table, insights_table, print_problems
from tuninglink.cli.known_values import check_recorded, known_records
from tuninglink.cli.page_output import MIN_CHANGE_FLAG, PAGE_FLAGS, checked_output, write_report
from tuninglink.cli.usage import FORMAT_FLAG, Positional, ReportFormat, Usage
from tuninglink.comparing.changes import LEAST_CHANGE
from tuninglink.compiler.flags import COMPILE_FLAGS
from tuninglink.errors import UsageError
from tuninglink.escaping import escaped
from tuninglink.files import (
    STANDARD_STREAM,
    check_output,
    check_output_directory,
    write_output,
)
from tuninglink.llvm_flags import Flag, choice, read_name, switch
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error, note
from tuninglink.plain_data import to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.database import Database

DATABASE: Final = Positional("DATABASE", "The database.")


class ExportFormat(Enum):
    """The format of an export."""

    JSON = "json"
    T4 = "t4"
    TABLES = "tables"
    CSV = "csv"


def _filter(target: str, metavar: str, help_: str, column: str) -> Flag:
    """Return a repeatable flag that filters by the values of a column of the database."""
    return Flag(
        target,
        read_name,
        repeats=True,
        metavar=metavar,
        help=f"{help_} May be repeated.",
        values=known_records(column),
    )


USAGES: Final = {
    "show": Usage(
        name="database show",
        positionals=(DATABASE,),
        flags={"trials": switch("trials", "List every trial, fastest first.")},
        main_flags=("trials",),
        examples=("tuninglink database show tuning.db --trials",),
    ),
    "merge": Usage(
        name="database merge",
        positionals=(
            DATABASE,
            Positional("OTHER", "Databases whose trials are added to it.", repeats=True),
        ),
        flags={},
        examples=("tuninglink database merge tuning.db monday.db tuesday.db",),
    ),
    "export": Usage(
        name="database export",
        positionals=(DATABASE,),
        flags={
            "format": choice(
                "form",
                ExportFormat,
                "All that is known (json), Kernel Tuner's T4 results (t4), a recorded table of each problem (tables), or a "
                "line for each trial (csv). Default: json.",
            ),
            "output": replace(
                COMPILE_FLAGS["output"],
                metavar="FILE",
                help="The file to write; the directory of tables. Default: standard output.",
            ),
        },
        main_flags=("format", "output"),
        examples=(
            "tuninglink database export tuning.db -o trials.json",
            "tuninglink database export tuning.db --format t4 -o results.json",
            "tuninglink database export tuning.db --format tables -o tables",
            "tuninglink database export tuning.db --format csv -o trials.csv",
        ),
    ),
    "insights": Usage(
        name="database insights",
        positionals=(DATABASE,),
        flags=PAGE_FLAGS,
        main_flags=("format", "output"),
        examples=(
            "tuninglink database insights tuning.db",
            "tuninglink database insights tuning.db -o insights.html",
            "tuninglink database insights tuning.db --format json > insights.json",
        ),
    ),
    "history": Usage(
        name="database history",
        positionals=(
            DATABASE,
            Positional(
                "WORD",
                "Words of the problems, such as 'contraction' or sizes; a problem has all of them. By default, all problems.",
                optional=True,
                repeats=True,
                values=known_records("description"),
            ),
        ),
        flags={
            "kind": _filter("kinds", "KIND", "Only problems of this kind of operation.", "kind"),
            "target": _filter("targets", "TARGET", "Only problems for this target.", "target"),
            "device": _filter("devices", "NAME", "Only devices whose name has this.", "device"),
            "all": switch("is_everything", "Show problems with one compiler and driver only, too."),
            "changed": switch("is_changed", "Show only problems of which a time changed."),
            "min-change": MIN_CHANGE_FLAG,
            "format": FORMAT_FLAG,
        },
        main_flags=("changed", "format"),
        examples=(
            "tuninglink database history tuning.db --changed",
            "tuninglink database history tuning.db contraction 4096 --target gfx942",
        ),
    ),
    "import": Usage(
        name="database import",
        positionals=(
            DATABASE,
            Positional("TABLE", "Recorded tables, or exports as JSON.", repeats=True),
        ),
        flags={},
        examples=("tuninglink database import tuning.db trials.json",),
    ),
}
"""The usages of the commands, by their last words."""


def open_database(path: str, *, read_only: bool = False) -> Database:
    """Open a database of trials, with a remark if another process has locked it.

    An error about damaged trials ends the command with exit code 1, after its work.

    Raises:
        DatabaseError: see `tuning.database.open_database`.
    """
    from tuninglink.tuning import database  # noqa: PLC0415 - takes long to import

    def show(diagnostic: Diagnostic) -> None:
        process.show(diagnostic)
        if diagnostic.severity is Severity.ERROR:
            process.fail()

    return database.open_database(path, show, read_only=read_only)


def show_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink database show` with the remaining arguments, and return the exit code.

    Raises:
        TuninglinkError: the arguments are wrong, or the database cannot be read.
    """
    values, (file,) = USAGES["show"].parse(arguments)
    with open_database(file, read_only=True) as opened:
        result = list(opened.all_trials())
    print_problems(result, with_trials=bool(values.get("trials")))
    return process.SUCCESS


def merge_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink database merge` with the remaining arguments, and return the exit code.

    Raises:
        TuninglinkError: the arguments are wrong, or a database cannot be read or written.
    """
    _, (file, *others) = USAGES["merge"].parse(arguments)
    with open_database(file) as opened:
        for other in others:
            sys.stdout.write(f"{escaped(other)}: {opened.merge(Path(other))} trials added\n")
    return process.SUCCESS


def export_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink database export` with the remaining arguments, and return the exit code.

    Raises:
        TuninglinkError: the arguments are wrong, the database cannot be read, or the result cannot be written.
    """
    values, (file,) = USAGES["export"].parse(arguments)
    form, output = values.get("form"), values.get("output", STANDARD_STREAM)
    from tuninglink.tuning.database.exporting import (  # noqa: PLC0415
        export,
        to_csv,
        to_t4,
        write_tables,
    )

    # Check the output before the database is read.
    if form is not ExportFormat.TABLES:
        check_output(output)
    elif output == STANDARD_STREAM:
        remedy = note("name a directory: -o DIR")
        raise UsageError(error("tables are several files", notes=[remedy]))
    else:
        check_output_directory(output)
    with open_database(file, read_only=True) as opened:
        trials = list(opened.all_trials())
    # Write in the chosen format.
    if form is ExportFormat.TABLES:
        for message in write_tables(trials, Path(output)):
            process.show(Diagnostic(Severity.WARNING, message))
        return process.SUCCESS
    if form is ExportFormat.CSV:
        write_output(output, to_csv(trials))
        return process.SUCCESS
    document = to_t4(trials) if form is ExportFormat.T4 else export(trials)
    write_output(output, to_json(document))
    return process.SUCCESS


def insights_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink database insights` with the remaining arguments, and return the exit code.

    Raises:
        TuninglinkError: the arguments are wrong, the database cannot be read, or scikit-learn is missing.
    """
    values, (file,) = USAGES["insights"].parse(arguments)
    checked_output(values)
    from tuninglink.tuning.search import lacking_scikit_learn  # noqa: PLC0415

    try:
        from tuninglink.tuning.database.insights import (  # noqa: PLC0415 - needs an extra
            insights_among,
            to_html,
        )

        with open_database(file, read_only=True) as opened:
            result = insights_among(opened.all_trials())
    except ImportError as failure:
        raise lacking_scikit_learn("'database insights'", str(failure)) from None
    write_report(
        values, result, lambda stream: insights_table(result, stream), lambda: to_html(result)
    )
    return process.SUCCESS


def history_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink database history` with the remaining arguments, and return the exit code.

    Raises:
        TuninglinkError: the arguments are wrong, or the database cannot be read.
    """
    values, (file, *words) = USAGES["history"].parse(arguments)
    report_format = values.pop("report_format", None)
    least = values.pop("min_change", LEAST_CHANGE)
    from tuninglink.tuning.database.history import HistoryFilter, history_among  # noqa: PLC0415

    selected = HistoryFilter(tuple(words), **values)
    with open_database(file, read_only=True) as opened:
        check_recorded(opened, "kind of operation", selected.kinds, ["kind"])
        check_recorded(opened, "target", selected.targets, ["target", "sku"])
        result = history_among(opened.all_trials(), selected, least)
    if report_format is ReportFormat.JSON:
        write_output(STANDARD_STREAM, to_json(result))
        return process.SUCCESS
    single = "with one compiler and driver only; '--all' shows them"
    why_hidden = "without a change" if selected.is_changed else single
    sys.stdout.write(history_table(result, sys.stdout, why_hidden))
    return process.SUCCESS


def import_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink database import` with the remaining arguments, and return the exit code.

    Raises:
        TuninglinkError: the arguments are wrong, a table cannot be read, or the database cannot be written.
    """
    _, (file, *tables) = USAGES["import"].parse(arguments)
    from tuninglink.tuning.database.tables import read_trials  # noqa: PLC0415

    with open_database(file) as opened:
        for table in tables:
            added = opened.record_all(read_trials(Path(table)))
            sys.stdout.write(f"{escaped(table)}: {added} trials added\n")
    return process.SUCCESS
