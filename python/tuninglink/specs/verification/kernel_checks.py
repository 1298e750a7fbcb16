"""Checks of kernels: their declarations fit their objects, and their operands have the sizes that their code assumes.

The compiler checks neither. A wrong number of parameters, a block of another size or a kernel of another name fails when
the program is loaded or run, or computes something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.errors import Diagnostic, Severity, counted
from tuninglink.iree import Target, known_target_names
from tuninglink.mlir import error, integers_of, note, place_of
from tuninglink.rules import Rule
from tuninglink.specs import (
    KIB,
    PTX,
    Kernel,
    KernelDeclaration,
    KernelObject,
    ReplaceList,
    architecture_runs,
    block_memory,
    entry_binding,
    kernels_of,
    oldest_ptx,
)

if TYPE_CHECKING:
    from tuninglink.specs import Binding

MULTIPLES: Final = "tuninglink.multiples"
"""The attribute of a kernel with the divisors of the sizes of its operands that it assumes: an array for each operand."""

_POINTER, _WORD = 64, 32
_MOST_THREADS: Final = 1024
_SCRATCH: Final = 2
"""The pointers that Triton adds to the parameters."""


def kernel_faults(
    entries: ReplaceList, position: int, function: mlir.Operation
) -> Iterator[Diagnostic]:
    """Yield what is wrong with the kernels of the function of an entry."""
    binding = entry_binding(entries.entries[position], entries)
    for kernel in kernels_of(function):
        declaration = ((Rule.KERNEL, *fault) for fault in _declaration(kernel, binding))
        sizes = ((Rule.KERNEL_SIZES, *fault) for fault in _sizes(kernel))
        for rule, message, remedy in (*declaration, *sizes):
            text = f"kernel '{kernel.name}' {message}"
            yield error(text, kernel.operation, [note(remedy)], rule)
        if kernel.object is None and binding is not None:
            message = f"kernel '{kernel.name}' is not checked: its object is not PTX in the spec"
            place = place_of(kernel.operation.location)
            yield Diagnostic(Severity.REMARK, message, place, rule=Rule.UNDECIDED)


def _buffers(operation: mlir.Operation) -> int:
    results = list(operation.results)
    if "tied_operands" in operation.attributes:  # a tied result is the buffer of its operand
        tied = integers_of(operation.attributes["tied_operands"])
        results = [value for value, at in zip(results, tied, strict=True) if at < 0]
    values = (*operation.operands, *results)
    return sum(isinstance(value.type, mlir.RankedTensorType) for value in values)


def _declaration(kernel: Kernel, binding: Binding) -> Iterator[tuple[str, str]]:
    """Yield how a declaration differs from its object, each time with a remedy."""
    # 1. What is not in the object: the block, and the buffers of the op.
    buffers = _buffers(kernel.operation)
    if buffers != kernel.bindings:
        counts = f"{counted(kernel.bindings, 'binding')} for {counted(buffers, 'tensor')}"
        yield f"has {counts}", "its layout has one binding for each operand and result"
    if not kernel.block or prod(kernel.block) == 0:
        yield (
            "has blocks of no threads",
            "declare 'workgroup_size = [128 : index, 1 : index, 1 : index]'",
        )
    elif prod(kernel.block) > _MOST_THREADS:
        threads = counted(prod(kernel.block), "thread")
        yield f"has blocks of {threads}", f"a block has at most {_MOST_THREADS} threads"
    content = kernel.object
    if (content is None or content.kind != PTX) and binding is None:
        message = "has an object that is not PTX in the spec, and its entry is bound to no target"
        yield message, 'name its architecture: tuninglink.targets = ["gfx942"] on the matcher'
    if content is None:
        return
    # 2. The architecture.
    if not content.architecture:
        yield "has PTX without '.target'", "the architecture of a kernel is that of its object"
        return
    bound = [known_target_names()[name] for name in binding or () if name in known_target_names()]
    yield from _architecture(content, bound)
    # 3. The name, the parameters, the memory, and the size of a block.
    entry = next((entry for entry in content.entries if entry.name == kernel.name), None)
    if entry is None:
        listed = ", ".join(entry.name for entry in content.entries) or "none"
        yield "is not in its object", f"the entries of the object: {listed}"
        return
    words = [target.architecture or "" for target in bound] or [content.architecture]
    yield from _memory(kernel, entry, words)
    expected = (_POINTER,) * kernel.bindings + (_WORD,) * kernel.constants
    if entry.parameters != expected:
        remedy = "operands, then results, each a pointer, then constants of 32 bits"
        if entry.parameters == expected + (_POINTER,) * _SCRATCH:
            remedy = "Triton adds two pointers to scratch memory; remove them where they are unused"
        widths = "x".join(str(width) if width else "array" for width in entry.parameters) or "no"
        message = (
            f"is declared with {counted(kernel.bindings, 'pointer')} and "
            f"{counted(kernel.constants, 'constant')}; its object has parameters of {widths} bits"
        )
        yield message, remedy
    if entry.block and kernel.block and entry.block != kernel.block:
        declared, required = ("x".join(map(str, sizes)) for sizes in (kernel.block, entry.block))
        yield f"has blocks of {declared} threads", f"its object requires {required}"
    if entry.most_threads and prod(kernel.block) > entry.most_threads:
        threads = counted(prod(kernel.block), "thread")
        yield f"has blocks of {threads}", f"its object allows {entry.most_threads}"


def _architecture(content: KernelObject, bound: Sequence[Target]) -> Iterator[tuple[str, str]]:
    """Yield that an object is for another architecture than its entry, or in a version of PTX without it."""
    for target in bound:
        if not architecture_runs(content.architecture, target):
            message = f"is for {content.architecture}, and its entry is bound to {target}"
            yield message, "bind it to GPUs that run it, or to none: its object names them"
    oldest = oldest_ptx(content.architecture)
    if oldest is not None and content.version < oldest:
        written, needed = (f"{at // 10}.{at % 10}" for at in (content.version, oldest))
        message = f"has PTX {written}; drivers refuse that for {content.architecture}"
        yield message, f"write '.version {needed}' or later"


def _memory(
    kernel: Kernel, entry: KernelDeclaration, architectures: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield that a kernel needs more shared memory than a target has."""
    for name in dict.fromkeys(architectures):
        limit = block_memory(name)
        needed = kernel.shared + entry.shared
        if limit is not None and needed > limit * KIB:
            message = (
                f"needs {needed / KIB:.4g} KiB of shared memory; a block on {name} has {limit}"
            )
            yield message, "use smaller tiles or fewer stages"


def _sizes(kernel: Kernel) -> Iterator[tuple[str, str]]:
    """Yield sizes of operands that are not multiples of what the author of a kernel declares."""
    declared = kernel.operation.attributes.get(MULTIPLES)
    kinds = [value.type for value in kernel.operation.operands]
    tensors = [kind for kind in kinds if isinstance(kind, mlir.RankedTensorType)]
    arrays = list(declared) if isinstance(declared, mlir.ArrayAttr) else []
    is_array = all(
        isinstance(array, mlir.ArrayAttr) and all(isinstance(at, mlir.IntegerAttr) for at in array)
        for array in arrays
    )
    if declared is not None and not (is_array and isinstance(declared, mlir.ArrayAttr)):
        yield f"has '{MULTIPLES}' of another form", "as in [[1, 16], [1, 16]]"
        return
    for number, divisors in enumerate(arrays):
        kind = tensors[number] if number < len(tensors) else None
        for at, divisor in enumerate(integers_of(divisors)):
            if kind is None or at >= kind.rank:
                yield (
                    f"has '{MULTIPLES}' for a dimension that no operand has",
                    "one array for each operand",
                )
            elif divisor > 1 and (kind.is_dynamic_dim(at) or kind.get_dim_size(at) % divisor):
                size = "a dynamic size" if kind.is_dynamic_dim(at) else kind.get_dim_size(at)
                message = f"assumes a multiple of {divisor} in dimension {at} of operand {number}, which has {size}"
                yield message, "take a kernel that masks the rest, or pad the operand"
