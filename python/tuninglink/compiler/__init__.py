"""The in-process compilation: phases, and specs applied between them."""

from tuninglink.compiler.compilation import Compilation, compile  # noqa: A004 - as `re.compile` is
from tuninglink.compiler.tracing import Applied

__all__ = ["Applied", "Compilation", "compile"]
