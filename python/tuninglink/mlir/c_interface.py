"""The compiler's shared library through its C interface, for what the Python bindings leave out.

Every function is bound with the types of its arguments: without those, ctypes cuts pointers to 32 bits.
"""

from __future__ import annotations

import ctypes
import functools
from ctypes import Structure, c_char_p, c_size_t, c_void_p
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from iree.compiler import _mlir_libs

if TYPE_CHECKING:
    from collections.abc import Callable


class StringRef(Structure):
    """A string; whoever passes one keeps its bytes alive as long as the callee may look at them."""

    _fields_ = (("data", c_void_p), ("length", c_size_t))

    @staticmethod
    def of(data: bytes) -> StringRef:
        """Returns a reference to `data`."""
        return StringRef(ctypes.cast(c_char_p(data), c_void_p), len(data))

    def copy(self) -> bytes:
        """Returns a copy of what is referred to."""
        return ctypes.string_at(self.data, self.length)


@functools.cache
def _library() -> ctypes.CDLL:
    """Returns the library, which the bindings have loaded already."""
    return ctypes.CDLL(str(Path(_mlir_libs.__file__).parent / "libIREECompiler.so"))


@functools.cache
def function(name: str, result: Any, *parameters: Any) -> Callable[..., Any]:
    """Returns a function of the library.

    Args:
        name: its name.
        result: the type of what it returns, or None.
        parameters: the types of its arguments.
    """
    found = _library()[
        name
    ]  # One of its own: somebody else may see other types in the same handles.
    found.restype, found.argtypes = result, parameters
    return cast("Callable[..., Any]", found)
