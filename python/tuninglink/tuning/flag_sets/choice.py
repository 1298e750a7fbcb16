"""The choice of flags for tuning a program: a comparison of sets of flags before tuning."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from tuninglink.files import STANDARD_STREAM
from tuninglink.tuning.deciding import Numerics, OutputJudge, TuneOptions
from tuninglink.tuning.devices import (
    DeviceError,
    DeviceProcess,
    Settings,
    backend_of,
    default_device,
)
from tuninglink.tuning.flag_sets.comparison import FlagComparison
from tuninglink.tuning.flag_sets.listener import Listener
from tuninglink.tuning.flag_sets.sets import (
    DEFAULT,
    NONE,
    CompiledSource,
    FlagSet,
    FlagsResult,
    ProgramSource,
    SetCompiler,
    SetResult,
    SourceReference,
    TunedSet,
    finalists,
    flag_sets,
    tuning_bases,
)
from tuninglink.workers import processor_count

if TYPE_CHECKING:
    from tuninglink.tuning.flag_sets.comparison import Job


_PART: Final = 0.25
"""The largest fraction of the budget for comparing sets of flags, unless there is no other work."""

_COMPILING: Final = 0.5
"""The fraction of a comparison in which sets compile. Sets that would not be done by then are not tried."""

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


@dataclass(frozen=True)
class FlagChoice:
    """The comparison of sets of flags, which can be repeated with the tuned specs.

    Attributes:
        options: the options.
        listener: receives progress events.
        result: the result of the comparison.
        default: the program with the user's flags; None if no sets were compared.
        jobs: the program under each set.
        uri: the URI of the device.
        judge: the judge that compares outputs with the cached outputs of the reference.
        seconds: the remaining time.
    """

    options: TuneOptions
    listener: Listener
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
        self.listener.comparing_sets()
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
        self.listener.sets_compared(pairs)
        return replace(
            self.result,
            best=pairs.best,
            pairs=pairs.results,
            reason=pairs.reason,
            final_ms=pairs.default_ms,
            noise=pairs.noise or self.result.noise,
        )


def choose_flags(options: TuneOptions, listener: Listener, deadline: float) -> FlagChoice:
    """Compare sets of flags.

    Compilations and runs use separate processes, so the flags of this process can still be set.

    Args:
        options: the options.
        listener: receives progress events.
        deadline: the end of the run, in seconds of `time.monotonic()`.

    Raises:
        TuninglinkError: the file with sets cannot be read.
    """
    reason = obstacle(options)
    if reason:
        choice = FlagChoice(options, listener, FlagsResult(reason=reason))
    else:
        part = 1.0 if options.only_flags else _PART
        choice = _compare(options, listener, part * max(0.0, deadline - time.monotonic()))
        listener.sets_compared(choice.result)
    return replace(choice, seconds=max(0.0, deadline - time.monotonic()))


def _compare(options: TuneOptions, listener: Listener, seconds: float) -> FlagChoice:
    """Compare the sets of flags for the program's backend in a number of seconds."""
    settings = options.settings
    expected = backend_of(options.flags)
    sets = _sets(expected, options)  # a mistake in a file is reported before anything is compiled
    listener.comparing_sets()
    judge = _judge(options, seconds)
    comparison = _comparison(options, seconds, judge)
    began, cores = time.monotonic(), _jobs(options)

    def unable(reason: str) -> FlagChoice:
        return FlagChoice(options, listener, FlagsResult(reason=reason))

    with SetCompiler(cores) as compiler:
        # The first sets for the named backend are compiled along with the default.
        job = comparison.begin(compiler, DEFAULT)
        jobs = {set_: comparison.begin(compiler, set_) for set_ in sets[: max(1, cores - 1)]}
        default = job.result()
        if isinstance(default, str):
            return unable(f"without further flags, {default}")
        backend = default.backends[0] if default.backends else ""
        if backend != expected:
            sets, jobs = _sets(backend, options), {}
        if not sets:
            source = (
                f"in '{options.flag_sets}'" if options.flag_sets else f"for backend '{backend}'"
            )
            return unable(f"there is no set {source} whose flags are not given already")
        # The time of the default shows how many sets can be compiled.
        each = time.monotonic() - began
        if each > seconds:
            return unable(
                f"the program compiles in {each:.0f} s, the comparison has {seconds:.0f} s"
            )
        count = max(1, len(jobs) + sets_in_time(seconds, each, cores, len(sets) - len(jobs)))
        jobs |= {set_: comparison.begin(compiler, set_) for set_ in sets[len(jobs) : count]}
        uri = settings.devices[0] if settings.devices else default_device(backend)
        try:
            with _device(uri, options) as device:
                result = comparison.run(default, jobs, device)
        except DeviceError as failure:
            result = FlagsResult(reason=failure.diagnostics[0].message)
    untried = [SetResult(set_, note=_UNTRIED) for set_ in sets[count:] if not result.reason]
    result = replace(result, results=(*result.results, *untried))
    return FlagChoice(options, listener, result, default, jobs, uri, judge)


def sets_in_time(seconds: float, each: float, cores: int, most: int) -> int:
    """Return the number of further sets that compile in the first half of a comparison.

    Args:
        seconds: the time limit of the comparison.
        each: the time of a compilation; the first ones have taken it.
        cores: the number of parallel compilations.
        most: the number of further sets.
    """
    return int(min(most, max(0.0, _COMPILING * seconds - each) / each * cores))


_UNTRIED: Final = "it was not tried: the budget has no time for it"


def _comparison(options: TuneOptions, seconds: float, judge: OutputJudge) -> FlagComparison:
    settings = options.settings
    source = _source(options)
    return FlagComparison(source, options.flags, seconds, settings.min_gain, settings.seed, judge)


def _judge(options: TuneOptions, seconds: float) -> OutputJudge:
    """Return the judge of outputs, with a reference for the program if needed."""
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


def _sets(backend: str, options: TuneOptions) -> list[FlagSet]:
    return flag_sets(backend, options.flag_sets, options.flags, program=options.input)


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
