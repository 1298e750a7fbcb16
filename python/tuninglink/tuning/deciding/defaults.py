"""Measurement of the compiler's choices, which determines the weight of each task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error, note
from tuninglink.tuning.devices.sampling import repetition
from tuninglink.tuning.devices.timing import Settings
from tuninglink.tuning.results.failures import Failure, FailureKind

if TYPE_CHECKING:
    from tuninglink.mlir.diagnostics import Diagnostic
    from tuninglink.tuning.candidates.compilation import Compiled
    from tuninglink.tuning.devices.device_set import DeviceSet
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.programs.dispatches import TuningTask


@dataclass(frozen=True)
class MeasuredTask:
    """A task whose default was measured.

    Attributes:
        task: the task.
        benchmark: the compiler's choice, compiled.
        default_us: its time, in microseconds.
        compile_seconds: its compilation time.
        share: its share of the time of all dispatches.
        program_us: its time in one run of the program at each of the sizes, in microseconds.
        stretch: the time of a sample over that of the iterations in it: that of a dynamic task runs at all sizes, and
            its time is a mean.
        potential: the fraction of its time that tuning may save.
    """

    task: TuningTask
    benchmark: Benchmark
    default_us: float
    compile_seconds: float
    share: float = 0.0
    program_us: float = 0.0
    stretch: float = 1.0
    potential: float = 1.0


def measure_default(
    task: TuningTask, compiled: Compiled | Failure, devices: DeviceSet
) -> MeasuredTask | Failure:
    """Measure the compiler's choice for one task, with all of the program's time as its share.

    Raises:
        DeviceError: the device is gone.
    """
    if isinstance(compiled, Failure):
        return compiled
    benchmark = task.benchmark(compiled.image)
    microseconds = devices.measure_default(benchmark)
    if isinstance(microseconds, Failure):
        return microseconds
    measured = MeasuredTask(task, benchmark, microseconds, compiled.seconds, 1.0, microseconds)
    if len(benchmark.measured) < 2:  # noqa: PLR2004 - the time at one size was measured
        return measured
    times: list[float] = []
    for function in benchmark.measured:
        timing = devices.first.measure(benchmark.at(function))
        if isinstance(timing, Failure):
            return timing
        times.append(timing.least)
    weights = [function.weight for function in benchmark.measured]
    repeated = repetition(times, weights, Settings().sample_seconds)
    return replace(measured, program_us=sum(times), stretch=repeated.stretch)


def nothing_runs(devices: DeviceSet, failure: Failure) -> TuninglinkError:
    """Return the error for a program without a dispatch that runs on the devices.

    Args:
        devices: the devices.
        failure: the first failure.
    """
    device = devices.first.description
    notes: list[Diagnostic] = [note(failure.message)]
    if failure.kind is FailureKind.LOAD:
        message = (
            f"device '{device.uri}' ({device.name}) cannot run what the program is compiled for"
        )
    else:
        message = f"no dispatch of the program runs on device '{device.uri}' ({device.name})"
    return TuninglinkError(error(message, notes=notes))
