"""`tuninglink dump`: extraction of the specs embedded in a program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.compile import checked_program, specs_of
from tuninglink.cli.project_options import read_flags, set_up_compiler
from tuninglink.cli.terminal import progress
from tuninglink.cli.usage import Positional, Usage
from tuninglink.compiler import COMPILE_FLAGS, TARGET_FLAG, CompileOptions, Phase
from tuninglink.files import STANDARD_STREAM, check_output_directory, write_output
from tuninglink.llvm_flags import flags_of, option, toggle
from tuninglink.mlir import note, parse_module, thread_context
from tuninglink.specs import collect_specs

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True)
class DumpOptions:
    specs: tuple[str, ...] = option(
        (), COMPILE_FLAGS["spec"], name="spec", help="Compile it with this spec. May be repeated."
    )
    output: str = option(
        STANDARD_STREAM,
        COMPILE_FLAGS["output"],
        metavar="DIR",
        help="The directory to write to, which also gets an index.json: it lists the dispatches that use a file. "
        "Default: standard output.",
    )
    emit_bytecode: bool = toggle("Write bytecode instead of text.")


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
        **flags_of(DumpOptions),
    },
    main_flags=("target", "output", "emit-bytecode"),
    takes_compiler_flags=True,
    examples=(
        "tuninglink dump sources.mlir -o specs",
        "tuninglink dump model.mlir --target gfx942 --spec mine.mlir -o specs",
    ),
)


def dump_command(arguments: Sequence[str]) -> int:
    reader = read_flags(USAGE.flags, arguments)
    options = DumpOptions(**reader.values)
    until_embedded = CompileOptions(
        reader.input,
        compile_to=Phase.EXECUTABLE_SOURCES,
        emit_bytecode=True,
        specs=options.specs,
        flags=reader.flags,
    )
    name = checked_program(until_embedded)
    if options.output != STANDARD_STREAM:
        check_output_directory(options.output)
    elif options.emit_bytecode:
        process.refuse_binary_on_terminal()
    set_up_compiler("tuninglink dump", reader.flags)
    with progress("reading"):
        if reader.flags:
            # Compile it until its dispatches carry specs.
            from tuninglink.compiler import Compiler  # noqa: PLC0415 - usage errors come before

            choice = specs_of(until_embedded, ())
            content = Compiler(until_embedded, choice, report=process.show).compile(name).output
        else:
            name, content = process.read_input(name)
        module = parse_module(content, name, thread_context())
        specs = collect_specs(module, "mlirbc" if options.emit_bytecode else "mlir")
    if not specs.uses:
        remedy = note("specs are embedded by 'tuninglink compile --compile-to=executable-sources'")
        message = f"no dispatch of '{name}' carries a spec"
        process.shown_diagnostics().warning(message, notes=[remedy])
    if options.output == STANDARD_STREAM:
        write_output(options.output, specs.as_stream())
    else:
        specs.write(options.output)
    return process.SUCCESS
