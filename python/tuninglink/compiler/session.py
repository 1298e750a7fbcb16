"""Sessions, sources and invocations of the compiler in this process, with lifetimes that hold."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_uint64, c_void_p
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.compiler import native
from tuninglink.compiler.callers import callers
from tuninglink.errors import CompileError
from tuninglink.mlir.c_interface import object_at
from tuninglink.mlir.native_diagnostics import attach, read_diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from tuninglink.compiler.phases import Phase
    from tuninglink.mlir.diagnostics import Diagnostic

    Report = Callable[[Diagnostic], None]


class Pipeline(IntEnum):
    """What an invocation runs, in the numbering of the C interface."""

    STANDARD = 0
    HAL_EXECUTABLE = 1
    PRECOMPILE = 2
    VM = 3


class NativeHandle:
    """An object of the C interface, destroyed on leaving its `with` block; `keep` lives as long as it does."""

    def __init__(self, pointer: int, destroy: Callable[[int], None], keep: object = None) -> None:
        self.pointer = pointer
        self._destroy = destroy
        self._keep = keep

    def close(self) -> None:
        """Destroys the object; a second call does nothing."""
        pointer, self.pointer = self.pointer, 0
        if pointer:
            self._destroy(pointer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Session(NativeHandle):
    """A context and the flags that are in force in it; used by one thread at a time.

    A few flags live in variables of the whole process, so that a session would see what an earlier one was
    given. A new session starts from what the first one of the process saw.

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
            self._set(*flags)
        except CompileError:
            self.close()
            raise

    def _set(self, *flags: str) -> None:
        arguments = (c_char_p * len(flags))(*map(str.encode, flags))
        native.check(native.set_flags(self.pointer, len(flags), arguments), "malformed flag")

    def open_file(self, path: str) -> NativeHandle:
        """Opens a source file; `-` is standard input.

        Raises:
            CompileError: the file cannot be opened.
        """
        source = c_void_p()
        native.check(native.open_file(self.pointer, path.encode(), byref(source)))
        return _source(source.value)

    def wrap(self, data: bytes, name: str) -> NativeHandle:
        """Make a source of bytecode or of text that ends with a null; locations call it `name`."""
        source = c_void_p()
        is_text = data.endswith(b"\0")
        native.check(
            native.wrap_buffer(
                *(self.pointer, name.encode(), data, len(data), is_text, byref(source))
            )
        )
        return _source(source.value, keep=data)


_QUOTE_OPERATIONS = "--mlir-print-op-on-diagnostic"


def set_up_command_line(program: str, flags: Sequence[str]) -> None:
    """Set flags for the whole process, as the compiler's own tools do at their start: all flags there are.

    A malformed flag ends the process with a message and status 1, and so does a second call.

    Unless a flag says otherwise, diagnostics do not quote the operation that they are about: to quote one, the
    compiler verifies it, and where the verifier has a warning, that does not end (a `foreach_match` with the
    same matcher twice takes the process with it).

    Args:
        program: what to call the program in such a message.
        flags: flags of the compiler, each `--name=value` or `--name`.
    """
    if not any(flag.startswith(_QUOTE_OPERATIONS) for flag in flags):
        flags = (f"{_QUOTE_OPERATIONS}=false", *flags)
    arguments = [each.encode() for each in (program, *flags)]
    native.set_up_command_line(
        len(arguments),
        (c_char_p * len(arguments))(*arguments),
        b"",
        False,  # noqa: FBT003
    )
    _default_flags.cache_clear()


def session_flags() -> frozenset[str]:
    """Return the names of the flags that a session has, each with its dashes."""
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
    """Return the names of the target backends that the compiler was built with, sorted."""
    result: list[str] = []

    def keep(name: bytes, _: int | None) -> None:
        result.append(name.decode())

    native.enumerate_backends(native.NameCallback(keep), None)
    return tuple(sorted(result))


def _source(pointer: int | None, keep: object = None) -> NativeHandle:
    assert pointer
    return NativeHandle(pointer, native.destroy_source, keep)


def split(source: NativeHandle) -> list[NativeHandle]:
    """Return the parts of a source between `// -----`, each a source of its own."""
    parts: list[int] = []

    def keep(part: int, _: int | None) -> None:
        parts.append(part)

    native.check(native.split_source(source.pointer, native.SourceCallback(keep), None))
    return [_source(part) for part in parts]


class Invocation(NativeHandle):
    """One run of the compiler over one source. It can run on: each `run` continues where the last ended.

    Its session must outlive it. It calls `report` with each diagnostic as the compiler emits it.
    """

    def __init__(self, session: Session, report: Report) -> None:
        super().__init__(native.create_invocation(session.pointer), native.destroy_invocation)
        self._report = report
        self._module = 0
        self._failures: list[BaseException] = []
        self._detach = attach(native.borrow_context(session.pointer), self._handle)

    def close(self) -> None:
        """Destroys the invocation and its module; no handle to an operation in it may be left."""
        if not self.pointer:
            return
        super().close()
        if self._module:
            native.destroy_operation(self._module)
        self._detach()

    def _handle(self, diagnostic: int) -> None:
        try:
            self._report(read_diagnostic(diagnostic, callers))
        except BaseException as failure:  # noqa: BLE001 - C++ lies between here and the caller
            self._failures.append(failure)

    def _succeeded(self, result: bool) -> bool:  # noqa: FBT001 - it is what C returned
        if self._failures:
            raise self._failures[0]
        return result

    def configure(
        self, *, verify: bool = True, phase_dumps: str = "", remarks: tuple[str, str] | None = None
    ) -> None:
        """Set what is to happen along the way.

        Args:
            verify: whether the IR is verified after each pass.
            phase_dumps: a directory that gets the IR after each phase, or nothing.
            remarks: a pattern of remarks to be written, and the file for them.
        """
        native.set_verification(self.pointer, verify)
        native.set_phase_dumps(self.pointer, phase_dumps.encode())
        if remarks:
            native.set_remarks(self.pointer, *(remark.encode() for remark in remarks))

    def parse(self, source: NativeHandle) -> bool:
        """Parse and verifies the source; tells whether that worked."""
        return self._succeeded(native.parse_source(self.pointer, source.pointer))

    def run(self, first: Phase, last: Phase, pipeline: Pipeline = Pipeline.STANDARD) -> bool:
        """Run what comes after the phase `first` up to and including `last`; tells whether it worked.

        Handles to operations inside the module do not survive it.
        """
        native.set_first_phase(self.pointer, first.value.encode())
        native.set_last_phase(self.pointer, last.value.encode())
        return self._succeeded(native.run_pipeline(self.pointer, pipeline))

    def module(self) -> mlir.Operation:
        """Return a view of the module, between runs.

        Python never owns it: bindings that meet a context that they did not make keep it referenced for
        good and treat its modules as somebody else's. So the session destroys the context and this object
        the module, and memory stays flat over any number of sessions.
        """
        if not self._module:
            self._module = native.steal_module(self.pointer)
        return object_at(mlir.Operation, self._module)

    def write(
        self, output: Output, function: Callable[..., int | None], *arguments: int
    ) -> str | None:
        """Write the module with one of the output functions of the C interface.

        Returns:
            What the compiler said if it could not; there may be diagnostics as well.
        """
        failure = function(self.pointer, output.pointer, *arguments)
        if self._failures:
            raise self._failures[0]
        return None if failure is None else native.take_message(failure)


class Output(NativeHandle):
    """What invocations write, kept in memory."""

    def __init__(self) -> None:
        pointer = c_void_p()
        native.check(native.open_memory_output(byref(pointer)))
        super().__init__(pointer.value or 0, native.destroy_output)

    def content(self) -> bytes:
        """Return what was written so far."""
        data, size = c_void_p(), c_uint64()
        native.check(native.map_output(self.pointer, byref(data), byref(size)))
        return ctypes.string_at(data, size.value) if size.value else b""
