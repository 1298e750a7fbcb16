"""Loading of modules ahead of their measurement, for drivers that compile what they load.

CUDA's driver compiles PTX when a module is loaded, which takes longer than measuring it, and keeps the result in a cache
on disk that all processes share. Loaded in another process first, a module is there at once where it is measured.
"""

from __future__ import annotations

from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.devices.device import open_device
from tuninglink.tuning.devices.running import Loader, MeasurementError
from tuninglink.tuning.results.failures import Failure, FailureKind
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError, do_nothing

if TYPE_CHECKING:
    from tuninglink.tuning.programs.benchmark import Benchmark

COMPILING_DRIVERS: Final = frozenset({"cuda"})
"""The drivers that compile what they load, and keep the result where other processes find it."""

_FACTOR: Final = 20.0
_LEAST_SECONDS: Final = 3.0
"""Loading a candidate may take this many times as long as loading the default, and at least so many seconds."""


class AheadLoader:
    """Processes that load modules onto a device, and let go of them. They run nothing.

    Args:
        uri: the device.
        workers: how many processes.
        timeout: the seconds that loading may take in any case.
    """

    def __init__(self, uri: str, workers: int, timeout: float) -> None:
        self._timeout = timeout
        self._limit = min(_LEAST_SECONDS, timeout)
        self._pool = Pool(workers, _open, (uri,))
        for _ in range(workers):
            self._pool.submit(do_nothing)  # all processes start now, at once

    def close(self) -> None:
        """End the processes."""
        self._pool.close()

    def load_default(self, benchmark: Benchmark) -> None:
        """Load a default, which tells how long loading its candidates may take."""
        with suppress(JobTimeoutError, WorkerCrashedError, CancelledError):
            seconds = max(_LEAST_SECONDS, _FACTOR * self._load(benchmark, self._timeout))
            self._limit = min(seconds, self._timeout)

    def load(self, benchmark: Benchmark) -> Failure | None:
        """Load a benchmark. Where that fails at once, the measurement reports the failure.

        Returns:
            The failure of a benchmark that takes too long; None for any other.
        """
        try:
            self._load(benchmark, self._limit)
        except JobTimeoutError as failure:
            message = f"the driver did not compile it within {failure.seconds:.3g} s"
            return Failure(FailureKind.COMPILE_TIMEOUT, message, failure.is_starved)
        except (WorkerCrashedError, CancelledError):
            pass
        return None

    def _load(self, benchmark: Benchmark, seconds: float) -> float:
        job = self._pool.submit(_load, benchmark.image, benchmark.function, seconds=seconds)
        return job.result()


_loader: Loader | None = None


def _open(uri: str) -> None:
    global _loader  # noqa: PLW0603 - what the process is for
    _loader = Loader(open_device(uri), kept=0)


def _load(image: bytes, function: str) -> float:
    """Return the seconds that it took."""
    assert _loader is not None
    before = _loader.seconds
    with suppress(MeasurementError):
        _loader.load(image, function)
    return _loader.seconds - before
