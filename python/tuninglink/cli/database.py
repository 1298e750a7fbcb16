"""`tuninglink database`: look at databases of trials, merge, export and import them, learn from failures."""

from __future__ import annotations

import json
from collections import Counter
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuninglink.cli import process
from tuninglink.cli.terminal import print_table
from tuninglink.cli.verbosity import EPILOG
from tuninglink.errors import TuninglinkError
from tuninglink.files import STANDARD_STREAM, make_directory, write_file, write_output
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error, note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.database import EnvironmentRecord, Trial

database = typer.Typer(
    name="database",
    help="Look at databases of trials, merge, export and import them.",
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(help="The database.", metavar="DATABASE")]


class ExportFormat(Enum):
    """What an export is written as."""

    JSON = "json"
    T4 = "t4"
    TABLES = "tables"


@database.command(epilog=EPILOG)
def show(
    file: File,
    *,
    trials: Annotated[
        bool, typer.Option("--trials", help="List every trial, fastest first.")
    ] = False,
) -> None:
    """Show the problems with their trials, the default's time and the best.

    Examples:
        tuninglink database show tuning.db --trials
    """
    from tuninglink.tuning.database import Database  # noqa: PLC0415 - takes long to import

    with Database(file, read_only=True) as opened:
        result = list(opened.all_trials())
    groups: dict[tuple[str, EnvironmentRecord], list[Trial]] = {}
    for trial in result:
        groups.setdefault((trial.problem.key, trial.environment), []).append(trial)
    print_table(
        (
            "problem",
            "target",
            "device",
            "compiler",
            "trials",
            "failed",
            "default µs",
            "best µs",
            "speedup",
            "not checked",
        ),
        [_summary(group) for group in groups.values()],
    )
    if trials:
        for group in groups.values():
            _print_trials(group)


@database.command(epilog=EPILOG)
def merge(
    file: File,
    others: Annotated[list[Path], typer.Argument(help="Databases whose trials are added to it.")],
) -> None:
    """Add the trials of other databases; what is there already is not added again.

    Examples:
        tuninglink database merge tuning.db monday.db tuesday.db
    """
    from tuninglink.tuning.database import Database  # noqa: PLC0415 - takes long to import

    with Database(file) as opened:
        for other in others:
            typer.echo(f"{other}: {opened.merge(other)} trials added")


@database.command(epilog=EPILOG)
def export(
    file: File,
    *,
    form: Annotated[
        ExportFormat,
        typer.Option(
            "--format",
            help="All that is known, Kernel Tuner's T4 results, or a recorded table of each problem.",
        ),
    ] = ExportFormat.JSON,
    output: Annotated[
        str,
        typer.Option(
            "-o", help="The file to write, `-` for standard output; the directory of tables."
        ),
    ] = STANDARD_STREAM,
) -> None:
    """Write all trials as JSON.

    Examples:
        tuninglink database export tuning.db -o trials.json
        tuninglink database export tuning.db --format t4 -o results.json
        tuninglink database export tuning.db --format tables -o tables
    """
    from tuninglink.tuning.database import Database  # noqa: PLC0415 - takes long to import
    from tuninglink.tuning.database.exporting import to_json, to_t4  # noqa: PLC0415

    with Database(file, read_only=True) as opened:
        trials = list(opened.all_trials())
    if form is ExportFormat.TABLES:
        _export_tables(trials, output)
        return
    convert = to_t4 if form is ExportFormat.T4 else to_json
    write_output(output, (json.dumps(convert(trials), indent=1) + "\n").encode())


@database.command(epilog=EPILOG)
def rules(file: File) -> None:
    """Propose constraints: what candidates have in common that failed although they were called valid.

    Examples:
        tuninglink database rules tuning.db
    """
    from tuninglink.tuning.database import Database  # noqa: PLC0415 - takes long to import
    from tuninglink.tuning.database.rules import learn_rules  # noqa: PLC0415

    with Database(file, read_only=True) as opened:
        result = learn_rules(opened.all_trials())
    rows = [
        (
            " ".join(rule.scope),
            str(rule),
            f"{rule.explained} of {rule.failures}",
            f"0 of {rule.successes}",
            str(rule.problems),
            f"{rule.failure}: {rule.reason}",
        )
        for rule in result
    ]
    print_table(("candidates", "fail if", "failures", "successes", "problems", "reason"), rows)


@database.command("import", epilog=EPILOG)
def import_trials(
    file: File,
    tables: Annotated[list[Path], typer.Argument(help="Recorded tables, or exports as JSON.")],
) -> None:
    """Add the trials of recorded tables and of exports.

    Examples:
        tuninglink database import tuning.db trials.json
    """
    from tuninglink.tuning.database import Database  # noqa: PLC0415 - takes long to import
    from tuninglink.tuning.database.importing import read_trials  # noqa: PLC0415

    with Database(file) as opened:
        for table in tables:
            typer.echo(f"{table}: {opened.record_all(read_trials(table))} trials added")


def _export_tables(trials: Sequence[Trial], directory: str) -> None:
    """Write a file for each problem and environment, named after the problem."""
    from tuninglink.tuning.database.exporting import to_tables  # noqa: PLC0415

    if directory == STANDARD_STREAM:
        raise TuninglinkError(
            error("tables are several files", notes=[note("name a directory: -o DIR")])
        )
    place = make_directory(directory)
    taken: Counter[str] = Counter()
    for (problem, _), table in to_tables(trials).items():
        if table is None:
            message = f"'{problem.description}' is left out: no time is known of the default, or of any candidate"
            process.show(Diagnostic(Severity.WARNING, message))
            continue
        name = problem.description.replace(" ", "_")
        taken[name] += 1
        number = f"_{taken[name]}" if taken[name] > 1 else ""
        write_file(place / f"{name}{number}.json", (json.dumps(table.to_json()) + "\n").encode())


def _summary(group: Sequence[Trial]) -> tuple[str, ...]:
    from tuninglink.tuning.database.database import (  # noqa: PLC0415
        NOT_CHECKED,
        results_of,
        winners_among,
    )

    first = group[0]
    unchecked = list(results_of(group).values()).count(NOT_CHECKED)
    (winner,) = winners_among(group) or (None,)
    best = winner.trial.median if winner else None
    default = winner.default_us if winner else None
    return (
        first.problem.description,
        first.environment.target,
        first.environment.device,
        first.environment.compiler,
        str(len(group)),
        str(sum(trial.failure is not None for trial in group)),
        _figure(default),
        _figure(best),
        f"{default / best:.2f}" if default and best else "",
        str(unchecked),
    )


def _print_trials(group: Sequence[Trial]) -> None:
    from tuninglink.tuning.database.database import RIGHT, results_of  # noqa: PLC0415

    results = results_of(group)

    def rank(trial: Trial) -> tuple[bool, bool, float]:
        """Put what was found right before what is faster but was not."""
        is_right = results[trial.configuration.key] == RIGHT
        return trial.median is None, not is_right, trial.median or 0.0

    ranked = sorted(group, key=rank)
    rows = [
        (
            _figure(trial.median) or (trial.failure.kind.value if trial.failure else ""),
            results[trial.configuration.key],
            trial.stage,
            trial.origin,
            trial.configuration.pipeline,
            ", ".join(f"{name} = {value}" for name, value in trial.configuration.knobs.items()),
        )
        for trial in ranked
    ]
    typer.echo()
    print_table(
        ("µs", "result", "stage", "origin", "pipeline", "knobs"),
        rows,
        title=group[0].problem.description,
    )


def _figure(microseconds: float | None) -> str:
    return "" if microseconds is None else f"{microseconds:.2f}"
