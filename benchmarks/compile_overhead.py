"""`tuninglink compile` without specs against `iree-compile`: 100 dispatches for gfx942.

The second row looks up default specs, as `tuninglink compile` does by default. That for gfx942 is
embedded in every dispatch and configures none of these.
"""

from __future__ import annotations

from generate import write_program
from measure import compare, describe_machine, parse_runs, report, scratch, tool

DISPATCHES = 100
TARGET = ["--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"]


def main() -> None:
    """Run the benchmark."""
    runs = parse_runs(__doc__ or "")
    describe_machine()
    with scratch() as folder:
        program = str(write_program(folder / "program.mlir", DISPATCHES))
        common = [program, *TARGET, "-o"]
        theirs = [tool("iree-compile"), *common, str(folder / "theirs.vmfb")]
        ours = [tool("tuninglink"), "compile", *common, str(folder / "ours.vmfb")]
        for what, flags in (("no specs", ["--no-default-specs"]), ("default spec", [])):
            figures = compare([*ours, *flags], theirs, runs)
            report(f"{DISPATCHES} dispatches for gfx942, {what}", *figures)


if __name__ == "__main__":
    main()
