"""Compilation of a program and its reference in separate processes, one for each set of flags, as flags are global."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, TypeVarTuple

from tuninglink.compiler.compile_options import Phase
from tuninglink.compiler.prepared_dispatches import has_encodings
from tuninglink.compiler.program_sources import SavedProgram, compiler_run
from tuninglink.errors import CompileError
from tuninglink.iree.dispatches import find_dispatches, find_root_ops
from tuninglink.spaces.configuration import read_configuration
from tuninglink.spaces.configuration_answers import miscompilation
from tuninglink.spaces.workload import read_workload
from tuninglink.tuning.candidates.compilation import compile_program, prepare_whole_worker
from tuninglink.tuning.programs.program_calls import FunctionCall, ProgramCalls, form_dispatches
from tuninglink.tuning.references.program_reference import ProgramReference
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError, do_nothing

if TYPE_CHECKING:
    from iree.compiler import ir as mlir
    from numpy.typing import NDArray

    from tuninglink.iree.given_sizes import GivenSizes
    from tuninglink.tuning.programs import CallOptions

    Outputs = Mapping[str, tuple[NDArray[Any], ...]]


Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

_CUDA: Final = "cuda"
"""The backend for which miscompilations are known."""


@dataclass(frozen=True)
class ProgramSource:
    """A program given by the user.

    Attributes:
        path: its path.
        first: the last phase that the program has passed.
        sizes: the sizes of dynamic dimensions of its arguments.
        calls: its functions to call, and their arguments.
    """

    path: str
    first: Phase
    sizes: tuple[GivenSizes, ...]
    calls: CallOptions


@dataclass(frozen=True)
class CompiledSource:
    """A compiled program.

    Attributes:
        image: the module, a VM FlatBuffer.
        calls: the calls that make up its time; None if its functions cannot be read.
        backends: the backends that compiled it.
        seconds: the compilation time.
        is_data_tiled: whether the compiler chose the layout of operands.
        wrong_defaults: the number of dispatches whose default is known to be miscompiled.
    """

    image: bytes = field(repr=False)
    calls: ProgramCalls | None
    backends: tuple[str, ...]
    seconds: float
    is_data_tiled: bool = False
    wrong_defaults: int = 0


@dataclass(frozen=True)
class FormedSource:
    """A program after the formation of dispatches.

    Attributes:
        program: the program.
        backend: the backend of its first dispatch.
    """

    program: SavedProgram
    backend: str


class SetCompiler:
    """Compiles a program under sets of flags, in order of submission.

    Args:
        jobs: the number of parallel compilations.
    """

    def __init__(self, jobs: int) -> None:
        self._threads = ThreadPoolExecutor(jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def submit(
        self, source: ProgramSource, flags: Sequence[str], deadline: float, spec: str = ""
    ) -> Future[CompiledSource | str]:
        """Compile a program.

        Args:
            source: the program.
            flags: all flags of the compiler.
            deadline: the time limit, in seconds of `time.monotonic()`.
            spec: the spec to apply; empty for none.

        Returns:
            A future of the program or of the failure.
        """
        return self._threads.submit(_compile, source, tuple(flags), deadline, spec)


def _compile(
    source: ProgramSource, flags: tuple[str, ...], deadline: float, spec: str
) -> CompiledSource | str:
    """Compile a program in a separate process."""
    return _in_process(flags, deadline, compile_source, source, spec)


def form_sources(
    source: ProgramSource, flags: tuple[str, ...], deadline: float
) -> FormedSource | str:
    """Form the dispatches of a program in a separate process.

    Args:
        source: the program.
        flags: all flags of the compiler.
        deadline: the time limit, in seconds of `time.monotonic()`.

    Returns:
        The program or the failure.
    """
    return _in_process(flags, deadline, formed_source, source)


def _in_process(
    flags: tuple[str, ...],
    deadline: float,
    function: Callable[[*Arguments], Result | str],
    *arguments: *Arguments,
) -> Result | str:
    """Call a function in a separate process whose command line holds flags."""
    left = deadline - time.monotonic()
    if left <= 0:
        return "it was not compiled: there was no time left"
    try:
        with Pool(1, prepare_whole_worker, (flags,)) as pool:
            try:
                pool.submit(do_nothing).result()
            except WorkerCrashedError:
                return "the compiler rejects the flags"
            return pool.submit(function, *arguments, seconds=left).result()
    except JobTimeoutError as failure:
        return f"it did not compile within {failure.seconds:.3g} s"
    except WorkerCrashedError as failure:
        return f"the compiler crashed: {failure.status}"


def formed_source(source: ProgramSource) -> FormedSource | str:
    """Form the dispatches of a program in this process, whose command line holds the flags."""
    try:
        with compiler_run(source.path, ()) as run:
            _, saved = form_dispatches(
                run, first=source.first, sizes=source.sizes, options=source.calls
            )
            targets = [dispatch.target for dispatch in find_dispatches(run.module)]
            backends = [target.backend for target in targets if target is not None]
            if not backends:
                return "it has no dispatch"
            return FormedSource(saved, backends[0])
    except CompileError as failure:
        return failure.diagnostics[0].message


def compile_source(source: ProgramSource, spec: str) -> CompiledSource | str:
    """Compile a program in this process, whose command line holds the flags.

    Args:
        source: the program.
        spec: the spec to apply; empty for none.

    Returns:
        The program, or the first error.
    """
    began = time.monotonic()
    try:
        with compiler_run(source.path, ()) as run:
            # Form the dispatches, and read their properties.
            calls, saved = form_dispatches(
                run, first=source.first, sizes=source.sizes, options=source.calls
            )
            dispatches = find_dispatches(run.module)
            targets = [dispatch.target for dispatch in dispatches]
            backends = tuple(
                dict.fromkeys(target.backend for target in targets if target is not None)
            )
            is_tiled = any(has_encodings(dispatch.module) for dispatch in dispatches)
            wrong_defaults, phase = 0, Phase.EXECUTABLE_SOURCES
            if _CUDA in backends:
                run.advance(phase, phase := Phase.EXECUTABLE_CONFIGURATIONS)
                wrong_defaults = miscompiled_defaults(run.module)
            # Without a spec, finish this compilation; with one, compile the saved program.
            if not spec:
                run.advance(phase, Phase.END)
                image = run.image()
        if spec:
            compiled = compile_program(saved.content, spec, saved.phase)
            if isinstance(compiled, str):
                return compiled
            image = compiled.image
    except CompileError as failure:
        return failure.diagnostics[0].message
    seconds = time.monotonic() - began
    return CompiledSource(image, calls, backends, seconds, is_tiled, wrong_defaults)


def miscompiled_defaults(module: mlir.Operation) -> int:
    """Return the number of dispatches of a configured program whose code is known to be miscompiled."""
    configured = [
        (read_workload(root, op.function), read_configuration(root, op.function))
        for op in find_root_ops(module)
        for root in op.roots
    ]
    return sum(
        configuration is not None and bool(miscompilation(workload, configuration))
        for workload, configuration in configured
    )


@dataclass
class SourceReference:
    """The expected outputs of a program, computed in separate processes when they are first needed.

    Attributes:
        source: the program.
        flags: the user's flags.
        seed: the seed of random inputs.
        seconds: the time limit.
        name: the name of the reference target, once it was computed.
    """

    source: ProgramSource
    flags: tuple[str, ...]
    seed: int
    seconds: float
    name: str = ""
    _outputs: dict[tuple[int, int], Outputs | str] = field(default_factory=dict)

    def outputs(
        self, calls: ProgramCalls, functions: Sequence[FunctionCall], integers: tuple[int, int]
    ) -> Outputs | str:
        """See `ProgramReference.outputs`."""
        if integers not in self._outputs:
            self._outputs[integers] = self._compute(calls, functions, integers)
        return self._outputs[integers]

    def _compute(
        self, calls: ProgramCalls, functions: Sequence[FunctionCall], integers: tuple[int, int]
    ) -> Outputs | str:
        end = time.monotonic() + self.seconds
        formed = form_sources(self.source, self.flags, end)
        if isinstance(formed, str):
            return formed
        left = max(0.0, end - time.monotonic())
        with ProgramReference(formed.program, formed.backend, self.seed, left) as reference:
            self.name = reference.name
            return reference.outputs(calls, functions, integers)
