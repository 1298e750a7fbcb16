"""The pool, which distributes jobs to worker processes."""

from __future__ import annotations

import io
import mmap
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, suppress
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, TypeVarTuple

from tuninglink.workers import worker
from tuninglink.workers.worker import (
    LENGTH,
    JobTimeoutError,
    WorkerCrashedError,
    do_nothing,
    next_page,
)

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
        self._initial = _pickled(initializer or do_nothing, *arguments)
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
        job = _Job(_pickled(function, *arguments), seconds)
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the pool is closed")
            self._jobs.put(job)
            self._unfinished += 1
            if len(self._threads) < min(self._unfinished, self._workers):
                process = WorkerProcess(self._initial, shows_errors=self._shows_errors)
                # A daemon thread: the end of the program does not wait for jobs.
                thread = threading.Thread(target=self._serve, args=(process,), daemon=True)
                self._processes.append(process)
                self._threads.append(thread)
                thread.start()
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

    def _serve(self, process: WorkerProcess) -> None:
        """Run jobs in a process until the pool is closed."""
        while (job := self._jobs.get()) is not None:
            result: object = None
            failure: BaseException | None = None
            is_run = job.future.set_running_or_notify_cancel()
            if is_run:
                try:
                    result = process.run(job.call, job.seconds)
                except BaseException as exception:  # noqa: BLE001 - raised by the future
                    failure = exception
            with self._lock:
                self._unfinished -= 1  # first: a submission from a callback finds this process free
            if failure is not None:
                job.future.set_exception(failure)
            elif is_run:
                job.future.set_result(result)
            del job, result, failure  # releases the result, which may be large
        process.end()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._processes: list[WorkerProcess] = []
        self._threads: list[threading.Thread] = []
        self._unfinished = 0

    def forget(self) -> None:
        """Forget the processes, which belong to the parent of this process."""
        for process in self._processes:
            if process.running is not None:
                process.running.process.returncode = 0  # keeps Popen from waiting for it
                process.running.resources.close()
        self._reset()


@dataclass(frozen=True)
class _Job:
    """A pickled call, its time limit and its future."""

    call: bytes
    seconds: float
    future: Future[Any] = field(default_factory=Future)


def _pickled(function: Callable[..., object], *arguments: object) -> bytes:
    """Pickle a call of a function, which workers must be able to import."""
    if getattr(function, "__module__", None) == "__main__":
        name = getattr(function, "__qualname__", function)
        raise ValueError(f"'{name}' is defined in __main__, which workers do not import")
    return pickle.dumps((function, arguments), pickle.HIGHEST_PROTOCOL)


def finished(result: T) -> Future[T]:
    """Return a future that has its result."""
    future: Future[T] = Future()
    future.set_result(result)
    return future


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def _forget_all() -> None:
    for pool in list(_pools):
        pool.forget()


os.register_at_fork(after_in_child=_forget_all)


# --- A worker process, seen from the command, and the connection to it ---------------------------

_CHUNK: Final = 1 << 18
"""The number of bytes to read at once, at least the capacity of a pipe."""

_KEPT_OUTPUT: Final = 4096
"""The number of bytes of a worker's output that are kept."""

_LONGEST_POLL: Final = 1e9
"""The milliseconds of a wait without a time limit, before the next one: `poll` takes no more than 2**31."""


_START_SECONDS: Final = 60.0
"""The time limit for starting a process and running its initializer."""

_END_SECONDS: Final = 5.0
"""The time a process has to exit after closing its connection."""


@dataclass(eq=False)
class WorkerProcess:
    """A process that runs pickled calls one after the other, the initial one first.

    The first call starts it, and the first call after `end` restarts it.
    """

    initial: bytes
    _: KW_ONLY
    shows_errors: bool = False
    running: _Running | None = field(default=None, init=False)
    # For closing while another thread waits for an outcome.
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _is_closed: bool = field(default=False, init=False)

    def run(self, call: bytes, seconds: float) -> object:
        """Run a call, `(function, arguments)`, and return its result."""
        if self.running is not None and self.running.has_ended(0.0):
            self.end()
        if self.running is None:
            with self._lock:
                if self._is_closed:
                    raise CancelledError
                self.running = _Running(shows_errors=self.shows_errors)
            try:
                self._outcome(self.initial, _START_SECONDS)
            except BaseException:
                self.end()
                raise
        return self._outcome(call, seconds)

    def close(self) -> None:
        """Kill the process permanently. A running call fails."""
        with self._lock:
            self._is_closed = True
            if self.running is not None:
                self.running.kill()

    def terminate(self) -> None:
        """Send SIGTERM to the process, which may handle it; close this before the process has started."""
        with self._lock:
            if self.running is not None:
                with suppress(ProcessLookupError):
                    os.kill(self.running.process.pid, signal.SIGTERM)
            else:
                self._is_closed = True

    def _outcome(self, call: bytes, seconds: float) -> object:
        running = self.running
        assert running is not None
        before = running.processor_seconds
        try:
            frame, memory = running.exchange(call, seconds)
        except TimeoutError:
            taken = running.processor_seconds - before
            self.end()
            raise JobTimeoutError(seconds, taken) from None
        except EOFError:
            if not self._is_closed:
                running.has_ended(_END_SECONDS)  # leaves it time to exit with its own status
            self.end()
            if self._is_closed:
                raise CancelledError from None
            output = running.tail.decode(errors="replace")
            raise WorkerCrashedError(running.process.wait(), output) from None
        except BaseException:  # the rest of the frame is still on its way
            self.end()
            raise
        stream, buffers, place = io.BytesIO(frame), [], 0
        for size in pickle.load(stream):  # noqa: S301 - from our own worker
            buffers.append(memoryview(memory)[place : place + size] if memory else b"")
            place = next_page(place + size)
        succeeded, value = pickle.load(stream, buffers=buffers)  # noqa: S301 - likewise
        if not succeeded:
            raise value
        return value

    def end(self) -> None:
        """Kill the process, wait for it and close the pipes, if there is one."""
        with self._lock:
            running, self.running = self.running, None
            if running is not None:
                running.kill()
                running.process.wait()
                running.read_output()
                running.resources.close()


class _Running:
    """A started process, which exchanges frames over a channel while its output is read."""

    def __init__(self, *, shows_errors: bool) -> None:
        with ExitStack() as resources:
            channel, theirs = map(resources.enter_context, socket.socketpair())
            reader, lifeline = os.pipe()
            resources.callback(os.close, lifeline)
            try:
                inherited = (theirs.fileno(), reader)
                # -P keeps modules in the current directory from shadowing the worker's.
                command = [sys.executable, "-P", "-m", worker.__name__, *map(str, inherited)]
                self.process = subprocess.Popen(  # noqa: S603 - a known command
                    [*command, *map(str, sys.path)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=None if shows_errors else subprocess.STDOUT,
                    bufsize=0,
                    pass_fds=inherited,
                    # A separate process group can be killed as a whole, and an interrupt at the terminal does not
                    # reach it.
                    start_new_session=True,
                )
            finally:
                theirs.close()
                os.close(reader)
            assert self.process.stdout is not None
            output = resources.enter_context(self.process.stdout).fileno()
            descriptor = os.pidfd_open(self.process.pid)
            resources.callback(os.close, descriptor)
            channel.settimeout(0)
            os.set_blocking(output, False)
            self._poll = select.poll()
            self._poll.register(output, select.POLLIN)
            self._poll.register(descriptor, select.POLLIN)
            self._channel, self._output, self._descriptor = channel, output, descriptor
            self.tail = b""  # the end of the output
            self.resources = resources.pop_all()

    @property
    def processor_seconds(self) -> float:
        # The name of the program, in parentheses, may hold anything.
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def has_ended(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def exchange(self, frame: bytes, seconds: float) -> tuple[bytes, mmap.mmap | None]:
        """Send a frame; return the next one that arrives, and the memory that comes with it, if there is any."""
        self.read_output()
        self.tail = b""
        deadline = time.monotonic() + seconds
        try:
            rest = memoryview(LENGTH.pack(len(frame)) + frame)
            while rest:
                try:
                    rest = rest[self._channel.send(rest) :]
                except BlockingIOError:
                    self._wait(select.POLLOUT, deadline)
            header, memory = self._receive(LENGTH.size, deadline)
            (length,) = LENGTH.unpack(header)
            content, _ = self._receive(length, deadline)
            return content, memory
        except ConnectionError:
            raise EOFError from None

    def read_output(self) -> bool:
        """Read the output that the pipe holds. Return False if it is closed."""
        try:
            part = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return True
        self.tail = (self.tail + part)[-_KEPT_OUTPUT:]
        return bool(part)

    def _receive(self, length: int, deadline: float) -> tuple[bytes, mmap.mmap | None]:
        """Receive a number of bytes, and the memory that comes with them."""
        data, memory = bytearray(), None
        while len(data) < length:
            try:
                size = min(_CHUNK, length - len(data))
                part, files, _, _ = socket.recv_fds(self._channel, size, maxfds=1)
            except BlockingIOError:
                self._wait(select.POLLIN, deadline)
                continue
            for descriptor in files:
                # A mapping of the file would hold a descriptor while the result lives.
                memory, place = mmap.mmap(-1, os.fstat(descriptor).st_size), 0
                while place < len(memory):
                    place += os.preadv(descriptor, [memoryview(memory)[place:]], place)
                os.close(descriptor)
            if not part:
                raise EOFError
            data += part
        return bytes(data), memory

    def _wait(self, event: int, deadline: float) -> None:
        """Wait until the channel is ready for an event."""
        self._poll.register(self._channel, event)
        while (rest := deadline - time.monotonic()) > 0.0:
            ready = [file for file, _ in self._poll.poll(min(1000 * rest, _LONGEST_POLL))]
            if self._output in ready and not self.read_output():
                self._poll.unregister(self._output)  # a closed pipe is always ready
            if self._channel.fileno() in ready:
                return
            if self._descriptor in ready:
                raise EOFError
        raise TimeoutError


def processor_count() -> int:
    """Return the number of processors that this process may run on."""
    return len(os.sched_getaffinity(0))
