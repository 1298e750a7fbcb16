"""Guards around the spaces of plug-ins, which convert exceptions to answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tuninglink.mlir.diagnostics import error
from tuninglink.solver.answers import AssignmentError, CheckAnswer, UndecidedError, Verdict
from tuninglink.spaces.configuration import MismatchError
from tuninglink.spaces.providers import Space

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from iree.compiler import ir as mlir

    from tuninglink.solver.answers import Limits
    from tuninglink.spaces.configuration import Configuration
    from tuninglink.spaces.constraint_set import ConstraintSet


class GuardedSpace(Space):
    """The space of a plug-in. Exceptions from its code become "not decided", with the reason.

    Args:
        space: the space.
        failed: reports an exception, and returns its text as a reason.
    """

    def __init__(self, space: Space, failed: Callable[[Exception], str]) -> None:
        self._space = space
        self._failed = failed

    @property
    def is_sufficient(self) -> bool:  # type: ignore[override]
        """See `Space`."""
        return self._space.is_sufficient

    @property
    def constraints(self) -> ConstraintSet:  # type: ignore[override]
        """The constraints.

        Raises:
            UndecidedError: the plug-in fails to build them.
        """
        try:
            return self._space.constraints
        except UndecidedError:
            raise
        except Exception as failure:  # noqa: BLE001 - a plug-in may raise anything
            raise UndecidedError(self._failed(failure)) from None

    @property
    def provider(self) -> str:
        """See `Space`."""
        try:
            return self._space.provider
        except Exception as failure:  # noqa: BLE001 - a plug-in may raise anything
            self._failed(failure)
            return type(self._space).__qualname__

    def assignment(self, configuration: Configuration) -> Mapping[str, int]:
        """See `Space`."""
        try:
            return self._space.assignment(configuration)
        except MismatchError:
            raise
        except Exception as failure:  # noqa: BLE001 - a plug-in may raise anything
            raise MismatchError(self._failed(failure)) from None

    def untiled(self, configuration: Configuration) -> frozenset[str]:
        """See `Space`."""
        try:
            return self._space.untiled(configuration)
        except Exception as failure:  # noqa: BLE001 - a plug-in may raise anything
            self._failed(failure)
            return frozenset()

    def check(self, assignment: Mapping[str, int], limits: Limits) -> CheckAnswer:
        """See `Space`."""
        try:
            return self._space.check(assignment, limits)
        except UndecidedError as failure:
            return CheckAnswer(Verdict.NOT_DECIDED, reason=failure.reason)
        except Exception as failure:  # noqa: BLE001 - a plug-in may raise anything
            return CheckAnswer(Verdict.NOT_DECIDED, reason=self._failed(failure))

    def compilation_info(self, assignment: Mapping[str, int]) -> mlir.Attribute:
        """See `Space`."""
        return self._made(self._space.compilation_info, assignment)

    def decomposition_config(self, assignment: Mapping[str, int]) -> mlir.Attribute | None:
        """Return the `decomposition_config` of an attention, None if the space does not write one.

        Raises:
            AssignmentError: the values do not form a configuration.
        """
        write: Any = getattr(self._space, "decomposition_config", None)
        return None if write is None else self._made(write, assignment)

    def _made(
        self, make: Callable[[Mapping[str, int]], mlir.Attribute], assignment: Mapping[str, int]
    ) -> mlir.Attribute:
        try:
            return make(assignment)
        except AssignmentError:
            raise
        except Exception as failure:  # noqa: BLE001 - a plug-in may raise anything
            raise AssignmentError(error(self._failed(failure))) from None
