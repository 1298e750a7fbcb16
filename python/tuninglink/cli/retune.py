"""`tuninglink retune`: renewal of specs for a newer compiler."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.measuring_options import (
    MEASURING_FLAGS,
    RetuneOptions,
    check_outputs,
    measuring_values,
    stopping,
    time_left,
)
from tuninglink.cli.project_options import (
    SPEC_PROJECT_FLAGS,
    project_specs,
    read_flags,
    set_up_compiler,
)
from tuninglink.cli.terminal import progress, render_table
from tuninglink.cli.tune_progress import progress_listener
from tuninglink.cli.usage import FORMAT_FLAG, Positional, ReportFormat, Usage
from tuninglink.compiler import COMPILE_FLAGS, TARGET_FLAG, check_has_target, check_targets
from tuninglink.errors import Diagnostic, Severity, TuninglinkError, UsageError, escaped
from tuninglink.files import STANDARD_STREAM, check_directory, write_output
from tuninglink.llvm_flags import Flag, switch
from tuninglink.mlir import error
from tuninglink.plain_data import to_json
from tuninglink.specs import SpecFiles, read_specs, spec_names
from tuninglink.tuning import (
    COLUMNS,
    EntryResult,
    EntryVerdict,
    Retuner,
    RetuningResult,
    open_task_tuner,
    retuned_spec,
    rows,
    target_of,
)
from tuninglink.tuning.deciding import Budget
from tuninglink.tuning.devices import Timeline, check_devices, default_device
from tuninglink.tuning.programs import read_program
from tuninglink.tuning.search import check_search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.specs import Spec


PROGRAM: Final = "tuninglink retune"

_FLAGS: Final = {
    "target": TARGET_FLAG,
    "output": replace(
        COMPILE_FLAGS["output"],
        metavar="NEW.mlir",
        help="Where the new spec goes; a directory for several. Default: standard output.",
    ),
    "model": Flag(
        "model",
        metavar="MODEL",
        help="Measure entries on the dispatches of this program that they configure, with the ops that are fused there.",
    ),
    "format": replace(
        FORMAT_FLAG,
        help="How the report is written. It goes to standard output if the spec goes elsewhere, else to standard error. "
        "Default: table.",
    ),
    "no-improve": switch(
        "improves", "Search for no better configurations: only keep or drop.", value=False
    ),
    "no-upgrade": COMPILE_FLAGS["no-upgrade"],
    **MEASURING_FLAGS,
    **SPEC_PROJECT_FLAGS,
}

USAGE: Final[Usage] = Usage(
    name="retune",
    positionals=(
        Positional(
            "SPEC",
            "A file, a directory, a pattern, library:NAME or a URL. Default: those of the project file.",
            optional=True,
            repeats=True,
            values=spec_names,
        ),
    ),
    flags=_FLAGS,
    main_flags=("target", "output", "model", "device", "budget"),
    takes_compiler_flags=True,
    description="""
The new specs are without the entries that are not faster than the compiler's own choice, and have better
configurations where some are found. An entry is measured on a program that is made for it, compiled with the flags
that you give. Entries for other targets, and undecided ones, stay as they are, with a remark. An interrupt ends the
command; what was decided so far is written.
""",
    examples=(
        (
            "tuninglink retune tuned.mlir --target sm_80 --device cuda://0 --budget 30m --database tuning.db "
            "-o tuned.mlir"
        ),
        "tuninglink retune library:boo-gfx942 --target gfx942 --no-improve --format json -o boo.mlir",
    ),
)


def retune_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink retune` with the arguments after the command's name.

    The command sets process-wide flags, so a process can run it only once.
    """
    # Parse the arguments after the program's name.
    reader = read_flags(_FLAGS, arguments)
    for flag in reader.flags:
        name = flag.partition("=")[0].removeprefix("--")
        if name in COMPILE_FLAGS:
            raise UsageError(error(f"flag '--{name}' does not apply: only a spec is written"))
    options = RetuneOptions(specs=reader.inputs, **measuring_values(reader))
    check_targets(options.flags)
    check_has_target(options.flags)
    set_up_compiler(PROGRAM, options.flags, upgrade=options.upgrade)
    check_search(options.settings.search)  # report an unknown one first

    failure = retune(options, PROGRAM)
    if failure is not None:
        raise failure
    return process.SUCCESS


# --- The work of `tuninglink retune` after its arguments are parsed ------------------------------


def retune(options: RetuneOptions, command: str) -> TuninglinkError | None:
    """Retune specs, and write the new specs and the report."""
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
    """Return the output path of each new spec."""
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
    if result.verdict in (EntryVerdict.UNTOUCHED, EntryVerdict.UNDECIDED):
        message = f"entry '{result.entry.matcher}' stays as it is: {result.reason}"
        process.show(Diagnostic(Severity.REMARK, message, result.entry.place))


def _report(specs: Sequence[Spec], result: RetuningResult, form: ReportFormat) -> str:
    if form is ReportFormat.JSON:
        return to_json(result)
    return "\n".join(_table(spec, result) for spec in specs)


def _table(spec: Spec, result: RetuningResult) -> str:
    if not spec.entries:
        return f"{escaped(spec.source)}: the spec has no entries\n"
    return render_table(COLUMNS, rows(result.of(spec)), spec.source, sys.stdout)
