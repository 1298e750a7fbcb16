"""`tuninglink`: the start of the process, with its standard streams, interrupts and a supervising parent process.

The compiler is loaded only after the start, and runs in the process of the command. If the compiler aborts or receives
a fatal signal, only the parent process can report it.
"""

from __future__ import annotations

import ctypes
import gc
import io
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Final, NoReturn

from tuninglink.cli.terminal import FoldedText
from tuninglink.compiler_plugins import load_compiler
from tuninglink.interrupt_hooks import omit_symbols_from_crashes, run_interrupt_hooks
from tuninglink.lazy import load_on_use

if TYPE_CHECKING:
    from typing_extensions import Buffer


def occupy_standard_streams() -> None:
    """Open the null device in place of standard streams that are closed.

    Otherwise a file opened later would become a standard stream, and Python's stream object would be None. The null
    device is opened for the opposite direction, so reading input and writing results fail with an error. Diagnostics
    are discarded.
    """
    for descriptor, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is taken.
            os.open(os.devnull, flags)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - open as long as the process
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def wrap_streams() -> None:
    """Make failing writes to standard output raise a user error, and break long lines between words on terminals.

    Libraries that write help texts do not catch errors of the operating system.
    """
    stream = sys.stdout
    sys.stdout = (FoldedText if stream.isatty() else io.TextIOWrapper)(
        io.BufferedWriter(_StandardOutput(1, "wb", closefd=False)),
        encoding=stream.encoding,
        errors="replace",  # such as a file name that is not UTF-8, or a rule in another encoding
        line_buffering=stream.isatty(),
    )
    stream = sys.stderr
    if stream.isatty():
        sys.stderr = FoldedText(
            io.BufferedWriter(io.FileIO(2, "wb", closefd=False)),
            encoding=stream.encoding,
            errors=stream.errors,
            line_buffering=True,
        )


class _StandardOutput(io.FileIO):
    """A standard output stream whose failures, except for a closed pipe, are user errors."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as failure:
            # Loading the compiler takes most of the time; an interrupt meanwhile is to end well, too.
            from tuninglink.errors import TuninglinkError  # noqa: PLC0415
            from tuninglink.files import cannot  # noqa: PLC0415

            raise TuninglinkError(cannot("write", "<stdout>", failure)) from None


INTERRUPTED = 130
"""The exit code that a shell reports for a program that was ended by an interrupt."""


def exit_on_interrupt(program: str) -> None:
    """Make an interrupt end the process with a one-line message and exit code 130, after the interrupt hooks.

    Python's own handler would have to wait until the compiler returns. Call this function from the main thread.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # Started in the background, where interrupts are meant for others.
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    # The signal's number is written to the pipe before a handler is called; it has nothing to do.
    signal.signal(signal.SIGINT, lambda *_: None)

    def watch() -> None:
        while os.read(reader, 1)[0] != signal.SIGINT:
            pass
        try:
            run_interrupt_hooks()
            os.write(2, f"{program}: interrupted\n".encode())
        finally:  # the reader of standard error may be gone
            os._exit(INTERRUPTED)

    threading.Thread(target=watch, daemon=True).start()


_RELAYED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that are meant for the command: the child receives them, and how it ends decides."""

_CRASHES: Final = (
    *(signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV),
    *(signal.SIGSYS, signal.SIGTRAP, signal.SIGKILL),
)
"""Signals that end a process because of its own actions. The kernel sends SIGKILL where memory runs out."""

_FROM_KERNEL: Final = 0x80
"""SI_KERNEL of <bits/siginfo-consts.h>, the origin of a terminal's signals."""

_SET_PARENT_DEATH_SIGNAL: Final = 1
"""PR_SET_PDEATHSIG of <sys/prctl.h>."""


def continue_in_child() -> None:
    """Fork, and return in the child; the parent waits and exits with the child's exit code.

    Call this function before starting threads. If the child crashes, the parent reports it and exits with code 1. If
    the parent is killed, the child is killed as well.
    """
    parent = os.getpid()
    relayed = [number for number in _RELAYED if signal.getsignal(number) != signal.SIG_IGN]
    awaited = (signal.SIGCHLD, *relayed)
    # A signal before the parent waits for it would end the parent alone.
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, awaited)
        # Request that the kernel kill this process when its parent ends.
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)  # It ended before.
        return
    # Relay signals until the child ends. A terminal sends its signals to both processes; relaying them would interrupt the
    # child twice. A second interrupt ends commands that would finish their work after the first.
    ended = 0, 0
    while not ended[0]:
        received = signal.sigwaitinfo(awaited)
        if received.si_signo == signal.SIGCHLD:
            ended = os.waitpid(child, os.WNOHANG)
        elif received.si_code != _FROM_KERNEL:
            os.kill(child, received.si_signo)
    code = os.waitstatus_to_exitcode(ended[1])  # negative for a signal
    if code >= 0:
        os._exit(code)
    if -code in _CRASHES:
        # Only a crash loads them here.
        from tuninglink.cli import process  # noqa: PLC0415
        from tuninglink.mlir import error, note  # noqa: PLC0415

        number = signal.Signals(-code)
        reason = (signal.strsignal(number) or number.name).lower()
        remedy = "if 'iree-compile' with the same flags crashes, too, it is a bug of the compiler"
        if number == signal.SIGKILL:
            remedy = "the system kills processes when memory runs out"
        process.show(error(f"the compiler crashed: {reason}", notes=[note(remedy)]))
        sys.stderr.flush()
        os._exit(1)
    signal.signal(-code, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, awaited)
    os.kill(os.getpid(), -code)
    os._exit(128 - code)  # The signal does not end processes by default.


_COLLECTION_THRESHOLDS: Final = (50_000, 20, 20)
"""With Python's own thresholds, the garbage collector takes 4 % of a check. Few objects refer to each other."""


def main() -> NoReturn:
    """Run the command line of this process and end it with the command's exit code."""
    occupy_standard_streams()
    omit_symbols_from_crashes()
    continue_in_child()
    wrap_streams()
    exit_on_interrupt("tuninglink")
    gc.set_threshold(*_COLLECTION_THRESHOLDS)
    load_on_use("z3")
    load_on_use("numpy")  # the bindings import it, and take half of their time for it
    arguments, plugin_failures = load_compiler(sys.argv[1:])
    # Loading the compiler takes most of the time; an interrupt meanwhile is to end well, too.
    from tuninglink.cli import process  # noqa: PLC0415
    from tuninglink.cli.terminal import take_verbosity  # noqa: PLC0415

    code = process.run(take_verbosity(arguments), plugin_failures)
    sys.stderr.flush()
    # All is written. Destroying large programs and specs, operation by operation, would only take time.
    os._exit(code)


if __name__ == "__main__":
    main()
