"""The flags that a program is tuned under: sets of them are compared before anything else."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.cli.measuring import check_outputs
from tuninglink.cli.verbosity import is_quiet
from tuninglink.files import STANDARD_STREAM, write_output
from tuninglink.tuning.deciding.output_judge import OutputJudge
from tuninglink.tuning.devices.device import DeviceError
from tuninglink.tuning.devices.device_process import DeviceProcess
from tuninglink.tuning.devices.local import default_device
from tuninglink.tuning.devices.timing import Settings
from tuninglink.tuning.flag_sets.comparison import FlagComparison
from tuninglink.tuning.flag_sets.compilation import ProgramSource, SetCompiler
from tuninglink.tuning.flag_sets.results import FlagsResult
from tuninglink.tuning.flag_sets.sets import NONE, flag_sets
from tuninglink.tuning.settings import Numerics

if TYPE_CHECKING:
    from tuninglink.cli.tune_options import TuneOptions
    from tuninglink.tuning.flag_sets.results import SetResult
    from tuninglink.tuning.flag_sets.sets import FlagSet

_PART: Final = 0.25
"""The largest part of the budget that sets of flags take, unless nothing else is to be done."""

_SUFFIX: Final = ".flags"

_GPUS: Final = {"cuda": "cuda", "hip": "rocm"}
"""Backends by the devices that programs are compiled for."""


def choose_flags(options: TuneOptions) -> tuple[TuneOptions, FlagsResult]:
    """Compares sets of flags, and returns options with the flags of the best one.

    It compiles and runs in other processes: the flags of this one may still be set.

    Raises:
        TuninglinkError: the file with sets cannot be read.
    """
    reason = _obstacle(options)
    if reason:
        return options, FlagsResult(reason=reason)
    check_outputs(options)
    _say("comparing sets of flags")
    result = _compare(options)
    _show(result)
    return replace(options, flags=(*options.flags, *result.flags)), result


def _compare(options: TuneOptions) -> FlagsResult:
    """Compares the sets of flags for the backend that the program is compiled by."""
    settings = options.settings
    comparison = FlagComparison(
        ProgramSource(options.input, options.compile_from, options.sizes, options.calls),
        options.flags,
        settings.seconds * (1.0 if options.only_flags else _PART),
        settings.min_gain,
        settings.seed,
        OutputJudge(numerics=settings.numerics),
    )
    with SetCompiler(settings.jobs or os.cpu_count() or 1) as compiler:
        default = comparison.compile_default(compiler)
        if isinstance(default, str):
            return FlagsResult(reason=default)
        backend = default.backends[0] if default.backends else ""
        sets = _sets(backend, options)
        if not sets:
            return FlagsResult(reason=f"there are no sets for backend '{backend}'")
        uri = settings.devices[0] if settings.devices else default_device(backend)
        timing = Settings(seed=settings.seed)
        try:
            with DeviceProcess(uri, settings=timing, timeout=settings.timeout) as device:
                return comparison.run(compiler, default, sets, device)
        except DeviceError as failure:
            return FlagsResult(reason=failure.diagnostics[0].message)


def _sets(backend: str, options: TuneOptions) -> list[FlagSet]:
    allows = options.settings.numerics is Numerics.ANY
    return flag_sets(backend, options.flag_sets, options.flags, allows_numerics=allows)


def write_flags(options: TuneOptions, result: FlagsResult) -> None:
    """Writes the response file with the flags of the best set, or removes one that is stale.

    Raises:
        TuninglinkError: it cannot be written.
    """
    if options.output == STANDARD_STREAM:
        if options.only_flags:
            write_output(STANDARD_STREAM, _response(result))
        return
    path = Path(options.output).with_suffix(_SUFFIX)
    if result.flags:
        write_output(str(path), _response(result))
    elif not result.reason:
        path.unlink(missing_ok=True)


def _response(result: FlagsResult) -> bytes:
    return "".join(f"{flag}\n" for flag in result.flags).encode()


def _obstacle(options: TuneOptions) -> str:
    """Returns why no sets of flags are compared; nothing if they are."""
    if options.flag_sets == NONE:
        return "it was not asked for"
    if options.input == STANDARD_STREAM:
        return "standard input can be read once only"
    if options.cluster:
        return "sets of flags are compared on this machine only"
    if math.isinf(options.settings.seconds) and not (options.flag_sets or options.only_flags):
        return "there is no --budget to take a quarter of"
    for device, backend in _GPUS.items():
        if f"--iree-hal-target-device={device}" in options.flags and not _sets(backend, options):
            return f"the sets for {device} change results; --allow-numerics compares them"
    return ""


def _show(result: FlagsResult) -> None:
    for each in result.results:
        _say(f"  {each.flag_set.name}: {_outcome(each)}")
    if result.noise is not None:
        _say(f"  the default against itself: {result.noise}")
    if result.best is not None:
        _say(f"  taken: {' '.join(result.flags)}")
    elif result.reason:
        _say(f"  no sets were compared: {result.reason}")
    else:
        _say("  no set is faster")


def _outcome(result: SetResult) -> str:
    if result.speedup is None:
        return result.note
    note = f"; {result.note}" if result.note else ""
    return f"{result.milliseconds:.4g} ms, {result.speedup}{note}"


def _say(text: str) -> None:
    if not is_quiet():
        print(text, file=sys.stderr, flush=True)  # noqa: T201
