"""Benchmarks of dispatches: the compiled module, the buffer that it runs on, and the key of the problem.

A benchmark runs one dispatch on one buffer. The buffer holds `sets` copies of the dispatch's bindings, `stride`
bytes apart, each binding between guards:

    guard | binding 0 | guard | binding 1 | guard | … (one set, `stride` bytes) | guard | binding 0 | …

Iteration `i` of a batch works on set `i mod sets`: with one set the caches stay warm, with as many as exceed the
last-level cache they are cold, and with as many as the program has data they are as the program leaves them. The guards show writes out of bounds.

Where weights are parts of one large binding, each call in the program gets its own offset. These are variants of
a set: set `i` of a batch is copy `i / variants` of the bindings with the arguments of variant `i mod variants`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from hashlib import sha256
from math import prod
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree import SizeEvaluator, Spills
from tuninglink.mlir import collect, names, visit


class Access(Enum):
    """The use of a binding by a dispatch."""

    READ = "read"
    WRITE = "write"
    READ_WRITE = "read_write"


@dataclass(frozen=True)
class TypedPart:
    """A part of a binding that a dispatch reads as another type."""

    element_type: str
    offset: int
    byte_length: int


@dataclass(frozen=True)
class Binding:
    """One buffer binding of a dispatch.

    Attributes:
        offset: the offset of the binding in its set, in bytes.
        largest_integer: the largest integer that it may hold: a random integer may be used as an index.
        parts: the parts that are read as another type, such as indices next to weights.
    """

    access: Access
    element_type: str
    shape: tuple[int, ...]
    offset: int
    byte_length: int
    largest_integer: int = 3
    parts: tuple[TypedPart, ...] = ()


@dataclass(frozen=True)
class BufferLayout:
    """The layout of a dispatch's bindings in the buffer of its benchmark.

    Attributes:
        stride: the bytes of one set, guards included.
        guard: the bytes before the first binding, between two bindings and after the last.
        variants: the sets on one copy of the bindings: the different arguments that the program passes.
        program_sets: the sets with as many weights as a run of the program reads, up to a limit; 1 if the benchmark repeats
            the dispatch on the same data.
    """

    bindings: tuple[Binding, ...]
    stride: int
    guard: int
    variants: int = field(default=1, repr=False)  # not part of the key of a problem
    program_sets: int = field(default=1, repr=False)

    def copies(self, sets: int) -> int:
        """Return the number of copies of the bindings for a number of sets."""
        return -(-sets // self.variants)


@dataclass(frozen=True)
class SizedFunction:
    """The function of a benchmark that runs a dynamic dispatch at one combination of sizes.

    Attributes:
        sizes: the sizes, in the syntax of the command line.
        weight: the weight of its time; 0 if only its outputs count.
        loops: the sizes of the loops of the root op; None for unknown ones.
        is_between: whether the size lies between the given ones, and nothing may be much slower there.
    """

    name: str
    layout: BufferLayout
    sizes: str = ""
    weight: int = 1
    loops: tuple[int | None, ...] = ()
    is_between: bool = False


@dataclass(frozen=True)
class Benchmark:
    """A compiled benchmark.

    Attributes:
        image: the module, a VM FlatBuffer.
        function: the name of its function, `(buffer: !hal.buffer, sets: i32, stride: i32, batch: i32)`. It runs
            the dispatch `batch` times and returns when the last one is done. Of a dynamic dispatch, it is the one for
            the least work.
        sized: of a dynamic dispatch, its functions for all sizes; empty for a static one.
        spills: the spills of a candidate's code, where they are known: PTX is assembled by the driver.
    """

    image: bytes
    function: str
    layout: BufferLayout
    sized: tuple[SizedFunction, ...] = ()
    spills: Spills | None = None

    def at(self, function: SizedFunction) -> Benchmark:
        """Return the benchmark of a dynamic dispatch at one combination of sizes."""
        return Benchmark(self.image, function.name, function.layout)

    @property
    def measured(self) -> tuple[SizedFunction, ...]:
        """The functions for the sizes whose times count; empty for a static dispatch."""
        return tuple(function for function in self.sized if function.weight)

    @property
    def between(self) -> tuple[SizedFunction, ...]:
        """The functions for sizes between the given ones; empty for a static dispatch."""
        return tuple(function for function in self.sized if function.is_between)


def problem_key(
    variant: mlir.Operation, layout: BufferLayout, sized: Sequence[SizedFunction] = ()
) -> str:
    """Return a hash of a dispatch that depends neither on its symbols nor on the contents of resources."""
    copy = variant.operation.clone().operation
    anonymous = mlir.StringAttr.get("dispatch", copy.context)

    def forget(operation: mlir.Operation) -> None:
        if names.SYMBOL_NAME in operation.attributes:
            operation.attributes[names.SYMBOL_NAME] = anonymous
        if operation.name == "arith.constant":
            value = str(operation.attributes["value"])
            if value.startswith("dense_resource<"):
                text = f"constant {operation.results[0].type}"
                operation.attributes["value"] = mlir.StringAttr.get(text, copy.context)

    visit(copy, forget)
    weights = [(function.layout, function.weight) for function in sized if function.weight]
    text = f"{copy.get_asm()}\n{layout}" + "".join(f"\n{weight}" for weight in weights)
    return sha256(text.encode()).hexdigest()


# --- The contents of a dispatch's bindings, and their places in the buffer of its benchmark ------

Value = mlir.Value[Any]


GUARD: Final = 4096
"""Bytes between two bindings: a page, which is more than a tile that runs over one row of a matrix writes."""

_ALIGNMENT: Final = 256
"""The alignment of offsets of storage buffers: the largest that Vulkan allows a device to require
(https://registry.khronos.org/vulkan/specs/latest/html/vkspec.html#limits-minmax, minStorageBufferOffsetAlignment)."""

_MOST: Final = 3
"""The largest integer that is drawn; larger ones are not needed for distinct values."""

_INDEXED: Final = {"iree_linalg_ext.gather": 0, "iree_linalg_ext.scatter": 2}
"""The operands whose leading dimensions are indexed by another operand."""

_SUBSPAN: Final = "hal.interface.binding.subspan"
_LOADS: Final = frozenset({"iree_tensor_ext.dispatch.tensor.load", "iree_codegen.load_from_buffer"})
_STORES: Final = frozenset(
    {"iree_tensor_ext.dispatch.tensor.store", "iree_codegen.store_to_buffer"}
)


def buffer_layout(
    module: mlir.Operation, lengths: Sequence[int], constants: Sequence[int]
) -> BufferLayout:
    """Return the buffer of a benchmark for bindings of some lengths, in bytes, and constants of the dispatch."""
    # The content of each binding; the largest one if there are several.
    sizes = SizeEvaluator(arguments=constants)
    contents: dict[int, _Content] = {}
    for subspan in collect(module, _SUBSPAN):
        number: Any = subspan.attributes["binding"]
        uses = _uses(subspan.results[0], sizes)
        if not uses:
            continue
        this = max(uses, key=lambda content: content.elements)
        offset = sizes.value(subspan.operands[0])
        parts: tuple[TypedPart, ...] = ()
        if offset is not None and this.shape is not None and this.access is not Access.WRITE:
            length = this.elements * this.element_bytes
            parts = (TypedPart(this.element_type, offset, length),)
        earlier = contents.get(number.value, this)
        access = this.access if earlier.access is this.access else Access.READ_WRITE
        largest = max(earlier, this, key=lambda content: content.elements)
        contents[number.value] = replace(largest, access=access, parts=earlier.parts + parts)
    # The sizes of the dimensions that are indexed by values of other tensors, which are out of bounds from there on.
    limits: list[int] = []
    for operation in collect(module, "tensor.extract", *_INDEXED):
        if operation.name in _INDEXED:
            extents = mlir.ShapedType(operation.operands[_INDEXED[operation.name]].type).shape
            dimensions = mlir.DenseI64ArrayAttr(operation.attributes["dimension_map"])
            limits += [extents[dimension] for dimension in dimensions]
        else:
            source, *indices = operation.operands
            extents = mlir.RankedTensorType(source.type).shape
            limits += [size for size, at in zip(extents, indices, strict=True) if _is_data(at)]
    largest_integer = max(0, min([_MOST, *(size - 1 for size in limits if size > 0)]))
    # Their places: one after another, between guards.
    bindings: list[Binding] = []
    offset = GUARD
    for number, length in enumerate(lengths):
        content = contents.get(number, _Content(Access.READ_WRITE, "i8", 1, (length,)))
        is_whole = content.elements * content.element_bytes == length
        shape = content.shape if content.shape is not None and is_whole else None
        bindings.append(
            Binding(
                content.access,
                content.element_type,
                (length // content.element_bytes,) if shape is None else shape,
                offset,
                length,
                largest_integer,
                tuple(part for part in content.parts if part.element_type != content.element_type),
            )
        )
        offset += -(-length // _ALIGNMENT) * _ALIGNMENT + GUARD
    return BufferLayout(tuple(bindings), stride=offset, guard=GUARD)


def has_room(module: mlir.Operation, lengths: Sequence[int], constants: Sequence[int]) -> bool:
    """Return whether all tensors of a dispatch lie inside its bindings; False if a place is unknown."""
    sizes = SizeEvaluator(arguments=constants)
    for subspan in collect(module, _SUBSPAN):
        number: Any = subspan.attributes["binding"]
        offset = sizes.value(subspan.operands[0])
        for content in _uses(subspan.results[0], sizes):
            if offset is None or content.shape is None:
                return False
            if offset + content.elements * content.element_bytes > lengths[number.value]:
                return False
    return True


@dataclass(frozen=True)
class _Content:
    """The content of one binding of a dispatch."""

    access: Access
    element_type: str
    element_bytes: int
    shape: tuple[int, ...] | None
    parts: tuple[TypedPart, ...] = ()

    @property
    def elements(self) -> int:
        return 0 if self.shape is None else prod(self.shape)


_BITS_OF_BYTE: Final = 8


def _element_bytes(element: Any) -> int:
    """Return the bytes of an element in memory; a complex number is one element."""
    if isinstance(element, mlir.ComplexType):
        return 2 * _element_bytes(element.element_type)
    bits = int(getattr(element, "width", 64))  # an index has no width of its own
    return max(1, bits // _BITS_OF_BYTE)


def _uses(value: Value, sizes: SizeEvaluator) -> list[_Content]:
    """Return the tensors that are loaded from and stored to a binding, all with the combined access of all uses."""
    tensors: list[Value] = []
    loads = stores = False
    for use in value.uses:
        user = use.owner.operation
        if user.name in _LOADS:
            loads = True
            tensors.append(user.results[0])
        elif user.name in _STORES:
            stores = True
            tensors.append(user.operands[0])
        else:
            # What else there is to do with a binding may do both.
            loads = stores = True
    access = Access.READ_WRITE if loads and stores else Access.WRITE if stores else Access.READ
    contents = []
    for tensor in tensors:
        if isinstance(tensor.type, mlir.ShapedType):
            element = tensor.type.element_type
            shape = tuple(size for size in sizes.shape(tensor) or (None,) if size is not None)
            known = shape if len(shape) == tensor.type.rank else None
            contents.append(_Content(access, str(element), _element_bytes(element), known))
    return contents


def _is_data(index: Value) -> bool:
    """Return whether an index depends on an element of a tensor, and not on loops alone."""
    owner = index.owner
    if isinstance(owner, mlir.Block) or owner.name == "tensor.extract":
        return True
    return any(_is_data(operand) for operand in owner.operands)
