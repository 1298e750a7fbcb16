"""The commands of `tuninglink`: from a command line to the module that runs it."""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TYPE_CHECKING, Final

from tuninglink.cli.usage import (
    COMPLETION_REQUEST,
    GROUPS,
    INSTALL_FLAG,
    SUMMARIES,
    WIDTH,
    module_of,
    usage_of,
)
from tuninglink.errors import TuninglinkError, did_you_mean
from tuninglink.mlir.diagnostics import error, note

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HELP_FLAGS: Final = ("--help", "-help", "-h")

_VERSION: Final = "--version"

COMPLETION_FLAGS: Final = {
    INSTALL_FLAG: "Install the completion of commands, flags and values for this shell, or for the one named.",
    "--show-completion": "Show the script for it, to copy or change.",
}


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return the exit code. Only the module of its command is loaded.

    Raises:
        TuninglinkError: the arguments are wrong, or the command failed.
    """
    first = "".join(arguments[:1])
    if COMPLETION_REQUEST in os.environ or first in COMPLETION_FLAGS:
        from tuninglink.cli.completion import complete  # noqa: PLC0415 - typer takes as long as a small run

        return complete(arguments)
    if first == _VERSION:
        sys.stdout.write(_versions())
        return 0
    name, rest = _command(arguments)
    if name not in SUMMARIES:
        sys.stdout.write(overview(name))
        return 0
    if not set(HELP_FLAGS).isdisjoint(rest):
        sys.stdout.write(usage_of(name).text())
        return 0
    # As a flag of iree-compile, it names the revision, too.
    if list(rest) == [_VERSION] and name != "compile":
        sys.stdout.write(_versions())
        return 0
    *_, function = name.split()
    code: int = getattr(module_of(name), f"{function}_command")(rest)
    return code


def overview(group: str = "") -> str:
    """Return the help text of a group of commands, or of `tuninglink` itself."""
    prefix = f"{group} " if group else ""
    names = [name for name in SUMMARIES if name.startswith(prefix)]
    width = max(map(len, names)) - len(prefix)
    lines = [
        textwrap.fill(
            f"  {name.removeprefix(prefix).ljust(width)}  {SUMMARIES[name]}",
            WIDTH,
            subsequent_indent=" " * (width + 4),
            break_on_hyphens=False,
        )
        for name in names
    ]
    parts = [
        f"Usage: tuninglink {prefix}COMMAND [ARGUMENT]...\n",
        f"{GROUPS[group]}\n",
        *("Commands:", *lines, ""),
    ]
    if not group:
        flags = {_VERSION: "Show the versions of Tuninglink and of the compiler."}
        flags |= COMPLETION_FLAGS
        parts += [f"  {flag.ljust(20)}  {meaning}" for flag, meaning in flags.items()]
        parts.append("")
    parts.append(f"'tuninglink {prefix}COMMAND --help' describes a command.\n")
    return "\n".join(parts)


def _command(arguments: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the name of the command, or of the group whose overview is requested, and the command's arguments.

    Raises:
        TuninglinkError: there is no such command.
    """
    words: list[str] = []
    for position, word in enumerate(arguments):
        if word in HELP_FLAGS:
            break
        words.append(word)
        name = " ".join(words)
        if name in SUMMARIES:
            return name, arguments[position + 1 :]
        _check_group(words)
    return " ".join(words), ()


def _check_group(words: Sequence[str]) -> None:
    *group, word = words
    prefix = "".join(f"{part} " for part in group)
    names = _next_words(prefix)
    if word not in names:
        hint = did_you_mean(word, names)
        remedy = note(f"see 'tuninglink {prefix}--help'")
        raise TuninglinkError(error(f"no such command '{prefix}{word}'{hint}", notes=[remedy]))


def _next_words(prefix: str) -> Iterable[str]:
    matches = (name.removeprefix(prefix) for name in SUMMARIES if name.startswith(prefix))
    return dict.fromkeys(match.partition(" ")[0] for match in matches)


def _versions() -> str:
    from importlib import metadata  # noqa: PLC0415 - takes as long to load as a small run

    packages = {"tuninglink": "tuninglink", "IREE compiler": "iree-base-compiler"}
    lines = (f"{name} {metadata.version(package)}\n" for name, package in packages.items())
    return "".join(lines)
