"""Command lines in the syntax of LLVM's tools: `-flag`, `--flag=value`, `-o value`, `@file`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tuninglink.errors import did_you_mean, reason_for_user
from tuninglink.files import meant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from enum import Enum


_Options = TypeVar("_Options")

_DEEPEST_RESPONSE_FILE = 20
"""The greatest nesting of response files, which ends a recursion."""

_JOINED: Final = re.compile(r"-([a-z])(\d+)")
"""A short flag with a number, as in `-j4`."""


class CommandLineError(Exception):
    """An error for an invalid command line."""


@dataclass(frozen=True)
class Flag:
    """A flag that a command implements itself.

    Attributes:
        target: the field of the command's options.
        read: converts the text after `=` to the field's value. The message of a `ValueError` is the expected form.
        switch: whether the flag may have no value.
        repeats: whether each occurrence adds a value. Any other flag may be given once.
        help: its description in help texts; empty for a hidden flag.
        metavar: the placeholder of the value in help texts.
        short: an alternative name of one letter, which command lines also accept.
        values: returns values for shell completion; by default, files are completed.
    """

    target: str
    read: Callable[[str], object] = str
    switch: bool = False
    repeats: bool = False
    help: str = ""
    metavar: str = ""
    short: str = ""
    values: Callable[[], Iterable[str]] | None = None


@dataclass(frozen=True)
class Unknown:
    """A flag that the command does not implement itself: as written, its name without dashes, the text after `=`.

    `word` is the index in the words of the argument after it, which may be its value.
    """

    argument: str
    name: str
    value: str | None
    word: int | None


class CommandLine:
    """A parsed command line.

    Args:
        own_flags: the flags that the command implements itself, by name without dashes.
        arguments: the arguments, without the name of the program.

    Attributes:
        values: the values of these flags, by target.
        unknown: the other flags, in order.
        words: the arguments other than flags, in order.

    Raises:
        CommandLineError: a value is malformed or missing, a flag is given twice, or a response file cannot be read.
    """

    def __init__(self, own_flags: Mapping[str, Flag], arguments: Iterable[str]) -> None:
        self.values: dict[str, Any] = {}
        self.unknown: list[Unknown] = []
        self.words: list[str] = []
        seen: set[int] = set()
        own_flags = {**own_flags, **{flag.short: flag for flag in own_flags.values() if flag.short}}
        rest = list(_with_response_files(arguments, own_flags))[::-1]
        # Consume the arguments, some together with the next one.
        while rest:
            argument = rest.pop()
            if argument == "--":
                self.words += reversed(rest)
                return
            if _is_word(argument):
                self.words.append(argument)
                continue
            name, equals, text = argument.removeprefix("-").removeprefix("-").partition("=")
            if joined := _JOINED.fullmatch(argument):
                name, equals, text = joined[1], "=", joined[2]
            # Keep a flag of the compiler, which may take the next word as its value.
            flag = own_flags.get(name)
            if flag is None:
                may_follow = not equals and rest and _is_word(rest[-1])
                index = len(self.words) if may_follow else None
                self.unknown.append(Unknown(argument, name, text if equals else None, index))
                continue
            # Take the value of an own flag.
            if not equals and not flag.switch:
                if not rest:
                    raise CommandLineError(f"flag '{dashed(name)}' needs a value")
                text = rest.pop()
            if id(flag) in seen and not flag.repeats:
                raise CommandLineError(f"flag '{dashed(name)}' is given more than once")
            seen.add(id(flag))
            try:
                value = flag.read(text)
            except ValueError as failure:
                message = f"invalid value '{text}' for flag '{dashed(name)}': {failure}"
                raise CommandLineError(message) from None
            if not flag.repeats:
                self.values[flag.target] = value
            elif text:  # As in the compiler, an empty list of paths has no elements.
                self.values[flag.target] = (*self.values.get(flag.target, ()), value)

    def split(
        self, flags: Iterable[Unknown], needs_value: Callable[[], Mapping[str, object]]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return unknown flags as text, including the words that are their values, and the remaining words.

        `needs_value` returns for each flag whether it requires a value. It is called only if needed.
        """
        texts, taken = [], set()
        for flag in flags:
            if flag.word is not None and needs_value().get(flag.name):
                texts.append(f"{flag.argument}={self.words[flag.word]}")
                taken.add(flag.word)
            else:
                texts.append(flag.argument)
        remaining = (word for index, word in enumerate(self.words) if index not in taken)
        return tuple(texts), tuple(remaining)


def ambiguous(arguments: Iterable[str]) -> str:
    """Return the first argument that is written like a flag and names a file, as a shell expands patterns; or nothing.

    Arguments after `--` are not flags.
    """
    for argument in arguments:
        if argument == "--":
            break
        if argument[:1] in ("-", "@") and len(argument) > 1 and os.path.lexists(argument):
            return f"'{argument}' is a file, and could be a flag; write './{argument}', or '--' before all files"
    return ""


def flag_name(flag: str) -> str:
    """Return the name of a flag as a user writes it, without dashes and value."""
    return flag.partition("=")[0].lstrip("-")


def dashed(name: str) -> str:
    """Return a flag's name as messages spell it."""
    return f"--{name}" if len(name) > 1 else f"-{name}"


def read_name(text: str) -> str:
    """Read a name, such as a path. The message of a `ValueError` is the expected form."""
    if not text:
        raise ValueError("expected a name")
    return text


def read_boolean(text: str) -> bool:
    """Read the value of a switch. The message of a `ValueError` is the expected form."""
    if text in ("", "true", "TRUE", "True", "1"):
        return True
    if text in ("false", "FALSE", "False", "0"):
        return False
    raise ValueError("expected true or false")


def read_number(text: str, least: int = 0) -> int:
    """Read a natural number. The message of a `ValueError` is the expected form."""
    if not text.isdecimal() or int(text) < least:
        raise ValueError(f"expected a number{' above 0' if least else ''}")
    return int(text)


read_count: Final = partial(read_number, least=1)


def read_duration(text: str, *, is_positive: bool = False) -> float:
    """Read a time in seconds, minutes or hours. The message of a `ValueError` is the expected form."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if parts is None:
        raise ValueError("expected a time such as 90s, 10m or 1.5h")
    seconds = float(parts[1]) * {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}[parts[2]]
    if is_positive and not seconds:
        raise ValueError("expected a time above 0")
    return seconds


read_positive_duration: Final = partial(read_duration, is_positive=True)


def read_fraction(text: str) -> float:
    """Read a fraction such as `2%` or `0.02`. The message of a `ValueError` is the expected form."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", text)
    value = float(parts[1]) / (100 if parts[2] else 1) if parts else -1.0
    if not 0.0 <= value <= 1.0:
        raise ValueError("expected a part such as 2% or 0.02")
    return value


def read_word(choices: Sequence[str], text: str) -> str:
    """Read one of several words. The message of a `ValueError` lists them."""
    if text not in choices:
        listed = ", ".join(filter(None, choices))
        raise ValueError(f"expected one of {listed}{did_you_mean(text, choices)}")
    return text


def choice(target: str, kind: type[Enum], help_: str = "") -> Flag:
    """Return a flag whose values are those of an enumeration; hidden from help texts without a description."""
    values = [member.value for member in kind]
    return Flag(
        target,
        lambda text: kind(read_word(values, text)),
        help=help_,
        metavar="|".join(values),
        values=lambda: values,
    )


def switch(target: str, help_: str, *, value: bool = True) -> Flag:
    """Return a flag without a value that sets a field to `value`; `=false` sets it to the opposite."""
    return Flag(target, lambda text: read_boolean(text) is value, switch=True, help=help_)


JOBS_FLAG: Final[Flag] = Flag(
    "jobs",
    read_count,
    short="j",
    metavar="N",
    help="How many compilations run at once. Default: one for each core.",
)


# --- Options as fields of data classes -----------------------------------------------------------


def option(default: Any, base: Flag | None = None, *, name: str = "", **changes: Any) -> Any:
    """Return a field of a command's options, with the flag that sets it: `base` with changes.

    The flag has the name of the field with dashes, if no other is given.
    """
    flag = replace(base or Flag(""), **changes)
    return field(default=default, metadata={"flag": flag, "name": name})


def toggle(help_: str, *, name: str = "", default: bool = False) -> Any:
    """Return a field of a command's options that a flag without a value changes from its default."""
    return option(default, switch("", help_, value=not default), name=name)


def group(kind: type) -> Any:
    """Return a field of a command's options that is a class of options itself."""
    return field(default_factory=kind, metadata={"group": kind})


def flags_of(options: type) -> dict[str, Flag]:
    """Return the flags that the fields of a command's options declare, by name."""
    flags: dict[str, Flag] = {}
    for entry in fields(options):
        if "group" in entry.metadata:
            flags |= flags_of(entry.metadata["group"])
        elif "flag" in entry.metadata:
            name = entry.metadata["name"] or entry.name.replace("_", "-")
            flags[name] = replace(entry.metadata["flag"], target=entry.name)
    return flags


def options_from(kind: type[_Options], values: Mapping[str, Any], **others: Any) -> _Options:
    """Return options with the values of their flags, and with other fields."""
    given = {
        entry.name: options_from(entry.metadata["group"], values)
        if "group" in entry.metadata
        else values[entry.name]
        for entry in fields(kind)  # type: ignore[arg-type]
        if "group" in entry.metadata or entry.name in values
    }
    return kind(**given, **others)


def _is_word(argument: str) -> bool:
    return argument == "-" or not argument.startswith("-")


def _with_response_files(
    arguments: Iterable[str], own_flags: Mapping[str, Flag], depth: int = 0
) -> Iterator[str]:
    """Replace each `@file` with the file's arguments, up to `--`, unless it is the value of one of the flags."""
    is_value, is_end = False, False
    for argument in arguments:
        is_end = is_end or (argument == "--" and not is_value)
        if is_value or is_end or not argument.startswith("@"):
            yield argument
            flag = None if _is_word(argument) else own_flags.get(argument.lstrip("-"))
            is_value = not is_value and flag is not None and not flag.switch
            continue
        import shlex  # noqa: PLC0415 - rarely needed

        name = argument[1:]
        if depth == _DEEPEST_RESPONSE_FILE:
            raise CommandLineError(f"the response file '{name}' is nested too deeply")
        try:
            inner = shlex.split(Path(name).read_text())
        except (OSError, ValueError) as failure:
            if isinstance(failure, OSError):
                reason = (failure.strerror or str(failure)).lower() + meant(Path(name), failure)
            else:
                reason = reason_for_user(failure)
                reason = f"{reason[:1].lower()}{reason[1:]}"
            raise CommandLineError(f"cannot read the response file '{name}': {reason}") from None
        yield from _with_response_files(inner, own_flags, depth + 1)
