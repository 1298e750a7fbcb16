"""The run of a `tuninglink-opt` command line, its help, and the reference of passes, which `python -m tuninglink.opt.command` prints."""

from __future__ import annotations

import inspect
import io
import os
import re
import signal
import sys
import textwrap
from dataclasses import dataclass, field, replace
from importlib.metadata import version as installed_version
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iree.compiler import ir as mlir

from tuninglink.compiler import handled
from tuninglink.compiler_plugins import check_plugins
from tuninglink.errors import Diagnostic, Place, Severity, TuninglinkError
from tuninglink.files import STANDARD_STREAM, meant, write_output
from tuninglink.llvm_flags import CommandLine, CommandLineError, ambiguous, dashed
from tuninglink.mlir import (
    QUOTE_OPERATIONS,
    DiagnosticSink,
    Sources,
    error,
    may_repeat_matchers,
    print_diagnostic,
    render,
    wants_color,
    without_byte_order_mark,
)
from tuninglink.opt import pass_registry
from tuninglink.opt.arguments import FLAGS, Options, OptRequest, dump, resolve
from tuninglink.opt.execution import Execution, set_up_process
from tuninglink.opt.inputs import Chunk, Expectations, parse, split_input
from tuninglink.opt.pass_registry import (
    EXECUTABLE,
    PIPELINE_SOURCE,
    CompilerPasses,
    PassRegistry,
    options_of,
    parse_pipeline,
)
from tuninglink.passes import PASSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tuninglink.mlir import Pass


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


# --- Help texts of the command and of passes, and the reference of passes ------------------------------

_SECTION = re.compile(r"^([A-Z][A-Za-z ]*):\n(?=(?:\n| {4}))", re.MULTILINE)


def summary(pass_type: type[Pass]) -> str:
    """Return the first line of a pass's docstring, without the final period."""
    return inspect.cleandoc(pass_type.__doc__ or "").partition("\n")[0].rstrip(".")


def sections(pass_type: type[Pass]) -> list[tuple[str, str]]:
    """Return the titles and texts of the sections of a pass's docstring.

    The first section has no title: it is the text before `Example:` and other headings. Indentation is removed.
    """
    text = inspect.cleandoc(pass_type.__doc__ or "")
    starts = list(_SECTION.finditer(text))
    ends = [start.start() for start in starts] + [len(text)]
    titled_texts = [("", text[: ends[0]].strip())]
    for start, end in zip(starts, ends[1:], strict=True):
        titled_texts.append((start[1], textwrap.dedent(text[start.end() : end]).strip()))
    return titled_texts


_COLUMN = 60
_PASS_OR_OPTION = re.compile(r" {6}(?:--(?P<pass>[\w.-]+)| {2}--(?P<option>[\w.-]+))")


def about(options: Options, registry: PassRegistry, program: str) -> str:
    """Return the text that `--help`, `--version`, `--list-passes` or `--completion` requests."""
    if options.help:
        # Tuninglink's flags and passes, and the compiler's own help.
        flags: list[str] = []
        for name, flag in FLAGS.items():
            alias = f", -{flag.short}" if flag.short else ""
            value = ""
            if flag.metavar:
                joint = " " if len(name) == 1 else "="
                value = f"[={flag.metavar}]" if flag.switch else f"{joint}{flag.metavar}"
            flags.append(f"{f'  {dashed(name)}{value}{alias}':{_COLUMN}} - {flag.help}")
        lines = [
            f"OVERVIEW: iree-opt with passes written in Python\n\nUSAGE: {program} [options] <input file>",
            "\nOPTIONS:\n",
            *flags,
            "\nPasses written in Python (each is a flag, too):\n",
            *_python_passes(registry),
            "\nPasses and other flags of the compiler, as iree-opt lists them:\n",
            *_with_defaults(pass_registry.help_text().partition("OPTIONS:")[2].splitlines()),
        ]
        return "\n".join(lines) + "\n"
    if options.version:
        own, compiler = installed_version("tuninglink"), installed_version("iree-base-compiler")
        return f"{program} {own}\niree-base-compiler {compiler}\n"
    if options.completion:
        # A script that completes the available flags and passes, and file names.
        spellings = {
            *map(dashed, FLAGS),
            *(f"--{name}" for name in registry.all()),
            *(f"--{name}" for name in pass_registry.pass_names()),
            *(f"--{name}" for name in pass_registry.flags_with_value()),
        }
        words = " ".join(sorted(spellings))
        if options.completion == "fish":
            return f"complete -c {program} -a '{words}'\n"
        prelude = "autoload -U +X bashcompinit && bashcompinit\n"
        prelude = prelude if options.completion == "zsh" else ""
        return f"{prelude}complete -o default -W '{words}' {program}\n"
    # Every pass with its options and defaults. The compiler's list ends at the next flag or heading.
    _, _, passes = pass_registry.help_text().partition(pass_registry.PASSES_HEADING)
    listed = takewhile(lambda line: re.match(r"(?!  -)( |$)", line), passes.splitlines()[1:])
    lines = ["Passes written in Python:", *_python_passes(registry), "", "Passes of the compiler:"]
    return "\n".join([*lines, *_with_defaults(listed)]) + "\n"


def _python_passes(registry: PassRegistry) -> Iterator[str]:
    for pass_type in registry.all().values():
        yield f"{f'  --{pass_type.name}':{_COLUMN}} - {summary(pass_type)}"
        for option in options_of(pass_type):
            default = f" (default: {option.print(option.default)})"
            spelling = f"    --{option.name}={option.value_name}"
            yield f"{spelling:{_COLUMN}} - {option.help}{default}"


def _with_defaults(lines: Iterable[str]) -> Iterator[str]:
    """Add defaults to options of the compiler's passes. The compiler prints them only in pipelines."""
    passes = CompilerPasses(mlir.Context())
    options: dict[str, str] = {}
    for line in lines:
        match = _PASS_OR_OPTION.match(line)
        if match is None:
            yield line
        elif match["option"]:
            default = options.get(match["option"])
            yield f"{line} (default: {default})" if default else line
        else:
            yield line
            name = match["pass"]
            options = passes.options(name) if passes.knows(name) else {}


_INTRODUCTION = """\
# Passes

Every pass is a flag of `tuninglink-opt` and a name in its textual pipelines; an option is written
`--pass="option=value flag list={a,b}"` or `pass{option=value flag list={a,b}}`.

This page is made from the passes: `python -m tuninglink.opt.command`.
"""


def reference(passes: Iterable[type[Pass]]) -> str:
    """Return the reference of `passes` in Markdown."""
    passes = list(passes)
    index = "\n".join(f"- [`{pass_.name}`](#{pass_.name}): {summary(pass_)}." for pass_ in passes)
    parts = [_INTRODUCTION, index]
    for pass_ in passes:
        runs_on = f"`{pass_.anchor}`" if pass_.anchor else "any operation"
        parts += [f"\n## {pass_.name}\n", f"Runs on: {runs_on}\n"]
        for title, text in sections(pass_):
            parts += [f"### {title}\n"] if title else []
            parts.append(f"{text}\n")
        options = options_of(pass_)
        if options:
            parts += ["### Options\n", "| option | value | default | meaning |"]
            parts.append("| --- | --- | --- | --- |")
        for option in options:
            default = option.print(option.default)
            cells = [f"`{option.name}`", f"`{option.value_name}`", f"`{default}`", option.help]
            escaped = (cell.replace("|", r"\|") for cell in cells)
            parts.append(f"| {' | '.join(escaped)} |")
        parts += [""] if options else []
    return "\n".join(parts)


if __name__ == "__main__":
    registered = PassRegistry(PASSES, print_diagnostic).all()
    sys.stdout.write(reference(registered.values()))
