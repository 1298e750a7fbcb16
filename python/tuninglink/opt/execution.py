"""Execution of pipelines that mix passes of the compiler and passes written in Python, and the state of the process.

The state consists of the compiler's command-line flags and its target backends. Passes of the HAL dialect look into
the global registry of target backends. Only the main function of `iree-opt` fills it, with objects in its stack frame.
So that function runs here, on a separate thread and with a pipe for its input. Once it has read the content of the
pipe, its set-up is done, and it waits for more input until the process ends.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import termios
import threading
import time
import traceback
from ctypes import c_char_p
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassDisplayMode, PassManager

from tuninglink.arguments import Content, content_as_path, described, several
from tuninglink.compiler import call, handled, set_global_flags
from tuninglink.errors import Diagnostic, PipelineError, Place, Severity, TuninglinkError, printable
from tuninglink.files import cannot
from tuninglink.mlir import (
    DiagnosticSink,
    Pass,
    check_repeated_matchers,
    error,
    from_mlir,
    is_undecodable,
    note,
    without_byte_order_mark,
)
from tuninglink.opt.arguments import Options
from tuninglink.opt.inputs import Chunk, parse
from tuninglink.opt.pass_registry import (
    ANY,
    CompilerPasses,
    Element,
    NativePassManager,
    OpPipeline,
    Passes,
    PassLookup,
    PassRegistry,
    leaves,
    make_pass,
    parse_pipeline,
    print_pass,
)
from tuninglink.passes import PASSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Program: TypeAlias = (
        str | os.PathLike[str] | Content | mlir.Operation | mlir.OpView | mlir.Module
    )


def run_pass(pass_: Pass, operation: mlir.Operation, diagnostics: DiagnosticSink) -> bool:
    """Run one pass and return whether it succeeded. Failures are emitted to `diagnostics`.

    The context of the operation is current while the pass runs.
    """
    # Expected failures become diagnostics.
    errors_before = diagnostics.error_count
    try:
        with operation.context:
            pass_.apply(operation, diagnostics)
    except TuninglinkError as failure:
        for diagnostic in failure.diagnostics:
            diagnostics.emit(diagnostic)
        return False
    except mlir.MLIRError as failure:
        errors = [from_mlir(diagnostic) for diagnostic in failure.error_diagnostics]
        for diagnostic in errors or [error(f"pass '{pass_.name}' failed: {failure}", operation)]:
            diagnostics.emit(diagnostic)
        return False
    except BrokenPipeError:
        # The reader of the output closed the pipe, which ends the run.
        raise
    # Unexpected exceptions become diagnostics as well.
    except Exception as failure:  # noqa: BLE001 - it must not unwind through the compiler's frames
        if is_undecodable(failure):
            message = (
                f"pass '{pass_.name}' cannot read the module: it has a string that is not UTF-8"
            )
            diagnostics.error(message, operation)
            return False
        traceback.print_exc()
        sys.stderr.flush()
        reason = f"{type(failure).__name__}: {failure}"
        diagnostics.error(f"pass '{pass_.name}' has a bug, it raised {reason}", operation)
        return False
    return diagnostics.error_count == errors_before


def set_up_process(program: str, flags: Sequence[str], *, target_backends: bool) -> None:
    """Set flags of the compiler, and register its target backends if they are needed.

    Call it once, from the main thread, before creating contexts that depend on the flags. An unknown flag, or an
    invalid value, ends the process with the compiler's own message and exit code 1. Once target backends are
    registered, a session of the compiler must not be started in this process: the compiler would abort.
    """
    if target_backends:
        # The pipe is never closed, since that would end the input.
        reader, writer = os.pipe()
        os.write(writer, b"\n")
        # As the last argument, the input could become the value of a preceding flag.
        arguments = list(map(os.fsencode, (program, f"/dev/fd/{reader}", *flags)))
        vector = (c_char_p * (len(arguments) + 1))(*arguments, None)
        opt_main = ("ireeOptRunMain", len(arguments), vector)
        thread = threading.Thread(target=call, args=opt_main, daemon=True)
        # The compiler installs signal handlers. Python's are restored.
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGPIPE)}
        thread.start()
        # Wait until the content of the pipe is read.
        while any(fcntl.ioctl(reader, termios.FIONREAD, bytes(4))):
            if not thread.is_alive():
                raise RuntimeError("iree-opt's main function returned without reading its input")
            time.sleep(0.0001)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    elif flags:
        call("ireeCompilerGlobalInitialize")
        set_global_flags([program, *flags])


class Execution:
    """A pipeline in a context, ready to run on operations of that context.

    Args:
        context: the context of the operations. It should have a handler that forwards its diagnostics to
            `diagnostics`, the sink of passes written in Python.
        options: the options about reports of the run.
        nest_implicitly: whether to nest a pass where it is restricted to another operation than the anchor.

    Raises:
        PipelineError: a pass or an option does not exist, or a pass is misplaced.
    """

    def __init__(
        self,
        pipeline: OpPipeline,
        context: mlir.Context,
        registry: PassRegistry,
        diagnostics: DiagnosticSink,
        options: Options | None = None,
        *,
        nest_implicitly: bool = False,
    ) -> None:
        self._context = context
        self._diagnostics = diagnostics
        self._interruption: BaseException | None = None
        self._options = options or Options()
        self._lookup = lookup = PassLookup(CompilerPasses(context), registry)
        for flag, listed in (("before", self._options.before), ("after", self._options.after)):
            for name in sorted({name for names_ in listed for name in names_.split(",")}):
                lookup.check(name, prefix=f"for the --mlir-print-ir-{flag} option: ")
        for leaf in leaves(pipeline):
            lookup.check(leaf.name, leaf.place)
        # Does a pass written in Python run on operations other than the outermost?
        nests = [child for child in pipeline.children if isinstance(child, OpPipeline)]
        nested = [lookup.python_pass(leaf.name) for nest in nests for leaf in leaves(nest)]
        passes = [lookup.python_pass(leaf.name) for leaf in leaves(pipeline)]
        is_below = any(nested) or any(
            pass_ and pass_.anchor not in (None, pipeline.anchor) for pass_ in passes
        )
        if self._options.prints or is_below:
            # Python's handles on IR are for one thread, and output of several threads would be interleaved.
            context.enable_multithreading(False)  # noqa: FBT003
        self._manager = NativePassManager(pipeline.anchor, context)
        _configure(self._manager.bindings, self._options)
        self._add_children(self._manager.passes, pipeline, nest_implicitly=nest_implicitly)

    def __str__(self) -> str:
        return str(self._manager.bindings)

    def run(self, operation: mlir.Operation) -> bool:
        """Run the pipeline and return whether it succeeded. Failures are emitted to `diagnostics`."""
        errors_before = self._diagnostics.error_count
        succeeded = self._manager.run(operation)
        if self._interruption:
            raise self._interruption
        if not succeeded and self._diagnostics.error_count == errors_before:
            advice = note("--mlir-print-ir-after-failure shows which one")
            self._diagnostics.error("a pass failed without a diagnostic", operation, [advice])
        return succeeded

    def finish(self) -> None:
        """End the execution, and print the timing report and the statistics if requested."""
        del self._manager.bindings
        self._manager.passes.kept.clear()

    def _add_children(
        self, passes: Passes, nest: OpPipeline, *, nest_implicitly: bool = False
    ) -> None:
        for child in nest.children:
            if isinstance(child, OpPipeline):
                self._add_children(passes.nest(child.anchor), child)
                continue
            # Where may the pass run, and what does it consist of?
            python_pass = self._lookup.python_pass(child.name)
            if python_pass is None:
                parts = self._lookup.compiler.expand(child)
                required = self._lookup.compiler.restriction(parts, nest.anchor)
                title = child.name
            else:
                parts, title, required = (child,), python_pass.__name__, python_pass.anchor
            misplaced = required is not None and nest.anchor not in (required, ANY)
            if misplaced and not nest_implicitly:
                message = (
                    f"Can't add pass '{title}' restricted to '{required}' on a PassManager intended to run on "
                    f"'{nest.anchor}', did you intend to nest?"
                )
                remedy = note(f"nest it in '{required}': {required}({child})")
                raise PipelineError(error(message, child.place, [remedy]))
            # Add its parts, or the pass itself. A pipeline is also expanded to print IR around some of its passes.
            expanded, is_expanded = OpPipeline(nest.anchor, parts), misplaced
            if parts != (child,) and not misplaced and self._options.prints_selected:
                is_known = self._lookup.compiler.knows
                unnamed = [leaf.name for leaf in leaves(expanded) if not is_known(leaf.name)]
                is_expanded = not unnamed
                if unnamed:
                    message = (
                        f"passes inside '{child.name}' are not printed: it cannot be expanded, since "
                        f"'{unnamed[0]}' has no name for textual pipelines"
                    )
                    self._diagnostics.emit(Diagnostic(Severity.WARNING, message, child.place))
            if parts != (child,) and is_expanded:
                self._add_children(passes, expanded, nest_implicitly=misplaced)
                continue
            target = passes.nest(required) if misplaced and required else passes
            try:
                pass_ = make_pass(python_pass, child.options) if python_pass else None
            except PipelineError as failure:
                diagnostic = failure.diagnostics[0]
                placed = error(diagnostic.message, child.place, diagnostic.notes)
                raise PipelineError(placed) from None
            if self._options.prints_selected:
                self._add_printed(target, child, pass_)
            else:
                self._add(target, child, pass_)

    def _add(self, passes: Passes, element: Element, pass_: Pass | None) -> None:
        """Add a pass; one of the compiler, unless it is given."""

        def run(operation: mlir.Operation) -> bool:
            assert pass_ is not None
            try:
                return run_pass(pass_, operation, self._diagnostics)
            except BaseException as interruption:  # noqa: BLE001 - raised again in `Execution.run`
                self._interruption = interruption
                return False

        try:
            if pass_ is None:
                passes.add_native(str(element))
            else:
                title, anchor = type(pass_).__name__, pass_.anchor or ""
                passes.add_python(title, print_pass(pass_), anchor, run)
        except ValueError as failure:
            raise PipelineError(self._lookup.compiler.explain(element, str(failure))) from None

    def _add_printed(self, passes: Passes, element: Element, pass_: Pass | None) -> None:
        """Add a pass inside a separate pass manager, the only way to print IR around one pass."""
        managers: dict[str, NativePassManager] = {}

        def run(operation: mlir.Operation) -> bool:
            manager = managers.get(operation.name)
            if manager is None:
                manager = NativePassManager(operation.name, self._context)
                managers[operation.name] = manager
                options = self._options
                before, after = (
                    element.name in ",".join(passes_).split(",")
                    for passes_ in (options.before, options.after)
                )
                alone = replace(
                    options,
                    before_all=options.before_all or before,
                    after_all=options.after_all or after,
                    before=(),
                    after=(),
                    timing=False,
                    statistics=False,
                )
                _configure(manager.bindings, alone)
                self._add(manager.passes, element, pass_)
            return manager.run(operation)

        anchor = pass_.anchor or "" if pass_ else ""
        passes.add_python(element.name, str(element), anchor, run)


def _configure(manager: PassManager, options: Options) -> None:
    """Configure the reports of a pass manager, except for printing around selected passes."""
    manager.enable_verifier(options.verify_each)
    if options.prints and not options.prints_selected:
        manager.enable_ir_printing(
            print_before_all=options.before_all,
            print_after_all=options.after_all or options.only_on_failure,
            print_module_scope=options.module_scope,
            print_after_change=options.only_on_change,
            print_after_failure=options.only_on_failure,
            tree_printing_dir_path=options.tree_directory,
        )
    if options.statistics:
        manager.enable_statistics(PassDisplayMode[options.statistics_display.upper()])
    if options.timing:
        manager.enable_timing()


# --- Passes as a function ------------------------------------------------------------------------


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
                # A textual pipeline, or a list of passes without an anchor.
                is_anchored = item.lstrip().startswith((f"{operation.name}(", f"{ANY}("))
                pipeline = parse_pipeline(item if is_anchored else f"{operation.name}({item})")
                uses_backends = CompilerPasses(operation.context).needs_target_backends
                if leaf := next(filter(uses_backends, leaves(pipeline)), None):
                    message = f"pass '{leaf.name}' needs the target backends, which exclude sessions of the compiler"
                    remedy = note("run 'tuninglink-opt', which is a process of its own")
                    raise TuninglinkError(error(message, leaf.place, [remedy]))
                execution = Execution(
                    pipeline, operation.context, registry, sink, nest_implicitly=not is_anchored
                )
                try:
                    succeeded = execution.run(operation)
                finally:
                    execution.finish()
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
    check_repeated_matchers(data, name, context)
    chunk = Chunk(name, without_byte_order_mark(data))
    return parse(chunk, context, diagnostics, implicit_module=True)
