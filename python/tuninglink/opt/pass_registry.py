"""The registered passes: those of Tuninglink and those of plug-ins; and lookup by name, also among the compiler's."""

from __future__ import annotations

import dataclasses
import inspect
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from tuninglink.errors import PipelineError, did_you_mean
from tuninglink.mlir.diagnostics import Diagnostic, Place, Severity, error
from tuninglink.mlir.passes import Pass
from tuninglink.opt import compiler_passes
from tuninglink.opt.compiler_passes import UNKNOWN, CompilerPasses
from tuninglink.opt.options import options_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from importlib.metadata import EntryPoint

    from iree.compiler import ir as mlir


GROUP = "tuninglink.passes"
"""The entry-point group under which a plug-in registers a pass, or a list of passes."""


class PassRegistry:
    """A registry of passes by name, which imports passes on demand.

    Args:
        own: the passes of Tuninglink, by name.
        warn: receives warnings about unusable plug-ins.
        entry_points: returns the entry points of plug-ins; by default those of all installed packages.
    """

    def __init__(
        self,
        own: Mapping[str, type[Pass]],
        warn: Callable[[Diagnostic], None],
        entry_points: Callable[[], Iterable[EntryPoint]] | None = None,
    ) -> None:
        self.own = own
        self._warn = warn
        self._entry_points = entry_points or _installed_entry_points

    @cached_property
    def plugged_in(self) -> dict[str, type[Pass]]:
        """The passes of plug-ins, by name.

        A plug-in that cannot be loaded, or whose pass is invalid, is skipped with a warning.
        """
        plugged: dict[str, type[Pass]] = {}
        for entry_point in sorted(self._entry_points(), key=lambda plugin: plugin.name):
            self._load(entry_point, plugged)
        return plugged

    def all(self) -> dict[str, type[Pass]]:
        """Return all passes by name, in alphabetical order."""
        return dict(sorted({**self.plugged_in, **self.own}.items()))

    def _load(self, entry_point: EntryPoint, passes: dict[str, type[Pass]]) -> None:
        try:
            loaded = entry_point.load()
            pass_types: list[type[Pass]] = [loaded] if isinstance(loaded, type) else list(loaded)
            for pass_type in pass_types:
                check_pass(pass_type)
        except Exception as failure:  # noqa: BLE001 - foreign code may raise anything
            reason = f"{type(failure).__name__}: {failure}"
            self._skip(entry_point, reason)
            return
        for pass_type in pass_types:
            if pass_type.name in self.own or pass_type.name in passes:
                self._skip(entry_point, f"pass '{pass_type.name}' exists already")
            else:
                passes[pass_type.name] = pass_type

    def _skip(self, entry_point: EntryPoint, reason: str) -> None:
        package = f" of package '{entry_point.dist.name}'" if entry_point.dist else ""
        message = (
            f"skipping plug-in '{entry_point.name}'{package} ({entry_point.value}), "
            f"which cannot be used: {reason}"
        )
        self._warn(Diagnostic(Severity.WARNING, message))


def check_pass(pass_type: object) -> None:
    """Check that `pass_type` is a pass that can be constructed with its default options.

    Raises:
        TypeError: `pass_type` is not a pass, or cannot be constructed. The message is the reason.
    """
    if not (isinstance(pass_type, type) and issubclass(pass_type, Pass)):
        raise TypeError(f"{pass_type!r} is not a subclass of {Pass.__module__}.{Pass.__qualname__}")
    if not isinstance(getattr(pass_type, "name", None), str):
        raise TypeError(f"{pass_type.__qualname__} has no name")
    # `@dataclass` stores its parameters on the decorated class, not on derived ones.
    parameters = pass_type.__dict__.get("__dataclass_params__")
    if parameters is None or not parameters.frozen or not dataclasses.is_dataclass(pass_type):
        raise TypeError(f"{pass_type.__qualname__} is not a frozen dataclass")
    if inspect.isabstract(pass_type):
        raise TypeError(f"{pass_type.__qualname__} does not define 'apply'")
    options_of(pass_type)


def _installed_entry_points() -> Iterable[EntryPoint]:
    # Searching the installed packages takes longer than most passes run.
    from importlib.metadata import entry_points  # noqa: PLC0415

    return entry_points(group=GROUP)


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
