"""Tuning of a program's dispatches under one set of flags: from options to a result and its report."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from tuninglink.compiler import SavedProgram
from tuninglink.devices import (
    PEAK_SECONDS,
    DeviceDescription,
    Devices,
    DeviceSet,
    Settings,
    Stage,
    Timeline,
    backend_of,
    default_device,
    known_compute_units,
    peaks_of_processor,
)
from tuninglink.errors import Diagnostic, Severity, TuninglinkError
from tuninglink.explaining import read_profile
from tuninglink.files import is_stream, write_output
from tuninglink.iree import TYPICAL
from tuninglink.mlir import DiagnosticSink, error, note, thread_context
from tuninglink.preprocessing import replacing_flags, with_entries
from tuninglink.programs import (
    DispatchedProgram,
    Failure,
    Omission,
    TuningTask,
    read_program,
    reason_of,
)
from tuninglink.solver import CountAnswer, Limits
from tuninglink.spaces import ProviderRegistry, SelectionError, SpaceSelection, check_selection
from tuninglink.spaces.model import Space
from tuninglink.specs import (
    PREPROCESSING_FLAG,
    DefaultLibrary,
    Spec,
    SpecFiles,
    load_spec,
    read_specs,
)
from tuninglink.tuning.candidates import (
    Candidate,
    CandidateCompiler,
    CandidateSpaces,
    Compiled,
    NotTunableError,
    Outcome,
    PreparedTask,
    TunableTask,
    prepare,
)
from tuninglink.tuning.database import Database, Journal
from tuninglink.tuning.deciding import (
    LastStage,
    Ledger,
    MeasuringOptions,
    TrialResult,
    TuneOptions,
    TuningResult,
)
from tuninglink.tuning.flag_sets import Listener
from tuninglink.tuning.program_profiles import weighed
from tuninglink.tuning.references import ReferenceOutputs, References, Reproducers
from tuninglink.tuning.report import TuningReport, report_of
from tuninglink.tuning.retuning import target_of
from tuninglink.tuning.scheduling import TuningContext, estimated_work, task_cost
from tuninglink.tuning.search import MOST_CANDIDATES, begin_loading, fastest_first
from tuninglink.tuning.tuner import Tuner


@dataclass(frozen=True)
class DispatchTuning:
    """Tunes the dispatches of a program.

    Attributes:
        options: the options, with the flags of the set. Process-wide flags must already be set.
        listener: receives progress events.
        set_flags: the flags chosen by the comparison of sets, for the provenance of entries.
        compiled: the whole program under the flags, if it is already compiled.
        forms: the spec with the forms of the set; empty for none.
        original: the program without the set, of which the reference is made; None for that under the set.
        expected: the outputs of the reference, as far as they are known; see `ProgramReference`.
    """

    options: TuneOptions
    listener: Listener
    set_flags: Sequence[str] = ()
    compiled: Compiled | None = field(default=None, repr=False)
    forms: str = ""
    original: SavedProgram | None = field(default=None, repr=False)
    expected: ReferenceOutputs = field(default_factory=dict, repr=False)

    def run(
        self, ledger: Ledger, begin: Callable[[], object] = lambda: None
    ) -> tuple[TuningResult, TuningReport]:
        """Read the program, call `begin`, and tune until the budget is over or stopped; return the result and its report.

        Raises:
            TuninglinkError: the program cannot be tuned.
        """
        # Compile the program while the libraries of the search load, and the devices open if the flags name their kind.
        options, listener, timeline = self.options, self.listener, Timeline()
        begin_loading(options.settings.search, options.settings.trials)
        backend = backend_of(options.flags)
        uris = options.settings.devices or ((default_device(backend),) if backend else ())
        with ExitStack() as opened, ThreadPoolExecutor(1) as thread:
            machines = thread.submit(_open_machines, options, uris, opened) if uris else None
            with listener.during(f"compiling {options.title}"), timeline.stage(Stage.PROGRAM):
                program = self.read_program()
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            begin()  # what follows ends with the budget by itself
            cpus = (task.target for task in program.tasks if task.target.backend == "llvm-cpu")
            if generic := next((cpu for cpu in cpus if cpu.architecture is None), None):
                # Its code does not use the machine's vectors.
                message = (
                    f"the target is a generic {generic.family} CPU; "
                    "for this machine's, there is --target host"
                )
                listener.noticed(Diagnostic(Severity.WARNING, message))
            # Tune until the budget is over or a signal arrives. A program may name another kind of device.
            backend = program.matching_tasks(())[0].target.backend
            named = options.settings.devices or (default_device(backend),)
            machines, uris = machines if named == uris else None, named
            tuner = opened.enter_context(open_context(options, uris, timeline, listener, machines))
            if self.compiled is not None:
                tuner = replace(tuner, program_us=1000.0 * self.compiled.run_ms)
            descriptions = tuner.devices.descriptions
            listener.found(program, descriptions)
            for remark in unknown_device_remarks(descriptions):
                listener.noticed(remark)
            whole = Tuner(
                program,
                options.flags,
                tuner,
                ledger,
                specs=self.candidate_specs(program),
                set_flags=self.set_flags,
                keep=self.keep,
                compiled=self.compiled,
                expected=self.expected,
            )
            result, device = whole.run(), descriptions[0]
        # The written report has the peak rates of this machine's processor.
        peaks = None
        if options.report and not options.cluster and result.tasks:
            types = {task_cost(task.task).element_type for task in result.tasks}
            is_late = time.monotonic() + PEAK_SECONDS > ledger.latest
            measures = not (ledger.whole.is_stopped or is_late)
            with listener.during("measuring the peak rates of the processor"):
                peaks, reason = peaks_of_processor(device, types, measures=measures)
            if reason:
                listener.noticed(Diagnostic(Severity.REMARK, reason))
        return result, report_of(options.title, device, result, options.profile, peaks)

    def keep(self, spec: str) -> None:
        """Write the spec with all winners so far, which are left if the processes of the run are killed."""
        # The output of a run that ends earlier is a directory of candidates.
        if not (is_stream(self.options.output) or self.options.is_partial):
            with suppress(TuninglinkError):  # the end of the run reports it
                write_output(
                    self.options.output, with_entries(spec, self.forms, self.options.specs)
                )

    def read_program(self) -> DispatchedProgram:
        """Read the program, with the weights of its dispatches.

        Raises:
            CompileError: the program does not compile.
            TuninglinkError: the profile cannot be read.
        """
        options = self.options
        program = read_program(
            options.input,
            options.flags,
            first=options.compile_from,
            sizes=options.sizes,
            options=options.calls,
            specs=[load_spec(self.forms.encode())] if self.forms else (),
            machine=options.machine,
        )
        program = replace(program, original=self.original or program.original)
        if not options.profile:
            return program
        # Weigh the dispatches by a profile, and report their number.
        path = options.profile
        result = weighed(program, read_profile(path))
        count, total = sum(task.profiled_us is not None for task in result.tasks), len(result.tasks)
        if count:
            how = f"dispatches are weighed by their times in '{path}'"
            message = f"{how}: {count} of {total} problems"
            self.listener.noticed(Diagnostic(Severity.REMARK, message))
        elif total:
            text = "record it with the flags and the specs with which the program is compiled here"
            remedy = note(text)
            message = (
                f"'{path}' has no dispatch of the program; all are weighed by their times alone"
            )
            self.listener.noticed(Diagnostic(Severity.WARNING, message, notes=(remedy,)))
        return result

    def candidate_specs(self, program: DispatchedProgram) -> list[Spec]:
        """Return the specs whose configurations are candidates: the given ones and the targets' default specs."""
        options, sink = self.options, DiagnosticSink(self.listener.noticed)
        upgrade = options.upgrade
        specs = [*SpecFiles(read_specs(options.specs, sink), upgrade=upgrade, diagnostics=sink)]
        if options.default_specs:
            library = DefaultLibrary(options.spec_directories, upgrade=upgrade)
            targets = dict.fromkeys(task.target for task in program.tasks)
            specs += [
                file.load(thread_context(), upgrade=upgrade, diagnostics=sink)
                for file in map(library.find, targets)
                if file
            ]
        return specs


def check_selected(options: TuneOptions) -> None:
    """Check that a dispatch matches the patterns, and that a dispatch has the selected part of a search space."""
    settings = options.settings
    program = DispatchTuning(options, Listener()).read_program()
    tasks = program.matching_tasks(settings.patterns)
    if selection := SpaceSelection(settings.pipelines, settings.fixed):
        registry = ProviderRegistry(lambda _: None)
        check_selection(
            partial(prepare, task, options.flags, (), registry, {}, selection=selection)
            for task in tasks
        )


def unknown_device_remarks(devices: Iterable[DeviceDescription]) -> Iterator[Diagnostic]:
    """Yield a remark for each kind of GPU whose number of compute units is assumed."""
    for name in dict.fromkeys(device.name for device in devices if not device.is_processor):
        if known_compute_units(name) is None:
            message = f"the number of compute units of '{name}' is unknown; estimates of candidates assume {TYPICAL}"
            yield Diagnostic(Severity.REMARK, message)


@contextmanager
def with_replaced_ops(options: TuneOptions, listener: Listener) -> Iterator[TuneOptions]:
    """Yield options whose flags apply the replace entries of the given specs, if these have any, in place of forms."""
    of_specs = options.input, options.specs, options.flags, target_of, listener.noticed
    with replacing_flags(*of_specs, upgrade=options.upgrade) as flags:
        yield replace(options, flags=(*options.flags, *flags), forms=options.forms and not flags)


# --- The devices, the compiler, the database and the references of a run, opened for its duration


@contextmanager
def open_context(
    options: MeasuringOptions,
    uris: Sequence[str],
    timeline: Timeline,
    listener: Listener,
    machines: Future[tuple[DeviceSet, CandidateCompiler]] | None = None,
) -> Iterator[TuningContext]:
    """Open everything that tuning requires, for the duration of a block; the machines may be being opened already.

    Raises:
        TuninglinkError: a device, the database or a directory cannot be opened.
    """
    settings = options.settings
    # The file of a preprocessing spec may have a temporary name, and does not act on the code of a dispatch.
    flags = [flag for flag in options.flags if not flag.startswith(PREPROCESSING_FLAG)]
    with ExitStack() as opened:
        database = Database(options.database, warn=listener.noticed)
        opened.enter_context(database)
        with timeline.stage(Stage.DEVICES):
            devices, compiler = (
                machines.result() if machines else _open_machines(options, uris, opened)
            )
        timeline.device_use = lambda: devices.use
        for text in dict.fromkeys(text for own in devices.descriptions for text in own.warnings):
            listener.noticed(Diagnostic(Severity.WARNING, text))
        description, reproducers = devices.first.description, None
        if options.failures:
            reproducers = Reproducers(options.failures, flags, description.uri, settings.seed)
        journal = Journal(database, description, settings, flags)
        references = None
        if settings.checks_defaults and not options.cluster:
            references = opened.enter_context(References.within(settings.seconds, settings.seed))
        yield TuningContext(
            settings, compiler, devices, listener, journal, reproducers, timeline, references
        )


def _open_machines(
    options: MeasuringOptions, uris: Sequence[str], opened: ExitStack
) -> tuple[DeviceSet, CandidateCompiler]:
    """Open the devices and start the compiler, here or on the workers of a cluster."""
    flags, settings = options.flags, options.settings
    timing = Settings(caches=settings.caches, seed=settings.seed)
    if not options.cluster:
        # Start the compiler first: its processes start while the devices open.
        compiler = opened.enter_context(CandidateCompiler(flags, settings.jobs))
        return opened.enter_context(Devices(uris, timing, settings.run_timeout)), compiler
    try:
        from tuninglink.devices import Cluster, ClusterDevices, ClusterPool  # noqa: PLC0415
    except ImportError:
        remedy = note("install it with: pip install 'tuninglink[cluster]'")
        message = "--cluster needs Dask's distributed scheduler"
        raise TuninglinkError(error(message, notes=[remedy])) from None
    cluster = opened.enter_context(Cluster(options.cluster))
    remote = opened.enter_context(ClusterDevices(cluster, uris, timing, settings.run_timeout))
    jobs = settings.jobs or cluster.threads
    return remote, opened.enter_context(
        CandidateCompiler(flags, jobs, partial(ClusterPool, cluster))
    )


# --- Runs that end early: sizes of spaces, and candidates that are drawn, compiled or measured ---------

_CANDIDATES: Final = 100
"""The candidates of a dispatch that are listed or compiled without `--trials`."""

_COUNTING: Final[Limits] = Limits(seconds=math.inf, steps=2000)
"""The limits for counting a space."""

Staged = tuple[TunableTask, TrialResult]
"""A candidate of a task with the result of the last stage: its time if it was measured, or its failure."""


def space_sizes(spaces: CandidateSpaces) -> list[tuple[Space, CountAnswer]]:
    """Return the spaces of a dispatch with their sizes, which are lower bounds unless they are proven."""
    return [(space, space.constraints.count(_COUNTING)) for space in spaces.spaces]


def prepared_tasks(tuning: DispatchTuning) -> list[PreparedTask]:
    """Return the tasks that can be tuned, by descending time or work, and report the other tasks.

    Raises:
        TuninglinkError: no task can be tuned.
    """
    # Select the heaviest dispatches that the options name.
    options, listener, settings = tuning.options, tuning.listener, tuning.options.settings
    with listener.during(f"compiling {options.title}"):
        program = tuning.read_program()
    for omission in program.omissions:
        _omit(tuning, omission)
    tasks = sorted(
        program.matching_tasks(settings.patterns),
        key=lambda task: (task.profiled_us or 0.0, estimated_work(task)),
        reverse=True,
    )
    # Prepare them, and omit those without a space.
    specs, registry = tuning.candidate_specs(program), ProviderRegistry(listener.noticed)
    selection = SpaceSelection(settings.pipelines, settings.fixed)
    result: list[PreparedTask] = []
    lost: list[tuple[TuningTask, Exception]] = []
    for task in tasks[: settings.top]:
        with listener.during(f"reading the spaces of {task.short_name}"):
            try:
                result.append(
                    prepare(task, options.flags, specs, registry, {}, selection=selection)
                )
            except (NotTunableError, TuninglinkError) as failure:
                lost.append((task, failure))
    # A selection that fits no dispatch is the user's error.
    mistakes = [reason for _, reason in lost if isinstance(reason, SelectionError)]
    if mistakes and not result:
        raise mistakes[0]
    for task, reason in lost:
        _omit(tuning, Omission(task.dispatches, reason_of(reason)))
    if not result:
        raise TuninglinkError(error("there is no dispatch to tune"))
    return result


def staged_candidates(tuning: DispatchTuning) -> list[Staged]:
    """Return the candidates of each task with the best estimates, compiled if that is the last stage.

    Raises:
        TuninglinkError: no task can be tuned.
    """
    options, settings = tuning.options, tuning.options.settings
    drawn: list[tuple[PreparedTask, Candidate]] = []
    for task in prepared_tasks(tuning):
        spaces = task.spaces
        with tuning.listener.during(f"drawing candidates of {task.task.short_name}"):
            # Candidates from specs come first, then the others in the order of their estimates.
            sampled = spaces.sample(MOST_CANDIDATES, 0)
            candidates = [*spaces.given, *fastest_first(spaces.problem, sampled)]
        if not candidates:
            _omit(tuning, Omission(task.task.dispatches, spaces.reason or "it has no candidates"))
        drawn += [(task, own) for own in candidates[: settings.trials or _CANDIDATES]]
    outcomes: list[Outcome | None] = [None] * len(drawn)
    if settings.stop_after is LastStage.COMPILATION:
        with (
            CandidateCompiler(options.flags, settings.jobs) as compiler,
            tuning.listener.during("compiling"),
        ):
            jobs = [
                compiler.submit(task.template, candidate, settings.timeout)
                for task, candidate in drawn
            ]
            outcomes = [job.result() for job in jobs]
    failures = (outcome if isinstance(outcome, Failure) else None for outcome in outcomes)
    return [
        (task, TrialResult(candidate, None, failure, 0.0))
        for (task, candidate), failure in zip(drawn, failures, strict=True)
    ]


def measured_candidates(result: TuningResult) -> Iterator[Staged]:
    """Yield the compiler's default and the candidates of each task, fastest first."""
    for task in result.tasks:
        default = task.prepared.spaces.default
        yield task.prepared, TrialResult(default, task.default_us, None, 0.0)
        for trial in sorted(task.trials, key=lambda trial: trial.microseconds or math.inf):
            if trial.candidate.key != default.key:
                yield task.prepared, trial


def _omit(tuning: DispatchTuning, omission: Omission) -> None:
    tuning.listener.noticed(Diagnostic(Severity.REMARK, f"not tuned: {omission}"))
