"""Reading a problem in Tuninglink's own words, such as `matmul 2048x1280x5120 f16 transpose_b`, and files of problems."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from tuninglink.errors import Diagnostic, Place, TuninglinkError
from tuninglink.files import STANDARD_STREAM, cannot
from tuninglink.mlir import error, note, show_lines_of
from tuninglink.tuning.problems.other_tools import COMMANDS, VALIDATOR
from tuninglink.tuning.problems.problem import (
    LARGEST_SIZE,
    Attention,
    Convolution,
    ElementType,
    Gradient,
    Layout,
    Mask,
    MatrixOperation,
    MatrixProblem,
    Pooling,
    PoolingOperation,
    Problem,
    ProblemError,
    Product,
    ScaledType,
    UnsupportedError,
    read_sizes,
)

_Choice = TypeVar("_Choice", bound="Enum")


class _Words:
    """The words of a line, which a reader takes one after the other."""

    def __init__(self, text: str) -> None:
        self._rest = list(re.finditer(r"\S+", text))[::-1]
        self._end = len(text.rstrip()) + 1
        self.column = 1

    def take(self, form: str) -> str:
        """Return the next word."""
        if not self._rest:
            raise ProblemError(f"expected {form}", self._end)
        word = self._rest.pop()
        self.column = word.start() + 1
        return word[0]

    def sizes(self, *forms: str, text: str | None = None, least: int = 1) -> tuple[int, ...]:
        """Return the next word as sizes, or the word `text` at the current column."""
        text = self.take(f"sizes {' or '.join(forms)}") if text is None else text
        parts = text.split("x")
        sizes = read_sizes(parts, least)
        if sizes is None or len(parts) not in [len(form.split("x")) for form in forms]:
            form = f"{' or '.join(forms)}, numbers from {least} to {LARGEST_SIZE}"
            raise ProblemError(f"invalid sizes '{text}': expected {form}", self.column)
        return sizes

    def member(self, noun: str, kind: type[_Choice], text: str | None = None) -> _Choice:
        """Return a value of an enumeration from the next word, or from the word `text` that was already taken."""
        values = [value.value for value in kind]
        text = self.take(f"{noun}: one of {', '.join(values)}") if text is None else text
        if text not in values:
            raise ProblemError.unknown(noun, text, values, self.column)
        return kind(text)

    def wide_type(self, operation: str) -> ElementType:
        """Return the next word as the type of a floating-point operation and of its results."""
        element = self.member("type", ElementType)
        if element.is_narrow:
            raise ProblemError(f"{operation} needs the type f16, bf16 or f32", self.column)
        return element

    def options(self, readers: Mapping[str, Callable[[str], Any]]) -> dict[str, Any]:
        """Read the other words: `NAME=VALUE`, whose value a reader gets, or a word that a reader gets itself."""
        given = {}
        while self._rest:
            word = self.take("")
            name, _, value = word.partition("=")
            if f"{name}=" in readers:
                given[name] = readers[f"{name}="](value)
            elif word in readers:
                given[word] = readers[word](word)
            elif readers:
                raise ProblemError.unknown("word", word, readers, self.column)
            else:
                raise ProblemError(f"unexpected word '{word}' after the type", self.column)
        return given


def read_words(text: str) -> Problem:
    """Read a problem; raise a `ProblemError` if the text is none."""
    words = _Words(text)
    kind = words.take(f"an operation: one of {', '.join(OPERATIONS)}")
    read = OPERATIONS.get(kind)
    if read is None:
        raise ProblemError.unknown("operation", kind, OPERATIONS, words.column)
    return read(words)


def _read_product(kind: type[ElementType | ScaledType], *forms: str, words: _Words) -> Product:
    *batch, m, n, k = words.sizes(*forms)
    element = words.member("type", kind)
    transposes = ("transpose_a", "transpose_b") if kind is ElementType else ()
    given = words.options(dict.fromkeys(transposes, bool))
    is_given = (word in given for word in ("transpose_a", "transpose_b"))
    return Product(m, n, k, element, batch[0] if batch else None, *is_given)


_EXTENTS: Final = ("W", "HxW", "DxHxW")
"""The forms of an image's extents."""


def _read_windows(operation: PoolingOperation | None, words: _Words) -> Convolution | Pooling:
    """Read a pooling; a convolution if there is no operation."""
    images, channels, *size = words.sizes(*(f"NxCx{extents}" for extents in _EXTENTS))
    rank, extents = len(size), _EXTENTS[len(size) - 1]
    form = f"K{extents.replace('x', 'xK')}"
    filters = words.sizes(form if operation else f"Fx{form}")
    element = words.wide_type(operation.value) if operation else words.member("type", ElementType)

    def steps(least: int, text: str) -> tuple[int, ...]:
        # One number stands for all extents.
        sizes = words.sizes(extents if "x" in text else "N", text=text, least=least)
        return sizes if "x" in text else sizes * rank

    readers: dict[str, Callable[[str], Any]] = {
        "stride=": partial(steps, 1),
        "padding=": partial(steps, 0),
        "dilation=": partial(steps, 1),
    }
    if operation:
        readers["channels_last"] = bool
    else:
        readers["groups="] = lambda text: words.sizes("N", text=text)[0]
        readers["layout="] = lambda text: Layout.parse(text, words.column)
        readers["gradient="] = lambda text: words.member("gradient", Gradient, text)
    given = words.options(readers)
    places = given.get("padding", (0,) * rank), given.get("dilation", (1,) * rank)
    if operation:
        # PyTorch's windows do not overlap unless strides are given.
        sizes = (operation, images, channels, tuple(size), filters, element)
        return Pooling(*sizes, given.get("stride", filters), *places, "channels_last" in given)
    outputs, *kernel = filters
    return Convolution(
        *(images, channels, tuple(size), outputs, tuple(kernel), element),
        given.get("stride", (1,) * rank),
        *places,
        given.get("layout", Layout.default(rank)),
        given.get("groups", 1),
        given.get("gradient"),
    )


def _read_attention(words: _Words) -> Attention:
    heads, queries, keys, features = words.sizes("HEADSxQUERIESxKEYSxFEATURES")
    element = words.wide_type("attention")
    masks: list[Mask] = []

    def read_mask(word: str) -> None:
        if masks:
            raise ProblemError(f"unexpected word '{word}': an attention has one mask", words.column)
        masks.append(Mask(word))

    readers: dict[str, Callable[[str], Any]] = {mask.value: read_mask for mask in Mask}
    readers["kv_heads="] = lambda text: words.sizes("N", text=text)[0]
    kv_heads = words.options(readers).get("kv_heads")
    return Attention(heads, queries, keys, features, element, masks[0] if masks else None, kv_heads)


_COUNTS: Final = {
    MatrixOperation.TOPK: "xK",
    MatrixOperation.GATHER: "xCOUNT",
    MatrixOperation.SCATTER: "xCOUNT",
}


def _read_matrix(operation: MatrixOperation, words: _Words) -> MatrixProblem:
    rows, columns, *count = words.sizes(f"ROWSxCOLUMNS{_COUNTS.get(operation, '')}")
    element = words.wide_type(operation.value)
    is_norm = operation in (MatrixOperation.LAYER_NORM, MatrixOperation.RMS_NORM)
    given = words.options({"affine": bool} if is_norm else {})
    moved = count[0] if count else None
    return MatrixProblem(operation, rows, columns, element, moved, "affine" in given)


OPERATIONS: Final[dict[str, Callable[[_Words], Problem]]] = {
    "matmul": lambda words: _read_product(ElementType, "MxNxK", words=words),
    "batch_matmul": lambda words: _read_product(ElementType, "BxMxNxK", words=words),
    "scaled_matmul": lambda words: _read_product(ScaledType, "MxNxK", "BxMxNxK", words=words),
    "conv": partial(_read_windows, None),
    **{operation.value: partial(_read_windows, operation) for operation in PoolingOperation},
    "attention": _read_attention,
    **{operation.value: partial(_read_matrix, operation) for operation in MatrixOperation},
}
"""Readers of the words after the one for an operation."""


# --- Reading files with a problem on each line, in any of the supported forms --------------------

_OTHER_COMMAND: Final = re.compile(
    r"^(?:\s*--?\w+\s+\d+)*\s*(?!fusilli_)(?P<operation>[A-Za-z./][\w:./-]*)(?=\s+-)"
)
"""The operation of a command that is not supported."""

_NO_PROBLEM: Final = re.compile(
    rf"\s*(?:$|#|{VALIDATOR}|\[SKIP\]|MIOpen\((?!.*MIOpenDriver(?:\.exe)?\s))"
)
"""The beginnings of lines without a problem; few lines of MIOpen's log are commands."""


def read_problems(line: str) -> tuple[Problem, ...]:
    """Read a line of a file.

    Returns:
        The problem, or those of the directions of a convolution; none for an empty line, a comment, a header of
        TunableOp, a line that Fusilli skips, or a line of MIOpen's log without a command.

    Raises:
        ProblemError: the line has none of the supported forms, or its problem is not supported.
    """
    if _NO_PROBLEM.match(line):
        return ()
    for pattern, read in COMMANDS:
        if command := pattern.search(line):
            problems = read(command)
            return problems if isinstance(problems, tuple) else (problems,)
    if command := _OTHER_COMMAND.search(line):
        message = f"operation '{command['operation']}' is not supported"
        raise UnsupportedError(message, command.start("operation") + 1)
    return (read_words(line),)


@dataclass(frozen=True)
class ProblemFile:
    """The problems of a file."""

    name: str
    problems: tuple[Problem, ...]
    unsupported: Mapping[str, int]


_SHOWN_ERRORS: Final = 10
"""The number of lines whose errors are reported one by one."""


def read_problem_file(path: str, *, is_strict: bool = False) -> ProblemFile:
    """Read a file of problems.

    Args:
        path: the file; `-` for standard input.
        is_strict: whether lines whose problems are not supported are errors.

    Raises:
        TuninglinkError: the file cannot be read or has no problem, or lines have none of the supported forms.
    """
    name = "<stdin>" if path == STANDARD_STREAM else path
    problems: list[Problem] = []
    errors: list[Diagnostic] = []
    unsupported: Counter[str] = Counter()
    try:
        show_lines_of(path)
        is_stream = path == STANDARD_STREAM
        content = sys.stdin.buffer.read() if is_stream else Path(path).read_bytes()
        lines = content.decode().splitlines()
    except (OSError, UnicodeDecodeError) as failure:
        reason = failure if isinstance(failure, OSError) else OSError("it is not UTF-8")
        raise TuninglinkError(cannot("read", path, reason)) from None
    for number, line in enumerate(lines, 1):
        try:
            problems += read_problems(line)
        except ProblemError as failure:
            if isinstance(failure, UnsupportedError) and not is_strict:
                unsupported[str(failure)] += 1
            else:
                errors.append(error(str(failure), Place(name, number, failure.column)))
    if len(errors) > _SHOWN_ERRORS:
        rest = error(f"{len(errors) - _SHOWN_ERRORS} more lines of '{name}' cannot be read")
        errors = [*errors[:_SHOWN_ERRORS], rest]
    if errors:
        raise TuninglinkError(*errors)
    if not problems:
        notes = [note(f"{reason} ({count})") for reason, count in unsupported.items()]
        raise TuninglinkError(error(f"there is no problem in '{name}'", notes=notes))
    return ProblemFile(name, tuple(problems), unsupported)
