"""The compiler in a process of its own: kept warm, ended when it takes too long, replaced when it crashes."""

from __future__ import annotations

import atexit
import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Self

from tuninglink.constraints.answers import UndecidedError
from tuninglink.constraints.compiler_worker import LENGTH, OK

if TYPE_CHECKING:
    from types import TracebackType

_CHUNK = 1 << 16


class CompilerProcess:
    """Runs the compiler's passes in another process, which starts at the first request.

    Threads may share one; requests are answered one after the other. Close it, or use it as a context manager.

    Args:
        seconds: how long a request may take.
        command: what to start, for tests; the worker by default.
    """

    def __init__(self, seconds: float = 60.0, command: list[str] | None = None) -> None:
        self._seconds = seconds
        self._command = command or [sys.executable, "-m", "tuninglink.constraints.compiler_worker"]
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

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
        """Ends the process, if there is one."""
        with self._lock:
            self._end()

    def _exchange(self, *frames: bytes) -> tuple[bytes, bytes]:
        process = self._started()
        assert process.stdin is not None
        try:
            for each in frames:
                process.stdin.write(LENGTH.pack(len(each)))
                process.stdin.write(each)
            process.stdin.flush()
        except OSError:
            raise self._crashed(process) from None
        reader = _Reader(process, time.monotonic() + self._seconds)
        try:
            return reader.frame(), reader.frame()
        except EOFError:
            raise self._crashed(process) from None
        except TimeoutError:
            message = f"the compiler did not answer within {self._seconds:g} s"
            raise UndecidedError(message) from None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            try:
                self._process = subprocess.Popen(  # noqa: S603 - it is our own worker
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # an interrupt at the terminal is for us to handle
                )
            except OSError as failure:
                message = f"the compiler's process does not start: {failure.strerror}"
                raise UndecidedError(message) from None
        return self._process

    def _crashed(self, process: subprocess.Popen[bytes]) -> UndecidedError:
        code = process.wait()
        if code < 0:
            how = signal.strsignal(-code) or f"signal {-code}"
            return UndecidedError(f"the compiler crashed ({how.lower()})")
        return UndecidedError(f"the compiler's process ended (exit code {code})")

    def _end(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.wait()
        for each in (process.stdin, process.stdout):
            if each is not None:
                with contextlib.suppress(OSError):  # what was buffered for a process that is gone
                    each.close()


class _Reader:
    """Reads frames from a process until a deadline."""

    def __init__(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        assert process.stdout is not None
        self._file = process.stdout.fileno()
        self._deadline = deadline

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
        with selectors.DefaultSelector() as selector:
            selector.register(self._file, selectors.EVENT_READ)
            while len(data) < length:
                if not selector.select(max(0.0, self._deadline - time.monotonic())):
                    raise TimeoutError
                chunk = os.read(self._file, min(_CHUNK, length - len(data)))
                if not chunk:
                    raise EOFError
                data += chunk
        return bytes(data)


_shared: dict[int, CompilerProcess] = {}
_shared_lock = threading.Lock()


def shared_compiler() -> CompilerProcess:
    """Returns the compiler process that everything in this process shares."""
    with _shared_lock:
        # A fork inherits the table: its parent's process is not its own.
        process = _shared.get(os.getpid())
        if process is None:
            process = _shared[os.getpid()] = CompilerProcess()
            atexit.register(process.close)
        return process
