"""A scheduler of Dask and its workers, each a process on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from distributed import Client
from processes import PATIENCE, eventually

_COMMAND = (sys.executable, "-m", "dask")


class DaskProcesses:
    """Starts a scheduler, and workers on request; ends them all.

    Args:
        directory: where they write.

    Attributes:
        address: the address of the scheduler.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._stack = ExitStack()
        self._count = 0
        file = directory / "scheduler.json"
        self._start("scheduler", "--port", "0", "--scheduler-file", str(file))
        with Client(scheduler_file=str(file), timeout=PATIENCE, set_as_default=False) as client:
            self.address: str = client.scheduler.address

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def worker(self, resources: str = "", threads: int = 1) -> subprocess.Popen[bytes]:
        """Start a worker, and wait until the scheduler knows it."""
        self._count += 1
        options = ["--nthreads", str(threads), "--no-nanny"]
        options += ["--resources", resources] if resources else []
        started = self._start("worker", self.address, "--name", str(self._count), *options)
        with Client(self.address, timeout=PATIENCE, set_as_default=False) as client:
            assert eventually(lambda: str(self._count) in _names(client)), (
                "the worker does not come"
            )
        return started

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        path = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        process = subprocess.Popen(
            [*_COMMAND, *arguments, "--no-dashboard"],
            cwd=self._directory,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

        def end() -> None:
            process.kill()
            process.wait()

        self._stack.callback(end)
        return process


def _names(client: Client) -> set[str]:
    workers = client.sync(client.scheduler.identity, n_workers=-1)["workers"]
    return {str(each["name"]) for each in workers.values()}
