"""The interface of pools, wherever their processes run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, TypeVarTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class JobPool(Protocol):
    """A pool that runs functions in separate processes, each job under a time limit: local, or on a cluster."""

    def submit(
        self, function: Callable[[*Ts], T], *arguments: *Ts, seconds: float = 60.0
    ) -> Future[T]:
        """Call a function in a worker process; see `Pool.submit`."""

    def close(self) -> None:
        """End all jobs; see `Pool.close`."""
