"""The tables that the commands show."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from rich.console import Console

UNBROKEN = 100_000
"""The width of a table that no terminal shows: a row is a line there, for grep and its like."""


def console(stream: TextIO) -> Console:
    """Return a console on `stream`: colors only on a terminal, and not where NO_COLOR is set."""
    from rich.console import Console  # noqa: PLC0415 - plain tables need no rich

    width = None if stream.isatty() else UNBROKEN
    return Console(file=stream, width=width, highlight=False, soft_wrap=False)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table to standard output; the arguments are those of `render_table`."""
    sys.stdout.write(render_table(columns, rows, title, sys.stdout))


def render_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], title: str, stream: TextIO
) -> str:
    """Return a table as text.

    Args:
        columns: the headings.
        rows: the cells, as plain text.
        title: a line above the table, or nothing.
        stream: where the table will go: a terminal gives it its width and may have colors.
    """
    if stream.isatty() or any(map(_is_special, (title, *columns, *chain.from_iterable(rows)))):
        return _rich(columns, rows, title, stream)
    return _plain(columns, rows, title)


def _is_special(cell: str) -> bool:
    """Return whether a cell takes more than a line, or a place for each character."""
    return not cell.isprintable() or not cell.isascii()


def _plain(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str) -> str:
    """Return the table that `_rich` does where no terminal is, in a hundredth of the time."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    rule = "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))

    def line(cells: Sequence[str]) -> str:
        return _GAP.join(map(str.ljust, cells, widths)).rstrip()

    lines = [line(columns), rule, *map(line, rows)]
    return "".join(f"{line}\n" for line in ([title.rstrip(), *lines] if title else lines))


_GAP: Final = "   "
"""What stands between two columns."""


def _rich(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str, stream: TextIO) -> str:
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    target = console(stream)
    with target.capture() as captured:
        if title:
            target.print(Text(title, style="bold"))
        target.print(table)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())
