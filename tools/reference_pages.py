"""Makes the reference pages of the documentation site from the code, as a hook of MkDocs.

The pages exist in the site only: nothing is written to `docs/`.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

from mkdocs.structure.files import File
from tuninglink.passes import PASSES

import tuninglink
from tuninglink.cli import reference
from tuninglink.spaces.cpu.pipelines import PIPELINES
from tuninglink.spaces.knob_values import MEANINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_COMMANDS: Final = (
    *(
        "tune",
        "retune",
        "init",
        "link",
        "diff",
        "compile",
        "check",
        "explain",
        "upgrade",
        "dump",
        "targets",
        "lock",
    ),
    *("demo", "database show", "database merge", "database export", "database import"),
)
_VALUES: Final = {
    "workgroup": ("elements", "0 (not tiled) to the size of the loop"),
    "reduction": (
        "elements; intrinsics with an `mma_kind`",
        "0 (not tiled) to the size of the loop",
    ),
    "partial_reduction": ("elements", "0 (not tiled) to the size of the loop"),
    "subgroup": (
        "elements; intrinsics with an `mma_kind`",
        "0 (not tiled) to the workgroup's tile",
    ),
    "thread": ("elements", "0 (not tiled) to the workgroup's tile"),
    "distribution": ("elements", "0 (not tiled) to the size of the loop"),
    "cache_parallel": ("elements", "0 (not tiled) to the size of the loop"),
    "cache_reduction": ("elements", "0 (not tiled) to the size of the loop"),
    "vector_common_parallel": ("elements", "0 (not tiled) to the size of the loop"),
    "vector_reduction": ("elements", "0 (not tiled) to the size of the loop"),
    "vector_inner_parallel": ("elements", "0 (not tiled) to the size of the loop"),
    "tile_sizes": ("elements", "lists of the sizes of tiles"),
    "workgroup_size": ("threads", "three numbers; their product is bounded by the target"),
    "subgroup_size": ("threads", "what the target has: 32 or 64"),
    "mma_kind": ("", "an intrinsic of the target: `tuninglink check` lists those for the types"),
    "promote_operands": ("", "numbers of operands, each once"),
    "promotion_types": ("", "an attribute for each promoted operand"),
    "subgroup_basis": ("subgroups", "`[[counts], [loops]]`"),
    "lane_basis": ("threads", "`[[counts], [loops]]`"),
    "prefetch_num_stages": ("stages", "0 and more"),
    "pipeline_depth": ("stages", "0 and more"),
    "store_stage": ("", "0 or 1"),
    "pipeline": ("", "the pipelines of the target's backend"),
}
_FLAGS: Final = ("", "`true` or `false`")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages to those of `docs/`."""
    for name, make in _PAGES.items():
        files.append(File.generated(config, f"reference/{name}.md", content=make()))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Takes off what is for readers of the repository: attributes of fences, and links out of `docs/`."""
    text = re.sub(r"^```(shell|python) \S.*$", r"```\1", markdown, flags=re.MULTILINE)
    if "/" in page.file.src_uri:
        return text
    return re.sub(r"\[([^\]]+)\]\(\.\./[^)]*\)", r"\1", text)


def commands() -> str:
    """Returns the help of every command."""
    sections = [f"## tuninglink {each}\n\n```text\n{_help(each)}\n```\n" for each in _COMMANDS]
    return "\n".join(("# Commands and their options\n", *sections))


def _help(command: str) -> str:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    words = (sys.executable, "-m", "tuninglink.cli.main", *command.split(), "--help")
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)  # noqa: S603
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())


def passes() -> str:
    """Returns the reference of the passes."""
    return reference.reference(PASSES)


def knobs() -> str:
    """Returns the table of knobs, and what is known of the pipelines for CPUs."""
    rows = [_row(name, meaning) for name, meaning in MEANINGS.items()]
    return "\n".join(
        (
            "# Knobs\n",
            "The parameters of a configuration. A knob of loops, such as `workgroup`, is a list with a value for",
            "each loop of the root op. Which values are valid together depends on the problem, the target and the",
            "pipeline: `tuninglink init` writes them beside each knob, and `tuninglink check` verifies them. The",
            "rules are described in [Constraints](../constraints.md).\n",
            "| knob | meaning | unit | values |",
            "| --- | --- | --- | --- |",
            *rows,
            "\n## Pipelines for CPUs\n",
            "| pipeline | needs `distribution` | levels that must not be negative | vectorizes |",
            "| --- | --- | --- | --- |",
            *(
                f"| `{name}` | {_yes(each.needs_distribution)} | {', '.join(f'`{level}`' for level in each.natural)}"
                f" | {_yes(each.vectorizes)} |"
                for name, each in PIPELINES.items()
            ),
            "",
        )
    )


def _row(name: str, meaning: str) -> str:
    unit, values = _VALUES.get(name, _FLAGS)
    return f"| `{name}` | {meaning} | {unit} | {values} |"


def _yes(answer: bool) -> str:  # noqa: FBT001 - it is what is written
    return "yes" if answer else "no"


def api() -> str:
    """Returns the reference of what `tuninglink` exports."""
    return "\n".join(("# Python API\n", *_members()))


def _members() -> Iterator[str]:
    for name in sorted(tuninglink.__all__, key=str.lower):
        member = getattr(tuninglink, name)
        yield f"## {name}\n"
        if inspect.isfunction(member):
            signature = str(inspect.signature(member)).replace("'", "")
            yield f"```text\n{name}{signature}\n```\n"
        yield f"```text\n{inspect.getdoc(member)}\n```\n"


_PAGES: Final[dict[str, Callable[[], str]]] = {
    "commands": commands,
    "passes": passes,
    "knobs": knobs,
    "api": api,
}
