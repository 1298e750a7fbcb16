"""The registry of built-in and plug-in providers, with guards around the spaces of plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from iree.compiler import ir as mlir

from tuninglink.errors import Diagnostic, Severity
from tuninglink.mlir import error
from tuninglink.rules import Rule
from tuninglink.solver import AssignmentError, CheckAnswer, Limits, UndecidedError, Verdict
from tuninglink.spaces.compiler_constraints import CompilerProvider
from tuninglink.spaces.cpu import CpuProvider
from tuninglink.spaces.gpu import GpuProvider
from tuninglink.spaces.model import (
    Configuration,
    ConstraintSet,
    MismatchError,
    Provider,
    Space,
    Workload,
)
from tuninglink.spaces.spirv import SpirvProvider
from tuninglink.specs import plug_ins

if TYPE_CHECKING:
    from importlib import metadata


T = TypeVar("T")

GROUP: Final = "tuninglink.constraints"
"""The entry-point group under which a plug-in registers a provider: a class, or a list of classes."""


_OWN: Final = (CompilerProvider, GpuProvider, SpirvProvider, CpuProvider)
"""The providers that come with Tuninglink."""


class ProviderRegistry:
    """The built-in providers, all by default, and those of plug-ins, whose `entry_points` are all installed ones by default.

    `warn` receives warnings about unusable plug-ins.
    """

    def __init__(
        self,
        warn: Callable[[Diagnostic], None],
        own: Sequence[Provider] | None = None,
        entry_points: Callable[[], Iterable[metadata.EntryPoint]] | None = None,
    ) -> None:
        self._warn = warn
        self._own = own
        self._entry_points = entry_points
        self._all: list[Provider] | None = None
        self._failures: set[str] = set()

    def all(self) -> Sequence[Provider]:
        """Return all providers; warn about plug-ins that cannot be loaded, and skip them."""
        if self._all is not None:
            return self._all
        self._all = [provider() for provider in _OWN] if self._own is None else list(self._own)
        entry_points = self._entry_points() if self._entry_points else plug_ins(GROUP)
        for entry_point in sorted(entry_points, key=lambda point: point.name):
            try:
                loaded = entry_point.load()
                providers: list[Provider] = []
                for provider in [loaded] if isinstance(loaded, type) else list(loaded):
                    if not (isinstance(provider, type) and issubclass(provider, Provider)):
                        text = f"{provider!r} is not a subclass of tuninglink.spaces.Provider"
                        raise TypeError(text)
                    if not isinstance(getattr(provider, "name", None), str):
                        raise TypeError(f"{provider.__qualname__} has no name")
                    providers.append(provider())
                self._all += providers
            except Exception as failure:  # noqa: BLE001 - a plug-in may raise anything
                package = f" of package '{entry_point.dist.name}'" if entry_point.dist else ""
                message = (
                    f"skipping plug-in '{entry_point.name}'{package} ({entry_point.value}), "
                    f"which cannot be used: {type(failure).__name__}: {failure}"
                )
                self._warn(Diagnostic(Severity.WARNING, message, rule=Rule.PLUGIN))
        return self._all

    def spaces(self, workload: Workload, pipeline: str) -> list[Space]:
        """Return the spaces of a dispatch in a pipeline, from all providers.

        Raises:
            UndecidedError: no provider has a space; the message gives the reasons.
        """
        result: list[Space] = []
        reasons: list[str] = []
        kind = workload.problem.kind
        for provider in [each for each in self.all() if each.knows(pipeline, kind)]:
            failed = partial(self._failed, provider)
            try:
                spaces = provider.spaces(workload, pipeline)
                is_own = isinstance(provider, _OWN)
                result += (space if is_own else GuardedSpace(space, failed) for space in spaces)
            except UndecidedError as failure:
                reasons.append(failure.reason)
            except Exception as failure:  # noqa: BLE001 - a plug-in may raise anything
                reasons.append(self._failed(provider, failure))
        if not result:
            unknown = f"no constraints are known for {workload.problem} in {pipeline}"
            raise UndecidedError("; ".join(reasons) or unknown)
        return result

    def _failed(self, provider: Provider, failure: Exception) -> str:
        """Warn of a provider's failure, once, since an answer from another provider would hide it."""
        reason = f"provider '{provider.name}' failed: {type(failure).__name__}: {failure}"
        if reason not in self._failures:
            self._failures.add(reason)
            self._warn(Diagnostic(Severity.WARNING, reason, rule=Rule.PLUGIN))
        return reason


class GuardedSpace(Space):
    """The space of a plug-in. Exceptions from its code become "not decided", with the reason."""

    def __init__(self, space: Space, failed: Callable[[Exception], str]) -> None:
        self._space = space
        self._failed = failed
        self.is_sufficient = space.is_sufficient

    @property
    def constraints(self) -> ConstraintSet:  # type: ignore[override]
        return self._guarded(UndecidedError, str, lambda: self._space.constraints)

    @property
    def provider(self) -> str:
        try:
            return self._space.provider
        except Exception as failure:  # noqa: BLE001 - a plug-in may raise anything
            self._failed(failure)
            return type(self._space).__qualname__

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        return self._guarded(MismatchError, str, lambda: self._space.assignment(configuration))

    def untiled(self, configuration: Configuration) -> frozenset[str]:
        try:
            return self._space.untiled(configuration)
        except Exception as failure:  # noqa: BLE001 - a plug-in may raise anything
            self._failed(failure)
            return frozenset()

    def check(self, assignment: Mapping[str, int], limits: Limits) -> CheckAnswer:
        try:
            return self._space.check(assignment, limits)
        except UndecidedError as failure:
            return CheckAnswer(Verdict.NOT_DECIDED, reason=failure.reason)
        except Exception as failure:  # noqa: BLE001 - a plug-in may raise anything
            return CheckAnswer(Verdict.NOT_DECIDED, reason=self._failed(failure))

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        make = self._space.compilation_info
        return self._guarded(AssignmentError, error, lambda: make(assignment))

    def decomposition_config(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        make = self._space.decomposition_config
        return self._guarded(AssignmentError, error, lambda: make(assignment))

    def _guarded(
        self, kind: type[Exception], describe: Callable[[str], object], function: Callable[[], T]
    ) -> T:
        """Call a function of the plug-in, whose exceptions of other kinds become one of this kind."""
        try:
            return function()
        except kind:
            raise
        except Exception as failure:  # noqa: BLE001 - a plug-in may raise anything
            raise kind(describe(self._failed(failure))) from None
