"""An indexed spec of 5,000 entries given to `iree-compile`, against the same entries in one list.

What is compared is the time that a spec adds to compiling 100 dispatches to `executable-configurations` for gfx942.
Indexed specs are shipped as bytecode; the list is given as bytecode as well.
"""

from __future__ import annotations

import statistics
import subprocess

from generate import write_program, write_spec
from measure import Figures, describe_machine, parse_runs, scratch, tool

DISPATCHES = 100
ENTRIES = 5_000
TARGET = ["--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"]


def main() -> None:
    """Runs the benchmark."""
    runs = parse_runs(__doc__ or "")
    describe_machine()
    with scratch() as folder:
        program = str(write_program(folder / "program.mlir", DISPATCHES))
        text = write_spec(folder / "spec.mlir", ENTRIES)
        flat, indexed = folder / "flat.mlirbc", folder / "indexed.mlirbc"
        link = [tool("tuninglink"), "link", "--no-default-specs", str(text), "-o"]
        subprocess.run([*link, str(flat)], check=True)
        subprocess.run([*link, str(indexed), "--index"], check=True)
        compiling = [tool("iree-compile"), program, *TARGET]
        compiling += ["--compile-to=executable-configurations", "-o", str(folder / "out.mlir")]
        figures = {
            what: (Figures(), [*compiling, *flags])
            for what, flags in (
                ("no spec", []),
                ("one list", [f"--iree-codegen-tuning-spec-path={flat}"]),
                ("indexed", [f"--iree-codegen-tuning-spec-path={indexed}"]),
            )
        }
        for _ in range(runs):
            for each, command in figures.values():
                each.run(command)
        medians = {what: statistics.median(each.seconds) for what, (each, _) in figures.items()}
        print(f"iree-compile, {DISPATCHES} dispatches, {ENTRIES:,} entries")
        for what, seconds in medians.items():
            print(f"  {what:<10}{seconds:7.2f} s")
        added = {what: seconds - medians["no spec"] for what, seconds in medians.items()}
        print(
            f"  added time, indexed against one list: {added['indexed'] / added['one list']:.2f}x"
        )


if __name__ == "__main__":
    main()
