"""The passes that are known by name: those that come with Tuninglink and those of plug-ins."""

from __future__ import annotations

import dataclasses
import inspect
from functools import cached_property
from typing import TYPE_CHECKING

from tuninglink.mlir.diagnostics import Diagnostic, Severity
from tuninglink.mlir.passes import Pass
from tuninglink.opt.options import options_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from importlib.metadata import EntryPoint

GROUP = "tuninglink.passes"
"""The entry-point group under which a plug-in registers a pass, or a list of passes."""


class PassRegistry:
    """Knows passes by name, and imports none before somebody asks.

    Args:
        own: the passes that come with Tuninglink, by name.
        warn: is told about plug-ins that cannot be used.
        entry_points: gives the entry points of plug-ins; those of all installed packages if left out.
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

        A plug-in that cannot be loaded, or whose pass is not one, is named in a warning and skipped.
        """
        plugged: dict[str, type[Pass]] = {}
        for entry_point in sorted(self._entry_points(), key=lambda each: each.name):
            self._load(entry_point, plugged)
        return plugged

    def all(self) -> dict[str, type[Pass]]:
        """Returns all passes by name, in alphabetical order."""
        return dict(sorted({**self.plugged_in, **self.own}.items()))

    def _load(self, entry_point: EntryPoint, passes: dict[str, type[Pass]]) -> None:
        try:
            loaded = entry_point.load()
            result: list[type[Pass]] = [loaded] if isinstance(loaded, type) else list(loaded)
            for each in result:
                check_pass(each)
        except Exception as failure:  # noqa: BLE001 - whatever a stranger's code does wrong
            reason = f"{type(failure).__name__}: {failure}"
            self._skip(entry_point, reason)
            return
        for each in result:
            if each.name in self.own or each.name in passes:
                self._skip(entry_point, f"there is a pass '{each.name}' already")
            else:
                passes[each.name] = each

    def _skip(self, entry_point: EntryPoint, reason: str) -> None:
        package = f" of package '{entry_point.dist.name}'" if entry_point.dist else ""
        message = (
            f"skipping plug-in '{entry_point.name}'{package} ({entry_point.value}), "
            f"which cannot be used: {reason}"
        )
        self._warn(Diagnostic(Severity.WARNING, message))


def check_pass(pass_type: object) -> None:
    """Checks that `pass_type` is a pass that can be made with its default options.

    Raises:
        TypeError: it is not; says why.
    """
    if not (isinstance(pass_type, type) and issubclass(pass_type, Pass)):
        raise TypeError(f"{pass_type!r} is not a subclass of {Pass.__module__}.{Pass.__qualname__}")
    if not isinstance(getattr(pass_type, "name", None), str):
        raise TypeError(f"{pass_type.__qualname__} has no name")
    # `@dataclass` leaves its parameters on the class that it is applied to, not on what is derived.
    parameters = pass_type.__dict__.get("__dataclass_params__")
    if parameters is None or not parameters.frozen or not dataclasses.is_dataclass(pass_type):
        raise TypeError(f"{pass_type.__qualname__} is not a frozen dataclass")
    if inspect.isabstract(pass_type):
        raise TypeError(f"{pass_type.__qualname__} does not define 'apply'")
    options_of(pass_type)


def _installed_entry_points() -> Iterable[EntryPoint]:
    # Looking through what is installed takes longer than running most passes.
    from importlib.metadata import entry_points  # noqa: PLC0415

    return entry_points(group=GROUP)
