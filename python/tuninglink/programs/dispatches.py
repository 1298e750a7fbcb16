"""The dispatches of a program as tasks: equal ones are tuned once, and each task has a benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import inf
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.compiler import Phase, SavedProgram, compiler_run, materialize_encodings
from tuninglink.errors import CompileError
from tuninglink.iree import (
    SPECIALIZATION_RANGES,
    GivenSizes,
    SizeEvaluator,
    SizeRange,
    StructuredOp,
    Target,
    cost_of,
    count_calls,
    dispatch_arguments,
    dispatch_name,
    find_root_ops,
    ranges_around,
    specialization_ranges,
)
from tuninglink.mlir import (
    body,
    collect,
    error,
    names,
    note,
    symbol_name,
    thread_context,
    to_bytecode,
    without_weights,
)
from tuninglink.plain_data import named
from tuninglink.programs.benchmark import (
    Benchmark,
    BufferLayout,
    NoBenchmarkError,
    SizedFunction,
    argument_bytes,
    build_benchmark,
    dump_benchmarks,
    dynamic_benchmarks,
    is_benchmark,
    problem_key,
    smallest,
)
from tuninglink.programs.calls import ProgramCalls, form_replaced
from tuninglink.programs.compiled_program import ALL_CALLS, CallOptions
from tuninglink.specs import Spec


class NothingToTuneError(CompileError):
    """An error for a program none of whose dispatches can be tuned."""


def no_dispatch(path: str) -> NothingToTuneError:
    """Return the error for a program without dispatches."""
    reason = "no public function computes anything on a device; the compiler folds constants"
    return NothingToTuneError(error(f"there is no dispatch in '{path}'", notes=[note(reason)]))


@dataclass(frozen=True)
class TuningTask:
    """A problem to tune: equal dispatches of a program, for one target.

    Attributes:
        key: the unique key of the problem: a hash of the dispatch without configuration and symbols, and of
            its target.
        dispatches: the dispatches, such as `@executable::@variant`.
        functions: the names of their functions, in the same order, which describe their computations.
        calls: the number of calls by the functions of the program; 0 if only its initialization does. See `count_calls`.
        source: the benchmark at `executable-sources`, as bytecode.
        function: the name of its function.
        sized: of a dynamic dispatch, the functions of the benchmark for all sizes; empty for a static one.
        bounds: the sizes of loops for which the dispatch is specialized; none for all sizes.
        profiled_us: the time of all their calls in a run of the program, by a profile; None without one.
    """

    key: str
    dispatches: tuple[str, ...]
    functions: tuple[str, ...]
    calls: int
    target: Target
    source: bytes
    function: str
    layout: BufferLayout
    sized: tuple[SizedFunction, ...] = ()
    bounds: Mapping[int, SizeRange] = field(default_factory=dict, hash=False)
    profiled_us: float | None = None

    @property
    def label(self) -> str:
        """The name of the first function."""
        return self.functions[0]

    @property
    def short_name(self) -> str:
        """The name of the first dispatch without its variant, and the sizes for which it is specialized."""
        return self.name.partition("::")[0] + (f" for {self.span}" if self.bounds else "")

    @property
    def span(self) -> str:
        """The sizes of loops for which the dispatch is specialized; empty for all sizes."""
        return ", ".join(f"d{loop} = {sizes}" for loop, sizes in self.bounds.items())

    @property
    def is_dynamic(self) -> bool:
        """Whether its sizes are known only when the program runs."""
        return bool(self.sized)

    def benchmark(self, image: bytes) -> Benchmark:
        """Return the benchmark as it was compiled to a VM FlatBuffer."""
        return Benchmark(image, self.function, self.layout, self.sized)

    @property
    def name(self) -> str:
        """The name of the first dispatch."""
        return self.dispatches[0]


@dataclass(frozen=True)
class Omission:
    """Dispatches that are not tuned, and why."""

    dispatches: tuple[str, ...] = field(metadata=named("names"))
    reason: str

    def __str__(self) -> str:
        more = f" and {len(self.dispatches) - 1} more" if len(self.dispatches) > 1 else ""
        return f"{self.dispatches[0]}{more}: {self.reason}"


@dataclass(frozen=True)
class DispatchedProgram:
    """A program with its dispatches formed.

    Attributes:
        saved: the program itself.
        calls: the calls that make up the time of the program; None if its functions cannot be read.
        tasks: its problems, in the order of their first dispatches.
        omissions: the dispatches without a benchmark.
        original: the program before specs replaced ops of it and without data tiling.
    """

    saved: SavedProgram
    calls: ProgramCalls | None
    tasks: tuple[TuningTask, ...]
    omissions: tuple[Omission, ...]
    original: SavedProgram

    def matching_tasks(
        self, patterns: Sequence[str], option: str = "--only"
    ) -> Sequence[TuningTask]:
        """Return the tasks that match a pattern of an option; all without patterns; raise an error if none does.

        Patterns are parts of names of dispatches or of their functions; `*` and `?` match.
        """
        tasks = [
            task
            for task in self.tasks
            if not patterns
            or any(
                fnmatchcase(name, f"*{pattern}*")
                for pattern in patterns
                for name in (*task.dispatches, *task.functions)
            )
        ]
        if tasks:
            return tasks
        what = f"matches {option}" if self.tasks else "can run alone"
        reasons = [note(str(omission)) for omission in self.omissions[:5]]
        if any(omission.reason == _DYNAMIC for omission in self.omissions):
            # The remedy for dynamic sizes, with the dimensions of the program's arguments that have them.
            dynamic = self.calls.dynamic if self.calls else ()
            places = [f"{argument}.{dimension}" for argument, dimension in dynamic]
            which = (
                f"dimension{'s' if len(places) > 1 else ''} {', '.join(places)} of the arguments"
            )
            remedy = f"give sizes for {which}, as in --dim {'='.join(places)}=64"
            if not places:
                example = "--dim ARGUMENT.DIMENSION=SIZE"
                remedy = f"give the sizes of the program's arguments, as in {example}"
            reasons.append(note(remedy))
        raise NothingToTuneError(error(f"no dispatch {what}", notes=reasons))


_DYNAMIC: Final = "sizes are known only when the program runs"

_KERNEL: Final = "its code is that of a kernel"
_NOT_GIVEN: Final = (
    "its sizes do not follow from those that --dim gives; "
    "sizes without an argument and a dimension are for all dynamic dimensions"
)


def read_program(
    path: str,
    flags: Sequence[str],
    *,
    first: Phase = Phase.START,
    sizes: Sequence[GivenSizes] = (),
    options: CallOptions = ALL_CALLS,
    specs: Sequence[Spec] = (),
    machine: Target | None = None,
) -> DispatchedProgram:
    """Compile a program up to `executable-sources` and find its problems.

    Args:
        path: the program: a model, one dispatch, or a dispatch benchmark that the compiler has dumped, which is
            stripped of its configuration.
        flags: flags of the session.
        first: the phase that the program has passed.
        sizes: the sizes of dynamic dimensions of its arguments, at which dynamic dispatches are tuned.
        options: the functions that count, and their arguments.
        specs: specs whose replace entries apply to the program.
        machine: the target that the user named, on which their kernels must run.

    Raises:
        CompileError: it cannot be read, does not compile, has no dispatch, no such dynamic dimension or function, or
            an input does not fit.
    """
    with compiler_run(path, flags) as run:
        calls, saved, original = form_replaced(
            run, specs, first=first, sizes=sizes, options=options, machine=machine, flags=flags
        )
        materialize_encodings(run.module)
        dispatched = without_weights(run.module)
    program = mlir.Module.parse(dispatched, thread_context()).operation
    is_whole = not any(map(is_benchmark, body(program)))
    benchmarks = dump_benchmarks(program) if is_whole else [program]
    weights = {function.name: function.weight for function in options.functions} or None
    counts = count_calls(program, weights, initializations=0) if is_whole else Counter[str]()
    arguments = dispatch_arguments(program, lambda *_: None) if is_whole else {}
    built: list[tuple[mlir.Operation, SizedFunction, tuple[SizedFunction, ...]]] = []
    omissions: list[Omission] = []
    seen: set[str] = set()
    # Static dispatches.
    for module in benchmarks:
        (variant,) = collect(module, names.EXECUTABLE_VARIANT)
        name = dispatch_name(variant)
        seen.add(name)
        if not collect(variant, names.FUNCTION):
            omissions.append(Omission((name,), _KERNEL))
            continue
        is_on_cpu = Target.from_attribute(variant.attributes["target"]).backend == CPU
        try:
            passed = () if is_on_cpu else arguments.get(name, ())
            built.append((module, build_benchmark(module, passed), ()))
        except NoBenchmarkError as failure:
            omissions.append(Omission((name,), str(failure)))
    # Dynamic dispatches, whose function is the one for the least work.
    if is_whole and sizes:
        dynamic = dynamic_benchmarks(program, sizes, frozenset(seen))
        built += [(module, smallest(functions), functions) for module, functions in dynamic]
    # Join equal dispatches.
    tasks: dict[str, TuningTask] = {}
    for module, function, sized in built:
        (variant,) = collect(module, names.EXECUTABLE_VARIANT)
        name = dispatch_name(variant)
        seen.add(name)
        task = TuningTask(
            problem_key(variant, function.layout, sized),
            (name,),
            (symbol_name(collect(variant, names.FUNCTION)[0]) or "",),
            counts[name] if is_whole else 1,
            Target.from_attribute(variant.attributes["target"]),
            to_bytecode(module),
            function.name,
            function.layout,
            sized,
        )
        if equal := tasks.get(task.key):
            task = replace(
                equal,
                dispatches=(*equal.dispatches, *task.dispatches),
                functions=(*equal.functions, *task.functions),
                calls=equal.calls + task.calls,
            )
        tasks[task.key] = task
    # The called dispatches without a benchmark.
    if missing := tuple(name for name in counts if name not in seen):
        omissions.append(Omission(missing, _NOT_GIVEN if sizes else _DYNAMIC))
    if not tasks and not omissions:
        raise no_dispatch(path)
    in_caches = tuple(_with_program_sets(tasks.values()))
    return DispatchedProgram(saved, calls, in_caches, tuple(omissions), original)


# --- The data in the caches when a program calls a dispatch

CPU: Final = "llvm-cpu"
"""The backend for CPUs."""

_MOST_BYTES: Final = {True: 128 << 20, False: 256 << 20}
"""The most data of a program between two calls, on a CPU, of whose last-level cache a core uses less, and on a GPU, of which
the largest has as much (an MI300X; an H200 has 50 MB)."""

_BOUND: Final = {True: 128.0, False: 64.0}
"""The most operations per byte of a dispatch that waits for memory, on a CPU and on a GPU. A core that does 115 operations in
f32 while it reads 21 bytes does over 5 for each of them. An H200 does 206 in f16, and a decode step at most two for each
element of its weights and sequence of the batch."""


def _with_program_sets(tasks: Iterable[TuningTask]) -> Iterator[TuningTask]:
    """Yield tasks with the sets that the program uses between two calls of each in their layouts.

    Weights come from the last-level cache or from memory in each run of the program. A benchmark that repeats its
    dispatch on the same data shows neither that cost nor the savings of cache tiles. Data that the program has just
    computed is in the caches, so this is for dispatches that mostly read weights, and that may wait for memory, as all
    products in a decode step do. Others run at the rate of the arithmetic either way.
    """
    costs: list[tuple[TuningTask, bool, bool, int]] = []
    for task in tasks:
        is_on_cpu, waits, weights = task.target.backend == CPU, False, 0
        if not task.is_dynamic:
            cost = cost_of(mlir.Module.parse(task.source, thread_context()).operation)
            unknown = 0.0 if is_on_cpu else inf
            intensity = unknown if cost.intensity is None else cost.intensity
            waits = intensity <= _BOUND[is_on_cpu]
            # Dispatches count that mostly read arguments.
            arguments = argument_bytes(task.layout)
            weights = arguments if waits and 2 * arguments > (cost.bytes or 0) else 0
        costs.append((task, is_on_cpu, waits, weights))
    used = sum(task.calls * weights for task, *_, weights in costs)
    for task, is_on_cpu, waits, weights in costs:
        sets = task.layout.variants if waits and not is_on_cpu else 1
        if weights:
            sets = max(1, min(used, _MOST_BYTES[is_on_cpu]) // weights)
        yield replace(task, layout=replace(task.layout, program_sets=sets))


# --- Dynamic dispatches that are specialized for ranges of sizes: the ranges, their tasks, and the choice of code for a size

FALLBACK: Final = "condition_fallback"
"""The attribute of an export with a condition: which other one to take where it does not hold."""


def select_exports(module: mlir.Operation) -> None:
    """Make the functions of benchmarks at `executable-configurations` call the code for their sizes, in place."""
    exports = {symbol_name(export): export for export in collect(module, names.EXECUTABLE_EXPORT)}
    if not any(FALLBACK in export.attributes for export in exports.values()):
        return

    def is_for(export: mlir.Operation, workload: Sequence[int | None]) -> bool:
        """Return whether an export is for a workload; its condition is a region that returns a truth value."""
        for block in [block for region in export.regions for block in region]:
            results = list(block.operations)[-1].operands
            if [str(result.type) for result in results] == ["i1"]:
                _, *arguments = block.arguments
                sizes = SizeEvaluator(given=dict(zip(arguments, workload, strict=True)))
                return bool(sizes.value(results[0]))
        return True

    with module.context:
        for function in body(module):
            if function.name != names.UTIL_FUNCTION:
                continue
            lookups = collect(function, "hal.executable.lookup.function")
            for workgroups in collect(function, "hal.executable.calculate_workgroups"):
                # Take the export whose condition holds, or the last one, which has no condition.
                entry_point: Any = workgroups.attributes["entry_point"]
                name = str(entry_point.value[-1])
                sizes = SizeEvaluator()
                _, *workload = map(sizes.value, workgroups.operands)
                while not is_for(exports[name], workload):
                    name = mlir.FlatSymbolRefAttr(exports[name].attributes[FALLBACK]).value
                for operation in (workgroups, *lookups):
                    old: Any = operation.attributes["entry_point"]
                    path = mlir.SymbolRefAttr.get([*old.value[:-1], name])
                    operation.attributes["entry_point"] = path


def dynamic_loops(task: TuningTask) -> tuple[int, ...]:
    """Return the numbers of the dynamic loops of the root op of a task; none without exactly one root op."""
    module = mlir.Module.parse(task.source, thread_context()).operation
    root = _root(module)
    if root is None:
        return ()
    return tuple(loop for loop, size in enumerate(StructuredOp(root).sizes) if size is None)


def specialize(task: TuningTask, bounds: Mapping[int, SizeRange]) -> TuningTask | None:
    """Return a dynamic dispatch in the form that the compiler gives it for a range of sizes of its loops.

    Returns:
        None if the compiler generates no separate code for these sizes, or none of them is measured.
    """
    # Restrict the benchmarked sizes to the range.
    functions = tuple(
        function
        for function in task.sized
        if all(
            any(size in sizes for size in function.loops[loop : loop + 1] if size)
            for loop, sizes in bounds.items()
        )
    )
    module = mlir.Module.parse(task.source, thread_context()).operation
    root = _root(module)
    if root is None or not any(function.weight for function in functions):
        return None
    loops = len(StructuredOp(root).sizes)
    # Let the compiler specialize the dispatch, and keep only the variant for the range.
    root.attributes[SPECIALIZATION_RANGES] = specialization_ranges([bounds], loops, module.context)
    PassManager.parse(
        "builtin.module(hal.executable(hal.executable.variant(iree-codegen-specialize-exports)))",
        module.context,
    ).run(module)
    exports = collect(module, names.EXECUTABLE_EXPORT)
    specialized = [export for export in exports if FALLBACK in export.attributes]
    if len(specialized) != 1:
        return None
    # Remove the function for all other sizes, the condition, and the benchmarks of sizes outside the range. The specialized
    # function has the name of the original one, which the functions of the benchmark refer to.
    (conditional,) = specialized
    fallback = mlir.FlatSymbolRefAttr(conditional.attributes[FALLBACK]).value
    for export in exports:
        if symbol_name(export) == fallback:  # it is equal but for its name and the condition
            for name in (names.SYMBOL_NAME, "ordinal"):
                export.attributes[name] = conditional.attributes[name]
    conditional.erase()
    kept = {function.name for function in functions}
    removed = [op for op in collect(module, names.FUNCTION) if symbol_name(op) == fallback]
    removed += [
        op for op in body(module) if op.name == names.UTIL_FUNCTION and symbol_name(op) not in kept
    ]
    for operation in removed:
        operation.erase()
    # The smallest size is the problem of the task.
    (variant,) = collect(module, names.EXECUTABLE_VARIANT)
    least = smallest(functions)
    return replace(
        task,
        key=problem_key(variant, least.layout, functions),
        source=to_bytecode(module),
        function=least.name,
        layout=least.layout,
        sized=functions,
        bounds=bounds,
    )


def _root(module: mlir.Operation) -> mlir.Operation | None:
    roots = [root for function in find_root_ops(module) for root in function.roots]
    return roots[0] if len(roots) == 1 else None


Box = dict[int, SizeRange]
"""Ranges of loops, by their numbers."""


def boxes_around(
    functions: Sequence[SizedFunction], loops: Sequence[int], least: int = 1
) -> list[Box]:
    """Return disjoint boxes around the combinations of sizes of functions; none if a size is unknown.

    The sizes of the `loops` differ, and a range has at least `least` sizes.
    """
    rows = [
        [size for loop in loops for size in function.loops[loop : loop + 1] if size]
        for function in functions
    ]
    if any(len(row) < len(loops) for row in rows):
        return []
    ranges = [ranges_around(column, least) for column in zip(*rows, strict=True)]
    boxes: list[Box] = []
    for row in rows:
        box = {loop: of[size] for loop, of, size in zip(loops, ranges, row, strict=True)}
        if box not in boxes:
            boxes.append(box)
    return boxes


def box_above(
    box: Mapping[int, SizeRange], excluded: SizedFunction, functions: Sequence[SizedFunction]
) -> Box:
    """Return a box without the sizes of one function in it, which begins at the next larger ones of the others."""
    narrowed = dict(box)
    for loop, sizes in box.items():
        least = excluded.loops[loop] or 0
        larger = [size for function in functions if (size := function.loops[loop] or 0) > least]
        if larger:
            narrowed[loop] = SizeRange(min(larger), sizes.high, sizes.divisor)
    return narrowed
