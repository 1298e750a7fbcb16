"""The C interface of the compiler's shared library, for functions and handlers that the Python bindings lack.

Every function is bound with its argument types, since ctypes truncates pointers to 32 bits without them. A handle of
the interface is a structure of one pointer, a result is a structure of one byte. Both are passed like their only
member. `iree.compiler.api` wraps some of the functions whose names begin with `ireeCompiler`.

The handlers for the diagnostics of a context run without Python's global interpreter lock, whereas the bindings' own
handlers require the caller to hold it.
"""

from __future__ import annotations

import ctypes
import functools
from contextlib import contextmanager
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_bool,
    c_char_p,
    c_int,
    c_int8,
    c_size_t,
    c_ssize_t,
    c_uint64,
    c_void_p,
    py_object,
)
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from iree.compiler import _mlir_libs
from iree.compiler import ir as mlir

from tuninglink.errors import CompileError
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class StringRef(Structure):
    """A string reference. The caller keeps the bytes alive as long as the callee may read them."""

    _fields_ = (("data", c_void_p), ("length", c_size_t))

    @staticmethod
    def of(data: bytes) -> StringRef:
        """Return a reference to `data`."""
        return StringRef(ctypes.cast(c_char_p(data), c_void_p), len(data))

    def copy(self) -> bytes:
        """Return a copy of the bytes."""
        return ctypes.string_at(self.data, self.length)


StringCallback = CFUNCTYPE(None, StringRef, c_void_p)

_Object = TypeVar("_Object")
_pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_name = ctypes.PYFUNCTYPE(c_char_p, py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


def pointer_of(wrapped: Any) -> int:
    """Return the C interface's pointer to an object of the bindings, such as a context."""
    capsule = wrapped._CAPIPtr  # noqa: SLF001 - intended for this
    return cast("int", _pointer(capsule, _name(capsule)))


def object_at(kind: type[_Object], pointer: int) -> _Object:
    """Return an object of the C interface as an object of the bindings.

    Args:
        kind: the class of the object in `iree.compiler.ir`. A module is freed with its last Python handle. An operation
            remains owned by its parent.
        pointer: the pointer to the object.
    """
    name = f"iree.compiler.ir.{kind.__name__}._CAPIPtr".encode()
    create: Callable[[object], _Object] = kind._CAPICreate  # type: ignore[attr-defined]  # noqa: SLF001
    return create(_capsule(pointer, name, None))


@functools.cache
def _library() -> ctypes.CDLL:
    """Return the compiler's library, which the bindings have loaded already."""
    return ctypes.CDLL(str(Path(_mlir_libs.__file__).parent / "libIREECompiler.so"))


@functools.cache
def function(name: str, result: Any, *parameters: Any) -> Callable[..., Any]:
    """Return a function of the library.

    Args:
        name: its name.
        result: the type of its result, or None.
        parameters: the types of its arguments.
    """
    symbol = _library()[
        name
    ]  # A private object: other users may declare other types for the same symbol.
    symbol.restype, symbol.argtypes = result, parameters
    return cast("Callable[..., Any]", symbol)


_SEVERITIES: Final = (Severity.ERROR, Severity.WARNING, Severity.NOTE, Severity.REMARK)
_Handler = CFUNCTYPE(c_int8, c_void_p, c_void_p)


@contextmanager
def handled(context: mlir.Context, handle: Callable[[Diagnostic], None]) -> Iterator[None]:
    """Pass the compiler's diagnostics about IR in `context` to a function while the block runs."""
    detach = attach(pointer_of(context), lambda pointer: handle(read_diagnostic(pointer)))
    try:
        yield
    finally:
        detach()


def attach(context: int, handle: Callable[[int], None]) -> Callable[[], None]:
    """Call a function with a pointer to each diagnostic of a context. Return the function that detaches it."""

    def called(diagnostic: int, _: int | None) -> int:
        handle(diagnostic)
        return 1

    attach_handler = function(
        "mlirContextAttachDiagnosticHandler", c_uint64, c_void_p, _Handler, c_void_p, c_void_p
    )
    detach_handler = function("mlirContextDetachDiagnosticHandler", None, c_void_p, c_uint64)
    callback = _Handler(called)
    number = attach_handler(context, callback, None, None)

    def detach(_: object = callback) -> None:  # the default argument keeps the callback alive
        detach_handler(context, number)

    return detach


def read_diagnostic(
    pointer: int, notes_at: Callable[[mlir.Location], Iterable[Diagnostic]] = lambda _: ()
) -> Diagnostic:
    """Convert a diagnostic of the compiler.

    Args:
        pointer: the diagnostic.
        notes_at: returns additional notes for a diagnostic at a location, which precede its own notes.
    """
    severity = function("mlirDiagnosticGetSeverity", c_int, c_void_p)(pointer)
    bare = object_at(
        mlir.Location, function("mlirDiagnosticGetLocation", c_void_p, c_void_p)(pointer)
    )
    location = mlir.Location.from_attr(bare.attr, bare.context)  # Now of its derived class.
    count = function("mlirDiagnosticGetNumNotes", c_ssize_t, c_void_p)(pointer)
    get_note = function("mlirDiagnosticGetNote", c_void_p, c_void_p, c_ssize_t)
    notes = (read_diagnostic(get_note(pointer, index), notes_at) for index in range(count))
    return Diagnostic(
        _SEVERITIES[severity],
        _message(pointer),
        place_of(location),
        (*notes_at(location), *notes),
    )


def _message(pointer: int) -> str:
    parts: list[bytes] = []

    def take(part: StringRef, _: int | None) -> None:
        parts.append(part.copy())

    print_message = function("mlirDiagnosticPrint", None, c_void_p, StringCallback, c_void_p)
    print_message(pointer, StringCallback(take), None)
    return b"".join(parts).decode(errors="replace").rstrip("\n")


FlagCallback = CFUNCTYPE(None, c_void_p, c_size_t, c_void_p)
NameCallback = CFUNCTYPE(None, c_char_p, c_void_p)
SourceCallback = CFUNCTYPE(None, c_void_p, c_void_p)

enumerate_backends = function(
    "ireeCompilerEnumerateRegisteredHALTargetBackends", None, NameCallback, c_void_p
)
set_up_command_line = function(
    "ireeCompilerSetupGlobalCL", None, c_int, POINTER(c_char_p), c_char_p, c_bool
)
error_message = function("ireeCompilerErrorGetMessage", c_char_p, c_void_p)
destroy_error = function("ireeCompilerErrorDestroy", None, c_void_p)

create_session = function("ireeCompilerSessionCreate", c_void_p)
destroy_session = function("ireeCompilerSessionDestroy", None, c_void_p)
borrow_context = function("ireeCompilerSessionBorrowContext", c_void_p, c_void_p)
set_flags = function("ireeCompilerSessionSetFlags", c_void_p, c_void_p, c_int, POINTER(c_char_p))
get_flags = function("ireeCompilerSessionGetFlags", None, c_void_p, c_bool, FlagCallback, c_void_p)

open_file = function("ireeCompilerSourceOpenFile", c_void_p, c_void_p, c_char_p, POINTER(c_void_p))
wrap_buffer = function(
    "ireeCompilerSourceWrapBuffer",
    *(c_void_p, c_void_p, c_char_p, c_char_p, c_size_t, c_bool, POINTER(c_void_p)),
)
split_source = function("ireeCompilerSourceSplit", c_void_p, c_void_p, SourceCallback, c_void_p)
destroy_source = function("ireeCompilerSourceDestroy", None, c_void_p)

create_invocation = function("ireeCompilerInvocationCreate", c_void_p, c_void_p)
destroy_invocation = function("ireeCompilerInvocationDestroy", None, c_void_p)
parse_source = function("ireeCompilerInvocationParseSource", c_bool, c_void_p, c_void_p)
set_first_phase = function("ireeCompilerInvocationSetCompileFromPhase", None, c_void_p, c_char_p)
set_last_phase = function("ireeCompilerInvocationSetCompileToPhase", None, c_void_p, c_char_p)
set_phase_dumps = function(
    "ireeCompilerInvocationSetDumpCompilationPhasesTo", None, c_void_p, c_char_p
)
set_verification = function("ireeCompilerInvocationSetVerifyIR", None, c_void_p, c_bool)
set_remarks = function("ireeCompilerInvocationSetupRemarks", None, c_void_p, c_char_p, c_char_p)
run_pipeline = function("ireeCompilerInvocationPipeline", c_bool, c_void_p, c_int)
steal_module = function("ireeCompilerInvocationExportStealModule", c_void_p, c_void_p)
destroy_operation = function("mlirOperationDestroy", None, c_void_p)

open_memory_output = function("ireeCompilerOutputOpenMembuffer", c_void_p, POINTER(c_void_p))
map_output = function(
    "ireeCompilerOutputMapMemory", c_void_p, c_void_p, POINTER(c_void_p), POINTER(c_uint64)
)
destroy_output = function("ireeCompilerOutputDestroy", None, c_void_p)
output_ir = function("ireeCompilerInvocationOutputIR", c_void_p, c_void_p, c_void_p)
output_ir_bytecode = function(
    "ireeCompilerInvocationOutputIRBytecode", c_void_p, c_void_p, c_void_p, c_int
)
output_vm_bytecode = function(
    "ireeCompilerInvocationOutputVMBytecode", c_void_p, c_void_p, c_void_p
)
output_c_source = function("ireeCompilerInvocationOutputVMCSource", c_void_p, c_void_p, c_void_p)
output_hal_executable = function(
    "ireeCompilerInvocationOutputHALExecutable", c_void_p, c_void_p, c_void_p
)


def take_message(failure: int) -> str:
    """Return the message of an error, and destroy the error."""
    message: str = error_message(failure).decode(errors="replace")
    destroy_error(failure)
    return message


def check(failure: int | None, doing: str = "") -> None:
    """Raise the error that a function of the interface returned, if any. `doing` describes the operation.

    Raises:
        CompileError: the function failed.
    """
    if failure is not None:
        message = take_message(failure)
        raise CompileError(error(f"{doing}: {message}" if doing else message))
