"""Libraries whose spec is made for one program: their names, and the functions that make the specs.

The functions belong to higher layers, which register them here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from tuninglink.errors import Diagnostic


SpecMaker: TypeAlias = (
    "Callable[[bytes, Callable[[bytes], bytes], Callable[[Diagnostic], None]], str]"
)
"""Makes the spec of a library for a program, and returns it as text. The arguments, in order:

- the executables of the program at `executable-sources`, without specs, as bytecode
- a function that returns such executables at `executable-configurations`, with the compiler's own configurations under the
  flags of the compilation; executables that it fails on are missing
- a function that receives remarks
"""

MAKERS: Final[dict[str, SpecMaker]] = {}
"""The functions, by the name of the library after `library:`."""

PREDICTED: Final = "predicted"
"""The library of configurations that a model expects to be faster than the compiler's choices."""


def register(library: str, module: str, function: str) -> None:
    """Add a library whose function is in a module that is imported when a program uses it."""
    MAKERS[library] = lambda *given: getattr(import_module(module), function)(*given)  # noqa: PLW0108 - imports later
