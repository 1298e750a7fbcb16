"""Construction of a dispatch's benchmark: the compiler's dump, changed to run on a buffer of the caller.

The benchmark that the compiler's `iree-hal-dump-executable-benchmarks` makes of a dispatch allocates one buffer,
never initializes it, and runs the dispatch on it `batch` times. Here its function takes the buffer as an argument,
with the number of copies of the bindings in it, and works on one copy after another; see `tuning.benchmark`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
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
    StructuredOp,
    combinations,
    dispatch_name,
    find_dispatches,
    find_root_ops,
    sizes_between,
)
from tuninglink.mlir import body, collect, names, symbol_name
from tuninglink.payloads import build, constant
from tuninglink.tuning.programs.benchmark import (
    Access,
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


def build_benchmark(
    module: mlir.Operation, calls: Iterable[tuple[int | None, ...]] = ()
) -> SizedFunction:
    """Turn a benchmark that the compiler dumped into one on a given buffer, in place; return its function."""
    functions = [op for op in body(module) if op.name == names.UTIL_FUNCTION]
    if not functions:
        raise NoBenchmarkError("its arguments are only known when the program runs")
    function, *others = functions
    for other in others:
        other.erase()
    loops = collect(function, "scf.for")
    dispatches = collect(function, DISPATCH)
    loads = collect(function, "util.global.load")
    if len(loops) != 1 or len(dispatches) != 1 or not loads:
        raise NoBenchmarkError("its benchmark is not of the form that the compiler dumps")
    (dispatch,) = dispatches
    lengths = [_constant(dispatch.operands[position]) for position in _segments(dispatch)[-1]]
    constants = passed_constants(dispatch)
    layout = buffer_layout(module, lengths, constants)
    variants = [constants, *_other_variants(module, lengths, layout, constants, calls)]
    layout = replace(layout, variants=len(variants))
    with module.context, mlir.Location.unknown():
        # Give the function its four arguments in place of the batch size.
        block = function.regions[0].blocks[0]
        (old,) = block.arguments
        i32 = mlir.IntegerType.get_signless(32)
        types = [mlir.Type.parse("!hal.buffer"), i32, i32, i32]
        arguments = [block.add_argument(type_, function.location) for type_ in types]
        old.replace_all_uses_with(arguments.pop())
        block.erase_argument(0)
        function.attributes["function_type"] = mlir.TypeAttr.get(mlir.FunctionType.get(types, []))
        with mlir.InsertionPoint(block.operations[0]):
            index = mlir.IndexType.get()
            sets, stride = (build("arith.index_cast", index, number) for number in arguments[1:])
        _place_bindings(loops[0], dispatch, layout, (arguments[0], sets, stride), variants)
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
    for position in _segments(dispatch)[-4]:
        value = dispatch.operands[position]
        while not isinstance(value.owner, mlir.Block) and value.owner.operation.name == _SELECT:
            value = value.owner.operation.operands[2]  # the value where the condition is false
        constants.append(_constant(value))
    return tuple(constants)


def _segments(dispatch: mlir.Operation) -> list[range]:
    """Return the positions of the groups of operands.

    The last four, apart from the flags, are the constants of a dispatch, and its buffers, their offsets and lengths.
    """
    sizes: Any = dispatch.attributes["operandSegmentSizes"]
    ends = list(accumulate(sizes))
    return [range(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _constant(value: Value) -> int:
    owner = value.owner
    if isinstance(owner, mlir.Block) or owner.operation.name != "arith.constant":
        raise NoBenchmarkError("its arguments are only known when the program runs")
    attribute: Any = owner.operation.attributes["value"]
    return int(attribute.value)


def _place_bindings(
    loop: mlir.Operation,
    dispatch: mlir.Operation,
    layout: BufferLayout,
    arguments: tuple[Value, Value, Value],
    variants: Sequence[tuple[int, ...]],
) -> None:
    """Let the dispatch take its bindings and its constants from the set of the iteration."""
    buffer, sets, stride = arguments
    operands = dispatch.operands
    index, truth = mlir.IndexType.get(), mlir.IntegerType.get_signless(1)
    equal = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), _EQUAL)
    # Set and variant of this iteration of the loop.
    constants, buffers, offsets, _ = _segments(dispatch)[-4:]
    iteration = loop.regions[0].blocks[0].arguments[0]
    with mlir.InsertionPoint(dispatch):
        number = build("arith.remui", index, iteration, sets)
        if len(variants) > 1:
            count = constant(index, len(variants))
            variant = build("arith.remui", index, number, count)
            # Use the constants of the variant where the variants differ.
            for position, values in zip(constants, zip(*variants, strict=True), strict=True):
                if len(set(values)) == 1:
                    continue
                selected = operands[position]
                kind = selected.type
                for other, value in enumerate(values[1:], 1):
                    is_other = build(
                        "arith.cmpi", truth, variant, constant(index, other), predicate=equal
                    )
                    selected = build(_SELECT, kind, is_other, constant(kind, value), selected)
                operands[position] = selected
            number = build("arith.divui", index, number, count)
        # Bind the parts of the set.
        base = build("arith.muli", index, number, stride)
        for position, binding in enumerate(layout.bindings):
            start = constant(index, binding.offset)
            operands[buffers[position]] = buffer
            operands[offsets[position]] = build("arith.addi", index, base, start)


# --- Dispatches that get their data from other places in each call

_MOST: Final = 256
_SELECT: Final = "arith.select"
_EQUAL: Final = 0
"""The value of `eq` in `arith.cmpi`."""


def _other_variants(
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


# --- Benchmarks of dynamic dispatches: one module with a function for each combination of sizes --

CHECKED_SIZES: Final = (2, 7, 63, 65, 385)
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
) -> list[DynamicBenchmark]:
    """Return the benchmarks of the dynamic dispatches of a program."""
    # Besides the given combinations there are some that are only checked, with no weight. Between the given ones, these
    # have one dimension between its given sizes, and the first size of all others.
    first = [dimension.sizes[0][0] for dimension in given]
    between = [
        (*first[:position], size, *first[position + 1 :])
        for position, dimension in enumerate(given)
        for size in sizes_between([size for size, _ in dimension.sizes])
    ]
    checked = [(size,) * len(given) for size in CHECKED_SIZES]
    only_checked = [
        SizeCombination(tuple(given), sizes, 0)
        for sizes in dict.fromkeys([*between, *checked])
        if any(
            size not in dict(dimension.sizes) for size, dimension in zip(sizes, given, strict=True)
        )
    ]
    dumped: dict[str, list[tuple[SizeCombination, mlir.Operation]]] = defaultdict(list)
    for combination in (*combinations(given), *only_checked):
        for module in dump_benchmarks(_at_sizes(program, combination)):
            (variant,) = collect(module, names.EXECUTABLE_VARIANT)
            if dispatch_name(variant) not in others:
                dumped[dispatch_name(variant)].append((combination, module))
    benchmarks = (_joined(modules, between) for modules in dumped.values())
    return [benchmark for benchmark in benchmarks if benchmark is not None]


def _at_sizes(program: mlir.Operation, combination: SizeCombination) -> mlir.Operation:
    """Return a copy of a program whose host code has constant sizes for its arguments."""
    copy = program.operation.clone().operation
    for function in body(copy):
        dimensions = (
            collect(function, BUFFER_VIEW_DIM) if function.name == names.UTIL_FUNCTION else ()
        )
        for dimension in dimensions:
            view = dimension.operands[0]
            number: Any = dimension.attributes["index"]
            if not isinstance(view, mlir.BlockArgument):
                continue
            size = combination.size_of(view.arg_number, number.value)
            if size is not None:
                with mlir.InsertionPoint(dimension), dimension.location:
                    value = constant(dimension.results[0].type, size)
                dimension.results[0].replace_all_uses_with(value)
                dimension.erase()
    PassManager.parse(_FOLDING, copy.context).run(copy)
    return copy


def _joined(
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
        sizes = SizeEvaluator(arguments=passed_constants(collect(module, DISPATCH)[0]))
        roots = [op for function in find_root_ops(module) for op in function.roots]
        functions[built.name] = replace(
            built,
            loops=sizes.loops(StructuredOp(roots[0])) if len(roots) == 1 else (),
            sizes=str(combination),
            weight=combination.weight,
            is_between=combination.sizes in between,
        )
        if target is None:
            target = module
            continue
        # Move the function to the end of the first module.
        moved = next(
            op
            for op in body(module)
            if op.name == names.UTIL_FUNCTION and symbol_name(op) == built.name
        )
        moved.move_after(list(body(target))[-1])
    ordered = sorted(functions.values(), key=lambda function: not function.weight)
    if target is None or not ordered[0].weight:
        return None
    return target, tuple(ordered)
