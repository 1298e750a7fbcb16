"""`tuninglink database`: commands that show, merge, export, import and analyze databases of trials."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from tuninglink.cli import process
from tuninglink.cli.completion import known_records
from tuninglink.cli.page_output import MIN_CHANGE_FLAG, PageOptions
from tuninglink.cli.terminal import print_table, render_table
from tuninglink.cli.usage import FORMAT_FLAG, Positional, ReportFormat, Usage
from tuninglink.comparing import LEAST_CHANGE
from tuninglink.compiler import COMPILE_FLAGS
from tuninglink.errors import (
    Diagnostic,
    Severity,
    TuninglinkError,
    UsageError,
    counted,
    did_you_mean,
    escaped,
)
from tuninglink.files import STANDARD_STREAM, check_output, check_output_directory, write_output
from tuninglink.llvm_flags import Flag, choice, flags_of, read_name, switch
from tuninglink.mlir import error, note
from tuninglink.plain_data import to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tuninglink.predicting import GainModel, Selection
    from tuninglink.tuning.database import (
        Database,
        History,
        Insights,
    )


DATABASE: Final[Positional] = Positional("DATABASE", "The database.")


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
        flags=flags_of(PageOptions),
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
    "train": Usage(
        name="database train",
        positionals=(
            Positional(
                "DATABASE",
                "Databases. Of several, each is left out in turn for the calibration, so give one for each model.",
                repeats=True,
            ),
        ),
        flags={
            "output": replace(
                COMPILE_FLAGS["output"],
                metavar="MODEL.json",
                help="The file to write. Default: standard output.",
            ),
        },
        main_flags=("output",),
        examples=("tuninglink database train bert.db resnet.db llama.db -o model.json",),
    ),
}
"""The usages of the commands, by their last words."""


def open_database(path: str, *, read_only: bool = False) -> Database:
    """Open a database of trials, with a remark if another process has locked it.

    An error about damaged trials ends the command with exit code 1, after its work.
    """
    from tuninglink.tuning.database import Database  # noqa: PLC0415 - takes long to import

    def show(diagnostic: Diagnostic) -> None:
        process.show(diagnostic)
        if diagnostic.severity is Severity.ERROR:
            process.fail()

    return Database(path, read_only=read_only, warn=show)


def show_command(arguments: Sequence[str]) -> int:
    values, (file,) = USAGES["show"].parse(arguments)
    from tuninglink.tuning.database import (  # noqa: PLC0415
        NOT_CHECKED,
        RIGHT,
        best_of,
        grouped_trials,
        results_of,
    )

    with open_database(file, read_only=True) as opened:
        groups = [(trials, results_of(trials)) for trials in grouped_trials(opened.all_trials())]
    # A table of the problems in each environment.
    rows = []
    for trials, results in groups:
        environment = trials[0].environment
        default, best = (trial.median if trial else None for trial in best_of(trials))
        rows.append(
            (
                trials[0].problem.description,
                *(environment.target, environment.device, environment.compiler),
                str(len(trials)),
                str(sum(trial.failure is not None for trial in trials)),
                *map(_figure, (default, best)),
                f"{default / best:.2f}" if default and best else "",
                str(list(results.values()).count(NOT_CHECKED)),
            )
        )
    columns = ("problem", "target", "device", "compiler", "trials", "failed")
    times = ("default µs", "best µs", "speedup", "not checked")
    print_table((*columns, *times), rows)
    # With --trials, a table of each problem's trials: right and fast configurations come first.
    for trials, results in groups if values.get("trials") else ():
        ranked = []
        for trial in trials:
            configuration, result = trial.configuration, results[trial.configuration.key]
            knobs = ", ".join(f"{name} = {value}" for name, value in configuration.knobs.items())
            time = _figure(trial.median) or (trial.failure.kind.value if trial.failure else "")
            row = (time, result, trial.stage, trial.origin, configuration.pipeline, knobs)
            ranked.append(((trial.median is None, result != RIGHT, trial.median or 0.0), row))
        sys.stdout.write("\n")
        headings = ("µs", "result", "stage", "origin", "pipeline", "knobs")
        listed = [row for _, row in sorted(ranked, key=lambda entry: entry[0])]
        print_table(headings, listed, title=trials[0].problem.description)
    return process.SUCCESS


def merge_command(arguments: Sequence[str]) -> int:
    _, (file, *others) = USAGES["merge"].parse(arguments)
    with open_database(file) as opened:
        for other in others:
            sys.stdout.write(f"{escaped(other)}: {opened.merge(Path(other))} trials added\n")
    return process.SUCCESS


def export_command(arguments: Sequence[str]) -> int:
    values, (file,) = USAGES["export"].parse(arguments)
    form, output = values.get("form"), values.get("output", STANDARD_STREAM)
    from tuninglink.tuning.database import export, to_csv, to_t4, write_tables  # noqa: PLC0415

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
    if form is ExportFormat.TABLES:
        for message in write_tables(trials, Path(output)):
            process.show(Diagnostic(Severity.WARNING, message))
    elif form is ExportFormat.CSV:
        write_output(output, to_csv(trials))
    else:
        write_output(output, to_json(to_t4(trials) if form is ExportFormat.T4 else export(trials)))
    return process.SUCCESS


def insights_command(arguments: Sequence[str]) -> int:
    values, (file,) = USAGES["insights"].parse(arguments)
    options = PageOptions(**values)
    check_output(options.output)
    from tuninglink.tuning.search import lacking_scikit_learn  # noqa: PLC0415

    try:
        from tuninglink.tuning.database import insights_among, to_html  # noqa: PLC0415 - needs an extra

        with open_database(file, read_only=True) as opened:
            result = insights_among(opened.all_trials())
    except ImportError as failure:
        raise lacking_scikit_learn("'database insights'", str(failure)) from None
    options.write(result, lambda stream: insights_table(result, stream), lambda: to_html(result))
    return process.SUCCESS


def history_command(arguments: Sequence[str]) -> int:
    values, (file, *words) = USAGES["history"].parse(arguments)
    report_format = values.pop("report_format", None)
    least = values.pop("min_change", LEAST_CHANGE)
    from tuninglink.tuning.database import HistoryFilter, history_among  # noqa: PLC0415

    selected = HistoryFilter(tuple(words), **values)
    with open_database(file, read_only=True) as opened:
        _check_recorded(opened, "kind of operation", selected.kinds, ["kind"])
        _check_recorded(opened, "target", selected.targets, ["target", "sku"])
        result = history_among(opened.all_trials(), selected, least)
    if report_format is ReportFormat.JSON:
        write_output(STANDARD_STREAM, to_json(result))
        return process.SUCCESS
    single = "with one compiler and driver only; '--all' shows them"
    why_hidden = "without a change" if selected.is_changed else single
    sys.stdout.write(history_table(result, sys.stdout, why_hidden))
    return process.SUCCESS


def _check_recorded(
    database: Database, noun: str, names: Iterable[str], columns: Iterable[str]
) -> None:
    """Check that names of problems are in a database, since a spelling mistake would select nothing."""
    recorded = {value for column in columns for value in database.values(column) if value}
    for name in names:
        if name not in recorded:
            listed = note(f"it has {', '.join(sorted(recorded)) or 'no trials'}")
            message = f"the database has no {noun} '{name}'{did_you_mean(name, recorded)}"
            raise TuninglinkError(error(message, notes=[listed]))


def import_command(arguments: Sequence[str]) -> int:
    _, (file, *tables) = USAGES["import"].parse(arguments)
    from tuninglink.tuning.database import read_trials  # noqa: PLC0415

    with open_database(file) as opened:
        for table in tables:
            added = opened.record_all(read_trials(Path(table)))
            sys.stdout.write(f"{escaped(table)}: {added} trials added\n")
    return process.SUCCESS


def train_command(arguments: Sequence[str]) -> int:
    values, paths = USAGES["train"].parse(arguments)
    output = values.get("output", STANDARD_STREAM)
    check_output(output)
    from tuninglink.predicting import Provenance, train  # noqa: PLC0415
    from tuninglink.tuning.database import gains_among  # noqa: PLC0415
    from tuninglink.tuning.search import lacking_scikit_learn  # noqa: PLC0415

    measured = []
    provenances = set()
    for path in paths:
        with open_database(path, read_only=True) as opened:
            trials = list(opened.all_trials())
        measured += gains_among(trials, path if len(paths) > 1 else "")
        places = {trial.environment for trial in trials}
        provenances |= {(one.target, one.device, one.compiler) for one in places}
    if len(provenances) != 1:
        which = "; ".join(sorted(" ".join(one) for one in provenances)) or "no trials"
        remedy = note("a model is for one target, device and compiler; export and import selects")
        raise TuninglinkError(error(f"the databases have {which}", notes=[remedy]))
    if len({one.group for one in measured}) < 2:  # noqa: PLR2004 - one is left out
        message = "the databases have fewer than two groups of problems with eight candidates"
        raise TuninglinkError(error(message))
    selected: list[Selection] = []
    provenance = Provenance(*provenances.pop(), date=datetime.now(UTC).date().isoformat())
    try:
        model = train(measured, provenance, lambda fold: selected.extend(fold.selected))
    except ImportError as failure:
        raise lacking_scikit_learn("'database train'", str(failure)) from None
    write_output(output, model.dump())
    sys.stderr.write(selection_table(model, selected, sys.stderr))
    return process.SUCCESS


def _figure(microseconds: float | None) -> str:
    return "" if microseconds is None else f"{microseconds:.2f}"


def insights_table(insights: Insights, stream: TextIO) -> str:
    """Return a table for each heuristic, and a table of the rules for failures."""
    parts = []
    for heuristic in insights.heuristics:
        regrets = {
            "of the compiler's choice": heuristic.regret_of_defaults,
            "on problems that it was not learned from": heuristic.regret_elsewhere,
        }
        regret = ", ".join(f"{value:.2f} {name}" for name, value in regrets.items() if value)
        if heuristic.is_worse_elsewhere:
            regret += " (worse than the compiler's choice)"
        rows = [("all candidates", f"{heuristic.regret_of_all:.2f}", "", "")]
        rows += [
            (
                *(str(step.condition), f"{step.regret:.2f}"),
                f"{step.winners} of {heuristic.problems}",
                f"{step.defaults} of {heuristic.known_defaults}",
            )
            for step in heuristic.steps
        ]
        subject = f"{heuristic.kind} {heuristic.target}: {heuristic.candidates} candidates"
        columns = ("prefer", "regret", "winners", "compiler's choices")
        parts.append(render_table(columns, rows, f"{subject}; regret {regret}", stream))
    failures = [
        (
            f"{rule.kind} {rule.target}",
            " and ".join(map(str, rule.conditions)),
            f"{rule.explained} of {rule.failures}",
            f"0 of {rule.successes}",
            str(rule.problems),
            f"{rule.failure}: {rule.reason}",
        )
        for rule in insights.failures
    ]
    if failures:
        headings = ("candidates", "fail if", "failures", "successes", "problems", "reason")
        parts.append(render_table(headings, failures, "", stream))
    return "\n".join(parts)


def selection_table(model: GainModel, selected: Sequence[Selection], stream: TextIO) -> str:
    """Return a table of what models select for problems left out, by kind of operation."""
    rows = []
    for kind in sorted({one.kind for one in selected}):
        own = [one for one in selected if one.kind == kind]
        taken = [one for one in own if one.low > model.margin]
        won, possible = sum(one.gain for one in taken), sum(one.best for one in own)
        rows.append(
            (
                *(kind, str(len(own)), str(len(taken))),
                f"{won / possible:.0%}" if possible else "",
                str(sum(one.is_loss for one in taken)),
                f"{2 ** min((one.gain for one in taken), default=0.0):.2f}",
            )
        )
    what = f"{model.provenance.problems} problems, {model.provenance.trials} candidates"
    title = f"{what}, margin {model.margin:.2f}; predictions for groups that were left out"
    headings = ("kind", "problems", "predicted", "of the gain", "slower", "slowest")
    return render_table(headings, rows, title, stream)


def history_table(history: History, stream: TextIO, why_hidden: str) -> str:
    """Return a table for each problem, and the number of hidden problems."""
    parts = []
    for problem in history.problems:
        threads = counted(problem.cores, "thread") if problem.cores else ""
        place = (f"for {problem.target} on {problem.device}", threads, problem.flags)
        columns = ("compiler", "driver", "since", "trials", "default µs", "", "best µs", "")
        rows = []
        for point in problem.points:
            is_plain = point.runtime in ("", point.compiler)
            name = point.compiler if is_plain else f"{point.compiler}, runtime {point.runtime}"
            row = [name, point.driver, point.date[: len("2026-11-21")], str(point.trials)]
            for estimate, change in (
                (point.default_us, point.default_change),
                (point.best_us, point.best_change),
            ):
                text = _figure(estimate.value if estimate else None)
                if estimate is not None and estimate.low is not None:
                    text = f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
                row += [text, _WORDS[change.value] if change else ""]
            rows.append((*row, "" if point.speedup is None else f"{point.speedup:.2f}", point.best))
        title = f"{problem.problem} {', '.join(filter(None, place))}"
        parts.append(render_table((*columns, "speedup", "best"), rows, title, stream))
    if history.hidden:
        count = f"{history.hidden:,} other {'problem' if history.hidden == 1 else 'problems'}"
        parts.append(f"not shown: {count} {why_hidden}\n")
    elif not history.problems:
        parts.append("no problem fits\n")
    return "\n".join(parts)


_WORDS = {"regression": "slower", "improvement": "faster"}
