"""What the measuring commands (`tune`, `retune` and `verify`) share: flags, checks, and the end of their time."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tuninglink.cli import process
from tuninglink.cli.database import open_database
from tuninglink.cli.usage import (
    JOBS_FLAG,
    Positional,
    known_devices,
    known_pipelines,
    known_searches,
)
from tuninglink.errors import Diagnostic, Severity
from tuninglink.files import check_directory, check_output
from tuninglink.interrupt_hooks import run_interrupt_hooks
from tuninglink.llvm_flags import (
    Flag,
    choice,
    read_count,
    read_fraction,
    read_number,
    read_positive_duration,
    switch,
)
from tuninglink.spaces.model import FixedKnob
from tuninglink.tuning.deciding import MeasuringOptions, Numerics, TuningSettings
from tuninglink.tuning.devices import Caches
from tuninglink.tuning.programs import FunctionWeight, GivenInput, ParameterFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.compiler import FlagReader
    from tuninglink.tuning.deciding import Budget


PROGRAM_ARGUMENT: Final[Positional] = Positional(
    "INPUT",
    "A program in MLIR, a model of ONNX (*.onnx), one dispatch, or a dispatch benchmark that iree-compile has dumped; "
    "- is standard input.",
)

CALL_FLAGS: Final = {
    "function": Flag(
        "functions",
        FunctionWeight.parse,
        repeats=True,
        metavar="NAME[=N]",
        help="Count this function of the program, each call N times. May be repeated. Default: all functions, one call "
        "each.",
    ),
    "input": Flag(
        "inputs",
        GivenInput.parse,
        repeats=True,
        metavar="[F:]VALUE",
        help="An input of function F: @FILE.npy, 2x3xf32=0 or a number. As iree-run-module takes them, one for each argument "
        "of the whole program. Default: random.",
    ),
    "expected": Flag(
        "expected",
        GivenInput.parse,
        repeats=True,
        metavar="[F:]VALUE",
        help="What function F should return for these inputs, as for --input, such as the outputs of the framework that "
        "the model comes from. One for each result. Default: what the same program computes on the CPU.",
    ),
    "parameters": Flag(
        "parameters",
        ParameterFile.parse,
        repeats=True,
        metavar="[S=]FILE",
        help="Weights of the program (.irpa, .safetensors, .gguf) with scope S. May be repeated. Default: random weights.",
    ),
}
"""The flags for calls of the whole program."""

MEASURING_FLAGS: Final = {
    "device": Flag(
        "devices",
        repeats=True,
        metavar="URI",
        help="The device, as in cuda://0, hip://0 or local-task. Others are vulkan://0 and local-sync. May be repeated: equal "
        "devices share the work. Default: the one that runs what is compiled for.",
        values=known_devices,
    ),
    "cluster": Flag(
        "cluster",
        metavar="ADDRESS",
        help="Compile and measure on the workers of Dask's scheduler, as in tcp://10.0.0.1:8786.",
    ),
    "budget": Flag(
        "seconds",
        read_positive_duration,
        metavar="TIME",
        help="How long to take, as in 90s, 10m or 1.5h. Default: 10m, or no limit with --trials.",
    ),
    "trials": Flag(
        "trials",
        read_count,
        metavar="N",
        help="Try at most N candidates of each dispatch or entry.",
    ),
    "min-gain": Flag(
        "min_gain",
        read_fraction,
        metavar="PART",
        help="The least gain worth an entry. Default: 2%.",
    ),
    "database": Flag(
        "database",
        metavar="FILE",
        help="Keep all results in FILE; what is there already is not measured again.",
    ),
    "failures": Flag(
        "failures",
        metavar="DIR",
        help="Keep candidates that fail to compile, to run or to compute what they should in DIR, and dispatches whose "
        "default does; each with a script or a command that shows it with the stock tools.",
    ),
    "no-reference": switch(
        "checks_defaults",
        "Compare candidates with the compiler's own choices alone, whether these are right or not.",
        value=False,
    ),
    "numerics": choice(
        "numerics",
        Numerics,
        "Accept results that are equal (bitwise), that differ by rounding, or any. This holds for candidates and for the "
        "tuned program, compared with the compiler's own choices. Default: rounding.",
    ),
    "jobs": JOBS_FLAG,
    "timeout": Flag(
        "timeout",
        read_positive_duration,
        metavar="TIME",
        help="When a compilation or a benchmark counts as hanging. Default: 30s.",
    ),
    "caches": choice(
        "caches",
        Caches,
        "Which data a dispatch finds in the caches: all (warm), none (cold), or what the program leaves there between two "
        "calls (program), as a decode step does. Default: program.",
    ),
    "search": Flag(
        "search",
        metavar="NAME",
        help="The order of candidates: model, random, neighbors, or the name of a plug-in. Default: model.",
        values=known_searches,
    ),
    "seed": Flag(
        "seed", read_number, metavar="N", help="Fixes samples, inputs and orders. Default: 0."
    ),
}
"""The flags of all commands that measure candidates."""


def _read_former_fix(text: str) -> FixedKnob:
    process.show(Diagnostic(Severity.REMARK, f"'--fix' is now '--knob'; write --knob {text}"))
    return FixedKnob.parse(text)


SELECTION_FLAGS: Final = {
    "pipeline": Flag(
        "pipelines",
        repeats=True,
        metavar="NAME",
        values=known_pipelines,
        help="Choose candidates of this pipeline, such as TileAndFuse. May be repeated.",
    ),
    "knob": Flag(
        "fixed",
        FixedKnob.parse,
        repeats=True,
        metavar="KNOB=VALUE",
        help="Choose candidates with this value of a knob, which has the name that init and explain show, as in "
        "workgroup[0]=64 or mma_kind=MFMA_F32_16x16x16_F16. May be repeated.",
    ),
    "fix": Flag("fixed", _read_former_fix, repeats=True),
}
"""The flags that select a part of the spaces."""

_SETTINGS: Final = frozenset(TuningSettings.__dataclass_fields__)
_DEFAULT_SECONDS: Final = 600.0


def measuring_values(reader: FlagReader) -> dict[str, Any]:
    """Return the values of flags, by the names of the options' fields."""
    settings = TuningSettings(
        **{name: value for name, value in reader.values.items() if name in _SETTINGS}
    )
    if settings.trials is None and settings.seconds == TuningSettings.seconds:
        settings = replace(settings, seconds=_DEFAULT_SECONDS)
    others = {name: value for name, value in reader.values.items() if name not in _SETTINGS}
    return {**others, "settings": settings, "flags": reader.flags}


_END_SECONDS: Final = 0.5
"""The time for writing results and ending processes, in seconds."""

_LEAST_SECONDS: Final = 1.0


def check_outputs(options: MeasuringOptions) -> None:
    """Check that results can be written before measuring."""
    check_output(options.output)
    if options.database:
        check_output(options.database)
        open_database(options.database).close()
    if options.failures:
        check_directory(options.failures)


def time_left(seconds: float) -> float:
    """Return the part of a command's time limit that is left for measuring, without startup and shutdown."""
    return max(_LEAST_SECONDS, seconds - process.elapsed() - _END_SECONDS)


_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a run early: interrupt, termination, and a closed terminal."""


@contextmanager
def stopping(budget: Budget, program: str) -> Iterator[None]:
    """End the budget on a signal during a block, and end the process on a second one.

    Signals that the parent process ignores stay ignored.
    """
    watched = [number for number in _ENDING if signal.getsignal(number) != signal.SIG_IGN]

    def stop(number: int, _: object) -> None:
        if budget.is_stopped:
            try:
                run_interrupt_hooks()
            finally:
                os._exit(_SIGNALED + number)
        budget.stop()
        with suppress(OSError):  # the terminal may be closed
            os.write(2, f"\n{program}: interrupted; ending with what is known so far\n".encode())

    before = {number: signal.signal(number, stop) for number in watched}
    watcher = signal.set_wakeup_fd(-1)  # its reader would end the process
    try:
        yield
    finally:
        signal.set_wakeup_fd(watcher, warn_on_full_buffer=False)
        for number, handler in before.items():
            signal.signal(number, handler)


_SIGNALED: Final = 128
"""The offset of shell exit codes for signals."""
