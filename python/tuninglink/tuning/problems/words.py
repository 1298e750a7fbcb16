"""Reading a problem in Tuninglink's own words, such as `matmul 2048x1280x5120 f16 transpose_b`."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from tuninglink.errors import Diagnostic, Place, TuninglinkError, counted
from tuninglink.files import STANDARD_STREAM, cannot
from tuninglink.mlir import error, note, show_lines_of
from tuninglink.tuning.problems.other_tools import (
    ATEN_COMMAND,
    FUSILLI_COMMAND,
    HIPBLASLT_COMMAND,
    LOGGED_FUNCTION,
    MIOPEN_COMMAND,
    ROCBLAS_COMMAND,
    TUNABLE_OP,
    VALIDATOR,
    read_aten,
    read_fusilli,
    read_hipblaslt,
    read_logged_function,
    read_miopen,
    read_rocblas,
    read_tunable_op,
)
from tuninglink.tuning.problems.problem import (
    LARGEST_SIZE,
    Attention,
    Convolution,
    ElementType,
    Elementwise,
    Gradient,
    Layout,
    Mask,
    MatrixOperation,
    MoveOperation,
    Norm,
    Normalization,
    Pooling,
    PoolingOperation,
    Problem,
    ProblemError,
    Product,
    RowMove,
    RowOperation,
    Rows,
    ScaledProduct,
    ScaledType,
    TopK,
    UnsupportedError,
    read_size,
)

_Choice = TypeVar("_Choice", bound="Enum")


class _Words:
    """The words of a line, which a reader takes one after the other."""

    def __init__(self, text: str) -> None:
        self._rest = list(re.finditer(r"\S+", text))[::-1]
        self._end = len(text.rstrip()) + 1
        self.column = 1

    def __bool__(self) -> bool:
        return bool(self._rest)

    def take(self, form: str) -> str:
        """Return the next word."""
        if not self._rest:
            raise ProblemError(f"expected {form}", self._end)
        word = self._rest.pop()
        self.column = word.start() + 1
        return word[0]

    def sizes(self, *forms: str) -> tuple[int, ...]:
        return self.read_sizes(self.take(f"sizes {' or '.join(forms)}"), forms)

    def read_sizes(self, text: str, forms: Sequence[str], least: int = 1) -> tuple[int, ...]:
        """Return the word `text` at the current column as sizes."""
        sizes = [read_size(part, least) for part in text.split("x")]
        valid = tuple(size for size in sizes if size is not None)
        counts = [len(form.split("x")) for form in forms]
        if len(valid) < len(sizes) or len(sizes) not in counts:
            form = f"{' or '.join(forms)}, numbers from {least} to {LARGEST_SIZE}"
            raise ProblemError(f"invalid sizes '{text}': expected {form}", self.column)
        return valid

    def member(self, noun: str, kind: type[_Choice], text: str | None = None) -> _Choice:
        """Return a value of an enumeration from the next word, or from the word `text` that was already taken."""
        values = [value.value for value in kind]
        text = self.take(f"{noun}: one of {', '.join(values)}") if text is None else text
        if text not in values:
            raise ProblemError.unknown(noun, text, values, self.column)
        return kind(text)


def read_words(text: str) -> Problem:
    """Read a problem.

    Raises:
        ProblemError: the text is not a problem.
    """
    words = _Words(text)
    kind = words.take(f"an operation: one of {', '.join(OPERATIONS)}")
    read = OPERATIONS.get(kind)
    if read is None:
        raise ProblemError.unknown("operation", kind, OPERATIONS, words.column)
    return read(words)


def _read_matmul(words: _Words) -> Product:
    m, n, k = words.sizes("MxNxK")
    return Product(m, n, k, words.member("type", ElementType), None, *_transposes(words))


def _read_batch_matmul(words: _Words) -> Product:
    batch, m, n, k = words.sizes("BxMxNxK")
    return Product(m, n, k, words.member("type", ElementType), batch, *_transposes(words))


def _read_scaled_matmul(words: _Words) -> ScaledProduct:
    *batch, m, n, k = words.sizes("MxNxK", "BxMxNxK")
    element = words.member("type", ScaledType)
    _check_end(words)
    return ScaledProduct(m, n, k, element, batch[0] if batch else None)


def _transposes(words: _Words) -> tuple[bool, bool]:
    choices = ("transpose_a", "transpose_b")
    given = set()
    while words:
        word = words.take("")
        if word not in choices:
            raise ProblemError.unknown("word", word, choices, words.column)
        given.add(word)
    return "transpose_a" in given, "transpose_b" in given


_EXTENTS: Final = ("W", "HxW", "DxHxW")
"""The forms of an image's extents."""


def _read_convolution(words: _Words) -> Convolution:
    images, channels, *size = words.sizes(*(f"NxCx{extents}" for extents in _EXTENTS))
    extents = _EXTENTS[len(size) - 1]
    outputs, *kernel = words.sizes(f"FxK{extents.replace('x', 'xK')}")
    element = words.member("type", ElementType)
    steps = _Steps(extents, stride=[1])
    layout, groups, gradient = Layout.default(len(size)), 1, None
    while words:
        word = words.take("")
        name, _, value = word.partition("=")
        if name == "layout":
            layout = Layout.parse(value, words.column)
        elif name == "groups":
            (groups,) = words.read_sizes(value, ["N"])
        elif name == "gradient":
            gradient = words.member("gradient", Gradient, value)
        elif not steps.read(words, name, value):
            choices = [f"{choice}=" for choice in (*steps.values, "groups", "layout", "gradient")]
            raise ProblemError.unknown("word", word, choices, words.column)
    return Convolution(
        *(images, channels, tuple(size), outputs, tuple(kernel), element),
        *steps.all(),
        layout,
        groups,
        gradient,
    )


class _Steps:
    """The steps and the padding of windows."""

    def __init__(self, extents: str, stride: Sequence[int]) -> None:
        self._extents = extents
        self.values: dict[str, Sequence[int]] = {"stride": stride, "padding": [0], "dilation": [1]}

    def read(self, words: _Words, name: str, value: str) -> bool:
        """Read the value of a word; return whether `name` is one of these words."""
        if name not in self.values:
            return False
        form = self._extents if "x" in value else "N"
        least = 0 if name == "padding" else 1
        self.values[name] = words.read_sizes(value, [form], least)
        return True

    def all(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Return strides, padding and dilations, where one number stands for all extents."""
        rank = len(self._extents.split("x"))
        strides, padding, dilations = (
            tuple(step) * (rank if len(step) == 1 else 1) for step in self.values.values()
        )
        return strides, padding, dilations


def _read_pooling(operation: PoolingOperation, words: _Words) -> Pooling:
    images, channels, *size = words.sizes(*(f"NxCx{extents}" for extents in _EXTENTS))
    extents = _EXTENTS[len(size) - 1]
    kernel = words.sizes(f"K{extents.replace('x', 'xK')}")
    element = _wide_type(words, operation.value)
    # PyTorch's windows do not overlap unless strides are given.
    steps = _Steps(extents, stride=kernel)
    is_last = False
    while words:
        word = words.take("")
        name, _, value = word.partition("=")
        if word == "channels_last":
            is_last = True
        elif not steps.read(words, name, value):
            choices = [*(f"{choice}=" for choice in steps.values), "channels_last"]
            raise ProblemError.unknown("word", word, choices, words.column)
    image = (images, channels, tuple(size))
    return Pooling(operation, *image, kernel, element, *steps.all(), is_last)


def _read_attention(words: _Words) -> Attention:
    heads, queries, keys, features = words.sizes("HEADSxQUERIESxKEYSxFEATURES")
    element = _wide_type(words, "attention")
    mask, kv_heads = None, None
    masks = {mask.value: mask for mask in Mask}
    while words:
        word = words.take("")
        name, _, value = word.partition("=")
        if name == "kv_heads":
            (kv_heads,) = words.read_sizes(value, ["N"])
        elif word not in masks:
            raise ProblemError.unknown("word", word, [*masks, "kv_heads="], words.column)
        elif mask:
            raise ProblemError(f"unexpected word '{word}': an attention has one mask", words.column)
        else:
            mask = masks[word]
    return Attention(heads, queries, keys, features, element, mask, kv_heads)


def _read_normalization(norm: Norm, words: _Words) -> Normalization:
    rows, columns = words.sizes("ROWSxCOLUMNS")
    element = _wide_type(words, norm.value)
    is_affine = False
    while words:
        word = words.take("")
        if word != "affine":
            raise ProblemError.unknown("word", word, ["affine"], words.column)
        is_affine = True
    return Normalization(norm, rows, columns, element, is_affine)


def _read_rows(operation: RowOperation, words: _Words) -> Rows:
    rows, columns = words.sizes("ROWSxCOLUMNS")
    return Rows(operation, rows, columns, _last_type(words, operation.value))


def _read_topk(words: _Words) -> TopK:
    rows, columns, count = words.sizes("ROWSxCOLUMNSxK")
    return TopK(rows, columns, count, _last_type(words, "topk"))


def _read_elementwise(operation: MatrixOperation, words: _Words) -> Elementwise:
    rows, columns = words.sizes("ROWSxCOLUMNS")
    return Elementwise(operation, rows, columns, _last_type(words, operation.value))


def _read_move(operation: MoveOperation, words: _Words) -> RowMove:
    rows, columns, count = words.sizes("ROWSxCOLUMNSxCOUNT")
    return RowMove(operation, rows, columns, count, _last_type(words, operation.value))


def _last_type(words: _Words, operation: str) -> ElementType:
    element = _wide_type(words, operation)
    _check_end(words)
    return element


def _check_end(words: _Words) -> None:
    if words:
        word = words.take("")
        raise ProblemError(f"unexpected word '{word}' after the type", words.column)


def _wide_type(words: _Words, operation: str) -> ElementType:
    """Return the next word as the type of a floating-point operation and of its results."""
    element = words.member("type", ElementType)
    if element.is_narrow:
        raise ProblemError(f"{operation} needs the type f16, bf16 or f32", words.column)
    return element


OPERATIONS: Final[dict[str, Callable[[_Words], Problem]]] = {
    "matmul": _read_matmul,
    "batch_matmul": _read_batch_matmul,
    "scaled_matmul": _read_scaled_matmul,
    "conv": _read_convolution,
    **{operation.value: partial(_read_pooling, operation) for operation in PoolingOperation},
    "attention": _read_attention,
    **{operation.value: partial(_read_rows, operation) for operation in RowOperation},
    **{norm.value: partial(_read_normalization, norm) for norm in Norm},
    "topk": _read_topk,
    **{operation.value: partial(_read_elementwise, operation) for operation in MatrixOperation},
    **{operation.value: partial(_read_move, operation) for operation in MoveOperation},
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
    for pattern, read in _COMMANDS:
        if command := pattern.search(line):
            problems = read(line, command)
            return problems if isinstance(problems, tuple) else (problems,)
    if command := _OTHER_COMMAND.search(line):
        message = f"operation '{command['operation']}' is not supported"
        raise UnsupportedError(message, command.start("operation") + 1)
    return (read_words(line),)


_COMMANDS: Final[
    Sequence[tuple[re.Pattern[str], Callable[[str, re.Match[str]], Problem | tuple[Problem, ...]]]]
] = (
    (TUNABLE_OP, read_tunable_op),
    (LOGGED_FUNCTION, read_logged_function),
    (ATEN_COMMAND, read_aten),
    (HIPBLASLT_COMMAND, read_hipblaslt),
    (ROCBLAS_COMMAND, read_rocblas),
    (MIOPEN_COMMAND, read_miopen),
    (FUSILLI_COMMAND, read_fusilli),
)
"""The forms of lines of other tools, and their readers."""


@dataclass(frozen=True)
class ProblemFile:
    """The problems of a file."""

    name: str
    problems: tuple[Problem, ...]
    unsupported: Mapping[str, int]

    @property
    def unsupported_lines(self) -> str:
        return counted(sum(self.unsupported.values()), "line")


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
    for number, line in enumerate(_lines(path), 1):
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


def _lines(path: str) -> list[str]:
    """Return the lines of a file or of standard input."""
    try:
        is_stream = path == STANDARD_STREAM
        show_lines_of(path)
        content = sys.stdin.buffer.read() if is_stream else Path(path).read_bytes()
        return content.decode().splitlines()
    except (OSError, UnicodeDecodeError) as failure:
        reason = failure if isinstance(failure, OSError) else OSError("it is not UTF-8")
        raise TuninglinkError(cannot("read", path, reason)) from None


_SHOWN_ERRORS: Final = 10
"""The number of lines whose errors are reported one by one."""
