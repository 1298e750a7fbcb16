"""The cost of explaining on top of choosing configurations, for gfx942.

A program of the size of an SDXL UNet, 141 dispatches of which 12 are tuned: `tuninglink explain` as JSON and as a page,
against `tuninglink compile` to the same phase. Then 500 dispatches with a spec of 5,000 entries.

Configurations that specs gave are compared with those that the compiler would have chosen, for which it runs once
more: the more dispatches are tuned, the more that costs. Times are those of all processors.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from generate import write_program, write_spec, write_unet
from measure import compare, describe_machine, parse_runs, scratch, tool

if TYPE_CHECKING:
    from pathlib import Path

UNET_TUNED = 12
DISPATCHES = 500
ENTRIES = 5_000
TUNED = (0, 25, 500)
PROGRAM_SEED = 1
TARGET = ["--iree-hal-target-device=hip", "--iree-rocm-target=gfx942", "--no-default-specs"]


def main() -> None:
    """Run the benchmark."""
    runs = parse_runs(__doc__ or "")
    describe_machine()
    with scratch() as folder:
        compare_unet(folder, runs)
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


def compare_unet(folder: Path, runs: int) -> None:
    """Compare explaining with configuring, on a program of the size of an SDXL UNet."""
    unet = write_unet(folder / "unet.mlir", UNET_TUNED, seed=PROGRAM_SEED)
    spec = write_spec(folder / "unet_spec.mlir", UNET_TUNED, seed=PROGRAM_SEED)
    common = [str(unet), f"--spec={spec}", *TARGET]
    phase = ["--compile-to=executable-configurations", "--emit-mlir-bytecode"]
    plain = [tool("tuninglink"), "compile", *common, *phase, "-o", str(folder / "unet.mlirbc")]
    for name in ("report.json", "report.html"):
        explained = [tool("tuninglink"), "explain", *common, "-o", str(folder / name)]
        with_it, without = (
            statistics.median(each.processor_seconds) for each in compare(explained, plain, runs)
        )
        size = (folder / name).stat().st_size
        print(
            f"UNet, {name} ({size:,} bytes): {with_it:.2f} s explained, {without:.2f} s configured, "
            f"ratio {with_it / without:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
