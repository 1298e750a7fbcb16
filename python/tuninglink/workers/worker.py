"""The main program of a worker process, which receives and runs calls and sends outcomes; and failures of jobs.

A message is a frame: a length of eight bytes, and a pickle of that many bytes. The reply to a call, `(function,
arguments)`, is `(True, result)` or `(False, exception)`.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import pickle
import resource
import select
import signal
import socket
import struct
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.interrupt_hooks import omit_symbols_from_crashes
from tuninglink.lazy import load_on_use

if TYPE_CHECKING:
    from collections.abc import Callable


LENGTH: Final = struct.Struct("<Q")

_LARGE_BYTES: Final = 1 << 20
"""The size from which buffers of outcomes travel in a file in memory."""

_STARVED: Final = 0.5
"""The share of the time limit below which a process counts as waiting for other processes or a device."""

_SIGNALS_FROM_OUTSIDE: Final = frozenset(
    {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
)
"""Signals that a process does not cause itself. The kernel sends SIGKILL when memory runs out."""


@dataclass(eq=False, repr=False)
class JobTimeoutError(Exception):
    """An error for a job whose time limit expired and whose process was killed.

    Attributes:
        seconds: the time limit.
        processor_seconds: the processor time of the process.
    """

    seconds: float
    processor_seconds: float

    @property
    def is_starved(self) -> bool:
        """Whether the process ran for less than half of the time limit, as on a loaded machine."""
        return self.processor_seconds < _STARVED * self.seconds

    def __str__(self) -> str:
        return f"the job did not finish within {self.seconds:g} s"


@dataclass(eq=False, repr=False)
class WorkerCrashedError(Exception):
    """An error for a job whose process ended before the job.

    Attributes:
        code: the exit status, or the negative number of the signal that ended the process.
        output: the end of its standard output and standard error.
    """

    code: int
    output: str

    def __str__(self) -> str:
        return f"the worker process ended ({self.status})"

    @property
    def is_from_outside(self) -> bool:
        """Whether another process killed the worker."""
        return -self.code in _SIGNALS_FROM_OUTSIDE

    @property
    def status(self) -> str:
        """The status of the process in words: `segmentation fault`, `exit code 3`."""
        if self.code < 0:
            return (signal.strsignal(-self.code) or f"signal {-self.code}").lower()
        return f"exit code {self.code}"


class JobError(Exception):
    """A substitute for an exception that cannot be pickled, with the name of its class and its message."""


def main(channel: int, lifeline: int) -> None:
    """Serve calls until the channel is closed."""
    for descriptor in (channel, lifeline):
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - for example by a linker
    # Have the kernel kill this process and its children when the other end of a pipe is closed. A thread that waits for
    # the pipe does not run while native code holds Python's lock. PR_SET_PDEATHSIG acts at the end of the thread that
    # started this process, and does not kill its children.
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:  # closed before the kernel watched it
        os.killpg(0, signal.SIGKILL)
    # Give the session of this process the niceness of the command. Linux groups processes by session for scheduling,
    # and niceness counts within a group only. A worker is alone in its session, so that `nice tuninglink` would have no
    # effect on it.
    if niceness := os.getpriority(os.PRIO_PROCESS, 0):
        # The kernel may have no such groups, or refuse.
        with suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(niceness))
    omit_symbols_from_crashes()
    load_on_use("z3")
    load_on_use("numpy")  # the bindings import it, and take half of their time for it
    _, hard_limit = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard_limit))  # crashes are expected
    with open(channel, "rb", closefd=False) as calls, socket.socket(fileno=channel) as outcomes:
        keeps_result = False  # of the initial call
        while len(header := calls.read(LENGTH.size)) == LENGTH.size:
            call = calls.read(*LENGTH.unpack(header))
            outcome, memory = _run(call, keeps_result=keeps_result)
            keeps_result = True
            socket.send_fds(outcomes, [LENGTH.pack(len(outcome))], memory)
            outcomes.sendall(outcome)
            for descriptor in memory:
                os.close(descriptor)
            del outcome


def do_nothing() -> None:
    """Do nothing, as the default initializer and as the job that starts a process."""


def _run(call: bytes, *, keeps_result: bool) -> tuple[bytes, list[int]]:
    """Return the pickled outcome of a pickled call, and the file in memory with its large buffers, if there are any."""
    large: list[memoryview] = []

    def stays(buffer: pickle.PickleBuffer) -> bool:
        content = buffer.raw()
        is_small = content.nbytes < _LARGE_BYTES
        if not is_small:
            large.append(content)
        return is_small

    try:
        function: Callable[..., object]
        function, arguments = pickle.loads(call)  # noqa: S301 - the command's own
        result = function(*arguments)
        outcome = pickle.dumps(
            (True, result if keeps_result else None),
            pickle.HIGHEST_PROTOCOL,
            buffer_callback=stays,
        )
        if not large:
            return pickle.dumps([]) + outcome, []
        # A file in memory has the large buffers, each at the start of a page: pipes are several times slower.
        descriptor, place = os.memfd_create("tuninglink"), 0
        try:
            for content in large:
                done = 0
                while done < content.nbytes:
                    done += os.pwrite(descriptor, content[done:], place + done)
                place = next_page(place + done)
        except OSError:
            os.close(descriptor)
            raise
        return pickle.dumps([content.nbytes for content in large]) + outcome, [descriptor]
    except Exception as failure:  # noqa: BLE001 - the caller gets it
        # Pickled under the name of this module, not as that of the program, `__main__`.
        from tuninglink.workers.worker import JobError  # noqa: PLC0415

        raised: Exception = failure
        trace = "".join(traceback.format_exception(failure))
        failure.add_note(f"\nIn the worker process:\n{trace}")
        try:
            restored = pickle.loads(pickle.dumps(failure))  # noqa: S301 - just made
        except Exception:  # noqa: BLE001 - the class may raise anything
            restored = None
        if type(restored) is not type(failure) or str(restored) != str(failure):
            raised = JobError(f"{type(failure).__name__}: {failure}")
            raised.add_note(failure.__notes__[-1])
        outcome = pickle.dumps([]) + pickle.dumps((False, raised))
        del raised  # its traceback holds this frame, and all that the job had
        return outcome, []


def next_page(place: int) -> int:
    """Return the first place from the given one on where a page begins."""
    return -(-place // mmap.PAGESIZE) * mmap.PAGESIZE


if __name__ == "__main__":
    channel, lifeline, *sys.path = sys.argv[1:]
    main(int(channel), int(lifeline))
