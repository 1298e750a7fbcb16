"""The C interface of the compiler's shared library, for functions that the Python bindings lack.

Every function is bound with its argument types, since ctypes truncates pointers to 32 bits without them. A handle of
the interface is a structure of one pointer, a result a structure of one byte. Both are passed like their only member.
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
    """A string. The caller keeps its bytes alive as long as the callee may read them."""

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
        kind: its class in `iree.compiler.ir`. A module is freed with its last Python handle. An operation stays owned
            by its parent.
        pointer: the object.
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
        result: the type of what it returns, or None.
        parameters: the types of its arguments.
    """
    symbol = _library()[
        name
    ]  # A private object: other users may declare other types for the same symbol.
    symbol.restype, symbol.argtypes = result, parameters
    return cast("Callable[..., Any]", symbol)
