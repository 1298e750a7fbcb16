"""Kernels as candidates: each problem of a program gets the fastest right one, and the program gets sets with these.

The candidates of a problem are compared as sets of a small program, which computes the problem a few times. Whether a kernel
gains anything in the whole program is decided there: it may end a fusion, or start one.
"""

from __future__ import annotations

import math
import os
import time
from concurrent.futures import FIRST_COMPLETED, CancelledError, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.compiler import Phase
from tuninglink.devices import DeviceError
from tuninglink.errors import Diagnostic, Severity, counted
from tuninglink.files import temporary_directory
from tuninglink.kernels import (
    Candidate,
    KernelCall,
    KernelError,
    guard_fault,
    guarded_program,
    kernel_architecture,
    kernel_providers,
    repeated_program,
    shipped_kernels,
)
from tuninglink.programs import ALL_CALLS
from tuninglink.replacing import spec as spec_of
from tuninglink.specs import KIB, link_specs, load_spec
from tuninglink.tuning.deciding import CallError, OutputJudge, ProgramVariants
from tuninglink.tuning.flag_sets.comparison import (
    NO_TIME,
    FlagComparison,
    FlagsResult,
    compiled_by,
    program_reference,
)
from tuninglink.tuning.flag_sets.sets import (
    DEFAULT,
    NOT_COMPILED,
    CompiledSource,
    FlagSet,
    SetCompiler,
)
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError, finished, processor_count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future

    from tuninglink.devices import Device
    from tuninglink.iree import Target
    from tuninglink.kernels import BuiltKernel, KernelProblem
    from tuninglink.tuning.deciding import TuneOptions
    from tuninglink.tuning.flag_sets.comparison import SetResult
    from tuninglink.tuning.flag_sets.sets import Job

_MOST_PROBLEMS: Final = 8

_LEAST_SHARE: Final = 0.01
"""The number of problems that get kernels, and the least share of the operations of all problems that one has."""

_MOST_CANDIDATES: Final = 8

_COPIES: Final = 4
"""The candidates of a problem, and how often a program computes the problem: a call takes a time of its own."""

_MAKING: Final = 300.0
"""The time limit for making a kernel, in seconds: Triton's assembler may take most of a minute on a busy core."""

_FIRST: Final = 2
"""The number of kernels of a problem, at most, that are compared before those of all other problems."""

_TURN_PART: Final = 0.5
_CALL_PART: Final = 0.25
"""The largest parts of the time of a problem, for one comparison, and of all time, for the first call of its default."""

_GUARDING: Final = 60.0
_LEAST_GUARDING: Final = 15.0
"""The time limits, in seconds, for compiling and for running a program that shows whether a kernel stays within its buffers,
and the least one for compiling it at the end of the time for kernels."""

_NICENESS: Final = 10
_REFERENCE_PART: Final = 0.5

_NEAR: Final = 0.1
"""The part of the tolerance within which a kernel and the compiler's code agree. References take most of the time else."""

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


@dataclass
class _Contest:
    """A problem with the options for its program, which is compiled by default, with each kernel, and with guards.

    Its kernels are compared in turns, in each of which the fastest one so far takes part; the result is that of all turns.
    """

    problem: KernelProblem
    options: TuneOptions
    jobs: dict[FlagSet, Job]
    calls: dict[FlagSet, KernelCall] = field(default_factory=dict)
    guards: dict[FlagSet, Job] = field(default_factory=dict)
    result: FlagsResult = field(default_factory=FlagsResult)
    comparison: FlagComparison | None = None
    turns: int = 0

    def ready(self) -> list[FlagSet]:
        """Return the kernels for the next turn: those that are compiled, if the default is, too, and few for the first one."""
        if not self.jobs[DEFAULT].done():
            return []
        past = {DEFAULT, *(own.flag_set for own in self.result.results if own.note != NO_TIME)}
        jobs = ((own, job) for own, job in self.jobs.items() if own not in past)
        sets = [own for own, job in jobs if isinstance(compiled_by(job, 0.0), CompiledSource)]
        return sets if self.turns else sets[:_FIRST]


class KernelChooser(ExitStack):
    """Makes and compiles the candidates of problems, and chooses among them on a device.

    The options are those of the run; problems have their numbers in the program; kernels run on the target. The attribute
    `shipped` has the kernels of the shipped libraries, which are among the candidates.
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
        self._jobs = options.settings.jobs or processor_count()
        self._pool = Pool(self._jobs, os.nice, (_NICENESS,))
        self._idle: list[Pool] = []
        self.callback(self._close)
        # The problems with the most work, and the candidates of the providers in turn.
        work = {problem: float(problem.work) * count for problem, count in problems.items()}
        least = _LEAST_SHARE * sum(work.values())
        heaviest = sorted(work, key=lambda problem: -work[problem])[:_MOST_PROBLEMS]
        self._work = {problem: work[problem] for problem in heaviest if work[problem] >= least}
        self._making: dict[KernelProblem, list[tuple[Candidate, Future[BuiltKernel | str]]]] = {}
        providers, architecture = kernel_providers(report), kernel_architecture(target)
        self.shipped: dict[KernelProblem, ChosenKernel] = {}
        shipped = shipped_kernels(target)
        offered: list[tuple[int, KernelProblem, Candidate]] = []
        for problem in self._work:
            making = self._making.setdefault(problem, [])
            built = next((shipped[own] for own in problem.spellings if own in shipped), None)
            if built is not None:
                making.append((Candidate("shipped", problem, architecture, ()), finished(built)))
                self.shipped[problem] = ChosenKernel(KernelCall(problem, built), 1.0, work[problem])
            offers: list[tuple[int, Candidate]] = []
            for provider in providers:
                try:
                    offers += enumerate(provider.candidates(problem, architecture))
                except Exception as failure:  # noqa: BLE001 - plug-ins may raise anything
                    self._tell(_failing(provider.name, failure))
            offers = sorted(offers, key=itemgetter(0))[:_MOST_CANDIDATES]  # the providers' in turn
            offered += [(at, problem, own) for at, (_, own) in enumerate(offers)]
        if not (self.shipped or offered):
            self._tell(f"no provider has kernels for this program on {architecture}")
        # The first candidates of all problems are made before the second ones, as the time may be short.
        for _, problem, candidate in sorted(offered, key=itemgetter(0)):
            try:
                job = self._pool.submit(make_kernel, candidate, seconds=_MAKING)
                self._making[problem].append((candidate, job))
            except Exception as failure:  # noqa: BLE001 - a plug-in may offer anything
                self._tell(_failing(str(candidate.provider), failure))

    def _close(self) -> None:
        for pool in (self._pool, *self._idle):
            pool.close()

    def choose(
        self, device: Device, seconds: float, load: Callable[[Job], object]
    ) -> list[ChosenKernel]:
        """Return the fastest kernels of problems after some seconds; `load` gets the programs that the device will run."""
        deadline = time.monotonic() + seconds
        contests = [
            self._begin(number, problem, making, deadline, load)
            for number, (problem, making) in enumerate(self._making.items())
            if making
        ]
        chosen, unknown = list[ChosenKernel](), dict(self.shipped)
        try:
            while (left := deadline - time.monotonic()) > 0:
                able = [own for own in contests if own.result.best or not own.result.reason]
                jobs = [job for own in able for job in own.jobs.values() if not job.done()]
                if ready := [contest for contest in able if contest.ready()]:
                    # The heaviest problem of those with the fewest turns is next.
                    contest = min(ready, key=lambda own: own.turns)
                    rivals = [own for own in able if own.turns <= contest.turns]
                    self._compare(contest, device, left, left / len(rivals))
                elif jobs:
                    wait(jobs, left, FIRST_COMPLETED)
                else:
                    break
            for contest in contests:
                chosen += self._safe(contest, device, deadline)
                if any(own.speedup or own.is_rejected for own in contest.result.results):
                    unknown.pop(contest.problem, None)
            chosen += unknown.values()  # the whole program decides on these
        except DeviceError as failure:
            self._tell(f"no more kernels are chosen: {failure.diagnostics[0].message}")
        return chosen

    def _begin(
        self,
        number: int,
        problem: KernelProblem,
        making: Sequence[tuple[Candidate, Future[BuiltKernel | str]]],
        deadline: float,
        load: Callable[[Job], object],
    ) -> _Contest:
        """Start to compile a program of a problem by default, and with each of its kernels as soon as that is made."""
        path = self._directory / f"{number}.mlir"
        path.write_text(repeated_program(problem, _COPIES), encoding="utf-8")
        most_jobs = max(2, -(-self._jobs // len(self._making)))
        options = replace(
            self._options,
            input=str(path),
            sizes=(),
            calls=ALL_CALLS,
            specs=(),
            forms=False,
            kernels=False,
            compile_from=Phase.START,
            settings=replace(self._options.settings, jobs=most_jobs),
        )
        compiler = self.enter_context(SetCompiler(options, self._idle))
        contest = _Contest(problem, options, {DEFAULT: compiler.submit(DEFAULT)})

        def compile_with(
            flag_set: FlagSet, candidate: Candidate, job: Future[BuiltKernel | str]
        ) -> CompiledSource | str:
            try:
                made = job.result(max(0.0, deadline - time.monotonic()))
                if isinstance(made, str):
                    return made
                call = contest.calls[flag_set] = KernelCall(problem, made)
                return compiler.submit(replace(flag_set, forms=spec_of([call]))).result()
            except (TimeoutError, JobTimeoutError):
                return "it was not made in time"
            except (CancelledError, RuntimeError):  # it has been stopped
                return NOT_COMPILED
            except WorkerCrashedError as failure:
                return f"its provider crashed: {failure.status}"
            except Exception as failure:  # noqa: BLE001 - a plug-in may return anything
                self._tell(reason := _failing(candidate.provider, failure))
                return reason

        # These threads wait: kernels are made, and programs are compiled, in processes.
        threads = ThreadPoolExecutor(len(making))
        self.callback(threads.shutdown, wait=False, cancel_futures=True)
        for candidate, job in making:
            flag_set = FlagSet(candidate.name, ())
            contest.jobs[flag_set] = threads.submit(compile_with, flag_set, candidate, job)
        for program in contest.jobs.values():
            load(program)
        return contest

    def _compare(self, contest: _Contest, device: Device, left: float, seconds: float) -> None:
        """Compare the programs of one problem that are compiled in a part of some seconds, of those that are left."""
        now, settings = time.monotonic(), self._options.settings
        deadline = now + _TURN_PART * seconds
        if contest.comparison is None:
            default = compiled_by(contest.jobs[DEFAULT], 0.0)
            limit = max(1.0, _REFERENCE_PART * seconds)
            reference = program_reference(default, self._target.backend, settings, limit)
            opened = self.enter_context(reference) if reference else None
            judge = OutputJudge((), opened, settings.numerics, _NEAR)
            contest.comparison = FlagComparison(device, judge, settings, deadline, now)
        contest.comparison.deadline = contest.comparison.compiled_by = deadline
        past = contest.result
        best = [past.best.flag_set] if past.best else []
        jobs = {own: contest.jobs[own] for own in (DEFAULT, *best, *contest.ready())}
        result = contest.comparison.run(jobs, until=now + _CALL_PART * left)
        results = {own.flag_set: own for own in (*past.results, *result.results)}
        if result.best is None and past.best is not None:
            results[past.best.flag_set] = past.best
        result = replace(result, results=(*results.values(),), best=result.best or past.best)
        contest.result, contest.turns = result, contest.turns + 1
        if result.best is not None:
            self._begin_guard(contest, result.best.flag_set)

    def _begin_guard(self, contest: _Contest, flag_set: FlagSet) -> Job:
        """Start to compile the program that shows whether a kernel stays within its buffers."""
        if flag_set not in contest.guards:
            path = Path(contest.options.input).with_suffix(f".{len(contest.guards)}.mlir")
            path.write_text(guarded_program(contest.calls[flag_set], _COPIES), encoding="utf-8")
            options = replace(contest.options, input=str(path))
            compiler = self.enter_context(SetCompiler(options, self._idle))
            contest.guards[flag_set] = compiler.submit(DEFAULT)
        return contest.guards[flag_set]

    def _safe(self, contest: _Contest, device: Device, deadline: float) -> list[ChosenKernel]:
        """Return the fastest kernel of a problem that stays within its buffers, and say what came of the others."""
        problem, result, first = contest.problem, contest.result, contest.result.best
        wrong = [own for own in result.results if own.is_rejected]
        faults = [f"kernel '{own.flag_set.name}' is left out: {own.note}" for own in wrong]
        gaining = [own for own in result.results if first and (own is first or own.may_win(1.0))]
        best, failed = None, list[str]()
        for own in sorted(gaining, key=lambda one: (one is not first, -one.median)):
            job = self._begin_guard(contest, own.flag_set)
            # What compiled in time has been compiled with guards soon, too.
            now = time.monotonic()
            compiled = compiled_by(job, now + min(_GUARDING, max(_LEAST_GUARDING, deadline - now)))
            if isinstance(compiled, str):
                failed.append(f"with guards, {compiled}")
            elif fault := self._fault(compiled, device):
                faults.append(f"kernel '{own.flag_set.name}' is left out: {fault}")
            else:
                best = own
                break
        for fault in faults:
            self._tell(fault)
        failed += [own.note for own in result.results if own.speedup is None and own not in wrong]
        past = {DEFAULT, *(own.flag_set for own in result.results)}
        left = [compiled_by(job, 0.0) for own, job in contest.jobs.items() if own not in past]
        failed += [own if isinstance(own, str) else NO_TIME for own in left]
        words = [counted(len(contest.jobs) - 1, "kernel")]
        words += [f"{len(faults)} wrong"] if faults else []
        words += [f"{len(failed)} failed: {next(filter(None, failed), NO_TIME)}"] if failed else []
        none = "none is faster than the compiler's code" if result.results else "none was compared"
        ending = result.reason or none
        if best is not None:
            ending = f"'{best.flag_set.name}' is the fastest: {best.speedup}"
        title = f"{problem} of {len(problem.taken)} operands"  # those of a residual are more
        self._tell(f"{title}: {', '.join(words)}; {ending}", Severity.REMARK)
        if best is None:
            return []
        call = contest.calls[best.flag_set]
        return [ChosenKernel(call, best.median or 1.0, self._work[problem])]

    def _fault(self, compiled: CompiledSource, device: Device) -> str:
        """Return the reason why a kernel is not safe to use: it reads or writes past the ends of buffers; empty for none."""
        assert compiled.calls is not None, "its arguments are tensors"
        settings = self._options.settings
        variants = ProgramVariants(compiled.calls, device, OutputJudge(), settings.seed)
        try:
            (outputs,) = variants.outputs(compiled.image, _GUARDING).values()
        except CallError as failure:
            return failure.failure.message
        return guard_fault(outputs)

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


@dataclass(frozen=True)
class KernelChoice:
    """The kernels that were chosen for a program, and the sets with them.

    Attributes:
        chosen: the kernels.
        target: the target that their entries are bound to; None without kernels.
        others: a spec of forms for the ops without kernels; empty for none.
        shipped: the set with the kernels that are shipped; None without any.
    """

    chosen: tuple[ChosenKernel, ...] = ()
    target: Target | None = None
    others: str = ""
    shipped: FlagSet | None = None

    @cached_property
    def sets(self) -> list[FlagSet]:
        """The sets with kernels: all of them, those that are shipped, and all but one, for those that gain least."""
        # By the time that they save, in operations of the compiler's code.
        ordered = sorted(self.chosen, key=lambda own: own.work * (1 - 1 / own.speedup))
        left_out = ordered[:_MOST_LEFT_OUT] if len(ordered) > 1 else []
        sets = [self._without(*left) for left in ([], *([one] for one in left_out)) if ordered]
        return [*sets[:1], *([self.shipped] if self.shipped else []), *sets[1:]]

    def refined(self, results: Sequence[SetResult]) -> list[FlagSet]:
        """Return the set without all kernels without which a program is faster, if there are several."""
        if len(self.chosen) <= 2:  # noqa: PLR2004 - all sets were compared
            return []
        medians = {result.flag_set: result.median for result in results}
        of_all = medians.get(self._without()) or math.inf
        losing = [own for own in self.chosen if medians.get(self._without(own), 0.0) > of_all]
        is_new = 1 < len(losing) < len(self.chosen)
        return [self._without(*losing)] if is_new else []

    def _without(self, *left_out: ChosenKernel) -> FlagSet:
        assert self.target is not None, "there are kernels"
        calls = [kernel.call for kernel in self.chosen if kernel not in left_out]
        size = sum(call.kernel.size for call in calls)
        name = f"{counted(len(calls), 'kernel')} of {size / KIB:.3g} KiB"
        for problem in (kernel.call.problem for kernel in left_out):
            name += f", without {problem} of {len(problem.taken)} operands"
        names = [self.target.architecture or self.target.family]
        specs = [load_spec(spec_of(calls).encode(), targets=names)]
        if self.others:
            specs.append(load_spec(self.others.encode()))
        return FlagSet(name, (), forms=link_specs(specs).spec.text())
