"""Print the size of each package against its limits; exit with 1 if one is larger. Limits may only be lowered.

A new package gets a row in the commit that adds it.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PACKAGES: Final = ROOT / "python" / "tuninglink"
PASSES: Final = ROOT / "passes"

LIMITS: Final = {
    "": (2352, 116),
    "mlir.dialects": (7, 0),
    "pages": (31, 1),
    "workers": (673, 37),
    "mlir": (1504, 82),
    "solver": (2459, 121),
    "iree": (3001, 135),
    "spaces.model": (1356, 92),
    "upgrading": (3660, 137),
    "spaces.cpu": (1454, 45),
    "spaces.gpu": (3436, 140),
    "specs": (5897, 294),
    "matching": (5063, 184),
    "spaces.spirv": (841, 35),
    "specs.verification": (1793, 49),
    "comparing": (586, 19),
    "compiler": (3200, 128),
    "payloads": (2079, 90),
    "spaces": (1949, 87),
    "checking": (1635, 56),
    "passes": (1193, 24),
    "tuning.problems": (1762, 93),
    "opt": (2091, 87),
    "programs": (2302, 87),
    "explaining": (1804, 75),
    "tuning.candidates": (1345, 66),
    "devices": (4838, 233),
    "tuning.references": (1677, 89),
    "tuning.search": (688, 45),
    "tuning.deciding": (3284, 168),
    "tuning.database": (1956, 83),
    "tuning.flag_sets": (2269, 102),
    "tuning.scheduling": (2201, 153),
    "tuning": (3583, 136),
    "forms": (1354, 68),
    "replacing": (738, 45),
    "preprocessing": (461, 14),
    "pinning": (527, 28),
    "scaffolding": (967, 32),
    "runner": (724, 28),
    "kernels": (4175, 201),
    "predicting": (1675, 64),
    "emission": (1039, 37),
    "doctor": (244, 9),
    "cli": (5564, 200),
}
"""The largest numbers of lines and of functions of each package, without its sub-packages; "" has the modules beside
the packages."""

MOST_FILES: Final = 292
SHORTEST_MEAN: Final = 14.1
"""The least mean length of a function, in lines with its decorators and its docstring."""


def package_of(path: Path) -> str:
    """Return the package of a module, such as `devices`; empty for a module beside the packages."""
    if path.is_relative_to(PASSES):
        return "passes"
    return ".".join(path.relative_to(PACKAGES).parts[:-1])


def modules() -> list[Path]:
    """Return the files of all modules; `passes` in the package is a link to the folder."""
    own = (path for path in PACKAGES.rglob("*.py") if path.parent.name != "passes")
    return sorted([*own, *PASSES.glob("*.py")])


def measure() -> tuple[Counter[str], Counter[str], float]:
    """Return the numbers of lines and of functions by package, and the mean length of a function."""
    lines: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    length = 0
    for path in modules():
        text = path.read_text()
        lines[package_of(path)] += len(text.splitlines())
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min(part.lineno for part in (node, *node.decorator_list))
                functions[package_of(path)] += 1
                length += (node.end_lineno or first) - first + 1
    return lines, functions, length / functions.total()


def faults() -> list[str]:
    """Return a sentence for each limit that is exceeded."""
    lines, functions, mean = measure()
    found = []
    for package in sorted({*lines, *LIMITS}):
        for count, limit, unit in zip(
            (lines[package], functions[package]),
            LIMITS.get(package, (0, 0)),
            ("lines", "functions"),
            strict=True,
        ):
            if count > limit:
                found.append(f"{package or 'tuninglink'} has {count} {unit}, at most {limit}")
    if (files := len(modules())) > MOST_FILES:
        found.append(f"there are {files} files, at most {MOST_FILES}")
    if mean < SHORTEST_MEAN:
        found.append(f"a function has {mean:.1f} lines on average, at least {SHORTEST_MEAN}")
    return found


def main() -> int:
    """Print the table and what exceeds it."""
    lines, functions, mean = measure()
    print(f"{'package':24} {'lines':>6} {'limit':>6}   {'functions':>9} {'limit':>6}")
    for package, (most_lines, most_functions) in LIMITS.items():
        print(
            f"{package or '(modules)':24} {lines[package]:6} {most_lines:6}   "
            f"{functions[package]:9} {most_functions:6}"
        )
    print(f"{'all':24} {lines.total():6}          {functions.total():9}")
    print(f"{len(modules())} files, {mean:.1f} lines in a function on average")
    exceeded = faults()
    for fault in exceeded:
        print(f"error: {fault}", file=sys.stderr)
    return bool(exceeded)


if __name__ == "__main__":
    sys.exit(main())
