"""Linking two specs of 20,000 entries, parse to bytecode, against `iree-opt --iree-codegen-link-tuning-specs`.

Then linking alone at growing sizes, to show that the time grows as the input does.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from generate import write_spec
from measure import Figures, compare, describe_machine, parse_runs, report, scratch, tool

if TYPE_CHECKING:
    from pathlib import Path

ENTRIES = 20_000
GROWTH = (2_000, 5_000, 10_000, 20_000, 40_000)


def main() -> None:
    """Run the benchmark."""
    runs = parse_runs(__doc__ or "")
    describe_machine()
    with scratch() as folder:
        specs = [write_spec(folder / f"{seed}.mlir", ENTRIES, seed) for seed in (0, 1)]
        nested = _nest(folder / "nested.mlir", specs)
        ours = _link(specs, folder / "ours.mlirbc")
        theirs = [
            tool("iree-opt"), "--no-implicit-module", "--iree-codegen-link-tuning-specs", str(nested),
            "--emit-bytecode", "-o", str(folder / "theirs.mlirbc"),
        ]  # fmt: skip
        report(f"linking 2 x {ENTRIES:,} entries", *compare(ours, theirs, runs))
        print("growth: microseconds an entry")
        for entries in GROWTH:
            specs = [write_spec(folder / f"{seed}.mlir", entries, seed) for seed in (0, 1)]
            figures = Figures()
            for _ in range(runs):
                figures.run(_link(specs, folder / "ours.mlirbc"))
            each = statistics.median(figures.seconds) / (2 * entries) * 1e6
            print(f"  2 x {entries:>6,}  {each:6.1f}", flush=True)


def _link(specs: list[Path], output: Path) -> list[str]:
    paths = [str(spec) for spec in specs]
    return [tool("tuninglink"), "link", *paths, "--no-default-specs", "-o", str(output)]


def _nest(path: Path, specs: list[Path]) -> Path:
    """Write the specs as IREE's pass wants them: modules of different names inside one module."""
    nested = [
        spec.read_text().replace("module @generated", f"module @generated_{index}", 1)
        for index, spec in enumerate(specs)
    ]
    body = "\n".join(nested)
    path.write_text(f"module @top attributes {{transform.with_named_sequence}} {{\n{body}\n}}\n")
    return path


if __name__ == "__main__":
    main()
