"""`tuninglink check` on specs of 51 to 50,000 entries: structure, matchers, constraints for gfx942, reachability.

No two entries ask for the same sizes, and all are rejected by the compiler's own constraints, which is the slowest
case. The specs of 1,000 entries and more are checked once, that of 1,000 in one process, the others in as many as there
are cores. The processor time is that of all processes. There is nothing of IREE's to compare it with: `iree-opt` on the
smallest spec, which parses and verifies it without any of these analyses, is shown for scale.

    python benchmarks/check.py [--runs N]
"""

from __future__ import annotations

import os
import statistics
import sys
from typing import TYPE_CHECKING, NamedTuple

from generate import write_spec
from measure import Figures, compare, describe_machine, parse_runs, report, scratch, tool

if TYPE_CHECKING:
    from pathlib import Path

ENTRIES = 51
TARGET_SECONDS = 10.0


class Large(NamedTuple):
    """A spec that is checked once.

    Attributes:
        entries: the number of its entries.
        jobs: the number of processes.
        target: the seconds that it may take.
    """

    entries: int
    jobs: int
    target: float


CORES = os.cpu_count() or 1
LARGE = (Large(1_000, 1, 3.0), Large(5_000, CORES, 10.0), Large(50_000, CORES, 100.0))


def main() -> int:
    """Run the benchmark; the exit status is 0 if all targets were met."""
    runs = parse_runs(__doc__.partition("\n")[0])
    describe_machine()
    with scratch() as folder:
        spec = str(write_spec(folder / "spec.mlir", ENTRIES))
        theirs = [tool("iree-opt"), "--no-implicit-module", spec, "-o", "/dev/null"]
        figures, scale = compare(_check(spec, CORES), theirs, runs)
        report(f"check of {ENTRIES} entries (target: {TARGET_SECONDS:g} s)", figures, scale)
        is_met = [_measure(large, folder) for large in LARGE]
    return 0 if all(is_met) and statistics.median(figures.seconds) <= TARGET_SECONDS else 1


def _measure(large: Large, folder: Path) -> bool:
    """Check a large spec and print its figures; return whether the target was met."""
    spec = write_spec(folder / f"{large.entries}.mlir", large.entries)
    figures = Figures()
    figures.run(_check(str(spec), large.jobs))
    (seconds,), (processor_seconds,), (memory,) = (
        figures.seconds,
        figures.processor_seconds,
        figures.mebibytes,
    )
    print(f"check of {large.entries:,} entries, --jobs {large.jobs} (target: {large.target:g} s)")
    print(
        f"  tuninglink  {seconds:.1f} s, {processor_seconds:.1f} s of processors, {memory:.0f} MiB",
        flush=True,
    )
    return seconds <= large.target


def _check(spec: str, jobs: int) -> list[str]:
    return [tool("tuninglink"), "check", spec, "--target", "gfx942", "--jobs", str(jobs)]


if __name__ == "__main__":
    sys.exit(main())
