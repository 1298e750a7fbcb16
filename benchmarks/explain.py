"""What `--explain` costs on top of `tuninglink compile`: 500 dispatches for gfx942, a spec of 5,000 entries.

Configurations that specs gave are compared with those that the compiler would have chosen, which it is asked once
more: the more dispatches are tuned, the more that costs. Times are those of all processors.
"""

from __future__ import annotations

import statistics

from generate import write_program, write_spec
from measure import compare, describe_machine, parse_runs, scratch, tool

DISPATCHES = 500
ENTRIES = 5_000
TUNED = (0, 25, 500)
PROGRAM_SEED = 1
TARGET = ["--iree-hal-target-device=hip", "--iree-rocm-target=gfx942", "--no-default-specs"]


def main() -> None:
    """Runs the benchmark."""
    runs = parse_runs(__doc__ or "")
    describe_machine()
    with scratch() as folder:
        program = write_program(folder / "program.mlir", DISPATCHES, seed=PROGRAM_SEED)
        large = write_spec(folder / "large.mlir", ENTRIES)
        for tuned in TUNED:
            # Entries that are drawn as the program is match its first dispatches.
            small = write_spec(folder / "small.mlir", max(tuned, 1), seed=PROGRAM_SEED)
            specs = [f"--spec={each}" for each in ([small] if tuned else []) + [large]]
            phase = ["--compile-to=executable-configurations", "--emit-mlir-bytecode"]
            plain = [tool("tuninglink"), "compile", str(program), *specs, *TARGET, *phase]
            plain += ["-o", str(folder / "out.mlirbc")]
            explained = [*plain, f"--explain={folder / 'explanation.json'}"]
            with_it, without = (
                statistics.median(each.processor_seconds)
                for each in compare(explained, plain, runs)
            )
            print(
                f"{DISPATCHES} dispatches, {ENTRIES:,} entries, {tuned} tuned: {with_it:.2f} s explained, "
                f"{without:.2f} s not, {100 * (with_it / without - 1):+.1f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
