"""`tuninglink dump`: extraction of the specs embedded in a program."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.terminal import progress
from tuninglink.cli.usage import Positional, Usage
from tuninglink.compiler.flags import COMPILE_FLAGS
from tuninglink.compiler.session import set_up_command_line
from tuninglink.files import STANDARD_STREAM, check_output_directory, write_output
from tuninglink.llvm_flags import switch
from tuninglink.mlir.diagnostics import Diagnostic, Severity, note, thread_context
from tuninglink.mlir.serialization import parse_module
from tuninglink.specs.embedding import collect_specs

if TYPE_CHECKING:
    from collections.abc import Sequence


USAGE: Final = Usage(
    name="dump",
    positionals=(
        Positional(
            "PROGRAM",
            "A program whose dispatches are formed, as text or bytecode; - is standard input.",
        ),
    ),
    flags={
        "output": replace(
            COMPILE_FLAGS["output"],
            metavar="DIR",
            help="The directory to write to, which also gets an index.json: it lists the dispatches that use a file. "
            "Default: standard output.",
        ),
        "emit-bytecode": switch("emit_bytecode", "Write bytecode instead of text."),
    },
    main_flags=("output", "emit-bytecode"),
    examples=("tuninglink dump sources.mlir -o specs",),
)


def dump_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink dump` with the arguments after the command's name, and return the exit code.

    Raises:
        TuninglinkError: the arguments are wrong, the program cannot be read, or a spec cannot be written.
    """
    values, (program,) = USAGE.parse(arguments)
    output = values.get("output", STANDARD_STREAM)
    emit_bytecode = values.get("emit_bytecode", False)
    if emit_bytecode and output == STANDARD_STREAM:
        process.refuse_binary_on_terminal()
    if output != STANDARD_STREAM:
        check_output_directory(output)
    set_up_command_line("tuninglink dump", ())
    with progress("reading"):
        name, content = process.read_input(program)
        module = parse_module(content, name, thread_context())
        specs = collect_specs(module, "mlirbc" if emit_bytecode else "mlir")
    if not specs.uses:
        _warn_about_nothing(name)
    if output == STANDARD_STREAM:
        write_output(output, specs.as_stream())
    else:
        specs.write(output)
    return process.SUCCESS


def _warn_about_nothing(program: str) -> None:
    remedy = "specs are embedded by 'tuninglink compile --compile-to=executable-sources'"
    process.show(
        Diagnostic(
            Severity.WARNING, f"no dispatch of '{program}' carries a spec", notes=(note(remedy),)
        )
    )
