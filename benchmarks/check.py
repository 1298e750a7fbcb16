"""`tuninglink check` on a spec of 51 entries: structure, matchers, constraints for gfx942, and reachability.

The target is 10 s. There is nothing of IREE's to compare it with: `iree-opt` on the same spec, which parses and
verifies it and asks none of these questions, is shown for scale.

    python benchmarks/check.py [--runs N]
"""

from __future__ import annotations

import statistics
import sys

from generate import write_spec
from measure import compare, describe_machine, parse_runs, report, scratch, tool

ENTRIES = 51
TARGET_SECONDS = 10.0


def main() -> int:
    """Runs the benchmark; the exit status says whether the target was met."""
    runs = parse_runs(__doc__.partition("\n")[0])
    describe_machine()
    with scratch() as folder:
        spec = str(write_spec(folder / "spec.mlir", ENTRIES))
        ours = [tool("tuninglink"), "check", spec, "--target", "gfx942"]
        theirs = [tool("iree-opt"), "--no-implicit-module", spec, "-o", "/dev/null"]
        figures, scale = compare(ours, theirs, runs)
    report(f"check of {ENTRIES} entries (target: {TARGET_SECONDS:g} s)", figures, scale)
    return 0 if statistics.median(figures.seconds) <= TARGET_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
