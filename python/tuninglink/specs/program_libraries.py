"""Libraries whose spec is made for one program: names, and functions of higher layers, which register them here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.errors import Diagnostic
    from tuninglink.iree import Target


class SpecMaker(NamedTuple):
    """The functions that make the entries of a library for a program, as text.

    The first makes replace entries for the program at `preprocessing` and its targets; empty for none. The second makes
    configure entries for its executables at `executable-sources`, without specs, as bytecode. It receives a function that
    configures such executables as the compiler does, without those that it fails on, and one for remarks.
    """

    replacing: Callable[[mlir.Operation, Sequence[Target]], str]
    configuring: Callable[[bytes, Callable[[bytes], bytes], Callable[[Diagnostic], None]], str]


MAKERS: Final[dict[str, SpecMaker]] = {}
"""The functions, by the name of the library after `library:`."""

PREDICTED: Final = "predicted"
"""The library of configurations that a model expects to be faster than the compiler's choices."""


def register(library: str, module: str, *functions: str) -> None:
    """Add a library whose functions are in a module that is imported when a program uses it."""
    MAKERS[library] = SpecMaker(
        *(lambda *given, own=own: getattr(import_module(module), own)(*given) for own in functions)
    )
