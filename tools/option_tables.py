"""Writes the usage and the options of commands into the documentation: `python tools/option_tables.py`.

A page has them between `<!-- tuninglink tune -->` and `<!-- end -->`; they follow from the declarations of the
commands. A test compares them.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.cli.usage import spelling, usage_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.cli.usage import Usage

DOCS: Final = Path(__file__).resolve().parents[1] / "docs"

_PART: Final = re.compile(r"(<!-- tuninglink ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)

_WIDTH: Final = 118


def updated(page: str) -> str:
    """Return a page with today's usages and options."""
    return _PART.sub(lambda part: f"{part[1]}\n{options(usage_of(part[2]))}\n{part[3]}", page)


def commands_in(page: str) -> list[str]:
    """Return the commands whose options a page has."""
    return [part[2] for part in _PART.finditer(page)]


def options(usage: Usage) -> str:
    """Return the usage line of a command, and the table of its arguments and options."""
    line = textwrap.fill(usage.line, _WIDTH, subsequent_indent="    ", break_on_hyphens=False)
    rows = "".join(f"| `{_escaped(name)}` | {meaning} |\n" for name, meaning in _rows(usage))
    table = f"\n| option | meaning |\n| --- | --- |\n{rows}" if rows else ""
    return f"```text\n{line}\n```\n{table}"


def _rows(usage: Usage) -> Iterator[tuple[str, str]]:
    for argument in usage.positionals:
        yield argument.metavar, _text(argument.help)
    for name, flag in usage.flags.items():
        if flag.help:
            yield spelling(name, flag), _text(flag.help)


def _text(meaning: str) -> str:
    """Return a help text as Markdown: flags are code, and stars are not emphasis."""
    parts = re.split(r"(`[^`]*`)", meaning)
    return "".join(part if part.startswith("`") else _plain(part) for part in parts)


def _plain(text: str) -> str:
    return re.sub(r"(?<![\w-])(--?[a-z][\w-]*)", r"`\1`", _escaped(text).replace("*", r"\*"))


def _escaped(text: str) -> str:
    return text.replace("|", r"\|")


def main() -> None:
    """Rewrite the pages."""
    for path in DOCS.rglob("*.md"):
        page = path.read_text()
        if page != updated(page):
            path.write_text(updated(page))


if __name__ == "__main__":
    main()
