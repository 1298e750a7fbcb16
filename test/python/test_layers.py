"""Each layer of the package knows only those under it, and no module imports in a circle."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import tuninglink.passes

import tuninglink

PACKAGE = Path(tuninglink.__file__).parent
PASSES = Path(tuninglink.passes.__file__).parent
LAYERS = (
    ("errors", "files", "cleanup", "lazy"),
    ("ir",),
    ("iree",),
    ("upgrading",),
    ("spec", "constraints"),
    ("payloads", "analysis"),
    ("driver",),
    ("passes",),
    ("compiler",),
    ("checking", "explaining", "modernizing"),
    ("cli",),
)
"""From the lowest to the highest. `errors` and `ir.diagnostics` know each other's types."""

LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}


def modules() -> list[tuple[str, Path]]:
    own = [(path.relative_to(PACKAGE), path) for path in PACKAGE.rglob("*.py")]
    own = [each for each in own if each[0].parts[0] != "passes" and len(each[0].parts) > 1]
    passes = [(Path("passes") / path.name, path) for path in PASSES.glob("*.py")]
    return [(".".join(name.with_suffix("").parts), path) for name, path in own + passes]


def imported(path: Path) -> set[str]:
    """Returns what a module imports from the package when it runs, annotations left aside."""
    found: set[str] = set()
    pending: list[ast.AST] = [ast.parse(path.read_text())]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tuninglink."):
            found.add((node.module or "").removeprefix("tuninglink."))
        pending.extend(ast.iter_child_nodes(node))
    return found


@pytest.mark.parametrize(("name", "path"), modules(), ids=[name for name, _ in modules()])
def test_a_module_knows_only_layers_under_its_own(name: str, path: Path) -> None:
    own = name.partition(".")[0]
    above = {
        each
        for each in imported(path)
        if (layer := each.partition(".")[0]) != own and LEVELS[layer] >= LEVELS[own]
    }
    assert not above
