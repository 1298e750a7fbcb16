"""Construction of a dispatch's benchmark: the compiler's dump, changed to run on a buffer of the caller.

The benchmark that the compiler's `iree-hal-dump-executable-benchmarks` makes of a dispatch allocates one buffer,
never initializes it, and runs the dispatch on it `batch` times. Here its function takes the buffer as an argument,
with the number of copies of the bindings in it, and works on one copy after another; see `tuning.benchmark`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.files import temporary_directory
from tuninglink.iree.dispatches import find_dispatches
from tuninglink.mlir import names
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import body, collect
from tuninglink.tuning.programs.benchmark import BufferLayout
from tuninglink.tuning.programs.binding_contents import buffer_layout
from tuninglink.tuning.programs.dispatch_uses import (
    constant_operation,
    of_first_variant,
    other_variants,
    select_constants,
)

Value = mlir.Value[Any]


_REFLECTION: Final = "iree.reflection"
_BENCHMARK: Final = "iree.benchmark"


def dump_benchmarks(program: mlir.Operation) -> list[mlir.Operation]:
    """Return a module with a benchmark for each dispatch that the compiler supports.

    The compiler writes them as text without the contents of resources, so the code of each dispatch is copied from
    the program again.

    Args:
        program: a program at `executable-sources`; it must outlive the benchmarks.
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
    """The operations of a dumped benchmark that are changed.

    Attributes:
        function: the function.
        loop: its loop over the batch.
        dispatch: the dispatch in the loop.
        lengths: the bytes of each binding.
        constants: the constants that the dispatch gets.
    """

    function: mlir.Operation
    loop: mlir.Operation
    dispatch: mlir.Operation
    lengths: tuple[int, ...]
    constants: tuple[int, ...]


@dataclass(frozen=True)
class BenchmarkFunction:
    """A function of a benchmark on a given buffer.

    Attributes:
        name: its name.
        layout: the buffer that it expects.
        constants: the constants that the dispatch gets, among which are the sizes that are dynamic in its code.
    """

    name: str
    layout: BufferLayout
    constants: tuple[int, ...]


def build_benchmark(
    module: mlir.Operation, calls: Iterable[tuple[int | None, ...]] = ()
) -> BenchmarkFunction:
    """Turn a benchmark that the compiler dumped into one on a given buffer, in place.

    Args:
        module: the benchmark, at `executable-sources`. All functions but the first are removed: they run the same
            dispatch with other parameters.
        calls: the constants that each call in the program passes.

    Returns:
        Its function.

    Raises:
        NoBenchmarkError: the module does not have the form that the compiler dumps.
    """
    parts = _read(module)
    layout = buffer_layout(module, parts.lengths, parts.constants)
    others = other_variants(module, parts.lengths, layout, parts.constants, calls)
    variants = [parts.constants, *others]
    layout = replace(layout, variants=len(variants))
    with module.context, mlir.Location.unknown():
        arguments = _replace_arguments(parts.function)
        _place_bindings(parts, layout, arguments, variants)
    _remove_buffer(module, parts.function)
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
    """Return the constants that a benchmark passes to its dispatch; those of the first variant if it has several.

    Raises:
        NoBenchmarkError: the constants are known only when the program runs.
    """
    constants, _, _ = _arguments(dispatch)
    return tuple(_constant(of_first_variant(constant)) for constant in constants)


def _segments(operation: mlir.Operation) -> list[range]:
    """Return the positions of each group of operands."""
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


def _replace_arguments(function: mlir.Operation) -> tuple[Value, Value, Value]:
    """Give the function its four arguments in place of the batch size; return the first three."""
    block = function.regions[0].blocks[0]
    (old,) = block.arguments
    location = function.location
    i32 = mlir.IntegerType.get_signless(32)
    types = [mlir.Type.parse("!hal.buffer"), i32, i32, i32]
    buffer, sets, stride, batch = (block.add_argument(type_, location) for type_ in types)
    old.replace_all_uses_with(batch)
    block.erase_argument(0)
    function.attributes["function_type"] = mlir.TypeAttr.get(mlir.FunctionType.get(types, []))
    return buffer, sets, stride


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


def _remove_buffer(module: mlir.Operation, function: mlir.Operation) -> None:
    """Remove the benchmark's own buffer and the ops that made it."""
    loads = collect(function, "util.global.load")
    gone = {str(load.attributes["global"]) for load in loads}
    for load in loads:
        load.erase()
    for op in list(body(module)):
        is_buffer = op.name == "util.global" and f"@{symbol_name(op)}" in gone
        if is_buffer or op.name == "util.initializer":
            op.erase()
