"""Output of commands on a terminal: verbosity, progress and tables."""

from __future__ import annotations

import io
import os
import re
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from enum import IntEnum
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

from tuninglink.errors import escaped
from tuninglink.interrupt_hooks import interrupt_hook

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.text import Text


class Verbosity(IntEnum):
    """The verbosity on standard error."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


_WORDS: Final = {
    **dict.fromkeys(("-q", "--quiet"), Verbosity.QUIET),
    **dict.fromkeys(("-v", "--verbose"), Verbosity.VERBOSE),
}
_chosen = [Verbosity.NORMAL]
"""The verbosity of this process."""


def take_verbosity(arguments: Iterable[str]) -> list[str]:
    """Set the verbosity of this process from its arguments, and return the other arguments.

    The last flag wins. Arguments after `--` are not parsed.
    """
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            return [*rest, word, *words]
        if word in _WORDS:
            _chosen[0] = _WORDS[word]
        else:
            rest.append(word)
    return rest


def verbosity() -> Verbosity:
    return _chosen[0]


def set_verbosity(chosen: Verbosity) -> None:
    _chosen[0] = chosen


def is_quiet() -> bool:
    """Whether only errors and warnings are shown."""
    return _chosen[0] is Verbosity.QUIET


def is_verbose() -> bool:
    """Whether the steps of a command are shown with their times."""
    return _chosen[0] is Verbosity.VERBOSE


PATIENCE = 1.0
"""The delay before progress is shown, in seconds."""

_SHOW_CURSOR = b"\033[?25h"


class Steps:
    """The steps of an activity, which rich renders with their time. A call starts the next step."""

    def __init__(self, what: object) -> None:
        self._what = what
        self._step = ""
        self._began = self._step_began = time.monotonic()

    def __call__(self, step: str) -> None:
        if self._step or step:
            self._tell()
        self._step, self._step_began = step, time.monotonic()

    def end(self) -> None:
        self("")
        self._step_began = self._began
        self._tell()

    def _tell(self) -> None:
        seconds = time.monotonic() - self._step_began
        if is_verbose():
            print(f"{self}: {seconds:.1f} s", file=sys.stderr, flush=True)  # noqa: T201

    def __str__(self) -> str:
        return escaped(f"{self._what}: {self._step}" if self._step else str(self._what))

    def __rich__(self) -> Text:
        from rich.text import Text  # noqa: PLC0415 - as above

        return Text(f"{self} ({time.monotonic() - self._began:.0f} s)")


@contextmanager
def progress(what: object) -> Iterator[Steps]:
    """Show an activity on the terminal, if there is one, once the block has taken a second."""
    steps = Steps(what)
    with ExitStack() as shown:

        def show() -> None:
            target = console(sys.stderr)
            if target.is_interactive:
                cursor = interrupt_hook(lambda: os.write(sys.stderr.fileno(), _SHOW_CURSOR))
                shown.enter_context(cursor)
                shown.enter_context(target.status(steps))

        if sys.stderr.isatty() and not is_quiet():
            timer = threading.Timer(PATIENCE, show)
            timer.daemon = True
            timer.start()
            shown.callback(timer.join)
            shown.callback(timer.cancel)
        yield steps
    steps.end()


UNBROKEN = 100_000
"""The width of a table that no terminal shows: a row is a line there, for grep and its like."""


def console(stream: TextIO) -> Console:
    """Return a console on `stream`, with colors only on a terminal and only if NO_COLOR is not set."""
    from rich.console import Console  # noqa: PLC0415 - plain tables need no rich

    # For TERM=dumb, rich ignores a width without a height.
    width = columns(stream) if stream.isatty() else UNBROKEN
    return Console(file=stream, width=width, height=25, highlight=False, soft_wrap=False)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table to standard output; the arguments are those of `render_table`."""
    sys.stdout.write(render_table(headings, rows, title, sys.stdout))


def render_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], title: str, stream: TextIO
) -> str:
    """Return a table as text; on a terminal without room for it, as blocks, one for each row."""
    title, *headings = map(escaped, (title, *headings))
    rows = [[*map(escaped, row)] for row in rows]
    if not stream.isatty() and "".join((title, *headings, *chain.from_iterable(rows))).isascii():
        # The same table as below, in a hundredth of the time.
        widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
        rule = "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
        padded = [map(str.ljust, row, widths) for row in (headings, *rows)]
        head, *lines = (_GAP.join(cells).rstrip() for cells in padded)
        lines = [*([title.rstrip()] if title else []), head, rule, *lines]
        return "".join(f"{line}\n" for line in lines)
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415
    from rich.cells import cell_len  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    target = console(stream)
    widths = [max(map(cell_len, column)) for column in zip(headings, *rows, strict=True)]
    widest = widths.index(max(widths))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for position, heading in enumerate(headings):
        table.add_column(heading, overflow="fold", no_wrap=position != widest)
    for row in rows:
        table.add_row(*map(Text, row))
    # One column may be broken on wide terminals.
    needed = sum(widths) + len(_GAP) * (len(widths) - 1)
    least = needed - widths[widest] + _LEAST_COLUMN
    has_room = needed <= target.width or least <= target.width >= _WIDE
    with target.capture() as captured:
        if title:
            target.print(Text(title, style="bold"))
        if has_room:
            target.print(table)
    head = "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())
    if has_room:
        return head
    blocks = []
    for name, *cells in rows:
        facts = [fact for fact in zip(headings[1:], cells, strict=True) if fact[1]]
        blocks.append(Block(f"{headings[0]} {name}".strip(), facts))
    return head + render_blocks(blocks, stream)


_GAP: Final = "   "
"""The separator of two columns."""

_WIDE: Final = 100
_LEAST_COLUMN: Final = 30
"""The width of a terminal on which the cells of a column may be broken, and the least width of this column."""


class Block(NamedTuple):
    """Labeled facts about something."""

    name: str
    facts: Sequence[tuple[str, str]]
    remark: str = ""


def render_blocks(
    blocks: Iterable[Block], stream: TextIO, styles: Mapping[str, str] | None = None
) -> str:
    """Return blocks of facts as text for a terminal, which determines the width."""
    from rich.padding import Padding  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    target = console(stream)
    with target.capture() as captured:
        for block in blocks:
            name = Text(block.name, style="bold")
            target.print(name.append(f"  {block.remark}".rstrip(), style="not bold dim"))
            table = Table.grid(padding=(0, 2))
            table.add_column(no_wrap=True)
            table.add_column(overflow="fold")
            for label, text in block.facts:
                style = (styles or {}).get(label, "dim")
                table.add_row(Text(label, style=style), Text(text))
            target.print(Padding(table, (0, 0, 1, 2)))
    return "\n".join(map(str.rstrip, captured.get().rstrip().splitlines())) + "\n"


USUAL_WIDTH: Final = 80
"""The width of a terminal that does not know its own, and of help texts in pipes."""

_LEAST_WIDTH: Final = 20
_STYLE: Final = re.compile(r"\x1b\[[0-9;]*m")
_ERASURE: Final = "\r\033[K"
_MOVES: Final = re.compile(r"[\r\b]|\x1b(?!\[[0-9;]*m)")
"""Characters of lines that are drawn by a program that knows the width, such as a spinner."""


def columns(stream: TextIO) -> int:
    """Return the width of the terminal behind a stream: that of COLUMNS, else the terminal's own."""
    if (given := os.environ.get("COLUMNS", "")).isdecimal() and int(given):
        return max(int(given), _LEAST_WIDTH)
    try:
        width = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        width = 0
    return max(width, _LEAST_WIDTH) if width else USUAL_WIDTH


def folded(text: str, stream: TextIO) -> str:
    """Return text with the lines that a terminal would break anywhere broken between words; unchanged elsewhere."""
    if not stream.isatty():
        return text
    width = columns(stream)
    erasure = _ERASURE if text.startswith(_ERASURE) else ""
    lines = re.split(r"(?<=\n)", text.removeprefix(erasure))
    for position, line in enumerate(lines):
        if _size(line) > width and _MOVES.search(line.rstrip("\r\n")) is None:
            lines[position] = _fold(line, width)
    return erasure + "".join(lines)


class FoldedText(io.TextIOWrapper):
    """The text stream of a terminal, whose lines are broken between words."""

    def write(self, text: str, /) -> int:
        super().write(folded(text, self))
        return len(text)


def _fold(line: str, width: int) -> str:
    """Break a line between words, or within those that no line has room for; the rest is indented by two more columns."""
    content = line.rstrip("\r\n")
    indent = min(len(content) - len(content.lstrip(" ")), width // 2) + 2
    lines, room = [""], width
    for word in re.findall(r" *[^ ]+", content):
        if _size(word) > room and lines[-1]:
            lines.append(" " * indent)
            room = width - indent
            word = word.lstrip(" ")  # noqa: PLW2901 - the break replaces the space
        tokens = [word] if _size(word) <= room else re.findall(rf"{_STYLE.pattern}|.", word)
        for token in tokens:
            if _size(token) > room:
                lines.append(" " * indent)
                room = width - indent
            lines[-1] += token
            room -= _size(token)
    return "\n".join(lines) + line[len(content) :]


def _size(text: str) -> int:
    """Return how many columns a text takes."""
    plain = _STYLE.sub("", text)
    if plain.isascii():
        return len(plain)
    from rich.cells import cell_len  # noqa: PLC0415 - most text needs no table of characters

    return cell_len(plain)
