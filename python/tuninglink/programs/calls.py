"""Calls of a program and of its benchmarks: what they take, how they fail, and verdicts on their outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final

import numpy as np
from iree.compiler import ir as mlir

from tuninglink.compiler import (
    Invocation,
    Phase,
    SavedProgram,
    compiler_run,
    program_targets,
    refuse_spec,
)
from tuninglink.errors import CompileError, TuninglinkError, did_you_mean
from tuninglink.iree import GivenSizes, Target, combinations
from tuninglink.mlir import body, error, names, note
from tuninglink.passes.strip_configs import strip_configurations
from tuninglink.plain_data import named, written
from tuninglink.preprocessing import replace_ops
from tuninglink.programs.compiled_program import (
    CallOptions,
    CompiledProgram,
    EntryFunction,
    FunctionWeight,
    GivenInput,
    ParameterSource,
    ProgramInput,
    element_type,
    is_stateful,
    read_entry_functions,
    read_expected,
    read_input,
    read_parameters,
)
from tuninglink.specs import Spec


class FailureKind(Enum):
    """The reason why a trial has no time; the value is its name in databases and reports."""

    COMPILE = "compile"
    COMPILE_TIMEOUT = "compile-timeout"
    COMPILE_CRASH = "compile-crash"
    LOAD = "load"
    RUN = "run"
    TIMEOUT = "timeout"
    CRASH = "crash"
    WRONG = "wrong"
    OUT_OF_BOUNDS = "out-of-bounds"
    SLOWER = "slower"


COMPILE_FAILURES: Final = frozenset(
    {FailureKind.COMPILE, FailureKind.COMPILE_CRASH, FailureKind.COMPILE_TIMEOUT}
)
"""The failures of a trial that has no code."""

WRONG_RESULTS: Final = frozenset({FailureKind.WRONG, FailureKind.OUT_OF_BOUNDS})
"""The failures of a trial that computes something else than the operation."""


@dataclass(frozen=True)
class Failure:
    """A trial that failed.

    Attributes:
        message: the diagnostic, or the observation.
        is_external: whether the machine caused the failure, not the trial: a process was killed, or a time limit
            expired while other processes used the processors. Such a failure is not stored for later runs.
    """

    kind: FailureKind
    message: str
    is_external: bool = False


class FatalError(TuninglinkError):
    """An error that ends a run: the last device is lost, or results cannot be stored. Other errors lose one task."""


def reason_of(failure: Exception) -> str:
    """Return the reason for omitting a task after an error."""
    if isinstance(failure, MemoryError):
        return "out of memory"
    if isinstance(failure, TuninglinkError) and failure.diagnostics:
        return failure.diagnostics[0].message
    text = str(failure)
    if type(failure).__module__.startswith("tuninglink."):
        return text
    return f"{type(failure).__name__}: {text}" if text else type(failure).__name__


class Correctness(Enum):
    """The correctness of a result; the values appear in reports."""

    RIGHT = "right"
    WRONG = "wrong"
    FAILED = "fails"
    UNDECIDED = "not decided"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class OutputSample:
    """An element of the output of a binding, and its correct value."""

    binding: int
    position: tuple[int, ...]
    actual: float
    expected: float


@dataclass(frozen=True)
class OutputVerdict:
    """The verdict of the reference on a result, its figures or why there is none, and the elements that differ most."""

    correctness: Correctness = field(metadata=named("result"))
    reason: str = field(default="", metadata=named("finding"))
    samples: tuple[OutputSample, ...] = ()


@dataclass(frozen=True)
class OutputComparison:
    """The errors of a program's outputs, without and with a spec.

    Errors are Frobenius norms of differences, relative to the expected values; the largest of all outputs.

    Attributes:
        source: the origin of the expected outputs, such as `llvm-cpu`.
        default_error: the error without a spec; None if the expected outputs are those of the default.
        tuned_error: the error with the spec; None without a spec.
        note: the reason why a better source is missing; empty if none is missing.
        has_overflow: whether outputs are infinite or NaN where the expected ones are finite.
        narrow_sums: where outputs are wrong, the dispatches that add up in f16 or bf16, with the remedy; else empty.
    """

    source: str
    tolerance: float
    default_error: float | None = None
    tuned_error: float | None = None
    note: str = ""
    has_overflow: bool = False
    narrow_sums: str = ""

    @property
    @written()
    def default_is_wrong(self) -> bool:
        """Whether the error without a spec exceeds the tolerance."""
        return self.default_error is not None and self.default_error > self.tolerance

    @property
    def is_repaired(self) -> bool:
        """Whether the program's outputs are wrong without the spec and correct with it."""
        is_right = self.tuned_error is not None and self.tuned_error <= self.tolerance
        return self.default_is_wrong and is_right

    @property
    def error(self) -> float | None:
        """The error with the spec, or without one if none was applied."""
        return self.default_error if self.tuned_error is None else self.tuned_error

    @property
    def limit(self) -> float:
        """The largest error of an accepted tuned program."""
        if self.default_error is None:
            return self.tolerance
        if self.default_is_wrong:
            return self.default_error * 1.1  # both are wrong alike
        # Four times the error of the default, or a tenth of the tolerance if the default is more exact.
        return min(self.tolerance, max(4 * self.default_error, self.tolerance / 10))

    @property
    def failure(self) -> str:
        """The fault of the tuned program; empty if it is accepted."""
        if self.tuned_error is None or self.tuned_error <= self.limit:
            return ""
        return (
            f"its outputs differ from those of {self.source}: relative error "
            f"{_number(self.tuned_error)}, at most {_number(self.limit)} is accepted"
        )

    @property
    @written()
    def finding(self) -> str:
        """The fault of the default; empty if it is correct or was not compared."""
        if not self.default_is_wrong:
            return ""
        error = f"relative error {_number(self.default_error)}, at most {_number(self.tolerance)} is rounding"
        where = f"the outputs of the program as compiled differ from those of {self.source}"
        if self.is_repaired:
            return f"{where} ({error}), and with the spec they agree: the default is wrong"
        narrow = f"; {self.narrow_sums}" if self.narrow_sums else ""
        if self.has_overflow:
            where = (
                f"the program as compiled gives infinities or NaNs where {self.source} is finite"
            )
            return f"{where}; tuninglink verify names the first dispatch that makes them{narrow}"
        return (
            f"{where} ({error}): one of both is wrong, or the program amplifies rounding, as recurrent ones with random "
            f"weights do; tuninglink verify judges the dispatches{narrow}"
        )

    def __str__(self) -> str:
        """Return a line with the errors; an empty string without errors."""
        labelled = (self.default_error, "by default"), (self.tuned_error, "with the spec")
        errors = [f"{_number(value)} {label}" for value, label in labelled if value is not None]
        if not errors:
            return ""
        return f"relative error of the outputs against {self.source}: {', '.join(errors)}"


def _number(value: float | None) -> str:
    if value is None:
        return "unknown"
    return "infinite" if math.isinf(value) else f"{value:.2g}"


# --- Calls of a program: its functions, their inputs, and how to compile them --------------------------


@dataclass(frozen=True)
class FunctionCall:
    """A function of a program with its inputs.

    Attributes:
        weight: the number of its counted calls.
        has_fences: whether a fence to wait for and a fence to signal follow the inputs.
        obstacle: the reason why it cannot be called; empty if it can.
        sizes: the sizes of dynamic dimensions of its inputs, in the syntax of the command line; empty if not given.
        expected: its expected results; empty if not given.
    """

    name: str
    weight: int
    inputs: tuple[ProgramInput, ...] = ()
    has_fences: bool = False
    obstacle: str = ""
    sizes: str = ""
    expected: tuple[np.typing.NDArray[Any], ...] = field(default=(), repr=False, compare=False)

    @property
    def label(self) -> str:
        """The label of the call in its program: the function, and the sizes."""
        return f"{self.name} at {self.sizes}" if self.sizes else self.name


@dataclass(frozen=True)
class ProgramCalls:
    """The calls that make up the time of a program.

    Attributes:
        parameters: the source of its weights.
        is_stateful: whether its results may depend on earlier calls.
        dynamic: the dynamic dimensions of arguments, as pairs of argument and dimension.
    """

    functions: tuple[FunctionCall, ...] = ()
    parameters: ParameterSource = field(default_factory=ParameterSource)
    is_stateful: bool = False
    dynamic: tuple[tuple[int, int], ...] = ()

    @property
    def takes_integers(self) -> bool:
        """Whether random integers are among the inputs of the functions that can be called."""
        return any(
            argument.content is None and argument.element_type.startswith("i")
            for function in self.functions
            for argument in function.inputs
            if not function.obstacle
        )

    def compiled(
        self, call: FunctionCall, image: bytes, integers: tuple[int, int]
    ) -> CompiledProgram:
        """Return a compiled program with the inputs of a call, and the range of random integers among them."""
        return CompiledProgram(
            image,
            call.name,
            call.inputs,
            call.has_fences,
            self.is_stateful,
            self.parameters,
            integers,
        )


def read_calls(
    module: mlir.Operation, options: CallOptions, sizes: Sequence[GivenSizes] = ()
) -> ProgramCalls:
    """Return the calls of a program that a user selects.

    A function with dynamic arguments is called once at each combination of sizes.
    """
    entries = {entry.name: entry for entry in read_entry_functions(module)}
    # The options must name functions and dimensions of the program.
    named = [function.name for function in options.functions]
    named += [given.function for given in (*options.inputs, *options.expected) if given.function]
    for name in named:
        if name not in entries:
            message = f"the program has no function '{name}'{did_you_mean(name, entries)}"
            raise _usage_error(message, f"functions: {', '.join(entries) or 'none'}")
    places = dict.fromkeys(place for e in entries.values() for place in e.dynamic_dimensions)
    for size in sizes:
        if not any(size.applies_to(*place) for place in places):
            listed = ", ".join(f"{argument}.{dimension}" for argument, dimension in places)
            message = f"'--dim {size}' is about no dynamic dimension of the program's arguments"
            raise _usage_error(message, f"dynamic dimensions: {listed or 'none'}")
    chosen = options.functions or tuple(map(FunctionWeight, entries))
    for option, values in (("--input", options.inputs), ("--expected", options.expected)):
        unnamed = next((given for given in values if not given.function), None)
        if unnamed is not None and len(chosen) != 1:
            listed = ", ".join(function.name for function in chosen)
            raise _usage_error(
                f"'{option} {unnamed}' does not name its function, and the program has several",
                f"name one of {listed}, as in {option} {chosen[0].name}:{unnamed}",
            )
    # Their calls.
    calls: list[FunctionCall] = []
    for function in chosen:
        entry, owners = entries[function.name], {"", function.name}
        inputs = [given for given in options.inputs if given.function in owners]
        expected = [given for given in options.expected if given.function in owners]
        # One call, or one at each combination of the sizes on which the function depends.
        relevant = [
            size for size in sizes if any(size.applies_to(*at) for at in entry.dynamic_dimensions)
        ]
        called = [_call(entry, function.weight, inputs)]
        if relevant and not inputs:
            called = []
            for given in combinations(relevant):
                call = _call(entry.with_sizes(given), function.weight * given.weight, ())
                called.append(replace(call, sizes=str(given)))
        calls += _with_expected(called, entry, expected) if expected else called
    parameters = ParameterSource(read_parameters(module), options.parameters)
    parameters.check()
    dynamic = dict.fromkeys(
        place for function in chosen for place in entries[function.name].dynamic_dimensions
    )
    return ProgramCalls(tuple(calls), parameters, is_stateful(module), tuple(dynamic))


def _usage_error(message: str, remedy: str) -> CompileError:
    return CompileError(error(message, notes=[note(remedy)]))


def _with_expected(
    calls: Sequence[FunctionCall], entry: EntryFunction, expected: Sequence[GivenInput]
) -> list[FunctionCall]:
    """Return the calls of a function with the outputs that are expected of them."""
    if any(argument.content is None for call in calls for argument in call.inputs):
        message = f"'--expected {expected[0]}': the inputs of function '{entry.name}' are random"
        raise _usage_error(message, "give its inputs with --input, one for each argument")
    if len(expected) != len(entry.results):
        message = f"function '{entry.name}' has {len(entry.results)} results; {len(expected)} are expected"
        raise CompileError(error(message))
    values = tuple(
        read_expected(given, result, f"result {number} of function '{entry.name}'")
        for number, (given, result) in enumerate(zip(expected, entry.results, strict=True))
    )
    return [replace(call, expected=values) for call in calls]


def _call(entry: EntryFunction, weight: int, given: Sequence[GivenInput]) -> FunctionCall:
    if entry.obstacle:
        return FunctionCall(entry.name, weight, obstacle=entry.obstacle)
    # Use the given inputs, or random ones of static shapes.
    arguments = entry.arguments
    if given:
        if len(given) != len(arguments):
            takes = f"function '{entry.name}' takes {len(arguments)} inputs"
            raise CompileError(error(f"{takes}; {len(given)} are given"))
        values = tuple(
            read_input(value, argument, f"input {number} of function '{entry.name}'")
            for number, (value, argument) in enumerate(zip(given, arguments, strict=True))
        )
        return FunctionCall(entry.name, weight, values, entry.has_fences)
    inputs: list[ProgramInput] = []
    for number, argument in enumerate(arguments):
        kind, shape, is_updated = argument.element_type, argument.shape, argument.is_updated
        sizes, obstacle = tuple(size for size in shape or () if size is not None), ""
        if len(sizes) != len(shape or ()):
            obstacle = f"the sizes of argument {number} are dynamic; give it with --input, or --dim"
        elif element_type(kind) is None:
            obstacle = f"argument {number} is of type '{kind}'"
        if obstacle:
            return FunctionCall(entry.name, weight, obstacle=obstacle)
        inputs.append(ProgramInput(sizes, kind, None, shape is None, is_updated))
    return FunctionCall(entry.name, weight, tuple(inputs), entry.has_fences)


_DATA_TILING: Final = {
    f"--iree-{at}-data-tiling" for at in ("opt", "global-opt", "dispatch-creation")
}


def form_replaced(
    run: Invocation,
    specs: Sequence[Spec],
    *,
    first: Phase,
    sizes: Sequence[GivenSizes],
    options: CallOptions,
    machine: Target | None = None,
    flags: Sequence[str] = (),
) -> tuple[ProgramCalls | None, SavedProgram, SavedProgram]:
    """Take a program to `executable-sources`, with ops replaced by the entries of specs; see `replace_ops`.

    Returns:
        The calls that make up its time, None if its functions cannot be read; the program, saved on the way; and the
        program without replaced ops and data tiling: the code of another processor for its layouts may be wrong.
    """
    refuse_spec(run.module)
    if _is_dispatched(run.module):
        strip_configurations(run.module)
        return None, (saved := run.save(Phase.EXECUTABLE_SOURCES)), saved
    first, original = advance_to_abi(run, first), None
    calls = read_calls(run.module, options, sizes) if first is Phase.ABI else None
    is_tiled = not _DATA_TILING.isdisjoint(flags)
    if first is Phase.ABI and (is_tiled or any(spec.replacing for spec in specs)):
        run.advance(first, first := Phase.PREPROCESSING)
        original = run.save(first)
        targets = program_targets(run.module)
        replace_ops(run.module, targets, specs, None, lambda _: None, machine=machine)
    if first < Phase.FLOW:
        run.advance(first, first := Phase.FLOW)
    formed = run.save(first) if first is Phase.FLOW else None
    run.advance(first, Phase.EXECUTABLE_SOURCES)
    formed = formed or run.save(Phase.EXECUTABLE_SOURCES)
    return calls, formed, original or formed


def program_calls(
    path: str, *, first: Phase, sizes: Sequence[GivenSizes], options: CallOptions
) -> ProgramCalls | None:
    """Return the calls that make up the time of a program; None if its functions cannot be read.

    See `read_program` for errors.
    """
    with compiler_run(path, ()) as run:
        refuse_spec(run.module)
        if _is_dispatched(run.module) or advance_to_abi(run, first) is not Phase.ABI:
            return None
        return read_calls(run.module, options, sizes)


def _is_dispatched(module: mlir.Operation) -> bool:
    return any(op.name == names.EXECUTABLE for op in body(module))


def advance_to_abi(run: Invocation, first: Phase) -> Phase:
    """Take a program to `abi`, and return the phase that it has passed, which may be a later one."""
    if first < Phase.INPUT:
        run.module.context.dialects[names.FUNCTION.partition(".")[0]]
        run.advance(first, first := Phase.INPUT)
    if first < Phase.ABI:
        run.advance(first, first := Phase.ABI)
    return first
