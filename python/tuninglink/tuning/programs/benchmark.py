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
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.walk import visit


class Access(Enum):
    """The use of a binding by a dispatch."""

    READ = "read"
    WRITE = "write"
    READ_WRITE = "read_write"


@dataclass(frozen=True)
class TypedPart:
    """A part of a binding that a dispatch reads as another type.

    Attributes:
        element_type: the element type, as MLIR writes it.
        offset: the offset of the part in the binding, in bytes.
        byte_length: its length in bytes.
    """

    element_type: str
    offset: int
    byte_length: int


@dataclass(frozen=True)
class Binding:
    """One buffer binding of a dispatch.

    Attributes:
        access: the use of the binding by the dispatch.
        element_type: the element type, as MLIR writes it.
        shape: the static sizes.
        offset: the offset of the binding in its set, in bytes.
        byte_length: its length in bytes.
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
        bindings: the bindings, in the order of the dispatch's pipeline layout.
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
        name: its name.
        layout: the buffer that it expects.
        sizes: the sizes, as a user writes them.
        weight: the weight of its time; 0 if only its outputs count.
        loops: the sizes of the loops of the root op, None where they are not known.
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
        layout: the buffer that the function expects.
        sized: of a dynamic dispatch, its functions for all sizes; empty for a static one.
    """

    image: bytes
    function: str
    layout: BufferLayout
    sized: tuple[SizedFunction, ...] = ()

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


_CONSTANT: Final = "arith.constant"
_VALUE: Final = "value"
_RESOURCE: Final = "dense_resource<"


def problem_key(
    variant: mlir.Operation, layout: BufferLayout, sized: Sequence[SizedFunction] = ()
) -> str:
    """Return a hash of a dispatch that depends neither on its symbols nor on the contents of resources.

    Args:
        variant: the variant of the dispatch.
        layout: the buffer of its benchmark.
        sized: of a dynamic dispatch, the functions of its benchmark, whose weights distinguish its problem.
    """
    copy = variant.operation.clone().operation
    anonymous = mlir.StringAttr.get("dispatch", copy.context)

    def forget(operation: mlir.Operation) -> None:
        if names.SYMBOL_NAME in operation.attributes:
            operation.attributes[names.SYMBOL_NAME] = anonymous
        if operation.name == _CONSTANT and str(operation.attributes[_VALUE]).startswith(_RESOURCE):
            kind = operation.results[0].type
            operation.attributes[_VALUE] = mlir.StringAttr.get(f"constant {kind}", copy.context)

    visit(copy, forget)
    weights = [(function.layout, function.weight) for function in sized if function.weight]
    text = f"{copy.get_asm()}\n{layout}" + "".join(f"\n{weight}" for weight in weights)
    return sha256(text.encode()).hexdigest()
