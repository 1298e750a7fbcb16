"""Reading and writing modules, as text and as bytecode."""

from __future__ import annotations

import codecs
import io
import os
import re
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.errors import Place, SpecError
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import (
    collected_diagnostics,
    error,
    from_mlir,
    note,
    quotes_operations,
    with_remedy,
)

if TYPE_CHECKING:
    from mmap import mmap

    from tuninglink.errors import Diagnostic
    from tuninglink.mlir.diagnostics import Anchor


BYTECODE_MAGIC = b"ML\xefR"
"""The first bytes of MLIR bytecode (https://mlir.llvm.org/docs/BytecodeFormat/#magic-number)."""

_CODE_OF_LINE: Final = re.compile(rb'(?:"(?:[^"\\]|\\.)*"|[^"/]|/(?!/))*+(?=//|$)')
"""The part of a line before its comment. Strings in MLIR do not span lines."""

_SEVERAL: Final = "expected one module, found "


def is_bytecode(data: bytes) -> bool:
    """Return whether data is bytecode, by its first bytes."""
    return data.startswith(BYTECODE_MAGIC)


def parse_module(data: bytes, source: str, context: mlir.Context) -> mlir.Operation:
    """Parse and verify a `builtin.module`, in bytecode or in UTF-8 text, whose comments may have another encoding.

    The source is the name of the input in diagnostics, usually its path.

    Raises:
        SpecError: the input is empty, is neither text nor bytecode, does not parse, does not verify, or
            is not one module; or its text uses a matcher twice in one list, on which the compiler would crash.
    """
    start = Place(source, 1, 1)
    if not without_byte_order_mark(data).strip():
        raise SpecError(error("the file is empty; expected MLIR text or bytecode", start))
    # Parse, and describe errors of the parser and the verifier.
    text = "" if is_bytecode(data) else decode(data, source)
    # Bytecode is checked where files are read: other bytecode is of modules that were verified.
    if text:
        check_repeated_matchers(data, source, context)
    with collected_diagnostics(context):
        try:
            if is_bytecode(data):
                return mlir.Module.parse(data, context).operation
            parsed = mlir.Operation.parse(text, source_name=source, context=context).operation
        except mlir.MLIRError as failure:
            errors = [_placed(from_mlir(error_), start) for error_ in failure.error_diagnostics]
            if errors[0].message.startswith(_SEVERAL) and _is_program(text, context):
                message = "expected a module that is or carries a tuning spec, found a program"
                raise SpecError(error(message, start, [note(_CARRIER)])) from None
            raise SpecError(*(with_remedy(diagnostic_, text) for diagnostic_ in errors)) from None
        except RuntimeError:
            # The bindings fail to decode a message that quotes bytes other than UTF-8.
            raise SpecError(error("the bytecode is damaged", start)) from None
    # Require a module.
    if parsed.name != names.MODULE:
        is_part_of_spec = parsed.name.startswith("transform.")
        kind = f"'{parsed.name}'" if is_part_of_spec else "a program"
        message = f"expected a module that is or carries a tuning spec, found {kind}"
        notes = [] if is_part_of_spec else [note(_CARRIER)]
        raise SpecError(error(message, parsed, notes))
    return parsed


_CARRIER: Final = (
    "programs carry specs after 'tuninglink compile --compile-to=executable-sources' only"
)


def decode(data: bytes, source: str) -> str:
    """Decode MLIR text whose comments may contain bytes that are not UTF-8, as the compiler's parser accepts it.

    Such comments are decoded as Latin-1.

    Raises:
        SpecError: the text is empty or not UTF-8.
    """
    start = Place(source, 1, 1)
    text = without_byte_order_mark(data)
    if not text.strip():
        raise SpecError(error("the file is empty; expected MLIR text", start))
    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise SpecError(error("the file is UTF-16 text; save it as UTF-8", start))
    if b"\0" in text:
        message = "the file is neither MLIR text nor MLIR bytecode"
        if text.decode(errors="replace").encode() == text:
            message = "expected MLIR text or bytecode, found null characters"
        raise SpecError(error(message, start))
    with suppress(UnicodeDecodeError):
        return text.decode()
    lines: list[str] = []
    for number, line in enumerate(text.split(b"\n"), 1):
        try:
            lines.append(line.decode())
        except UnicodeDecodeError as failure:
            code = _CODE_OF_LINE.match(line)
            if code is None or code.end() > failure.start:
                problem = f"byte 0x{line[failure.start]:02X} is not UTF-8"
                place = Place(source, number, failure.start + 1)
                message = f"{problem}; save the file as UTF-8"
                raise SpecError(error(message, place)) from None
            lines.append(code[0].decode() + line[code.end() :].decode("latin-1"))
    return "\n".join(lines)


def without_byte_order_mark(data: bytes) -> bytes:
    """Return text without the byte order mark that some editors put before UTF-8."""
    return data.removeprefix(codecs.BOM_UTF8)


def is_undecodable(failure: BaseException) -> bool:
    """Return whether the bindings raised an exception because a string in the IR is not UTF-8."""
    is_refused = isinstance(failure, RuntimeError) and "conversion error" in str(failure)
    return is_refused or isinstance(failure, UnicodeDecodeError)


def _is_program(text: str, context: mlir.Context) -> bool:
    """Return whether text with several top-level operations is a program."""
    try:
        module = mlir.Module.parse(text, context)
    except mlir.MLIRError:
        return False
    return any(not op.operation.name.startswith((names.MODULE, "transform.")) for op in module.body)


def _placed(diagnostic: Diagnostic, start: Place) -> Diagnostic:
    """Add a place to errors that the parser reports at line 0 of its buffer, or nowhere."""
    if diagnostic.place and diagnostic.place.line:
        return diagnostic
    if diagnostic.message.startswith("source must contain a single top-level operation"):
        count = diagnostic.message.rpartition(" ")[2]
        return error(f"{_SEVERAL}{count} operations at the top level", start)
    return replace(diagnostic, place=start, notes=())


def to_bytecode(operation: mlir.Operation | mlir.OpView) -> bytes:
    """Return `operation` as bytecode, locations included."""
    buffer = io.BytesIO()
    operation.write_bytecode(buffer)
    return buffer.getvalue()


def to_text(operation: mlir.Operation | mlir.OpView) -> str:
    """Return `operation` as text without locations, ending with a newline."""
    from tempfile import TemporaryFile  # noqa: PLC0415 - most commands print no module

    # The bindings append to a string piece by piece, which takes twice as long as printing to a file. This one has no
    # name that would be left when a signal ends the process.
    with TemporaryFile() as file:
        operation.print(file=f"/dev/fd/{file.fileno()}")
        text = file.read().decode()
    return text.rstrip("\n") + "\n"


_LARGE: Final = 1 << 20
"""The elements of a constant, or the characters of a resource, that no dispatch holds, but for weights of the program."""


def without_weights(operation: mlir.Operation) -> str:
    """Return `operation` as text without the values of its large constants, which are undefined when it is parsed."""
    return str(operation.get_asm(large_elements_limit=_LARGE, large_resource_limit=_LARGE))


QUOTE_OPERATIONS: Final = "--mlir-print-op-on-diagnostic"
"""The flag whether the compiler's diagnostics quote their operation, for which it verifies the operation again."""

_LIST: Final = b"foreach_match"

_MATCHERS: Final = re.compile(rb'@((?:[\w$.:@-]|"[^"\n]*")+)\s*->\s*@')
"""The matchers of a `foreach_match`, as it is usually written."""

_REPEATED: Final = re.compile(
    r"^(.*):(\d+):(\d+): warning: matcher @(.+) is used more than once", re.MULTILINE
)
"""The verifier's warning about a matcher that a `foreach_match` uses twice."""


def may_repeat_matchers(data: bytes | mmap) -> bool:
    """Return whether a list of the input may use a matcher twice: one in bytecode, in the generic form, or as written.

    The entries that repeat a matcher may be in a comment.
    """
    if data.find(_LIST) < 0:
        return False
    if is_bytecode(data[:4]) or data.find(b'"transform.foreach_match"') >= 0:
        return True
    lists = map(_MATCHERS.findall, data[:].split(_LIST)[1:])
    return any(len(set(matchers)) < len(matchers) for matchers in lists)


def check_repeated_matchers(data: bytes | mmap, source: str, context: mlir.Context) -> None:
    """Check that no list uses a matcher twice if parsing it in a context would crash the compiler.

    Raises:
        SpecError: a list uses a matcher twice.
    """
    if may_repeat_matchers(data) and quotes_operations(context):
        _check_apart(without_byte_order_mark(data[:]), source)


@lru_cache(maxsize=1)
def _check_apart(data: bytes, source: str) -> None:
    """Check in a separate process that no list uses a matcher twice, on which the compiler would crash in this one.

    The flag that prevents the crash can be set once in a process, which belongs to the caller, and before its context
    exists.
    """
    import subprocess  # noqa: PLC0415 - commands set the flag

    from iree.compiler.tools.binaries import find_tool  # noqa: PLC0415

    command = (find_tool("iree-opt"), f"{QUOTE_OPERATIONS}=false", "-", "-o", os.devnull)
    finished = subprocess.run(command, input=data, capture_output=True, check=False)  # noqa: S603 - the wheel's own
    if repeated := _REPEATED.search(finished.stderr.decode(errors="replace")):
        file, line, column, matcher = repeated.groups()
        file = source if file in ("-", "<stdin>") else file
        raise SpecError(repeated_matcher(matcher, Place(file, int(line), int(column))))


def repeated_matcher(matcher: str, at: Anchor) -> Diagnostic:
    """Return an error for a matcher that a `foreach_match` uses more than once.

    The compiler only emits a warning, but overflows its stack when it prints the op in the warning, since printing
    verifies the op again. Its flag `--mlir-print-op-on-diagnostic=false` prevents that, but can be set only once.
    """
    message = (
        f"matcher '@{matcher}' is used more than once: only its first entry can apply, and the compiler crashes on "
        "this operation; remove the later entries"
    )
    return error(message, at)
