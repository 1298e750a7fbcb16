"""What users of a pool ask of it, wherever its processes are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, TypeVarTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class JobPool(Protocol):
    """Runs functions in processes of their own, each job under a time limit: `Pool`, or one of a cluster."""

    def submit(
        self, function: Callable[[*Ts], T], *arguments: *Ts, seconds: float = 60.0
    ) -> Future[T]:
        """Has a process call a function; see `Pool.submit`."""

    def close(self) -> None:
        """End all jobs; see `Pool.close`."""
