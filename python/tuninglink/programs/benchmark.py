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

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from hashlib import sha256
from itertools import accumulate
from math import prod
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.files import temporary_directory
from tuninglink.iree import (
    BUFFER_VIEW_DIM,
    GivenSizes,
    SizeCombination,
    SizeEvaluator,
    Spills,
    StructuredOp,
    combinations,
    dispatch_name,
    find_dispatches,
    find_root_ops,
    sizes_between,
)
from tuninglink.mlir import body, collect, names, symbol_name, visit
from tuninglink.payloads import build, constant
from tuninglink.programs.compiled_program import element_type

Value = mlir.Value[Any]


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
            the dispatch `batch` times and returns the buffer once all are done. Of a dynamic dispatch, it is the one for
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

GUARD: Final = 4096
"""Bytes between two bindings: a page, which is more than a tile that runs over one row of a matrix writes."""

_ALIGNMENT: Final = 256
"""The alignment of offsets of storage buffers: the largest that Vulkan allows a device to require
(https://registry.khronos.org/vulkan/specs/latest/html/vkspec.html#limits-minmax, minStorageBufferOffsetAlignment)."""

_LARGEST_INTEGER: Final = 3
"""The largest integer that is drawn; larger ones are not needed for distinct values."""

_INDEXED: Final = {"iree_linalg_ext.gather": 0, "iree_linalg_ext.scatter": 2}
"""The operands whose leading dimensions are indexed by another operand."""

_LOADS: Final = frozenset({"iree_tensor_ext.dispatch.tensor.load", "iree_codegen.load_from_buffer"})
_STORES: Final = frozenset(
    {"iree_tensor_ext.dispatch.tensor.store", "iree_codegen.store_to_buffer"}
)


@dataclass(frozen=True)
class _Content:
    """A tensor that a dispatch loads from a binding or stores to it; the offset and the shape are None if unknown."""

    access: Access
    element_type: str
    element_bytes: int
    shape: tuple[int, ...] | None
    offset: int | None = 0
    parts: tuple[TypedPart, ...] = ()

    @property
    def byte_length(self) -> int:
        return 0 if self.shape is None else prod(self.shape) * self.element_bytes

    @property
    def elements(self) -> int:
        return 0 if self.shape is None else prod(self.shape)


def _read_contents(
    module: mlir.Operation, constants: Sequence[int]
) -> Iterator[tuple[int, list[_Content]]]:
    """Yield the binding of each subspan in a dispatch, and the tensors in it, all with the access of all its uses."""
    sizes = SizeEvaluator(arguments=constants)
    for subspan in collect(module, "hal.interface.binding.subspan"):
        number: Any = subspan.attributes["binding"]
        users = [use.owner.operation for use in subspan.results[0].uses]
        tensors = [
            user.results[0] if user.name in _LOADS else user.operands[0]
            for user in users
            if user.name in _LOADS | _STORES
        ]
        # What else there is to do with a binding may do both.
        loads = any(user.name not in _STORES for user in users)
        stores = any(user.name not in _LOADS for user in users)
        access = Access.READ_WRITE if loads and stores else Access.WRITE if stores else Access.READ
        contents = []
        for tensor in tensors:
            if isinstance(tensor.type, mlir.ShapedType):
                element: Any = tensor.type.element_type
                # A complex number is one element. An index has no width of its own.
                is_complex = isinstance(element, mlir.ComplexType)
                bits = int(getattr(element.element_type if is_complex else element, "width", 64))
                length = max(1, bits // 8) * (2 if is_complex else 1)
                shape = tuple(size for size in sizes.shape(tensor) or (None,) if size is not None)
                known = shape if len(shape) == tensor.type.rank else None
                offset = sizes.value(subspan.operands[0])
                contents.append(_Content(access, str(element), length, known, offset))
        yield number.value, contents


def buffer_layout(
    module: mlir.Operation, lengths: Sequence[int], constants: Sequence[int]
) -> BufferLayout:
    """Return the buffer of a benchmark for bindings of some lengths, in bytes, and constants of the dispatch."""
    # The content of each binding; the largest one if there are several.
    contents: dict[int, _Content] = {}
    for number, tensors in _read_contents(module, constants):
        if not tensors:
            continue
        this = max(tensors, key=lambda content: content.elements)
        parts: tuple[TypedPart, ...] = ()
        if this.offset is not None and this.shape is not None and this.access is not Access.WRITE:
            parts = (TypedPart(this.element_type, this.offset, this.byte_length),)
        earlier = contents.get(number, this)
        access = this.access if earlier.access is this.access else Access.READ_WRITE
        largest = max(earlier, this, key=lambda content: content.elements)
        contents[number] = replace(largest, access=access, parts=earlier.parts + parts)
    # The sizes of the dimensions that are indexed by values of other tensors, which are out of bounds from there on.
    limits: list[int] = []
    for operation in collect(module, "tensor.extract", *_INDEXED):
        source, *indices = list(operation.operands)[_INDEXED.get(operation.name, 0) :]
        extents = mlir.ShapedType(source.type).shape
        if operation.name in _INDEXED:
            dimensions = list(mlir.DenseI64ArrayAttr(operation.attributes["dimension_map"]))
        else:
            dimensions = [number for number, index in enumerate(indices) if _is_data(index)]
        limits += [extents[dimension] for dimension in dimensions]
    largest_integer = max(0, min([_LARGEST_INTEGER, *(size - 1 for size in limits if size > 0)]))
    # Their places: one after another, between guards.
    bindings: list[Binding] = []
    offset = GUARD
    for number, length in enumerate(lengths):
        content = contents.get(number, _Content(Access.READ_WRITE, "i8", 1, (length,)))
        element, shape = content.element_type, content.shape
        if shape is None or content.byte_length != length:
            shape = (length // content.element_bytes,)
        parts = tuple(part for part in content.parts if part.element_type != element)
        binding = Binding(content.access, element, shape, offset, length, largest_integer, parts)
        bindings.append(binding)
        offset += -(-length // _ALIGNMENT) * _ALIGNMENT + GUARD
    return BufferLayout(tuple(bindings), stride=offset, guard=GUARD)


def _is_data(index: Value) -> bool:
    """Return whether an index depends on an element of a tensor, and not on loops alone."""
    owner = index.owner
    if isinstance(owner, mlir.Block) or owner.name == "tensor.extract":
        return True
    return any(_is_data(operand) for operand in owner.operands)


def argument_bytes(layout: BufferLayout) -> int:
    """Return the bytes of the bindings that are arguments of the program, such as weights.

    Arguments have their own buffers; results of dispatches and most constants are parts of larger buffers.
    """
    return sum(
        binding.byte_length
        for binding in layout.bindings
        if binding.access is Access.READ
        and len(binding.shape) > 1  # larger buffers have one dimension
        and (dtype := element_type(binding.element_type)) is not None
        and binding.byte_length == prod(binding.shape) * dtype.itemsize
    )


# --- Construction: the compiler's dump, changed to run on a buffer of the caller
#
# The benchmark that the compiler's `iree-hal-dump-executable-benchmarks` makes of a dispatch allocates one buffer,
# never initializes it, and runs the dispatch on it `batch` times. Here its function takes the buffer as an argument,
# with the number of copies of the bindings in it, and works on one copy after another.


def dump_benchmarks(program: mlir.Operation) -> list[mlir.Operation]:
    """Return a module with a benchmark for each dispatch that the compiler supports.

    The compiler writes them as text without the contents of resources, so the code of each dispatch is copied from
    the program again.
    """
    dispatches = find_dispatches(program)
    with temporary_directory() as directory:
        # Files are named after executables, whose names may contain slashes, as those of ONNX's graphs.
        for dispatch in dispatches:
            name, *_ = dispatch.name.removeprefix("@").partition("::")
            (directory / f"module_{name}").parent.mkdir(parents=True, exist_ok=True)
        pipeline = f"builtin.module(iree-hal-dump-executable-benchmarks{{path={directory}}})"
        PassManager.parse(pipeline, program.context).run(program)
        texts = [path.read_text() for path in sorted(directory.rglob("*.mlir"))]
    benchmarks = [mlir.Module.parse(text, program.context).operation for text in texts]
    code = {dispatch.name: dispatch.module for dispatch in dispatches}
    for benchmark in benchmarks:
        for dispatch in find_dispatches(benchmark):
            code[dispatch.name].clone(ip=mlir.InsertionPoint(dispatch.module))
            dispatch.module.erase()
    return benchmarks


def is_benchmark(operation: mlir.Operation) -> bool:
    """Return whether an operation is the function of a dumped benchmark."""
    reflection = operation.attributes.get("iree.reflection")
    return isinstance(reflection, mlir.DictAttr) and "iree.benchmark" in reflection


DISPATCH: Final = "hal.command_buffer.dispatch"


class NoBenchmarkError(Exception):
    """A dispatch cannot be benchmarked; the message is the reason."""


_MOST_VARIANTS: Final = 256
_SELECT: Final = "arith.select"

_EQUAL: Final = 0
"""The value of `eq` in `arith.cmpi`."""


def build_benchmark(
    module: mlir.Operation, calls: Iterable[tuple[int | None, ...]] = ()
) -> SizedFunction:
    """Turn a benchmark that the compiler dumped into one on a given buffer, in place; return its function.

    The dispatch gets other constants in each of the calls, and with these its data from other places.
    """
    functions = [op for op in body(module) if op.name == names.UTIL_FUNCTION]
    if not functions:
        raise NoBenchmarkError("its arguments are only known when the program runs")
    function, *others = functions
    for other in others:
        other.erase()
    loops, dispatches = collect(function, "scf.for"), collect(function, DISPATCH)
    loads = collect(function, "util.global.load")
    if len(loops) != 1 or len(dispatches) != 1 or not loads:
        raise NoBenchmarkError("its benchmark is not of the form that the compiler dumps")
    (dispatch,) = dispatches
    operands, (places, buffers, offsets, ends) = dispatch.operands, _segments(dispatch)
    lengths = [_constant(operands[position]) for position in ends]
    constants = passed_constants(dispatch)
    layout = buffer_layout(module, lengths, constants)
    # The constants of further variants; with weights among the arguments, copies of the bindings have their own.
    variants = [constants]
    for call in dict.fromkeys(calls) if not argument_bytes(layout) else ():
        values = tuple(value for value in call if value is not None)
        is_other = len(values) == len(constants) and values != constants
        if is_other and buffer_layout(module, lengths, values) == layout:
            # All tensors must lie inside the bindings.
            contents = _read_contents(module, values)
            if all(
                content.shape is not None
                and content.offset is not None
                and content.offset + content.byte_length <= lengths[number]
                for number, tensors in contents
                for content in tensors
            ):
                variants.append(values)
    del variants[_MOST_VARIANTS:]
    layout = replace(layout, variants=len(variants))
    with module.context, mlir.Location.unknown():
        # Give the function its four arguments in place of the batch size.
        index, *widths = mlir.IndexType.get(), *map(mlir.IntegerType.get_signless, (1, 32, 64))
        (truth, i32, i64), block = widths, function.regions[0].blocks[0]
        types = [mlir.Type.parse("!hal.buffer"), *3 * [i32]]
        buffer, *numbers, batch = (block.add_argument(type_, function.location) for type_ in types)
        block.arguments[0].replace_all_uses_with(batch)
        block.erase_argument(0)
        signature = mlir.FunctionType.get(types, types[:1])
        function.attributes["function_type"] = mlir.TypeAttr.get(signature)
        # The runtime's tools pass a batch size alone to a benchmark of the kind `dispatch`.
        function.attributes["iree.reflection"] = mlir.Attribute.parse('{iree.benchmark = "entry"}')
        list(block.operations)[-1].operation.erase()
        mlir.Operation.create("util.return", operands=[buffer], ip=mlir.InsertionPoint(block))
        with mlir.InsertionPoint(block.operations[0]):
            sets, stride = (build("arith.index_cast", index, value) for value in numbers)
        with mlir.InsertionPoint(dispatch):
            iteration = loops[0].regions[0].blocks[0].arguments[0]
            copy = build("arith.remui", index, iteration, sets)
            if len(variants) > 1:
                # Use the constants of this iteration's variant where the variants differ.
                count, equal = constant(index, len(variants)), mlir.IntegerAttr.get(i64, _EQUAL)
                variant = build("arith.remui", index, copy, count)
                for position, values in zip(places, zip(*variants, strict=True), strict=True):
                    kind = operands[position].type
                    for number, value in enumerate(values[1:] if len(set(values)) > 1 else (), 1):
                        tested = variant, constant(index, number)
                        is_variant = build("arith.cmpi", truth, *tested, predicate=equal)
                        chosen = is_variant, constant(kind, value), operands[position]
                        operands[position] = build(_SELECT, kind, *chosen)
                copy = build("arith.divui", index, copy, count)
            # Bind the parts of this copy.
            base = build("arith.muli", index, copy, stride)
            for position, binding in enumerate(layout.bindings):
                start = constant(index, binding.offset)
                operands[buffers[position]] = buffer
                operands[offsets[position]] = build("arith.addi", index, base, start)
    # Remove the benchmark's own buffer and the ops that made it.
    gone = {str(load.attributes["global"]) for load in loads}
    for load in loads:
        load.erase()
    for op in list(body(module)):
        is_buffer = op.name == "util.global" and f"@{symbol_name(op)}" in gone
        if is_buffer or op.name == "util.initializer":
            op.erase()
    return SizedFunction(symbol_name(function) or "", layout)


def passed_constants(dispatch: mlir.Operation) -> tuple[int, ...]:
    """Return the constants that a benchmark passes to its dispatch, in the first variant if it has several.

    Raises:
        NoBenchmarkError: the constants are known only when the program runs.
    """
    constants = []
    for position in _segments(dispatch)[0]:
        value = dispatch.operands[position]
        while not isinstance(value.owner, mlir.Block) and value.owner.operation.name == _SELECT:
            value = value.owner.operation.operands[2]  # the value where the condition is false
        constants.append(_constant(value))
    return tuple(constants)


def _segments(dispatch: mlir.Operation) -> list[range]:
    """Return the positions of the constants of a dispatch, and of its buffers, their offsets and lengths."""
    sizes: Any = dispatch.attributes["operandSegmentSizes"]
    ends = list(accumulate(sizes))
    return [range(end - size, end) for size, end in zip(sizes, ends, strict=True)][-4:]


def _constant(value: Value) -> int:
    owner = value.owner
    if isinstance(owner, mlir.Block) or owner.operation.name != "arith.constant":
        raise NoBenchmarkError("its arguments are only known when the program runs")
    attribute: Any = owner.operation.attributes["value"]
    return int(attribute.value)


# --- Benchmarks of dynamic dispatches: one module with a function for each combination of sizes --

_CHECKED_SIZES: Final = (2, 7, 63, 65, 385)
"""Sizes at which outputs are checked, besides those between the given ones: around powers of two, and odd."""

_FOLDING: Final = "builtin.module(util.func(canonicalize,cse))"

DynamicBenchmark = tuple[mlir.Operation, tuple[SizedFunction, ...]]
"""The module of a benchmark, and its functions."""


def smallest(functions: Iterable[SizedFunction]) -> SizedFunction:
    """Return the function for the least work among those that are measured."""
    measured = (function for function in functions if function.weight)
    return min(measured, key=lambda function: prod(size or 1 for size in function.loops))


def dynamic_benchmarks(
    program: mlir.Operation, given: Sequence[GivenSizes], others: Container[str]
) -> Iterator[DynamicBenchmark]:
    """Yield the benchmarks of the dynamic dispatches of a program: those that are not static ones."""
    # Besides the given combinations there are some that are only checked, with no weight. Between the given ones, these
    # have one dimension between its given sizes, and the first size of all others.
    first = [dimension.sizes[0][0] for dimension in given]
    between = [
        (*first[:position], size, *first[position + 1 :])
        for position, dimension in enumerate(given)
        for size in sizes_between([size for size, _ in dimension.sizes])
    ]
    checked = [(size,) * len(given) for size in _CHECKED_SIZES]
    only_checked = [
        SizeCombination(tuple(given), sizes, 0)
        for sizes in dict.fromkeys([*between, *checked])
        if any(
            size not in dict(dimension.sizes) for size, dimension in zip(sizes, given, strict=True)
        )
    ]
    # The functions of each dispatch, by name, in the module for the first combination.
    modules: dict[str, mlir.Operation] = {}
    functions: dict[str, dict[str, SizedFunction]] = defaultdict(dict)
    for combination in (*combinations(given), *only_checked):
        for module in dump_benchmarks(_at_sizes(program, combination)):
            (variant,) = collect(module, names.EXECUTABLE_VARIANT)
            name = dispatch_name(variant)
            if name in others:
                continue
            try:
                built = build_benchmark(module)
            except NoBenchmarkError:
                continue
            equal = functions[name].get(built.name)
            if equal is not None:  # the dispatch does not depend on all sizes
                weight = equal.weight + combination.weight
                functions[name][built.name] = replace(equal, weight=weight)
                continue
            sizes = SizeEvaluator(arguments=passed_constants(collect(module, DISPATCH)[0]))
            roots = [op for function in find_root_ops(module) for op in function.roots]
            functions[name][built.name] = replace(
                built,
                loops=StructuredOp(roots[0]).loop_sizes(sizes.shape) if len(roots) == 1 else (),
                sizes=str(combination),
                weight=combination.weight,
                is_between=combination.sizes in between,
            )
            last = list(body(modules.setdefault(name, module)))[-1]
            for op in list(body(module)) if modules[name] is not module else ():
                if op.name == names.UTIL_FUNCTION and symbol_name(op) == built.name:
                    op.move_after(last)
    for name, module in modules.items():
        ordered = sorted(functions[name].values(), key=lambda function: not function.weight)
        if ordered[0].weight:
            yield module, tuple(ordered)


def _at_sizes(program: mlir.Operation, combination: SizeCombination) -> mlir.Operation:
    """Return a copy of a program whose host code has constant sizes for its arguments."""
    copy = program.operation.clone().operation
    for dimension in collect(copy, BUFFER_VIEW_DIM):
        view, number = dimension.operands[0], mlir.IntegerAttr(dimension.attributes["index"]).value
        is_argument = isinstance(view, mlir.BlockArgument)
        size = combination.size_of(view.arg_number, number) if is_argument else None
        if size is not None:
            with mlir.InsertionPoint(dimension), dimension.location:
                value = constant(dimension.results[0].type, size)
            dimension.results[0].replace_all_uses_with(value)
            dimension.erase()
    PassManager.parse(_FOLDING, copy.context).run(copy)
    return copy
