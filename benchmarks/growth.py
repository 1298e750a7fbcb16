"""Time over the number of entries of a spec, from 10 to 50,000, to `executable-configurations` for gfx942.

`iree-compile` with a spec in one list, with the same spec indexed, and without any; and `tuninglink compile` with
the list. The list is text, as people write it, the indexed spec bytecode, as it is shipped. With a file name the
figures are drawn as SVG. On two cores it takes about ten minutes, most of them `iree-compile`'s with 50,000 entries.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
from pathlib import Path

from generate import write_program, write_spec
from measure import Figures, describe_machine, scratch, tool
from plot import Plot

DISPATCHES = 50
ENTRIES = (10, 100, 1_000, 5_000, 10_000, 50_000)
TARGET = ["--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plot", nargs="?", type=Path, help="where the plot goes")
    parser.add_argument("--dispatches", type=int, default=DISPATCHES)
    parser.add_argument("--entries", type=int, nargs="+", default=ENTRIES)
    parser.add_argument("--runs", type=int, default=1)
    arguments = parser.parse_args()
    describe_machine()
    figures = measure(arguments.dispatches, arguments.entries, arguments.runs)
    if arguments.plot:
        title = f"Configuring {arguments.dispatches} dispatches with a spec of any size"
        Plot(title, "entries of the spec", "seconds", figures).write(arguments.plot)


def measure(dispatches: int, entries: list[int], runs: int) -> dict[str, list[tuple[float, float]]]:
    """Return the median of seconds for each number of entries, for each way of compiling."""
    figures: dict[str, list[tuple[float, float]]] = {}
    with scratch() as folder:
        program = str(write_program(folder / "program.mlir", dispatches))
        common = [program, *TARGET, "--compile-to=executable-configurations"]
        common += ["-o", str(folder / "out.mlir")]
        for count in entries:
            spec = write_spec(folder / "spec.mlir", count)
            indexed = folder / "indexed.mlirbc"
            link = [tool("tuninglink"), "link", "--no-default-specs", "--index", str(spec)]
            subprocess.run([*link, "-o", str(indexed)], check=True)
            alone = [tool("iree-compile"), *common]
            ours = [tool("tuninglink"), "compile", "--no-default-specs", *common]
            for what, command in (
                ("iree-compile", [*alone, f"--iree-codegen-tuning-spec-path={spec}"]),
                ("iree-compile, indexed", [*alone, f"--iree-codegen-tuning-spec-path={indexed}"]),
                ("tuninglink compile", [*ours, "--spec", str(spec)]),
                ("no spec", alone),
            ):
                seconds = _median(command, runs)
                figures.setdefault(what, []).append((count, seconds))
                print(f"{count:>7,} entries  {seconds:8.2f} s  {what}", flush=True)
    return figures


def _median(command: list[str], runs: int) -> float:
    figures = Figures()
    for _ in range(runs):
        figures.run(command)
    return statistics.median(figures.seconds)


if __name__ == "__main__":
    main()
