"""Makes the reference pages of the documentation site from the code, as a hook of MkDocs.

The pages exist in the site only: nothing is written to `docs/`.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knob_reference import knobs
from mkdocs.structure.files import File

import tuninglink
from tuninglink.cli.usage import SUMMARIES, usage_of
from tuninglink.opt.help import reference
from tuninglink.passes import PASSES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to those of `docs/`."""
    for name, make in _PAGES.items():
        files.append(File.generated(config, f"reference/{name}.md", content=make()))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Remove parts for readers of the repository: attributes of fences, and links out of `docs/`."""
    text = re.sub(r"^```(shell|python) \S.*$", r"```\1", markdown, flags=re.MULTILINE)
    if "/" in page.file.src_uri:
        return text
    return re.sub(r"\[([^\]]+)\]\(\.\./[^)]*\)", r"\1", text)


def commands() -> str:
    """Return the help of every command."""
    sections = [
        f"## tuninglink {name}\n\n```text\n{usage_of(name).text()}```\n" for name in SUMMARIES
    ]
    return "\n".join(("# Commands and their options\n", *sections))


def passes() -> str:
    """Return the reference of the passes."""
    return reference(PASSES.values())


def api() -> str:
    """Return the reference of the public modules."""
    return "\n".join(
        ("# Python API\n", *_exported(), *_functions("tuning.tune"), *_functions("torch"))
    )


def _exported() -> Iterator[str]:
    yield "## tuninglink\n"
    for name in sorted(tuninglink.__all__, key=str.lower):
        member = getattr(tuninglink, name)
        signature = str(inspect.signature(member)) if inspect.isfunction(member) else ""
        yield from _member(f"tuninglink.{name}", signature.replace("'", ""), inspect.getdoc(member))


def _functions(module: str) -> Iterator[str]:
    """Yield the public functions of a module from its source: its imports need not be installed."""
    source = Path(tuninglink.__file__).parent.joinpath(*module.split(".")).with_suffix(".py")
    yield f"## tuninglink.{module}\n"
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            signature = f"({ast.unparse(node.args)}){returns}"
            yield from _member(
                f"tuninglink.{module}.{node.name}", signature, ast.get_docstring(node)
            )


def _member(name: str, signature: str, documentation: str | None) -> Iterator[str]:
    yield f"### {name}\n"
    if signature:
        yield f"```text\n{name.rpartition('.')[2]}{signature}\n```\n"
    yield f"```text\n{documentation}\n```\n"


_PAGES: Final[dict[str, Callable[[], str]]] = {
    "commands": commands,
    "passes": passes,
    "knobs": knobs,
    "api": api,
}
