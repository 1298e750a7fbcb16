"""The run of a `tuninglink-opt` command line."""

from __future__ import annotations

import io
import os
import signal
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iree.compiler import ir as mlir

from tuninglink.compiler import handled
from tuninglink.compiler_plugins import check_plugins
from tuninglink.errors import Diagnostic, Place, Severity, TuninglinkError
from tuninglink.files import STANDARD_STREAM, meant, write_output
from tuninglink.llvm_flags import CommandLine, CommandLineError, ambiguous
from tuninglink.mlir import (
    QUOTE_OPERATIONS,
    DiagnosticSink,
    Sources,
    error,
    may_repeat_matchers,
    render,
    wants_color,
    without_byte_order_mark,
)
from tuninglink.opt.arguments import FLAGS, Options, OptRequest, dump, resolve
from tuninglink.opt.execution import Execution, set_up_process
from tuninglink.opt.inputs import Chunk, Expectations, parse, split_input
from tuninglink.opt.pass_registry import EXECUTABLE, PIPELINE_SOURCE, PassRegistry, parse_pipeline
from tuninglink.passes import PASSES

if TYPE_CHECKING:
    from collections.abc import Sequence


_STANDARD_INPUT = "<stdin>"
_NOWHERE = "<unknown>:0"
"""The compiler's text for the place of a diagnostic without one."""

_SHOWN = {
    "errors": {Severity.ERROR},
    "warnings": {Severity.ERROR, Severity.WARNING},
    "remarks": set(Severity),
}


def run(arguments: Sequence[str], plugin_failures: Sequence[str] = ()) -> int:
    """Run a command line, whose first word is the name of the program, and return its exit code.

    `plugin_failures` has a message for each plug-in of the compiler that could not be loaded.
    """
    program = Path(arguments[0]).name
    reporter = _Reporter()
    # Read the command line.
    try:
        if message := ambiguous(arguments[1:]):
            raise CommandLineError(message)
        line = CommandLine(FLAGS, arguments[1:])
        options = reporter.options = Options(**line.values)
        check_plugins(plugin_failures)
        if options.pipeline:
            reporter.sources.add(PIPELINE_SOURCE, options.pipeline.encode())
        registry = PassRegistry(PASSES, reporter.show)
        if options.help or options.version or options.list_passes or options.completion:
            from tuninglink.opt.help import about  # noqa: PLC0415 - rarely needed

            write_output(STANDARD_STREAM, about(options, registry, program))
            return 0
        request = resolve(options, line, registry, _new_context())
        if request.is_handed_over:
            # The compiler's programs expect a signal when the reader of their output closes the pipe.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.execv(EXECUTABLE, [EXECUTABLE, *arguments[1:]])  # noqa: S606
        data = without_byte_order_mark(_read(request.input))
        flags = list(request.compiler_flags)
        # Expectations do not cover the note with the operation at a diagnostic.
        if (options.expectations or may_repeat_matchers(data)) and not any(
            flag.startswith(QUOTE_OPERATIONS) for flag in flags
        ):
            flags.insert(0, f"{QUOTE_OPERATIONS}=false")
        # Run the passes.
        set_up_process(program, flags, target_backends=request.needs_target_backends)
        # A context that was created before the compiler received its flags is usable only without any.
        spare = None if flags else request.context
        return _process(data, request, registry, reporter, spare)
    except CommandLineError as failure:
        sys.stderr.write(f"{program}: {failure}\n")
    except TuninglinkError as failure:
        for diagnostic in failure.diagnostics:
            reporter.show(diagnostic, nowhere=program)
    except BrokenPipeError:
        pass  # The reader of the output closed the pipe.
    return 1


@dataclass
class _Reporter:
    """A printer of diagnostics to standard error, filtered by verbosity."""

    sources: Sources = field(default_factory=Sources)
    options: Options | None = None

    def show(self, diagnostic: Diagnostic, nowhere: str = _NOWHERE) -> None:
        color = wants_color(sys.stderr)
        if (options := self.options) is not None:
            if diagnostic.severity not in _SHOWN[options.verbosity]:
                return
            if not options.notes:
                diagnostic = Diagnostic(diagnostic.severity, diagnostic.message, diagnostic.place)
            color = color if options.color is None else options.color
        # The compiler writes to the same stream: keep the order.
        sys.stderr.write(render(diagnostic, self.sources, color=color, nowhere=nowhere))
        sys.stderr.flush()


def _process(
    data: bytes,
    request: OptRequest,
    registry: PassRegistry,
    reporter: _Reporter,
    spare: mlir.Context | None,
) -> int:
    """Process an input and write the output. Return the exit code."""
    options = request.options
    name = _STANDARD_INPUT if request.input == STANDARD_STREAM else request.input
    reporter.sources.add(name, data)
    if not data.strip():
        message = "the input is empty; expected MLIR text or bytecode"
        raise TuninglinkError(error(message, Place(name, 1, 1)))
    # Read the expectations of the input.
    expectations: Expectations | None = None
    if options.expectations:
        only_expected = options.expectations == "only-expected"
        expectations = Expectations(name, data, reporter.show, only_expected=only_expected)
    # Process each chunk of a split input separately.
    chunks = [Chunk(name, data)]
    if options.split_marker:
        sink = DiagnosticSink(reporter.show)
        chunks = list(split_input(name, data, options.split_marker, sink))
    outputs: list[bytes | None] = []
    for chunk in chunks:
        context, spare = spare or _new_context(), None
        sink = DiagnosticSink(expectations.check if expectations else reporter.show)
        outputs.append(_process_chunk(chunk, context, request, registry, sink))
    succeeded = None not in outputs
    # Verify the expectations, and write the output.
    if expectations:
        succeeded = expectations.verify()
    if succeeded or options.output == STANDARD_STREAM:
        marker = f"{options.output_marker}\n".encode()
        write_output(options.output, marker.join(output or b"" for output in outputs))
    return 0 if succeeded else 1


def _process_chunk(
    chunk: Chunk,
    context: mlir.Context,
    request: OptRequest,
    registry: PassRegistry,
    sink: DiagnosticSink,
) -> bytes | None:
    """Return the output for one chunk, or None after errors."""
    options = request.options
    if request.runs_python:
        # Python can only build ops of loaded dialects. The parser and the compiler load dialects on demand.
        context.load_all_available_dialects()
    context.allow_unregistered_dialects = options.allow_unregistered
    if not options.threads:
        context.enable_multithreading(False)  # noqa: FBT003
    operation = parse(chunk, context, sink, implicit_module=options.implicit_module)
    if operation is None:
        return None
    nest_implicitly, pipeline = options.pipeline is None, request.pipeline
    if nest_implicitly:
        pipeline = replace(pipeline, anchor=operation.name)
    with handled(context, sink.emit):
        if pipeline.children or options.dump_pipeline or options.pipeline:
            execution = Execution(
                pipeline, context, registry, sink, options, nest_implicitly=nest_implicitly
            )
            if options.dump_pipeline:
                nest = parse_pipeline(str(execution))
                heading = f"Pass Manager with {len(nest.children)} passes:"
                sys.stderr.write(f"{heading}\n{dump(nest)}\n\n")
                sys.stderr.flush()
            try:
                if not execution.run(operation):
                    return None
            finally:
                execution.finish()
        if options.bytecode:
            buffer = io.BytesIO()
            operation.write_bytecode(buffer, options.bytecode_version)
            return buffer.getvalue()
        text = operation.get_asm(binary=True)
        assert isinstance(text, bytes)
        return text + b"\n"


def _new_context() -> mlir.Context:
    create: Any = mlir.Context  # the stubs do not declare this argument of the bindings
    context: mlir.Context = create(load_on_create_dialects=[])
    return context


def _read(path: str) -> bytes:
    try:
        if path == STANDARD_STREAM:
            with open(0, "rb", closefd=False) as standard_input:
                return standard_input.read()
        return Path(path).read_bytes()
    except OSError as failure:
        reason = failure.strerror or str(failure)
        hint = meant(Path(path), failure)
        message = f"cannot open input file '{path}': {reason}{hint}"
        raise TuninglinkError(error(message)) from None
