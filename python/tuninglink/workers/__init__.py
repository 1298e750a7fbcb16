"""A pool of isolated worker processes, which have a time limit per job and end with the command."""

import os
from typing import TYPE_CHECKING

from tuninglink.lazy import lazy_getattr

if TYPE_CHECKING:
    from tuninglink.workers.pool import Pool
    from tuninglink.workers.worker import JobError, JobTimeoutError, WorkerCrashedError, do_nothing

__all__ = [
    "JobError",
    "JobTimeoutError",
    "Pool",
    "WorkerCrashedError",
    "do_nothing",
    "processor_count",
]


def processor_count() -> int:
    """Return the number of processors that this process may run on."""
    return len(os.sched_getaffinity(0))


_HOMES = {
    "Pool": "workers.pool",
    **dict.fromkeys(
        ("JobError", "JobTimeoutError", "WorkerCrashedError", "do_nothing"), "workers.worker"
    ),
}

__getattr__ = lazy_getattr(__name__, _HOMES)  # a worker itself needs no pool
