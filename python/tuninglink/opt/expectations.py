"""Verification of diagnostics against comments of an input such as `expected-error`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from tuninglink.mlir.diagnostics import Diagnostic, Place, Severity
from tuninglink.mlir.rendering import read_source

if TYPE_CHECKING:
    from collections.abc import Callable

_EXPECTATION = re.compile(
    r"expected-(?P<severity>error|note|remark|warning)(?P<regex>-re)? *"
    r"(@(?P<where>[+-][0-9]+|above|below|unknown))? *\{\{(?P<text>.*)\}\}$"
)
_POSIX_CLASSES = {
    "[:alpha:]": "a-zA-Z",
    "[:digit:]": "0-9",
    "[:alnum:]": "a-zA-Z0-9",
    "[:upper:]": "A-Z",
    "[:lower:]": "a-z",
    "[:space:]": r"\s",
    "[:xdigit:]": "0-9A-Fa-f",
    "[:blank:]": r" \t",
}


@dataclass
class _Expectation:
    """A comment, and whether its diagnostic was emitted.

    Attributes:
        line: the line of the diagnostic, or None if it has no place.
        pattern: the pattern to search for in the message.
    """

    severity: Severity
    text: str
    place: Place
    line: int | None
    pattern: re.Pattern[str]
    met: bool = False


class Expectations:
    """The diagnostics that inputs expect.

    Expectations are read from the file of each diagnostic, as in MLIR's tools.

    Args:
        name: the name of the input.
        text: the input.
        report: receives an error for each unexpected diagnostic, and at the end for each expected diagnostic that was
            not emitted.
        only_expected: whether to ignore unexpected diagnostics.
    """

    def __init__(
        self,
        name: str,
        text: bytes,
        report: Callable[[Diagnostic], None],
        *,
        only_expected: bool = False,
    ) -> None:
        self._report = report
        self._only_expected = only_expected
        self._failed = False
        self._by_file = {name: _read(name, text, self._fail)}

    def check(self, diagnostic: Diagnostic) -> None:
        """Check whether a diagnostic and its notes are expected."""
        self._check_one(diagnostic)
        for note in diagnostic.notes:
            self._check_one(note)

    def verify(self) -> bool:
        """Report expected diagnostics that were not emitted. Return whether all expectations were met."""
        missing = [item for item in chain(*self._by_file.values()) if not item.met]
        # Expectations without a place come last.
        for item in sorted(missing, key=lambda item: item.line is None):
            message = f'expected {item.severity.value} "{item.text}" was not produced'
            self._fail(message, item.place if item.line is not None else None)
        return not self._failed

    def _check_one(self, diagnostic: Diagnostic) -> None:
        near_miss: _Expectation | None = None
        for expectation in self._expectations_at(diagnostic.place):
            if not expectation.pattern.search(diagnostic.message):
                continue
            if expectation.severity is diagnostic.severity:
                expectation.met = True
                return
            near_miss = expectation
        if self._only_expected:
            return
        kind = diagnostic.severity.value
        if near_miss:
            expected = near_miss.severity.value
            message = f"'{kind}' diagnostic emitted when expecting a '{expected}'"
            self._fail(message, near_miss.place)
        else:
            self._fail(f"unexpected {kind}: {diagnostic.message}", diagnostic.place)

    def _expectations_at(self, place: Place | None) -> list[_Expectation]:
        if place is None:
            return [item for item in chain(*self._by_file.values()) if item.line is None]
        if place.file not in self._by_file:
            text = read_source(place.file)
            self._by_file[place.file] = _read(place.file, text, self._fail)
        return [item for item in self._by_file[place.file] if item.line == place.line]

    def _fail(self, message: str, place: Place | None) -> None:
        self._failed = True
        self._report(Diagnostic(Severity.ERROR, message, place))


def _read(name: str, text: bytes, fail: Callable[[str, Place | None], None]) -> list[_Expectation]:
    """Return the expectations in `text`, in order."""
    expectations: list[_Expectation] = []
    for_next_line: list[_Expectation] = []
    # `@above` and `@below` refer to the nearest line without an expectation.
    last_other_line = 1
    lines = text.decode(errors="replace").split("\n")
    for number, line in enumerate(lines, 1):
        # A line without an expectation resolves the pending `@below`.
        match = _EXPECTATION.search(line.rstrip())
        if match is None:
            for pending in for_next_line:
                pending.line = number
            for_next_line.clear()
            last_other_line = number
            continue
        # A line with an expectation refers to another line by its offset.
        place = Place(name, number, len(line[: match.start()].encode()) + 1)
        try:
            pattern = _pattern(match["text"], is_regex=bool(match["regex"]))
        except (re.error, ValueError) as failure:
            fail(
                str(failure) if isinstance(failure, ValueError) else f"invalid regex: {failure}",
                place,
            )
            continue
        expectation = _Expectation(
            Severity(match["severity"]), match["text"], place, number, pattern
        )
        expectations.append(expectation)
        match match["where"]:
            case None:
                pass
            case "unknown":
                expectation.line = None
            case "above":
                expectation.line = last_other_line
            case "below":
                expectation.line = len(lines)
                for_next_line.append(expectation)
            case offset:
                expectation.line = number + int(offset)
    return expectations


def _pattern(text: str, *, is_regex: bool) -> re.Pattern[str]:
    """Return the pattern of a message: literal text, with regular expressions in `{{}}`."""
    if not is_regex:
        return re.compile(re.escape(text))
    literal, *parts = text.split("{{")
    pattern = re.escape(literal)
    for part in parts:
        expression, end, literal = part.partition("}}")
        if not end:
            raise ValueError("found start of regex with no end '}}'")
        pattern += f"({_python_syntax(expression)}){re.escape(literal)}"
    return re.compile(pattern)


def _python_syntax(pattern: str) -> str:
    """Convert a POSIX regular expression to Python's syntax."""
    for posix, python in _POSIX_CLASSES.items():
        pattern = pattern.replace(posix, python)
    return pattern
