"""The costs of the pool of workers: a job, a crash, the start of a process.

The peers: `concurrent.futures.ProcessPoolExecutor`, which has no time limits and does not survive a crash, and
pebble, where it is installed, which has and does. All of them start fresh interpreters. Jobs add two numbers and are
submitted one after the other. A crash lasts from the submission of `os.abort` to the result of the job after it.
The target is a job that costs no more than one of `ProcessPoolExecutor`.

    python benchmarks/workers.py [--runs N]
"""

from __future__ import annotations

import multiprocessing
import operator
import os
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

from measure import describe_machine, parse_runs

from tuninglink.workers import Pool, WorkerCrashedError

try:
    import pebble
except ImportError:
    pebble = None

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

JOBS = 2000


class Measured:
    """A pool of one process, and its times.

    Args:
        name: the name of the pool.
        submit: submits a job.
        crash: the exception of a job that crashes; None if the pool does not survive it.
    """

    def __init__(
        self, name: str, submit: Callable[..., Future[int]], crash: type[Exception] | None
    ) -> None:
        self._name = name
        self._submit = submit
        self._crash = crash
        self._start = self._seconds(self._run_job)
        self.jobs: list[float] = []
        self._crashes: list[float] = []

    def run(self) -> None:
        """Run jobs, then one that crashes, and add the times of a job and of the crash."""
        self.jobs.append(self._seconds(lambda: [self._run_job() for _ in range(JOBS)]) / JOBS)
        if self._crash is not None:
            self._crashes.append(self._seconds(self._run_crash))

    def report(self) -> None:
        """Print a row, with medians."""
        crash = f"{statistics.median(self._crashes) * 1e3:.0f} ms" if self._crashes else "-"
        print(
            f"  {self._name:<20} job {statistics.median(self.jobs) * 1e6:4.0f} µs "
            f"({min(self.jobs) * 1e6:.0f} to {max(self.jobs) * 1e6:.0f})   "
            f"crash {crash:>7}   start {self._start * 1e3:.0f} ms",
            flush=True,
        )

    def _run_job(self) -> None:
        self._submit(operator.add, 20, 22).result()

    def _run_crash(self) -> None:
        assert self._crash is not None
        with suppress(self._crash):
            self._submit(os.abort).result()
        self._run_job()

    @staticmethod
    def _seconds(action: Callable[[], object]) -> float:
        start = time.perf_counter()
        action()
        return time.perf_counter() - start


def main() -> int:
    """Run the benchmark; the exit status is 0 if the target was met."""
    runs = parse_runs(__doc__.partition("\n")[0])
    describe_machine()
    spawn = multiprocessing.get_context("spawn")
    with Pool(1) as ours, ProcessPoolExecutor(1, spawn) as peer:
        pools = [
            Measured("tuninglink", ours.submit, WorkerCrashedError),
            Measured("ProcessPoolExecutor", peer.submit, None),
        ]
        if pebble is not None:
            theirs = pebble.ProcessPool(1, context=spawn)
            submit = lambda function, *arguments: theirs.submit(function, 60.0, *arguments)  # noqa: E731
            pools.append(Measured("pebble", submit, pebble.ProcessExpired))
        for _ in range(runs):
            for each in pools:
                each.run()
        if pebble is not None:
            theirs.stop()
            theirs.join()
    for each in pools:
        each.report()
    first, second, *_ = (statistics.median(each.jobs) for each in pools)
    return 0 if first <= second else 1


if __name__ == "__main__":
    sys.exit(main())
