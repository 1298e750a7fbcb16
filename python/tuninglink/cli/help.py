"""Help texts, as wide as the terminal."""

from __future__ import annotations

import re
import sys
import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, Final

from tuninglink.cli.terminal import columns
from tuninglink.cli.usage import (
    COMMON_FLAGS,
    COMPLETE_HELP,
    GROUPS,
    INSTALL_FLAG,
    SUMMARIES,
    TOPICS,
    Section,
    Usage,
    spelling,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tuninglink.llvm_flags import Flag


_WIDEST: Final = 120
_NARROW: Final = 80
"""Below this width, meanings are under their flags."""

_INDENT: Final = "  "
_COLUMN: Final = 21
"""The width of the column of flags and of the gap after it."""


def help_width() -> int:
    """Return the width of help texts: that of the terminal within limits; in pipes always the same."""
    return min(columns(sys.stdout), _WIDEST)


def overview(group: str = "") -> str:
    """Return the help text of a group of commands, or of `tuninglink` itself."""
    width = help_width()
    prefix = f"{group} " if group else ""
    parts = [f"Usage: tuninglink {prefix}COMMAND [ARGUMENT]...\n\n{_filled(GROUPS[group], width)}"]
    if group:
        names = {name: SUMMARIES[name] for name in SUMMARIES if name.startswith(prefix)}
        parts.append(_commands({name.removeprefix(prefix): names[name] for name in names}, width))
        parts.append(_filled(f"'tuninglink {prefix}COMMAND --help' describes a command.", width))
        return "\n".join(parts)
    for topic, commands in TOPICS.items():
        meanings = {name: SUMMARIES.get(name, GROUPS.get(name, "")) for name in commands}
        parts.append(f"{topic}:\n{_commands(meanings, width)}")
    footer = (
        "'tuninglink help COMMAND' describes a command; 'tuninglink demo' shows a tour. "
        f"--version shows versions, {INSTALL_FLAG} [SHELL] makes a shell complete commands, and --show-completion "
        "[SHELL] shows its script."
    )
    return "".join(parts[:1]) + "\n" + "".join(parts[1:]) + "\n" + _filled(footer, width)


def help_text(usage: Usage, *, is_complete: bool = False) -> str:
    """Return the help text of a command."""
    width = help_width()
    is_short = not is_complete and any(section.more for section in usage.sections)
    # Break a usage line between arguments.
    joined = re.sub(r"\[[^]]* [^]]*\]", lambda match: match[0].replace(" ", "\0"), usage.line)
    text = textwrap.fill(
        f"Usage: {joined}", width, subsequent_indent=" " * 7, break_on_hyphens=False
    )
    parts = [text.replace("\0", " ") + "\n", _filled(SUMMARIES[usage.name], width)]
    rows = "".join(_rows([(entry.metavar, entry.help) for entry in usage.positionals], width))
    # The flags by section; a short help omits those that are rarely used.
    sections = []
    for section in usage.sections or (Section("", tuple(usage.flags)),):
        names = section.flags if is_short else (*section.flags, *section.more)
        lines = flag_lines({name: usage.flags[name] for name in names}, width, is_short=is_short)
        if lines:
            sections.append((f"{section.heading}:\n" if section.heading else "") + lines)
    if is_short:
        more = f"--{COMPLETE_HELP} describes them in full, and all others. Any flag of iree-compile is one, too."
        parts += [rows + "".join(sections), _filled(more, width)]
    else:
        parts += [_paragraphs(usage.description, width), rows, *sections]
        parts += [flag_lines(COMMON_FLAGS, width), _paragraphs(usage.more, width)]
    examples = usage.examples[: 1 if is_short else None]
    parts.append("Examples:\n" + "".join(_command(example, width) for example in examples))
    return "\n".join(filter(None, parts))


def flag_lines(flags: Mapping[str, Flag], width: int, *, is_short: bool = False) -> str:
    """Return the lines for flags with a help text; short ones have its first sentence."""
    rows = (
        (
            spelling(name, flag),
            (flag.help.partition(". ")[0].removesuffix(".") + ".") if is_short else flag.help,
        )
        for name, flag in flags.items()
        if flag.help
    )
    return "".join(_rows(rows, width))


def _commands(meanings: Mapping[str, str], width: int) -> str:
    size = max(map(len, (*meanings, "database")))
    return "".join(
        textwrap.fill(
            f"{_INDENT}{name.ljust(size)}  {meaning}",
            width,
            subsequent_indent=" " * (size + 4),
            break_on_hyphens=False,
        )
        + "\n"
        for name, meaning in meanings.items()
    )


def _rows(rows: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    column = _COLUMN if width >= _NARROW else 2 * len(_INDENT)
    behind = " " * (len(_INDENT) + column)
    for words, meaning in rows:
        lines = textwrap.wrap(meaning, width - len(behind), break_on_hyphens=False)
        if len(words) < column:
            yield f"{_INDENT}{words.ljust(column)}{lines.pop(0)}\n"
        else:
            yield from (f"{line}\n" for line in textwrap.wrap(words, width, initial_indent=_INDENT))
        yield from (f"{behind}{line}\n" for line in lines)


def _filled(text: str, width: int) -> str:
    return textwrap.fill(text, width, break_on_hyphens=False) + "\n"


def _paragraphs(text: str, width: int) -> str:
    """Fill paragraphs; lines that begin with a space are kept."""
    paragraphs = []
    for paragraph in filter(None, text.strip("\n").split("\n\n")):
        runs = groupby(paragraph.split("\n"), lambda line: line.startswith(" "))
        paragraphs.append(
            "".join(
                "".join(f"{line}\n" for line in lines)
                if is_kept
                else _filled(" ".join(lines), width)
                for is_kept, lines in runs
            )
        )
    return "\n".join(paragraphs)


def _command(example: str, width: int) -> str:
    """Break an example between arguments, with the backslashes that a shell needs."""
    words = re.findall(r"(?:'[^']*'|[^\s'])+", example.replace("\\\n", " "))
    lines = [_INDENT + words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) + len("  \\") > width:
            lines[-1] += " \\"
            lines.append(3 * _INDENT + word)
        else:
            lines[-1] += f" {word}"
    return "\n".join(lines) + "\n"
