"""Packages import only from packages below them, by their faces, and no modules import each other in a circle."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from places import ROOT

import tuninglink
import tuninglink.passes

sys.path.append(str(ROOT / "tools"))
import ratchet

ROOTS = {
    "tuninglink": Path(tuninglink.__file__).parent,
    "tuninglink.passes": Path(tuninglink.passes.__file__).parent,
}
LAYERS = (
    ("interrupt_hooks", "lazy", "pages", "plain_data", "rules"),
    ("errors", "workers"),
    ("mlir",),
    ("arguments", "compiler_plugins", "files", "solver"),
    ("iree", "llvm_flags", "runner"),
    ("spaces.model", "upgrading"),
    ("spaces.cpu", "spaces.gpu", "specs"),
    ("emission", "matching", "spaces.spirv", "specs.verification"),
    ("pinning", "preprocessing"),
    ("comparing", "compiler", "payloads", "spaces"),
    ("replacing",),
    ("checking", "dag_to_named", "forms", "passes", "tuning.problems"),
    ("opt", "scaffolding", "programs"),
    ("explaining", "kernels", "tuning.candidates"),
    ("devices", "predicting"),
    ("tuning.references", "tuning.search"),
    ("tuning.deciding",),
    ("tuning.database", "tuning.flag_sets"),
    ("tuning.scheduling",),
    ("tuning",),
    ("doctor", "torch"),
    ("cli",),
    ("__main__",),
)
"""The packages and sub-packages from the lowest to the highest, as `docs/background/architecture.md` lists them."""

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
PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py"}


def imported(name: str) -> set[str]:
    """Return the modules of the package that a module imports, for its annotations, too."""
    modules: set[str] = set()
    for module, in_lines, in_line in IMPORT.findall(MODULES[name].read_text()):
        for member in re.findall(r"(\w+)(?: as \w+)?", in_lines or in_line):
            full_name = f"{module}.{member}"
            modules.add(full_name if full_name in MODULES else module)
    return (modules & MODULES.keys()) - {name, "tuninglink"}


def package_of(name: str) -> str:
    """Return the package of a module, without the name of the whole, or the name of a module beside the packages."""
    package = name if name in PACKAGES else name.rpartition(".")[0]
    return (package if package != "tuninglink" else name).removeprefix("tuninglink.")


@cache
def imports() -> dict[str, set[str]]:
    """Return the imports of each module."""
    return {name: imported(name) for name in MODULES if name != "tuninglink"}


def test_packages_import_only_from_below() -> None:
    above = {
        (name, module)
        for name, imported_modules in imports().items()
        for module in imported_modules
        if package_of(module) != package_of(name)
        and LEVELS[package_of(module)] >= LEVELS[package_of(name)]
    }
    assert not above


def test_packages_import_from_faces() -> None:
    """A module of another package may be imported as a whole, as `names` is, but nothing from inside of it."""
    deep = {
        (name, module)
        for name in MODULES
        if name != "tuninglink"
        for module, _, _ in IMPORT.findall(MODULES[name].read_text())
        if module in MODULES
        and module not in PACKAGES
        and "." in package_of(module) + "."
        and package_of(module) != package_of(name)
        and module.count(".") > 1
        and name not in PACKAGES
        and package_of(module) not in ("cli", "passes")
    }
    assert not deep


def test_no_modules_import_each_other_in_a_circle() -> None:
    # A face only names its modules, and imports none before it is used.
    graph = {name: found for name, found in imports().items() if name not in PACKAGES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        pytest.fail(" -> ".join(circle.args[1]))


def test_every_name_of_a_face_is_documented() -> None:
    undocumented = []
    for package in PACKAGES:
        for node in ast.walk(ast.parse(MODULES[package].read_text())):
            if isinstance(node, ast.ImportFrom) and node.module in MODULES:
                tree = ast.parse(MODULES[node.module].read_text())
                named = {alias.name for alias in node.names}
                undocumented += [
                    f"{node.module}.{item.name}"
                    for item in tree.body
                    if isinstance(item, ast.FunctionDef | ast.ClassDef)
                    and item.name in named
                    and not ast.get_docstring(item)
                ]
    assert not undocumented


def test_no_package_grows() -> None:
    assert not ratchet.faults()
