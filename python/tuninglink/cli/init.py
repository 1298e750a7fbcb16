"""`tuninglink init`: a starting spec for the dispatches of a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.compile import USAGE as COMPILE_USAGE, checked_program
from tuninglink.cli.project_options import read_flags, set_up_compiler
from tuninglink.cli.terminal import progress
from tuninglink.cli.usage import Usage
from tuninglink.compiler import COMPILE_FLAGS, DIM_FLAG, TARGET_FLAG, CompileOptions, Phase
from tuninglink.errors import CompileError
from tuninglink.files import STANDARD_STREAM, check_output, write_output
from tuninglink.llvm_flags import flags_of, option, read_count
from tuninglink.mlir import error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.iree import GivenSizes


@dataclass(frozen=True, kw_only=True)
class InitOptions:
    dispatches: tuple[str, ...] = option(
        (),
        name="dispatch",
        repeats=True,
        metavar="NAME",
        help="Only dispatches with NAME in their name or in that of their function; * and ? match. May be repeated.",
    )
    top: int | None = option(
        None,
        read=read_count,
        metavar="N",
        help="Only the N problems with the most arithmetic, over all calls.",
    )
    sizes: tuple[GivenSizes, ...] = option((), DIM_FLAG, name="dim")
    output: str = option(
        STANDARD_STREAM,
        COMPILE_FLAGS["output"],
        metavar="SPEC.mlir",
        help="Where to write the spec. Default: standard output.",
    )
    compile_from: Phase = option(Phase.START, COMPILE_FLAGS["compile-from"])


USAGE: Final[Usage] = Usage(
    name="init",
    positionals=COMPILE_USAGE.positionals,
    flags={"target": TARGET_FLAG, **flags_of(InitOptions)},
    main_flags=("target", "dispatch", "top", "output"),
    takes_compiler_flags=True,
    description="""
Each entry has a matcher for the root op of a dispatch and the compiler's own configuration, with a comment on each
knob: its meaning, and the values that are valid now. The spec takes effect in the program and changes no code until
you edit it, which the compiler verifies. Without --dispatch, entries are written for all dispatches but those that only
compute element by element or move data.
""",
    examples=("tuninglink init model.mlir --target gfx942 --top 5 -o start.mlir",),
)


def init_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink init`. The command sets process-wide flags, so a process can run it only once."""
    reader = read_flags(USAGE.flags, arguments)
    options = InitOptions(**reader.values)
    compilation = CompileOptions(
        reader.input, flags=reader.flags, sizes=options.sizes, compile_from=options.compile_from
    )
    path = checked_program(compilation)
    check_output(options.output)
    set_up_compiler("tuninglink init", reader.flags)
    from tuninglink.scaffolding import init_spec_for_file  # noqa: PLC0415 - help must not wait for Z3

    with progress(f"writing a spec for {path}"):
        written = init_spec_for_file(compilation, options.dispatches, options.top, process.show)
    for omission in written.left_out:
        process.shown_diagnostics().remark(f"no entry for {omission}")
    if not written.entries:
        raise CompileError(error(f"no entry can be written for '{path}'"))
    write_output(options.output, written.text)
    return process.SUCCESS
