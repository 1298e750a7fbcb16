"""`tuninglink dump`: extraction of the specs embedded in a program."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.compile import specs_of
from tuninglink.cli.project_options import read_flags, set_up_compiler
from tuninglink.cli.terminal import progress
from tuninglink.cli.usage import Positional, Usage
from tuninglink.compiler import (
    COMPILE_FLAGS,
    TARGET_FLAG,
    CompileOptions,
    Phase,
    check_has_target,
    check_targets,
)
from tuninglink.errors import Diagnostic, Severity, UsageError
from tuninglink.files import STANDARD_STREAM, check_output_directory, write_output
from tuninglink.llvm_flags import switch
from tuninglink.mlir import error, note, parse_module, thread_context
from tuninglink.specs import collect_specs

if TYPE_CHECKING:
    from collections.abc import Sequence


USAGE: Final[Usage] = Usage(
    name="dump",
    positionals=(
        Positional(
            "PROGRAM",
            "A program whose dispatches are formed, as text or bytecode, or with a target any program; - is standard input.",
        ),
    ),
    flags={
        "target": replace(
            TARGET_FLAG,
            help="Compile the program for this target until its dispatches carry specs; see `tuninglink compile --help`.",
        ),
        "spec": replace(COMPILE_FLAGS["spec"], help="Compile it with this spec. May be repeated."),
        "output": replace(
            COMPILE_FLAGS["output"],
            metavar="DIR",
            help="The directory to write to, which also gets an index.json: it lists the dispatches that use a file. "
            "Default: standard output.",
        ),
        "emit-bytecode": switch("emit_bytecode", "Write bytecode instead of text."),
    },
    main_flags=("target", "output", "emit-bytecode"),
    takes_compiler_flags=True,
    examples=(
        "tuninglink dump sources.mlir -o specs",
        "tuninglink dump model.mlir --target gfx942 --spec mine.mlir -o specs",
    ),
)


def dump_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink dump` with the arguments after the command's name, and return the exit code."""
    reader = read_flags(USAGE.flags, arguments)
    values, program = reader.values, reader.input
    if program is None:
        raise UsageError(error("no input; name a program, or - for standard input"))
    check_has_target(reader.flags, program)
    check_targets(reader.flags)
    output = values.get("output", STANDARD_STREAM)
    emit_bytecode = values.get("emit_bytecode", False)
    if output != STANDARD_STREAM:
        check_output_directory(output)
    elif emit_bytecode:
        process.refuse_binary_on_terminal()
    set_up_compiler("tuninglink dump", reader.flags)
    with progress("reading"):
        if reader.flags:
            # Compile it until its dispatches carry specs.
            from tuninglink.compiler import Compiler  # noqa: PLC0415 - usage errors come before

            options = CompileOptions(
                program,
                compile_to=Phase.EXECUTABLE_SOURCES,
                emit_bytecode=True,
                specs=values.get("specs", ()),
            )
            compiler = Compiler(options, specs_of(options, ()), report=process.show)
            name, content = program, compiler.compile(program).output
        else:
            name, content = process.read_input(program)
        module = parse_module(content, name, thread_context())
        specs = collect_specs(module, "mlirbc" if emit_bytecode else "mlir")
    if not specs.uses:
        remedy = note("specs are embedded by 'tuninglink compile --compile-to=executable-sources'")
        message = f"no dispatch of '{name}' carries a spec"
        process.show(Diagnostic(Severity.WARNING, message, notes=(remedy,)))
    if output == STANDARD_STREAM:
        write_output(output, specs.as_stream())
    else:
        specs.write(output)
    return process.SUCCESS
