"""Running a command in a child process, so that a crash of the compiler ends with an error.

The compiler runs in the process of the command. Where it aborts or runs into a signal, nothing in that process can
report it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

_RELAYED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that are meant for the command: the child receives them, and how it ends decides."""

_CRASHES: Final = (
    *(signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV),
    *(signal.SIGSYS, signal.SIGTRAP, signal.SIGKILL),
)
"""Signals that end a process because of what it does. The kernel sends SIGKILL where memory runs out."""

_SET_PARENT_DEATH_SIGNAL: Final = 1
"""PR_SET_PDEATHSIG of <sys/prctl.h>."""


def continue_in_child() -> None:
    """Forks, and returns in the child; the parent waits and ends as the child does.

    To be called before there are threads. If the child crashes, the parent reports it and ends with exit code 1. If
    the parent is killed, the child is, too.
    """
    parent = os.getpid()
    # A signal before the handlers are set would end the parent alone.
    signal.pthread_sigmask(signal.SIG_BLOCK, _RELAYED)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _RELAYED)
        end_with(parent)
        return
    for signal_ in _RELAYED:
        if signal.getsignal(signal_) != signal.SIG_IGN:
            signal.signal(signal_, lambda number, _: os.kill(child, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _RELAYED)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        os._exit(code)
    if -code in _CRASHES:
        _report_crash(signal.Signals(-code))
        os._exit(1)
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    os._exit(128 - code)  # The signal does not end processes by default.


def end_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends."""
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # It ended before.


def _report_crash(number: signal.Signals) -> None:
    # Only a crash loads them here.
    from tuninglink.cli import process  # noqa: PLC0415
    from tuninglink.mlir.diagnostics import error, note  # noqa: PLC0415

    reason = (signal.strsignal(number) or number.name).lower()
    if number == signal.SIGKILL:
        remedy = "the system kills processes when memory runs out"
    else:
        remedy = "if 'iree-compile' with the same flags crashes, too, it is a bug of the compiler"
    process.show(error(f"the compiler crashed: {reason}", notes=[note(remedy)]))
    sys.stderr.flush()
