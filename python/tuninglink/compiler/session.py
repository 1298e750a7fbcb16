"""Sessions, sources and invocations of the compiler in this process, with safe lifetimes."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Sequence
from ctypes import byref, c_char_p, c_uint64, c_void_p
from dataclasses import replace
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Final, Self

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.compiler import native
from tuninglink.compiler.native import attach, object_at, read_diagnostic
from tuninglink.compiler.preprocessing_specs import with_current_specs
from tuninglink.errors import CompileError
from tuninglink.iree.lowering_configs import TENSOR_UKERNELS_FLAG
from tuninglink.mlir.diagnostics import Diagnostic, callers, error, note, thread_context
from tuninglink.mlir.rendering import show_lines_of
from tuninglink.mlir.serialization import QUOTE_OPERATIONS
from tuninglink.specs.module_scan import PREPROCESSING_FLAG

if TYPE_CHECKING:
    from tuninglink.compiler.compile_options import Phase

    Report = Callable[[Diagnostic], None]


class Pipeline(IntEnum):
    """The pipeline of an invocation, as numbered in the C interface."""

    STANDARD = 0
    HAL_EXECUTABLE = 1
    PRECOMPILE = 2
    VM = 3


class NativeHandle:
    """An object of the C interface that is destroyed at the end of its `with` block and keeps `keep` alive."""

    def __init__(self, pointer: int, destroy: Callable[[int], None], keep: object = None) -> None:
        self.pointer = pointer
        self._destroy = destroy
        self._keep = keep

    def close(self) -> None:
        """Destroy the object. A second call has no effect."""
        pointer, self.pointer = self.pointer, 0
        if pointer:
            self._destroy(pointer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Session(NativeHandle):
    """A context and its flags, for one thread at a time.

    A few flags are stored in process-wide variables, so a session would inherit the flags of an earlier session. A new
    session therefore starts from the defaults of the first session.

    Args:
        flags: flags of the compiler that belong to a session, each `--name=value` or `--name`.

    Raises:
        CompileError: a flag is unknown or its value is malformed.
    """

    def __init__(self, flags: Sequence[str] = ()) -> None:
        defaults = _default_flags()
        super().__init__(native.create_session(), native.destroy_session)
        leaked = [name for name, value in _flags(self.pointer).items() if defaults[name] != value]
        try:
            self._set(*(f"{name}={defaults[name]}" for name in leaked))
            of_process = f"{PREPROCESSING_FLAG}={defaults[PREPROCESSING_FLAG]}"
            self._set(*with_current_specs((of_process, *flags)))
        except CompileError:
            self.close()
            raise

    def _set(self, *flags: str) -> None:
        arguments = (c_char_p * len(flags))(*map(os.fsencode, flags))
        native.check(native.set_flags(self.pointer, len(flags), arguments), "malformed flag")

    def open_file(self, path: str) -> NativeHandle:
        """Open a source file, or standard input for `-`.

        Raises:
            CompileError: the file cannot be opened.
        """
        show_lines_of(path)
        source = c_void_p()
        native.check(native.open_file(self.pointer, os.fsencode(path), byref(source)))
        return _source(source.value)

    def wrap(self, data: bytes, name: str) -> NativeHandle:
        """Create a source from bytecode or null-terminated text, called `name` in locations."""
        source = c_void_p()
        is_text = data.endswith(b"\0")
        native.check(
            native.wrap_buffer(
                *(self.pointer, os.fsencode(name), data, len(data), is_text, byref(source))
            )
        )
        return _source(source.value, keep=data)


def set_up_command_line(program: str, flags: Sequence[str]) -> None:
    """Set process-wide flags, as the compiler's own tools do at their start; any flag is allowed.

    A malformed flag or a second call ends the process with a message and status 1.

    Raises:
        CompileError: a pass pipeline does not parse.

    By default, diagnostics do not quote their operation. To quote an operation, the compiler verifies it, which does
    not terminate if the verifier emits a warning (a `foreach_match` that names a matcher twice crashes the process).

    Args:
        program: the name of the program in messages.
        flags: flags of the compiler, each `--name=value` or `--name`.
    """
    if not any(flag.startswith(QUOTE_OPERATIONS) for flag in flags):
        flags = (f"{QUOTE_OPERATIONS}=false", *flags)
    arguments = [os.fsencode(text) for text in (program, *flags)]
    native.set_up_command_line(
        len(arguments),
        (c_char_p * len(arguments))(*arguments),
        b"",
        False,  # noqa: FBT003
    )
    _default_flags.cache_clear()
    _check_pipelines(flags)


def _check_pipelines(flags: Sequence[str]) -> None:
    """Raise an error for a malformed pass pipeline, for which the compiler prints one and goes on without it."""
    for flag in flags:
        name, _, text = flag.partition("=")
        if name != _PREPROCESSING_PIPELINE or not text:
            continue
        if not (text.startswith("builtin.module(") and text.endswith(")")):
            message = f"expected 'builtin.module(...)' as the value of '{name}', found '{text}'"
            raise CompileError(error(message))
        try:
            PassManager.parse(text, thread_context())
        except ValueError as failure:
            reason = str(failure).partition("\n")[0].rpartition("error: ")[2]
            raise CompileError(error(f"malformed value of '{name}': {reason}")) from None


_PREPROCESSING_PIPELINE: Final = "--iree-preprocessing-pass-pipeline"


def session_flags() -> frozenset[str]:
    """Return the names of the flags of sessions, with their dashes."""
    return frozenset(_default_flags())


@cache
def _default_flags() -> dict[str, str]:
    session = native.create_session()
    try:
        return _flags(session)
    finally:
        native.destroy_session(session)


def _flags(session: int) -> dict[str, str]:
    flags: dict[str, str] = {}

    def keep(data: int, length: int, _: int | None) -> None:
        flag = ctypes.string_at(data, length).decode().partition("=")
        flags[flag[0]] = flag[2]

    callback = native.FlagCallback(keep)
    native.get_flags(session, False, callback, None)  # noqa: FBT003 - C has no keyword arguments
    return flags


@cache
def registered_backends() -> tuple[str, ...]:
    """Return the sorted names of the target backends in this build of the compiler."""
    backends: list[str] = []

    def keep(name: bytes, _: int | None) -> None:
        backends.append(name.decode())

    native.enumerate_backends(native.NameCallback(keep), None)
    return tuple(sorted(backends))


def _source(pointer: int | None, keep: object = None) -> NativeHandle:
    assert pointer
    return NativeHandle(pointer, native.destroy_source, keep)


def split(source: NativeHandle) -> list[NativeHandle]:
    """Return the parts of a source between `// -----` lines as sources."""
    parts: list[int] = []

    def keep(part: int, _: int | None) -> None:
        parts.append(part)

    native.check(native.split_source(source.pointer, native.SourceCallback(keep), None))
    return [_source(part) for part in parts]


class Invocation(NativeHandle):
    """An invocation of the compiler on one source. Each `run` continues where the previous run ended.

    The session must outlive the invocation, which passes each diagnostic to `report` as the compiler emits it.
    """

    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(native.create_invocation(session.pointer), native.destroy_invocation)
        self._report = report
        self._module = 0
        self._failures: list[BaseException] = []
        self._detach = attach(native.borrow_context(session.pointer), self._handle)

    def close(self) -> None:
        """Destroy the invocation and its module. Handles to operations in the module must not be used afterwards."""
        if not self.pointer:
            return
        super().close()
        if self._module:
            native.destroy_operation(self._module)
        self._detach()

    def _handle(self, diagnostic: int) -> None:
        try:
            self._report(_with_remedy(read_diagnostic(diagnostic, callers)))
        except BaseException as failure:  # noqa: BLE001 - exceptions must not pass through C++
            self._failures.append(failure)

    def _succeeded(self, result: bool) -> bool:  # noqa: FBT001 - a result of the C interface
        if self._failures:
            raise self._failures[0]
        return result

    def configure(
        self, *, verify: bool = True, phase_dumps: str = "", remarks: tuple[str, str] | None = None
    ) -> None:
        """Set options of the run.

        Args:
            verify: whether to verify the IR after each pass.
            phase_dumps: a directory for the IR after each phase; empty for no dumps.
            remarks: a pattern of remarks to write, and their file.
        """
        native.set_verification(self.pointer, verify)
        native.set_phase_dumps(self.pointer, os.fsencode(phase_dumps))
        if remarks:
            native.set_remarks(self.pointer, *map(os.fsencode, remarks))

    def parse(self, source: NativeHandle) -> bool:
        """Parse and verify the source. Return whether that succeeded."""
        return self._succeeded(native.parse_source(self.pointer, source.pointer))

    def run(self, first: Phase, last: Phase, pipeline: Pipeline = Pipeline.STANDARD) -> bool:
        """Run the phases after `first`, up to and including `last`. Return whether that succeeded.

        Handles to operations inside the module become invalid.
        """
        native.set_first_phase(self.pointer, first.value.encode())
        native.set_last_phase(self.pointer, last.value.encode())
        return self._succeeded(native.run_pipeline(self.pointer, pipeline))

    def module(self) -> mlir.Operation:
        """Return a view of the module, between runs.

        Python never owns the module: the bindings keep references to foreign contexts forever, and do not free their
        modules. The session therefore destroys the context, and this object destroys the module, so that memory stays
        constant over many sessions.
        """
        if not self._module:
            self._module = native.steal_module(self.pointer)
        return object_at(mlir.Operation, self._module)

    def write(
        self, output: Output, function: Callable[..., int | None], *arguments: int
    ) -> str | None:
        """Write the module with one of the output functions of the C interface.

        Returns:
            The compiler's message if it failed; there may be diagnostics as well.
        """
        failure = function(self.pointer, output.pointer, *arguments)
        if self._failures:
            raise self._failures[0]
        return None if failure is None else native.take_message(failure)


class Output(NativeHandle):
    """The output of invocations, in memory."""

    def __init__(self) -> None:
        pointer = c_void_p()
        native.check(native.open_memory_output(byref(pointer)))
        super().__init__(pointer.value or 0, native.destroy_output)

    def content(self) -> bytes:
        """Return the output so far."""
        data, size = c_void_p(), c_uint64()
        native.check(native.map_output(self.pointer, byref(data), byref(size)))
        return ctypes.string_at(data, size.value) if size.value else b""


_UNSUPPORTED: Final = re.compile(
    r"failed to legalize operation 'torch\.operator'.*?name = \"(torch\.aten|onnx)\.([\w.]+)\""
)
_REMEDIES: Final = {
    "torch.aten": "the compiler does not know the operator 'aten.{}' of PyTorch; export with 'tuninglink.torch', or "
    "export what 'run_decompositions()' of the exported program returns",
    "onnx": "the compiler does not support the operator '{}' of ONNX as this model uses it; another opset, "
    "'torch.onnx.export' with 'dynamo=True', or a tool that infers shapes and folds constants may avoid it",
}
"""Remedies for operators of frameworks that the compiler does not support, by the prefix of their names."""


def _with_remedy(diagnostic: Diagnostic) -> Diagnostic:
    """Return a diagnostic with a note if it is about a microkernel, or an operator of PyTorch or ONNX."""
    if "no ukernel provider found" in diagnostic.message:
        remedy = note(f"microkernels of tensors need '{TENSOR_UKERNELS_FLAG}'")
        return replace(diagnostic, notes=(remedy, *diagnostic.notes))
    match = _UNSUPPORTED.search(diagnostic.message)
    if match is None:
        return diagnostic
    remedy = note(_REMEDIES[match[1]].format(match[2]))
    return replace(diagnostic, notes=(remedy, *diagnostic.notes))
