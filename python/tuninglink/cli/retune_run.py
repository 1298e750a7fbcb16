"""The work of `tuninglink retune` after its arguments are parsed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tuninglink.cli import process
from tuninglink.cli.measuring import check_outputs, stopping, time_left
from tuninglink.cli.project_options import project_specs
from tuninglink.cli.terminal import progress, render_table
from tuninglink.cli.tune_progress import progress_listener
from tuninglink.cli.usage import ReportFormat
from tuninglink.errors import TuninglinkError, UsageError
from tuninglink.escaping import escaped
from tuninglink.files import STANDARD_STREAM, check_directory, write_output
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error
from tuninglink.plain_data import to_json
from tuninglink.specs.sources import SpecFiles, read_specs
from tuninglink.tuning.devices.device import check_devices
from tuninglink.tuning.devices.local import default_device
from tuninglink.tuning.measuring import open_task_tuner
from tuninglink.tuning.programs.dispatches import read_program
from tuninglink.tuning.retuning.results import (
    COLUMNS,
    EntryResult,
    EntryVerdict,
    RetuningResult,
    retuned_spec,
    rows,
)
from tuninglink.tuning.retuning.retuner import Retuner, target_of
from tuninglink.tuning.scheduling import Timeline
from tuninglink.tuning.scheduling.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.cli.measuring_options import RetuneOptions
    from tuninglink.specs.spec import Spec


def retune(options: RetuneOptions, command: str) -> TuninglinkError | None:
    """Retune specs, and write the new specs and the report.

    Args:
        options: the options.
        command: the command name for the message on an interrupt.

    Returns:
        The error that ended retuning early; None without an error.

    Raises:
        TuninglinkError: a spec cannot be read, no entry can be measured, or a result cannot be written.
    """
    specs = _read(options)
    outputs = _outputs(options.output, specs)
    for output in outputs:
        check_outputs(replace(options, output=output))
    result = _retune(specs, options, command)
    for spec, output in zip(specs, outputs, strict=True):
        write_output(output, retuned_spec(spec, result.of(spec)))
    stream = sys.stderr if options.output == STANDARD_STREAM else sys.stdout
    stream.write(_report(specs, result, options.report_format))
    return result.failure


def _read(options: RetuneOptions) -> list[Spec]:
    sink = process.shown_diagnostics()
    specs = options.specs or project_specs(options.project, no_project=options.no_project)
    files = read_specs(specs, sink)
    return [*SpecFiles(files, upgrade=options.upgrade, diagnostics=sink)]


def _outputs(output: str, specs: Sequence[Spec]) -> list[str]:
    """Return the output path of each new spec.

    Raises:
        TuninglinkError: a path is not writable.
    """
    if len(specs) == 1:
        return [output]
    if output == STANDARD_STREAM:
        raise UsageError(error("several specs need a directory; name it with -o"))
    names = [f"{Path(spec.source.replace(':', '-')).stem}.mlir" for spec in specs]
    if len(set(names)) < len(names):
        raise TuninglinkError(error("several specs have the same name; retune one at a time"))
    directory = check_directory(output)
    return [str(directory / name) for name in names]


def _retune(specs: Sequence[Spec], options: RetuneOptions, command: str) -> RetuningResult:
    budget = Budget(time_left(options.settings.seconds), options.settings.trials)
    target = target_of(options.flags)
    uris = options.settings.devices or (default_device(target.backend),)
    if not options.cluster:
        check_devices(uris)
    model = None
    if options.model:
        with progress(f"compiling {options.model}"):
            model = read_program(options.model, options.flags)
    listener = progress_listener(command)
    with (
        open_task_tuner(options, uris, Timeline(), listener) as tuner,
        stopping(budget, command),
    ):
        return Retuner(
            specs,
            options.flags,
            tuner,
            budget,
            target,
            model,
            improves=options.improves,
            warn=process.show,
            tell=_tell,
        ).run()


def _tell(result: EntryResult) -> None:
    """Emit a remark on an entry that remains unmeasured or undecided."""
    if result.verdict in (EntryVerdict.UNTOUCHED, EntryVerdict.UNDECIDED):
        message = f"entry '{result.entry.matcher}' stays as it is: {result.reason}"
        process.show(Diagnostic(Severity.REMARK, message, result.entry.place))


def _report(specs: Sequence[Spec], result: RetuningResult, form: ReportFormat) -> str:
    if form is ReportFormat.JSON:
        return to_json(result)
    return "\n".join(_table(spec, result) for spec in specs)


def _table(spec: Spec, result: RetuningResult) -> str:
    """Return the outcomes of the entries of a spec as text."""
    if not spec.entries:
        return f"{escaped(spec.source)}: the spec has no entries\n"
    return render_table(COLUMNS, rows(result.of(spec)), spec.source, sys.stdout)
