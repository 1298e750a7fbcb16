"""Times of the dispatches of a program, each measured alone."""

from __future__ import annotations

from collections.abc import Callable

from tuninglink.errors import TuninglinkError
from tuninglink.explaining.profiles import Profile
from tuninglink.mlir.diagnostics import error, note
from tuninglink.tuning.devices import Settings
from tuninglink.tuning.devices.device_process import DeviceProcess
from tuninglink.tuning.devices.local import may_run
from tuninglink.tuning.programs.dispatches import DispatchedProgram, Omission, TuningTask
from tuninglink.tuning.results import Failure

_SECONDS = 0.2
"""The time for samples of a dispatch."""


def time_dispatches(
    program: DispatchedProgram,
    compiled: Callable[[bytes, str], bytes],
    uri: str,
    settings: Settings,
) -> tuple[Profile, tuple[str, ...]]:
    """Measure the dispatches of a program, each alone.

    Args:
        program: the program.
        compiled: compiles a benchmark at `executable-sources`, given its content and its name.
        uri: the device.
        settings: how benchmarks are measured.

    Returns:
        The times by dispatch, and a note on each dispatch that was not measured.

    Raises:
        DeviceError: the device cannot be opened, or is gone.
        TuninglinkError: no dispatch can be measured.
    """
    times: dict[str, float] = {}
    omissions = list(program.omissions)
    with DeviceProcess(uri, settings=settings) as device:
        for task in program.tasks:
            time = _time(task, compiled, device)
            if isinstance(time, str):
                omissions.append(Omission(task.dispatches, time))
            else:
                times |= dict.fromkeys(task.dispatches, time)
        name = device.description.name
    notes = tuple(f"not measured: {omission}" for omission in omissions)
    if not times:
        message = f"no dispatch of the program runs alone on device '{uri}'"
        raise TuninglinkError(error(message, notes=[note(reason) for reason in notes]))
    return Profile(times, device=name), notes


def _time(
    task: TuningTask, compiled: Callable[[bytes, str], bytes], device: DeviceProcess
) -> float | str:
    """Return the microseconds of a call, or the reason why there is none.

    Of a dynamic dispatch, it is the mean over the sizes, as their costs are.
    """
    driver, backend = device.description.driver, task.target.backend
    if not may_run(driver, backend):
        return f"driver '{driver}' does not run what '{backend}' compiles"
    try:
        image = compiled(task.source, task.label)
    except TuninglinkError as failure:
        return failure.diagnostics[0].message
    benchmark = task.benchmark(image)
    sized = [(function.weight, benchmark.at(function)) for function in benchmark.measured]
    total = weights = 0.0
    for weight, single in sized or [(1, benchmark)]:
        timing = device.measure(single, _SECONDS)
        if isinstance(timing, Failure):
            return timing.message
        total += weight * timing.median
        weights += weight
    return total / weights
