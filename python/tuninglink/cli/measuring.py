"""What commands that measure candidates have in common: devices, a compiler, a database, and an end on request."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tuninglink.cli.interrupts import INTERRUPTED
from tuninglink.cli.tune_progress import ProgressLines
from tuninglink.cli.verbosity import is_quiet
from tuninglink.errors import TuninglinkError
from tuninglink.files import make_directory
from tuninglink.mlir.diagnostics import error, note
from tuninglink.tuning.candidates.compilation import CandidateCompiler
from tuninglink.tuning.database import Database
from tuninglink.tuning.devices.local import Devices
from tuninglink.tuning.devices.timing import Settings
from tuninglink.tuning.listener import Listener
from tuninglink.tuning.results.journal import Journal
from tuninglink.tuning.results.reproducers import Reproducers
from tuninglink.tuning.scheduling.task_tuner import TaskTuner
from tuninglink.tuning.scheduling.timeline import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.cli.measuring_options import MeasuringOptions
    from tuninglink.tuning.devices.device_set import DeviceSet
    from tuninglink.tuning.scheduling.budget import Budget
    from tuninglink.tuning.scheduling.timeline import Timeline


@dataclass(frozen=True)
class Measuring:
    """How a command measures.

    Attributes:
        options: what its arguments ask for.
        uris: the devices.
    """

    options: MeasuringOptions
    uris: Sequence[str]

    @contextmanager
    def tasks(self, timeline: Timeline) -> Iterator[TaskTuner]:
        """Opens all that it takes to tune tasks, for as long as the block runs.

        Args:
            timeline: counts what the stages take.

        Raises:
            TuninglinkError: a device, the database or a directory cannot be opened.
        """
        options, settings = self.options, self.options.settings
        timing = Settings(caches=settings.caches, seed=settings.seed)
        with ExitStack() as opened:
            database = (
                opened.enter_context(Database(Path(options.database))) if options.database else None
            )
            reproducers = None
            if options.failures:
                reproducers = Reproducers(make_directory(options.failures), options.flags)
            with timeline.stage(Stage.DEVICES):
                devices, compiler = self._machines(opened, timing)
            timeline.watch(devices)
            journal = None
            if database:
                journal = Journal(database, devices.first.description, settings, options.flags)
            listener = Listener() if is_quiet() else ProgressLines()
            yield TaskTuner(settings, compiler, devices, listener, journal, reproducers, timeline)

    def _machines(self, opened: ExitStack, timing: Settings) -> tuple[DeviceSet, CandidateCompiler]:
        """Opens the devices and starts the compiler, here or on the workers of a cluster."""
        uris, flags, settings = self.uris, self.options.flags, self.options.settings
        if not self.options.cluster:
            # First the compiler, whose processes start while the devices open.
            compiler = opened.enter_context(CandidateCompiler(flags, settings.jobs))
            return opened.enter_context(Devices(uris, timing, settings.timeout)), compiler
        try:
            from tuninglink.tuning.devices.cluster.connection import Cluster  # noqa: PLC0415 - an extra
            from tuninglink.tuning.devices.cluster.devices import ClusterDevices  # noqa: PLC0415
        except ImportError:
            remedy = note("install it with: pip install 'tuninglink[cluster]'")
            message = "--cluster needs Dask's distributed scheduler"
            raise TuninglinkError(error(message, notes=[remedy])) from None
        cluster = opened.enter_context(Cluster(self.options.cluster))
        remote = opened.enter_context(ClusterDevices(cluster, uris, timing, settings.timeout))
        jobs = settings.jobs or cluster.threads
        return remote, opened.enter_context(CandidateCompiler(flags, jobs, cluster.pool))


@contextmanager
def stopping(budget: Budget, program: str) -> Iterator[None]:
    """Lets an interrupt end the budget while the block runs, and a second one end the process."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        yield
        return

    def stop(*_: object) -> None:
        if budget.is_stopped:
            os._exit(INTERRUPTED)
        budget.stop()
        os.write(2, f"\n{program}: interrupted; ending with what is known so far\n".encode())

    watcher = signal.set_wakeup_fd(-1)  # whoever reads it would end the process
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        signal.set_wakeup_fd(watcher, warn_on_full_buffer=False)
