"""Lookup of passes by name among the compiler's and those written in Python."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from tuninglink.errors import PipelineError
from tuninglink.mlir.diagnostics import error
from tuninglink.opt import compiler_passes
from tuninglink.opt.compiler_passes import UNKNOWN, CompilerPasses
from tuninglink.spelling import did_you_mean

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import Place
    from tuninglink.mlir.passes import Pass
    from tuninglink.opt.pass_registry import PassRegistry

OWN_PREFIX = "tuninglink-"
"""The prefix of names that are looked up among Tuninglink's passes first."""


class PassLookup:
    """A lookup of passes among the compiler's and those written in Python."""

    def __init__(self, context: mlir.Context, registry: PassRegistry) -> None:
        self.compiler = CompilerPasses(context)
        self._registry = registry

    def python_pass(self, name: str) -> type[Pass] | None:
        """Return the pass called `name` if it is written in Python, or None.

        The compiler's pass has precedence over one of a plug-in, so that a plug-in cannot change a pipeline of the
        compiler. Plug-ins are searched last.
        """
        if name.startswith(OWN_PREFIX) and name in self._registry.own:
            return self._registry.own[name]
        if self.compiler.knows(name):
            return None
        return self._registry.own.get(name) or self._registry.plugged_in.get(name)

    def check(self, name: str, place: Place | None = None, prefix: str = "") -> None:
        """Check that a pass or a pipeline called `name`, written at `place`, exists.

        Raises:
            PipelineError: it does not exist. The message suggests the nearest name.
        """
        if self.python_pass(name) or self.compiler.knows(name):
            return
        suggestion = did_you_mean(name, chain(self._registry.all(), compiler_passes.pass_names()))
        raise PipelineError(error(f"{prefix}'{name}' {UNKNOWN}{suggestion}", place))
