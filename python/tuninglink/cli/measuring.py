"""Common parts of the commands that measure candidates: outputs, time and interruption."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.database import open_database
from tuninglink.files import check_directory, check_output
from tuninglink.interrupt_hooks import run_interrupt_hooks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.tuning.options import MeasuringOptions
    from tuninglink.tuning.scheduling.budget import Budget


_END_SECONDS: Final = 0.5
"""The time for writing results and ending processes, in seconds."""

_LEAST_SECONDS: Final = 1.0


def check_outputs(options: MeasuringOptions) -> None:
    """Check that results can be written before measuring.

    Raises:
        TuninglinkError: the output, the database or the directory for failures is not writable.
    """
    check_output(options.output)
    if options.database:
        check_output(options.database)
        open_database(options.database).close()
    if options.failures:
        check_directory(options.failures)


def time_left(seconds: float) -> float:
    """Return the part of a command's time limit that is left for measuring, without startup and shutdown."""
    return max(_LEAST_SECONDS, seconds - process.elapsed() - _END_SECONDS)


_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a run early: interrupt, termination, and a closed terminal."""


@contextmanager
def stopping(budget: Budget, program: str) -> Iterator[None]:
    """End the budget on a signal during a block, and end the process on a second one.

    Signals that the parent process ignores stay ignored.

    Args:
        budget: the budget to end.
        program: the program name in the message.
    """
    watched = [number for number in _ENDING if signal.getsignal(number) != signal.SIG_IGN]

    def stop(number: int, _: object) -> None:
        if budget.is_stopped:
            try:
                run_interrupt_hooks()
            finally:
                os._exit(_SIGNALED + number)
        budget.stop()
        with suppress(OSError):  # the terminal may be closed
            os.write(2, f"\n{program}: interrupted; ending with what is known so far\n".encode())

    before = {number: signal.signal(number, stop) for number in watched}
    watcher = signal.set_wakeup_fd(-1)  # its reader would end the process
    try:
        yield
    finally:
        signal.set_wakeup_fd(watcher, warn_on_full_buffer=False)
        for number, handler in before.items():
            signal.signal(number, handler)


_SIGNALED: Final = 128
"""The offset of shell exit codes for signals."""
