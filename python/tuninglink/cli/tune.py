"""`tuninglink tune`: tuning of a program, which results in a faster spec."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.known_values import check_pipelines
from tuninglink.cli.measuring_options import PROGRAM_ARGUMENT, SELECTION_FLAGS
from tuninglink.cli.project_options import PROJECT_FLAGS, with_project
from tuninglink.cli.tune_options import TUNE_FLAGS, parse_tune_arguments
from tuninglink.cli.usage import Section, Usage
from tuninglink.compiler.compile_options import Phase
from tuninglink.compiler.probing import check_targets
from tuninglink.compiler.target_flags import check_has_target
from tuninglink.files import check_input
from tuninglink.mlir.diagnostics import DiagnosticSink
from tuninglink.specs.default_library import DefaultLibrary
from tuninglink.specs.sources import read_specs
from tuninglink.tuning.search import check_search
from tuninglink.tuning.settings import LastStage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.options import TuneOptions

PROGRAM: Final = "tuninglink tune"

USAGE: Final = Usage(
    name="tune",
    positionals=(replace(PROGRAM_ARGUMENT, optional=True),),
    flags={**TUNE_FLAGS, **PROJECT_FLAGS},
    sections=(
        Section(
            "Program",
            ("problem", "dim", "input"),
            (
                *("problems", "strict-problems", "function", "expected", "parameters"),
                *PROJECT_FLAGS,
            ),
        ),
        Section("Target", ("target", "device"), ("cluster",)),
        Section("Budget", ("budget", "trials"), ("jobs", "timeout", "stop-after", "dry-run")),
        Section(
            "Scope",
            ("only", "top", "spec"),
            (
                *("min-share", "profile", "flag-sets", "only-flags"),
                *(*SELECTION_FLAGS, "search", "seed", "caches"),
                *("spec-dir", "no-default-specs", "no-upgrade"),
            ),
        ),
        Section("Numerics", ("numerics", "min-gain"), ("no-reference", "no-model")),
        Section("Output", ("output", "report", "database"), ("failures",)),
    ),
    main_flags=("target", "output"),
    takes_compiler_flags=True,
    description="""
INPUT is compiled with the flags that you give; problems can take its place. An interrupt ends the command; the best
spec so far is written.
""",
    examples=(
        "tuninglink tune model.mlir --target host --budget 5m -o tuned.mlir",
        (
            "tuninglink tune model.mlir --target sm_80 --device cuda://0 --top 3 --database tuning.db --report report "
            "-o tuned.mlir"
        ),
        "tuninglink tune --problem 'matmul 2048x1280x5120 f16 transpose_b' --target gfx942 -o tuned.mlir",
    ),
)


def tune_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink tune` with the arguments after the command's name.

    The command sets process-wide flags, so a process can run it only once.

    Returns:
        The exit code.

    Raises:
        TuninglinkError: the program cannot be tuned, or a result cannot be written.
    """
    own, project_specs = with_project(arguments)
    options = parse_tune_arguments(own)
    options = replace(options, specs=(*options.specs, *project_specs))
    check_search(options.settings.search)  # report an unknown one first
    measures = options.settings.stop_after in (None, LastStage.MEASUREMENT) and not options.dry_run
    if measures and not options.cluster:
        from tuninglink.tuning.devices.local import check_named_devices  # noqa: PLC0415 - an extra

        check_named_devices(options.settings.devices, options.flags)
    check_targets(options.flags)
    if options.compile_from < Phase.EXECUTABLE_SOURCES:
        check_has_target(options.flags, options.input)
    check_pipelines(options.settings.pipelines)
    _check_inputs(options)
    # Mistakes in the arguments are reported before the tuner is loaded.
    from tuninglink.cli.tune_run import run  # noqa: PLC0415

    run(options, PROGRAM, arguments)
    return process.SUCCESS


def _check_inputs(options: TuneOptions) -> None:
    """Check that the program and the specs can be read, before sets of flags are compared for minutes.

    Raises:
        TuninglinkError: the program or a spec cannot be read.
    """
    if not options.problems:
        check_input(options.input)
    read_specs(options.specs, DiagnosticSink(lambda _: None))
    DefaultLibrary(options.spec_directories).check_directories()
