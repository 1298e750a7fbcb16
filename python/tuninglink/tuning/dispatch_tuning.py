"""Tuning of a program's dispatches under one set of flags: from options to a result and its report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tuninglink.explaining.profiles import read_profile
from tuninglink.iree.targets import Target
from tuninglink.mlir.diagnostics import (
    Diagnostic,
    DiagnosticSink,
    Severity,
    note,
    thread_context,
)
from tuninglink.spaces.provider_registry import ProviderRegistry
from tuninglink.spaces.selection import SpaceSelection, check_selection
from tuninglink.specs.default_library import DefaultLibrary
from tuninglink.specs.sources import SpecFiles, read_specs
from tuninglink.specs.spec import Spec
from tuninglink.tuning import Listener
from tuninglink.tuning.candidates.preparation import prepare
from tuninglink.tuning.devices.device import DeviceDescription
from tuninglink.tuning.devices.hardware import TYPICAL, known_compute_units
from tuninglink.tuning.devices.local import default_device
from tuninglink.tuning.measuring import open_task_tuner
from tuninglink.tuning.options import TuneOptions
from tuninglink.tuning.processor_peaks import peaks_or_remark
from tuninglink.tuning.program_profiles import weighed
from tuninglink.tuning.programs.dispatches import DispatchedProgram, read_program
from tuninglink.tuning.report import TuningReport, report_of
from tuninglink.tuning.results.task_result import TuningResult
from tuninglink.tuning.scheduling import Stage, Timeline
from tuninglink.tuning.scheduling.budget import Ledger
from tuninglink.tuning.scheduling.default_queue import task_cost
from tuninglink.tuning.search import begin_loading
from tuninglink.tuning.tuner import Tuner


@dataclass(frozen=True)
class DispatchTuning:
    """Tunes the dispatches of a program.

    Attributes:
        options: the options, with the flags of the set. Process-wide flags must already be set.
        listener: receives progress events.
        set_flags: the flags chosen by the comparison of sets, for the provenance of entries.
    """

    options: TuneOptions
    listener: Listener
    set_flags: Sequence[str] = ()

    def run(self, ledger: Ledger) -> tuple[TuningResult, DeviceDescription]:
        """Tune until the budget is over or stopped, and return the result and the first device.

        Raises:
            TuninglinkError: the program cannot be tuned.
        """
        # Compile the program while the libraries of the search load.
        options, listener, timeline = self.options, self.listener, Timeline()
        begin_loading(options.settings.search, options.settings.trials)
        with listener.during(f"compiling {options.title}"), timeline.stage(Stage.PROGRAM):
            program = self.read_program()
        for warning in generic_cpu_warnings(task.target for task in program.tasks):
            listener.noticed(warning)
        # Open the devices, and tune until the budget is over or a signal arrives.
        uris = options.settings.devices or _default_devices(program)
        with open_task_tuner(options, uris, timeline, listener) as tuner:
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
                warn=listener.noticed,
            )
            return whole.run(), descriptions[0]

    def report(
        self, result: TuningResult, device: DeviceDescription, *, measures: bool
    ) -> TuningReport:
        """Return the report on a result, with the peak rates of this machine's processor if it is to be written.

        Args:
            result: the result of tuning.
            device: the device that ran the measurements.
            measures: whether to measure peak rates that are not in the cache.
        """
        options, peaks = self.options, None
        if options.report and not options.cluster and result.tasks:
            types = {task_cost(task.task).element_type for task in result.tasks}
            with self.listener.during("measuring the peak rates of the processor"):
                peaks, remark = peaks_or_remark(device, types, measures=measures)
            if remark:
                self.listener.noticed(Diagnostic(Severity.REMARK, remark))
        return report_of(options.title, device, result, options.profile, peaks)

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
        )
        return self._weighed(program, options.profile) if options.profile else program

    def _weighed(self, program: DispatchedProgram, path: str) -> DispatchedProgram:
        """Return a program whose dispatches have the weights of a profile, and report their number."""
        result = weighed(program, read_profile(path))
        count = sum(task.profiled_us is not None for task in result.tasks)
        total = len(result.tasks)
        if count:
            message = (
                f"dispatches are weighed by their times in '{path}': {count} of {total} problems"
            )
            self.listener.noticed(Diagnostic(Severity.REMARK, message))
        elif total:
            remedy = note(
                "record it with the flags and the specs with which the program is compiled here"
            )
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
            files = [library.find(target) for target in targets]
            specs += [
                file.load(thread_context(), upgrade=upgrade, diagnostics=sink)
                for file in files
                if file
            ]
        return specs


def check_selected(options: TuneOptions) -> None:
    """Check that a dispatch matches the patterns, and that a dispatch has the selected part of a search space.

    The process-wide flags must already be set.

    Raises:
        TuninglinkError: no dispatch matches or has the selected part, or the program does not compile.
    """
    settings = options.settings
    program = DispatchTuning(options, Listener()).read_program()
    tasks = program.matching_tasks(settings.patterns)
    if selection := SpaceSelection(settings.pipelines, settings.fixed):
        registry = ProviderRegistry(lambda _: None)
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


def generic_cpu_warnings(targets: Iterable[Target]) -> list[Diagnostic]:
    """Return a warning if programs are compiled for a generic CPU, whose code does not use the machine's vectors."""
    generic = [x for x in targets if x.backend == "llvm-cpu" and x.architecture is None]
    return [
        Diagnostic(
            Severity.WARNING,
            f"the target is a generic {target.family} CPU; "
            "for this machine's, there is --target host",
        )
        for target in generic[:1]
    ]


def unknown_device_remarks(devices: Iterable[DeviceDescription]) -> Iterator[Diagnostic]:
    """Yield a remark for each kind of GPU whose number of compute units is assumed."""
    for name in dict.fromkeys(device.name for device in devices if not device.is_local):
        if known_compute_units(name) is None:
            message = f"the number of compute units of '{name}' is unknown; estimates of candidates assume {TYPICAL}"
            yield Diagnostic(Severity.REMARK, message)
