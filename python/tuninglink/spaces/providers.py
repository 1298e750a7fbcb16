"""Who knows constraints: providers, registered by pipeline and kind of operation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tuninglink.mlir.diagnostics import Diagnostic, Severity
from tuninglink.solver.answers import UndecidedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from importlib.metadata import EntryPoint

    from iree.compiler import ir as mlir

    from tuninglink.iree.op_kinds import OpKind
    from tuninglink.spaces.configuration import Configuration
    from tuninglink.spaces.constraint_set import ConstraintSet
    from tuninglink.spaces.problem import Problem

GROUP = "tuninglink.constraints"
"""The entry-point group under which a plug-in registers a provider: a class, or a list of classes."""


@dataclass(frozen=True)
class Dispatch:
    """What constraints are wanted for.

    Attributes:
        root: the operation that gets the configuration.
        function: the function that it is in.
        target: what it is compiled for, a `#hal.executable.target`.
        problem: what the operation computes.
        module: the module around the function, for a dispatch that keeps it alive: operations do not.
    """

    root: mlir.Operation
    function: mlir.Operation
    target: mlir.Attribute | None
    problem: Problem
    module: mlir.Operation | None = None


class Space(ABC):
    """The configurations of a dispatch in a pipeline.

    Attributes:
        constraints: which of them are valid.
    """

    constraints: ConstraintSet

    @abstractmethod
    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """Returns the values that a configuration gives to the knobs.

        Raises:
            MismatchError: the configuration is not of the form that the constraints speak of.
        """

    @abstractmethod
    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """Returns the configuration that gives the knobs these values.

        Raises:
            AssignmentError: the values make no configuration.
        """


class Provider(ABC):
    """Knows the constraints on the configurations of some dispatches.

    Attributes:
        name: what diagnostics call it.
        pipelines: the pipelines that it knows, as MLIR writes them; None for any.
        kinds: the kinds of root ops that it knows; None for any.
    """

    name: ClassVar[str]
    pipelines: ClassVar[frozenset[str] | None] = None
    kinds: ClassVar[frozenset[OpKind] | None] = None

    def knows(self, pipeline: str, kind: OpKind) -> bool:
        """Tells whether it is worth asking about dispatches of a kind in a pipeline."""
        return (self.pipelines is None or pipeline in self.pipelines) and (
            self.kinds is None or kind in self.kinds
        )

    @abstractmethod
    def spaces(self, dispatch: Dispatch, pipeline: str) -> Sequence[Space]:
        """Returns the spaces of a dispatch in a pipeline, none if there are no constraints for it.

        Raises:
            UndecidedError: it cannot tell; says why.
        """


class ProviderRegistry:
    """Knows the providers: those that come with Tuninglink and those of plug-ins.

    Args:
        warn: is told about plug-ins that cannot be used.
        own: those that come with Tuninglink; all of them by default.
        entry_points: gives the entry points of plug-ins; those of all installed packages by default.
    """

    def __init__(
        self,
        warn: Callable[[Diagnostic], None],
        own: Sequence[Provider] | None = None,
        entry_points: Callable[[], Iterable[EntryPoint]] | None = None,
    ) -> None:
        self._warn = warn
        self._own = own
        self._entry_points = entry_points or _installed_entry_points
        self._all: list[Provider] | None = None

    def all(self) -> Sequence[Provider]:
        """Returns all providers; a plug-in that cannot be loaded is named in a warning and skipped."""
        if self._all is None:
            self._all = list(_own_providers() if self._own is None else self._own)
            for each in sorted(self._entry_points(), key=lambda point: point.name):
                self._load(each, self._all)
        return self._all

    def spaces(self, dispatch: Dispatch, pipeline: str) -> list[Space]:
        """Returns the spaces of a dispatch in a pipeline, of all providers that know some.

        Raises:
            UndecidedError: no provider knows any; says why not.
        """
        found: list[Space] = []
        reasons: list[str] = []
        kind = dispatch.problem.kind
        for each in [provider for provider in self.all() if provider.knows(pipeline, kind)]:
            try:
                found += each.spaces(dispatch, pipeline)
            except UndecidedError as failure:
                reasons.append(failure.reason)
            except Exception as failure:  # noqa: BLE001 - whatever a stranger's code does wrong
                reasons.append(
                    f"provider '{each.name}' failed: {type(failure).__name__}: {failure}"
                )
        if not found:
            nobody = f"no constraints are known for {dispatch.problem} in {pipeline}"
            raise UndecidedError("; ".join(reasons) or nobody)
        return found

    def _load(self, entry_point: EntryPoint, providers: list[Provider]) -> None:
        try:
            loaded = entry_point.load()
            classes = [loaded] if isinstance(loaded, type) else list(loaded)
            made = [_made(each) for each in classes]
        except Exception as failure:  # noqa: BLE001 - whatever a stranger's code does wrong
            package = f" of package '{entry_point.dist.name}'" if entry_point.dist else ""
            message = (
                f"skipping plug-in '{entry_point.name}'{package} ({entry_point.value}), "
                f"which cannot be used: {type(failure).__name__}: {failure}"
            )
            self._warn(Diagnostic(Severity.WARNING, message))
            return
        providers += made


def _made(provider_type: object) -> Provider:
    if not (isinstance(provider_type, type) and issubclass(provider_type, Provider)):
        expected = f"{Provider.__module__}.{Provider.__qualname__}"
        raise TypeError(f"{provider_type!r} is not a subclass of {expected}")
    if not isinstance(getattr(provider_type, "name", None), str):
        raise TypeError(f"{provider_type.__qualname__} has no name")
    return provider_type()


def _own_providers() -> Sequence[Provider]:
    from tuninglink.spaces.compiler_provider import CompilerProvider  # noqa: PLC0415 - a circle
    from tuninglink.spaces.cpu.provider import CpuProvider  # noqa: PLC0415
    from tuninglink.spaces.gpu.provider import GpuProvider  # noqa: PLC0415

    return [CompilerProvider(), GpuProvider(), CpuProvider()]


def _installed_entry_points() -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - looking takes longer than most questions

    return entry_points(group=GROUP)
