"""The tensors that a dispatch stores: their places in its bindings, and elements of them without the whole tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from iree.compiler import ir as mlir

from tuninglink.iree.dynamic_sizes import SizeEvaluator
from tuninglink.mlir.diagnostics import thread_context
from tuninglink.mlir.walk import collect
from tuninglink.tuning.programs.benchmark import Access, Binding, BufferLayout
from tuninglink.tuning.programs.benchmark_building import DISPATCH, passed_constants
from tuninglink.tuning.programs.compiled_program import element_type
from tuninglink.tuning.references.scalar_ops import Array, UnsupportedOperationError

if TYPE_CHECKING:
    from tuninglink.tuning.devices.inputs import Bytes, Pattern

    Value = mlir.Value[Any]


STORE = "iree_tensor_ext.dispatch.tensor.store"
LOAD = "iree_tensor_ext.dispatch.tensor.load"
SUBSPAN = "hal.interface.binding.subspan"


@dataclass(frozen=True)
class StoredTensor:
    """A tensor that is stored, whole or in part.

    Attributes:
        binding: the binding that contains it.
        part: the part of the binding that it takes; its offset is from the start of the binding.
    """

    binding: int
    part: Binding

    @property
    def key(self) -> tuple[int, int]:
        """The binding and the offset in it."""
        return self.binding, self.part.offset

    def content(self, bindings: Mapping[int, Bytes]) -> Bytes:
        """Return the bytes of the tensor, from the bytes of bindings."""
        return bindings[self.binding][self.part.offset : self.part.offset + self.part.byte_length]


def stored_tensors(source: bytes, layout: BufferLayout) -> list[StoredTensor]:
    """Return the tensors that a dispatch stores; whole bindings where their place is unknown.

    Args:
        source: its benchmark at `executable-sources`.
        layout: the buffer that it runs on.
    """
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
    """Return the place of a tensor of a binding.

    Args:
        value: the result of `hal.interface.binding.subspan`.
        layout: the buffer of the bindings.

    Raises:
        UnsupportedOperationError: its place or its size is not static.
    """
    subspan = value.owner
    if isinstance(subspan, mlir.Block) or subspan.name != SUBSPAN:
        raise UnsupportedOperationError("a binding that is passed on")
    number = mlir.IntegerAttr(subspan.attributes["binding"]).value
    offset = static_integer(subspan.operands[0])
    if offset is None:
        raise UnsupportedOperationError("a dynamic offset")
    sizes, element = _dispatch_tensor(value)
    dtype = element_type(element)
    access = layout.bindings[number].access
    if dtype is None:
        raise UnsupportedOperationError(f"a tensor of {element}")
    length = math.prod(sizes) * dtype.itemsize
    return StoredTensor(number, Binding(access, element, sizes, offset, length))


def _dispatch_tensor(value: Value) -> tuple[tuple[int, ...], str]:
    """Return the sizes and the element type of the tensor in a binding."""
    # The bindings have no class for !iree_tensor_ext.dispatch.tensor; its text is `…<readonly:tensor<4x8xf32>>`.
    text = str(value.type)
    start, end = text.find(":") + 1, text.rfind(">")
    if not start:
        raise UnsupportedOperationError(f"a binding of type {text}")
    with value.context:
        inner = mlir.Type.parse(text[start:end])
    if not isinstance(inner, mlir.RankedTensorType) or not inner.has_static_shape:
        raise UnsupportedOperationError("a tensor of dynamic size")
    return tuple(inner.shape), str(inner.element_type)


def static_integer(value: Value) -> int | None:
    """Return the integer that a value in a benchmark always is; None if the benchmark does not fix it."""
    operation = value.owner
    if isinstance(operation, mlir.Block):
        return None
    module = operation.operation
    while module.parent is not None:
        module = module.parent.operation
    dispatches = collect(module, DISPATCH)
    constants = passed_constants(dispatches[0]) if len(dispatches) == 1 else ()
    return SizeEvaluator(arguments=constants).value(value)


@dataclass(frozen=True)
class DrawnInputs:
    """The contents of a benchmark's bindings before it runs.

    Attributes:
        patterns: the patterns of each binding; later ones overwrite earlier ones.
    """

    patterns: Sequence[Sequence[Pattern]]

    def elements(self, tensor: StoredTensor, position: Array) -> Array:
        """Return elements of a tensor in a binding.

        Args:
            tensor: the tensor.
            position: their positions in row-major order.

        Raises:
            UnsupportedOperationError: the elements are not aligned to their size.
        """
        dtype = element_type(tensor.part.element_type)
        pattern = self._pattern(tensor)
        start = tensor.part.offset - pattern.start
        if dtype is None or start % dtype.itemsize:
            raise UnsupportedOperationError(f"elements of {tensor.part.element_type}")
        repeats = dtype.itemsize // math.gcd(len(pattern.content), dtype.itemsize)
        values = np.tile(pattern.content, repeats).view(dtype)
        result: Array = values[(start // dtype.itemsize + position) % len(values)]
        return result

    def _pattern(self, tensor: StoredTensor) -> Pattern:
        """Return the last pattern that contains a tensor.

        Raises:
            UnsupportedOperationError: the tensor spans several patterns.
        """
        begin, end = tensor.part.offset, tensor.part.offset + tensor.part.byte_length
        for pattern in reversed(self.patterns[tensor.binding]):
            if pattern.start <= begin and end <= pattern.start + pattern.length:
                return pattern
            if pattern.start < end and begin < pattern.start + pattern.length:
                raise UnsupportedOperationError("a tensor that overlaps another one")
        raise UnsupportedOperationError("a tensor beyond its binding")
