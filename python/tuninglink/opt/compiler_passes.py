"""The compiler's passes, by name: their existence, their parts, and their restrictions.

Passes written in Python can be added to a pass manager of the compiler at any depth.
"""

from __future__ import annotations

import functools
import re
import subprocess
from ctypes import CFUNCTYPE, Structure, c_int8, c_ssize_t, c_void_p
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from iree.compiler import _mlir_libs
from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.compiler.native import (
    StringCallback,
    StringRef,
    function,
    object_at,
    pointer_of,
)
from tuninglink.errors import PipelineError
from tuninglink.mlir.diagnostics import Diagnostic, error, note
from tuninglink.opt.options import split_options
from tuninglink.opt.pipeline import ANY, Element, OpPipeline, parse_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable


PASSES_HEADING = "Compiler passes to run"
_PASS = re.compile(r"^ {6}--([\w.-]+)", re.MULTILINE)
_FLAG = re.compile(r"^ {2}--?([\w.-]+)(\[?=)?", re.MULTILINE)


def executable() -> str:
    """Return the path of the compiler's `iree-opt` binary, without the wrapper script."""
    return str(Path(_mlir_libs.__file__).parent / "iree-opt")


@functools.cache
def help_text(*, hidden: bool = False) -> str:
    """Return the output of `iree-opt --help`, or of `--help-hidden` if `hidden`."""
    command = [executable(), "--help-hidden" if hidden else "--help"]
    finished = subprocess.run(command, check=True, capture_output=True, timeout=120)  # noqa: S603 - the wheel's own
    return finished.stdout.decode(errors="replace")


def pass_names() -> list[str]:
    """Return the names of the compiler's passes and pipelines, in the order of its help."""
    _, _, passes = help_text().partition(PASSES_HEADING)
    return list(dict.fromkeys(_PASS.findall(passes)))


def flags_with_value() -> dict[str, bool]:
    """Return the compiler's flags other than passes, and whether each requires a value."""
    return {name: value == "=" for name, value in _FLAG.findall(help_text(hidden=True))}


UNPRINTABLE = frozenset({"iree-llvmcpu-tile"})
"""Passes whose default options cannot be printed: they were never set, and the compiler may crash."""

UNKNOWN = "does not refer to a registered pass or pass pipeline"
_TARGET_BACKENDS = "target-registry="
"""The option of all passes that use target backends."""

_RESTRICTED = re.compile(r"restricted to '([^']*)'")
_NO_SUCH_OPTION = re.compile(r"no such option (\S+)")


class CompilerPasses:
    """Queries to the compiler about its passes.

    A named pipeline of the compiler consists of passes. The process ends if a pipeline is added where its passes cannot
    run, so pipelines are expanded before use.
    """

    def __init__(self, context: mlir.Context) -> None:
        self._context = context
        self._known: dict[str, bool] = {}

    def knows(self, name: str) -> bool:
        """Return whether a pass or a pipeline called `name` exists."""
        exists = self._known.get(name)
        if exists is None:
            exists = self._known[name] = UNKNOWN not in (self._failure(ANY, name) or "")
        return exists

    def expand(self, element: Element) -> tuple[Element | OpPipeline, ...]:
        """Return the parts of a pipeline, or the pass itself.

        Raises:
            PipelineError: the options are invalid.
        """
        try:
            children = parse_pipeline(self._printed(element)).children
        except ValueError as failure:
            raise PipelineError(self.explain(element, str(failure))) from None
        match children:
            case (Element(name=element.name),):
                return (element,)
        return children

    def needs_target_backends(self, element: Element) -> bool:
        """Return whether a pass, or one in a pipeline, uses the target backends of the process."""
        try:
            return _TARGET_BACKENDS in self._printed(element)
        except ValueError:
            return False  # The error is reported when the pass is used.

    def restriction(self, element: Element, anchor: str) -> str | None:
        """Return the operation that a pass is restricted to, if it cannot run on `anchor`."""
        restricted = _RESTRICTED.search(self._failure(anchor, str(element)) or "")
        return restricted[1] if restricted else None

    def explain(self, element: Element, failure: str) -> Diagnostic:
        """Return the compiler's message about invalid options as a diagnostic."""
        lines = [line for line in failure.splitlines() if line]
        message = lines[0] if lines else f"failed to add '{element}'"
        notes = [note(line) for line in lines[1:]]
        if _NO_SUCH_OPTION.search(message):
            options = self.options(element.name)
            notes.append(
                note(f"its options are: {', '.join(options)}" if options else "it has no options")
            )
        return error(message, element.place, notes)

    def options(self, name: str) -> dict[str, str]:
        """Return the options of a pass that the compiler prints, with their defaults."""
        match parse_pipeline(self._printed(Element(name))).children:
            case (Element(name=printed, options=text),) if printed == name:
                return dict(split_options(text))
        return {}

    def _printed(self, element: Element) -> str:
        """Return a pass or a pipeline as the compiler prints it, with the defaults of its options.

        Raises:
            ValueError: the options are invalid.
        """
        if element.name in UNPRINTABLE:
            return f"{ANY}({element})"
        return str(PassManager.parse(f"{ANY}({element})", self._context))

    def _failure(self, anchor: str, text: str) -> str | None:
        try:
            PassManager.parse(f"{anchor}({text})", self._context)
        except ValueError as failure:
            return str(failure)
        return None


_Kept = TypeVar("_Kept")
_Destroy = CFUNCTYPE(None, c_void_p)
_Initialize = CFUNCTYPE(c_int8, c_void_p, c_void_p)
_Clone = CFUNCTYPE(c_void_p, c_void_p)
_Run = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)


class _Callbacks(Structure):
    _fields_ = (
        ("construct", _Destroy),
        ("destruct", _Destroy),
        ("initialize", _Initialize),
        ("clone", _Clone),
        ("run", _Run),
    )


_ADD_PIPELINE = (c_void_p, StringRef, StringCallback, c_void_p)
_CREATE_PASS = (c_void_p, *[StringRef] * 4, c_ssize_t, c_void_p, _Callbacks, c_void_p)


class Passes:
    """A list of passes for operations of one kind, inside a `NativePassManager`."""

    def __init__(self, manager: NativePassManager, handle: int) -> None:
        self._manager = manager
        self._handle = handle

    def nest(self, anchor: str) -> Passes:
        """Append a list of passes for the operations called `anchor` directly inside."""
        nest = function("mlirOpPassManagerGetNestedUnder", c_void_p, c_void_p, StringRef)
        return Passes(self._manager, nest(self._handle, self._manager.keep_string(anchor)))

    def add_native(self, text: str) -> None:
        """Append passes of the compiler, given as text.

        Raises:
            ValueError: the text is malformed, or a pass does not run on operations of this kind. The message is the
                compiler's.
        """
        message: list[bytes] = []

        def take(part: StringRef, _: object) -> None:
            message.append(part.copy())

        add = function("mlirOpPassManagerAddPipeline", c_int8, *_ADD_PIPELINE)
        kept_text = self._manager.keep_string(text)
        if not add(self._handle, kept_text, StringCallback(take), None):
            raise ValueError(b"".join(message).decode(errors="replace"))

    def add_python(
        self, title: str, text: str, anchor: str, run: Callable[[mlir.Operation], bool]
    ) -> None:
        """Append a pass that calls a function.

        Args:
            title: the name of the pass in timing reports and in headers of printed IR.
            text: the text of the pass in the printed pipeline.
            anchor: the name of its operations, or empty for any.
            run: receives each operation and returns whether the pass succeeded. It must not raise.
        """
        create = function("mlirCreateExternalPass", c_void_p, *_CREATE_PASS)
        add = function("mlirOpPassManagerAddOwnedPass", None, c_void_p, c_void_p)
        # The compiler does not copy the name of the anchor.
        strings = map(self._manager.keep_string, (title, text, "", anchor))
        callbacks = self._manager.keep(_callbacks(run))
        add(self._handle, create(_new_type_id(), *strings, 0, None, callbacks, None))


class NativePassManager:
    """A pass manager.

    Attributes:
        bindings: the pass manager as an object of the bindings.
        passes: the passes for the operation given to `run`.
    """

    def __init__(self, anchor: str, context: mlir.Context) -> None:
        self.bindings = PassManager(anchor, context)
        self._kept: list[object] = []
        of = function("mlirPassManagerGetAsOpPassManager", c_void_p, c_void_p)
        self.passes = Passes(self, of(pointer_of(self.bindings)))

    def run(self, operation: mlir.Operation) -> bool:
        """Run all passes and return whether they succeeded. Handlers of the context receive diagnostics.

        Python's global lock is released during the run, so that an interrupt need not wait for the compiler.
        """
        run = function("mlirPassManagerRunOnOp", c_int8, c_void_p, c_void_p)
        return bool(run(pointer_of(self.bindings), pointer_of(operation)))

    def close(self) -> None:
        """End the pass manager, which prints its timing report and statistics if enabled."""
        del self.bindings
        self._kept.clear()

    def keep_string(self, text: str) -> StringRef:
        """Return a string that lives as long as the pass manager."""
        return StringRef.of(self.keep(text.encode()))

    def keep(self, value: _Kept) -> _Kept:
        """Keep a value alive as long as the pass manager."""
        self._kept.append(value)
        return value


def _callbacks(run: Callable[[mlir.Operation], bool]) -> _Callbacks:
    fail = function("mlirExternalPassSignalFailure", None, c_void_p)

    def called(operation: int, external_pass: int, _: object) -> None:
        if not run(object_at(mlir.Operation, operation)):
            fail(external_pass)

    # The structure keeps its functions alive. A pass has no state and may be its own clone.
    clone = _Clone(lambda data: data)
    return _Callbacks(_Destroy(), _Destroy(), _Initialize(), clone, _Run(called))


@functools.cache
def _type_ids() -> int:
    return cast("int", function("mlirTypeIDAllocatorCreate", c_void_p)())


def _new_type_id() -> int:
    allocate = function("mlirTypeIDAllocatorAllocateTypeID", c_void_p, c_void_p)
    return cast("int", allocate(_type_ids()))
