"""Sessions, sources and invocations of the compiler in this process, with safe lifetimes."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack, contextmanager
from ctypes import (
    CFUNCTYPE,
    Structure,
    byref,
    c_bool,
    c_char_p,
    c_int,
    c_int8,
    c_size_t,
    c_ssize_t,
    c_uint64,
    c_void_p,
    py_object,
)
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from functools import cache, total_ordering
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar, cast

from iree.compiler import _mlir_libs, ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.errors import CompileError, Diagnostic, Severity, SpecError, printable
from tuninglink.files import cannot
from tuninglink.iree import TENSOR_UKERNELS_FLAG
from tuninglink.mlir import (
    QUOTE_OPERATIONS,
    DiagnosticSink,
    callers,
    error,
    note,
    place_of,
    show_lines_of,
    thread_context,
    to_bytecode,
    to_text,
)
from tuninglink.specs import PREPROCESSING_FLAG

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Report = Callable[[Diagnostic], None]


@total_ordering
class Phase(Enum):
    """A phase, named as in `--compile-to`. Phases compare by their position in the pipeline."""

    START = "start"
    INPUT = "input"
    ABI = "abi"
    PREPROCESSING = "preprocessing"
    GLOBAL_OPTIMIZATION = "global-optimization"
    DISPATCH_CREATION = "dispatch-creation"
    FLOW = "flow"
    STREAM = "stream"
    EXECUTABLE_SOURCES = "executable-sources"
    EXECUTABLE_CONFIGURATIONS = "executable-configurations"
    EXECUTABLE_TARGETS = "executable-targets"
    HAL = "hal"
    VM = "vm"
    END = "end"

    def __lt__(self, other: Phase) -> bool:
        return _POSITIONS[self] < _POSITIONS[other]


_POSITIONS = {phase: position for position, phase in enumerate(Phase)}


class Pipeline(IntEnum):
    """The pipeline of an invocation, as numbered in the C interface."""

    STANDARD = 0
    HAL_EXECUTABLE = 1
    PRECOMPILE = 2
    VM = 3


class NativeHandle(ExitStack):
    """An object of the C interface that is destroyed at the end of its `with` block and keeps `keep` alive."""

    def __init__(self, pointer: int | None, destroy: str, keep: object = None) -> None:
        super().__init__()
        self.pointer = pointer or 0
        self._keep = keep
        if pointer:
            self.callback(call, destroy, pointer)


class Session(NativeHandle):
    """A context and its flags, for one thread at a time.

    A few flags are stored in process-wide variables, so a session would inherit the flags of an earlier session. A new
    session therefore starts from the defaults of the first session. `flags` are flags of the compiler that belong to a
    session, each `--name=value` or `--name`; an unknown flag, or a malformed value, is a `CompileError`.
    """

    def __init__(self, flags: Sequence[str] = ()) -> None:
        defaults = session_flags()
        pointer = call("ireeCompilerSessionCreate", result=c_void_p)
        super().__init__(pointer, "ireeCompilerSessionDestroy")
        leaked = [name for name, value in _flags(pointer).items() if defaults[name] != value]
        try:
            own = [f"{PREPROCESSING_FLAG}={defaults[PREPROCESSING_FLAG]}", *flags]
            for position, flag in enumerate(own):
                copy, _ = _upgraded_spec(flag)
                if copy is not None:
                    own[position] = f"{PREPROCESSING_FLAG}=/dev/fd/{copy.fileno()}"
            for group in ([f"{name}={defaults[name]}" for name in leaked], own):
                arguments = (c_char_p * len(group))(*map(os.fsencode, group))
                name = "ireeCompilerSessionSetFlags"
                failure = call(name, self.pointer, len(group), arguments, result=c_void_p)
                check(failure, "malformed flag")
        except CompileError:
            self.close()
            raise

    def open(self, source: str | bytes, name: str = "") -> NativeHandle:
        """Open a source: a file, `-` for standard input, or bytecode or null-terminated text called `name` in locations."""
        if isinstance(source, str):
            show_lines_of(source)
            create = "OpenFile"
            arguments: tuple[object, ...] = (os.fsencode(source),)
        else:
            create, is_text = "WrapBuffer", source.endswith(b"\0")
            arguments = (os.fsencode(name), source, len(source), is_text)
        pointer = c_void_p()
        create = f"ireeCompilerSource{create}"
        check(call(create, self.pointer, *arguments, byref(pointer), result=c_void_p))
        return NativeHandle(pointer.value, _DESTROY_SOURCE, source)


_DESTROY_SOURCE: Final = "ireeCompilerSourceDestroy"


def set_up_command_line(program: str, flags: Sequence[str]) -> None:
    """Set process-wide flags, as the compiler's own tools do at their start; any flag is allowed.

    A malformed flag or a second call ends the process with a message and status 1. `program` is its name in messages.

    By default, diagnostics do not quote their operation. To quote an operation, the compiler verifies it, which does
    not terminate if the verifier emits a warning (a `foreach_match` that names a matcher twice crashes the process).

    Raises:
        CompileError: a pass pipeline does not parse.
    """
    if not any(flag.startswith(QUOTE_OPERATIONS) for flag in flags):
        flags = (f"{QUOTE_OPERATIONS}=false", *flags)
    set_global_flags((program, *flags))
    session_flags.cache_clear()
    # For a malformed pass pipeline, the compiler prints an error and goes on without the pipeline.
    for flag in flags:
        name, _, text = flag.partition("=")
        if name != _PREPROCESSING_PIPELINE or not text:
            continue
        if not (text.startswith("builtin.module(") and text.endswith(")")):
            message = f"expected 'builtin.module(...)' as the value of '{name}', found '{text}'"
            raise CompileError(error(message))
        try:
            PassManager.parse(text, thread_context())
        except ValueError as failure:
            reason = str(failure).strip().partition("\n")[0].rpartition("error: ")[2]
            raise CompileError(error(f"malformed value of '{name}': {reason}")) from None


_PREPROCESSING_PIPELINE: Final = "--iree-preprocessing-pass-pipeline"


@cache
def session_flags() -> Mapping[str, str]:
    """Return the names of the flags of sessions, with their dashes, and their defaults."""
    pointer = call("ireeCompilerSessionCreate", result=c_void_p)
    with NativeHandle(pointer, "ireeCompilerSessionDestroy"):
        return _flags(pointer)


def _flags(session: int) -> dict[str, str]:
    flags: list[str] = []
    callback = CFUNCTYPE(None, c_void_p, c_size_t, c_void_p)(
        lambda data, length, _: flags.append(ctypes.string_at(data, length).decode())
    )
    call("ireeCompilerSessionGetFlags", session, False, callback, None)  # noqa: FBT003 - not only non-default ones
    return dict(flag.partition("=")[::2] for flag in flags)


@cache
def registered_backends() -> tuple[str, ...]:
    """Return the sorted names of the target backends in this build of the compiler."""
    names: list[bytes] = []
    callback = CFUNCTYPE(None, c_char_p, c_void_p)(lambda name, _: names.append(name))
    call("ireeCompilerEnumerateRegisteredHALTargetBackends", callback, None)
    return tuple(sorted(name.decode() for name in names))


def split(source: NativeHandle) -> list[NativeHandle]:
    """Return the parts of a source between `// -----` lines as sources."""
    parts: list[int] = []
    callback = CFUNCTYPE(None, c_void_p, c_void_p)(lambda part, _: parts.append(part))
    check(call("ireeCompilerSourceSplit", source.pointer, callback, None, result=c_void_p))
    return [NativeHandle(part, _DESTROY_SOURCE) for part in parts]


@dataclass(frozen=True)
class SavedProgram:
    """A program in memory, with its weights.

    Attributes:
        content: the program, as bytecode or as text.
        phase: the phase that it has passed.
    """

    content: bytes = field(repr=False)
    phase: Phase


class Invocation(NativeHandle):
    """A program inside the compiler. Each `advance` continues where the previous one ended.

    The session must outlive the invocation. A step raises a `CompileError` if the compiler has reported an error, whatever
    it returns, or if it failed. Handles to operations of the module must not be used after the end of the invocation.

    Args:
        report: receives warnings and remarks as the compiler emits them.
        phase_dumps: a directory for the IR after each phase; empty for no dumps.
        remarks: a pattern of remarks to write, if any, and their file.
    """

    def __init__(
        self,
        session: Session,
        report: Report = lambda _: None,
        *,
        verify: bool = True,
        phase_dumps: str = "",
        remarks: tuple[str, str] = ("", ""),
    ) -> None:
        pointer = call("ireeCompilerInvocationCreate", session.pointer, result=c_void_p)
        super().__init__(pointer, "ireeCompilerInvocationDestroy")
        self._report = report
        self._module = 0
        self._errors: list[Diagnostic] = []
        self._failures: list[BaseException] = []
        context = call("ireeCompilerSessionBorrowContext", session.pointer, result=c_void_p)
        self.enter_context(_attached(context, self._handle))
        call("ireeCompilerInvocationSetVerifyIR", pointer, verify)
        dumps = os.fsencode(phase_dumps)
        call("ireeCompilerInvocationSetDumpCompilationPhasesTo", pointer, dumps)
        if remarks[0]:
            call("ireeCompilerInvocationSetupRemarks", pointer, *map(os.fsencode, remarks))

    def _handle(self, pointer: int, _: int | None) -> int:
        """Keep or report a diagnostic, with a remedy if there is one."""
        try:
            diagnostic = _read_diagnostic(pointer, callers)
            for pattern, remedy in _REMEDIES.items():
                if match := re.search(pattern, diagnostic.message):
                    notes = (note(remedy.format(*match.groups())), *diagnostic.notes)
                    diagnostic = replace(diagnostic, notes=notes)
            is_error = diagnostic.severity is Severity.ERROR
            (self._errors.append if is_error else self._report)(diagnostic)
        except BaseException as failure:  # noqa: BLE001 - exceptions must not pass through C++
            self._failures.append(failure)
        return 1

    def _check(self, succeeded: bool, doing: str) -> None:  # noqa: FBT001 - a result of the C interface
        if self._failures:
            raise self._failures[0]
        if self._errors:
            raise CompileError(*self._errors)
        if not succeeded:
            raise CompileError(error(f"the compiler failed {doing}"))

    def parse(self, source: NativeHandle) -> None:
        """Parse and verify the source."""
        name = "ireeCompilerInvocationParseSource"
        self._check(call(name, self.pointer, source.pointer, result=c_bool), "parsing")

    def advance(self, first: Phase, last: Phase, pipeline: Pipeline = Pipeline.STANDARD) -> None:
        """Run the phases after `first`, up to and including `last`.

        Handles to operations inside the module become invalid.
        """
        for end, phase in {"From": first, "To": last}.items():
            name = f"ireeCompilerInvocationSetCompile{end}Phase"
            call(name, self.pointer, phase.value.encode())
        succeeded = call("ireeCompilerInvocationPipeline", self.pointer, pipeline, result=c_bool)
        self._check(succeeded, f"compiling to '{last.value}'")

    @property
    def module(self) -> mlir.Operation:
        """A view of the module in its current state.

        Python never owns the module: the bindings keep references to foreign contexts forever, and do not free their
        modules. The session therefore destroys the context, and this object destroys the module, so that memory stays
        constant over many sessions.
        """
        if not self._module:
            name = "ireeCompilerInvocationExportStealModule"
            self._module = call(name, self.pointer, result=c_void_p)
            self.callback(call, "mlirOperationDestroy", self._module)
        return object_at(mlir.Operation, self._module)

    def write(self, output: Output, kind: str, *arguments: int) -> None:
        """Write the module as a kind of output of the C interface, such as `VMBytecode`."""
        name = f"ireeCompilerInvocationOutput{kind}"
        failure = call(name, self.pointer, output.pointer, *arguments, result=c_void_p)
        try:
            check(failure, "the compiler failed writing the output")
        finally:
            self._check(succeeded=True, doing="")  # What the compiler reported says more.

    def save(self, phase: Phase) -> SavedProgram:
        """Return the program in its current state, after `phase`.

        After `flow`, weights are parts of attributes whose dialects have no bytecode interface: bytecode would lose the
        weights, and text is slow for large weights.
        """
        is_compact = phase <= Phase.FLOW
        content = to_bytecode(self.module) if is_compact else to_text(self.module).encode()
        return SavedProgram(content, phase)

    def image(self) -> bytes:
        """Return the compiled module as a VM FlatBuffer."""
        with Output() as output:
            self.write(output, "VMBytecode")
            return output.content()


class Output(NativeHandle):
    """The output of invocations, in memory."""

    def __init__(self) -> None:
        pointer = c_void_p()
        check(call("ireeCompilerOutputOpenMembuffer", byref(pointer), result=c_void_p))
        super().__init__(pointer.value, "ireeCompilerOutputDestroy")

    def content(self) -> bytes:
        """Return the output so far."""
        data, size = c_void_p(), c_uint64()
        name = "ireeCompilerOutputMapMemory"
        check(call(name, self.pointer, byref(data), byref(size), result=c_void_p))
        return ctypes.string_at(data, size.value) if size.value else b""


_OPERATOR: Final = r"failed to legalize operation 'torch\.operator'.*?name = \"{}\.([\w.]+)\""
_REMEDIES: Final = {
    "no ukernel provider found": f"microkernels of tensors need '{TENSOR_UKERNELS_FLAG}'",
    _OPERATOR.format(
        r"torch\.aten"
    ): "the compiler does not know the operator 'aten.{}' of PyTorch; export with "
    "'tuninglink.torch', or export what 'run_decompositions()' of the exported program returns",
    _OPERATOR.format(
        "onnx"
    ): "the compiler does not support the operator '{}' of ONNX as this model uses it; another "
    "opset, 'torch.onnx.export' with 'dynamo=True', or a tool that infers shapes and folds constants may avoid it",
    r"legalize operation 'stablehlo\.custom_call'.*?call_target_name = \"([\w.]+)\"": "the compiler has no '{}', a function of "
    "JAX's own runtime: keep it out of the program",
    r"legalize operation 'stablehlo\.dynamic_": "the compiler needs static sizes for this op: export the program without symbolic ones",
    "^no HAL devices defined": "name a target, such as 'host' for the CPU of this machine",
    "^outer module does not contain a vm.module": "the program has no public function",
}
"""Remedies by the compiler's messages, with the groups of the match."""


# --- Preprocessing specs, which the compiler reads from files: old ones are upgraded in a copy


def spec_diagnostics(flags: Iterable[str], *, upgrade: bool = True) -> list[Diagnostic]:
    """Return the remarks and warnings about the preprocessing specs among flags.

    Old specs are upgraded, or otherwise rejected.
    """
    specs = (_upgraded_spec(flag, upgrade=upgrade) for flag in flags)
    return [diagnostic for _, diagnostics in specs for diagnostic in diagnostics]


def _upgraded_spec(
    flag: str, *, upgrade: bool = True
) -> tuple[IO[bytes] | None, tuple[Diagnostic, ...]]:
    """Return a copy of the spec that a flag names if it is old, and the diagnostics about its upgrade."""
    name, _, path = flag.partition("=")
    if name != PREPROCESSING_FLAG or not path or Path(path).is_dir():
        return None, ()
    try:
        data = Path(path).read_bytes()
    except OSError as failure:
        raise CompileError(cannot("read the preprocessing spec", path, failure)) from None
    return _read(path, data, upgrade=upgrade)


@cache
def _read(
    path: str, data: bytes, *, upgrade: bool = True
) -> tuple[IO[bytes] | None, tuple[Diagnostic, ...]]:
    # The copy has no name, so it vanishes with the process. Its locations are those of the original.
    from tuninglink.specs import preprocessing_spec  # noqa: PLC0415 - rarely needed

    show_lines_of(path)
    diagnostics: list[Diagnostic] = []
    try:
        module = preprocessing_spec(
            data,
            printable(path),
            thread_context(),
            is_required=True,
            upgrade=upgrade,
            diagnostics=DiagnosticSink(diagnostics.append),
        )
        assert module is not None, "it is required"
    except SpecError as failure:
        raise CompileError(*failure.diagnostics) from None
    if not diagnostics:
        return None, ()
    copy = TemporaryFile()  # noqa: SIM115 - the compiler reads it later
    copy.write(to_bytecode(module))
    copy.flush()
    return copy, tuple(diagnostics)


# --- The C interface of the compiler's shared library, for functions and handlers that the Python bindings lack


class StringRef(Structure):
    """A string reference. The caller keeps the bytes alive as long as the callee may read them."""

    _fields_ = (("data", c_void_p), ("length", c_size_t))

    @staticmethod
    def of(data: bytes) -> StringRef:
        """Return a reference to `data`."""
        return StringRef(ctypes.cast(c_char_p(data), c_void_p), len(data))

    def copy(self) -> bytes:
        """Return a copy of the bytes."""
        return ctypes.string_at(self.data, self.length)


class PrintedText:
    """A text that a function of the library passes to `callback` in parts."""

    def __init__(self) -> None:
        self._parts = parts = list[bytes]()
        self.callback = CFUNCTYPE(None, StringRef, c_void_p)(
            lambda part, _: parts.append(part.copy())
        )

    def __str__(self) -> str:
        return b"".join(self._parts).decode(errors="replace")


_LIBRARY: Final = ctypes.CDLL(str(Path(_mlir_libs.__file__).parent / "libIREECompiler.so"))
_Object = TypeVar("_Object")
_pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_name = ctypes.PYFUNCTYPE(c_char_p, py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


def pointer_of(wrapped: Any) -> int:
    """Return the C interface's pointer to an object of the bindings, such as a context."""
    capsule = wrapped._CAPIPtr  # noqa: SLF001 - intended for this
    return cast("int", _pointer(capsule, _name(capsule)))


def object_at(kind: type[_Object], pointer: int) -> _Object:
    """Return an object of the C interface as an object of a class of the bindings.

    A module is freed with its last Python handle. An operation remains owned by its parent.
    """
    name = f"iree.compiler.ir.{kind.__name__}._CAPIPtr".encode()
    create: Callable[[object], _Object] = kind._CAPICreate  # type: ignore[attr-defined]  # noqa: SLF001
    return create(_capsule(pointer, name, None))


def call(name: str, *arguments: Any, result: Any = None) -> Any:
    """Call a function of the library, with the type of its result.

    Integers are passed with the width of pointers, which any integer parameter accepts.
    """
    return _function(name, result)(*(c_void_p(a) if type(a) is int else a for a in arguments))


@cache
def _function(name: str, result: Any) -> Any:
    # A private object: other users may declare other types for the same symbol.
    symbol = _LIBRARY[name]
    symbol.restype = result
    return symbol


def set_global_flags(arguments: Sequence[str]) -> None:
    """Pass the name of the program and process-wide flags to the compiler, which keeps the signal handlers."""
    vector = (c_char_p * len(arguments))(*map(os.fsencode, arguments))
    call("ireeCompilerSetupGlobalCL", len(arguments), vector, b"", False)  # noqa: FBT003


_SEVERITIES: Final = (Severity.ERROR, Severity.WARNING, Severity.NOTE, Severity.REMARK)


@contextmanager
def handled(context: mlir.Context, handle: Callable[[Diagnostic], None]) -> Iterator[None]:
    """Pass the compiler's diagnostics about IR in `context` to a function while the block runs."""

    def called(pointer: int, _: int | None) -> int:
        handle(_read_diagnostic(pointer))
        return 1

    with _attached(pointer_of(context), called):
        yield


@contextmanager
def _attached(context: int, handle: Callable[[int, int | None], int]) -> Iterator[None]:
    """Call a function with a pointer to each diagnostic of a context while the block runs."""
    callback = CFUNCTYPE(c_int8, c_void_p, c_void_p)(handle)
    arguments = (context, callback, None, None)
    number = call("mlirContextAttachDiagnosticHandler", *arguments, result=c_uint64)
    try:
        yield
    finally:
        call("mlirContextDetachDiagnosticHandler", context, number)


def _read_diagnostic(
    pointer: int, notes_at: Callable[[mlir.Location], Iterable[Diagnostic]] = lambda _: ()
) -> Diagnostic:
    """Convert a diagnostic of the compiler."""
    severity = _SEVERITIES[call("mlirDiagnosticGetSeverity", pointer, result=c_int)]
    at = call("mlirDiagnosticGetLocation", pointer, result=c_void_p)
    bare = object_at(mlir.Location, at)
    location = mlir.Location.from_attr(bare.attr, bare.context)  # Now of its derived class.
    message = PrintedText()
    call("mlirDiagnosticPrint", pointer, message.callback, None)
    count = call("mlirDiagnosticGetNumNotes", pointer, result=c_ssize_t)
    inner = [call("mlirDiagnosticGetNote", pointer, n, result=c_void_p) for n in range(count)]
    notes = (*notes_at(location), *(_read_diagnostic(note_, notes_at) for note_ in inner))
    return Diagnostic(severity, str(message).rstrip("\n"), place_of(location), notes)


def check(failure: int | None, doing: str = "") -> None:
    """Raise the error that a function of the interface returned, if any. `doing` describes the operation."""
    if failure is not None:
        text: bytes = call("ireeCompilerErrorGetMessage", failure, result=c_char_p)
        message = text.decode(errors="replace")
        call("ireeCompilerErrorDestroy", failure)
        raise CompileError(error(f"{doing}: {message}" if doing else message))
