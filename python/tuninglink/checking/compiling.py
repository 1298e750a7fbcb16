"""Compiling programs, each in a process of its own with a time limit, several at once."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.checking.answers import Answer
from tuninglink.interrupt_hooks import pending
from tuninglink.solver.answers import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tuninglink.checking import compile_worker

_WORKER: Final = "tuninglink.checking.compile_worker"


@dataclass(frozen=True)
class Job:
    """One compilation.

    Attributes:
        program: the program, as text.
        spec: the spec that is to configure it, as bytecode.
        flags: how the compiler is told about the target.
    """

    program: str
    spec: bytes
    flags: tuple[str, ...]


@dataclass(frozen=True)
class CompileLimits:
    """What compilations may take.

    Attributes:
        seconds: how long each may run.
        processes: how many run at once.
    """

    seconds: float = 120.0
    processes: int = os.cpu_count() or 1


def compile_all(jobs: Iterable[Job], limits: CompileLimits) -> Iterator[Answer]:
    """Compiles, and yields for each job whether it compiles with what the spec configures, in order."""
    with ThreadPoolExecutor(max_workers=limits.processes) as executor:
        yield from executor.map(lambda job: _compile(job, limits.seconds), jobs)


def _compile(job: Job, seconds: float) -> Answer:
    request: compile_worker.Request = {
        "program": job.program,
        "spec": base64.b64encode(job.spec).decode(),
        "flags": list(job.flags),
    }
    # In a session of its own, so that what it starts, such as a linker, ends with it.
    with (
        subprocess.Popen(  # noqa: S603 - it is our own worker
            [sys.executable, "-m", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        ) as process,
        pending(lambda: _end(process)),
    ):
        try:
            output, _ = process.communicate(json.dumps(request), timeout=seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            reason = f"it did not compile within {seconds:g} s"
            return Answer(Verdict.NOT_DECIDED, reason)
    return _read(process.returncode, output)


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _read(code: int, output: str) -> Answer:
    if code:
        how = signal.strsignal(-code) if code < 0 else f"exit code {code}"
        return Answer(Verdict.REFUTED, f"the compiler crashed ({how})")
    answer: compile_worker.Answer = json.loads(output)
    if answer["error"] is not None:
        return Answer(Verdict.REFUTED, f"the compiler refuses it: {answer['error']}")
    if not answer["configured"]:
        reason = "it compiles, but the compiler prepared the operation in a way that the entry does not match"
        return Answer(Verdict.NOT_DECIDED, reason)
    return Answer(Verdict.PROVEN)
