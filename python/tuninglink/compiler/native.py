"""The compiler's C interface, typed.

`iree.compiler.api` wraps a part of it. This module binds what the rest of the layer needs, with the types
of every argument: without them ctypes cuts pointers to 32 bits. Nothing outside of this layer uses it.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
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
from typing import TYPE_CHECKING, Any, cast

from iree.compiler.api import ctypes_dl

from tuninglink.errors import CompileError
from tuninglink.ir.diagnostics import error

if TYPE_CHECKING:
    from collections.abc import Callable

_loader: Any = ctypes_dl
# A handle of our own on the library that is loaded already: types of arguments belong to the handle.
_library = ctypes.CDLL(_loader._dylib._name)  # noqa: SLF001 - its path stands nowhere else


class StringRef(ctypes.Structure):
    """A string that the compiler lends for the time of a call."""

    _fields_ = (("data", c_void_p), ("length", c_size_t))

    def decode(self) -> str:
        """Returns a copy."""
        return ctypes.string_at(self.data, self.length).decode(errors="replace")


FlagCallback = CFUNCTYPE(None, c_void_p, c_size_t, c_void_p)
NameCallback = CFUNCTYPE(None, c_char_p, c_void_p)
SourceCallback = CFUNCTYPE(None, c_void_p, c_void_p)
StringCallback = CFUNCTYPE(None, StringRef, c_void_p)
DiagnosticHandler = CFUNCTYPE(c_int8, c_void_p, c_void_p)
"""The C types are structures of one pointer and of one byte, which are passed as their members are."""


def _function(name: str, result: Any, *parameters: Any) -> Callable[..., Any]:
    function = getattr(_library, name)
    function.restype = result
    function.argtypes = parameters
    return cast("Callable[..., Any]", function)


enumerate_backends = _function(
    "ireeCompilerEnumerateRegisteredHALTargetBackends", None, NameCallback, c_void_p
)
set_up_command_line = _function(
    "ireeCompilerSetupGlobalCL", None, c_int, POINTER(c_char_p), c_char_p, c_bool
)
error_message = _function("ireeCompilerErrorGetMessage", c_char_p, c_void_p)
destroy_error = _function("ireeCompilerErrorDestroy", None, c_void_p)

create_session = _function("ireeCompilerSessionCreate", c_void_p)
destroy_session = _function("ireeCompilerSessionDestroy", None, c_void_p)
borrow_context = _function("ireeCompilerSessionBorrowContext", c_void_p, c_void_p)
set_flags = _function("ireeCompilerSessionSetFlags", c_void_p, c_void_p, c_int, POINTER(c_char_p))
get_flags = _function("ireeCompilerSessionGetFlags", None, c_void_p, c_bool, FlagCallback, c_void_p)

open_file = _function("ireeCompilerSourceOpenFile", c_void_p, c_void_p, c_char_p, POINTER(c_void_p))
wrap_buffer = _function(
    "ireeCompilerSourceWrapBuffer",
    *(c_void_p, c_void_p, c_char_p, c_char_p, c_size_t, c_bool, POINTER(c_void_p)),
)
split_source = _function("ireeCompilerSourceSplit", c_void_p, c_void_p, SourceCallback, c_void_p)
destroy_source = _function("ireeCompilerSourceDestroy", None, c_void_p)

create_invocation = _function("ireeCompilerInvocationCreate", c_void_p, c_void_p)
destroy_invocation = _function("ireeCompilerInvocationDestroy", None, c_void_p)
parse_source = _function("ireeCompilerInvocationParseSource", c_bool, c_void_p, c_void_p)
set_first_phase = _function("ireeCompilerInvocationSetCompileFromPhase", None, c_void_p, c_char_p)
set_last_phase = _function("ireeCompilerInvocationSetCompileToPhase", None, c_void_p, c_char_p)
set_phase_dumps = _function(
    "ireeCompilerInvocationSetDumpCompilationPhasesTo", None, c_void_p, c_char_p
)
set_verification = _function("ireeCompilerInvocationSetVerifyIR", None, c_void_p, c_bool)
set_remarks = _function("ireeCompilerInvocationSetupRemarks", None, c_void_p, c_char_p, c_char_p)
run_pipeline = _function("ireeCompilerInvocationPipeline", c_bool, c_void_p, c_int)
steal_module = _function("ireeCompilerInvocationExportStealModule", c_void_p, c_void_p)
destroy_operation = _function("mlirOperationDestroy", None, c_void_p)

open_memory_output = _function("ireeCompilerOutputOpenMembuffer", c_void_p, POINTER(c_void_p))
map_output = _function(
    "ireeCompilerOutputMapMemory", c_void_p, c_void_p, POINTER(c_void_p), POINTER(c_uint64)
)
destroy_output = _function("ireeCompilerOutputDestroy", None, c_void_p)
output_ir = _function("ireeCompilerInvocationOutputIR", c_void_p, c_void_p, c_void_p)
output_ir_bytecode = _function(
    "ireeCompilerInvocationOutputIRBytecode", c_void_p, c_void_p, c_void_p, c_int
)
output_vm_bytecode = _function(
    "ireeCompilerInvocationOutputVMBytecode", c_void_p, c_void_p, c_void_p
)
output_c_source = _function("ireeCompilerInvocationOutputVMCSource", c_void_p, c_void_p, c_void_p)
output_hal_executable = _function(
    "ireeCompilerInvocationOutputHALExecutable", c_void_p, c_void_p, c_void_p
)

attach_diagnostic_handler = _function(
    "mlirContextAttachDiagnosticHandler", c_uint64, c_void_p, DiagnosticHandler, c_void_p, c_void_p
)
detach_diagnostic_handler = _function(
    "mlirContextDetachDiagnosticHandler", None, c_void_p, c_uint64
)
diagnostic_severity = _function("mlirDiagnosticGetSeverity", c_int, c_void_p)
diagnostic_location = _function("mlirDiagnosticGetLocation", c_void_p, c_void_p)
print_diagnostic = _function("mlirDiagnosticPrint", None, c_void_p, StringCallback, c_void_p)
count_notes = _function("mlirDiagnosticGetNumNotes", c_ssize_t, c_void_p)
get_note = _function("mlirDiagnosticGetNote", c_void_p, c_void_p, c_ssize_t)

make_capsule = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


def take_message(failure: int) -> str:
    """Returns the message of an error, and destroys it."""
    message: str = error_message(failure).decode(errors="replace")
    destroy_error(failure)
    return message


def check(failure: int | None, doing: str = "") -> None:
    """Raises what a function of the interface returned as its error.

    Args:
        failure: the error, None for success.
        doing: what failed, to stand before the message.

    Raises:
        CompileError: there is an error.
    """
    if failure is not None:
        message = take_message(failure)
        raise CompileError(error(f"{doing}: {message}" if doing else message))
