"""A spec of any size against no spec at all: 500 dispatches to `executable-configurations` for gfx942.

`tuninglink compile` with a spec of 5,000 and of 50,000 entries, its loading included, against `iree-compile`
without any. Then the growth with the number of entries, beside that of `iree-compile`, which is given the
smaller ones only.
"""

from __future__ import annotations

import statistics

from generate import write_program, write_spec
from measure import Figures, compare, describe_machine, parse_runs, report, scratch, tool

DISPATCHES = 500
ENTRIES = (5_000, 50_000)
GROWTH = (10, 100, 1_000, 10_000)
SMALL = 1_000
"""Up to how many entries `iree-compile` takes less than a minute."""
TARGET = ["--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"]


def main() -> None:
    """Runs the benchmark."""
    runs = parse_runs(__doc__ or "")
    describe_machine()
    with scratch() as folder:
        program = str(write_program(folder / "program.mlir", DISPATCHES))
        common = [program, *TARGET, "--compile-to=executable-configurations", "-o"]
        theirs = [tool("iree-compile"), *common, str(folder / "theirs.mlir")]
        ours = [tool("tuninglink"), "compile", *common, str(folder / "ours.mlir")]
        for entries in ENTRIES:
            spec = str(write_spec(folder / "spec.mlir", entries))
            report(
                f"{DISPATCHES} dispatches, {entries:,} entries against none",
                *compare([*ours, "--spec", spec], theirs, runs),
            )
        print("growth: seconds, tuninglink and iree-compile")
        for entries in GROWTH:
            spec = str(write_spec(folder / "spec.mlir", entries))
            line = f"  {entries:>6,}  {_median([*ours, '--spec', spec], runs):6.2f}"
            if entries <= SMALL:
                given = f"--iree-codegen-tuning-spec-path={spec}"
                line += f"  {_median([*theirs, given], runs):6.2f}"
            print(line, flush=True)


def _median(command: list[str], runs: int) -> float:
    figures = Figures()
    for _ in range(runs):
        figures.run(command)
    return statistics.median(figures.seconds)


if __name__ == "__main__":
    main()
