"""A spec of any size against no spec at all: 500 dispatches to `executable-configurations` for gfx942.

`tuninglink compile` with a spec of 5,000 and of 50,000 entries, as text and as bytecode, its loading included,
against `iree-compile` without any; then peak memory with 2,000 dispatches, against both commands without any. How
time grows with the entries is measured by `growth.py`.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from generate import write_program, write_spec
from measure import Figures, compare, describe_machine, parse_runs, report, scratch, tool

if TYPE_CHECKING:
    from pathlib import Path

DISPATCHES = 500
MANY_DISPATCHES = 2_000
ENTRIES = (5_000, 50_000)
TARGET = ["--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"]


def main() -> None:
    """Run the benchmark."""
    runs = parse_runs(__doc__ or "")
    describe_machine()
    with scratch() as folder:
        for entries in ENTRIES:
            text = write_spec(folder / f"{entries}.mlir", entries)
            bytecode = folder / f"{entries}.mlirbc"
            link = [tool("tuninglink"), "link", "--no-default-specs", str(text)]
            subprocess.run([*link, "-o", str(bytecode)], check=True)
            _compare(folder, DISPATCHES, entries, text, runs)
            _compare(folder, DISPATCHES, entries, bytecode, runs)
        _compare_memory(folder, folder / f"{ENTRIES[0]}.mlir")


def _compare(folder: Path, dispatches: int, entries: int, spec: Path, runs: int) -> None:
    ours, theirs = _commands(folder, dispatches)
    kind = "bytecode" if spec.suffix == ".mlirbc" else "text"
    what = f"{dispatches} dispatches, {entries:,} entries as {kind} against none"
    report(what, *compare([*ours, "--spec", str(spec)], theirs, runs))


def _compare_memory(folder: Path, spec: Path) -> None:
    ours, theirs = _commands(folder, MANY_DISPATCHES)
    print(f"{MANY_DISPATCHES:,} dispatches, peak memory with {ENTRIES[0]:,} entries")
    peaks: list[float] = []
    for command in ([*ours, "--spec", str(spec)], ours, theirs):
        figures = Figures()
        figures.run(command)
        peaks += figures.mebibytes
    mine, none, alone = peaks
    print(f"  tuninglink  {mine:.0f} MiB, without a spec {none:.0f} MiB: {mine / none:.2f}x")
    print(f"  IREE        without a spec {alone:.0f} MiB: {mine / alone:.2f}x", flush=True)


def _commands(folder: Path, dispatches: int) -> tuple[list[str], list[str]]:
    """Return the commands that compile a program without a spec, ours and theirs."""
    program = str(write_program(folder / "program.mlir", dispatches))
    common = [program, *TARGET, "--compile-to=executable-configurations", "-o"]
    theirs = [tool("iree-compile"), *common, str(folder / "theirs.mlir")]
    ours = [tool("tuninglink"), "compile", "--no-default-specs", *common]
    return [*ours, str(folder / "ours.mlir")], theirs


if __name__ == "__main__":
    main()
