"""Tuning the dispatches of a program under a set of flags in a separate process, as flags are global to a process."""

from __future__ import annotations

import multiprocessing
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuninglink.cli.interrupts import exit_on_interrupt
from tuninglink.cli.measuring import stopping
from tuninglink.cli.supervision import end_with
from tuninglink.cli.verbosity import Verbosity, set_verbosity, verbosity
from tuninglink.compiler.session import set_up_command_line
from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error
from tuninglink.tuning.scheduling.budget import Budget

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from tuninglink.cli.tune_options import TuneOptions
    from tuninglink.cli.tune_run import Tuned


@dataclass(frozen=True)
class _Job:
    options: TuneOptions
    set_flags: tuple[str, ...]
    command: str
    verbosity: Verbosity


class _Relay(Budget):
    """A budget whose end is a signal to the process that spends it."""

    def __init__(self, process: int) -> None:
        super().__init__()
        self._process = process

    def stop(self) -> None:
        """End the process early. It may have been started to ignore interrupts, so it gets another signal."""
        super().stop()
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGTERM)


def tune_in_process(options: TuneOptions, set_flags: tuple[str, ...], command: str) -> Tuned | None:
    """Tune the dispatches of a program in a separate process; see `tune`.

    Signals that end a run early are passed on.

    Returns:
        The result; None if a signal ended the process before there was one.

    Raises:
        TuninglinkError: the program cannot be tuned, or the compiler crashed.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    job = _Job(options, set_flags, command, verbosity())
    process = context.Process(target=_tune_and_send, args=(job, sender, os.getpid()))
    process.start()
    sender.close()
    assert process.pid is not None
    relay = _Relay(process.pid)
    outcome: Tuned | TuninglinkError | None = None
    with stopping(relay, ""):
        try:
            outcome = receiver.recv()
        except EOFError:
            process.join()
            if not relay.is_stopped:
                crash = error(f"the compiler crashed: exit code {process.exitcode}")
                raise TuninglinkError(crash) from None
    process.join()
    if isinstance(outcome, TuninglinkError):
        raise outcome
    return outcome


def _tune_and_send(job: _Job, sender: Connection, parent: int) -> None:
    """Tune in this process, and send what comes of it."""
    os.setpgid(0, 0)  # An interrupt from the terminal comes from the parent, once.
    end_with(parent)
    set_verbosity(job.verbosity)
    exit_on_interrupt(job.command)
    from tuninglink.cli.tune_run import tune  # noqa: PLC0415 - loads the compiler

    try:
        set_up_command_line(job.command, job.options.flags)
        outcome: Tuned | TuninglinkError = tune(job.options, job.set_flags, job.command)
    except TuninglinkError as failure:
        outcome = failure
    sender.send(outcome)
    sender.close()
    os._exit(0)
