"""A pool of worker processes: isolated, with a time limit per job, and gone when the command is."""

from tuninglink.workers.failures import JobError, JobTimeoutError, WorkerCrashedError
from tuninglink.workers.pool import Pool

__all__ = ["JobError", "JobTimeoutError", "Pool", "WorkerCrashedError"]
