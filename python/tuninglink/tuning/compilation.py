"""Compiling candidates in worker processes, from `executable-configurations` on."""

from __future__ import annotations

import os
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Self

from tuninglink.compiler.phases import Phase
from tuninglink.compiler.session import set_up_command_line
from tuninglink.errors import CompileError
from tuninglink.tuning.benchmark import Benchmark
from tuninglink.tuning.failures import Failure, FailureKind
from tuninglink.tuning.invocations import compiler_run
from tuninglink.tuning.templates import apply_candidate
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from tuninglink.tuning.benchmark import BufferLayout
    from tuninglink.tuning.candidates import Candidate

Outcome = Benchmark | Failure
"""What comes of compiling a candidate."""

_WORKER_FLAGS: Final = ("--mlir-disable-threading",)
"""A worker has one core; the output is the same."""


@dataclass(frozen=True)
class BenchmarkTemplate:
    """What candidates of a problem are compiled from.

    Attributes:
        content: the configured benchmark, see `tuning.templates`.
        function: the name of its function.
        layout: the buffer that it runs on.
    """

    content: bytes
    function: str
    layout: BufferLayout


class CandidateCompiler:
    """Compiles candidates, each in a process that may crash or be ended.

    Args:
        flags: flags of the compiler, those of the whole process included.
        jobs: how many compilations may run at once; as many as there are cores by default.
    """

    def __init__(self, flags: Sequence[str], jobs: int | None = None) -> None:
        self.jobs = jobs or os.cpu_count() or 1
        self._pool = Pool(self.jobs, prepare_worker, (tuple(flags),))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes, whatever they are at."""
        self._pool.close()

    def submit(
        self, template: BenchmarkTemplate, candidate: Candidate, seconds: float
    ) -> Future[Outcome]:
        """Compiles a candidate.

        Args:
            template: the benchmark.
            candidate: its configuration.
            seconds: how long that may take.

        Returns:
            A future of the benchmark, or of why there is none. It is cancelled if the compiler is closed.
        """
        answer: Future[Outcome] = Future()
        job = self._pool.submit(compile_candidate, template.content, candidate, seconds=seconds)
        job.add_done_callback(partial(_hand_over, answer, template))
        return answer


def _hand_over(
    answer: Future[Outcome], template: BenchmarkTemplate, job: Future[bytes | str]
) -> None:
    try:
        result = job.result()
    except CancelledError:
        answer.cancel()
        return
    except JobTimeoutError as failure:
        message = f"it did not compile within {failure.seconds:.3g} s"
        answer.set_result(Failure(FailureKind.COMPILE_TIMEOUT, message))
    except WorkerCrashedError as failure:
        message = f"the compiler crashed: {failure.status}"
        answer.set_result(Failure(FailureKind.COMPILE_CRASH, message))
    except Exception as failure:  # noqa: BLE001 - a bug of ours costs the candidate, too, and is told
        message = f"{type(failure).__name__}: {failure}"
        answer.set_result(Failure(FailureKind.COMPILE_CRASH, message))
    else:
        if isinstance(result, str):
            answer.set_result(Failure(FailureKind.COMPILE, result))
        else:
            answer.set_result(Benchmark(result, template.function, template.layout))


def prepare_worker(flags: Sequence[str]) -> None:
    """Sets up the process of a worker."""
    set_up_command_line("tuninglink tune", (*flags, *_WORKER_FLAGS))


def compile_candidate(template: bytes, candidate: Candidate) -> bytes | str:
    """Compiles a candidate in this process, whose command line has the flags.

    Returns:
        The module, or the first error of the compiler.
    """
    try:
        with compiler_run(template, (), verify=False) as run:
            apply_candidate(run.module, candidate)
            run.advance(Phase.EXECUTABLE_CONFIGURATIONS, Phase.END)
            return run.image()
    except CompileError as failure:
        return failure.diagnostics[0].message
