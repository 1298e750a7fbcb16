"""`tuninglink retune`: renewal of specs for a newer compiler."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.measuring import (
    ProgressLines,
    check_outputs,
    measuring_options,
    stopping,
    time_left,
)
from tuninglink.cli.project_options import ProjectOptions, read_flags, set_up_compiler
from tuninglink.cli.terminal import progress, render_table, verbosity
from tuninglink.cli.usage import FORMAT_FLAG, Positional, ReportFormat, Usage
from tuninglink.compiler import COMPILE_FLAGS, TARGET_FLAG, check_has_target, check_targets
from tuninglink.devices import BoardOptions, Timeline, check_devices, default_device
from tuninglink.errors import Diagnostic, Severity, TuninglinkError, UsageError, escaped
from tuninglink.files import STANDARD_STREAM, check_directory, write_output
from tuninglink.llvm_flags import flags_of, group, option, toggle
from tuninglink.mlir import error
from tuninglink.plain_data import to_json
from tuninglink.programs import read_program
from tuninglink.specs import SpecFiles, read_specs, spec_names
from tuninglink.tuning import (
    EntryResult,
    EntryVerdict,
    Retuner,
    RetuningResult,
    open_context,
    retuned_spec,
    target_of,
)
from tuninglink.tuning.deciding import Budget, MeasuringOptions
from tuninglink.tuning.search import search_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.specs import Spec


PROGRAM: Final = "tuninglink retune"


@dataclass(frozen=True, kw_only=True)
class RetuneOptions(MeasuringOptions):
    """The options of `tuninglink retune`. For several specs, the output is a directory."""

    specs: tuple[str, ...]
    output: str = option(
        STANDARD_STREAM,
        COMPILE_FLAGS["output"],
        metavar="NEW.mlir",
        help="Where the new spec goes; a directory for several. Default: standard output.",
    )
    model: str = option(
        "",
        metavar="MODEL",
        help="Measure entries on the dispatches of this program that they configure, with the ops that are fused there.",
    )
    report_format: ReportFormat = option(
        ReportFormat.TABLE,
        FORMAT_FLAG,
        name="format",
        help="How the report is written. It goes to standard output if the spec goes elsewhere, else to standard error. "
        "Default: table.",
    )
    improves: bool = toggle(
        "Search for no better configurations: only keep or drop.", name="no-improve", default=True
    )
    project: ProjectOptions = group(ProjectOptions)


_FLAGS: Final = {"target": TARGET_FLAG, **flags_of(RetuneOptions)}
_NAMES: Final = (
    *("target", "output", "model", "format", "no-improve", "no-upgrade", "device", "cluster"),
    *flags_of(BoardOptions),
    *("budget", "trials", "min-gain", "database", "failures", "no-reference", "numerics", "jobs"),
    *("timeout", "caches", "search", "seed", "project", "no-project"),
)
"""The flags; others of a tuning run need a program."""

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
    flags={name: _FLAGS[name] for name in _NAMES},
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
    reader = read_flags(USAGE.flags, arguments)
    for flag in reader.flags:
        name = flag.partition("=")[0].removeprefix("--")
        if name in COMPILE_FLAGS:
            raise UsageError(error(f"flag '--{name}' does not apply: only a spec is written"))
    options = measuring_options(RetuneOptions, reader, specs=reader.inputs)
    check_targets(options.flags)
    check_has_target(options.flags)
    set_up_compiler(PROGRAM, options.flags, upgrade=options.upgrade)
    search_named(options.settings.search)  # report an unknown one first
    # Read the specs, and check that the new ones can be written.
    sink = process.shown_diagnostics()
    sources = options.specs or options.project.specs()
    files = read_specs(sources, sink)
    specs = [*SpecFiles(files, upgrade=options.upgrade, diagnostics=sink)]
    outputs = [options.output]
    if len(specs) != 1:
        if options.output == STANDARD_STREAM:
            raise UsageError(error("several specs need a directory; name it with -o"))
        names = [f"{Path(spec.source.replace(':', '-')).stem}.mlir" for spec in specs]
        if len(set(names)) < len(names):
            raise TuninglinkError(error("several specs have the same name; retune one at a time"))
        directory = check_directory(options.output)
        outputs = [str(directory / name) for name in names]
    for output in outputs:
        check_outputs(replace(options, output=output))
    # Write the new specs and the report.
    with ExitStack() as opened:
        result = _retuned(specs, options, opened)
        opened.enter_context(stopping(Budget(), PROGRAM))  # another signal lets them be written
        for spec, output in zip(specs, outputs, strict=True):
            write_output(output, retuned_spec(spec, result.of(spec)))
    if options.report_format is ReportFormat.JSON:
        report = to_json(result)
    else:
        report = "\n".join(
            render_table(_COLUMNS, list(map(_row, result.of(spec))), spec.source, sys.stdout)
            if spec.entries
            else f"{escaped(spec.source)}: the spec has no entries\n"
            for spec in specs
        )
    (sys.stderr if options.output == STANDARD_STREAM else sys.stdout).write(report)
    if result.failure is not None:
        raise result.failure
    return process.SUCCESS


_COLUMNS: Final = ("line", "verdict", "default us", "tuned us", "speedup", "entry", "what changed")


def _row(result: EntryResult) -> tuple[str, ...]:
    decisions = (comparison.decision for comparison in result.comparisons)
    figures: tuple[str, ...] = ("", "", "")
    if decision := next(filter(None, decisions), None):
        times = f"{decision.default_us:.4g}", f"{decision.tuned_us:.4g}"
        figures = (*times, str(decision.speedup))
    return (
        str(result.line() or "?"),
        result.verdict.value,
        *figures,
        result.entry.matcher,
        "; ".join(filter(None, (result.reason, *result.changes))),
    )


def _retuned(specs: Sequence[Spec], options: RetuneOptions, opened: ExitStack) -> RetuningResult:
    budget = Budget(time_left(options.settings.seconds), options.settings.trials)
    target = target_of(options.flags)
    uris = options.settings.devices or (default_device(target.backend),)
    if not options.cluster:
        check_devices(uris, options.flags)
    model = None
    if options.model:
        with progress(f"compiling {options.model}"):
            model = read_program(options.model, options.flags, specs=specs)
    listener = ProgressLines(PROGRAM, verbosity())

    def tell(result: EntryResult) -> None:
        if result.verdict in (EntryVerdict.UNTOUCHED, EntryVerdict.UNDECIDED):
            message = f"entry '{result.entry.matcher}' stays as it is: {result.reason}"
            process.show(Diagnostic(Severity.REMARK, message, result.entry.place))

    with open_context(options, uris, Timeline(), listener) as tuner:
        opened.enter_context(stopping(budget, PROGRAM))
        given = specs, options.flags, tuner, budget, target, model
        return Retuner(*given, improves=options.improves, tell=tell).run()
