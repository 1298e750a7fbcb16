"""Worker processes as forks of one process, which has loaded what they load.

A worker takes 0.4 seconds of processor time to start, most of it for imports, and the tests start a thousand. A fork
has the arguments, the environment, the folder and the niceness that a started process would have. Tests of the pool
itself, and those of commands in processes of their own, start processes.
"""

from __future__ import annotations

import atexit
import gc
import os
import pickle
import select
import socket
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn
from unittest.mock import patch

from forked_commands import ending_process, load_commands

from tuninglink.workers import pool, worker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

_LENGTH: Final = struct.Struct("<Q")
_NUMBER: Final = struct.Struct("<i")
_STANDARD_ERROR: Final = 2

_PROGRAM: Final = """
import sys
sys.path.insert(0, sys.argv[1])
from forked_workers import serve
serve(sys.argv[2])
"""

_starting: Final = threading.Lock()
_server = ""
"""The address of the process that forks workers, which its forks inherit."""


class _Start(NamedTuple):
    """A request for a worker. Its channel, its lifeline, and its outputs are sent along."""

    path: Sequence[str]
    environment: dict[str, str]
    folder: str
    niceness: int


class ForkedProcess:
    """A worker that the server forks: the part of `subprocess.Popen` that a pool uses."""

    def __init__(
        self, command: Sequence[str], *, stderr: int | None, pass_fds: tuple[int, int], **_: object
    ) -> None:
        start_server()
        path = command[command.index(worker.__name__) + 1 + len(pass_fds) :]
        niceness = os.getpriority(os.PRIO_PROCESS, 0)
        start = pickle.dumps(_Start(path, dict(os.environ), str(Path.cwd()), niceness))
        reader, writer = os.pipe()
        self.stdout = os.fdopen(reader, "rb", buffering=0)  # the pool closes it
        self._server = socket.socket(socket.AF_UNIX)
        self._server.connect(f"\0{_server}")
        errors = writer if stderr == subprocess.STDOUT else _STANDARD_ERROR
        socket.send_fds(self._server, [_LENGTH.pack(len(start))], [*pass_fds, writer, errors])
        self._server.sendall(start)
        os.close(writer)
        (self.pid,) = _NUMBER.unpack(_receive(self._server, _NUMBER.size))
        self.returncode: int | None = None

    def wait(self) -> int:
        """Wait for the end of the process, and return its exit status."""
        if self.returncode is None:
            self._server.sendall(b"w")
            (status,) = _NUMBER.unpack(_receive(self._server, _NUMBER.size))
            self.returncode = os.waitstatus_to_exitcode(status)
            self._server.close()
        return self.returncode


FORKING: Final[Any] = SimpleNamespace(**{**vars(subprocess), "Popen": ForkedProcess})
"""The module `subprocess` for `tuninglink.workers.pool`."""


def started_workers() -> AbstractContextManager[object]:
    """Have pools start processes in the block."""
    return patch.object(pool, "subprocess", subprocess)


def start_server() -> None:
    """Start the process that forks workers for this process and its forks, until this process ends."""
    global _server  # noqa: PLW0603 - one for the process
    with _starting:
        if _server:
            return
        address, owner = f"tuninglink-workers-{os.getpid()}", os.getpid()
        server = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(Path(__file__).parent), address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ,
            start_new_session=True,  # an interrupt is for the tests
        )
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdout.readline()
        _server = address

    def end() -> None:
        if os.getpid() == owner:
            server.stdin.close()
            server.wait()

    atexit.register(end)


def _receive(connection: socket.socket, length: int) -> bytes:
    content = b""
    while len(content) < length:
        part = connection.recv(length - len(content))
        if not part:
            raise EOFError
        content += part
    return content


def serve(address: str) -> NoReturn:
    """Fork a process for each connection, until standard input is closed."""
    global _server  # noqa: PLW0603 - workers may have workers
    _server = address
    import numpy as np  # noqa: F401, PLC0415
    import z3  # noqa: F401, PLC0415
    from iree import runtime  # noqa: F401, PLC0415

    load_commands()
    import tuninglink.devices.device_set  # noqa: PLC0415
    import tuninglink.tuning.candidates.compilation  # noqa: PLC0415
    import tuninglink.tuning.references.references  # noqa: PLC0415
    import tuninglink.tuning.whole_run  # noqa: F401, PLC0415

    pool.subprocess = FORKING
    gc.freeze()  # a collection in a fork would copy what it visits
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{address}")
        server.listen(64)
        print(flush=True)  # noqa: T201
        running = 0
        while True:
            ready, _, _ = select.select([server, sys.stdin], [], [])
            if sys.stdin in ready:
                break
            connection, _ = server.accept()
            with connection:
                if os.fork() == 0:
                    server.close()
                    _start(connection)
            running += 1
            running -= _ended(running)
    _ended(running)  # counts their processor time
    os._exit(0)  # the bindings would report frozen objects as leaks


def _ended(running: int) -> int:
    """Wait for the children that have ended, and return their number."""
    count = 0
    while count < running and os.waitpid(-1, os.WNOHANG)[0]:
        count += 1
    return count


def _start(connection: socket.socket) -> NoReturn:
    """Fork a worker, and hand its exit status on when it is asked for."""
    with suppress(EOFError):
        header, files, _, _ = socket.recv_fds(connection, _LENGTH.size, 4)
        start = _Start(*pickle.loads(_receive(connection, *_LENGTH.unpack(header))))
        process = os.fork()
        if process == 0:
            _work(connection, start, files)
        for file in files:
            os.close(file)
        # Until then it has its number: the caller may signal it.
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
        connection.recv(1)
        _, status = os.waitpid(process, 0)
        with suppress(OSError):
            connection.sendall(_NUMBER.pack(status))
    os._exit(0)


def _work(connection: socket.socket, start: _Start, files: Sequence[int]) -> NoReturn:
    """Be the worker that was asked for, as Python would after its start."""
    channel, lifeline, output, errors = files
    with ending_process():
        os.setsid()
        connection.sendall(_NUMBER.pack(os.getpid()))
        connection.close()
        os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
        os.dup2(output, sys.stdout.fileno())
        os.dup2(errors, sys.stderr.fileno())
        os.close(output)
        os.close(errors)
        os.environ.clear()
        os.environ.update(start.environment)
        os.chdir(start.folder)
        os.setpriority(os.PRIO_PROCESS, 0, start.niceness)
        sys.path[:] = start.path
        sys.argv = [worker.__name__]
        worker.main(channel, lifeline)
