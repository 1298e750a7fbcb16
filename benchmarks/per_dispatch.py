"""A spec with many entries on a program with many dispatches, to `executable-configurations` for gfx942.

`iree-compile` links and writes the spec for each dispatch; `tuninglink compile` does so once. Both read and
try it for each. The first row has no spec: it shows the compiler's own work.
"""

from __future__ import annotations

from generate import write_program, write_spec
from measure import compare, describe_machine, parse_runs, report, scratch, tool

DISPATCHES = 500
ENTRIES = 1_000
TARGET = ["--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"]


def main() -> None:
    """Run the benchmark."""
    runs = parse_runs(__doc__ or "")
    describe_machine()
    with scratch() as folder:
        program = str(write_program(folder / "program.mlir", DISPATCHES))
        spec = str(write_spec(folder / "spec.mlir", ENTRIES))
        common = [program, *TARGET, "--compile-to=executable-configurations", "-o"]
        theirs = [tool("iree-compile"), *common, str(folder / "theirs.mlir")]
        ours = [tool("tuninglink"), "compile", "--no-default-specs", *common]
        ours += [str(folder / "ours.mlir")]
        for what, flags in (
            ("no spec", []),
            (f"a spec of {ENTRIES:,} entries", [f"--iree-codegen-tuning-spec-path={spec}"]),
        ):
            figures = compare([*ours, *flags], [*theirs, *flags], runs)
            report(f"{DISPATCHES} dispatches, {what}", *figures)


if __name__ == "__main__":
    main()
