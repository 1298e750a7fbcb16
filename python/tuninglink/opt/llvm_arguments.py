"""Command lines as LLVM's tools read them: `-flag`, `--flag=value`, `-o value`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


class UsageError(Exception):
    """A command line is wrong; the message is to stand behind the name of the program."""


class Value(Enum):
    """What a flag can be given."""

    BOOLEAN = "boolean"
    """Nothing, or `=true` and the like."""
    REQUIRED = "required"
    """`=value`, or the next argument."""
    OPTIONAL = "optional"
    """Nothing, or `=value`."""


@dataclass(frozen=True)
class Flag:
    """A flag.

    Attributes:
        name: its name, without dashes.
        help: one line.
        value: what it can be given.
        value_name: what stands for the value in the help.
        choices: the values there are, if not any will do.
        repeatable: whether it can be given more than once.
    """

    name: str
    help: str
    value: Value = Value.BOOLEAN
    value_name: str = "value"
    choices: tuple[str, ...] = ()
    repeatable: bool = False

    @property
    def spelling(self) -> str:
        """The flag as messages spell it."""
        return f"{'-' if len(self.name) == 1 else '--'}{self.name}"


@dataclass(frozen=True)
class Unknown:
    """An argument that looks like a flag, but is none of those that were asked for.

    Attributes:
        argument: the argument as it was written.
        name: the flag's name.
        value: what stands behind `=`, or None.
        next_positional: the index among the positional arguments of what stands right behind it, which
            may be its value, or None.
    """

    argument: str
    name: str
    value: str | None
    next_positional: int | None = None


@dataclass
class ParsedArguments:
    """A command line that was read.

    Attributes:
        values: the values of the flags that were given, by name, in order.
        unknown: other flags, in order.
        positional: arguments that are no flags, in order.
    """

    values: dict[str, list[str]] = field(default_factory=dict)
    unknown: list[Unknown] = field(default_factory=list)
    positional: list[str] = field(default_factory=list)

    def has(self, name: str) -> bool:
        """Tells whether a boolean flag is set."""
        return bool(self.values.get(name)) and self.values[name][-1] == "true"

    def get(self, name: str) -> str | None:
        """Returns the value of a flag, or None if it was not given."""
        return self.values[name][-1] if name in self.values else None


_DEEPEST_RESPONSE_FILE = 20
"""Response files may name response files, but not themselves."""

_BOOLEANS = {
    **dict.fromkeys(("", "true", "TRUE", "True", "1"), "true"),
    **dict.fromkeys(("false", "FALSE", "False", "0"), "false"),
}


def parse_arguments(
    arguments: Sequence[str], flags: Mapping[str, Flag], aliases: Mapping[str, str]
) -> ParsedArguments:
    """Reads a command line.

    Args:
        arguments: the arguments, without the name of the program.
        flags: the flags there are, by name.
        aliases: other names of flags.

    Raises:
        UsageError: a value is missing or wrong, or a flag is given too often.
    """
    parsed = ParsedArguments()
    rest = list(reversed(list(_with_response_files(arguments))))
    while rest:
        argument = rest.pop()
        if argument == "--":
            parsed.positional += reversed(rest)
            break
        if not argument.startswith("-") or argument == "-":
            parsed.positional.append(argument)
            continue
        written = argument[2:] if argument.startswith("--") else argument[1:]
        name, has_value, text = written.partition("=")
        value = text if has_value else None
        flag = flags.get(aliases.get(name, name))
        if flag is None:
            follows = bool(rest) and (rest[-1] == "-" or not rest[-1].startswith("-"))
            index = len(parsed.positional) if value is None and follows else None
            parsed.unknown.append(Unknown(argument, name, value, index))
        else:
            _add(parsed, flag, value, rest.pop if rest else None)
    return parsed


def _with_response_files(arguments: Iterable[str], depth: int = 0) -> Iterator[str]:
    """Replaces `@file` by the arguments in the file, if there is one that can be read."""
    for argument in arguments:
        path = Path(argument[1:])
        if not argument.startswith("@") or depth == _DEEPEST_RESPONSE_FILE or not path.is_file():
            yield argument
            continue
        import shlex  # noqa: PLC0415 - seldom needed

        try:
            yield from _with_response_files(shlex.split(path.read_text()), depth + 1)
        except (OSError, ValueError) as failure:
            raise UsageError(f"cannot expand the response file '{argument}': {failure}") from None


def _add(
    parsed: ParsedArguments, flag: Flag, value: str | None, pop: Callable[[], str] | None
) -> None:
    if flag.value is Value.REQUIRED and value is None:
        if pop is None:
            raise UsageError(f"for the {flag.spelling} option: requires a value!")
        value = pop()
    value = value or ""
    if flag.value is Value.BOOLEAN:
        if value not in _BOOLEANS:
            raise UsageError(
                f"for the {flag.spelling} option: '{value}' is invalid value for boolean argument! "
                "Try 0 or 1"
            )
        value = _BOOLEANS[value]
    if flag.choices and value not in flag.choices:
        raise UsageError(f"for the {flag.spelling} option: Cannot find option named '{value}'!")
    if flag.name in parsed.values and not flag.repeatable:
        raise UsageError(f"for the {flag.spelling} option: may only occur zero or one times!")
    parsed.values.setdefault(flag.name, []).append(value)
