"""The work of `tuninglink tune` after its arguments are parsed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tuninglink.cli import process
from tuninglink.cli.flag_choice import backend_of
from tuninglink.cli.measuring import Measuring, stopping, time_left
from tuninglink.cli.terminal import progress
from tuninglink.explaining.profiles import read_profile
from tuninglink.mlir.diagnostics import Diagnostic, Severity, note, thread_context
from tuninglink.spaces.provider_registry import ProviderRegistry
from tuninglink.spaces.selection import SpaceSelection, check_selection
from tuninglink.specs.default_library import DefaultLibrary
from tuninglink.specs.sources import SpecFiles, read_specs
from tuninglink.tuning.candidates.preparation import prepare
from tuninglink.tuning.devices.device import DeviceDescription, check_devices
from tuninglink.tuning.devices.hardware import TYPICAL, known_compute_units
from tuninglink.tuning.devices.local import default_device
from tuninglink.tuning.processor_peaks import peaks_or_remark
from tuninglink.tuning.program_profiles import weighed
from tuninglink.tuning.programs.dispatches import DispatchedProgram, read_program
from tuninglink.tuning.report import TuningReport, report_of
from tuninglink.tuning.scheduling import Stage, Timeline
from tuninglink.tuning.scheduling.budget import Ledger
from tuninglink.tuning.scheduling.default_queue import task_cost
from tuninglink.tuning.search import begin_loading
from tuninglink.tuning.tuner import Tuner

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tuninglink.cli.tune_options import TuneOptions
    from tuninglink.errors import TuninglinkError
    from tuninglink.iree.peak_rates import PeakRates
    from tuninglink.iree.targets import Target
    from tuninglink.specs.spec import Spec
    from tuninglink.tuning.results.task_result import TuningResult


@dataclass(frozen=True)
class Tuned:
    """The result of tuning the dispatches of a program.

    Attributes:
        spec: the spec, as text.
        entries: the number of problems with an entry.
        report: the report.
        failure: the error that ended tuning early; None without an error.
        is_interrupted: whether a signal ended tuning early.
    """

    spec: str
    entries: int
    report: TuningReport
    failure: TuninglinkError | None = None
    is_interrupted: bool = False


def tune(options: TuneOptions, set_flags: Sequence[str], command: str) -> Tuned:
    """Tune the dispatches of a program.

    Args:
        options: the options, with the flags of the set.
        set_flags: the flags chosen by the comparison of sets.
        command: the command name for the message on an interrupt.

    Raises:
        TuninglinkError: the program cannot be tuned.
    """
    result, device, is_stopped = run_tuner(options, set_flags, command)
    peaks = processor_peaks(options, device, result, measures=not is_stopped)
    report = report_of(options.title, device, result, options.profile, peaks)
    return Tuned(result.spec, len(result.won), report, result.failure, is_stopped)


def processor_peaks(
    options: TuneOptions, device: DeviceDescription, result: TuningResult, *, measures: bool = True
) -> PeakRates | None:
    """Return the peak rates of this machine's processor for a report.

    Args:
        options: the options.
        device: the device that ran the measurements.
        result: the result of tuning.
        measures: whether to measure rates that are not in the cache.

    Returns:
        The rates; None without a report or a result, for another device, or if they cannot be measured.
    """
    if not options.report or options.cluster or not result.tasks:
        return None
    types = {task_cost(task.task).element_type for task in result.tasks}
    with progress("measuring the peak rates of the processor"):
        peaks, remark = peaks_or_remark(device, types, measures=measures)
    if remark:
        process.show(Diagnostic(Severity.REMARK, remark))
    return peaks


def run_tuner(
    options: TuneOptions, set_flags: Sequence[str], command: str
) -> tuple[TuningResult, DeviceDescription, bool]:
    """Tune the dispatches of a program; see `tune`.

    Returns:
        The result, the first device, and whether a signal ended tuning early.

    Raises:
        TuninglinkError: the program cannot be tuned.
    """
    # Compile the program while the libraries of the search load.
    settings = options.settings
    ledger = Ledger(time_left(settings.seconds), settings.trials)
    timeline = Timeline()
    begin_loading(settings.search, settings.trials)
    with progress(f"compiling {options.title}"), timeline.stage(Stage.PROGRAM):
        program = read_input(options)
    warning = generic_cpu_warning(task.target for task in program.tasks)
    if warning is not None:
        process.show(warning)
    # Open the devices, and tune until the budget is over or a signal arrives.
    uris = settings.devices or _default_devices(program)
    with Measuring(options, uris).tuner(timeline) as tuner, stopping(ledger.whole, command):
        descriptions = tuner.devices.descriptions
        tuner.listener.found(program, descriptions)
        for remark in unknown_device_remarks(descriptions):
            process.show(remark)
        specs = candidate_specs(program, options)
        whole = Tuner(
            program,
            options.flags,
            tuner,
            ledger,
            specs=specs,
            set_flags=set_flags,
            warn=process.show,
        )
        result = whole.run()
    return result, descriptions[0], ledger.whole.is_stopped


def _weighed(program: DispatchedProgram, path: str) -> DispatchedProgram:
    """Return a program whose dispatches have the weights of a profile, and report the number of profiled dispatches.

    Raises:
        TuninglinkError: the profile cannot be read.
    """
    result = weighed(program, read_profile(path))
    count = sum(task.profiled_us is not None for task in result.tasks)
    total = len(result.tasks)
    if count:
        message = f"dispatches are weighed by their times in '{path}': {count} of {total} problems"
        process.show(Diagnostic(Severity.REMARK, message))
    elif total:
        remedy = note(
            "record it with the flags and the specs with which the program is compiled here"
        )
        message = f"'{path}' has no dispatch of the program; all are weighed by their times alone"
        process.show(Diagnostic(Severity.WARNING, message, notes=(remedy,)))
    return result


def check_named_devices(options: TuneOptions) -> None:
    """Check the devices that the options name, or that run code for the flags, before anything is compiled.

    Raises:
        DeviceError: the driver or the device does not exist.
    """
    if options.cluster:
        return
    backend = backend_of(options.flags)
    named = (default_device(backend),) if backend else ()
    check_devices(options.settings.devices or named)


def read_input(options: TuneOptions) -> DispatchedProgram:
    """Read the program, with the weights of its dispatches.

    Raises:
        CompileError: the program does not compile.
        TuninglinkError: the profile cannot be read.
    """
    program = read_program(
        options.input,
        options.flags,
        first=options.compile_from,
        sizes=options.sizes,
        options=options.calls,
    )
    return _weighed(program, options.profile) if options.profile else program


def check_selected(options: TuneOptions) -> None:
    """Check that a dispatch matches the patterns, and that a dispatch has the selected part of a search space.

    The process-wide flags must already be set.

    Raises:
        TuninglinkError: no dispatch matches or has the selected part, or the program does not compile.
    """
    settings = options.settings
    tasks = read_input(options).matching_tasks(settings.patterns)
    if selection := SpaceSelection(settings.pipelines, settings.fixed):
        registry = ProviderRegistry(process.show)
        check_selection(
            partial(prepare, task, options.flags, (), registry, {}, selection=selection)
            for task in tasks
        )


def _default_devices(program: DispatchedProgram) -> tuple[str, ...]:
    """Return the device that runs the first problem.

    Raises:
        TuninglinkError: the program has no problem, or the driver is unknown.
    """
    return (default_device(program.matching_tasks(())[0].target.backend),)


def candidate_specs(program: DispatchedProgram, options: TuneOptions) -> list[Spec]:
    """Return the specs whose configurations are candidates: the given specs and the targets' default specs."""
    upgrade, sink = options.upgrade, process.shown_diagnostics()
    specs = [*SpecFiles(read_specs(options.specs, sink), upgrade=upgrade, diagnostics=sink)]
    if options.default_specs:
        library = DefaultLibrary(options.spec_directories, upgrade=upgrade)
        targets = dict.fromkeys(task.target for task in program.tasks)
        files = [library.find(target) for target in targets]
        specs += [
            file.load(thread_context(), upgrade=upgrade, diagnostics=sink) for file in files if file
        ]
    return specs


def generic_cpu_warning(targets: Iterable[Target]) -> Diagnostic | None:
    """Return a warning if programs are compiled for a generic CPU, whose code does not use the machine's vectors."""
    for target in targets:
        if target.backend == "llvm-cpu" and target.architecture is None:
            message = (
                f"the target is a generic {target.family} CPU; "
                "for this machine's, there is --target host"
            )
            return Diagnostic(Severity.WARNING, message)
    return None


def unknown_device_remarks(devices: Iterable[DeviceDescription]) -> Iterator[Diagnostic]:
    """Yield a remark for each kind of GPU whose number of compute units is assumed."""
    for name in dict.fromkeys(device.name for device in devices if not device.is_local):
        if known_compute_units(name) is None:
            message = f"the number of compute units of '{name}' is unknown; estimates of candidates assume {TYPICAL}"
            yield Diagnostic(Severity.REMARK, message)
