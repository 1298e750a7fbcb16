"""`tuninglink retune`: specs that keep up with the compiler."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.measuring import Measuring, check_output, stopping
from tuninglink.cli.progress import progress
from tuninglink.cli.project import project_specs
from tuninglink.cli.retune_options import RetuneFormat, parse_retune_arguments
from tuninglink.cli.terminal import render_table
from tuninglink.compiler.probing import check_targets
from tuninglink.compiler.session import set_up_command_line
from tuninglink.errors import TuninglinkError
from tuninglink.files import STANDARD_STREAM, make_directory, write_output
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error
from tuninglink.specs.sources import SpecFiles, read_specs
from tuninglink.tuning.budget import Budget
from tuninglink.tuning.devices import default_device
from tuninglink.tuning.dispatches import read_program
from tuninglink.tuning.retuning.results import EntryResult, EntryVerdict
from tuninglink.tuning.retuning.retuner import Retuner, target_of
from tuninglink.tuning.retuning.writing import COLUMNS, retuned_spec, rows, to_json
from tuninglink.tuning.search import check_search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.cli.retune_options import RetuneOptions
    from tuninglink.specs.model import Spec
    from tuninglink.tuning.retuning.results import RetuningResult

PROGRAM: Final = "tuninglink retune"

USAGE: Final = """\
Usage: tuninglink retune SPEC... -o NEW.mlir [--model MODEL] [--device URI]... [--budget TIME] [any iree-compile flag]...

Measure every entry of specs against the compiler's own choice again, and write the specs without those that are
not faster, with better configurations where some are found.

Each SPEC is a file, a directory, a pattern, library:NAME or a URL; by default those of the project file. An entry is
measured on a program that is made for it, compiled with the flags that you give. Entries for other targets, and those about
which nothing can be told, stay as they are, with a remark. An interrupt ends with what was decided so far, written.

  -o NEW.mlir          Where the new spec goes; a directory for several. Default: standard output.
  --model MODEL        Measure each entry on the ops of this program that it configures, too.
  --format FORMAT      How the report is written: table or json. It goes to standard output if the spec goes
                       elsewhere, else to standard error.
  --no-improve         Search for no better configurations: only keep or drop.
  --no-upgrade         Refuse specs that were written for an older compiler, instead of upgrading them.
  --device URI         The device, as in cuda://0 or local-task. May be repeated: equal devices share the work.
                       Default: the one that runs what is compiled for.
  --cluster ADDRESS    Compile and measure on the workers of Dask's scheduler, as in tcp://10.0.0.1:8786.
  --budget TIME        How long to retune, as in 90s, 10m or 1.5h. Default: 10m, or no limit with --trials.
  --trials N           Try at most N other configurations for each entry.
  --min-gain PART      The least gain worth an entry. Default: 2%.
  --database FILE      Keep all results in FILE; what is there already is not measured again.
  --failures DIR       Keep candidates that fail to compile in DIR, each as a file that shows it.
  --jobs N             How many compilations run at once. Default: one for each core.
  --timeout TIME       When a compilation or a benchmark counts as hanging. Default: 30s.
  --caches warm|cold   Whether a dispatch finds its data in the caches. Default: warm.
  --search NAME        The order of candidates: model, random or neighbors. Default: model.
  --seed N             Fixes samples, inputs and orders. Default: 0.
  -q, --quiet          Show errors and warnings only: no remarks, no progress.
  -v, --verbose        Say on standard error what takes how long.
  --help               Show this message and exit.

Examples:
  tuninglink retune tuned.mlir -o tuned.mlir --iree-hal-target-device=cuda --iree-cuda-target=sm_80 \\
      --device cuda://0 --budget 30m --database tuning.db
  tuninglink retune library:boo-gfx942 -o boo.mlir --no-improve --iree-hal-target-device=hip \\
      --iree-rocm-target=gfx942 --format json
"""


def retune_command(arguments: Sequence[str]) -> int:
    """Runs `tuninglink retune` with the arguments that stand behind these words.

    It sets the flags of the whole process, so a process can run it once.

    Returns:
        The exit code.

    Raises:
        TuninglinkError: a spec cannot be read, nothing can be measured, or a result not written.
    """
    if not {"--help", "-help", "-h"}.isdisjoint(arguments):
        sys.stdout.write(USAGE)
        return process.SUCCESS
    options = parse_retune_arguments(arguments)
    check_targets(options.flags)
    set_up_command_line(PROGRAM, options.flags)
    check_search(options.settings.search)  # an unknown one is told before anything takes time
    specs = _read(options)
    outputs = _outputs(options.output, specs)
    budget = Budget(options.settings.seconds, options.settings.trials)
    result = _retune(specs, options, budget)
    for spec, output in zip(specs, outputs, strict=True):
        write_output(output, retuned_spec(spec, result.of(spec)).encode())
    stream = sys.stderr if options.output == STANDARD_STREAM else sys.stdout
    stream.write(_report(specs, result, options.report_format))
    if result.failure is not None:
        raise result.failure
    return process.SUCCESS


def _read(options: RetuneOptions) -> list[Spec]:
    sink = process.shown_diagnostics()
    files = read_specs(options.specs or project_specs(), sink)
    return [*SpecFiles(files, upgrade=options.upgrade, diagnostics=sink)]


def _outputs(output: str, specs: Sequence[Spec]) -> list[str]:
    """Returns where each new spec goes.

    Raises:
        TuninglinkError: nothing can be written there.
    """
    if len(specs) == 1:
        check_output(output)
        return [output]
    if output == STANDARD_STREAM:
        raise TuninglinkError(error("several specs need a directory; name it with -o"))
    names = [f"{Path(each.source.replace(':', '-')).stem}.mlir" for each in specs]
    if len(set(names)) < len(names):
        raise TuninglinkError(error("several specs have the same name; retune one at a time"))
    directory = make_directory(output)
    return [str(directory / each) for each in names]


def _retune(specs: Sequence[Spec], options: RetuneOptions, budget: Budget) -> RetuningResult:
    target = target_of(options.flags)
    uris = options.settings.devices or (default_device(target.backend),)
    measuring = Measuring(
        options.settings, uris, options.flags, options.database, options.failures, options.cluster
    )
    model = None
    if options.model:
        with progress(f"compiling {options.model}"):
            model = read_program(options.model, options.flags)
    with measuring.tasks() as tasks, stopping(budget, PROGRAM):
        return Retuner(
            specs,
            options.flags,
            tasks,
            budget,
            target,
            model,
            improves=options.improves,
            warn=process.show,
            tell=_tell,
        ).run()


def _tell(result: EntryResult) -> None:
    """Remarks on an entry that stays without being measured, or without a decision."""
    if result.verdict in (EntryVerdict.UNTOUCHED, EntryVerdict.UNDECIDED):
        message = f"entry '{result.entry.matcher}' stays as it is: {result.reason}"
        process.show(Diagnostic(Severity.REMARK, message, result.entry.place))


def _report(specs: Sequence[Spec], result: RetuningResult, form: RetuneFormat) -> str:
    if form is RetuneFormat.JSON:
        return json.dumps(to_json(result), indent=2, ensure_ascii=False) + "\n"
    tables = [
        render_table(COLUMNS, rows(result.of(each)), each.source, sys.stdout) for each in specs
    ]
    return "\n".join(tables)
