"""Inputs of `tuninglink-opt`: splitting of files into chunks, and parsing of chunks."""

from __future__ import annotations

import re
from ctypes import CFUNCTYPE, c_int, c_void_p
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from iree.compiler import ir as mlir

from tuninglink.compiler import StringRef, call, handled, object_at, pointer_of
from tuninglink.errors import Diagnostic, Place, Severity, TuninglinkError
from tuninglink.mlir import (
    DiagnosticSink,
    error,
    from_mlir,
    is_undecodable,
    names,
    read_source,
    visit,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


SPLIT_MARKER = "// -----"
"""The separator of the chunks of a file."""

_MARKER_TAIL = 2
"""The number of characters at the end of a marker that may be wrong for a warning."""

_BEGINNING = (1, 1)
"""The line and column of the first chunk of an input."""

_UNNAMED = "-"
"""The bindings' name of the source of a module that they parse."""


@dataclass(frozen=True)
class Chunk:
    """A part of an input, MLIR text or bytecode, with its first line and column, counted from 1."""

    name: str
    text: bytes
    line: int = 1
    column: int = 1


def split_input(
    name: str, data: bytes, marker: str, diagnostics: DiagnosticSink | None = None
) -> Iterator[Chunk]:
    """Split an input at each `marker`. The part before the first marker may be empty.

    A marker with a mistake at its end does not split the input and causes a warning.
    """
    encoded = marker.encode()
    prefix, tail = encoded[:-_MARKER_TAIL], encoded[-_MARKER_TAIL:]
    start, search = 0, 0
    line, line_start = 1, 0
    while (position := data.find(prefix, search)) >= 0:
        search = position + len(prefix)
        if data[search : search + len(tail)] != tail or search + len(tail) >= len(data):
            if diagnostics:
                column = search - (data.rfind(b"\n", 0, search) + 1) + 1
                place = Place(name, line + data.count(b"\n", line_start, search), column)
                diagnostics.warning("near miss with file split marker", place)
            continue
        if position > start:
            yield Chunk(name, data[start:position], line, start - line_start + 1)
        search = position + len(encoded)
        line += data.count(b"\n", line_start, search)
        line_start = data.rfind(b"\n", 0, search) + 1
        start = search
    if start < len(data):
        yield Chunk(name, data[start:], line, start - line_start + 1)


def parse(
    chunk: Chunk, context: mlir.Context, diagnostics: DiagnosticSink, *, implicit_module: bool
) -> mlir.Operation | None:
    """Parse and verify a chunk, wrapped in a module if it must be one and is not. Return None after errors.

    The context of the operation needs no handler of diagnostics.
    """
    # White space before the text preserves its lines and columns in the input.
    source = b"\n" * (chunk.line - 1) + b" " * (chunk.column - 1) + chunk.text
    collected: list[Diagnostic] = []
    with handled(context, collected.append):
        # Handlers attached through the bindings must not receive the errors: they crash without Python's lock. Nor do the
        # bindings accept the name of a source.
        encoded = chunk.name.encode(errors="surrogateescape")
        arguments = (pointer_of(context), StringRef.of(source), StringRef.of(encoded))
        pointer = call("mlirOperationCreateParse", *arguments, result=c_void_p)
        operation: mlir.Operation | None = None
        if pointer:
            if context.allow_unregistered_dialects:
                _check_names(pointer, chunk.name)
            module = call("mlirModuleFromOperation", pointer, result=c_void_p)
            operation = (
                object_at(mlir.Module, module).operation
                if module
                else object_at(mlir.Operation, pointer)
            )
    if implicit_module and (operation is None or operation.name != names.MODULE):
        # The bindings wrap other sources in a module, but do not accept a name of the source.
        collected.clear()
        with handled(context, collected.append):
            try:
                operation = mlir.Module.parse(source, context).operation
            except mlir.MLIRError as failure:
                operation = None
                collected += map(from_mlir, failure.error_diagnostics)
            except RuntimeError as failure:
                # The bindings fail to decode a message that quotes bytes other than UTF-8.
                if not is_undecodable(failure):
                    raise
                operation = None
                message = "the input is damaged: it has a string that is not UTF-8"
                collected.append(error(message, Place(_UNNAMED, 1, 1)))
        if operation is not None:
            if context.allow_unregistered_dialects:
                _check_names(pointer_of(operation), chunk.name)
            _relocate(operation, chunk)
    for diagnostic in collected:
        diagnostics.emit(_placed(diagnostic, chunk))
    return operation


def _check_names(operation: int, source: str) -> None:
    """Check the names of unregistered operations. The bindings abort on one that is not UTF-8."""
    damaged: list[bytes] = []

    def visitor(inner: int, _: int | None) -> int:
        identifier = call("mlirOperationGetName", inner, result=c_void_p)
        name = call("mlirIdentifierStr", identifier, result=StringRef).copy()
        if name.decode(errors="replace").encode() != name:
            damaged.append(name)
        return 0

    callback = CFUNCTYPE(c_int, c_void_p, c_void_p)(visitor)
    call("mlirOperationWalk", operation, callback, None, 0)
    if damaged:
        message = "the input has an operation whose name is not UTF-8"
        raise TuninglinkError(error(message, Place(source, 1, 1)))


def _relocate(module: mlir.Operation, chunk: Chunk) -> None:
    """Rename the source in locations that have the bindings' name for it."""
    context = module.context

    operations: list[mlir.Operation] = []
    visit(module, operations.append)
    for operation in operations:
        blocks = chain.from_iterable(operation.regions)
        arguments = chain.from_iterable(block.arguments for block in blocks)
        holders: tuple[mlir.Operation | mlir.BlockArgument[Any], ...] = (operation, *arguments)
        for holder in holders:
            location = holder.location
            if isinstance(location, mlir.FileLineColLoc) and location.filename == _UNNAMED:
                line, column = location.start_line, location.start_col
                moved = mlir.Location.file(chunk.name, line, column, context)
                if isinstance(holder, mlir.Operation):
                    holder.location = moved
                else:
                    holder.set_location(moved)
    start = (chunk.line, chunk.column)
    line, column = (0, 0) if start == _BEGINNING else start
    module.location = mlir.Location.file(chunk.name, line, column, context)


def _placed(diagnostic: Diagnostic, chunk: Chunk) -> Diagnostic:
    """Set the source name of a diagnostic; place a diagnostic about a whole chunk at the chunk's start."""
    place = diagnostic.place
    if place and place.file == _UNNAMED:
        place = replace(place, file=chunk.name)
    if place == Place(chunk.name, 0, 0) and (chunk.line, chunk.column) != _BEGINNING:
        place = Place(chunk.name, chunk.line, chunk.column)
    notes = tuple(_placed(note, chunk) for note in diagnostic.notes)
    return replace(diagnostic, place=place, notes=notes)


# --- Verification of diagnostics against comments of an input such as `expected-error` -----------

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
    """A comment, and whether its diagnostic was emitted."""

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
        for single in (diagnostic, *diagnostic.notes):
            severity, place = single.severity, single.place
            if place is None:
                everywhere = chain(*self._by_file.values())
                expectations = [item for item in everywhere if item.line is None]
            else:
                if place.file not in self._by_file:
                    text = read_source(place.file)
                    self._by_file[place.file] = _read(place.file, text, self._fail)
                of_file = self._by_file[place.file]
                expectations = [item for item in of_file if item.line == place.line]
            matching = [item for item in expectations if item.pattern.search(single.message)]
            met = next((item for item in matching if item.severity is severity), None)
            if met is not None:
                met.met = True
            elif matching and not self._only_expected:
                near_miss = matching[-1]
                expected = f"when expecting a '{near_miss.severity.value}'"
                message = f"'{severity.value}' diagnostic emitted {expected}"
                self._fail(message, near_miss.place)
            elif not self._only_expected:
                self._fail(f"unexpected {severity.value}: {single.message}", place)

    def verify(self) -> bool:
        """Report expected diagnostics that were not emitted. Return whether all expectations were met."""
        missing = [item for item in chain(*self._by_file.values()) if not item.met]
        # Expectations without a place come last.
        for item in sorted(missing, key=lambda item: item.line is None):
            message = f'expected {item.severity.value} "{item.text}" was not produced'
            self._fail(message, item.place if item.line is not None else None)
        return not self._failed

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
            is_own = isinstance(failure, ValueError)
            fail(str(failure) if is_own else f"invalid regex: {failure}", place)
            continue
        severity = Severity(match["severity"])
        expectation = _Expectation(severity, match["text"], place, number, pattern)
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
        for posix, python in _POSIX_CLASSES.items():
            expression = expression.replace(posix, python)
        pattern += f"({expression}){re.escape(literal)}"
    return re.compile(pattern)
