"""The compiler in a process of its own: kept warm, ended when it takes too long, replaced when it crashes."""

from __future__ import annotations

import atexit
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Final, Self

from tuninglink.solver.answers import UndecidedError
from tuninglink.spaces.compiler_worker import LENGTH, OK

if TYPE_CHECKING:
    from collections.abc import Hashable
    from types import TracebackType

_CHUNK = 1 << 16
_GRACE = 5.0
"""Seconds in which a process that closed its output ends as a rule."""

_WORKER = "tuninglink.spaces.compiler_worker"


class CompilerCrashError(UndecidedError):
    """The compiler ended when it was asked."""


class CompilerProcess:
    """Runs the compiler's passes in another process, which starts at the first request.

    Threads may share one; requests are answered one after the other. A process that is forked from this one
    starts its own. Close it, or use it as a context manager.

    Args:
        seconds: how long a request may take.
        command: what to start, for tests; the worker by default.

    Attributes:
        known_crashes: what need not be asked again as the compiler crashes on it, and how it did; whoever asks
            keeps it.
    """

    def __init__(self, seconds: float = 60.0, command: list[str] | None = None) -> None:
        self._seconds = seconds
        # Files that lie where the user happens to be are not to be taken for the worker's modules (-P).
        self._command = command or [sys.executable, "-P", "-m", _WORKER]
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self.known_crashes: dict[Hashable, str] = {}
        _all.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def run(self, pipeline: str, bytecode: bytes) -> bytes:
        """Returns a module as a pass pipeline leaves it.

        Args:
            pipeline: a textual pass pipeline.
            bytecode: a module.

        Raises:
            UndecidedError: the compiler crashed, took too long, or reported an error; says which.
        """
        with self._lock:
            try:
                status, data = self._exchange(pipeline.encode(), bytecode)
            except BaseException:
                self._end()  # an answer to this request must not be taken for one to the next
                raise
        if status != OK:
            raise UndecidedError(f"the compiler reports: {data.decode(errors='replace')}")
        return data

    def close(self) -> None:
        """Ends the process, if there is one; a request that is being answered fails."""
        process = self._process
        if process is not None:
            process.kill()
        with self._lock:
            self._end()

    def forget(self) -> None:
        """Lets go of the process, which is another's: that of the process that this one was forked from."""
        self._lock = threading.Lock()  # a thread that there is no more may have held the other one
        process, self._process = self._process, None
        if process is not None:
            process.returncode = 0  # nobody is to wait for it here
            _close_pipes(process)

    def _exchange(self, *frames: bytes) -> tuple[bytes, bytes]:
        process = self._started()
        channel = _Channel(process, time.monotonic() + self._seconds)
        try:
            for each in frames:
                channel.send(LENGTH.pack(len(each)))
                channel.send(each)
            return channel.frame(), channel.frame()
        except (EOFError, BrokenPipeError):
            raise self._crashed(process) from None
        except TimeoutError:
            message = f"the compiler did not answer within {self._seconds:g} s"
            raise UndecidedError(message) from None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            try:
                self._process = subprocess.Popen(  # noqa: S603 - it is our own worker
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    bufsize=0,
                    start_new_session=True,  # an interrupt at the terminal is for us to handle
                )
            except OSError as failure:
                message = f"the compiler's process does not start: {failure.strerror}"
                raise UndecidedError(message) from None
        return self._process

    def _crashed(self, process: subprocess.Popen[bytes]) -> CompilerCrashError:
        try:
            code = process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            return CompilerCrashError("the compiler's process stopped answering")
        if code < 0:
            how = signal.strsignal(-code) or f"signal {-code}"
            return CompilerCrashError(f"the compiler crashed ({how.lower()})")
        return CompilerCrashError(f"the compiler's process ended (exit code {code})")

    def _end(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.wait()
        _close_pipes(process)


class _Channel:
    """Sends to a process and receives from it, until a deadline."""

    def __init__(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input = process.stdin.fileno()
        self._output = process.stdout.fileno()
        self._deadline = deadline
        os.set_blocking(self._input, False)  # a process that does not read must not keep us waiting

    def send(self, data: bytes) -> None:
        """Sends all of `data`.

        Raises:
            BrokenPipeError: nobody will read it.
            TimeoutError: the deadline has passed.
        """
        rest = memoryview(data)
        while rest:
            self._wait(self._input, selectors.EVENT_WRITE)
            rest = rest[os.write(self._input, rest[:_CHUNK]) :]

    def frame(self) -> bytes:
        """Returns the next frame.

        Raises:
            EOFError: there will be no more.
            TimeoutError: the deadline has passed.
        """
        (length,) = LENGTH.unpack(self._exactly(LENGTH.size))
        return self._exactly(length)

    def _exactly(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            self._wait(self._output, selectors.EVENT_READ)
            chunk = os.read(self._output, min(_CHUNK, length - len(data)))
            if not chunk:
                raise EOFError
            data += chunk
        return bytes(data)

    def _wait(self, file: int, event: int) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(file, event)
            if not selector.select(max(0.0, self._deadline - time.monotonic())):
                raise TimeoutError


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for each in (process.stdin, process.stdout):
        if each is not None:
            each.close()


_all: weakref.WeakSet[CompilerProcess] = weakref.WeakSet()


def _forget_all() -> None:
    for each in list(_all):
        each.forget()


os.register_at_fork(after_in_child=_forget_all)


_SHARED: Final = CompilerProcess()
atexit.register(_SHARED.close)


def shared_compiler() -> CompilerProcess:
    """Returns the compiler process that everything in this process shares; it ends with this one."""
    return _SHARED
