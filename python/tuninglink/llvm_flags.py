"""Command lines as LLVM's tools read them: `-flag`, `--flag=value`, `-o value`, `@file`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tuninglink.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_Choice = TypeVar("_Choice", bound=Enum)

_DEEPEST_RESPONSE_FILE = 20
"""Response files may name response files, but not themselves."""


class UsageError(Exception):
    """A command line is wrong."""


@dataclass(frozen=True)
class Flag:
    """A flag that a command reads itself.

    Attributes:
        target: the field of the command's options that it sets.
        read: makes the field's value of the text after `=`; a `ValueError` says what is expected.
        switch: whether the flag can stand without a value.
        repeats: whether each occurrence adds a value; any other flag may be given once.
        help: its meaning, for help texts; empty for a flag that they leave out.
        metavar: what stands for the value in help texts.
        short: another name, of one letter.
        values: returns values that a shell completes; by default it completes files.
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
    """A flag that the command does not read itself.

    Attributes:
        argument: the argument as it was written.
        name: the flag's name, without dashes.
        value: what stands behind `=`, or None.
        word: the index among the words of what stands right behind it, which may be its value, or None.
    """

    argument: str
    name: str
    value: str | None
    word: int | None


class CommandLine:
    """A command line that was read.

    Args:
        known: the flags that the command reads itself, by their names without dashes.
        arguments: the arguments, without the name of the program.

    Attributes:
        values: what the known flags say, by target.
        unknown: the other flags, in order.
        words: the arguments that are no flags, in order.

    Raises:
        UsageError: a value is malformed or missing, a flag is given twice, or a response file cannot be read.
    """

    def __init__(self, known: Mapping[str, Flag], arguments: Iterable[str]) -> None:
        self.values: dict[str, Any] = {}
        self.unknown: list[Unknown] = []
        self.words: list[str] = []
        given: set[int] = set()
        rest = list(_with_response_files(arguments, known))[::-1]
        while rest:
            argument = rest.pop()
            if argument == "--":
                self.words += reversed(rest)
                return
            if _is_word(argument):
                self.words.append(argument)
                continue
            name, equals, text = argument.removeprefix("-").removeprefix("-").partition("=")
            flag = known.get(name)
            if flag is None:
                may_follow = not equals and rest and _is_word(rest[-1])
                index = len(self.words) if may_follow else None
                self.unknown.append(Unknown(argument, name, text if equals else None, index))
                continue
            if not equals and not flag.switch:
                if not rest:
                    raise UsageError(f"flag '{dashed(name)}' needs a value")
                text = rest.pop()
            if id(flag) in given and not flag.repeats:
                raise UsageError(f"flag '{dashed(name)}' is given more than once")
            given.add(id(flag))
            self._take(name, flag, text)

    def _take(self, name: str, flag: Flag, text: str) -> None:
        try:
            value = flag.read(text)
        except ValueError as failure:
            message = f"'{text}' is no value for flag '{dashed(name)}': {failure}"
            raise UsageError(message) from None
        if flag.repeats and not text:
            return  # As for the compiler, whose empty list of paths has no paths.
        before = self.values.get(flag.target, ())
        self.values[flag.target] = (*before, value) if flag.repeats else value

    def split(
        self, flags: Iterable[Unknown], needs_value: Callable[[], Mapping[str, bool]]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Returns unknown flags as text, with the words that are their values, and the other words.

        Args:
            flags: the unknown flags that may have words as values.
            needs_value: returns of each flag whether it must have a value; called only if that matters.
        """
        texts, taken = [], set()
        for each in flags:
            if each.word is not None and needs_value().get(each.name):
                texts.append(f"{each.argument}={self.words[each.word]}")
                taken.add(each.word)
            else:
                texts.append(each.argument)
        others = (word for index, word in enumerate(self.words) if index not in taken)
        return tuple(texts), tuple(others)


def dashed(name: str) -> str:
    """Returns a flag's name as messages spell it."""
    return f"--{name}" if len(name) > 1 else f"-{name}"


def read_name(text: str) -> str:
    """Reads the name of something, such as a path; a `ValueError` says what is expected."""
    if not text:
        raise ValueError("expected a name")
    return text


def read_boolean(text: str) -> bool:
    """Reads the value of a switch; a `ValueError` says what is expected."""
    if text in ("", "true", "TRUE", "True", "1"):
        return True
    if text in ("false", "FALSE", "False", "0"):
        return False
    raise ValueError("expected true or false")


def read_count(text: str) -> int:
    """Reads a positive number; a `ValueError` says what is expected."""
    if not text.isdecimal() or int(text) == 0:
        raise ValueError("expected a number above 0")
    return int(text)


def read_number(text: str) -> int:
    """Reads a natural number; a `ValueError` says what is expected."""
    if not text.isdecimal():
        raise ValueError("expected a number")
    return int(text)


def one_of(*choices: str) -> Callable[[str], str]:
    """Returns what reads one of some words; a `ValueError` says which there are."""

    def read(text: str) -> str:
        if text not in choices:
            listed = ", ".join(filter(None, choices))
            raise ValueError(f"expected one of {listed}{did_you_mean(text, choices)}")
        return text

    return read


def member_of(kind: type[_Choice]) -> Callable[[str], _Choice]:
    """Returns what reads a value of an enumeration; a `ValueError` says which there are."""
    read = one_of(*(each.value for each in kind))
    return lambda text: kind(read(text))


def values_of(kind: type[Enum]) -> Callable[[], list[str]]:
    """Returns what lists the values of an enumeration."""
    return lambda: [each.value for each in kind]


def _is_word(argument: str) -> bool:
    return argument == "-" or not argument.startswith("-")


def _with_response_files(
    arguments: Iterable[str], known: Mapping[str, Flag], depth: int = 0
) -> Iterator[str]:
    """Replaces `@file` by the arguments in the file, if there is one, unless it is the value of a known flag."""
    is_value = False
    for argument in arguments:
        path = Path(argument[1:])
        is_file = argument.startswith("@") and depth < _DEEPEST_RESPONSE_FILE and path.is_file()
        if is_value or not is_file:
            yield argument
            is_value = not is_value and _needs_value(argument, known)
            continue
        import shlex  # noqa: PLC0415 - seldom needed

        try:
            yield from _with_response_files(shlex.split(path.read_text()), known, depth + 1)
        except (OSError, ValueError) as failure:
            raise UsageError(f"cannot expand the response file '{argument}': {failure}") from None


def _needs_value(argument: str, known: Mapping[str, Flag]) -> bool:
    """Tells whether the next argument is the value of a known flag."""
    flag = None if _is_word(argument) else known.get(argument.lstrip("-"))
    return flag is not None and not flag.switch
