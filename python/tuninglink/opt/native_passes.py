"""A pass manager of the compiler to which passes written in Python can be added at any depth."""

from __future__ import annotations

import functools
from ctypes import CFUNCTYPE, Structure, c_int8, c_ssize_t, c_void_p
from typing import TYPE_CHECKING, TypeVar, cast

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.mlir.c_interface import (
    StringCallback,
    StringRef,
    function,
    object_at,
    pointer_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

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

        Python's lock is released meanwhile, so that an interrupt need not wait for the compiler.
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
