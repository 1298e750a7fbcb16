"""The tensors in the bindings of a dispatch that it loads and stores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree import SizeEvaluator
from tuninglink.mlir import collect, thread_context
from tuninglink.tuning.programs import (
    DISPATCH,
    Access,
    Binding,
    element_type,
    passed_constants,
)

if TYPE_CHECKING:
    import numpy as np

    from tuninglink.tuning.devices import Bytes
    from tuninglink.tuning.programs import BufferLayout

    Value = mlir.Value[Any]

STORE: Final = "iree_tensor_ext.dispatch.tensor.store"
LOAD: Final = "iree_tensor_ext.dispatch.tensor.load"
SUBSPAN: Final = "hal.interface.binding.subspan"


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in a binding, whose offset is in the binding."""

    binding: int
    part: Binding

    @property
    def key(self) -> tuple[int, int]:
        return self.binding, self.part.offset

    def content(self, bindings: Mapping[int, Bytes]) -> Bytes:
        return bindings[self.binding][self.part.offset : self.part.offset + self.part.byte_length]


class UnsupportedOperationError(Exception):
    """An operation without an evaluation in NumPy; the message is its name."""


def stored_tensors(source: bytes, layout: BufferLayout) -> list[StoredTensor]:
    """Return the tensors that a dispatch, at `executable-sources`, stores; whole bindings where their place is unknown."""
    module = mlir.Module.parse(source, thread_context())
    written = [
        (number, part)
        for number, part in enumerate(layout.bindings)
        if part.access is not Access.READ
    ]
    try:
        targets = [store.operands[1] for store in collect(module.operation, STORE)]
        tensors = [tensor_of(target, layout) for target in targets]
    except UnsupportedOperationError:
        tensors = []
    if {tensor.binding for tensor in tensors} == {number for number, _ in written}:
        return list(dict.fromkeys(tensors))
    return [
        StoredTensor(
            number, Binding(part.access, part.element_type, part.shape, 0, part.byte_length)
        )
        for number, part in written
    ]


def tensor_of(value: Value, layout: BufferLayout) -> StoredTensor:
    """Return the place of a tensor of a binding."""
    subspan = value.owner
    if isinstance(subspan, mlir.Block) or subspan.name != SUBSPAN:
        raise UnsupportedOperationError("a binding that is passed on")
    number = mlir.IntegerAttr(subspan.attributes["binding"]).value
    offset = static_integer(subspan.operands[0])
    if offset is None:
        raise UnsupportedOperationError("a dynamic offset")
    # The bindings have no class for !iree_tensor_ext.dispatch.tensor; its text is `…<readonly:tensor<4x8xf32>>`.
    text = str(value.type)
    start, end = text.find(":") + 1, text.rfind(">")
    if not start:
        raise UnsupportedOperationError(f"a binding of type {text}")
    tensor = mlir.Type.parse(text[start:end], value.context)
    if not isinstance(tensor, mlir.RankedTensorType) or not tensor.has_static_shape:
        raise UnsupportedOperationError("a tensor of dynamic size")
    sizes, access = tuple(tensor.shape), layout.bindings[number].access
    length = math.prod(sizes) * dtype_of(tensor.element_type).itemsize
    part = Binding(access, str(tensor.element_type), sizes, offset, length)
    return StoredTensor(number, part)


def static_integer(value: Value) -> int | None:
    """Return the integer that a value in a benchmark always is; None if the benchmark does not fix it."""
    if isinstance(value.owner, mlir.Block):
        return None
    module = value.owner.operation
    while module.parent is not None:
        module = module.parent.operation
    dispatches = collect(module, DISPATCH)
    constants = passed_constants(dispatches[0]) if len(dispatches) == 1 else ()
    return SizeEvaluator(arguments=constants).value(value)


def dtype_of(kind: mlir.Type) -> np.dtype:
    dtype = element_type(str(kind))
    if dtype is None:
        raise UnsupportedOperationError(f"values of type {kind}")
    return dtype


def static_slice(operation: mlir.Operation) -> tuple[list[int], list[int], list[int]]:
    """Return the static offsets, sizes and strides of an operation on a slice."""
    offsets, sizes, strides = (
        list(mlir.DenseI64ArrayAttr(operation.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    if any(number < 0 for number in (*offsets, *sizes, *strides)):
        raise UnsupportedOperationError(f"{operation.name} of a dynamic slice")
    return offsets, sizes, strides
