"""What the measuring commands (`tune`, `retune` and `verify`) share: flags, checks, and the end of their time."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tuninglink.cli import process
from tuninglink.cli.database import open_database
from tuninglink.cli.usage import Positional
from tuninglink.files import check_directory, check_output
from tuninglink.interrupt_hooks import run_interrupt_hooks
from tuninglink.llvm_flags import flags_of, options_from
from tuninglink.tuning.deciding import MeasuringOptions, TuningSettings
from tuninglink.tuning.programs import CallOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.compiler import FlagReader
    from tuninglink.tuning.deciding import Budget


PROGRAM_ARGUMENT: Final[Positional] = Positional(
    "INPUT",
    "A program in MLIR, a model of ONNX (*.onnx), one dispatch, or a dispatch benchmark that iree-compile has dumped; "
    "- is standard input.",
)

CALL_FLAGS: Final = flags_of(CallOptions)
"""The flags for calls of the whole program."""

MEASURING_FLAGS: Final = flags_of(MeasuringOptions)
"""The flags of all commands that measure candidates."""

_Options = TypeVar("_Options", bound=MeasuringOptions)
_DEFAULT_SECONDS: Final = 600.0


def measuring_options(kind: type[_Options], reader: FlagReader, **others: Any) -> _Options:
    """Return the options of a command that measures candidates, in limited time unless the trials are limited."""
    options = options_from(kind, reader.values, flags=reader.flags, **others)
    settings = options.settings
    if settings.trials is None and settings.seconds == TuningSettings.seconds:
        settings = replace(settings, seconds=_DEFAULT_SECONDS)
    return replace(options, settings=settings)


_END_SECONDS: Final = 0.5
"""The time for writing results and ending processes, in seconds."""

_LEAST_SECONDS: Final = 1.0


def check_outputs(options: MeasuringOptions) -> None:
    """Check that results can be written before measuring."""
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
