"""MLIR's C interface, as far as the driver needs what the Python bindings leave out.

The bindings can neither nest a pass written in Python under an anchor, nor parse bytes under a name of
one's choice, and they hold Python's lock while passes run. The shared library that they come with can.
"""

from __future__ import annotations

import ctypes
from ctypes import Structure, c_bool, c_char_p, c_int, c_int8, c_void_p, py_object
from typing import TYPE_CHECKING, Any

from iree.compiler import ir as mlir

from tuninglink.mlir.c_interface import StringRef, function

if TYPE_CHECKING:
    from collections.abc import Callable

    from iree.compiler.passmanager import PassManager


class Handle(Structure):
    """Any of the interface's handles: each is a structure of one pointer."""

    _fields_ = (("pointer", c_void_p),)


class Result(Structure):
    """Success or failure."""

    _fields_ = (("value", c_int8),)


_OPERATION = b"iree.compiler.ir.Operation._CAPIPtr"
_MODULE = b"iree.compiler.ir.Module._CAPIPtr"
_LOCATION = b"iree.compiler.ir.Location._CAPIPtr"
_CONTEXT = b"iree.compiler.ir.Context._CAPIPtr"
_PASS_MANAGER = b"iree.compiler.passmanager.PassManager._CAPIPtr"

_capsule_get = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_get.restype, _capsule_get.argtypes = c_void_p, (py_object, c_char_p)
_capsule_new = ctypes.pythonapi.PyCapsule_New
_capsule_new.restype, _capsule_new.argtypes = py_object, (c_void_p, c_char_p, c_void_p)


def context_handle(context: mlir.Context) -> Handle:
    """Returns what the C interface calls `context`."""
    return _handle(context, _CONTEXT)


def operation_handle(operation: mlir.Operation) -> Handle:
    """Returns what the C interface calls `operation`."""
    return _handle(operation, _OPERATION)


def pass_manager_handle(manager: PassManager) -> Handle:
    """Returns what the C interface calls `manager`."""
    return _handle(manager, _PASS_MANAGER)


def operation_at(pointer: int) -> mlir.Operation:
    """Returns an operation that somebody else owns."""
    create: Callable[..., Any] = mlir.Operation._CAPICreate  # noqa: SLF001 - meant for this
    operation: mlir.Operation = create(_capsule_new(pointer, _OPERATION, None))
    return operation


def module_at(pointer: int) -> mlir.Module:
    """Returns a module that is freed with its last Python handle."""
    create: Callable[..., Any] = mlir.Module._CAPICreate  # noqa: SLF001 - meant for this
    module: mlir.Module = create(_capsule_new(pointer, _MODULE, None))
    return module


def location_at(pointer: int) -> mlir.Location:
    """Returns a location as the class of its kind."""
    create: Callable[..., Any] = mlir.Location._CAPICreate  # noqa: SLF001 - meant for this
    location: mlir.Location = create(_capsule_new(pointer, _LOCATION, None))
    return mlir.Location.from_attr(location.attr, location.context)


def parse_operation(source: bytes, name: str, context: mlir.Context) -> mlir.Operation | None:
    """Parses and verifies one operation, from text or bytecode.

    Args:
        source: the text or bytecode.
        name: the name of the source in locations.
        context: where the operation is to live, and whose handlers get the diagnostics. Handlers that
            were attached through the bindings must not be among them: they crash without Python's lock.

    Returns:
        The operation, or None if there were errors.
    """
    parse = function("mlirOperationCreateParse", Handle, Handle, StringRef, StringRef)
    encoded = name.encode(errors="surrogateescape")
    found = parse(context_handle(context), StringRef.of(source), StringRef.of(encoded))
    if not found.pointer:
        return None
    module = function("mlirModuleFromOperation", Handle, Handle)(found)
    return module_at(module.pointer).operation if module.pointer else operation_at(found.pointer)


def run_opt_main(arguments: list[str]) -> int:
    """Runs the compiler's `iree-opt` in this process; it ends the process if a flag is wrong."""
    main = function("ireeOptRunMain", c_int, c_int, ctypes.POINTER(c_char_p))
    return int(main(len(arguments), _argument_vector(arguments)))


def set_global_flags(arguments: list[str]) -> None:
    """Sets flags of the compiler for this process, once; it ends the process if one is wrong."""
    function("ireeCompilerGlobalInitialize", None)()
    set_up = function(
        "ireeCompilerSetupGlobalCL", None, c_int, ctypes.POINTER(c_char_p), c_char_p, c_bool
    )
    install_signal_handlers = False
    set_up(len(arguments), _argument_vector(arguments), b"", install_signal_handlers)


def _argument_vector(arguments: list[str]) -> Any:
    encoded = [argument.encode(errors="surrogateescape") for argument in arguments]
    return (c_char_p * (len(encoded) + 1))(*encoded, None)


def _handle(wrapped: Any, kind: bytes) -> Handle:
    return Handle(_capsule_get(wrapped._CAPIPtr, kind))  # noqa: SLF001 - meant for this
