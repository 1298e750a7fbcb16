"""The feed of compiled candidates to devices, which keeps these busy while the search runs."""

from __future__ import annotations

import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from tuninglink.tuning.candidates.candidate import Candidate
    from tuninglink.tuning.devices.device_set import Measurement
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.results.failures import Failure

    Job = Future[Measurement | Failure]


class Measure(Protocol):
    """Measures benchmarks, as many at once as there are devices."""

    @property
    def at_once(self) -> int:
        """See `DeviceSet`."""

    def submit(self, benchmark: Benchmark, best_microseconds: float) -> Job:
        """Return a future of the time of a candidate, or of its failure."""


class Feed:
    """The queue of compiled candidates for the devices. Thread-safe.

    Args:
        measure: measures them.
        best_us: the time of the best candidate so far.
        done: receives each candidate with the job that measured it, from any thread.

    Attributes:
        best_us: the time of the best candidate so far.
    """

    def __init__(
        self,
        measure: Measure,
        best_us: float,
        done: Callable[[Candidate, Benchmark, Job], None],
    ) -> None:
        self._measure = measure
        self._done = done
        self._lock = threading.RLock()
        self._ready: deque[tuple[Candidate, Benchmark]] = deque()
        self._measuring = 0
        self._is_open = False
        self._is_pumping = False
        self.best_us = best_us

    @property
    def ready(self) -> int:
        """The number of candidates waiting for a device."""
        return len(self._ready)

    @property
    def measuring(self) -> int:
        """The number of candidates being measured."""
        return self._measuring

    def open(self) -> None:
        """Start to hand candidates to devices."""
        self._is_open = True
        self._pump()

    def close(self) -> None:
        """Stop handing candidates to devices; running measurements continue."""
        self._is_open = False

    def put(self, candidate: Candidate, benchmark: Benchmark) -> None:
        """Add a candidate, and hand it to a device if one is free."""
        with self._lock:
            self._ready.append((candidate, benchmark))
        self._pump()

    def clear(self) -> None:
        """Drop the waiting candidates."""
        with self._lock:
            self._ready.clear()

    def _pump(self) -> None:
        with self._lock:
            if self._is_pumping:
                return  # a job was already done
            self._is_pumping = True
            try:
                while self._is_open and self._ready and self._measuring < self._measure.at_once:
                    candidate, benchmark = self._ready.popleft()
                    self._measuring += 1
                    job = self._measure.submit(benchmark, self.best_us)
                    job.add_done_callback(partial(self._finish, candidate, benchmark))
            finally:
                self._is_pumping = False

    def _finish(self, candidate: Candidate, benchmark: Benchmark, job: Job) -> None:
        with self._lock:
            self._measuring -= 1
        self._done(candidate, benchmark, job)
        self._pump()
