"""In-process compilation in phases, with specs applied between them."""

from typing import TYPE_CHECKING

from tuninglink.lazy import lazy_getattr

if TYPE_CHECKING:
    from tuninglink.compiler.api import compile  # noqa: A004 - as `re.compile` is
    from tuninglink.compiler.compilation import Compilation
    from tuninglink.compiler.tracing import Applied

__all__ = ["Applied", "Compilation", "compile"]

_HOMES = {
    "Applied": "compiler.tracing",
    "Compilation": "compiler.compilation",
    "compile": "compiler.api",
}

__getattr__ = lazy_getattr(__name__, _HOMES)  # reading flags does not need specs
