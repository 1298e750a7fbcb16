"""The compiler's C interface, with types.

`iree.compiler.api` wraps a part of it. This module binds the functions that this package needs, and is private to it.
"""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    POINTER,
    c_bool,
    c_char_p,
    c_int,
    c_size_t,
    c_uint64,
    c_void_p,
)

from tuninglink.errors import CompileError
from tuninglink.mlir.c_interface import function
from tuninglink.mlir.diagnostics import error

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
