"""Measuring what the compiler chooses, which tells how much each task weighs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error, note
from tuninglink.tuning.programs.benchmark import Benchmark
from tuninglink.tuning.programs.dispatches import Omission
from tuninglink.tuning.results.failures import Failure, FailureKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from tuninglink.mlir.diagnostics import Diagnostic
    from tuninglink.tuning.candidates.compilation import Compiled
    from tuninglink.tuning.devices.device_set import DeviceSet
    from tuninglink.tuning.programs.dispatches import TuningTask


@dataclass(frozen=True)
class MeasuredTask:
    """A task whose default was measured.

    Attributes:
        task: the task.
        benchmark: the compiler's choice, compiled.
        default_us: its time.
        compile_seconds: how long it compiled.
        share: its share of the time of all dispatches.
    """

    task: TuningTask
    benchmark: Benchmark
    default_us: float
    compile_seconds: float
    share: float = 0.0


@dataclass(frozen=True)
class Defaults:
    """What is known of the compiler's choices.

    Attributes:
        measured: the tasks, the heaviest first.
        omissions: those whose default fails.
    """

    measured: tuple[MeasuredTask, ...]
    omissions: tuple[Omission, ...]


def measure_defaults(
    tasks: Sequence[TuningTask], jobs: Sequence[Future[Compiled | Failure]], devices: DeviceSet
) -> Defaults:
    """Measures what the compiler chooses.

    Args:
        tasks: the tasks.
        jobs: the compilations of their benchmarks, without a spec.
        devices: measure them, once all are compiled.

    Raises:
        TuninglinkError: none of them runs on the devices.
    """
    compiled = [job.result() for job in jobs]
    measured: list[MeasuredTask] = []
    failures: list[Failure] = []
    omissions: list[Omission] = []
    for task, each in zip(tasks, compiled, strict=True):
        found = measure_default(task, each, devices)
        if isinstance(found, Failure):
            failures.append(found)
            reason = f"the compiler's own choice fails: {found.message}"
            omissions.append(Omission(task.dispatches, reason))
        else:
            measured.append(found)
    if failures and not measured:
        raise _nothing_runs(devices, failures[0])
    total = sum(each.task.calls * each.default_us for each in measured)
    shared = [
        replace(each, share=each.task.calls * each.default_us / total if total else 0.0)
        for each in measured
    ]
    return Defaults(tuple(sorted(shared, key=lambda each: -each.share)), tuple(omissions))


def measure_default(
    task: TuningTask, compiled: Compiled | Failure, devices: DeviceSet
) -> MeasuredTask | Failure:
    """Measures what the compiler chooses for one task, which is then all there is.

    Raises:
        DeviceError: the device is gone.
    """
    if isinstance(compiled, Failure):
        return compiled
    benchmark = Benchmark(compiled.image, task.function, task.layout)
    microseconds = devices.measure_default(benchmark)
    if isinstance(microseconds, Failure):
        return microseconds
    return MeasuredTask(task, benchmark, microseconds, compiled.seconds, 1.0)


def _nothing_runs(devices: DeviceSet, failure: Failure) -> TuninglinkError:
    device = devices.first.description
    notes: list[Diagnostic] = [note(failure.message)]
    if failure.kind is FailureKind.LOAD:
        message = (
            f"device '{device.uri}' ({device.name}) cannot run what the program is compiled for"
        )
    else:
        message = f"no dispatch of the program runs on device '{device.uri}' ({device.name})"
    return TuninglinkError(error(message, notes=notes))
