"""Tuning of a program: of sets of flags, of dispatches under the best sets, and the choice of the fastest pair."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from tuninglink.arguments import Content, several
from tuninglink.compiler import SavedProgram, program_path, read_options
from tuninglink.devices import check_devices
from tuninglink.emission import write_spec
from tuninglink.errors import Diagnostic, Severity, TuninglinkError
from tuninglink.explaining import read_profile
from tuninglink.files import temporary_directory
from tuninglink.iree import GivenSizes, Target
from tuninglink.mlir import error
from tuninglink.preprocessing import with_entries
from tuninglink.programs import ALL_CALLS, CallOptions, NothingToTuneError
from tuninglink.specs import SpecSource, load_specs
from tuninglink.tuning.candidates import Compiled, prepare_worker
from tuninglink.tuning.deciding import (
    Interrupted,
    Interruption,
    Ledger,
    ModelComparison,
    TuneOptions,
    TuningSettings,
)
from tuninglink.tuning.dispatch_tuning import DispatchTuning, check_selected, with_replaced_ops
from tuninglink.tuning.flag_sets import (
    DEFAULT,
    NO_TIME,
    NOT_COMPILED,
    FlagChoice,
    FlagSet,
    FlagsResult,
    Listener,
    TunedSet,
    choose_flags,
    obstacle,
)
from tuninglink.tuning.references import ReferenceOutputs
from tuninglink.tuning.report import TuningReport, with_flag_sets
from tuninglink.tuning.search import search_named
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError

_TILED_PART: Final = 0.35
"""The fraction of the time for the set with data tiling, under which specs configure less."""

_LEAST_SECONDS: Final = 1.0
"""The least time for the dispatches under a set, in seconds."""

_READING_SECONDS: Final = 10.0
"""The least time for compiling the program up to its dispatches, in seconds: without them, nothing is known."""


@dataclass(frozen=True)
class Tuned:
    """The result of tuning a program.

    Attributes:
        spec: the spec, as text; without entries if no configuration wins.
        entries: the number of problems with an entry.
        report: the results for dispatches, flags and the whole program.
        sets: the comparison of sets of flags.
        failure: the error that ended tuning early; None without an error.
        is_interrupted: whether an interrupt ended tuning early.
        image: the program compiled with the spec under the flags of the set; None if it was not run.
    """

    spec: str
    entries: int
    report: TuningReport
    sets: FlagsResult = field(default_factory=FlagsResult)
    failure: TuninglinkError | None = None
    is_interrupted: bool = False
    image: bytes | None = field(default=None, repr=False)

    @property
    def has_winners(self) -> bool:
        """Whether a configuration, a set of flags or a form wins."""
        return bool(self.entries or self.flags or self.sets.forms)

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags that win in addition to the given ones. Some apply to a whole process, as with `tuninglink compile`."""
        return self.sets.flags

    @property
    def whole(self) -> ModelComparison | None:
        """The whole program with spec and flags against the program without them; None if it was not measured."""
        return self.report.whole


def tune(
    program: str | os.PathLike[str] | Content,
    *,
    target: str | Target | None = None,
    flags: str | Iterable[str] = (),
    settings: TuningSettings | None = None,
    specs: SpecSource | Iterable[SpecSource] = (),
    sizes: str | Iterable[str] = (),
    calls: CallOptions = ALL_CALLS,
    flag_sets: str | os.PathLike[str] = "",
    kernels: bool = False,
    listener: Listener | None = None,
    database: str | os.PathLike[str] = "",
) -> Tuned:
    """Tune a program on a device, as `tuninglink tune` does, without writing files.

    Dispatches are tuned in a separate process, so that any flag of the compiler may be given.

    Args:
        program: the path of the program, or its content; text or bytecode.
        target: what to compile for: `host`, an SKU, an architecture or a family.
        flags: compiler flags, as words or as one line.
        settings: the settings; without limits, tuning ends when the candidates run out.
        specs: specs whose configurations are candidates, in addition to the default specs: loaded ones, sources as on the
            command line, or contents.
        sizes: the sizes at which dynamic dispatches are tuned, in the syntax of `--dim`: `0.0=1,8:2,64`.
        calls: the functions of the program to call, and their arguments.
        flag_sets: a file with sets of flags to compare, `none`, or empty for those of the backend, which are compared in a
            tenth of a limited time.
        kernels: whether to try kernels; the spec holds those that make the whole program faster, which run on the device.
        listener: receives progress events, in the process that they belong to.
        database: the file that keeps all results; its contents are not measured again. Empty for none.

    Raises:
        ValueError: a text gives no sizes.
        TuninglinkError: the program does not compile, or none of its dispatches can be tuned on the device.
    """
    compiling = read_options(flags, target, is_process_wide=True)
    given = tuple(map(GivenSizes.parse, several(sizes, "sizes")))
    loaded, _ = load_specs(specs)
    with temporary_directory() as directory, program_path(program) as path:
        for number, spec in enumerate(loaded):
            (directory / f"{number}.mlirbc").write_bytes(spec.bytecode())
        options = TuneOptions(
            input=path,
            flags=compiling.flags,
            target=compiling.target,
            settings=settings or TuningSettings(),
            specs=tuple(str(directory / f"{number}.mlirbc") for number in range(len(loaded))),
            sizes=given,
            calls=calls,
            flag_sets=os.fspath(flag_sets),
            kernels=kernels,
            database=os.fspath(database),
        )
        own, stop = listener or Listener(), Interruption()
        with with_replaced_ops(options, own) as replacing, own.interrupts(stop):
            return tune_program(replacing, own, interruption=stop)


def tune_program(
    options: TuneOptions,
    listener: Listener,
    keep: Callable[[Tuned], object] = lambda _: None,
    interruption: Interruption | None = None,
) -> Tuned:
    """Tune a program with options from `with_replaced_ops`, until the end of the time or an interruption.

    `keep` gets the best result before the final comparison, if there are winners.

    Raises:
        TuninglinkError: the program cannot be tuned.
    """
    deadline = time.monotonic() + options.settings.seconds
    search_named(options.settings.search)
    if options.profile:
        read_profile(options.profile)  # a mistake in it is reported before anything is compiled
    if not options.cluster:
        check_devices(options.settings.devices, options.flags)
    # Check the selection of dispatches and search spaces before sets of flags are compared.
    settings = options.settings
    interruption = interruption or Interruption()
    if (settings.patterns or settings.pipelines or settings.fixed) and not obstacle(options):
        with (
            listener.during(f"reading the dispatches of {options.title}"),
            suppress(JobTimeoutError, WorkerCrashedError, Interrupted),  # tuning reports them
            interruption.ending(),
            Pool(1, prepare_worker, (options.flags, True)) as pool,
        ):
            seconds = max(_LEAST_SECONDS, deadline - time.monotonic())
            pool.submit(check_selected, options, seconds=seconds).result()
    with choose_flags(options, listener, deadline, interruption) as choice:
        tuned, sets = _tune_bases(choice, listener, deadline, keep)
    spec = with_entries(tuned.spec, sets.forms, options.specs)
    tuned = replace(tuned, is_interrupted=choice.interruption.is_stopped)
    return replace(tuned, spec=spec, sets=sets, report=with_flag_sets(tuned.report, sets))


def _tune_bases(
    choice: FlagChoice, listener: Listener, deadline: float, keep: Callable[[Tuned], object]
) -> tuple[Tuned, FlagsResult]:
    """Tune the dispatches under the best sets; return the fastest pair of flags and spec."""
    # Tune under one set after the other, each with its share of the time.
    bases, interruption = choice.bases, choice.interruption
    has_flags = not all(base.is_default for base in bases)
    end = deadline - choice.final_seconds
    tuned: dict[FlagSet, Tuned] = {}
    failures: list[TuninglinkError] = []
    for base in bases:
        left = max(_LEAST_SECONDS, end - time.monotonic())
        seconds = left if base is bases[-1] else _TILED_PART * left
        if has_flags:
            listener.tuning_under(base)
        try:
            # A reference of the program under the set may be wrong, or wrong in the same way.
            compiled, original = choice.compiled(base)
            tuned[base] = tune_in_process(
                choice.options,
                base,
                listener,
                seconds,
                compiled,
                interruption=interruption,
                original=original,
                expected=choice.expected,
            )
        except TuninglinkError as failure:
            failures.append(failure)
            if base.forms and isinstance(failure, NothingToTuneError):
                # Perhaps all dispatches are kernels. The set was faster without entries for them.
                tuned[base] = _untuned(choice.options, failure.diagnostics[0].message)
        if interruption.is_stopped:
            break
    # Failures are warnings if another set was tuned.
    if not tuned:
        raise failures[0]
    for diagnostic in (diagnostic for failure in failures for diagnostic in failure.diagnostics):
        listener.noticed(replace(diagnostic, severity=Severity.WARNING))
    # By what is known so far: of one that was not read in time, the speedup of its set only.
    gains = {}
    for base, outcome in tuned.items():
        alone, model = choice.set_result(base), outcome.report.model
        gains[base] = (alone.median if alone else 1.0) * (model.speedup.median if model else 1.0)
    best = max(gains, key=gains.__getitem__)
    result = replace(choice.result, best=choice.set_result(best))
    spec = with_entries(tuned[best].spec, result.forms, choice.options.specs)
    whole = replace(tuned[best], spec=spec, sets=result, is_interrupted=interruption.is_stopped)
    if whole.has_winners:
        keep(whole)
    # Compare the tuned programs, and the best sets without a spec.
    pairs = [TunedSet(base, own.spec, own.entries, own.image) for base, own in tuned.items()]
    contestants = choice.contestants(pairs)
    if interruption.is_stopped or not contestants:
        return tuned[best], result
    try:
        with interruption.ending():
            result = choice.compare_tuned(contestants, deadline - time.monotonic())
    except Interrupted:
        return tuned[best], result
    taken = result.best
    # What was tuned has been compared with the default before: a machine that became too busy does not lose it.
    is_noise = result.noise is not None and result.noise.is_noise
    tried = [pair for pair in result.pairs if pair.entries]
    is_late = tried and all(pair.note in (NO_TIME, NOT_COMPILED) for pair in tried)
    is_kept = taken is None and (not has_flags or is_noise)
    if result.reason or is_kept or is_late:
        return tuned[best], replace(result, pairs=(), best=choice.set_result(best))
    if taken is None or not taken.entries:
        # The flags alone are the fastest.
        return replace(tuned[best], spec=write_spec("tuned", []), entries=0), result
    return tuned[taken.flag_set if taken.flag_set in tuned else DEFAULT], result


def tune_in_process(
    options: TuneOptions,
    base: FlagSet,
    listener: Listener,
    seconds: float,
    compiled: Compiled | None = None,
    *,
    interruption: Interruption,
    original: SavedProgram | None = None,
    expected: ReferenceOutputs | None = None,
) -> Tuned:
    """Tune the dispatches of a program under a set of flags in a separate process.

    The set is one that the comparison of sets has chosen, the listener receives events in that process, and the program
    may be compiled already under all flags; see `DispatchTuning`. An interruption, and the end of the time, end the process
    while it compiles the program up to its dispatches, after which nothing takes long that cannot be stopped.

    Raises:
        TuninglinkError: the program cannot be tuned, or the compiler crashed.
    """
    settings = replace(options.settings, seconds=seconds)
    options = replace(options, flags=(*options.flags, *base.flags), settings=settings)
    deadline = time.monotonic() + seconds
    with Pool(1, prepare_worker, (options.flags, True), shows_errors=True) as pool:
        compilations = compiled, base.forms, original
        tuning = DispatchTuning(options, listener, base.flags, *compilations, expected or {})
        job = pool.submit(_tune_dispatches, tuning, deadline, _READING_SECONDS, seconds=math.inf)
        with interruption.ending(pool.terminate):
            try:
                return job.result()
            except (CancelledError, WorkerCrashedError) as failure:
                if interruption.is_stopped or isinstance(failure, CancelledError):
                    return _untuned(options, "tuning was interrupted")
                if failure.code == -signal.SIGALRM:
                    reason = f"the budget was over before {options.title} was compiled up to its dispatches"
                    listener.noticed(Diagnostic(Severity.WARNING, reason))
                    return _untuned(options, reason)
                raise TuninglinkError(error(f"the compiler crashed: {failure.status}")) from None


def _untuned(options: TuneOptions, reason: str) -> Tuned:
    """Return the result for a program none of whose dispatches were tuned."""
    return Tuned(write_spec("tuned", []), 0, TuningReport(options.title, notes=(reason,)))


def _tune_dispatches(tuning: DispatchTuning, deadline: float, least: float) -> Tuned:
    """Tune dispatches in this process, whose command line holds the flags, until a deadline or SIGTERM.

    While it reads the program, mostly in native code, SIGTERM ends the process, and the deadline after the least seconds.
    """
    left = deadline - time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, max(least, left) if math.isfinite(left) else 0.0)
    ledger = Ledger(left, tuning.options.settings.trials)
    watch = partial(signal.signal, signal.SIGTERM, lambda *_: ledger.whole.stop())
    result, report = tuning.run(ledger, watch)
    return Tuned(
        result.spec,
        len(result.entries),
        report,
        failure=result.failure,
        is_interrupted=ledger.whole.is_stopped,
        image=result.image,
    )
