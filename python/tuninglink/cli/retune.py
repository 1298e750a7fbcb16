"""`tuninglink retune`: renewal of specs for a newer compiler."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.measuring_options import MEASURING_FLAGS, RetuneOptions, measuring_values
from tuninglink.cli.project_options import SPEC_PROJECT_FLAGS
from tuninglink.cli.target_options import read_flags, set_up_compiler
from tuninglink.cli.usage import FORMAT_FLAG, Positional, Usage
from tuninglink.compiler.flags import COMPILE_FLAGS, TARGET_FLAG
from tuninglink.compiler.probing import check_targets
from tuninglink.compiler.target_flags import check_has_target
from tuninglink.errors import UsageError
from tuninglink.llvm_flags import Flag, switch
from tuninglink.mlir.diagnostics import error
from tuninglink.specs.libraries import spec_names
from tuninglink.tuning.search import check_search

if TYPE_CHECKING:
    from collections.abc import Sequence

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

USAGE: Final = Usage(
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


def _parse(arguments: Sequence[str]) -> RetuneOptions:
    """Parse the arguments after the program's name.

    Raises:
        UsageError: a value is malformed or missing, or a flag is unknown or does not apply.
    """
    reader = read_flags(_FLAGS, arguments)
    for flag in reader.flags:
        name = flag.partition("=")[0].removeprefix("--")
        if name in COMPILE_FLAGS:
            raise UsageError(error(f"flag '--{name}' does not apply: only a spec is written"))
    return RetuneOptions(specs=reader.inputs, **measuring_values(reader))


def retune_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink retune` with the arguments after the command's name.

    The command sets process-wide flags, so a process can run it only once.

    Returns:
        The exit code.

    Raises:
        TuninglinkError: a spec cannot be read, nothing can be measured, or a result cannot be written.
    """
    options = _parse(arguments)
    check_targets(options.flags)
    check_has_target(options.flags)
    set_up_compiler(PROGRAM, options.flags, upgrade=options.upgrade)
    check_search(options.settings.search)  # report an unknown one first
    from tuninglink.cli.retune_run import retune  # noqa: PLC0415 - usage errors come before

    failure = retune(options, PROGRAM)
    if failure is not None:
        raise failure
    return process.SUCCESS
