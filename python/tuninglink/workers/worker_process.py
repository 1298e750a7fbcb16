"""A worker process, seen from the command, and the connection to it."""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from tuninglink.workers import worker
from tuninglink.workers.worker import LENGTH, JobTimeoutError, WorkerCrashedError

_CHUNK: Final = 1 << 18
"""The number of bytes to read at once, at least the capacity of a pipe."""

_KEPT_OUTPUT: Final = 4096
"""The number of bytes of a worker's output that are kept."""

_LONGEST_POLL: Final = 1e9
"""The milliseconds of a wait without a time limit, before the next one: `poll` takes no more than 2**31."""


class Connection:
    """A connection that exchanges frames with a worker and concurrently reads its output.

    Args:
        channel: the socket for frames.
        output: the reading end of the pipe for the worker's output.
        process: a descriptor of the process, as from `os.pidfd_open`.
    """

    def __init__(self, channel: socket.socket, output: int, process: int) -> None:
        self._channel = channel
        self._output = output
        self._process = process
        self._tail = b""
        channel.settimeout(0)
        os.set_blocking(output, False)
        self._poll = select.poll()
        self._poll.register(output, select.POLLIN)
        self._poll.register(process, select.POLLIN)

    def exchange(self, frame: bytes, seconds: float) -> bytes:
        """Send a frame and return the next one that arrives.

        Raises:
            EOFError: the process ended, or closed the channel.
            TimeoutError: the time limit expired.
        """
        self.read_output()
        self._tail = b""
        deadline = time.monotonic() + seconds
        try:
            self._send(frame, deadline)
            (length,) = LENGTH.unpack(self._receive(LENGTH.size, deadline))
            return self._receive(length, deadline)
        except ConnectionError:
            raise EOFError from None

    @property
    def last_output(self) -> str:
        """The end of the output that was read since the last frame was sent."""
        return self._tail.decode(errors="replace")

    def read_output(self) -> bool:
        """Read the output that the pipe holds. Return False if it is closed."""
        try:
            part = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return True
        self._tail = (self._tail + part)[-_KEPT_OUTPUT:]
        return bool(part)

    def _send(self, frame: bytes, deadline: float) -> None:
        rest = memoryview(LENGTH.pack(len(frame)) + frame)
        while rest:
            try:
                rest = rest[self._channel.send(rest) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, deadline)

    def _receive(self, length: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < length:
            try:
                part = self._channel.recv(min(_CHUNK, length - len(data)))
            except BlockingIOError:
                self._wait(select.POLLIN, deadline)
                continue
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def _wait(self, event: int, deadline: float) -> None:
        """Wait until the channel is ready for an event."""
        self._poll.register(self._channel, event)
        while (rest := deadline - time.monotonic()) > 0.0:
            ready = [file for file, _ in self._poll.poll(min(1000 * rest, _LONGEST_POLL))]
            if self._output in ready and not self.read_output():
                self._poll.unregister(self._output)  # a closed pipe is always ready
            if self._channel.fileno() in ready:
                return
            if self._process in ready:
                raise EOFError
        raise TimeoutError


_START_SECONDS: Final = 60.0
"""The time limit for starting a process and running its initializer."""

_END_SECONDS: Final = 5.0
"""The time a process has to exit after closing its connection."""


class WorkerProcess:
    """A process that runs pickled calls one after the other, the initial one first.

    The first call starts it, and the first call after `end` restarts it.

    Args:
        initial: the initial call.
        shows_errors: whether its standard error is that of this process, and not kept.
    """

    def __init__(self, initial: bytes, *, shows_errors: bool = False) -> None:
        self._initial = initial
        self._shows_errors = shows_errors
        self._running: _Running | None = None
        self._lock = threading.Lock()  # for closing while another thread waits for an outcome
        self._is_closed = False

    def run(self, call: bytes, seconds: float) -> object:
        """Run a call, `(function, arguments)`, and return its result.

        Raises:
            CancelledError: `close` was called.
            JobTimeoutError: the call took longer than `seconds`, not counting the start of the process.
            WorkerCrashedError: the process ended.
            Exception: the exception of the function.
        """
        if self._running is not None and self._running.has_ended(0.0):
            self.end()
        if self._running is None:
            self._start()
        return self._outcome(call, seconds)

    def close(self) -> None:
        """Kill the process permanently. A running call fails."""
        with self._lock:
            self._is_closed = True
            if self._running is not None:
                self._running.kill()

    def terminate(self) -> None:
        """Send SIGTERM to the process, which may handle it; close this before the process has started."""
        with self._lock:
            if self._running is not None:
                self._running.terminate()
            else:
                self._is_closed = True

    def forget(self) -> None:
        """Release the parent's process in a forked child."""
        if self._running is not None:
            self._running.forget()

    def _start(self) -> None:
        with self._lock:
            if self._is_closed:
                raise CancelledError
            self._running = _Running(shows_errors=self._shows_errors)
        try:
            self._outcome(self._initial, _START_SECONDS)
        except BaseException:
            self.end()
            raise

    def _outcome(self, call: bytes, seconds: float) -> object:
        running = self._running
        assert running is not None
        before = running.processor_seconds
        try:
            frame = running.connection.exchange(call, seconds)
        except TimeoutError:
            taken = running.processor_seconds - before
            self.end()
            raise JobTimeoutError(seconds, taken) from None
        except EOFError:
            raise self._crashed() from None
        succeeded, value = pickle.loads(frame)  # noqa: S301 - from our own worker
        if not succeeded:
            raise value
        return value

    def _crashed(self) -> Exception:
        """End a process that closed its connection, and return the exception to raise."""
        running = self._running
        assert running is not None
        if not self._is_closed:
            running.has_ended(_END_SECONDS)  # leaves it time to exit with its own status
        self.end()
        return CancelledError() if self._is_closed else running.crash()

    def end(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            running, self._running = self._running, None
            if running is not None:
                running.end()


class _Running:
    """A started process and its pipes."""

    def __init__(self, *, shows_errors: bool) -> None:
        with ExitStack() as resources:
            channel, theirs = map(resources.enter_context, socket.socketpair())
            reader, lifeline = os.pipe()
            resources.callback(os.close, lifeline)
            try:
                self._process = _spawn(theirs.fileno(), reader, shows_errors=shows_errors)
            finally:
                theirs.close()
                os.close(reader)
            assert self._process.stdout is not None
            output = resources.enter_context(self._process.stdout)
            self._descriptor = os.pidfd_open(self._process.pid)
            resources.callback(os.close, self._descriptor)
            self.connection = Connection(channel, output.fileno(), self._descriptor)
            self._resources = resources.pop_all()

    @property
    def processor_seconds(self) -> float:
        """The processor time of the process so far."""
        # The name of the program, in parentheses, may hold anything.
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def has_ended(self, seconds: float) -> bool:
        """Return whether the process ends within `seconds`. It remains a zombie, so that its ID stays reserved."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def kill(self) -> None:
        """Kill the process and its children."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def terminate(self) -> None:
        """Send SIGTERM to the process alone."""
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGTERM)

    def end(self) -> None:
        """Kill the process, wait for it and close the pipes."""
        self.kill()
        self._process.wait()
        self.connection.read_output()
        self._resources.close()

    def crash(self) -> WorkerCrashedError:
        """Return the status and the output of an ended process."""
        return WorkerCrashedError(self._process.wait(), self.connection.last_output)

    def forget(self) -> None:
        """Close the pipes without notifying the process."""
        self._process.returncode = 0  # keeps Popen from waiting for it
        self._resources.close()


def _spawn(channel: int, lifeline: int, *, shows_errors: bool) -> subprocess.Popen[bytes]:
    # -P keeps modules in the current directory from shadowing the worker's.
    command = [sys.executable, "-P", "-m", worker.__name__, str(channel), str(lifeline)]
    command += map(str, sys.path)
    return subprocess.Popen(  # noqa: S603 - a known command
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if shows_errors else subprocess.STDOUT,
        bufsize=0,
        pass_fds=(channel, lifeline),
        # A separate process group can be killed as a whole, and an interrupt at the terminal does not reach it.
        start_new_session=True,
    )
