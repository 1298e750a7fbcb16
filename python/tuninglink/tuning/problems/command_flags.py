"""The flags of command lines of other tools."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tuninglink.tuning.problems.problem_text import LARGEST_SIZE, ProblemError, read_size


class CommandFlags:
    """The flags of a command line with their values, wherever the command begins in a line.

    Args:
        line: the line.
        start: the position after the name of the command.
        long_names: the short names of flags by their long names.
    """

    def __init__(self, line: str, start: int, long_names: Mapping[str, str]) -> None:
        self._values: dict[str, tuple[str, int]] = {}
        self._end = len(line.rstrip()) + 1
        self._names = set(re.findall(r"(?<!\S)-{1,2}([A-Za-z_!@#$^%]\w*)", line[start:]))
        pattern = r"(?<!\S)-{1,2}([A-Za-z_!@#$^%]\w*)(?:=|\s+)(?!-[A-Za-z_!@#$^%-])(\S+)"
        for match in re.finditer(pattern, line[start:]):
            name = long_names.get(match[1], match[1])
            self._values[name] = match[2], start + match.start(2) + 1

    def has(self, switch: str) -> bool:
        """Return whether a flag without a value is given."""
        return switch in self._names

    def text(self, name: str, default: str) -> str:
        """Return the value of a flag."""
        return self._values.get(name, (default, 0))[0]

    def column(self, name: str) -> int:
        """Return the position of a flag's value, or of the end of the line."""
        return self._values.get(name, ("", self._end))[1]

    def number(self, name: str, least: int, default: int | None = None) -> int:
        """Return the value of a flag as a number; without a default it must be given."""
        text = self.text(name, "" if default is None else str(default))
        if not text:
            raise ProblemError(f"flag '-{name}' is missing", self._end)
        number = read_size(text, least)
        if number is None:
            form = f"a number from {least} to {LARGEST_SIZE}"
            message = f"invalid value '{text}' for '-{name}': expected {form}"
            raise ProblemError(message, self.column(name))
        return number

    def numbers(self, names: str, least: int, default: int | None = None) -> tuple[int, ...]:
        """Return the values of flags with one letter as numbers."""
        return tuple(self.number(name, least, default) for name in names)

    def sizes(self, name: str, least: int) -> tuple[int, ...]:
        """Return the value of a flag as at least so many sizes."""
        text = self.text(name, "")
        sizes = [read_size(part) for part in text.split("x")]
        valid = tuple(size for size in sizes if size is not None)
        if len(valid) < len(sizes) or len(sizes) < least:
            form = f"at least {least} numbers from 1 to {LARGEST_SIZE} with 'x' between them"
            message = f"invalid value '{text}' for '-{name}': expected {form}"
            raise ProblemError(message, self.column(name))
        return valid
