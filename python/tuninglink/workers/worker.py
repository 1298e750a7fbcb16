"""The main program of a worker process: receives calls, runs them and sends their outcomes.

Messages are frames: a length of eight bytes, then that many bytes of a pickle. A call, `(function, arguments)`, is
answered with `(True, result)` or `(False, exception)`.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import resource
import select
import signal
import struct
import sys
import traceback
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from collections.abc import Callable

LENGTH: Final = struct.Struct("<Q")


def main(channel: int, lifeline: int) -> None:
    """Answers calls until there are no more.

    Args:
        channel: the socket that calls come from and outcomes go to.
        lifeline: the reading end of a pipe whose other end only the command holds.
    """
    for each in (channel, lifeline):
        os.set_inheritable(each, False)  # noqa: FBT003 - not by a linker, say
    die_with(lifeline)
    _, hard_limit = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard_limit))  # crashes are expected
    with open(channel, "rb", closefd=False) as calls, open(channel, "wb") as outcomes:
        while (call := _receive(calls)) is not None:
            outcome = _run(call)
            outcomes.write(LENGTH.pack(len(outcome)))
            outcomes.write(outcome)
            outcomes.flush()
            del call, outcome


def die_with(lifeline: int) -> None:
    """Has the kernel kill this process and those it starts once the other end of a pipe is closed.

    A thread that waits for the end of the pipe would not do: it does not run while native code holds Python's
    lock. Nor would PR_SET_PDEATHSIG: it follows the thread that started this process, and spares its children.
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:  # closed before the kernel watched it
        os.killpg(0, signal.SIGKILL)


def initialize(initializer: Callable[..., object], arguments: tuple[object, ...]) -> None:
    """Runs an initializer, whose result nobody needs."""
    initializer(*arguments)


def do_nothing() -> None:
    """Is the initializer where there is none, and the job that has a process start."""


def _receive(stream: BinaryIO) -> bytes | None:
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(header)
    return stream.read(length)


def _run(call: bytes) -> bytes:
    """Returns the pickled outcome of a pickled call."""
    try:
        function: Callable[..., object]
        function, arguments = pickle.loads(call)  # noqa: S301 - the command's own
        return pickle.dumps((True, function(*arguments)), pickle.HIGHEST_PROTOCOL)
    except Exception as failure:  # noqa: BLE001 - the caller gets it
        return pickle.dumps((False, _portable(failure)), pickle.HIGHEST_PROTOCOL)


def _portable(failure: Exception) -> Exception:
    """Returns an exception that survives pickling, with the traceback as a note."""
    from tuninglink.workers.job_failures import JobError  # noqa: PLC0415 - found through the command's sys.path

    trace = "".join(traceback.format_exception(failure))
    failure.add_note(f"\nIn the worker process:\n{trace}")
    try:
        restored = pickle.loads(pickle.dumps(failure))  # noqa: S301 - just made
    except Exception:  # noqa: BLE001 - whatever its class does
        restored = None
    if type(restored) is type(failure) and str(restored) == str(failure):
        return failure
    substitute = JobError(f"{type(failure).__name__}: {failure}")
    substitute.add_note(failure.__notes__[-1])
    return substitute


if __name__ == "__main__":
    channel, lifeline, *sys.path = sys.argv[1:]
    main(int(channel), int(lifeline))
