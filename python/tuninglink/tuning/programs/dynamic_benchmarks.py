"""Benchmarks of dynamic dispatches: one module with a function for each combination of sizes.

The code of a dispatch is the code that the dynamic program contains. The program passes constants to it, which follow from the sizes
of the program's arguments. With constant sizes on the host, the compiler dumps a benchmark of the dispatch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.iree.dispatches import dispatch_name, find_root_ops
from tuninglink.iree.dynamic_sizes import BUFFER_VIEW_DIM, SizeEvaluator, sizes_between
from tuninglink.iree.given_sizes import GivenSizes, SizeCombination, combinations
from tuninglink.iree.structured_op import StructuredOp
from tuninglink.mlir import names
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import body, collect
from tuninglink.tuning.programs.benchmark import SizedFunction
from tuninglink.tuning.programs.benchmark_building import (
    BenchmarkFunction,
    NoBenchmarkError,
    build_benchmark,
    dump_benchmarks,
)

CHECKED_SIZES: Final = (2, 7, 63, 65, 385)
"""Sizes at which outputs are checked, besides those between the given ones: around powers of two, and odd."""

_FOLDING: Final = "builtin.module(util.func(canonicalize,cse))"


@dataclass(frozen=True)
class DynamicBenchmark:
    """The benchmark of a dynamic dispatch.

    Attributes:
        name: the dispatch.
        module: the benchmark, at `executable-sources`.
        functions: its functions in the order of the sizes; functions whose times count come first.
    """

    name: str
    module: mlir.Operation
    functions: tuple[SizedFunction, ...]

    @property
    def smallest(self) -> SizedFunction:
        """The function for the least work that is measured."""
        measured = [function for function in self.functions if function.weight]
        return min(measured, key=lambda function: prod(size or 1 for size in function.loops))


def dynamic_benchmarks(
    program: mlir.Operation, given: Sequence[GivenSizes], others: Container[str]
) -> list[DynamicBenchmark]:
    """Return the benchmarks of the dynamic dispatches of a program.

    Args:
        program: the program at `executable-sources`; it must outlive the benchmarks.
        given: the sizes of dynamic dimensions of its arguments.
        others: the names of dispatches that are left out, such as the static ones.
    """
    between = set(_between(given))
    dumped: dict[str, list[tuple[SizeCombination, mlir.Operation]]] = defaultdict(list)
    for combination in (*combinations(given), *_checked(given)):
        for module in dump_benchmarks(_at_sizes(program, combination)):
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


def _at_sizes(program: mlir.Operation, combination: SizeCombination) -> mlir.Operation:
    """Return a copy of a program whose host code has constant sizes for its arguments."""
    copy = program.operation.clone().operation
    for function in body(copy):
        if function.name == names.UTIL_FUNCTION:
            _give_sizes(function, combination)
    PassManager.parse(_FOLDING, copy.context).run(copy)
    return copy


def _give_sizes(function: mlir.Operation, combination: SizeCombination) -> None:
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


def _joined(
    name: str,
    modules: Sequence[tuple[SizeCombination, mlir.Operation]],
    between: Container[tuple[int, ...]],
) -> DynamicBenchmark | None:
    """Return the benchmark with the functions of all modules, in the first one; None if none is measured.

    Args:
        name: the dispatch.
        modules: a benchmark for each combination of sizes.
        between: the sizes that lie between the given ones.
    """
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
