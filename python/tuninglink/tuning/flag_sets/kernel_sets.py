"""Kernels as candidates: each problem of a program gets the fastest right one, and the program gets sets with these.

The candidates of a problem are compared as sets of a small program, which computes the problem a few times. Whether a kernel
gains anything in the whole program is decided there: it may end a fusion, or start one.
"""

from __future__ import annotations

import math
import os
import time
from concurrent.futures import CancelledError, wait
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tuninglink.compiler import Phase
from tuninglink.devices import DeviceError
from tuninglink.errors import Diagnostic, Severity, TuninglinkError, counted
from tuninglink.files import temporary_directory
from tuninglink.kernels import (
    KernelCall,
    KernelError,
    guard_fault,
    guarded_program,
    kernel_architecture,
    kernel_providers,
    repeated_program,
)
from tuninglink.programs import ALL_CALLS
from tuninglink.replacing import spec as spec_of
from tuninglink.specs import KIB, link_specs, load_spec
from tuninglink.tuning.deciding import CallError, OutputJudge, ProgramVariants
from tuninglink.tuning.flag_sets.comparison import FlagComparison, compiled_by, program_reference
from tuninglink.tuning.flag_sets.sets import DEFAULT, FlagSet, SetCompiler
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from tuninglink.devices import Device
    from tuninglink.iree import Target
    from tuninglink.kernels import BuiltKernel, Candidate, KernelProblem
    from tuninglink.tuning.deciding import TuneOptions
    from tuninglink.tuning.flag_sets.comparison import FlagsResult, SetResult
    from tuninglink.tuning.flag_sets.sets import Job

_MOST_PROBLEMS: Final = 8

_LEAST_SHARE: Final = 0.01
"""The number of problems that get kernels, and the least share of the operations of all problems that one has."""

_MOST_CANDIDATES: Final = 8

_COPIES: Final = 4
"""The candidates of a problem, and how often a program computes the problem: a call takes a time of its own."""

_MAKING: Final = 300.0
"""The time limit for making a kernel, in seconds: Triton's assembler may take most of a minute on a busy core."""

_MAKING_PART: Final = 0.5
"""The largest part of the time that passes before kernels are compared: those that are not made by then may be left out."""

_GUARDING: Final = 60.0
"""The time limits, in seconds, for compiling and for running a program that shows whether a kernel stays within its buffers."""

_NICENESS: Final = 10
_REFERENCE_PART: Final = 0.5

_MOST_LEFT_OUT: Final = 3
"""The number of sets that lack one kernel each."""


@dataclass(frozen=True)
class ChosenKernel:
    """The fastest right kernel of a problem.

    Attributes:
        call: the call of the kernel.
        speedup: its speedup over the compiler's code for the problem alone.
        work: the number of operations of the problem in the program.
    """

    call: KernelCall
    speedup: float
    work: float

    @property
    def gain(self) -> float:
        """The time that it saves, in operations of the compiler's code: that of other problems may take longer for each."""
        return self.work * (1 - 1 / self.speedup)


class KernelChooser(ExitStack):
    """Makes and compiles the candidates of problems, and chooses among them on a device.

    Args:
        options: the options of the run, whose flags name the target.
        problems: the problems of the program, with their numbers.
        target: the machine that the kernels run on.
        report: receives remarks.
    """

    def __init__(
        self,
        options: TuneOptions,
        problems: Mapping[KernelProblem, int],
        target: Target,
        report: Callable[[Diagnostic], object],
    ) -> None:
        super().__init__()
        self._options, self._target, self._report = options, target, report
        self._directory = self.enter_context(temporary_directory())
        jobs = options.settings.jobs or max(1, (os.cpu_count() or 1) - 1)
        self._pool = Pool(jobs, os.nice, (_NICENESS,))
        self.callback(self._pool.close)
        # The problems with the most work, and the candidates of the providers in turn.
        work = {problem: float(problem.work) * count for problem, count in problems.items()}
        least = _LEAST_SHARE * sum(work.values())
        heaviest = sorted(work, key=lambda problem: -work[problem])[:_MOST_PROBLEMS]
        self._work = {problem: work[problem] for problem in heaviest if work[problem] >= least}
        self._making: dict[KernelProblem, list[tuple[Candidate, Future[BuiltKernel | str]]]] = {}
        providers, architecture = kernel_providers(report), kernel_architecture(target)
        for problem in self._work:
            offers: list[Sequence[Candidate]] = []
            for provider in providers:
                try:
                    offers.append(tuple(provider.candidates(problem, architecture)))
                except Exception as failure:  # noqa: BLE001 - plug-ins may raise anything
                    self._tell(_failing(provider.name, failure))
            candidates = [
                own[at] for at in range(_MOST_CANDIDATES) for own in offers if at < len(own)
            ]
            self._making[problem] = [
                (candidate, self._pool.submit(make_kernel, candidate, seconds=_MAKING))
                for candidate in candidates[:_MOST_CANDIDATES]
            ]

    def choose(self, device: Device, seconds: float) -> list[ChosenKernel]:
        """Return the fastest right kernel of each problem for which one is faster than the compiler's code."""
        deadline = time.monotonic() + seconds
        chosen = []
        # Other cores make the kernels of all problems.
        jobs = [job for making in self._making.values() for _, job in making]
        wait(jobs, _MAKING_PART * seconds)
        for number, (problem, making) in enumerate(self._making.items()):
            if not making:
                continue
            left = (deadline - time.monotonic()) / (len(self._making) - number)
            if left <= 0:
                self._tell(f"{problem}: there was no time for its kernels", Severity.REMARK)
                continue
            path = self._directory / f"{number}.mlir"
            path.write_text(repeated_program(problem, _COPIES), encoding="utf-8")
            try:
                chosen += self._choose(problem, path, device, time.monotonic() + left)
            except DeviceError as failure:
                self._tell(f"no more kernels are chosen: {failure.diagnostics[0].message}")
                break
        return chosen

    def _choose(
        self, problem: KernelProblem, path: Path, device: Device, deadline: float
    ) -> list[ChosenKernel]:
        """Compare the candidates of one problem."""
        settings = self._options.settings
        options = replace(
            self._options,
            input=str(path),
            sizes=(),
            calls=ALL_CALLS,
            specs=(),
            forms=False,
            kernels=False,
            compile_from=Phase.START,
        )
        built: dict[FlagSet, KernelCall] = {}
        failures = list[str]()
        with ExitStack() as opened:
            compiler = opened.enter_context(SetCompiler(options))
            jobs: dict[FlagSet, Job] = {DEFAULT: compiler.submit(DEFAULT)}
            # Those that are made come first. Kernels are made and compiled in a part of the time.
            now = time.monotonic()
            until = now + _MAKING_PART * (deadline - now)
            for candidate, job in sorted(self._making[problem], key=lambda one: not one[1].done()):
                made = _made(job, until)
                if isinstance(made, str):
                    failures.append(made)
                    continue
                call = KernelCall(problem, made)
                try:
                    flag_set = FlagSet(candidate.name, (), forms=spec_of([call]))
                except Exception as failure:  # noqa: BLE001 - a plug-in may return anything
                    self._tell(_failing(candidate.provider, failure))
                    continue
                built[flag_set] = call
                jobs[flag_set] = compiler.submit(flag_set)
            wait(jobs.values(), max(0.0, until - time.monotonic()))
            judge = OutputJudge(numerics=settings.numerics)
            default = compiled_by(jobs[DEFAULT], deadline)
            limit = max(1.0, _REFERENCE_PART * (deadline - time.monotonic()))
            reference = program_reference(default, self._target.backend, settings, limit)
            judge.reference = opened.enter_context(reference) if reference else None
            comparison = FlagComparison(
                device, judge, settings, deadline, compiled_by=time.monotonic()
            )
            result = comparison.run(jobs)
            # The fastest one that stays within its buffers is taken.
            best, faults = result.best, list[str]()
            gaining = [own for own in result.results if best and (own is best or own.may_win(1.0))]
            for own in sorted(gaining, key=lambda one: (one is not best, -one.median)):
                call = built[own.flag_set]
                fault = self._fault(call, options, path, device)
                if not fault:
                    self._describe(problem, replace(result, best=own), failures, faults)
                    return [ChosenKernel(call, own.median or 1.0, self._work[problem])]
                faults.append(f"kernel '{own.flag_set.name}' is left out: {fault}")
        self._describe(problem, replace(result, best=None), failures, faults)
        return []

    def _fault(self, call: KernelCall, options: TuneOptions, path: Path, device: Device) -> str:
        """Return the reason why a kernel is not safe to use: it reads or writes past the ends of buffers; empty for none."""
        guarded = path.with_suffix(".guarded.mlir")
        guarded.write_text(guarded_program(call, _COPIES), encoding="utf-8")
        with SetCompiler(replace(options, input=str(guarded))) as compiler:
            compiled = compiled_by(compiler.submit(DEFAULT), time.monotonic() + _GUARDING)
        if isinstance(compiled, str):
            return compiled
        assert compiled.calls is not None, "its arguments are tensors"
        variants = ProgramVariants(compiled.calls, device, OutputJudge(), options.settings.seed)
        try:
            (outputs,) = variants.outputs(compiled.image, _GUARDING).values()
        except CallError as failure:
            return failure.failure.message
        return guard_fault(outputs)

    def _describe(
        self,
        problem: KernelProblem,
        result: FlagsResult,
        failures: Sequence[str],
        faults: Sequence[str],
    ) -> None:
        wrong = [own for own in result.results if own.is_rejected]
        for own in wrong:
            self._tell(f"kernel '{own.flag_set.name}' is left out: {own.note}")
        for fault in faults:
            self._tell(fault)
        failed = [own.note for own in result.results if own.speedup is None and own not in wrong]
        failed += failures
        words = [counted(len(result.results) + len(failures), "kernel")]
        wrong_count = len(wrong) + len(faults)
        words += [f"{wrong_count} wrong"] if wrong_count else []
        words += [f"{len(failed)} failed: {failed[0]}"] if failed else []
        best = result.best
        ending = result.reason or "none is faster than the compiler's code"
        if best is not None:
            ending = f"'{best.flag_set.name}' is the fastest: {best.speedup}"
        self._tell(f"{problem}: {', '.join(words)}; {ending}", Severity.REMARK)

    def _tell(self, text: str, severity: Severity = Severity.WARNING) -> None:
        self._report(Diagnostic(severity, text))


def make_kernel(candidate: Candidate) -> BuiltKernel | str:
    """Make a kernel in this process; return it, or the reason for having none."""
    for provider in kernel_providers():
        if provider.name == candidate.provider:
            try:
                return provider.make(candidate)
            except KernelError as failure:
                return failure.diagnostics[0].message
            except Exception as failure:  # noqa: BLE001 - plug-ins may raise anything
                return _failing(provider.name, failure)
    return f"there is no provider '{candidate.provider}'"


def _failing(provider: str, failure: Exception) -> str:
    return f"kernel provider '{provider}' fails: {type(failure).__name__}: {failure}"


def _made(job: Future[BuiltKernel | str], deadline: float) -> BuiltKernel | str:
    try:
        return job.result(max(0.0, deadline - time.monotonic()))
    except (TimeoutError, JobTimeoutError, CancelledError):
        return "it was not made in time"
    except WorkerCrashedError as failure:
        return f"its provider crashed: {failure.status}"
    except TuninglinkError as failure:
        return failure.diagnostics[0].message


@dataclass(frozen=True)
class KernelChoice:
    """The kernels that were chosen for a program, and the sets with them.

    Attributes:
        chosen: the kernels.
        target: the target that their entries are bound to; None without kernels.
        others: a spec of forms for the ops without kernels; empty for none.
    """

    chosen: tuple[ChosenKernel, ...] = ()
    target: Target | None = None
    others: str = ""

    @property
    def sets(self) -> list[FlagSet]:
        """The sets with kernels: all of them, and all but one, for those that gain least."""
        ordered = sorted(self.chosen, key=lambda kernel: kernel.gain)
        left_out = ordered[:_MOST_LEFT_OUT] if len(ordered) > 1 else []
        return [
            self._without(*kernels) for kernels in ([], *([one] for one in left_out)) if ordered
        ]

    def refined(self, results: Sequence[SetResult]) -> list[FlagSet]:
        """Return the set without all kernels without which a program is faster, if there are several."""
        if len(self.chosen) <= 2:  # noqa: PLR2004 - all sets were compared
            return []
        medians = {result.flag_set: result.median for result in results}
        of_all = medians.get(self._without(), math.inf)
        losing = [
            kernel for kernel in self.chosen if medians.get(self._without(kernel), 0.0) > of_all
        ]
        is_new = 1 < len(losing) < len(self.chosen)
        return [self._without(*losing)] if is_new else []

    def _without(self, *left_out: ChosenKernel) -> FlagSet:
        assert self.target is not None, "there are kernels"
        calls = [kernel.call for kernel in self.chosen if kernel not in left_out]
        size = sum(len(call.kernel.content) for call in calls)
        name = f"{counted(len(calls), 'kernel')} of {size / KIB:.3g} KiB"
        for kernel in left_out:
            name += f", without {kernel.call.problem}"
        names = [self.target.architecture or self.target.family]
        specs = [load_spec(spec_of(calls).encode(), targets=names)]
        if self.others:
            specs.append(load_spec(self.others.encode()))
        return FlagSet(name, (), forms=link_specs(specs).spec.text())
