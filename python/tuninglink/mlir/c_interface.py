"""The compiler's shared library through its C interface, for what the Python bindings leave out.

Every function is bound with the types of its arguments: without those, ctypes cuts pointers to 32 bits. The
interface's handles are structures of one pointer, its results structures of one byte; both are passed as their members
are.
"""

from __future__ import annotations

import ctypes
import functools
from ctypes import CFUNCTYPE, Structure, c_char_p, c_size_t, c_void_p, py_object
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from iree.compiler import _mlir_libs

if TYPE_CHECKING:
    from collections.abc import Callable


class StringRef(Structure):
    """A string; whoever passes one keeps its bytes alive as long as the callee may look at them."""

    _fields_ = (("data", c_void_p), ("length", c_size_t))

    @staticmethod
    def of(data: bytes) -> StringRef:
        """Return a reference to `data`."""
        return StringRef(ctypes.cast(c_char_p(data), c_void_p), len(data))

    def copy(self) -> bytes:
        """Return a copy of what is referred to."""
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
    """Return what the C interface calls an object of the bindings, such as a context."""
    capsule = wrapped._CAPIPtr  # noqa: SLF001 - meant for this
    return cast("int", _pointer(capsule, _name(capsule)))


def object_at(kind: type[_Object], pointer: int) -> _Object:
    """Return an object of the C interface as the bindings know it.

    Args:
        kind: its class in `iree.compiler.ir`. A module is freed with its last Python handle; an operation belongs
            to somebody else.
        pointer: the object.
    """
    name = f"iree.compiler.ir.{kind.__name__}._CAPIPtr".encode()
    create: Callable[[object], _Object] = kind._CAPICreate  # type: ignore[attr-defined]  # noqa: SLF001
    return create(_capsule(pointer, name, None))


@functools.cache
def _library() -> ctypes.CDLL:
    """Return the library, which the bindings have loaded already."""
    return ctypes.CDLL(str(Path(_mlir_libs.__file__).parent / "libIREECompiler.so"))


@functools.cache
def function(name: str, result: Any, *parameters: Any) -> Callable[..., Any]:
    """Return a function of the library.

    Args:
        name: its name.
        result: the type of what it returns, or None.
        parameters: the types of its arguments.
    """
    found = _library()[name]  # One of its own: others may see other types in the same handles.
    found.restype, found.argtypes = result, parameters
    return cast("Callable[..., Any]", found)
