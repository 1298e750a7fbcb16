"""The pool, which distributes jobs to worker processes."""

from __future__ import annotations

import os
import pickle
import threading
import weakref
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self, TypeVar, TypeVarTuple

from tuninglink.workers.worker import do_nothing, initialize
from tuninglink.workers.worker_process import WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Pool:
    """A pool that runs functions in worker processes, each job under a time limit.

    Processes are started on demand, kept for further jobs, and replaced when they crash or a job exceeds its limit.
    They import the functions that they run, never the program's `__main__`. They have no standard input, and their
    output does not reach the terminal. They end with the program, however it ends, together with the processes that
    they started.

    Threads may share a pool. After a fork, the child process starts its own workers.

    Leaving a `with` block waits for all jobs. Leaving it with an exception closes the pool.

    Args:
        workers: the maximum number of processes.
        initializer: called in each new process before its first job, with a time limit of a minute. If it fails, the
            job fails with its exception.
        arguments: the arguments of the initializer.
        shows_errors: whether the standard error of the processes is that of this process.
    """

    def __init__(
        self,
        workers: int,
        initializer: Callable[[*Ts], object] | None = None,
        arguments: tuple[*Ts] = (),  # type: ignore[assignment]  # without an initializer
        *,
        shows_errors: bool = False,
    ) -> None:
        self._workers = workers
        self._shows_errors = shows_errors
        self._initial = _pickled(initialize, _importable(initializer or do_nothing), arguments)
        self._is_closed = False
        self._reset()
        _pools.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.close()
            return
        try:
            self._finish()
        except BaseException:
            self.close()
            raise

    def submit(
        self, function: Callable[[*Ts], T], *arguments: *Ts, seconds: float = 60.0
    ) -> Future[T]:
        """Call a function in a worker process.

        Args:
            function: a function that can be imported by its name, from a module other than `__main__`.
            arguments: its arguments, which are pickled.
            seconds: the time limit of the call, not counting the start of the process.

        Returns:
            A future, which can be cancelled while the job waits for a process. Its result is that of the function. Its
            exception is that of the function, with the worker's traceback as a note; `JobError` in place of one that
            cannot be pickled; `JobTimeoutError`; or `WorkerCrashedError`.

        Raises:
            RuntimeError: the pool is closed.
            ValueError: the function is defined in `__main__`.
            pickle.PicklingError, AttributeError, TypeError: the function or its arguments cannot be pickled.
        """
        job = _Job(_pickled(_importable(function), *arguments), seconds)
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the pool is closed")
            self._jobs.put(job)
            self._unfinished += 1
            if len(self._threads) < min(self._unfinished, self._workers):
                self._start()
        return job.future

    def close(self) -> None:
        """Cancel pending jobs, kill running ones, and end the processes.

        A running job fails with `CancelledError`.
        """
        with self._lock:
            self._is_closed = True
        with suppress(Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None and job.future.cancel():
                    job.future.set_running_or_notify_cancel()
        for process in self._processes:
            process.close()
        self._finish()

    def terminate(self) -> None:
        """Send SIGTERM to the processes, which may handle it; safe in a signal handler."""
        for process in self._processes:
            process.terminate()

    def _finish(self) -> None:
        """Wait until all jobs are done and end the processes."""
        with self._lock:
            self._is_closed = True
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _start(self) -> None:
        """Start a thread that runs jobs in its own process."""
        process = WorkerProcess(self._initial, shows_errors=self._shows_errors)
        # A daemon thread: the end of the program does not wait for jobs.
        thread = threading.Thread(target=self._serve, args=(process,), daemon=True)
        self._processes.append(process)
        self._threads.append(thread)
        thread.start()

    def _serve(self, process: WorkerProcess) -> None:
        """Run jobs in a process until the pool is closed."""
        while (job := self._jobs.get()) is not None:
            if job.future.set_running_or_notify_cancel():
                self._run(job, process)
            else:
                self._count_finished()
            del job  # releases its result, which may be large
        process.end()

    def _run(self, job: _Job, process: WorkerProcess) -> None:
        try:
            result = process.run(job.call, job.seconds)
        except BaseException as failure:  # noqa: BLE001 - raised by the future
            self._count_finished()
            job.future.set_exception(failure)
        else:
            self._count_finished()  # first: a submission from a callback finds this process free
            job.future.set_result(result)

    def _count_finished(self) -> None:
        with self._lock:
            self._unfinished -= 1

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._processes: list[WorkerProcess] = []
        self._threads: list[threading.Thread] = []
        self._unfinished = 0

    def _forget(self) -> None:
        """Release the parent's processes in a forked child."""
        for process in self._processes:
            process.forget()
        self._reset()


@dataclass(frozen=True)
class _Job:
    """A pickled call, its time limit and its future."""

    call: bytes
    seconds: float
    future: Future[Any] = field(default_factory=Future)


def _pickled(function: Callable[..., object], *arguments: object) -> bytes:
    return pickle.dumps((function, arguments), pickle.HIGHEST_PROTOCOL)


def _importable(function: Callable[..., T]) -> Callable[..., T]:
    """Return a function, if workers can import it."""
    if getattr(function, "__module__", None) == "__main__":
        name = getattr(function, "__qualname__", function)
        raise ValueError(f"'{name}' is defined in __main__, which workers do not import")
    return function


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def _forget_all() -> None:
    for pool in list(_pools):
        pool._forget()  # noqa: SLF001 - of this module


os.register_at_fork(after_in_child=_forget_all)
