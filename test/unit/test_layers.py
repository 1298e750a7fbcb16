"""Packages import only those below them, and no modules import each other in a circle."""

from __future__ import annotations

import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import tuninglink
import tuninglink.passes

ROOTS = {
    "tuninglink": Path(tuninglink.__file__).parent,
    "tuninglink.passes": Path(tuninglink.passes.__file__).parent,
}
LAYERS = (
    (
        "arguments",
        "compiler_plugins",
        "errors",
        "escaping",
        "files",
        "interrupt_hooks",
        "json_schema",
        "lazy",
        "llvm_flags",
        "mlir",
        "pages",
        "plain_data",
        "rules",
    ),
    ("iree",),
    ("solver",),
    ("workers",),
    ("upgrading",),
    ("specs",),
    ("matching",),
    ("spaces",),
    ("payloads", "emission"),
    ("passes",),
    ("compiler",),
    ("scaffolding",),
    ("checking", "explaining", "comparing", "dag_to_named"),
    ("tuning",),
    ("doctor", "opt", "torch"),
    ("cli",),
    ("__main__",),
)
"""The packages from the lowest to the highest, as `docs/contributors/architecture.md` lists them."""

IMPORT = re.compile(r"^ *from (tuninglink[\w.]*) import (?:\(([^)]*)\)|([^\n(#]+))", re.MULTILINE)
"""Found as text: parsing all modules takes seconds."""

LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}


def modules() -> dict[str, Path]:
    """Return the files of the modules of the package by their names."""
    found = {}
    for package, root in ROOTS.items():
        for path in root.rglob("*.py"):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join((package, *(part for part in parts if part != "__init__")))
            if package != "tuninglink" or parts[0] != "passes":
                found[name] = path
    return found


MODULES = modules()


def imported(name: str) -> set[str]:
    """Return the modules of the package that a module imports, for its annotations, too."""
    modules: set[str] = set()
    for module, in_lines, in_line in IMPORT.findall(MODULES[name].read_text()):
        for member in re.findall(r"(\w+)(?: as \w+)?", in_lines or in_line):
            full_name = f"{module}.{member}"
            modules.add(full_name if full_name in MODULES else module)
    return (modules & MODULES.keys()) - {name, "tuninglink"}


def level(name: str) -> int:
    return LEVELS[name.split(".")[1]]


@cache
def imports() -> dict[str, set[str]]:
    """Return the imports of each module."""
    return {name: imported(name) for name in MODULES if name != "tuninglink"}


def above(name: str) -> set[str]:
    """Return the imports of a module from packages next to or above its own."""
    package = name.split(".")[1]
    return {
        each
        for each in imports()[name]
        if each.split(".")[1] != package
        and level(each) >= level(name)
        # Modules beside each other at the bottom: the next test keeps them in order.
        and not level(each) == level(name) == 0
    }


def test_no_module_knows_a_package_above_its_own() -> None:
    assert not {name: above(name) for name in imports() if above(name)}


def test_no_modules_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as circle:
        pytest.fail(" -> ".join(circle.args[1]))
