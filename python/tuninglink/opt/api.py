"""Running passes as a function."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from iree.compiler import ir as mlir

from tuninglink.arguments import Content, content_as_path, described, several
from tuninglink.compiler import handled
from tuninglink.errors import Diagnostic, Place, Severity, TuninglinkError, printable
from tuninglink.files import cannot
from tuninglink.mlir import DiagnosticSink, Pass, error, note, without_byte_order_mark
from tuninglink.opt.execution import Execution, run_pass
from tuninglink.opt.inputs import Chunk, parse
from tuninglink.opt.pass_registry import (
    ANY,
    PassLookup,
    PassRegistry,
    leaves,
    parse_pipeline,
)
from tuninglink.passes import PASSES
from tuninglink.upgrading import check_repeated_matchers

if TYPE_CHECKING:
    from collections.abc import Iterable

    Program: TypeAlias = (
        str | os.PathLike[str] | Content | mlir.Operation | mlir.OpView | mlir.Module
    )


def run_passes(
    program: Program,
    passes: str | Pass | Iterable[str | Pass],
    *,
    name: str = "<memory>",
    diagnostics: DiagnosticSink | None = None,
) -> mlir.Operation:
    """Run passes of Tuninglink, of plug-ins and of the compiler on a program or a spec, as `tuninglink-opt` does.

    Args:
        program: the path of a module, its content as text or bytecode in bytes, or an operation, which is changed in
            place.
        passes: the passes in order: each a textual pipeline, such as `tuninglink-strip-configs`, `canonicalize,cse` or
            `builtin.module(func.func(cse))`, or an instance of a pass.
        name: the name of a content in locations and diagnostics.
        diagnostics: receives warnings and remarks as they are emitted; by default they are dropped. Errors are raised.

    Returns:
        The operation after the passes; `str` of it is its text.

    Raises:
        PipelineError: a pipeline is malformed, or names an unknown pass or option.
        TuninglinkError: the program cannot be read or does not parse, or a pass failed.
        TypeError: an argument has another type.
    """
    errors: list[Diagnostic] = []

    def emit(diagnostic: Diagnostic) -> None:
        if diagnostic.severity is Severity.ERROR:
            errors.append(diagnostic)
        elif diagnostics:
            diagnostics.emit(diagnostic)

    sink = DiagnosticSink(emit)
    operation = _operation(program, name, sink)
    if operation is None:
        raise TuninglinkError(*errors)
    registry = PassRegistry(PASSES, sink.emit)
    with handled(operation.context, sink.emit):
        for item in several(passes, "passes"):
            if isinstance(item, Pass):
                succeeded = run_pass(item, operation, sink)
            elif isinstance(item, str):
                succeeded = _run_pipeline(item, operation, registry, sink)
            else:
                raise TypeError(f"a pass is a Pass or a textual pipeline; found {described(item)}")
            if not succeeded or errors:
                raise TuninglinkError(*errors)
    return operation


def _operation(program: Program, name: str, diagnostics: DiagnosticSink) -> mlir.Operation | None:
    """Return the operation of an argument, or None after errors."""
    if isinstance(program, mlir.Operation | mlir.OpView | mlir.Module):
        return program.operation
    if isinstance(program, str | os.PathLike):
        if mistake := content_as_path(program, "the program"):
            raise TuninglinkError(mistake)
        name = printable(program)
        try:
            data = Path(program).read_bytes()
        except OSError as failure:
            raise TuninglinkError(cannot("read", program, failure)) from None
    elif isinstance(program, Content):
        data = bytes(program)
    else:
        message = (
            f"a program is a path, content as bytes, or an operation; found {described(program)}"
        )
        raise TypeError(message)
    if not data.strip():
        message = "the input is empty; expected MLIR text or bytecode"
        raise TuninglinkError(error(message, Place(name, 1, 1)))
    context = mlir.Context()
    context.load_all_available_dialects()  # Python can only build ops of loaded dialects.
    check_repeated_matchers(data, context)
    chunk = Chunk(name, without_byte_order_mark(data))
    return parse(chunk, context, diagnostics, implicit_module=True)


def _run_pipeline(
    text: str, operation: mlir.Operation, registry: PassRegistry, diagnostics: DiagnosticSink
) -> bool:
    """Run a textual pipeline, or a list of passes without an anchor, and return whether it succeeded."""
    is_anchored = text.lstrip().startswith((f"{operation.name}(", f"{ANY}("))
    pipeline = parse_pipeline(text if is_anchored else f"{operation.name}({text})")
    compiler = PassLookup(operation.context, registry).compiler
    for leaf in leaves(pipeline):
        if compiler.needs_target_backends(leaf):
            message = f"pass '{leaf.name}' needs the target backends, which exclude sessions of the compiler"
            remedy = note("run 'tuninglink-opt', which is a process of its own")
            raise TuninglinkError(error(message, leaf.place, [remedy]))
    execution = Execution(
        pipeline, operation.context, registry, diagnostics, nest_implicitly=not is_anchored
    )
    try:
        return execution.run(operation)
    finally:
        execution.finish()
