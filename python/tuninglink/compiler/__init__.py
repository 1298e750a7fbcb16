"""The in-process compilation: phases, and specs applied between them."""

from tuninglink.compiler.calls import compile  # noqa: A004 - as `re.compile` is
from tuninglink.compiler.compilation import Compilation
from tuninglink.compiler.tracing import Applied

__all__ = ["Applied", "Compilation", "compile"]
