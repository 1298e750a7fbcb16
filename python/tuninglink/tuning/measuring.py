"""The devices, the compiler, the database and the references of a run, opened for its duration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error, note
from tuninglink.tuning import Listener
from tuninglink.tuning.candidates.compilation import CandidateCompiler
from tuninglink.tuning.database import Database, open_database
from tuninglink.tuning.devices import Settings
from tuninglink.tuning.devices.device_set import DeviceSet
from tuninglink.tuning.devices.local import Devices
from tuninglink.tuning.options import MeasuringOptions
from tuninglink.tuning.references import References
from tuninglink.tuning.results.journal import Journal
from tuninglink.tuning.results.reproducers import Reproducers
from tuninglink.tuning.scheduling import Stage, Timeline
from tuninglink.tuning.scheduling.task_tuner import TaskTuner


@contextmanager
def open_task_tuner(
    options: MeasuringOptions, uris: Sequence[str], timeline: Timeline, listener: Listener
) -> Iterator[TaskTuner]:
    """Open everything that tuning requires, for the duration of a block.

    Args:
        options: the options of the run.
        uris: the URIs of the devices.
        timeline: records the time of the stages.
        listener: receives progress events.

    Raises:
        TuninglinkError: a device, the database or a directory cannot be opened.
    """
    settings = options.settings
    with ExitStack() as opened:
        path = options.database
        database = open_database(path, listener.noticed) if path else Database()
        opened.enter_context(database)
        reproducers = None
        if options.failures:
            reproducers = Reproducers(options.failures, options.flags, settings.seed)
        with timeline.stage(Stage.DEVICES):
            devices, compiler = _machines(options, uris, opened)
        timeline.watch(devices)
        journal = Journal(database, devices.first.description, settings, options.flags)
        references = None
        if settings.checks_defaults and not options.cluster:
            references = opened.enter_context(References.within(settings.seconds, settings.seed))
        yield TaskTuner(
            settings, compiler, devices, listener, journal, reproducers, timeline, references
        )


def _machines(
    options: MeasuringOptions, uris: Sequence[str], opened: ExitStack
) -> tuple[DeviceSet, CandidateCompiler]:
    """Open the devices and start the compiler, here or on the workers of a cluster."""
    flags, settings = options.flags, options.settings
    timing = Settings(caches=settings.caches, seed=settings.seed)
    if not options.cluster:
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
    cluster = opened.enter_context(Cluster(options.cluster))
    remote = opened.enter_context(ClusterDevices(cluster, uris, timing, settings.timeout))
    jobs = settings.jobs or cluster.threads
    return remote, opened.enter_context(CandidateCompiler(flags, jobs, cluster.pool))
