"""Programs as sources of the compiler, diagnostics for files that are not programs, and runs of compiler phases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.compiler import native
from tuninglink.compiler.compile_options import Phase
from tuninglink.compiler.session import Invocation, NativeHandle, Output, Session, session_flags
from tuninglink.errors import CompileError
from tuninglink.files import STANDARD_STREAM, cannot
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error, note
from tuninglink.mlir.serialization import (
    is_bytecode,
    to_bytecode,
    to_text,
    without_byte_order_mark,
)
from tuninglink.specs.spec import is_only_a_spec

_BEGINNING: Final = 4096
"""The number of bytes to read for telling MLIR from other files."""


def refuse_spec(module: mlir.Operation) -> None:
    """Reject a tuning spec as a program, since passes would remove its content.

    Raises:
        CompileError: the module is a spec.
    """
    if is_only_a_spec(module):
        message = (
            "this is a tuning spec, not a program; pass it with --spec, and a program as input"
        )
        raise CompileError(error(message, module))


def open_program(session: Session, path: str) -> NativeHandle:
    """Open a file as a source of the compiler: MLIR, an ONNX model to import, or `-` for standard input.

    Raises:
        CompileError: the file is missing, unreadable, certainly not a program, or a model that cannot be imported.
    """
    if path == STANDARD_STREAM:
        return session.open_file(path)
    if not path:
        raise CompileError(error("an input has an empty name; expected a file"))
    beginning = _read_beginning(Path(path))
    if path.endswith(SUFFIX):
        return session.wrap(import_onnx(Path(path)), path)
    if beginning is not None:
        _check_is_mlir(beginning, path)
        if beginning != without_byte_order_mark(beginning):
            return wrap_program(session, Path(path).read_bytes(), path)
    return session.open_file(path)


def wrap_program(session: Session, data: bytes, name: str) -> NativeHandle:
    """Make a source of a program in memory, called `name` in locations and diagnostics.

    Raises:
        CompileError: the data is certainly not a program.
    """
    _check_is_mlir(data, name)
    data = without_byte_order_mark(data)
    return session.wrap(data if is_bytecode(data) else data + b"\0", name)


def _read_beginning(path: Path) -> bytes | None:
    """Return the first bytes of a file, or None for a pipe, which can be read only once."""
    if path.exists() and not path.is_file() and not path.is_dir():
        return None
    try:
        with path.open("rb") as file:
            return file.read(_BEGINNING)
    except OSError as failure:
        raise CompileError(cannot("read", path, failure)) from None


def _check_is_mlir(beginning: bytes, name: str) -> None:
    if not beginning:
        raise CompileError(error(f"'{name}' is empty; expected a program in MLIR"))
    if b"\0" in beginning[:_BEGINNING] and not is_bytecode(beginning):
        raise CompileError(error(f"'{name}' is neither MLIR text nor MLIR bytecode"))


SUFFIX: Final = ".onnx"
"""The suffix of a model, whose format has no signature."""

_OPSET: Final = 17
"""The ONNX operator version that IREE's documentation recommends to convert older models to."""


_LONGEST: Final = 200
"""The number of characters of the importer's reason to show: some quote the model."""


def import_onnx(path: Path) -> bytes:
    """Import a model as a program in the dialect `torch`, as bytecode. Its function has the name of the graph.

    The program contains all weights, including weights in separate files of the model.

    Raises:
        CompileError: the package `onnx` is missing, or the model cannot be imported.
    """
    try:
        from iree.compiler.tools.import_onnx import __main__ as importer  # noqa: PLC0415 - an extra
    except ImportError as failure:
        message = f"importing '{path}' needs the package 'onnx': {failure}"
        remedy = note("install the extra: pip install 'tuninglink[onnx]'")
        raise CompileError(error(message, notes=[remedy])) from None
    options = importer.parse_arguments([str(path), f"--opset-version={_OPSET}"])
    try:
        model = importer.onnx_importer.ModelInfo(importer.load_onnx_model(options))
        module = model.create_module(context=importer.Context()).operation
        importer.onnx_importer.NodeImporter.define_function(model.main_graph, module).import_all()
        module.verify()
    except Exception as failure:  # noqa: BLE001 - each library of the importer raises its own exceptions
        reason = " ".join(str(failure).split()) or type(failure).__name__
        reason = reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]} ..."
        remedy = note(f"'iree-import-onnx {path} -o model.mlir' has options for models like it")
        raise CompileError(error(f"cannot import '{path}': {reason}", notes=[remedy])) from None
    return to_bytecode(module)


@dataclass(frozen=True)
class SavedProgram:
    """A program in memory, with its weights.

    Attributes:
        content: the program, as bytecode or as text.
        phase: the phase that it has passed.
    """

    content: bytes = field(repr=False)
    phase: Phase


class Run:
    """A program inside the compiler.

    Args:
        invocation: the compiler with the program, parsed.
        errors: the errors reported by the compiler so far.
    """

    def __init__(self, invocation: Invocation, errors: list[Diagnostic]) -> None:
        self._invocation = invocation
        self._errors = errors

    @property
    def module(self) -> mlir.Operation:
        """The program in its current state; the handle is valid until the next phase."""
        return self._invocation.module()

    def advance(self, first: Phase, last: Phase) -> None:
        """Run the phases after `first` up to and including `last`.

        Raises:
            CompileError: the compiler reported an error.
        """
        self.check(self._invocation.run(first, last), f"compiling to '{last.value}'")

    def save(self, phase: Phase) -> SavedProgram:
        """Return the program in its current state, after `phase`.

        After `flow`, weights are parts of attributes whose dialects have no bytecode interface: bytecode would lose the
        weights, and text is slow for large weights.
        """
        is_compact = phase <= Phase.FLOW
        content = to_bytecode(self.module) if is_compact else to_text(self.module).encode()
        return SavedProgram(content, phase)

    def image(self) -> bytes:
        """Return the compiled module as a VM FlatBuffer.

        Raises:
            CompileError: it cannot be written.
        """
        with Output() as output:
            failure = self._invocation.write(output, native.output_vm_bytecode)
            self.check(failure is None, f"writing the output: {failure}")
            return output.content()

    def check(self, succeeded: bool, doing: str) -> None:  # noqa: FBT001 - it is what a step returned
        """Raise the errors that the compiler reported, regardless of its return value."""
        if self._errors:
            raise CompileError(*self._errors)
        if not succeeded:
            raise CompileError(error(f"the compiler failed {doing}"))


@contextmanager
def compiler_run(
    source: bytes | str, flags: Sequence[str], *, name: str = "<memory>", verify: bool = True
) -> Iterator[Run]:
    """Parse a program into a separate session.

    Args:
        source: the program as text or bytecode, or the path of a program.
        flags: flags of the compiler; process-wide flags must already be set.
        name: the name in locations of a program in memory.
        verify: whether the IR is verified after each pass.

    Raises:
        CompileError: a flag is malformed, or the program does not parse.
    """
    errors: list[Diagnostic] = []

    def report(diagnostic: Diagnostic) -> None:
        if diagnostic.severity is Severity.ERROR:
            errors.append(diagnostic)

    available = session_flags()
    with Session([flag for flag in flags if flag.partition("=")[0] in available]) as session:
        if isinstance(source, str):
            opened = open_program(session, source)
        else:
            opened = wrap_program(session, source, name)
        with opened, Invocation(session, report) as invocation:
            invocation.configure(verify=verify)
            run = Run(invocation, errors)
            run.check(invocation.parse(opened), "parsing")
            yield run
