"""Tuning on the workers of a cluster: real processes, one of which is killed, and one of which comes later."""

from __future__ import annotations

import socket
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest
import worker_jobs
from dask_processes import DaskProcesses
from device_benchmarks import DOUBLE, benchmark
from processes import PATIENCE, eventually
from recorded_tuning import FLAGS, without_pauses
from tuning_programs import dispatched, matmul

import tuninglink
from tuninglink.devices import (
    BestTime,
    Cluster,
    ClusterDevices,
    ClusterPool,
    DeviceError,
    Measurement,
    Settings,
    cluster as cluster_workers,
)
from tuninglink.errors import TuninglinkError
from tuninglink.programs import FailureKind
from tuninglink.tuning import Tuner
from tuninglink.tuning.candidates import CandidateCompiler
from tuninglink.tuning.database import Database, Journal
from tuninglink.tuning.deciding import Ledger, TuningSettings
from tuninglink.tuning.flag_sets import Listener
from tuninglink.tuning.scheduling import TuningContext
from tuninglink.workers import JobTimeoutError, WorkerCrashedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from subprocess import Popen

DEVICE = "local-sync=1"
SETTINGS = TuningSettings(trials=4, search="random", runs_model=False)


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a scheduler on a busy machine."""
    monkeypatch.setattr(cluster_workers, "_CONNECT_SECONDS", PATIENCE)


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    with DaskProcesses(tmp_path_factory.mktemp("dask")) as started:
        yield started


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.0 400 Bad Request\r\n\r\n"])
def test_a_server_that_is_not_a_scheduler_is_an_error(
    monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    monkeypatch.setattr(cluster_workers, "_CONNECT_SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(answer)
                ended.wait(PATIENCE)

        ended = Event()
        thread = Thread(target=serve)
        thread.start()
        with pytest.raises(TuninglinkError, match="no scheduler answers at"):
            Cluster(f"tcp://127.0.0.1:{server.getsockname()[1]}")
        ended.set()
        thread.join()


def test_a_job_that_hangs_or_crashes_costs_itself(processes: DaskProcesses) -> None:
    worker = processes.worker()
    with Cluster(processes.address) as cluster:
        pool = ClusterPool(cluster, 1, worker_jobs.initialize, ("begun",))
        hanging = pool.submit(worker_jobs.hang_on, seconds=1.0)
        with pytest.raises(JobTimeoutError):
            hanging.result()
        with pytest.raises(WorkerCrashedError):
            pool.submit(worker_jobs.abort, "").result()
        assert pool.submit(worker_jobs.add, 40, 2).result() == 42
        assert pool.submit(worker_jobs.initialized).result() == ["begun"]
        with pytest.raises(DeviceError, match="no worker has device 'local-sync'"):
            ClusterDevices(cluster, ["local-sync"], Settings(), PATIENCE)
        cluster.versions = ("tuninglink 0.0",)
        other = ClusterPool(cluster, 1, worker_jobs.initialize, ("begun",))
        with pytest.raises(TuninglinkError, match=r"the tuner has tuninglink 0\.0"):
            other.submit(worker_jobs.add, 40, 2).result()
    assert worker.poll() is None
    worker.kill()
    worker.wait()


def test_a_killed_worker_costs_what_was_in_flight(processes: DaskProcesses) -> None:
    workers = [processes.worker(DEVICE) for _ in range(2)]

    class Killer(Listener):
        """Kills the first worker as soon as a candidate was tried, and starts another one."""

        def tried(self, *_: object) -> None:
            if workers:
                workers.pop(0).kill()
                later.append(processes.worker(DEVICE))
                workers.clear()

    later: list[Popen[bytes]] = []
    program = dispatched(matmul(8, 64, 128), "host-cpu")
    with (
        Database() as database,
        Cluster(processes.address) as cluster,
        ClusterDevices(cluster, ["local-sync"], Settings(), PATIENCE) as devices,
        CandidateCompiler(FLAGS, cluster.threads, partial(ClusterPool, cluster)) as compiler,
        without_pauses(),
    ):
        assert (cluster.threads, devices.at_once) == (2, 2)
        journal = Journal(database, devices.first.description, SETTINGS, FLAGS)
        tasks = TuningContext(SETTINGS, compiler, devices, Killer(), journal)
        result = Tuner(program, FLAGS, tasks, Ledger(trials=SETTINGS.trials)).run()
        recorded = [
            each
            for each in database.all_trials()
            if each.stage == "screen" and each.origin != "default"
        ]
    assert result.failure is None
    (task,) = result.tasks
    assert len(task.trials) == SETTINGS.trials
    assert {each.configuration.key for each in recorded} == {
        each.candidate.key for each in task.trials
    }
    gone = {FailureKind.COMPILE_CRASH, FailureKind.CRASH}
    assert not [each for each in task.trials if each.failure and each.failure.kind in gone]
    assert tuninglink.load_spec(result.spec.encode())


def test_devices_come_and_the_last_one_ends_the_work(processes: DaskProcesses) -> None:
    first = processes.worker("local-task=1")
    with (
        Cluster(processes.address) as cluster,
        ClusterDevices(cluster, ["local-task"], Settings(), PATIENCE) as devices,
    ):
        assert isinstance(devices.measure_default(benchmark(DOUBLE)), float)
        second = processes.worker("local-task=1")
        assert eventually(lambda: devices.at_once == 2)
        first.kill()
        jobs = [devices.submit(benchmark(DOUBLE), BestTime(1e9)) for _ in range(3)]
        assert all(isinstance(each.result(), Measurement) for each in jobs)
        assert devices.at_once == 1
        second.kill()
        with pytest.raises(DeviceError, match="is gone"):
            devices.submit(benchmark(DOUBLE), BestTime(1e9)).result()
