"""Common parts of the commands that measure candidates: devices, compiler, database and interruption."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.database import open_database
from tuninglink.cli.terminal import is_quiet
from tuninglink.cli.tune_progress import ProgressLines
from tuninglink.errors import TuninglinkError
from tuninglink.files import check_directory, check_output
from tuninglink.interrupt_hooks import run_interrupt_hooks
from tuninglink.mlir.diagnostics import error, note
from tuninglink.tuning import Listener
from tuninglink.tuning.candidates.compilation import CandidateCompiler
from tuninglink.tuning.database import Database
from tuninglink.tuning.devices import Settings
from tuninglink.tuning.devices.local import Devices
from tuninglink.tuning.references import References
from tuninglink.tuning.results.journal import Journal
from tuninglink.tuning.results.reproducers import Reproducers
from tuninglink.tuning.scheduling import Stage, Timeline
from tuninglink.tuning.scheduling.task_tuner import TaskTuner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.cli.measuring_options import MeasuringOptions
    from tuninglink.tuning.devices.device_set import DeviceSet
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


@dataclass(frozen=True)
class Measuring:
    """The measurements of a command.

    Attributes:
        options: the options of the command.
        uris: the URIs of the devices.
    """

    options: MeasuringOptions
    uris: Sequence[str]

    @contextmanager
    def tuner(self, timeline: Timeline) -> Iterator[TaskTuner]:
        """Open everything that tuning requires, for the duration of a block.

        Args:
            timeline: records the time of the stages.

        Raises:
            TuninglinkError: a device, the database or a directory cannot be opened.
        """
        options, settings = self.options, self.options.settings
        timing = Settings(caches=settings.caches, seed=settings.seed)
        with ExitStack() as opened:
            database = opened.enter_context(
                open_database(options.database) if options.database else Database()
            )
            reproducers = None
            if options.failures:
                reproducers = Reproducers(options.failures, options.flags, settings.seed)
            with timeline.stage(Stage.DEVICES):
                devices, compiler = self._machines(opened, timing)
            timeline.watch(devices)
            journal = Journal(database, devices.first.description, settings, options.flags)
            listener = Listener() if is_quiet() else ProgressLines()
            references = None
            if settings.checks_defaults and not options.cluster:
                references = opened.enter_context(
                    References.within(settings.seconds, settings.seed)
                )
            yield TaskTuner(
                settings, compiler, devices, listener, journal, reproducers, timeline, references
            )

    def _machines(self, opened: ExitStack, timing: Settings) -> tuple[DeviceSet, CandidateCompiler]:
        """Open the devices and start the compiler, here or on the workers of a cluster."""
        uris, flags, settings = self.uris, self.options.flags, self.options.settings
        if not self.options.cluster:
            # Start the compiler first: its processes start while the devices open.
            compiler = opened.enter_context(CandidateCompiler(flags, settings.jobs))
            return opened.enter_context(Devices(uris, timing, settings.timeout)), compiler
        try:
            from tuninglink.tuning.devices.cluster_devices import ClusterDevices  # noqa: PLC0415
            from tuninglink.tuning.devices.cluster_workers import Cluster  # noqa: PLC0415 - an extra
        except ImportError:
            remedy = note("install it with: pip install 'tuninglink[cluster]'")
            message = "--cluster needs Dask's distributed scheduler"
            raise TuninglinkError(error(message, notes=[remedy])) from None
        cluster = opened.enter_context(Cluster(self.options.cluster))
        remote = opened.enter_context(ClusterDevices(cluster, uris, timing, settings.timeout))
        jobs = settings.jobs or cluster.threads
        return remote, opened.enter_context(CandidateCompiler(flags, jobs, cluster.pool))


_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a run early: interrupt, termination, and a closed terminal."""


@contextmanager
def stopping(budget: Budget, program: str) -> Iterator[None]:
    """End the budget on a signal during a block, and end the process on a second one.

    Signals that the parent process ignores stay ignored.

    Args:
        budget: the budget to end.
        program: the program name in the message; empty for no message.
    """
    watched = [number for number in _ENDING if signal.getsignal(number) != signal.SIG_IGN]

    def stop(number: int, _: object) -> None:
        if budget.is_stopped:
            try:
                run_interrupt_hooks()
            finally:
                os._exit(_SIGNALED + number)
        budget.stop()
        if not program:
            return
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
