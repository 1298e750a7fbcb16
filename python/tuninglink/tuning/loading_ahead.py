"""Loading of modules ahead of their measurement, for drivers that compile what they load.

CUDA's driver compiles PTX when a module is loaded, which takes longer than measuring it, and keeps the result in a cache
on disk that all processes share. Loaded in another process first, a module is there at once where it is measured.
"""

from __future__ import annotations

from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.device import open_device
from tuninglink.tuning.running import Loader, MeasurementError
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError

if TYPE_CHECKING:
    from tuninglink.tuning.benchmark import Benchmark

COMPILING_DRIVERS: Final = frozenset({"cuda"})
"""The drivers that compile what they load, and keep the result where other processes find it."""


class AheadLoader:
    """Processes that load modules onto a device, and let go of them. They run nothing.

    Args:
        uri: the device.
        workers: how many processes.
        timeout: the seconds that loading may take.
    """

    def __init__(self, uri: str, workers: int, timeout: float) -> None:
        self._timeout = timeout
        self._pool = Pool(workers, _open, (uri,))

    def close(self) -> None:
        """Ends the processes."""
        self._pool.close()

    def load(self, benchmark: Benchmark) -> None:
        """Loads a benchmark. Where that fails, whoever measures it finds out and says so."""
        job = self._pool.submit(_load, benchmark.image, benchmark.function, seconds=self._timeout)
        with suppress(JobTimeoutError, WorkerCrashedError, CancelledError):
            job.result()


_loader: Loader | None = None


def _open(uri: str) -> None:
    global _loader  # noqa: PLW0603 - what the process is for
    _loader = Loader(open_device(uri), kept=0)


def _load(image: bytes, function: str) -> None:
    if _loader is not None:
        with suppress(MeasurementError):
            _loader.load(image, function)
