"""`tuninglink check` on specs of 51 and of 5,000 entries: structure, matchers, constraints for gfx942, reachability.

The targets are 10 s and 30 s. No two entries ask for the same sizes, and all are rejected by the compiler's own
constraints, which is the slowest case. The large spec is checked once, in as many processes as there are cores. The
processor time is that of the processes that check entries, not of those that ask the compiler for its constraints.
There is nothing of IREE's to compare it with: `iree-opt` on the same spec, which parses and verifies it and asks none
of these questions, is shown for scale.

    python benchmarks/check.py [--runs N]
"""

from __future__ import annotations

import statistics
import sys

from generate import write_spec
from measure import Figures, compare, describe_machine, parse_runs, report, scratch, tool

ENTRIES = 51
TARGET_SECONDS = 10.0
MANY_ENTRIES = 5_000
MANY_TARGET_SECONDS = 30.0


def main() -> int:
    """Runs the benchmark; the exit status says whether the target was met."""
    runs = parse_runs(__doc__.partition("\n")[0])
    describe_machine()
    with scratch() as folder:
        spec = str(write_spec(folder / "spec.mlir", ENTRIES))
        theirs = [tool("iree-opt"), "--no-implicit-module", spec, "-o", "/dev/null"]
        figures, scale = compare(_check(spec), theirs, runs)
        report(f"check of {ENTRIES} entries (target: {TARGET_SECONDS:g} s)", figures, scale)
        many = Figures()
        many.run(_check(str(write_spec(folder / "many.mlir", MANY_ENTRIES))))
    (seconds,), (processor_seconds,) = many.seconds, many.processor_seconds
    print(f"check of {MANY_ENTRIES:,} entries (target: {MANY_TARGET_SECONDS:g} s)")
    print(f"  tuninglink  {seconds:.1f} s, {processor_seconds:.1f} s of processors", flush=True)
    is_met = seconds <= MANY_TARGET_SECONDS
    return 0 if is_met and statistics.median(figures.seconds) <= TARGET_SECONDS else 1


def _check(spec: str) -> list[str]:
    return [tool("tuninglink"), "check", spec, "--target", "gfx942"]


if __name__ == "__main__":
    sys.exit(main())
