"""Profiles of programs: recorded on a device, or of dispatches measured alone; and the weights of dispatches by them."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Final

from tuninglink.compiler import CompileOptions, Compiler, OutputFormat, Phase, SpecChoice
from tuninglink.devices import (
    LOCAL_DRIVERS,
    THREADED_DRIVER,
    Caches,
    DeviceError,
    MeasurementError,
    Settings,
    check_devices,
    describe,
    driver_of,
    duration,
    files_in,
    opened_device,
    peaks_of_processor,
    physical_cores,
    program_arguments,
)
from tuninglink.errors import TuninglinkError, UsageError
from tuninglink.explaining import (
    DispatchEvent,
    Explanation,
    MeasuredTimes,
    Profile,
    Status,
    dispatch_events,
    runs_of,
    runtime_tool,
    with_peaks,
    with_times,
)
from tuninglink.files import STANDARD_STREAM, temporary_directory
from tuninglink.mlir import error, note
from tuninglink.programs import (
    ALL_CALLS,
    PLAIN_INTEGERS,
    CallOptions,
    CompiledProgram,
    DispatchedProgram,
    Failure,
    Omission,
    ProgramCalls,
    TuningTask,
    program_calls,
    read_program,
    reason_of,
)
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError


def weighed(program: DispatchedProgram, profile: Profile) -> DispatchedProgram:
    """Return a program with the times of its dispatches in a profile."""

    def values(
        task: TuningTask, lookup: Callable[[str, Sequence[str]], float | None]
    ) -> list[float]:
        pairs = zip(task.dispatches, task.functions, strict=True)
        found = (lookup(dispatch, (function,)) for dispatch, function in pairs)
        return [value for value in found if value is not None]

    # Profiles of several runs count the calls of all.
    counts = {task.key: values(task, profile.count_of) for task in program.tasks}
    counted = {key: sum(count) for key, count in counts.items() if count}
    runs = profile.runs or runs_of(counted, {task.key: task.calls for task in program.tasks})
    tasks = []
    for task in program.tasks:
        times, count = values(task, profile.time_of), counts[task.key]
        if not times:
            tasks.append(replace(task, profiled_us=None))
        elif len(count) == len(times) and runs:
            total = sum(time * calls for time, calls in zip(times, count, strict=True))
            tasks.append(replace(task, profiled_us=total / runs))
        else:
            tasks.append(replace(task, profiled_us=task.calls * sum(times) / len(times)))
    return replace(program, tasks=tuple(tasks))


# --- Recording -------------------------------------------------------------------------------------------

_DISPATCH_SECONDS: Final = 0.2
"""The time for samples of a dispatch that is measured alone."""

_RECORDED: Final = {
    **dict.fromkeys(LOCAL_DRIVERS, "host-execution"),
    **dict.fromkeys(("amdgpu", "vulkan"), "dispatch-events"),
}
"""The events of dispatches that drivers with profiles record; those of CUDA and HIP have none."""

_SECONDS: Final = 3.0
"""The time for runs of a function, unless the first one takes longer."""

_MOST_RUNS: Final = 200
_TIME_LIMIT: Final = 600.0
"""The time limit for recording, in seconds."""

_SEED: Final = 0
"""Fixes random inputs and weights."""

_STATUS: Final = re.compile(r"\b([A-Z_]{4,}); (.+?)(?:: #|; while |;? \[|'?\n|$)")
"""A status of the runtime: its code and its message, without attributes and the chain of its context."""

_ERROR: Final = "ERROR OCCURRED"
"""The result of a benchmark that fails; the exit code is that of success."""


def record_profile(calls: ProgramCalls, image: bytes, uri: str) -> Profile:
    """Call the functions of a module, a VM FlatBuffer, with the runtime's own tool; return the times of its dispatches.

    Raises:
        TuninglinkError: no function can be called, or the program does not run.
    """
    callable_ = [function for function in calls.functions if not function.obstacle]
    if not callable_:
        obstacles = [note(f"function '{own.name}': {own.obstacle}") for own in calls.functions]
        raise TuninglinkError(
            error("the program has no function that can be called", notes=obstacles)
        )
    programs = [(calls.compiled(own, image, PLAIN_INTEGERS), own.weight) for own in callable_]
    try:
        # The directory may hold gigabytes of weights; it belongs to this process, as the other may be killed.
        with temporary_directory() as directory, Pool(1) as pool:
            job = pool.submit(_record_all, programs, uri, directory, seconds=_TIME_LIMIT)
            return job.result()
    except JobTimeoutError as failure:
        message = f"the program did not run within {failure.seconds:.0f} s on device '{uri}'"
    except WorkerCrashedError as failure:
        message = f"the process that profiles the program ended: {failure}"
    raise TuninglinkError(error(message))


def _record_all(
    programs: Sequence[tuple[CompiledProgram, int]], uri: str, directory: Path
) -> Profile:
    """Run functions with the runtime's own tool, each with its weight."""
    output, device = directory / "program.ireeprof", describe(uri)
    times: defaultdict[str, float] = defaultdict(float)
    counts: defaultdict[str, float] = defaultdict(float)
    for program, weight in programs:
        module = directory / "program.vmfb"
        module.write_bytes(program.image)
        command = [
            str(runtime_tool("iree-benchmark-module")),
            f"--device={device.uri}",
            f"--function={program.function}",
            f"--device_profiling_mode={_RECORDED[driver_of(uri)]}",
            f"--device_profiling_output={output}",
            f"--module={module}",
        ]
        if driver_of(uri) == THREADED_DRIVER:
            cores = ",".join(map(str, physical_cores()))
            command.append(f"--task_topology_cpu_ids={cores}")
        try:
            command += program_arguments(program, _SEED, files_in(directory))
        except MeasurementError as failure:
            raise TuninglinkError(error(failure.failure.message)) from None

        def run(runs: int, command: Sequence[str] = command) -> list[DispatchEvent]:
            all_runs = [*command, f"--benchmark_min_time={runs}x"]
            done = subprocess.run(all_runs, capture_output=True, text=True, check=False)  # noqa: S603
            if done.returncode or _ERROR in done.stdout:
                status = _STATUS.search(done.stderr) or _STATUS.search(done.stdout)
                reason = f"{status[2]} ({status[1]})" if status else f"exit code {done.returncode}"
                remedy = note("the program must be compiled for the device that runs it")
                message = f"the program does not run on device '{uri}': {reason}"
                raise TuninglinkError(error(message, notes=[remedy]))
            return list(dispatch_events(str(output)))

        for name, (microseconds, calls) in run_for_seconds(run).items():
            times[name] += weight * microseconds
            counts[name] += weight * calls
    by_name = {name: time / counts[name] for name, time in times.items()}
    return Profile(by_name, dict(counts), runs=1.0, device=device.name)


def run_for_seconds(
    run: Callable[[int], Sequence[DispatchEvent]],
) -> dict[str, tuple[float, float]]:
    """Return the median time of each dispatch in a run and its calls there, by the name of its function."""
    events, runs = run(1), 1
    # The start of the tool and the loading of modules count in no run.
    seconds = sum(event.microseconds for event in events) / 1e6
    more = min(int(_SECONDS / max(seconds, 1e-3)), _MOST_RUNS)
    if more:
        # The first run also pays for code and pages that are not there yet.
        runs = more + 1
        events = run(runs)
    durations: defaultdict[str, list[float]] = defaultdict(list)
    for event in events:
        durations[event.function].append(event.microseconds)
    totals: dict[str, tuple[float, float]] = {}
    for name, times in durations.items():
        calls, rest = divmod(len(times), runs)
        if rest or not calls:  # of the initialization, or calls that depend on earlier runs
            totals[name] = sum(times) / runs, len(times) / runs
            continue
        sums = [sum(times[start : start + calls]) for start in range(0, len(times), calls)]
        totals[name] = median(sums[1:] or sums), calls
    return totals


@dataclass(frozen=True)
class ProgramMeasurement:
    """A measurement of a program's dispatches, for an explanation.

    Attributes:
        options: the options of the compilation that is explained.
        calls: the calls of the whole program.
        caches: whether data is in the caches when a dispatch starts.
    """

    path: str
    options: CompileOptions
    uri: str
    calls: CallOptions = ALL_CALLS
    caches: Caches = Caches.PROGRAM

    def __post_init__(self) -> None:
        if self.path == STANDARD_STREAM:
            message = "a program from standard input can be read once only; '--device' needs a file"
            raise UsageError(error(message))
        check_devices([self.uri])

    @property
    def is_profiled(self) -> bool:
        """Whether times are measured inside the program."""
        return driver_of(self.uri) in _RECORDED

    @property
    def whole(self) -> CompileOptions:
        """The options for compiling the whole program."""
        return replace(
            self.options,
            compile_to=Phase.END,
            emit_bytecode=False,
            output_format=OutputFormat.BYTECODE,
        )

    def add_times(
        self,
        explanation: Explanation,
        image: bytes,
        choice: SpecChoice,
        step: Callable[[str], None],
        others: Iterable[MeasuredTimes] = (),
    ) -> Explanation:
        """Return an explanation with measured times, and for other dispatches those of others.

        The image is the whole program, compiled with the specs, for a device with profiles. `step` gets each step.
        """
        if not explanation.dispatches:
            return explanation
        if self.is_profiled:
            step(f"running the program on {self.uri}")
            profile, notes = self._recorded(image), tuple[str, ...]()
            how = "inside the program"
        else:
            profile, notes = self.time_dispatches(choice, step)
            how = "of each dispatch alone, as the driver has no profiles"
        # Measure the compiler's defaults for tuned dispatches by the same method.
        tuned = {own.name for own in explanation.dispatches if own.status is Status.TUNED}
        remarks: tuple[str, ...] = ()
        if tuned:
            try:
                if self.is_profiled:
                    step("compiling without specs")
                    default = Compiler(self.whole, SpecChoice()).compile(self.path).output
                    step(f"running the program without specs on {self.uri}")
                    defaults = self._recorded(default)
                else:
                    defaults, _ = self.time_dispatches(SpecChoice(), step, tuned)
                profile = replace(profile, defaults=defaults.by_name)
            except TuninglinkError as failure:
                remarks = (f"the compiler's choices were not measured: {reason_of(failure)}",)
        timed = with_times(explanation, [profile, *others])
        # Add the peak rates, if the device is a processor.
        if driver_of(self.uri) in LOCAL_DRIVERS:
            step("measuring the peak rates of the processor")
            types = {dispatch.cost.element_type for dispatch in timed.dispatches}
            peaks, remark = peaks_of_processor(describe(self.uri), types)
            if remark:
                timed = replace(timed, notes=(*timed.notes, remark))
            elif peaks is not None:
                timed = with_peaks(timed, peaks)
        total = duration(timed.weight().microseconds or 0.0)
        source = f"times are of {profile.device} ({self.uri}), {how}; the dispatches take {total} in a run"
        return replace(timed, notes=(*timed.notes, source, *notes, *remarks))

    def _recorded(self, image: bytes) -> Profile:
        first, sizes = self.options.compile_from, self.options.sizes
        calls = program_calls(self.path, first=first, sizes=sizes, options=self.calls)
        if calls is None:
            message = "the functions of the program can no longer be read: it is compiled too far"
            raise TuninglinkError(error(message))
        return record_profile(calls, image, self.uri)

    @cached_property
    def _program(self) -> DispatchedProgram:
        options = self.options
        return read_program(
            self.path,
            options.flags,
            first=options.compile_from,
            sizes=options.sizes,
            options=self.calls,
        )

    def time_dispatches(
        self, choice: SpecChoice, step: Callable[[str], None], only: Collection[str] = ()
    ) -> tuple[Profile, tuple[str, ...]]:
        """Measure dispatches, all or those of some names, each alone.

        The time of a dynamic dispatch is the mean over its sizes, as is its cost.

        Returns:
            The times by dispatch, and a note on each unmeasured dispatch.

        Raises:
            DeviceError: the device cannot be opened, or is lost.
            TuninglinkError: no dispatch can be measured.
        """
        from_sources = replace(self.whole, compile_from=Phase.EXECUTABLE_SOURCES)
        times: dict[str, float] = {}
        omissions = list(self._program.omissions)
        with opened_device(self.uri, Settings(caches=self.caches)) as device:
            for task in self._program.tasks:
                if only and set(only).isdisjoint(task.dispatches):
                    continue
                reason = device.description.unsupported(task.target)
                total = weights = 0.0
                try:
                    if reason:
                        raise TuninglinkError(error(reason))
                    step(f"measuring {task.label}")
                    compiled = Compiler(from_sources, choice).compile(task.source, task.label)
                    benchmark = task.benchmark(compiled.output)
                    sized = [(size.weight, benchmark.at(size)) for size in benchmark.measured]
                    for weight, single in sized or [(1, benchmark)]:
                        timing = device.measure(single, _DISPATCH_SECONDS)
                        if isinstance(timing, Failure):
                            raise TuninglinkError(error(timing.message))
                        total += weight * timing.median
                        weights += weight
                except DeviceError:
                    raise
                except TuninglinkError as failure:
                    omissions.append(Omission(task.dispatches, reason_of(failure)))
                else:
                    times |= dict.fromkeys(task.dispatches, total / weights)
            name = device.description.name
        notes = tuple(f"not measured: {omission}" for omission in omissions)
        if not times:
            message = f"no dispatch of the program runs alone on device '{self.uri}'"
            raise TuninglinkError(error(message, notes=[note(reason) for reason in notes]))
        return Profile(times, device=name), notes
