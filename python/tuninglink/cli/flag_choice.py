"""The choice of flags for tuning a program: a comparison of sets of flags before tuning."""

from __future__ import annotations

import math
import re
import shlex
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.cli.measuring import time_left
from tuninglink.cli.terminal import is_quiet
from tuninglink.errors import counted
from tuninglink.files import STANDARD_STREAM, write_output
from tuninglink.tuning.deciding.output_judge import OutputJudge
from tuninglink.tuning.devices import Settings
from tuninglink.tuning.devices.device import DeviceError
from tuninglink.tuning.devices.device_process import DeviceProcess
from tuninglink.tuning.devices.local import default_device
from tuninglink.tuning.flag_sets import DEFAULT, NONE, FlagSet, flag_sets
from tuninglink.tuning.flag_sets.comparison import FlagComparison
from tuninglink.tuning.flag_sets.compilation import (
    CompiledSource,
    ProgramSource,
    SetCompiler,
    SourceReference,
)
from tuninglink.tuning.flag_sets.results import (
    FlagsResult,
    SetResult,
    TunedSet,
    finalists,
    tuning_bases,
)
from tuninglink.tuning.settings import Numerics
from tuninglink.workers import processor_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.cli.tune_options import TuneOptions
    from tuninglink.tuning.flag_sets.comparison import Job

_PART: Final = 0.25
"""The largest fraction of the budget for comparing sets of flags, unless there is no other work."""

_FINAL_PART: Final = 0.15
"""The largest fraction of the remaining time for comparing tuned sets."""

_FINAL_ROUNDS: Final = 60
_LEAST_FINAL: Final = 6.0
_MOST_FINAL: Final = 20.0
"""The number of rounds of that comparison, and the bounds on their duration in seconds."""

_REFERENCE_PART: Final = 0.4
_LEAST_REFERENCE: Final = 5.0
_MOST_REFERENCE: Final = 120.0
"""The largest fraction of a comparison for computing the reference, and the bounds on its seconds."""

_GROUPING: Final = re.compile(r"[\s'\"\\]")
"""Characters of a flag that response files do not keep without quotation marks."""

_BACKENDS: Final = {"cuda": "cuda", "hip": "rocm", "rocm": "rocm", "llvm-cpu": "llvm-cpu"}
"""Backends by the names of devices or backends in flags."""


@dataclass(frozen=True)
class FlagChoice:
    """The comparison of sets of flags, which can be repeated with the tuned specs.

    Attributes:
        options: the options.
        result: the result of the comparison.
        default: the program with the user's flags; None if no sets were compared.
        jobs: the program under each set.
        uri: the URI of the device.
        judge: the judge that compares outputs with the cached outputs of the reference.
        seconds: the remaining time.
    """

    options: TuneOptions
    result: FlagsResult
    default: CompiledSource | None = None
    jobs: Mapping[FlagSet, Job] = field(default_factory=dict)
    uri: str = ""
    judge: OutputJudge = field(default_factory=OutputJudge)
    seconds: float = math.inf

    @property
    def bases(self) -> list[FlagSet]:
        """The sets under which dispatches are tuned, best first."""
        return tuning_bases(self.result, self.seconds, self._compile_seconds)

    @property
    def finalists(self) -> list[FlagSet]:
        """The sets that may be the fastest, for the final comparison; empty if too little time is left."""
        return finalists(self.result, self.seconds, self._compile_seconds)

    @property
    def _compile_seconds(self) -> float:
        return self.default.seconds if self.default is not None else 0.0

    def set_result(self, flag_set: FlagSet) -> SetResult | None:
        """Return the result of a set; None for the user's flags."""
        return next((result for result in self.result.results if result.flag_set == flag_set), None)

    @property
    def final_seconds(self) -> float:
        """The time in seconds to compare two tuned sets: compilations and rounds."""
        if self.default is None or self.result.default_ms is None:
            return 0.0
        rounds = _FINAL_ROUNDS * 4 * self.result.default_ms / 1000
        price = 3 * self.default.seconds + min(max(rounds, _LEAST_FINAL), _MOST_FINAL)
        return min(price, _FINAL_PART * self.seconds)

    def compare_tuned(self, tuned: Sequence[TunedSet], seconds: float) -> FlagsResult:
        """Compare sets, each with the spec tuned under it, by whole-program times."""
        assert self.default is not None
        say("comparing the tuned sets of flags")
        comparison = replace(
            _comparison(self.options, max(seconds, self.final_seconds), self.judge),
            default_ms=self.result.default_ms,
        )
        with SetCompiler(_jobs(self.options)) as compiler:
            try:
                with _device(self.uri, self.options) as device:
                    pairs = comparison.run_pairs(compiler, self.default, self.jobs, tuned, device)
            except DeviceError as failure:
                pairs = FlagsResult(reason=failure.diagnostics[0].message)
        _show(pairs)
        return replace(self.result, best=pairs.best, pairs=pairs.results, reason=pairs.reason)


def choose_flags(options: TuneOptions) -> FlagChoice:
    """Compare sets of flags.

    Compilations and runs use separate processes, so the flags of this process can still be set.

    Raises:
        TuninglinkError: the file with sets cannot be read.
    """
    reason = obstacle(options)
    if reason:
        return FlagChoice(options, FlagsResult(reason=reason))
    choice = _compare(options)
    _show(choice.result)
    return replace(choice, seconds=time_left(options.settings.seconds))


def _compare(options: TuneOptions) -> FlagChoice:
    """Compare the sets of flags for the program's backend."""
    settings = options.settings
    expected = backend_of(options.flags)
    sets = _sets(expected, options)  # a mistake in a file is reported before anything is compiled
    say("comparing sets of flags")
    part = 1.0 if options.only_flags else _PART
    seconds = part * time_left(settings.seconds)
    judge = _judge(options, seconds)
    comparison = _comparison(options, seconds, judge)
    with SetCompiler(_jobs(options)) as compiler:
        job = comparison.begin(compiler, DEFAULT)
        # The sets for the named backend are compiled along with the default.
        jobs = {set_: comparison.begin(compiler, set_) for set_ in sets}
        default = job.result()
        if isinstance(default, str):
            return FlagChoice(options, FlagsResult(reason=f"without further flags, {default}"))
        backend = default.backends[0] if default.backends else ""
        if backend != expected:
            jobs = {set_: comparison.begin(compiler, set_) for set_ in _sets(backend, options)}
        if not jobs:
            source = (
                f"in '{options.flag_sets}'" if options.flag_sets else f"for backend '{backend}'"
            )
            reason = f"there is no set {source} whose flags are not given already"
            return FlagChoice(options, FlagsResult(reason=reason))
        uri = settings.devices[0] if settings.devices else default_device(backend)
        try:
            with _device(uri, options) as device:
                result = comparison.run(default, jobs, device)
        except DeviceError as failure:
            result = FlagsResult(reason=failure.diagnostics[0].message)
        return FlagChoice(options, result, default, jobs, uri, judge)


def _comparison(options: TuneOptions, seconds: float, judge: OutputJudge) -> FlagComparison:
    settings = options.settings
    source = _source(options)
    return FlagComparison(source, options.flags, seconds, settings.min_gain, settings.seed, judge)


def _judge(options: TuneOptions, seconds: float) -> OutputJudge:
    """Return the judge of outputs, with a reference for the program if needed.

    Args:
        options: the options.
        seconds: the time limit of the comparison.
    """
    settings = options.settings
    if not settings.checks_defaults or settings.numerics is not Numerics.ROUNDING:
        return OutputJudge(numerics=settings.numerics)
    limit = min(_MOST_REFERENCE, max(_LEAST_REFERENCE, _REFERENCE_PART * seconds))
    reference = SourceReference(_source(options), options.flags, settings.seed, limit)
    return OutputJudge(reference=reference, numerics=settings.numerics)


def _source(options: TuneOptions) -> ProgramSource:
    return ProgramSource(options.input, options.compile_from, options.sizes, options.calls)


def _jobs(options: TuneOptions) -> int:
    return options.settings.jobs or processor_count()


def _device(uri: str, options: TuneOptions) -> DeviceProcess:
    settings = options.settings
    return DeviceProcess(uri, settings=Settings(seed=settings.seed), timeout=settings.timeout)


def backend_of(flags: Sequence[str]) -> str:
    """Return the backend that flags name; empty if they name no backend."""
    values = {value for flag in flags for value in flag.partition("=")[2].split(",")}
    return next((backend for name, backend in _BACKENDS.items() if name in values), "")


def _sets(backend: str, options: TuneOptions) -> list[FlagSet]:
    return flag_sets(backend, options.flag_sets, options.flags, program=options.input)


def write_flags(options: TuneOptions, result: FlagsResult) -> None:
    """Write the response file with the flags of the best set, or remove a stale one.

    Raises:
        TuninglinkError: the file cannot be written.
    """
    if options.output == STANDARD_STREAM:
        if options.only_flags:
            write_output(STANDARD_STREAM, _response(result))
        return
    path = Path(options.output).with_suffix(".flags")
    if result.flags:
        write_output(str(path), _response(result))
    elif not result.reason and not _is_given(path, options):
        path.unlink(missing_ok=True)


def _is_given(path: Path, options: TuneOptions) -> bool:
    """Return whether the flags of a response file are already given, for example by a project file."""
    try:
        flags = shlex.split(path.read_text())
    except (OSError, ValueError):
        return False
    return bool(flags) and set(flags) <= set(options.flags)


def _response(result: FlagsResult) -> bytes:
    """Return the text of a response file. Only flags that contain separators or quotes are quoted."""
    flags = (shlex.quote(flag) if _GROUPING.search(flag) else flag for flag in result.flags)
    return "".join(f"{flag}\n" for flag in flags).encode()


def obstacle(options: TuneOptions) -> str:
    """Return the reason why sets of flags are not compared; empty if they are compared."""
    if options.flag_sets == NONE:
        return "it was not requested"
    if options.input == STANDARD_STREAM:
        return "standard input can be read once only"
    if options.cluster:
        return "sets of flags are compared on this machine only"
    if math.isinf(options.settings.seconds) and not (options.flag_sets or options.only_flags):
        return "there is no --budget to take a quarter of"
    return ""


def _show(result: FlagsResult) -> None:
    """Show the result of a comparison."""
    for set_result in result.results:
        entries = "" if set_result.entries is None else f", {set_result.entries} tuned"
        say(f"  {set_result.flag_set.name}{entries}: {_outcome(set_result)}")
    if result.noise is not None:
        say(f"  the default against itself: {result.noise}")
    if result.finding:
        say(f"warning: {result.finding}")
    if result.best is not None:
        say(f"  taken: {' '.join(result.flags) or 'the spec without further flags'}")
    elif result.reason:
        say(f"  no sets were compared: {result.reason}")
    else:
        say("  no set is faster")


def _outcome(result: SetResult) -> str:
    if result.speedup is None:
        return result.note
    avoided = f"avoids {counted(result.avoided, 'wrong default')}" if result.avoided > 0 else ""
    notes = "".join(f"; {note}" for note in (avoided, result.note) if note)
    return f"{result.milliseconds:.4g} ms, {result.speedup}{notes}"


def say(text: str) -> None:
    """Show a line of progress, unless `--quiet` is given."""
    if not is_quiet():
        print(text, file=sys.stderr, flush=True)  # noqa: T201
