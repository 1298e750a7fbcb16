"""The run of a `tuninglink-opt` command line."""

from __future__ import annotations

import io
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iree.compiler import ir as mlir

from tuninglink.compiler import handled
from tuninglink.compiler_plugins import check_plugins
from tuninglink.errors import Diagnostic, Place, Severity, TuninglinkError
from tuninglink.files import STANDARD_STREAM, meant, write_output
from tuninglink.llvm_flags import CommandLineError
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
from tuninglink.opt.arguments import Options, OptRequest, dump, read_options, resolve
from tuninglink.opt.execution import Execution, set_up_process
from tuninglink.opt.inputs import Chunk, Expectations, parse, split_input
from tuninglink.opt.pass_registry import PIPELINE_SOURCE, PassRegistry, parse_pipeline
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

    Args:
        arguments: the command line.
        plugin_failures: a message for each plug-in of the compiler that could not be loaded.
    """
    program = Path(arguments[0]).name
    reporter = _Reporter()
    # Read the command line.
    try:
        options = read_options(arguments[1:])
        reporter.configure(options)
        check_plugins(plugin_failures)
        if options.pipeline:
            reporter.sources.add(PIPELINE_SOURCE, options.pipeline.encode())
        registry = PassRegistry(PASSES, reporter.show)
        text = _about(options, registry, program)
        if text is not None:
            write_output(STANDARD_STREAM, text)
            return 0
        request = resolve(options, arguments[1:], registry, _new_context())
        if request.handed_over:
            # The compiler's programs expect a signal when the reader of their output closes the pipe.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.execv(request.handed_over[0], list(request.handed_over))  # noqa: S606
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
        return _Run(options, request, registry, reporter, spare).process(data)
    except CommandLineError as failure:
        sys.stderr.write(f"{program}: {failure}\n")
    except TuninglinkError as failure:
        for diagnostic in failure.diagnostics:
            reporter.show(diagnostic, nowhere=program)
    except BrokenPipeError:
        pass  # The reader of the output closed the pipe.
    return 1


class _Reporter:
    """A printer of diagnostics to standard error, filtered by verbosity."""

    def __init__(self) -> None:
        self.sources = Sources()
        self._color = wants_color(sys.stderr)
        self._shown = _SHOWN["remarks"]
        self._notes = True

    def configure(self, options: Options) -> None:
        if options.color is not None:
            self._color = options.color
        self._shown = _SHOWN[options.verbosity]
        self._notes = options.notes

    def show(self, diagnostic: Diagnostic, nowhere: str = _NOWHERE) -> None:
        if diagnostic.severity not in self._shown:
            return
        if not self._notes:
            diagnostic = Diagnostic(diagnostic.severity, diagnostic.message, diagnostic.place)
        text = render(diagnostic, self.sources, color=self._color, nowhere=nowhere)
        # The compiler writes to the same stream: keep the order.
        sys.stderr.write(text)
        sys.stderr.flush()


class _Run:
    """A run over one input."""

    def __init__(
        self,
        options: Options,
        request: OptRequest,
        registry: PassRegistry,
        reporter: _Reporter,
        spare: mlir.Context | None,
    ) -> None:
        self._options = options
        self._request = request
        self._registry = registry
        self._reporter = reporter
        self._expectations: Expectations | None = None
        self._spare = spare

    def process(self, data: bytes) -> int:
        """Process the input and write the output. Return the exit code."""
        options, path = self._options, self._request.input
        # Read the expectations of the input.
        name = _STANDARD_INPUT if path == STANDARD_STREAM else path
        self._reporter.sources.add(name, data)
        if not data.strip():
            message = "the input is empty; expected MLIR text or bytecode"
            raise TuninglinkError(error(message, Place(name, 1, 1)))
        if options.expectations:
            only_expected = options.expectations == "only-expected"
            self._expectations = Expectations(
                name, data, self._reporter.show, only_expected=only_expected
            )
        # Process each chunk of a split input separately.
        if options.split_marker:
            sink = DiagnosticSink(self._reporter.show)
            chunks = list(split_input(name, data, options.split_marker, sink))
        else:
            chunks = [Chunk(name, data)]
        outputs: list[bytes] = []
        succeeded = True
        for chunk in chunks:
            output = self._process(chunk)
            succeeded = succeeded and output is not None
            outputs.append(output or b"")
        # Verify the expectations, and write the output.
        if self._expectations:
            succeeded = self._expectations.verify()
        if succeeded or options.output == STANDARD_STREAM:
            write_output(options.output, f"{options.output_marker}\n".encode().join(outputs))
        return 0 if succeeded else 1

    def _process(self, chunk: Chunk) -> bytes | None:
        """Return the output for one chunk, or None after errors."""
        context, self._spare = self._spare or _new_context(), None
        if self._request.runs_python:
            # Python can only build ops of loaded dialects. The parser and the compiler load dialects on demand.
            context.load_all_available_dialects()
        context.allow_unregistered_dialects = self._options.allow_unregistered
        if not self._options.threads:
            context.enable_multithreading(False)  # noqa: FBT003
        sink = DiagnosticSink(
            self._expectations.check if self._expectations else self._reporter.show
        )
        implicit_module = self._options.implicit_module
        operation = parse(chunk, context, sink, implicit_module=implicit_module)
        if operation is None:
            return None
        with handled(context, sink.emit):
            if not self._execute(operation, context, sink):
                return None
            if self._options.bytecode:
                buffer = io.BytesIO()
                operation.write_bytecode(buffer, self._options.bytecode_version)
                return buffer.getvalue()
            text = operation.get_asm(binary=True)
            assert isinstance(text, bytes)
            return text + b"\n"

    def _execute(
        self, operation: mlir.Operation, context: mlir.Context, sink: DiagnosticSink
    ) -> bool:
        pipeline, options = self._request.pipeline_for(operation.name), self._options
        if not pipeline.children and not options.dump_pipeline and not options.pipeline:
            return True
        execution = Execution(
            pipeline,
            context,
            self._registry,
            sink,
            options.instrumentation,
            nest_implicitly=self._request.nest_implicitly,
        )
        if options.dump_pipeline:
            sys.stderr.write(dump(parse_pipeline(str(execution))))
            sys.stderr.flush()
        try:
            return execution.run(operation)
        finally:
            execution.finish()


def _new_context() -> mlir.Context:
    create: Any = mlir.Context  # the stubs do not declare this argument of the bindings
    context: mlir.Context = create(load_on_create_dialects=[])
    return context


def _about(options: Options, registry: PassRegistry, program: str) -> str | None:
    """Return the requested information about the program, or None if the command line requests passes."""
    if not (options.help or options.version or options.list_passes or options.completion):
        return None
    from tuninglink.opt import help as opt_help  # noqa: PLC0415 - rarely needed

    if options.help:
        return opt_help.help_text(program, registry)
    if options.version:
        return opt_help.version(program)
    if options.completion:
        return opt_help.completion(options.completion, program, registry)
    return opt_help.pass_list(registry)


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
