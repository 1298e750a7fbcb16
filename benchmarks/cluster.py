"""Compilation on the workers of a cluster: how it scales with their number.

    python benchmarks/cluster.py --workers 1 2

Each number of workers, of one thread each, compiles the same candidates of a matmul: neighbors of the compiler's choice,
which take about as long as that, after some that pay for the start of processes. It takes as many free cores as workers. The last line is the ratio of the last number to the first.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "support"))

from dask_processes import DaskProcesses
from programs import TARGETS
from tuning_programs import matmul, prepared

from tuninglink.devices import Cluster, ClusterPool
from tuninglink.programs import Failure
from tuninglink.tuning.candidates import CandidateCompiler

_SECONDS = 60.0


def rate(workers: int, candidates: int) -> float:
    """Return the number of candidates compiled per second."""
    task = prepared(matmul(256, 512, 512), "llvm-cpu")
    default = task.spaces.default
    neighbors = task.spaces.neighbors(default)[:candidates]
    with tempfile.TemporaryDirectory() as directory, DaskProcesses(Path(directory)) as processes:
        for _ in range(workers):
            processes.worker()
        with (
            Cluster(processes.address) as cluster,
            CandidateCompiler(
                TARGETS["llvm-cpu"], workers, partial(ClusterPool, cluster)
            ) as compiler,
        ):
            seconds = 0.0
            for part in ([default] * workers, neighbors):
                began = time.perf_counter()
                jobs = [compiler.submit(task.template, each, _SECONDS) for each in part]
                results = [job.result() for job in jobs]
                seconds = time.perf_counter() - began
    failed = sum(isinstance(each, Failure) for each in results)
    print(f"{workers} workers: {len(results)} candidates in {seconds:.1f} s, {failed} failed")
    return len(results) / seconds


def main() -> None:
    """Print the rates and their ratio."""
    parser = argparse.ArgumentParser(description="Compilation on the workers of a cluster.")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--candidates", type=int, default=60)
    arguments = parser.parse_args()
    rates = [rate(each, arguments.candidates) for each in arguments.workers]
    first, last = arguments.workers[0], arguments.workers[-1]
    print(f"{last} workers against {first}: ratio {rates[-1] / rates[0]:.2f}")


if __name__ == "__main__":
    main()
