"""`tuninglink dump`: the specs that a program carries."""

from __future__ import annotations

from typing import Annotated

import typer

from tuninglink.cli import process
from tuninglink.cli.progress import progress
from tuninglink.files import STANDARD_STREAM, write_output
from tuninglink.mlir.contexts import thread_context
from tuninglink.mlir.diagnostics import Diagnostic, Severity, note
from tuninglink.mlir.serialization import parse_module
from tuninglink.specs.dumping import collect_specs


def dump(
    program: Annotated[
        str,
        typer.Argument(
            metavar="PROGRAM",
            help="A program whose dispatches are formed, as text or bytecode. `-` is standard input.",
            show_default=False,
        ),
    ],
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="The directory to write to; `-` is standard output.",
        ),
    ] = STANDARD_STREAM,
    emit_bytecode: Annotated[
        bool, typer.Option("--emit-bytecode", help="Write bytecode instead of text.")
    ] = False,
) -> None:
    """Write the specs that the dispatches of a program carry, each distinct content once.

    A directory also gets an `index.json`, which says which dispatch uses which file.

    Examples:
        tuninglink dump sources.mlir -o specs
    """
    if emit_bytecode and output == STANDARD_STREAM:
        process.refuse_binary_on_terminal()
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


def _warn_about_nothing(program: str) -> None:
    remedy = "specs are embedded by 'tuninglink compile --compile-to=executable-sources'"
    process.show(
        Diagnostic(
            Severity.WARNING, f"no dispatch of '{program}' carries a spec", notes=(note(remedy),)
        )
    )
