"""The choice of flags for tuning a program, by comparing sets of flags; and the callbacks of a tuner's progress."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from tuninglink.compiler import SavedProgram
from tuninglink.devices import (
    COMPILING_DRIVERS,
    LOCAL_DRIVERS,
    AheadLoader,
    DeviceDescription,
    DeviceError,
    OpenedDevice,
    Settings,
    Timeline,
    backend_of,
    default_device,
    driver_of,
    foreign_family,
    opened_device,
)
from tuninglink.errors import Diagnostic, Severity
from tuninglink.files import STANDARD_STREAM
from tuninglink.mlir import error
from tuninglink.programs import DispatchedProgram, Failure, Omission, OutputVerdict, TuningTask
from tuninglink.tuning.candidates import Compiled, TunableTask
from tuninglink.tuning.deciding import (
    Budget,
    ConfidenceInterval,
    Interrupted,
    Interruption,
    ModelVerdict,
    OutputJudge,
    TaskResult,
    TrialResult,
    TuneOptions,
    WrongDefaults,
)
from tuninglink.tuning.flag_sets.comparison import (
    NEAR,
    NO_TIME,
    FlagComparison,
    FlagsResult,
    SetResult,
    compiled_by,
    program_reference,
)
from tuninglink.tuning.flag_sets.kernel_sets import KernelChoice, KernelChooser
from tuninglink.tuning.flag_sets.sets import (
    DEFAULT,
    NONE,
    NOT_COMPILED,
    CompiledSource,
    FlagSet,
    Job,
    SetCompiler,
    flag_sets,
)
from tuninglink.tuning.references import ReferenceOutputs
from tuninglink.workers import finished

_PART: Final = 0.1

_SLOW_PART: Final = 0.4
"""The largest fractions of the budget for comparing sets before tuning, unless there is no other work: usually, and on a CPU
if no set compiles in that time, where sets gain most. There, the first set with forms may take another `_PART`."""

_AWAITED_PART: Final = 0.35
_AWAITED_KERNELS_PART: Final = 0.5
"""The fraction of the budget by which the program has been called once, and forms, and sets that avoid wrong defaults, are
compiled for the first comparison, on a GPU; and that of the rest for the two sets with all kernels, chosen and shipped."""

_KERNEL_PART: Final = 1 / 3
"""The fraction of the budget for choosing kernels, at most."""

_LOADERS: Final = 8
"""The number of modules that are loaded at the same time: the driver may compile a kernel for a second."""

_UNLIMITED: Final = 1e7
"""The seconds of a comparison without a time limit."""

_COMPILING: Final = 0.7
"""The fraction of a comparison by which sets are compiled."""

_FINAL_PART: Final = 0.15
"""The largest fraction of the remaining time for comparing tuned sets."""

_FINAL_ROUNDS: Final = 60
_LEAST_FINAL: Final = 6.0

_MOST_FINAL: Final = 20.0
"""The number of rounds of that comparison, and the bounds on their duration in seconds."""

_REFERENCE_PART: Final = 0.4
_LEAST_REFERENCE: Final = 5.0
"""The largest fraction of a comparison for computing the reference, and its least seconds."""


class Listener:
    """A listener to the steps of a tuner. The base class ignores all events.

    `tune` pickles it for the process that tunes dispatches.
    """

    def noticed(self, diagnostic: Diagnostic) -> None:
        """Handle a remark or a warning."""

    def during(self, activity: str) -> AbstractContextManager[object]:  # noqa: ARG002
        """Return a context for an activity without further events, such as `compiling model.mlir`."""
        return nullcontext()

    def interrupts(self, budget: Budget) -> AbstractContextManager[object]:  # noqa: ARG002
        """Return a context in which interrupts stop a budget; by default, they have their usual effect."""
        return nullcontext()

    def comparing_sets(self) -> None:
        """Handle the start of a comparison of sets of flags, alone or with the specs tuned under them."""

    def sets_compared(self, result: FlagsResult) -> None:
        """Handle the end of such a comparison."""

    def tuning_under(self, flag_set: FlagSet) -> None:
        """Handle the start of tuning dispatches under a set of flags."""

    def found(self, program: DispatchedProgram, devices: Sequence[DeviceDescription]) -> None:
        """Handle the dispatches of a program, once the devices are open."""

    def omitted(self, omission: Omission) -> None:
        """Handle the omission of dispatches."""

    def begun(self, prepared: TunableTask, share: float, default_us: float) -> None:
        """Handle the start of a task; the time of a default that fails is infinite."""

    def tried(self, prepared: TunableTask, trial: TrialResult, budget: Budget) -> None:
        """Handle a trial."""

    def racing(self, prepared: TunableTask, finalists: int) -> None:
        """Handle the start of a race."""

    def specializing(self, prepared: TunableTask, ranges: int) -> None:
        """Handle the start of tuning a dynamic task for ranges of sizes."""

    def default_is_wrong(self, task: TuningTask, judgement: OutputVerdict) -> None:
        """Handle a compiler default that computes a wrong result."""

    def default_fails(self, task: TuningTask, failure: Failure) -> None:
        """Handle a compiler default that does not compile, or fails on the device."""

    def ended(self, result: TaskResult) -> None:
        """Handle the result of a task."""

    def comparing(self, entries: int) -> None:
        """Handle the start of whole-program runs, given the number of entries of the spec."""

    def compared(self, verdict: ModelVerdict) -> None:
        """Handle the end of whole-program runs, failed ones included."""

    def repaired(self, wrong: WrongDefaults) -> None:
        """Handle the numbers of replaced and unreplaced wrong defaults, if there are any."""

    def finished(self, timeline: Timeline) -> None:
        """Handle the end of tuning."""


@dataclass(frozen=True)
class TunedSet:
    """A set of flags with the spec tuned under it.

    Attributes:
        flag_set: the set; without flags, it stands for the user's flags.
        entries: the number of problems with an entry; with 0, the set is compared without a spec.
        image: the program compiled with the spec under the set, if it is already compiled.
    """

    flag_set: FlagSet
    spec: str = ""
    entries: int = 0
    image: bytes | None = field(default=None, repr=False)


_LEAST_SECONDS: Final = 45.0
"""The least time, in seconds, that is divided between two sets."""

_COMPILATIONS: Final = 40.0
"""The least of that time in compilations of the program: reading it, the defaults, the run of the whole and the final
comparison take about eight of each set."""

_REACH: Final = 2.5
"""The largest slowdown that tuning of dispatches is expected to make up for."""

_ALIKE: Final = 1.02
"""The largest slowdown for which a set without data tiling is tuned instead, as specs configure more of it."""

_SURELY_ALIKE: Final = 1.05
"""The largest slowdown by the lower bound of its speedup."""

_MOST_RIVALS: Final = 2

_FINAL_COMPILATIONS: Final = 10.0
"""The least time for another comparison at the end, in compilations of the program."""


@dataclass(frozen=True)
class FlagChoice:
    """The comparison of sets of flags, which can be repeated with the tuned specs.

    Attributes:
        listener: receives progress events.
        seconds: the remaining time.
        jobs: the program under the user's flags and under each set; empty if no sets were compared.
        judge: the judge that compares outputs with the cached outputs of the reference.
        late: the sets that still compile, or that there was no time for, for the final comparison.
    """

    options: TuneOptions
    listener: Listener
    result: FlagsResult
    seconds: float = math.inf
    jobs: Mapping[FlagSet, Job] = field(default_factory=dict)
    uri: str = ""
    judge: OutputJudge = field(default_factory=OutputJudge)
    late: tuple[FlagSet, ...] = ()
    interruption: Interruption = field(default_factory=Interruption)

    @property
    def bases(self) -> list[FlagSet]:
        """The sets under which dispatches are tuned, best first.

        If the best set tiles data, specs configure little of the program. Then the best set without data tiling, perhaps
        the default, is also a base, and whole-program times decide. If there is no time for both, the set without data
        tiling is the only base, provided that it is as fast.
        """
        best = self.result.best
        if best is None:
            return [DEFAULT]
        bases = [best.flag_set]
        # Where the default does not run, the tuned programs are not compared: only one would be used.
        if not best.is_data_tiled or self.result.default_is_tiled or self.result.reason:
            return bases
        # By lower bounds, as sets that left early have wide intervals and may have large medians by chance.
        results = self.result.results
        others = [other for other in results if not other.is_data_tiled and other.may_win(1.0)]
        others.append(SetResult(DEFAULT, speedup=ConfidenceInterval(1.0, 1.0, 1.0)))
        other = max(others, key=lambda other: other.low)
        if self.seconds < max(_LEAST_SECONDS, _COMPILATIONS * self._compile_seconds):
            is_alike = best.median <= min(_ALIKE * other.median, _SURELY_ALIKE * other.low)
            return [other.flag_set] if is_alike else bases
        if best.median <= _REACH * other.median:
            bases.append(other.flag_set)
        return bases

    @property
    def finalists(self) -> list[FlagSet]:
        """The best set and sets that are nearly as fast, fastest first, if there is time to compare them again."""
        best = self.result.best
        least = max(_LEAST_SECONDS, _FINAL_COMPILATIONS * self._compile_seconds)
        if best is None or self.seconds < least:
            return []
        near = [
            other
            for other in self.result.results
            if other is not best
            and other.may_win(NEAR * best.median)
            and other.avoided >= best.avoided
        ]
        near.sort(key=lambda other: -other.median)
        return [best.flag_set, *(other.flag_set for other in near[:_MOST_RIVALS])]

    def contestants(self, tuned: Sequence[TunedSet]) -> list[TunedSet]:
        """Return what is compared in the end: sets alone and with the specs tuned under them; empty for no comparison.

        Late sets are compared, too, alone and with the spec of the user's flags.
        """
        late = [own for own in self.late if isinstance(self._program(own), CompiledSource)]
        bases, alone = [base for base in self.bases if not base.is_default], late
        if not self.result.reason:
            alone = [*self.finalists, *late]
        if not alone and (self.result.reason or not bases):
            return []
        specs = [pair for pair in tuned if pair.entries]
        with_specs = {pair.flag_set for pair in specs}
        alone = [*alone, *(base for base in bases if base not in with_specs)]
        specs += [
            replace(pair, flag_set=flag_set, image=None)
            for pair in specs
            for flag_set in late
            if pair.flag_set == DEFAULT
        ]
        # What was tuned comes first: there may be no time for all.
        return [*specs, *map(TunedSet, dict.fromkeys(alone))]

    @property
    def final_seconds(self) -> float:
        """The time in seconds to compare tuned sets, compilations and rounds; 0 if there is nothing to compare."""
        if not self.late and (self.result.reason or self.result.best is None):
            return 0.0
        rounds = _FINAL_ROUNDS * 4 * (self.result.default_ms or 0.0) / 1000
        # The comparison of each program with its spec compiles these, but for late sets.
        compilations = 3 if self.late or not self.options.settings.runs_model else 0
        price = compilations * self._compile_seconds + min(max(rounds, _LEAST_FINAL), _MOST_FINAL)
        return min(price, (_PART if self.late else _FINAL_PART) * self.seconds)

    @property
    def expected(self) -> ReferenceOutputs:
        """The outputs of the reference, as far as they are known; see `ProgramReference`."""
        results = self.judge.reference.results if self.judge.reference else {}
        return {at: outputs for at, outputs in results.items() if not isinstance(outputs, str)}

    def compiled(self, flag_set: FlagSet) -> tuple[Compiled | None, SavedProgram | None]:
        """Return the program under a set, and its dispatches under the user's flags alone; None for what is not compiled."""
        program, default = self._program(flag_set), self._program(DEFAULT)
        compiled = original = None
        if isinstance(program, CompiledSource):
            result = self.set_result(flag_set)
            run_ms = self.result.default_ms if result is None else result.milliseconds
            compiled = Compiled(program.image, program.seconds, run_ms=run_ms or 0.0)
        if isinstance(default, CompiledSource) and not flag_set.is_default:
            original = default.saved
        return compiled, original

    def _program(self, flag_set: FlagSet) -> CompiledSource | str:
        return compiled_by(self.jobs[flag_set], 0.0) if flag_set in self.jobs else NOT_COMPILED

    @property
    def _compile_seconds(self) -> float:
        default = self._program(DEFAULT)
        return default.seconds if isinstance(default, CompiledSource) else 0.0

    def set_result(self, flag_set: FlagSet) -> SetResult | None:
        return next((result for result in self.result.results if result.flag_set == flag_set), None)

    def compare_tuned(self, tuned: Sequence[TunedSet], seconds: float) -> FlagsResult:
        """Compare sets, each with the spec tuned under it, by whole-program times."""
        self.listener.comparing_sets()
        results = [SetResult(pair.flag_set, entries=pair.entries) for pair in tuned]
        try:
            with SetCompiler(self.options) as compiler, _device(self.uri, self.options) as device:
                jobs = []
                for pair in tuned:
                    alone = self._program(pair.flag_set)
                    if not pair.entries:
                        jobs.append(self.jobs[pair.flag_set])
                    elif pair.image is not None and isinstance(alone, CompiledSource):
                        jobs.append(finished(replace(alone, image=pair.image)))
                    else:
                        jobs.append(compiler.submit(pair.flag_set, pair.spec))
                end = time.monotonic() + max(seconds, self.final_seconds)
                settings, default_ms = self.options.settings, self.result.default_ms
                comparison = FlagComparison(device, self.judge, settings, end, end, default_ms)
                pairs = comparison.run_pairs(self.jobs[DEFAULT], results, jobs)
        except DeviceError as failure:
            pairs = FlagsResult(reason=failure.diagnostics[0].message)
        self.listener.sets_compared(pairs)
        return replace(
            self.result,
            best=pairs.best,
            pairs=pairs.results,
            reason=pairs.reason,
            final_ms=pairs.default_ms,
            noise=pairs.noise or self.result.noise,
        )


@contextmanager
def choose_flags(
    options: TuneOptions, listener: Listener, deadline: float, stop: Interruption | None = None
) -> Iterator[FlagChoice]:
    """Compare sets of flags. On a GPU, those that are not compiled in time compile on while the block runs.

    Compilations and runs use separate processes, so the flags of this process can still be set. The deadline is the end of
    the run, in seconds of `time.monotonic()`; an interruption ends the comparison.

    Raises:
        TuninglinkError: the file with sets cannot be read, or the compiler does not accept the value of a flag.
    """
    left, stop = min(_UNLIMITED, max(0.0, deadline - time.monotonic())), stop or Interruption()
    with ExitStack() as opened:
        if reason := obstacle(options):
            choice = FlagChoice(options, listener, FlagsResult(reason=reason))
        else:
            try:
                with stop.ending():
                    choice = _compare(options, listener, left, opened)
            except Interrupted:
                choice = FlagChoice(options, listener, FlagsResult(reason="it was interrupted"))
            listener.sets_compared(choice.result)
        yield replace(choice, seconds=max(0.0, deadline - time.monotonic()), interruption=stop)


def _compare(
    options: TuneOptions, listener: Listener, left: float, opened: ExitStack
) -> FlagChoice:
    """Compare the sets of flags for the program's backend in a part of the time that is left."""
    settings, backend = options.settings, backend_of(options.flags)
    sets = _sets(backend, options)  # a mistake in a file is reported before anything is compiled
    listener.comparing_sets()
    began, seconds = time.monotonic(), left if options.only_flags else _PART * left

    def unable(reason: str = "") -> FlagChoice:
        source = f"in '{options.flag_sets}'" if options.flag_sets else f"for backend '{backend}'"
        reason = reason or f"there is no set {source} whose flags are not given already"
        return FlagChoice(options, listener, FlagsResult(reason=reason))

    if backend and not (sets or options.kernels):
        return unable()
    # Compile the sets for the named backend along with the default. A program may name another one.
    compiler = opened.enter_context(SetCompiler(options))
    # Forms, which are known once the dispatches of the default are formed, come before sets that have to wait.
    jobs = {own: compiler.submit(own) for own in (DEFAULT, *sets[: compiler.most_jobs - 1])}
    uri = settings.devices[0] if settings.devices else default_device(backend) if backend else ""
    is_local = not uri or driver_of(uri) in LOCAL_DRIVERS
    backends = compiler.backends(seconds if is_local else max(seconds, _AWAITED_PART * left))
    if backends and backends[0] != backend:
        (backend, *_), sets = backends, _sets(backends[0], options)
        jobs = {DEFAULT: jobs[DEFAULT]}
    first, forms = sets[:1], compiler.form_sets() if backends and not options.only_flags else []
    is_any = sets or forms or (options.kernels and backend)
    uri = uri if settings.devices else default_device(backend) if is_any else ""
    is_local, loader = driver_of(uri) in LOCAL_DRIVERS, _loader(uri, options, opened)
    kernels = _choose_kernels(
        compiler,
        options,
        uri,
        listener,
        jobs=jobs,
        forms=() if is_local else forms,  # they compile while kernels are chosen
        seconds=_KERNEL_PART * left,
        load=partial(_load, loader),
    )
    if options.kernels:  # The sets have a part of what is left.
        left -= time.monotonic() - began
        part = _KERNEL_PART if kernels.sets and not is_local else _PART
        began, seconds = time.monotonic(), seconds if options.only_flags else part * left
    # Forms change most on a GPU. On a CPU, flags do, which the first set with forms has, too.
    early = sorted([*forms[:1], *first], key=lambda each: each not in jobs) if is_local else []
    sets = [*dict.fromkeys([*early, *kernels.sets, *forms, *sets])]
    jobs = {each: jobs.get(each) or compiler.submit(each) for each in (DEFAULT, *sets)}
    part = _AWAITED_KERNELS_PART if kernels.sets else _AWAITED_PART
    latest = began + (seconds if is_local else max(seconds, part * left))
    if not sets or (is_local and backends is None):
        compiler.stop()
        return unable(f"compiling took over {seconds:.1f} s" if backends is None else "")
    try:
        with _device(uri, options) as device:
            if is_local:
                seconds = compile_alone(jobs, began, seconds, left, forms)
                compiler.stop()
            for job in jobs.values():
                _load(loader, job)
            end = began + seconds
            default = compiled_by(jobs[DEFAULT], max(end, latest))
            left = max(0.0, max(end, latest) - time.monotonic())
            limit = min(left, max(_LEAST_REFERENCE, _REFERENCE_PART * seconds))
            reference = program_reference(default, backend, settings, limit)
            own = opened.enter_context(reference) if reference else None
            judge = OutputJudge(reference=own, numerics=settings.numerics)
            if reference and not is_local:
                reference.begin()
            compiled = max(time.monotonic(), began + _COMPILING * seconds)
            comparison = FlagComparison(device, judge, settings, end, compiled, loader=loader)
            awaited = partial(compiler.awaited, {at: jobs[at] for at in kernels.sets[:2]} or jobs)
            result = comparison.run(jobs, awaited, 0.0 if is_local else latest)
            result = _refined(
                kernels, options, comparison, result, jobs, seconds=seconds, report=listener.noticed
            )
    except DeviceError as failure:
        return unable(failure.diagnostics[0].message)
    # Other devices are measured while sets compile on.
    late = tuple(
        own.flag_set
        for own in result.results
        if result.is_postponed
        or not jobs[own.flag_set].done()
        or (own.note == NOT_COMPILED and compiled_by(jobs[own.flag_set], 0.0) != NOT_COMPILED)
        or (own.note == NO_TIME and loader is not None)  # the driver compiled it
    )
    if options.only_flags or (isinstance(default, str) and default != NOT_COMPILED):
        late = ()
    noted = (replace(own, note=_LATE) if own.flag_set in late else own for own in result.results)
    result = replace(result, results=tuple(noted))
    return FlagChoice(options, listener, result, math.inf, jobs, uri, judge, late)


def _choose_kernels(
    compiler: SetCompiler,
    options: TuneOptions,
    uri: str,
    listener: Listener,
    *,
    jobs: dict[FlagSet, Job],
    forms: Sequence[FlagSet],
    seconds: float,
    load: Callable[[Job], None],
) -> KernelChoice:
    """Choose kernels for the problems of a program on the first device, while the program is compiled with forms."""
    target, problems = compiler.kernel_problems()
    if target is None or not options.kernels or options.only_flags:
        return KernelChoice()
    with suppress(DeviceError), ExitStack() as opened:  # others report it
        opened.enter_context(listener.during("choosing kernels"))
        chooser = opened.enter_context(KernelChooser(options, problems, target, listener.noticed))
        shipped, beside = None, compiler.forms_beside
        first = tuple(chooser.shipped.values())
        for early in KernelChoice(first, target, beside([*chooser.shipped])).sets[:1]:
            shipped = replace(early, name=f"{early.name}, as shipped")
            jobs[shipped] = compiler.submit(shipped)
            load(jobs[shipped])
        jobs |= {own: compiler.submit(own) for own in forms}
        device = _device(uri, options)
        opened.enter_context(device)
        chosen = chooser.choose(device, seconds, load)
        others = beside([kernel.call.problem for kernel in chosen])
        kernels = KernelChoice(tuple(chosen), target, others, shipped)
        for own in kernels.sets[:1]:
            same = [job for other, job in jobs.items() if other.forms == own.forms]
            jobs[own] = same[0] if same else compiler.submit(own, is_urgent=True)
        return kernels
    return KernelChoice()


def _refined(
    kernels: KernelChoice,
    options: TuneOptions,
    comparison: FlagComparison,
    result: FlagsResult,
    jobs: dict[FlagSet, Job],
    *,
    seconds: float,
    report: Callable[[Diagnostic], object],
) -> FlagsResult:
    """Compare the set without several kernels that lose with the best one, and return the result for all sets.

    If the device fails, that is a warning, and the result stays.
    """
    for another in kernels.refined(result.results):
        best = result.best.flag_set if result.best is not None else DEFAULT
        comparison.deadline = time.monotonic() + seconds
        with SetCompiler(options) as compiler:  # on a CPU, the other one has ended
            jobs[another] = compiler.submit(another)
            _load(comparison.loader, jobs[another])
            wait([jobs[another]], _COMPILING * seconds)
            compared = {own: jobs[own] for own in dict.fromkeys((DEFAULT, best, another))}
            comparison.compiled_by = time.monotonic()
            try:
                again = comparison.run(compared)
            except DeviceError as failure:
                message = f"'{another.name}' is not compared: {failure.diagnostics[0].message}"
                report(Diagnostic(Severity.WARNING, message))
                return result
        first = result
        if again.best is None or again.reason:  # it shows nothing new
            first, again = again, result
        known = {own.flag_set for own in again.results}
        rest = (own for own in first.results if own.flag_set not in known)
        result = replace(again, results=(*again.results, *rest))
    return result


def _loader(uri: str, options: TuneOptions, opened: ExitStack) -> AheadLoader | None:
    if driver_of(uri) not in COMPILING_DRIVERS:
        return None
    loader = AheadLoader(uri, _LOADERS, options.settings.run_timeout)
    opened.callback(loader.pool.close)
    return loader


def _load(loader: AheadLoader | None, job: Job) -> None:
    """Let a driver that compiles do so once there is the code of a program, so that its first call is short."""

    def begin(done: Job) -> None:
        if loader is not None and isinstance(compiled := compiled_by(done, 0.0), CompiledSource):
            loader.begin_program(compiled.image, compiled.calls)

    job.add_done_callback(begin)


def compile_alone(
    jobs: Mapping[FlagSet, Job], began: float, seconds: float, left: float, forms: Sequence[FlagSet]
) -> float:
    """Wait for the first sets, as a CPU runs nothing while it compiles, and return the seconds of their comparison."""
    wait(jobs.values(), max(0.0, began + _COMPILING * seconds - time.monotonic()))
    default, *programs = (compiled_by(job, 0.0) for job in jobs.values())
    first = [*jobs.values()][1]
    if default == NOT_COMPILED or not any(isinstance(one, CompiledSource) for one in programs):
        # The first set gains most: all of the time is for it. If the default fails, another one may compile.
        is_failing = isinstance(default, str) and default != NOT_COMPILED
        awaited = jobs.values() if is_failing else (jobs[DEFAULT], first)
        wait(awaited, max(0.0, began + _SLOW_PART * left - time.monotonic()))
        seconds = max(seconds, time.monotonic() - began + _PART * left)
    # The first sets with forms and without are compared, if a program shows that the second may compile in another tenth.
    programs, now = [compiled_by(job, 0.0) for job in (first, *jobs.values())], time.monotonic()
    compiled = [one.seconds for one in programs if isinstance(one, CompiledSource)]
    if programs[0] != NOT_COMPILED and compiled and compiled[0] <= _PART * left:
        plain = [own for own in jobs if own not in forms][1:2]  # after the default
        wait([jobs[own] for own in (*forms[:1], *plain) if own in jobs], _PART * left)
    return seconds + time.monotonic() - now


_LATE: Final = "it is compared at the end: there was no time before"


def _device(uri: str, options: TuneOptions) -> OpenedDevice:
    device = opened_device(uri, Settings(seed=options.settings.seed), options.settings.run_timeout)
    if family := foreign_family(options.flags, device.description.machine):
        device.close()
        raise DeviceError(error(f"code for {family} does not run on {device.description.name}"))
    return device


def _sets(backend: str, options: TuneOptions) -> list[FlagSet]:
    return flag_sets(backend, options.flag_sets, options.flags, program=options.input)


def obstacle(options: TuneOptions) -> str:
    """Return the reason why sets of flags are not compared; empty if they are compared."""
    if options.flag_sets == NONE:
        return "it was not requested"
    if options.input == STANDARD_STREAM:
        return "standard input can be read once only"
    if options.cluster:
        return "sets of flags are compared on this machine only"
    is_asked = options.flag_sets or options.only_flags or options.kernels
    if math.isinf(options.settings.seconds) and not is_asked:
        return "there is no --budget to take a tenth of"
    return ""
