"""`tuninglink compile`: `iree-compile`, with specs."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.project_options import PROJECT_FLAGS, read_flags, set_up_compiler, with_project
from tuninglink.cli.terminal import progress
from tuninglink.cli.usage import SPEC_SECTION, Positional, Section, Usage, usage_error
from tuninglink.compiler import (
    COMPILE_FLAGS,
    CompileOptions,
    ExplanationFormat,
    check_has_target,
    check_targets,
    compile_options,
    iree_compile,
)
from tuninglink.files import STANDARD_STREAM, check_output, check_output_directory, write_output
from tuninglink.specs import DefaultLibrary, SpecFiles, automatic_positions, read_specs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.compiler import SpecChoice


PROGRAM: Final = "tuninglink compile"

USAGE: Final[Usage] = Usage(
    name="compile",
    positionals=(
        Positional(
            "INPUT", "MLIR text or bytecode, or a model of ONNX (*.onnx); - is standard input."
        ),
    ),
    flags={**COMPILE_FLAGS, **PROJECT_FLAGS},
    sections=(
        Section("Target", ("target",)),
        SPEC_SECTION,
        Section("Output", ("output", "explain", "dump-specs-to", "prune")),
    ),
    main_flags=("target", "spec", "output"),
    takes_compiler_flags=True,
    description="""
The default spec of each target is applied, too, and a remark names it. With --no-default-specs and no spec the output
is, byte for byte, that of iree-compile; every flag of iree-compile is known, see `iree-compile --help`.
""",
    examples=(
        "tuninglink compile model.mlir --target gfx942 --spec mine.mlir -o model.vmfb",
        (
            "tuninglink compile model.mlir --spec gfx942=amd.mlir --spec sm_80=nvidia.mlir "
            "--iree-hal-target-device=hip \\\n      --iree-hal-target-device=cuda --iree-rocm-target=gfx942 "
            "--iree-cuda-target=sm_80 -o model.vmfb"
        ),
    ),
    more="""
These mean what they mean to iree-compile, and reach every backend:
  --iree-codegen-tuning-spec-path=SPEC
  --iree-codegen-enable-default-tuning-specs[=BOOL]
  --iree-codegen-dump-tuning-specs-to=DIR
""",
)

_ABOUT_THE_COMPILER: Final = frozenset(
    (
        *("--help-hidden", "--help-list", "--help-list-hidden", "--version"),
        *("--iree-hal-list-target-backends", "--iree-list-plugins"),
    )
)
"""Flags that make `iree-compile` print something about itself and compile nothing."""


def compile_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink compile`. The command sets process-wide flags, so a process can run it only once."""
    if not _ABOUT_THE_COMPILER.isdisjoint(arguments):
        os.execv(iree_compile(), [PROGRAM, *arguments])  # noqa: S606 - it is the compiler's own tool
    own, project_specs = with_project(arguments)
    options = compile_options(read_flags(COMPILE_FLAGS, own))
    path = checked_program(options)
    if options.output == STANDARD_STREAM and not options.writes_text:
        process.refuse_binary_on_terminal()
    # Check that the results can be written before compiling.
    check_output(options.output)
    if options.explanation:
        check_output(options.explanation)
    if options.spec_dumps and options.spec_dumps != STANDARD_STREAM:
        check_output_directory(options.spec_dumps)
    set_up_compiler(PROGRAM, options.flags, upgrade=options.upgrade)
    # Load the compiler after usage errors, and the modules of explanations only for an explained compilation.
    if options.explanation is None:
        from tuninglink.compiler import Compiler  # noqa: PLC0415

        with progress(f"compiling {path}") as step:
            choice = specs_of(options, project_specs)
            result = Compiler(options, choice, report=process.show, step=step).compile(path)
        write_output(options.output, result.output)
        return process.SUCCESS
    from tuninglink.cli.page_output import format_for, render  # noqa: PLC0415
    from tuninglink.explaining import explain_file  # noqa: PLC0415

    report_format = format_for(options.explanation, None)
    is_page = report_format is ExplanationFormat.HTML
    with progress(f"compiling {path}") as step:
        choice = specs_of(options, project_specs)
        result, explanation = explain_file(
            path, options, choice, report=process.show, step=step, is_detailed=is_page
        )
    write_output(options.output, result.output)
    if options.explanation:
        write_output(options.explanation, render(explanation, report_format, None))
    else:
        sys.stderr.write(render(explanation, ExplanationFormat.TABLE, sys.stderr))
    return process.SUCCESS


def checked_program(options: CompileOptions) -> str:
    """Return the program to compile, after a check that it is named and that the compiler knows its target."""
    if options.input is None:
        raise usage_error("no input; name a program, or - for standard input")
    check_targets(options.flags)
    if options.needs_target:
        check_has_target(options.flags, options.input)
    return options.input


def specs_of(options: CompileOptions, project_specs: Sequence[str]) -> SpecChoice:
    """Return the specs from the options, then the specs of a project, all loaded on first access."""
    from tuninglink.compiler import SpecChoice  # noqa: PLC0415 - loads linker and matchers

    upgrade = options.upgrade
    library = None
    if options.default_specs:
        library = DefaultLibrary(options.spec_directories, upgrade=upgrade)
    sink = process.shown_diagnostics()
    files = read_specs(options.specs, sink)
    from_project = read_specs(project_specs, sink)
    return SpecChoice(
        SpecFiles((*files, *from_project), upgrade=upgrade, diagnostics=sink),
        from_project=len(from_project),
        automatic=automatic_positions(files),
        library=library,
        exact=False,
        dump=options.spec_dumps,
        prune=options.prune,
        derive=options.derived_entries,
    )
