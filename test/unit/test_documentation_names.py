"""The modules, functions and files that the documentation names exist; its pages keep to a budget and are all listed."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING

import pytest
from places import ROOT

if TYPE_CHECKING:
    from pathlib import Path, PurePath

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
SOURCES = sorted(ROOT.glob("python/tuninglink/**/*.py"))
PACKAGE = ROOT / "python" / "tuninglink"
FOLDERS = ("benchmarks", "docs", "examples", "passes", "python", "test", "tools")
FILES = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]

FILE = re.compile(r"tuninglink\.(lock|mlir|sarif|toml)")
STRING = re.compile(r"[\"'](tuninglink\.\w+)[\"']")
ATTRIBUTES = {name for source in SOURCES for name in STRING.findall(source.read_text())}
"""Names of attributes, formats and entry points, which the source has as strings."""


def resolves(name: str) -> bool:
    """Return whether a dotted name is a module, or a member of one."""
    first, *rest = name.split(".")
    value = importlib.import_module(first)
    for depth, part in enumerate(rest, 1):
        if not hasattr(value, part):
            try:
                importlib.import_module(".".join([first, *rest[:depth]]))
            except ModuleNotFoundError as failure:
                # A module of an extra needs a package that may not be installed here.
                return not str(failure.name).startswith("tuninglink")
        value = getattr(value, part)
    return True


def exists(path: str) -> bool:
    """Return whether a path of the repository exists, in which `*` and `<word>` match anything."""
    return bool(list(ROOT.glob(re.sub(r"<\w+>", "*", path))))


def named(page: PurePath, pattern: str) -> set[str]:
    return set(re.findall(pattern, page.read_text()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_dotted_names_resolve(page: PurePath) -> None:
    names = named(page, r"(?<![\w./-])tuninglink(?:\.\w+)+") - ATTRIBUTES
    assert not [name for name in sorted(names) if not (FILE.fullmatch(name) or resolves(name))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_exist(page: PurePath) -> None:
    paths = named(page, rf"(?<![\w./-])(?:{'|'.join(FOLDERS)})/[\w.*<>/-]*[\w*>/]")
    assert not [path for path in sorted(paths) if not exists(path)]
    # Python files by the end of their path, those of users aside, and modules of a package as `package/module`.
    scripts = named(page, r"(?<![\w./>-])(?:(?:\w+/)+\w+|test_\w+)\.py\b")
    assert not [
        script for script in sorted(scripts) if not any(path.match(script) for path in FILES)
    ]
    packages = "|".join(path.name for path in PACKAGE.iterdir() if path.is_dir())
    modules = named(page, rf"`((?:{packages})/\w+(?:/\w+)*)`")
    assert not [
        module
        for module in sorted(modules)
        if not any(
            path.exists() for path in (PACKAGE / module, PACKAGE / f"{module}.py", ROOT / module)
        )
    ]


def test_tests_that_the_source_names_exist() -> None:
    paths = {path for source in SOURCES for path in named(source, r"\btest/[\w/]+\.py\b")}
    assert paths
    assert not [path for path in sorted(paths) if not exists(path)]


DOCS = ROOT / "docs"
WORDS = {
    page.relative_to(DOCS): len(page.read_text().split())
    for page in DOCS.rglob("*.md")
    if "reference" not in page.parts and page.name != "benchmarks.md"
}
"""The words of each page that is read, not looked up."""


def test_pages_are_short() -> None:
    assert {page: words for page, words in WORDS.items() if words > 1800} == {}


def test_all_pages_together_are_short() -> None:
    # A new page raises this sum by its length.
    assert sum(WORDS.values()) <= 41_253


def test_the_readme_is_a_page() -> None:
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= 120
    assert len(readme.split()) <= 1100


def test_every_page_is_in_the_contents() -> None:
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} - {"README.md"}
    contents = (DOCS / "README.md").read_text()
    assert set(re.findall(r"\]\(([\w/-]+\.md)\)", contents)) == pages
    site = (ROOT / "mkdocs.yml").read_text().partition("nav:")[2]
    assert set(re.findall(r"[\w/-]+\.md", site)) - {"README.md"} == pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, heading = link.partition("#")
        if "://" not in link:
            target = page.parent / path if path else page
            assert target.exists(), link
            assert not heading or heading in headings(target), link


def headings(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub and MkDocs write them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
