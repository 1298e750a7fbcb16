"""Construction of a dispatch's benchmark: the compiler's dump, changed to run on a buffer of the caller.

The benchmark that the compiler's `iree-hal-dump-executable-benchmarks` makes of a dispatch allocates one buffer,
never initializes it, and runs the dispatch on it `batch` times. Here its function takes the buffer as an argument,
with the number of copies of the bindings in it, and works on one copy after another; see `tuning.benchmark`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.files import temporary_directory
from tuninglink.iree import (
    BUFFER_VIEW_DIM,
    DispatchCost,
    GivenSizes,
    SizeCombination,
    SizeEvaluator,
    StructuredOp,
    combinations,
    cost_of,
    dispatch_name,
    find_dispatches,
    find_root_ops,
    sizes_between,
)
from tuninglink.mlir import body, collect, names, symbol_name, thread_context
from tuninglink.tuning.programs.benchmark import (
    Access,
    Binding,
    BufferLayout,
    SizedFunction,
    buffer_layout,
    has_room,
)
from tuninglink.tuning.programs.compiled_program import element_type

Value = mlir.Value[Any]


_REFLECTION: Final = "iree.reflection"
_BENCHMARK: Final = "iree.benchmark"


def dump_benchmarks(program: mlir.Operation) -> list[mlir.Operation]:
    """Return a module with a benchmark for each dispatch that the compiler supports.

    The compiler writes them as text without the contents of resources, so the code of each dispatch is copied from
    the program again.
    """
    with temporary_directory() as directory:
        pipeline = f"builtin.module(iree-hal-dump-executable-benchmarks{{path={directory}}})"
        PassManager.parse(pipeline, program.context).run(program)
        texts = [path.read_text() for path in sorted(directory.iterdir())]
    benchmarks = [mlir.Module.parse(text, program.context).operation for text in texts]
    code = {dispatch.name: dispatch.module for dispatch in find_dispatches(program)}
    for benchmark in benchmarks:
        for dispatch in find_dispatches(benchmark):
            code[dispatch.name].clone(ip=mlir.InsertionPoint(dispatch.module))
            dispatch.module.erase()
    return benchmarks


def is_benchmark(operation: mlir.Operation) -> bool:
    """Return whether an operation is the function of a dumped benchmark."""
    reflection = operation.attributes.get(_REFLECTION)
    return isinstance(reflection, mlir.DictAttr) and _BENCHMARK in reflection


DISPATCH: Final = "hal.command_buffer.dispatch"


class NoBenchmarkError(Exception):
    """A dispatch cannot be benchmarked; the message is the reason."""


@dataclass(frozen=True)
class _Parts:
    """The operations of a dumped benchmark that are changed."""

    function: mlir.Operation
    loop: mlir.Operation
    dispatch: mlir.Operation
    lengths: tuple[int, ...]
    constants: tuple[int, ...]


@dataclass(frozen=True)
class BenchmarkFunction:
    """A function of a benchmark on a given buffer."""

    name: str
    layout: BufferLayout
    constants: tuple[int, ...]


def build_benchmark(
    module: mlir.Operation, calls: Iterable[tuple[int | None, ...]] = ()
) -> BenchmarkFunction:
    """Turn a benchmark that the compiler dumped into one on a given buffer, in place."""
    parts = _read(module)
    layout = buffer_layout(module, parts.lengths, parts.constants)
    others = other_variants(module, parts.lengths, layout, parts.constants, calls)
    variants = [parts.constants, *others]
    layout = replace(layout, variants=len(variants))
    with module.context, mlir.Location.unknown():
        # Give the function its four arguments in place of the batch size; return the first three.
        function = parts.function
        block = function.regions[0].blocks[0]
        (old,) = block.arguments
        location = function.location
        i32 = mlir.IntegerType.get_signless(32)
        types = [mlir.Type.parse("!hal.buffer"), i32, i32, i32]
        buffer, sets, stride, batch = (block.add_argument(type_, location) for type_ in types)
        old.replace_all_uses_with(batch)
        block.erase_argument(0)
        function.attributes["function_type"] = mlir.TypeAttr.get(mlir.FunctionType.get(types, []))
        arguments = buffer, sets, stride
        _place_bindings(parts, layout, arguments, variants)
    # Remove the benchmark's own buffer and the ops that made it.
    loads = collect(parts.function, "util.global.load")
    gone = {str(load.attributes["global"]) for load in loads}
    for load in loads:
        load.erase()
    for op in list(body(module)):
        is_buffer = op.name == "util.global" and f"@{symbol_name(op)}" in gone
        if is_buffer or op.name == "util.initializer":
            op.erase()
    return BenchmarkFunction(symbol_name(parts.function) or "", layout, parts.constants)


def _read(module: mlir.Operation) -> _Parts:
    functions = [op for op in body(module) if op.name == names.UTIL_FUNCTION]
    if not functions:
        raise NoBenchmarkError("its arguments are only known when the program runs")
    function, *others = functions
    for other in others:
        other.erase()
    loops = collect(function, "scf.for")
    dispatches = collect(function, DISPATCH)
    if len(loops) != 1 or len(dispatches) != 1 or not collect(function, "util.global.load"):
        raise NoBenchmarkError("its benchmark is not of the form that the compiler dumps")
    _, _, lengths = _arguments(dispatches[0])
    return _Parts(
        function,
        loops[0],
        dispatches[0],
        tuple(map(_constant, lengths)),
        passed_constants(dispatches[0]),
    )


def passed_constants(dispatch: mlir.Operation) -> tuple[int, ...]:
    """Return the constants that a benchmark passes to its dispatch, in the first variant if it has several.

    Raises:
        NoBenchmarkError: the constants are known only when the program runs.
    """
    constants, _, _ = _arguments(dispatch)
    return tuple(_constant(of_first_variant(constant)) for constant in constants)


def _segments(operation: mlir.Operation) -> list[range]:
    sizes: Any = operation.attributes["operandSegmentSizes"]
    ends = list(accumulate(sizes))
    return [range(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _arguments(dispatch: mlir.Operation) -> tuple[list[Value], list[Value], list[Value]]:
    """Return the constants of a dispatch, and the offsets and lengths of its buffers.

    They are in its last four groups of operands, apart from the flags.
    """
    constants, _, offsets, lengths = (
        [dispatch.operands[position] for position in group] for group in _segments(dispatch)[-4:]
    )
    return constants, offsets, lengths


def _constant(value: Value) -> int:
    owner = value.owner
    if isinstance(owner, mlir.Block) or owner.operation.name != "arith.constant":
        raise NoBenchmarkError("its arguments are only known when the program runs")
    constant: Any = owner.operation.attributes["value"]
    return int(constant.value)


def _place_bindings(
    parts: _Parts,
    layout: BufferLayout,
    arguments: tuple[Value, Value, Value],
    variants: Sequence[tuple[int, ...]],
) -> None:
    """Let the dispatch take its bindings and its constants from the set of the iteration."""
    buffer, sets, stride = arguments
    index = mlir.IndexType.get()
    # Convert the arguments to indexes at the head of the function.
    first = parts.function.regions[0].blocks[0].operations[0]
    with mlir.InsertionPoint(first):
        sets, stride = (
            mlir.Operation.create("arith.index_cast", results=[index], operands=[operand]).result
            for operand in (sets, stride)
        )
    # Set and variant of this iteration of the loop.
    constants, buffers, offsets, _ = _segments(parts.dispatch)[-4:]
    iteration = parts.loop.regions[0].blocks[0].arguments[0]
    with mlir.InsertionPoint(parts.dispatch):
        number = _index_operation("arith.remui", iteration, sets)
        if len(variants) > 1:
            count = constant_operation(index, len(variants))
            select_constants(
                parts.dispatch,
                constants,
                _index_operation("arith.remui", number, count),
                variants,
            )
            number = _index_operation("arith.divui", number, count)
        # Bind the parts of the set.
        base = _index_operation("arith.muli", number, stride)
        for position, binding in enumerate(layout.bindings):
            start = constant_operation(index, binding.offset)
            operands = parts.dispatch.operands
            operands[buffers[position]] = buffer
            operands[offsets[position]] = _index_operation("arith.addi", base, start)


def _index_operation(name: str, *operands: Value) -> Value:
    index = mlir.IndexType.get()
    result: Value = mlir.Operation.create(name, results=[index], operands=list(operands)).result
    return result


# --- The uses of dispatches by their program: the places of their tensors in each call, and the data in the caches

_MOST: Final = 256
_SELECT: Final = "arith.select"
_EQUAL: Final = 0
"""The value of `eq` in `arith.cmpi`."""


def other_variants(
    module: mlir.Operation,
    lengths: Sequence[int],
    layout: BufferLayout,
    constants: tuple[int, ...],
    calls: Iterable[tuple[int | None, ...]],
) -> list[tuple[int, ...]]:
    """Return the constants of further variants of a benchmark."""
    if argument_bytes(layout):
        return []  # copies of the bindings have weights of their own
    variants = []
    for call in dict.fromkeys(calls):
        values = tuple(value for value in call if value is not None)
        is_other = len(values) == len(constants) and values != constants
        is_alike = is_other and buffer_layout(module, lengths, values) == layout
        if is_alike and has_room(module, lengths, values):
            variants.append(values)
    return variants[: _MOST - 1]


def select_constants(
    dispatch: mlir.Operation,
    positions: range,
    variant: Value,
    variants: Sequence[tuple[int, ...]],
) -> None:
    """Make a dispatch use the constants of a variant where the variants differ."""
    operands = dispatch.operands
    predicate = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), _EQUAL)
    for position, values in zip(positions, zip(*variants, strict=True), strict=True):
        if len(set(values)) == 1:
            continue
        selected = operands[position]
        for number, value in enumerate(values[1:], 1):
            is_variant = mlir.Operation.create(
                "arith.cmpi",
                results=[mlir.IntegerType.get_signless(1)],
                operands=[variant, constant_operation(mlir.IndexType.get(), number)],
                attributes={"predicate": predicate},
            ).result
            selected = mlir.Operation.create(
                _SELECT,
                results=[selected.type],
                operands=[is_variant, constant_operation(selected.type, value), selected],
            ).result
        operands[position] = selected


def of_first_variant(value: Value) -> Value:
    """Return the value in the first variant of an operand that `select_constants` may have replaced."""
    while not isinstance(value.owner, mlir.Block) and value.owner.operation.name == _SELECT:
        value = value.owner.operation.operands[2]  # the value where the condition is false
    return value


def constant_operation(kind: mlir.Type, value: int) -> Value:
    """Return a constant before the current insertion point."""
    result: Value = mlir.Operation.create(
        "arith.constant", results=[kind], attributes={"value": mlir.IntegerAttr.get(kind, value)}
    ).result
    return result


CPU: Final = "llvm-cpu"
"""The backend for CPUs."""

_MOST_CPU_BYTES: Final = 128 << 20
"""The most data of a program between two calls on a CPU: last-level caches keep less for each core."""

_MOST_GPU_BYTES: Final = 256 << 20
"""The same on a GPU, of which the largest last-level cache has as much (an MI300X; an H200 has 50 MB)."""

_GPU_BOUND: Final = 64.0
"""The most operations per byte of a dispatch that waits for the memory of a GPU. An H200 does 206 in f16, and a decode
step at most two for each element of its weights and sequence of the batch."""

_CPU_BOUND: Final = 128.0
"""The same on a CPU. A core that does 115 operations in f32 while it reads 21 bytes does over 5 for each of them."""


@dataclass(frozen=True)
class DispatchUse:
    """The use of a dispatch by its program."""

    layout: BufferLayout
    source: bytes
    calls: int
    backend: str

    @property
    def is_on_cpu(self) -> bool:
        return self.backend == CPU


def with_program_sets(uses: Sequence[DispatchUse]) -> list[BufferLayout]:
    """Return the layouts of dispatches with the sets that the program uses between two calls of each.

    Weights come from the last-level cache or from memory in each run of the program. A benchmark that repeats its
    dispatch on the same data shows neither that cost nor the savings of cache tiles. Data that the program has just
    computed is in the caches, so this is for dispatches that mostly read weights, and that may wait for memory, as all
    products in a decode step do. Others run at the rate of the arithmetic either way.
    """
    costs = [cost_of(mlir.Module.parse(use.source, thread_context()).operation) for use in uses]
    waits = [_waits_for_weights(use, cost) for use, cost in zip(uses, costs, strict=True)]
    weights = [
        _weight_bytes(use.layout, cost) if waiting else 0
        for use, cost, waiting in zip(uses, costs, waits, strict=True)
    ]
    used = sum(use.calls * own for use, own in zip(uses, weights, strict=True))
    layouts = []
    for use, own, waiting in zip(uses, weights, waits, strict=True):
        sets = 1
        if own:
            limit = _MOST_CPU_BYTES if use.is_on_cpu else _MOST_GPU_BYTES
            sets = max(1, min(used, limit) // own)
        elif waiting and not use.is_on_cpu:
            sets = use.layout.variants
        layouts.append(replace(use.layout, program_sets=sets))
    return layouts


def _waits_for_weights(use: DispatchUse, cost: DispatchCost) -> bool:
    if use.is_on_cpu:
        return cost.intensity is None or cost.intensity <= _CPU_BOUND
    return cost.intensity is not None and cost.intensity <= _GPU_BOUND


def _weight_bytes(layout: BufferLayout, cost: DispatchCost) -> int:
    """Return the bytes of arguments that a dispatch reads, if it mostly reads these; else 0."""
    arguments = argument_bytes(layout)
    return arguments if 2 * arguments > (cost.bytes or 0) else 0


def argument_bytes(layout: BufferLayout) -> int:
    """Return the bytes of the bindings that are arguments of the program, such as weights.

    Arguments have their own buffers; results of dispatches and most constants are parts of larger buffers.
    """
    return sum(
        binding.byte_length
        for binding in layout.bindings
        if binding.access is Access.READ
        and len(binding.shape) > 1  # larger buffers have one dimension
        and binding.byte_length == _tensor_bytes(binding)
    )


def _tensor_bytes(binding: Binding) -> int:
    dtype = element_type(binding.element_type)
    return prod(binding.shape) * dtype.itemsize if dtype else 0


# --- Benchmarks of dynamic dispatches: one module with a function for each combination of sizes --

CHECKED_SIZES: Final = (2, 7, 63, 65, 385)
"""Sizes at which outputs are checked, besides those between the given ones: around powers of two, and odd."""

_FOLDING: Final = "builtin.module(util.func(canonicalize,cse))"


@dataclass(frozen=True)
class DynamicBenchmark:
    """The benchmark of a dynamic dispatch."""

    name: str
    module: mlir.Operation
    functions: tuple[SizedFunction, ...]

    @property
    def smallest(self) -> SizedFunction:
        measured = [function for function in self.functions if function.weight]
        return min(measured, key=lambda function: prod(size or 1 for size in function.loops))


def dynamic_benchmarks(
    program: mlir.Operation, given: Sequence[GivenSizes], others: Container[str]
) -> list[DynamicBenchmark]:
    """Return the benchmarks of the dynamic dispatches of a program."""
    between = set(_between(given))
    dumped: dict[str, list[tuple[SizeCombination, mlir.Operation]]] = defaultdict(list)
    for combination in (*combinations(given), *_checked(given)):
        # A copy of a program whose host code has constant sizes for its arguments.
        copy = program.operation.clone().operation
        for function in body(copy):
            if function.name == names.UTIL_FUNCTION:
                for dimension in collect(function, BUFFER_VIEW_DIM):
                    view = dimension.operands[0]
                    number: Any = dimension.attributes["index"]
                    if not isinstance(view, mlir.BlockArgument):
                        continue
                    size = combination.size_of(view.arg_number, number.value)
                    if size is None:
                        continue
                    kind = dimension.results[0].type
                    constant = mlir.Operation.create(
                        "arith.constant",
                        results=[kind],
                        attributes={"value": mlir.IntegerAttr.get(kind, size)},
                        loc=dimension.location,
                        ip=mlir.InsertionPoint(dimension),
                    )
                    dimension.results[0].replace_all_uses_with(constant.result)
                    dimension.erase()
        PassManager.parse(_FOLDING, copy.context).run(copy)
        at_sizes = copy
        for module in dump_benchmarks(at_sizes):
            (variant,) = collect(module, names.EXECUTABLE_VARIANT)
            if dispatch_name(variant) not in others:
                dumped[dispatch_name(variant)].append((combination, module))
    benchmarks = (_joined(name, modules, between) for name, modules in dumped.items())
    return [benchmark for benchmark in benchmarks if benchmark is not None]


def _checked(given: Sequence[GivenSizes]) -> list[SizeCombination]:
    """Return combinations of sizes that were not given, at which outputs are checked."""
    checked = [(size,) * len(given) for size in CHECKED_SIZES]
    return [
        SizeCombination(tuple(given), sizes, 0)
        for sizes in dict.fromkeys([*_between(given), *checked])
        if any(
            size not in dict(dimension.sizes) for size, dimension in zip(sizes, given, strict=True)
        )
    ]


def _between(given: Sequence[GivenSizes]) -> list[tuple[int, ...]]:
    """Return combinations with one dimension between its given sizes, and the first size of all others."""
    first = [dimension.sizes[0][0] for dimension in given]
    return [
        (*first[:position], size, *first[position + 1 :])
        for position, dimension in enumerate(given)
        for size in sizes_between([size for size, _ in dimension.sizes])
    ]


def _joined(
    name: str,
    modules: Sequence[tuple[SizeCombination, mlir.Operation]],
    between: Container[tuple[int, ...]],
) -> DynamicBenchmark | None:
    """Return the benchmark with the functions of all modules, in the first one; None if none is measured."""
    functions: dict[str, SizedFunction] = {}
    target: mlir.Operation | None = None
    for combination, module in modules:
        try:
            built = build_benchmark(module)
        except NoBenchmarkError:
            continue
        equal = functions.get(built.name)
        if equal is not None:  # the dispatch does not depend on all sizes
            functions[built.name] = replace(equal, weight=equal.weight + combination.weight)
            continue
        sized = _sized(module, built, combination)
        functions[built.name] = replace(sized, is_between=combination.sizes in between)
        if target is None:
            target = module
        else:
            _move(built.name, module, target)
    ordered = sorted(functions.values(), key=lambda function: not function.weight)
    if target is None or not ordered[0].weight:
        return None
    return DynamicBenchmark(name, target, tuple(ordered))


def _sized(
    module: mlir.Operation, built: BenchmarkFunction, combination: SizeCombination
) -> SizedFunction:
    sizes = SizeEvaluator(arguments=built.constants)
    roots = [op for function in find_root_ops(module) for op in function.roots]
    loops = sizes.loops(StructuredOp(roots[0])) if len(roots) == 1 else ()
    return SizedFunction(built.name, built.layout, str(combination), combination.weight, loops)


def _move(name: str, source: mlir.Operation, target: mlir.Operation) -> None:
    """Move a function from a module to the end of another one."""
    last = list(body(target))[-1]
    for operation in body(source):
        if operation.name == names.UTIL_FUNCTION and symbol_name(operation) == name:
            operation.move_after(last)
            return
