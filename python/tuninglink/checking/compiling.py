"""Parallel compilation in worker processes with a time limit."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

from tuninglink.checking.entry_checker import Answer, with_fused_consumer
from tuninglink.errors import TuninglinkError
from tuninglink.iree import find_spills, stack_overflow, stack_report_flag
from tuninglink.solver import Verdict
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError, processor_count

if TYPE_CHECKING:
    from tuninglink.compiler import Compilation


_CPU_BACKEND: Final = "=llvm-cpu"
"""The end of a flag for code for a CPU."""


@dataclass(frozen=True)
class Job:
    """One compilation.

    Attributes:
        program: the program, as text.
        spec: the spec to apply, as bytecode.
        flags: the compiler flags that select the target.
        without_effect: the reason why the spec configures nothing; empty if it sets a configuration.
    """

    program: str
    spec: bytes
    flags: tuple[str, ...]
    without_effect: str = ""


@dataclass(frozen=True)
class CompileLimits:
    """The limits of compilations.

    Attributes:
        seconds: the time limit of each compilation.
        processes: the number of parallel compilations.
    """

    seconds: float = 120.0
    processes: int = processor_count()


@dataclass(frozen=True)
class Model:
    """A model that specs are checked on.

    Attributes:
        path: the program in MLIR, text or bytecode.
        flags: the flags of `iree-compile` that select its target.
    """

    path: str
    flags: tuple[str, ...]


def compile_all(jobs: Iterable[Job], limits: CompileLimits) -> list[Answer]:
    """Run jobs; return for each job whether its program compiles with the spec's configuration."""
    with Pool(limits.processes, _prepare) as pool:
        futures = [pool.submit(_compile, job, seconds=limits.seconds) for job in jobs]
        return [_answer(future) for future in futures]


def _answer(future: Future[Answer]) -> Answer:
    try:
        return future.result()
    except TuninglinkError as failure:
        reason = f"the compiler refuses it: {failure.diagnostics[0].message}"
        return Answer(Verdict.REFUTED, reason)
    except WorkerCrashedError as failure:
        return Answer(Verdict.REFUTED, f"the compiler crashed ({failure.status})")
    except JobTimeoutError as failure:
        reason = f"it did not compile within {failure.seconds:g} s"
        return Answer(Verdict.NOT_DECIDED, reason)


def _prepare() -> None:
    from tuninglink.compiler import set_up_command_line  # noqa: PLC0415 - loads the compiler

    import_module("tuninglink.compiler.compilation")
    set_up_command_line("tuninglink check", (stack_report_flag(),))


def _compile(job: Job) -> Answer:
    """Run a job in a worker."""
    compilation = _compilation(job, job.program)
    overflow = stack_overflow()
    if all(item.ignored for item in compilation.applied):
        ignored = next((item.ignored for item in compilation.applied), "")
        unmatched = "the compiler prepared the operation in a way that the entry does not match"
        reason = f"without effect: {ignored}" if ignored else job.without_effect or unmatched
        return Answer(Verdict.NOT_DECIDED, f"it compiles, but {reason}")
    spills = str(find_spills(compilation.output))
    is_for_cpu = any(flag.endswith(_CPU_BACKEND) for flag in job.flags)
    program = with_fused_consumer(job.program) if is_for_cpu and not overflow else ""
    if program:
        # The code may overflow the stack once an elementwise op is fused into it.
        try:
            applied = _compilation(job, program).applied
        except TuninglinkError:  # the failure does not concern the entry itself
            applied = ()
        fused = stack_overflow()
        if applied and fused:
            overflow = f"with an elementwise operation after it, {fused}"
    return Answer(Verdict.PROVEN, crash=overflow, spills=spills)


def _compilation(job: Job, program: str) -> Compilation:
    """Compile a program with the spec of a job."""
    from tuninglink.compiler import compile as compile_program  # noqa: PLC0415 - loads the compiler

    return compile_program(
        program.encode(),
        specs=[job.spec],
        default_specs=False,
        flags=job.flags,
        name="payload.mlir",
    )
