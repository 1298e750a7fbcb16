"""The pass reference, made from the passes: `python -m tuninglink.opt.pass_reference > docs/passes.md`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tuninglink.mlir.rendering import print_diagnostic
from tuninglink.opt.help import sections, summary
from tuninglink.opt.options import Option, options_of
from tuninglink.opt.pass_registry import PassRegistry
from tuninglink.passes import PASSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tuninglink.mlir.passes import Pass

_INTRODUCTION = """\
# Passes

Every pass is a flag of `tuninglink-opt` and a name in its textual pipelines; an option is written
`--pass="option=value flag list={a,b}"` or `pass{option=value flag list={a,b}}`.

This page is made from the passes: `python -m tuninglink.opt.pass_reference`.
"""


def reference(passes: Iterable[type[Pass]]) -> str:
    """Return the reference of `passes` in Markdown."""
    passes = list(passes)
    index = "\n".join(f"- [`{pass_.name}`](#{pass_.name}): {summary(pass_)}." for pass_ in passes)
    return "\n".join([_INTRODUCTION, index, *(_entry(pass_) for pass_ in passes)])


def main() -> None:
    """Print the reference of all passes that are registered, those of plug-ins included."""
    registry = PassRegistry(PASSES, print_diagnostic)
    sys.stdout.write(reference(registry.all().values()))


def _entry(pass_type: type[Pass]) -> str:
    runs_on = f"`{pass_type.anchor}`" if pass_type.anchor else "any operation"
    parts = [f"\n## {pass_type.name}\n", f"Runs on: {runs_on}\n"]
    for title, text in sections(pass_type):
        if title:
            parts.append(f"### {title}\n")
        parts.append(f"{text}\n")
    parts += _options(options_of(pass_type))
    return "\n".join(parts)


def _options(options: tuple[Option, ...]) -> Iterator[str]:
    if not options:
        return
    yield "### Options\n"
    yield "| option | value | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for option in options:
        cells = [
            f"`{option.name}`",
            f"`{option.value_name}`",
            f"`{option.print(option.default)}`",
            option.help,
        ]
        escaped = (cell.replace("|", r"\|") for cell in cells)
        yield f"| {' | '.join(escaped)} |"
    yield ""


if __name__ == "__main__":
    main()
