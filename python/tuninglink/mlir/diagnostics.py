"""Diagnostics as data and as text, with remedies for errors of MLIR's parser; and the context of each thread."""

from __future__ import annotations

import os
import re
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeAlias

from iree.compiler import ir as mlir
from iree.compiler._mlir_libs import _mlir

from tuninglink.errors import Diagnostic, Place, Severity, escaped, nearest, printable
from tuninglink.mlir import names
from tuninglink.rules import Rule  # noqa: TC001 - the JSON Schema resolves the types of fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


Anchor: TypeAlias = mlir.Operation | mlir.OpView | mlir.Location | Place | None
"""The places that a diagnostic can be attached to."""


def place_of(location: mlir.Location) -> Place | None:
    """Return the first source position in `location`, or None if it contains none.

    A fused location yields the position of its first part that has one; a call site yields the callee's, and a named
    location its child's.
    """
    if type(location) is mlir.Location:
        # Locations of diagnostics have the base class.
        location = mlir.Location.from_attr(location.attr, location.context)
    if isinstance(location, mlir.FileLineColLoc):
        text = str(location)
        if "\\" not in text:
            return Place(location.filename, location.start_line, location.start_col)
        # The bindings abort on a name that is not UTF-8, as damaged bytecode may contain.
        literal = text[text.index('"') : text.rindex('":') + 1]
        name = mlir.StringAttr(mlir.Attribute.parse(literal, location.context))
        file = name.value_bytes.decode(errors="replace")
        return Place(file, location.start_line, location.start_col)
    if isinstance(location, mlir.NameLoc):
        return place_of(location.child_loc)
    if isinstance(location, mlir.CallSiteLoc):
        return place_of(location.callee)
    if isinstance(location, mlir.FusedLoc):
        parts = (part for part in location.locations if isinstance(part, mlir.Location))
        return next(filter(None, map(place_of, parts)), None)
    return None


def _diagnostic(
    severity: Severity,
    message: str,
    at: Anchor,
    notes: Iterable[Diagnostic] = (),
    rule: Rule | None = None,
) -> Diagnostic:
    if isinstance(at, mlir.Operation | mlir.OpView):
        at = at.location
    place = place_of(at) if isinstance(at, mlir.Location) else at
    return Diagnostic(severity, escaped(message), place, tuple(notes), rule=rule)


def note(message: str, at: Anchor = None) -> Diagnostic:
    """Return a note, to be attached to another diagnostic."""
    return _diagnostic(Severity.NOTE, message, at)


def error(
    message: str, at: Anchor = None, notes: Iterable[Diagnostic] = (), rule: Rule | None = None
) -> Diagnostic:
    """Return an error, to be raised in an exception or emitted to a `DiagnosticSink`. The message is one line."""
    return _diagnostic(Severity.ERROR, message, at, notes, rule)


def from_mlir(diagnostic: mlir.Diagnostic | mlir.DiagnosticInfo) -> Diagnostic:
    """Convert a diagnostic of the compiler, which is valid only during the call that delivers it."""
    return Diagnostic(
        Severity[diagnostic.severity.name],
        diagnostic.message,
        place_of(diagnostic.location),
        tuple(from_mlir(note_) for note_ in diagnostic.notes),
    )


def first_error(failure: mlir.MLIRError) -> str:
    """Return the message of the first error of a failure, or its own text if the compiler emitted no diagnostic."""
    messages = [diagnostic.message for diagnostic in failure.error_diagnostics]
    return messages[0] if messages else str(failure)


@dataclass(eq=False)
class DiagnosticSink:
    """A consumer of diagnostics that hides their handling from their producers.

    The handler receives each diagnostic, in the order of emission. A pass that increases `error_count` has failed.
    """

    handler: Callable[[Diagnostic], None]
    error_count: int = field(default=0, init=False)

    def emit(self, diagnostic: Diagnostic) -> None:
        """Emit an existing diagnostic."""
        self.error_count += diagnostic.severity is Severity.ERROR
        self.handler(diagnostic)

    def error(
        self,
        message: str,
        at: Anchor = None,
        notes: Iterable[Diagnostic] = (),
        rule: Rule | None = None,
    ) -> None:
        """Emit an error at an operation, a location or a place."""
        self.emit(_diagnostic(Severity.ERROR, message, at, notes, rule))

    def warning(
        self,
        message: str,
        at: Anchor = None,
        notes: Iterable[Diagnostic] = (),
        rule: Rule | None = None,
    ) -> None:
        """Emit a warning."""
        self.emit(_diagnostic(Severity.WARNING, message, at, notes, rule))

    def remark(self, message: str, at: Anchor = None, notes: Iterable[Diagnostic] = ()) -> None:
        """Emit a remark."""
        self.emit(_diagnostic(Severity.REMARK, message, at, notes))


def once(diagnostics: DiagnosticSink) -> DiagnosticSink:
    """Return a sink that forwards each diagnostic once, however often it is emitted."""
    emitted: set[Diagnostic] = set()

    def emit(diagnostic: Diagnostic) -> None:
        if diagnostic not in emitted:
            emitted.add(diagnostic)
            diagnostics.emit(diagnostic)

    return DiagnosticSink(emit)


def callers(location: mlir.Location) -> Iterator[Diagnostic]:
    """Yield a note for each caller of a location, the innermost first, through names and fusions."""
    if isinstance(location, mlir.CallSiteLoc):
        yield note("called from", location.caller)
        yield from callers(location.caller)
    elif isinstance(location, mlir.NameLoc):
        yield from callers(location.child_loc)
    elif isinstance(location, mlir.FusedLoc):
        parts = (callers(part) for part in location.locations if isinstance(part, mlir.Location))
        # The first part with a caller.
        yield from next(filter(None, map(list, parts)), ())


_local = threading.local()

# The bindings import the module of a dialect with the first op of it. That of linalg runs 60 builders of named ops,
# which takes 90 ms; the classes of its ops take 8 ms. Modules that need the builders import it themselves.
_bindings: Final[Any] = _mlir.globals  # type: ignore[attr-defined]
_bindings.dialect_search_modules = ["tuninglink.mlir.dialects", *_bindings.dialect_search_modules]


def thread_context() -> mlir.Context:
    """Return the context of the calling thread. The first call creates it."""
    context: mlir.Context | None = getattr(_local, "context", None)
    if context is None:
        context = _local.context = mlir.Context()
    return context


def quotes_operations(context: mlir.Context) -> bool:
    """Return whether the compiler's diagnostics about IR in `context` quote their operation.

    To quote an operation, the compiler verifies it, which never ends if the verifier itself emits a warning about it.
    """
    try:
        # The verifier refuses an operation that lacks a region.
        mlir.Operation.parse('"builtin.module"() : () -> ()', context=context)
    except mlir.MLIRError as failure:
        return any(diagnostic.notes for diagnostic in failure.error_diagnostics)
    return False


@contextmanager
def collected_diagnostics(context: mlir.Context) -> Iterator[list[Diagnostic]]:
    """Collect the compiler's diagnostics about IR in `context` while the block runs.

    Errors in an `MLIRError` are left out. MLIR's thread pool is disabled in the block: a thread that emits a
    diagnostic would wait for the Python lock, whose holder waits for that thread.
    """
    collected: list[Diagnostic] = []

    def handler(diagnostic: mlir.Diagnostic) -> bool:
        collected.append(from_mlir(diagnostic))
        return True

    has_threads = context.get_num_threads() > 1
    context.enable_multithreading(False)  # noqa: FBT003 - the bindings name no argument
    attached = context.attach_diagnostic_handler(handler)
    try:
        yield collected
    finally:
        attached.detach()
        if has_threads:
            context.enable_multithreading(True)  # noqa: FBT003


# --- Rendering of diagnostics as MLIR's tools print them: place, message, source line, caret, notes

TAB_STOP = 8
"""The width of a tab in a printed source line."""

LONGEST_LINE = 403
"""The limit above which a source line, such as a large constant, is truncated. A terminal has a lower one."""

_BOLD, _GREEN, _RESET = "\033[1m", "\033[0;1;32m", "\033[0m"
_COLORS = {
    Severity.ERROR: "\033[0;1;31m",
    Severity.WARNING: "\033[0;1;35m",
    Severity.REMARK: "\033[0;1;34m",
    Severity.NOTE: "\033[0;1;30m",
}


_inputs: set[str] = set()


def show_lines_of(path: str) -> None:
    """Let diagnostics quote lines of a file, as an input. A location in an input may name any file."""
    _inputs.add(printable(path))


@dataclass(frozen=True, eq=False)
class Sources:
    """The lines of source files, for printing under diagnostics.

    An input is read once, when a diagnostic first names it. The `texts` are the contents of sources that are not files,
    or that may have changed since they were read, by their name in diagnostics.
    """

    texts: dict[str, bytes] = field(default_factory=dict)
    _lines: dict[str, list[bytes]] = field(default_factory=dict, init=False)

    def add(self, name: str, text: bytes) -> None:
        """Set the content of `name`."""
        self.texts[name] = text
        self._lines.pop(name, None)

    def line(self, place: Place) -> bytes | None:
        """Return the line at `place` without its line break, or None if it cannot be shown."""
        if place.line < 1 or place.column < 1:
            return None
        name = place.file
        if name not in self._lines:
            text = self.texts.get(name)
            if text is None:
                text = read_source(name) if name in _inputs else b""
            # Bytecode has no lines to show.
            is_bytecode = b"\0" in text or text.startswith(b"ML\xefR")
            self._lines[name] = [] if is_bytecode else text.split(b"\n")
        lines = self._lines[name]
        return lines[place.line - 1] if place.line <= len(lines) else None


def read_source(name: str) -> bytes:
    """Return the content of a regular file; empty for a device or a pipe, which must not be read."""
    path = Path(name)
    try:
        if "\ufffd" in name and not path.exists():
            path = next(
                (file for file in path.parent.iterdir() if printable(file.name) == path.name), path
            )
        return path.read_bytes() if path.is_file() else b""
    except (OSError, ValueError):
        return b""


def render(
    diagnostic: Diagnostic,
    sources: Sources | None = None,
    *,
    color: bool = False,
    nowhere: str = "",
    width: int = LONGEST_LINE,
) -> str:
    """Return a diagnostic and its notes as text that ends with a newline.

    U+FFFD replaces bytes of file names that are not UTF-8. A note at the same place as the preceding diagnostic has no source line, as in MLIR.

    The lines are those of the files without `sources`; `nowhere` is the prefix of a diagnostic without a place, and
    `width` the limit of source lines.
    """
    sources = sources or Sources()
    text = ""
    previous = None
    for part in (diagnostic, *diagnostic.notes):
        severity, place = part.severity, part.place
        where = escaped(str(place)) if place else nowhere
        head = f"{where}: " if where else ""
        message = f"{escaped(part.message, lines=True)}{code_of(part)}"
        if color:
            head = f"{_BOLD}{head}{_COLORS[severity]}{severity.value}: {_RESET}"
            text += f"{head}{_BOLD}{message}{_RESET}\n"
        else:
            text += f"{head}{severity.value}: {message}\n"
        has_line = place is not None and (part is diagnostic or place != previous)
        previous = place
        line = sources.line(place) if place is not None and has_line else None
        if place is None or not line:
            continue
        # Columns count bytes from 1; the caret is placed by characters, and may be past the end of its line.
        column = place.column
        before = line[: column - 1].decode(errors="replace").expandtabs(TAB_STOP)
        shown = line.rstrip(b"\r").decode(errors="replace").expandtabs(TAB_STOP)
        indent = len(before) + max(0, column - 1 - len(line))
        if indent >= width - len(_CUT):
            start = indent - width // 2
            shown, indent = _CUT + shown[start:], len(_CUT) + indent - start
        if len(shown) > width:
            shown = shown[: width - len(_CUT)] + _CUT
        shown = "".join(character if character.isprintable() else "\ufffd" for character in shown)
        caret = f"{_GREEN}^{_RESET}" if color else "^"
        text += f"{escaped(shown)}\n{' ' * indent}{caret}\n"
    return printable(text)


def print_diagnostic(
    diagnostic: Diagnostic,
    sources: Sources | None = None,
    stream: TextIO | None = None,
    *,
    nowhere: str = "",
    width: int = LONGEST_LINE,
) -> None:
    """Render a diagnostic to standard error or another stream, in color on a terminal."""
    stream = stream or sys.stderr
    color = wants_color(stream)
    text = render(diagnostic, sources, color=color, nowhere=nowhere, width=width)
    # The compiler writes to the same stream: keep the order.
    stream.write(text)
    stream.flush()


def wants_color(stream: TextIO) -> bool:
    """Return whether to use colors on `stream`: on a terminal, unless NO_COLOR is set."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


_CUT = "..."


def code_of(diagnostic: Diagnostic) -> str:
    """Return the code of the rule that is broken, in brackets, to append to the message; empty without a rule."""
    return f" [{diagnostic.rule.value}]" if diagnostic.rule else ""


# --- Remedies for errors of MLIR's parser and verifier: the nearest known word, and the sequence with the error

_OPTIONS: Final = (
    *("prefetch_num_stages", "no_reduce_shared_memory_bank_conflicts"),
    *("use_igemm_convolution", "reorder_workgroups_strategy"),
)
"""The parameters of `#iree_gpu.pipeline_options` (`iree-base-compiler` 3.13)."""

_UNKNOWN_PARAMETER: Final = re.compile(r"duplicate or unknown struct parameter name: (\w+)")
_NO_CASE: Final = re.compile(r"expected \S+ to be one of: (.+)")
_PIPELINE: Final = re.compile(r"#(\w+\.\w*pipeline)<\s*$")
_FAMILIES: Final = ("iree_cpu.pipeline", "iree_gpu.pipeline", "iree_gpu.spirv_pipeline")
"""The attributes that name pipelines (`iree-base-compiler` 3.13)."""

_KEYWORD: Final = re.compile(r"expected '(\w+)'$")
_UNRESOLVED: Final = re.compile(r"unresolved (?:matcher|action) symbol @([\w$.\-]+)")
_FOREIGN_ARGUMENTS: Final = re.compile(r"matcher arguments \(\d+\) for @([\w$.\-]+)")
_UNKNOWN_OP: Final = re.compile(r"custom op '(transform\.[\w.]+)' is unknown")
_NO_VALUE: Final = re.compile(r"expected (?:attribute value|non-function type)$")
_VALUES: Final = (
    *("f16", "bf16", "f32", "f64", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ", "f4E2M1FN"),
    *("i1", "i4", "i8", "i16", "i32", "i64", "index", "true", "false", "unit"),
)
"""Words that are values of attributes: types of elements, and keywords."""

_WORD: Final = re.compile(r"\s*(\w+)")
_SEQUENCE: Final = re.compile(r"transform\.named_sequence\s+(?:\w+\s+)?@([\w$.\-]+)")
_NAME: Final = re.compile(r"[A-Za-z_][\w.]*")
_MISSING: Final = re.compile(r"Missing (?:attribute|named sequence) '([\w.]+)'")
_NO_INTEGER: Final = re.compile(r"expected integer value$")


def with_remedy(diagnostic: Diagnostic, text: str) -> Diagnostic:
    """Return an error of the parser or the verifier with notes: the nearest known word, and the sequence."""
    message, place = diagnostic.message, diagnostic.place
    if message.startswith("failed to parse "):
        return diagnostic  # It follows another error, which has the notes.
    if match := _MISSING.match(message):
        similar = nearest(match[1], sorted({*_NAME.findall(text)} - {match[1]}))
        remedies = [note(f"did you misspell it as '{similar}'?")] if similar else []
        return replace(diagnostic, notes=(*remedies, *diagnostic.notes))
    # Split the line at the error.
    before, after, lines = "", "", text.split("\n")
    if place is not None and 0 < place.line <= len(lines):
        line, start = lines[place.line - 1].encode(), max(0, place.column - 1)
        before, after = (part.decode(errors="replace") for part in (line[:start], line[start:]))
    next_word = _WORD.match(after)
    word, candidates = _misspelt(message, next_word[1] if next_word else "", text)
    suggestion = nearest(word, candidates) if word and word not in candidates else ""
    remedy = ""
    if next_word and _NO_CASE.match(message) and (family := _PIPELINE.search(before)):
        remedy = _foreign_pipeline(family[1], next_word[1], suggestion)
    if not remedy and suggestion:
        remedy = f"unknown name '{word}'; did you mean '{suggestion}'?"
    elif not remedy and (matcher := _FOREIGN_ARGUMENTS.search(message)):
        # A matcher that takes as many arguments as an action.
        pair = re.search(rf"@({re.escape(matcher[1])})\s*->\s*@([\w$.\-]+)", text)
        order = pair and f"write @{pair[2]} -> @{pair[1]} if the two are swapped"
        remedy = f"the matcher comes first; {order}" if order else ""
    elif not remedy and _NO_INTEGER.match(message):
        remedy = "write an integer, without quotes"
    remedies = [note(remedy, place)] if remedy else []
    # Name the sequence around the error, if there is one.
    above = "\n".join(lines[: place.line]) if place is not None else ""
    for last in [*_SEQUENCE.finditer(above)][-1:]:
        inside = above[last.end() : above.rfind("\n")]
        is_closed = "{" in inside and inside.count("{") == inside.count("}")
        line_number = above.count("\n", 0, last.start()) + 1
        if place is not None and not is_closed and line_number != place.line:
            start_of_sequence = replace(place, line=line_number, column=1)
            remedies.append(note(f"in the sequence '@{last[1]}'", start_of_sequence))
    return replace(diagnostic, notes=(*remedies, *diagnostic.notes))


def _misspelt(message: str, at_error: str, text: str) -> tuple[str, list[str]]:
    """Return the misspelt word of an error and the words allowed in its place, or nothing."""
    if match := _UNKNOWN_PARAMETER.match(message):
        return match[1], list(_OPTIONS)
    if match := _UNRESOLVED.search(message):
        return match[1], _SEQUENCE.findall(text)
    if match := _UNKNOWN_OP.match(message):
        ops = (op for op in map(str, vars(names).values()) if op.startswith("transform."))
        return match[1], [*ops]
    candidates: list[str] = []
    if match := _NO_CASE.match(message):
        candidates = match[1].split(", ")
    elif match := _KEYWORD.match(message):
        candidates = [match[1]]
    elif _NO_VALUE.match(message):
        candidates = list(_VALUES)
    return (at_error, candidates) if candidates else ("", [])


def _foreign_pipeline(family: str, word: str, suggestion: str) -> str:
    """Return the remedy for a pipeline of another family of targets; empty if no other family has the pipeline."""
    families: dict[str, str] = {}
    for other in (name for name in _FAMILIES if name != family):
        try:
            mlir.Attribute.parse(f"#{other}<{word}>", mlir.Context())
        except mlir.MLIRError as failure:
            # The parser lists the pipelines of the family.
            match = _NO_CASE.match(first_error(failure))
            families |= dict.fromkeys(match[1].split(", ") if match else (), other)
            continue
        return f"'{word}' is a pipeline of '#{other}', not of '#{family}'; write #{other}<{word}>"
    if suggestion:
        return ""
    similar = nearest(word, families)
    remedy = f"did you mean '#{families.get(similar)}<{similar}>'?"
    return f"'#{family}' has no '{word}'; {remedy}" if similar else ""
