"""Compilation of candidates in worker processes, from `executable-configurations` on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, TypeVarTuple

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.compiler import (
    CompileOptions,
    Phase,
    SavedProgram,
    compiler_run,
    session_flags,
    set_up_command_line,
)
from tuninglink.errors import CompileError, TuninglinkError
from tuninglink.iree import find_amd_spills, find_root_ops, stack_overflow, stack_report_flag
from tuninglink.llvm_flags import flag_name
from tuninglink.mlir import names, thread_context, to_bytecode, to_text
from tuninglink.passes.strip_configs import strip_configurations
from tuninglink.programs import (
    Benchmark,
    BufferLayout,
    Failure,
    FailureKind,
    SizedFunction,
    TuningTask,
)
from tuninglink.spaces.model import Configuration, Workload, read_configuration, read_workload
from tuninglink.specs import Spec
from tuninglink.tuning.candidates.candidate_spaces import Candidate, CandidateOrigin
from tuninglink.workers import (
    JobTimeoutError,
    Pool,
    WorkerCrashedError,
    do_nothing,
    processor_count,
)

if TYPE_CHECKING:
    from tuninglink.compiler import Compilation


T = TypeVar("T")
Ts = TypeVarTuple("Ts")
R = TypeVar("R")

Outcome: TypeAlias = Benchmark | Failure
"""The outcome of compiling a candidate."""

_WHOLE_AT_ONCE: Final = 3
"""The parallel compilations of whole programs: without a spec, with one, and with repairs alone."""

PTX_FLAG: Final = "--iree-hal-link-executables=false"
"""The flag that leaves each dispatch a module of PTX, so that CUDA's driver compiles only what is new, in parallel. Linked, a
program is one module, of which 18,000 lines took 7 s whenever a dispatch had changed. The code is the same."""

_WORKER_FLAGS: Final = ("--mlir-disable-threading",)
"""A worker has one core. The flag does not change the output."""


@dataclass(frozen=True)
class BenchmarkTemplate:
    """The template from which candidates of a problem are compiled.

    Attributes:
        content: the configured benchmark, whose root op is marked.
        function: the name of its function.
        sized: the functions of a dynamic dispatch for all its sizes; empty for a static one.
        rewritten: the benchmark with the root op rewritten, configured by the compiler; empty without that candidate.
    """

    content: bytes
    function: str
    layout: BufferLayout
    sized: tuple[SizedFunction, ...] = ()
    rewritten: bytes = b""

    def content_for(self, candidate: Candidate) -> bytes:
        """Return the configured benchmark for a candidate."""
        return self.rewritten if candidate.origin is CandidateOrigin.REWRITING else self.content


class CandidateCompiler(ExitStack):
    """Compiles candidates in processes that may crash or be killed.

    Args:
        flags: compiler flags, including process-wide ones.
        jobs: the number of parallel compilations; by default, the number of cores.
        start: creates a pool of processes, here or on a cluster, given their number, the initializer and its arguments.
    """

    def __init__(
        self,
        flags: Sequence[str],
        jobs: int | None = None,
        start: Callable[[int, Callable[..., object], tuple[Any, ...]], Any] = Pool,
    ) -> None:
        super().__init__()
        self.jobs = jobs or processor_count()
        self._pool: Pool = start(self.jobs, prepare_worker, (tuple(flags),))
        self._whole_pool: Pool = start(_WHOLE_AT_ONCE, prepare_worker, (tuple(flags), True))
        # Closing kills the processes, including running jobs.
        self.callback(self._whole_pool.close)
        self.callback(self._pool.close)
        for _ in range(self.jobs):
            self._pool.submit(do_nothing)  # start all processes in parallel

    def submit(
        self, template: BenchmarkTemplate, candidate: Candidate, seconds: float
    ) -> Future[Outcome]:
        """Compile a candidate within a time limit. The future is cancelled if the compiler is closed."""
        content = template.content_for(candidate)
        job = self._pool.submit(compile_candidate, content, candidate, seconds=seconds)
        fixed = template.function, template.layout, template.sized
        return _then(job, lambda image: Benchmark(image, *fixed, find_amd_spills(image)))

    def call(self, function: Callable[[*Ts], T], *arguments: *Ts) -> Future[T]:
        """Call a function in a process, whose command line holds the flags."""
        return self._pool.submit(function, *arguments)

    def submit_program(
        self, source: bytes, spec: str, seconds: float
    ) -> Future[Compiled | Failure]:
        """Compile a program at `executable-sources`, such as the benchmark of a task, with a spec or an empty text."""
        job = self._pool.submit(compile_program, source, spec, seconds=seconds)
        return _then(job, lambda compiled: compiled)

    def submit_default(self, task: TuningTask, seconds: float) -> Future[Compiled | Failure]:
        """Compile the compiler's choice for a task, and say if it is known to be miscompiled."""
        if task.target.backend != "cuda":  # whose miscompilations are known
            return self.submit_program(task.source, "", seconds)
        job = self._pool.submit(compile_checked, task.source, seconds=seconds)
        return _then(job, lambda compiled: compiled)

    def submit_whole(
        self, program: SavedProgram, spec: str, seconds: float
    ) -> Future[Compiled | Failure]:
        """Compile a program of many dispatches as `submit_program` does, on all processors."""
        arguments = (program.content, spec, program.phase)
        job = self._whole_pool.submit(compile_program, *arguments, seconds=seconds)
        return _then(job, lambda compiled: compiled)


def _then(job: Future[T | str], convert: Callable[[T], R]) -> Future[R | Failure]:
    """Return a future of a job's converted result, or of its failure; cancelling it cancels the job."""
    answer: Future[R | Failure] = Future()

    def hand_over(_: object) -> None:
        if job.cancelled() or isinstance(job.exception(), CancelledError):
            answer.cancel()
        if not answer.set_running_or_notify_cancel():
            return
        failure, kind = job.exception(), FailureKind.COMPILE_CRASH
        if isinstance(failure, TuninglinkError):
            answer.set_exception(failure)  # not the candidate's fault
        elif isinstance(failure, JobTimeoutError):
            kind, message = (
                FailureKind.COMPILE_TIMEOUT,
                f"it did not compile within {failure.seconds:.3g} s",
            )
            answer.set_result(Failure(kind, message, failure.is_starved))
        elif isinstance(failure, WorkerCrashedError):
            message = f"the compiler crashed: {failure.status}"
            answer.set_result(Failure(kind, message, failure.is_from_outside))
        elif failure is not None:
            # A bug in this code also loses only the candidate, and is reported.
            answer.set_result(Failure(kind, f"{type(failure).__name__}: {failure}"))
        elif isinstance(result := job.result(), str):
            answer.set_result(Failure(FailureKind.COMPILE, result))
        else:
            answer.set_result(convert(result))

    answer.add_done_callback(lambda _: job.cancel() if answer.cancelled() else None)
    job.add_done_callback(hand_over)
    return answer


# --- In a worker -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compiled:
    """A compiled program.

    Attributes:
        image: the module, a VM FlatBuffer.
        seconds: the compilation time.
        processor_seconds: the processor time of all threads, which does not depend on other work on the machine.
        fault: the reason why its code is known to compute wrong results; empty without one, and for other devices than those of CUDA.
        run_ms: the time of its calls, in milliseconds; 0 if they were not measured.
    """

    image: bytes
    seconds: float
    processor_seconds: float = 0.0
    fault: str = ""
    run_ms: float = 0.0


def prepare_worker(flags: Sequence[str], is_whole: bool = False) -> None:  # noqa: FBT001, FBT002 - pickled
    """Set up a worker process that compiles candidates on one core, or whole programs."""
    own: tuple[str, ...] = () if is_whole else (*_WORKER_FLAGS, stack_report_flag())
    is_cuda = any("cuda" in flag.partition("=")[2].split(",") for flag in flags)
    if is_whole and is_cuda and flag_name(PTX_FLAG) not in map(flag_name, flags):
        own = (PTX_FLAG,)
    set_up_command_line("tuninglink tune", (*flags, *own))


def compile_candidate(template: bytes, candidate: Candidate) -> bytes | str:
    """Compile a candidate in this process, whose command line holds the flags."""
    try:
        with compiler_run(template, (), verify=False) as run:
            apply_candidate(run.module, candidate)
            run.advance(Phase.EXECUTABLE_CONFIGURATIONS, Phase.END)
            return stack_overflow() or run.image()
    except CompileError as failure:
        return failure.diagnostics[0].message


def compile_program(
    source: bytes, spec: str, first: Phase = Phase.EXECUTABLE_SOURCES
) -> Compiled | str:
    """Compile a program in this process, whose command line holds the flags; return the module, or the first error.

    The spec is empty for none; `first` is the phase that the program has passed.
    """
    # Without these, a worker that compiles candidates only starts in three quarters of the time.
    from tuninglink.compiler import Compiler, SpecChoice  # noqa: PLC0415
    from tuninglink.matching import has_ranges  # noqa: PLC0415
    from tuninglink.programs import select_exports  # noqa: PLC0415
    from tuninglink.specs import load_spec  # noqa: PLC0415

    began, used = time.monotonic(), time.process_time()
    try:
        specs = [load_spec(spec.encode())] if spec else []
        if any(map(has_ranges, specs)):
            # Benchmarks call the code for their sizes.
            options = CompileOptions(compile_from=first, compile_to=Phase.EXECUTABLE_CONFIGURATIONS)
            content = Compiler(options, SpecChoice(specs)).compile(source, "<dispatches>").output
            module = mlir.Module.parse(content, thread_context()).operation
            select_exports(module)
            # Bytecode would lose the weights; see `Run.save`.
            source, first, specs = to_text(module).encode(), Phase.EXECUTABLE_CONFIGURATIONS, []
        options = CompileOptions(compile_from=first)
        compilation = Compiler(options, SpecChoice(specs)).compile(source, "<dispatches>")
    except TuninglinkError as failure:
        return failure.diagnostics[0].message
    return Compiled(compilation.output, time.monotonic() - began, time.process_time() - used)


def compile_checked(source: bytes) -> Compiled | str:
    """Compile a benchmark as `compile_program` does, and find out whether its code is known to compute wrong results."""
    compiled = compile_program(source, "")
    if isinstance(compiled, str):
        return compiled
    configured = configure(source, ())
    if configured.dispatch is None or configured.configuration is None:
        return compiled
    return replace(compiled, fault=known_fault(configured.dispatch, configured.configuration))


def known_fault(dispatch: Workload, configuration: Configuration) -> str:
    """Return why a configuration on CUDA is known to be miscompiled; empty without a reason."""
    # A worker that compiles candidates only does without these.
    from tuninglink.spaces import ProviderRegistry, verify_configuration  # noqa: PLC0415
    from tuninglink.spaces.gpu import GpuProvider  # noqa: PLC0415

    registry = ProviderRegistry(lambda _: None, [GpuProvider()], tuple)
    return verify_configuration(dispatch, configuration, registry).miscompilation


# --- Templates: benchmarks configured by the compiler, whose configuration can be replaced -------

_ROOT: Final = "tuninglink.root"
"""The attribute that marks the root op of a template."""


@dataclass(frozen=True)
class ConfiguredDispatch:
    """A dispatch configured by the compiler."""

    dispatch: Workload | None
    configuration: Configuration | None
    template: bytes
    has_microkernel: bool = False


def configure(source: bytes, flags: Sequence[str], spec: Spec | None = None) -> ConfiguredDispatch:
    """Let the compiler configure a benchmark at `executable-sources`; process-wide flags must already be set.

    A benchmark that does not compile raises a `CompileError`.
    """
    content = apply_specs(source, flags, [spec] if spec else []).output
    module = mlir.Module.parse(content, thread_context()).operation
    roots = [(root, op.function) for op in find_root_ops(module) for root in op.roots]
    if len(roots) != 1:
        return ConfiguredDispatch(None, None, content)
    ((root, function),) = roots
    configuration = read_configuration(root, function)
    has_microkernel = names.UKERNEL in root.attributes
    root.attributes[_ROOT] = mlir.UnitAttr.get(module.context)
    template = to_bytecode(module)
    del root.attributes[_ROOT]
    strip_configurations(module)
    dispatch = read_workload(root, function, module)
    return ConfiguredDispatch(dispatch, configuration, template, has_microkernel)


def apply_specs(
    source: bytes,
    flags: Sequence[str],
    specs: Sequence[Spec],
    first: Phase = Phase.EXECUTABLE_SOURCES,
) -> Compilation:
    """Configure a program that has passed a phase with specs, in their order; return it as bytecode, with the applied entries.

    Flags of the process are ignored. A program that does not compile raises a `CompileError`.
    """
    # Workers that compile candidates do without these.
    from tuninglink.compiler import Compiler, SpecChoice  # noqa: PLC0415

    last = Phase.EXECUTABLE_CONFIGURATIONS
    options = CompileOptions(compile_from=first, compile_to=last, emit_bytecode=True)
    session = session_flags()
    flags = [flag for flag in flags if flag.partition("=")[0] in session]
    return Compiler(options, SpecChoice(specs), flags).compile(source, "<dispatches>")


def apply_candidate(module: mlir.Operation, candidate: Candidate) -> None:
    """Replace the configuration of a template, with the same result as a spec for the candidate.

    The compiler's configuration of other ops is removed, unless the candidate is the compiler's choice itself, or a
    rewriting, whose template has it.
    """
    roots = [(root, op.function) for op in find_root_ops(module) for root in op.roots]
    marked = [(root, function) for root, function in roots if _ROOT in root.attributes]
    for root, _ in marked:
        del root.attributes[_ROOT]
    if candidate.origin in (CandidateOrigin.DEFAULT, CandidateOrigin.REWRITING):
        return
    ((root, function),) = marked
    strip_configurations(module)
    attributes = {
        name: mlir.Attribute.parse(text, module.context)
        for name, text in candidate.attributes.items()
    }
    info = attributes.pop(names.COMPILATION_INFO)
    assert isinstance(info, iree_codegen.CompilationInfoAttr)
    function.attributes[names.TRANSLATION_INFO] = info.translation_info
    root.attributes[names.LOWERING_CONFIG] = info.lowering_config
    for name, attribute in attributes.items():
        root.attributes[name] = attribute
