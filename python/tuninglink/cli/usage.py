"""Help texts, generated from flags, of the commands that parse arguments like `iree-compile`."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.llvm_flags import Flag, dashed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_INDENT: Final = "  "
_COLUMN: Final = 21
"""The width of the column of flags and of the gap after it."""

_WIDTH: Final = 118

COMMON_FLAGS: Final = {
    "quiet": Flag(
        "", switch=True, short="q", help="Show errors and warnings only: no remarks, no progress."
    ),
    "verbose": Flag("", switch=True, short="v", help="Say on standard error what takes how long."),
    "help": Flag("", switch=True, help="Show this message and exit."),
}
"""The flags of every command, which are parsed before its own."""


@dataclass(frozen=True)
class Usage:
    """The usage of a command.

    Attributes:
        command: the words of the command, such as `tuninglink compile`.
        arguments: a summary of its arguments.
        summary: a one-sentence summary.
        description: the description, wrapped, with paragraphs separated by empty lines.
        flags: its flags by name; those without help are left out.
        examples: command lines.
        more: text between flags and examples; empty for none.
    """

    command: str
    arguments: str
    summary: str
    description: str
    flags: Mapping[str, Flag]
    examples: tuple[str, ...]
    more: str = ""

    def text(self) -> str:
        """Return the help text."""
        parts = (
            f"Usage: {self.command} {self.arguments}\n",
            textwrap.fill(self.summary, _WIDTH) + "\n",
            self.description.strip("\n") + "\n",
            flag_lines({**self.flags, **COMMON_FLAGS}),
            self.more.strip("\n") + "\n" if self.more else "",
            "Examples:\n" + "".join(f"{_INDENT}{example}\n" for example in self.examples),
        )
        return "\n".join(filter(None, parts))


def flag_lines(flags: Mapping[str, Flag]) -> str:
    """Return the lines for flags with a help text."""
    return "".join(
        f"{line}\n" for name, flag in flags.items() if flag.help for line in _lines(name, flag)
    )


def _lines(name: str, flag: Flag) -> Iterator[str]:
    short = f"{dashed(flag.short)}, " if flag.short else ""
    gap = " " if flag.metavar and flag.metavar[0] not in "=[" else ""
    words = f"{short}{dashed(name)}{gap}{flag.metavar}"
    behind = " " * (len(_INDENT) + _COLUMN)
    first, *rest = textwrap.wrap(flag.help, _WIDTH - len(behind), break_on_hyphens=False)
    yield f"{_INDENT}{words.ljust(_COLUMN - 1)} {first}"
    for line in rest:
        yield behind + line
