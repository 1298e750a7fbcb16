"""Timing two commands against each other: whole processes, in turn, in the same run.

Ratios hold where absolute times do not: on a busy machine both commands slow down together. Figures are
minimum, median and maximum; the ratio is that of the medians.

Commands run as users run them, with the bytecode of Python's modules at hand: `PYTHONDONTWRITEBYTECODE`, with which every
start compiles hundreds of modules again, is not passed on.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import resource
    from collections.abc import Iterator, Sequence

DEFAULT_RUNS = 5

_BECOME_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of <sys/prctl.h>."""


@dataclass
class Figures:
    """Resources that the runs of one command used.

    Attributes:
        seconds: wall-clock time.
        processor_seconds: time of all processors, which other work on the machine changes less: that of the command
            and of the processes that it starts, those included that end after it.
        mebibytes: peak resident memory.
    """

    seconds: list[float] = field(default_factory=list)
    processor_seconds: list[float] = field(default_factory=list)
    mebibytes: list[float] = field(default_factory=list)

    def run(self, command: Sequence[str]) -> None:
        """Run `command` once and add its figures; a command that fails ends the benchmark."""
        # Processes that outlive the command become children of this one.
        ctypes.CDLL(None).prctl(_BECOME_SUBREAPER, 1, 0, 0, 0)
        with tempfile.TemporaryFile() as output:
            start = time.perf_counter()
            process = subprocess.Popen(
                command, env=_environment(), stdout=output, stderr=subprocess.STDOUT
            )
            _, status, usage = os.wait4(process.pid, 0)
            elapsed = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                output.seek(0)
                sys.exit(f"{' '.join(command)}\n{output.read().decode()}")
        usages = [usage, *_usages_of_orphans()]
        self.seconds.append(elapsed)
        self.processor_seconds.append(sum(each.ru_utime + each.ru_stime for each in usages))
        self.mebibytes.append(usage.ru_maxrss / 1024)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _usages_of_orphans() -> Iterator[resource.struct_rusage]:
    """Wait for the processes that outlive a command."""
    while True:
        try:
            yield os.wait4(-1, 0)[2]
        except ChildProcessError:
            return


def compare(ours: Sequence[str], theirs: Sequence[str], runs: int) -> tuple[Figures, Figures]:
    """Time the two commands in turn, after one run of each that does not count."""
    figures = Figures(), Figures()
    for command in (ours, theirs):
        Figures().run(command)
    for _ in range(runs):
        for each, command in zip(figures, (ours, theirs), strict=True):
            each.run(command)
    return figures


def report(what: str, ours: Figures, theirs: Figures) -> None:
    """Print one row: what was timed, both commands, and the ratios of time and memory."""
    print(f"{what}")
    for name, figures in (("tuninglink", ours), ("IREE", theirs)):
        print(
            f"  {name:<12}{_spread(figures.seconds, 's', 3)}   {_spread(figures.mebibytes, 'MiB', 0)}"
        )
    time_ratio = statistics.median(ours.seconds) / statistics.median(theirs.seconds)
    memory_ratio = statistics.median(ours.mebibytes) / statistics.median(theirs.mebibytes)
    print(f"  ratio       time {time_ratio:.2f}x, memory {memory_ratio:.2f}x", flush=True)


def _spread(values: list[float], unit: str, digits: int) -> str:
    middle = statistics.median(values)
    return f"{middle:.{digits}f} {unit} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def describe_machine() -> None:
    """Print the machine of the figures."""
    print(
        f"{os.cpu_count()} cores, {_processor()}; Python {platform.python_version()}, "
        f"iree-base-compiler {version('iree-base-compiler')}, tuninglink {version('tuninglink')}"
    )


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def parse_runs(description: str) -> int:
    """Read the command line of a benchmark: `--runs N`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--runs", type=int, default=DEFAULT_RUNS, help="counted runs (default: %(default)s)"
    )
    runs: int = parser.parse_args().runs
    return runs


def tool(name: str) -> str:
    """Return the path of a command of this Python's environment."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    return found or sys.exit(f"{name} is not installed")


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder for generated inputs and for outputs, and remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="tuninglink-benchmark-") as folder:
        yield Path(folder)
