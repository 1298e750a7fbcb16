"""An indexed spec of 5,000 entries given to `iree-compile`, against the same entries in one list.

The benchmark compares the time that a spec adds to compiling 100 dispatches to `executable-configurations` for gfx942.
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
    """Run the benchmark."""
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
        print(f"iree-compile, {DISPATCHES} dispatches, {ENTRIES:,} entries")
        _report("wall-clock", {what: each.seconds for what, (each, _) in figures.items()})
        _report("processor", {what: each.processor_seconds for what, (each, _) in figures.items()})


def _report(what: str, seconds: dict[str, list[float]]) -> None:
    medians = {spec: statistics.median(each) for spec, each in seconds.items()}
    without = medians["no spec"]
    ratio = (medians["indexed"] - without) / (medians["one list"] - without)
    values = ", ".join(f"{spec} {median:.2f} s" for spec, median in medians.items())
    print(f"  {what:<11} {values}; added by the index against the list: {ratio:.2f}x")


if __name__ == "__main__":
    main()
