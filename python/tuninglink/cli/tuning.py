"""Tuning of a program: of sets of flags, of dispatches under the best sets, and the choice of the fastest pair."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.flag_choice import FlagChoice, choose_flags, obstacle, say, write_flags
from tuninglink.cli.main import end_with, exit_on_interrupt
from tuninglink.cli.measuring import check_outputs, stopping, time_left
from tuninglink.cli.terminal import Verbosity, progress, set_verbosity, verbosity
from tuninglink.cli.tune_run import Tuned, check_named_devices, check_selected, tune
from tuninglink.cli.tune_stages import run_stages
from tuninglink.compiler.session import set_up_command_line
from tuninglink.emission.spec_writer import write_spec
from tuninglink.errors import TuninglinkError
from tuninglink.explaining.profiles import read_profile
from tuninglink.files import STANDARD_STREAM, check_directory, temporary_directory, write_output
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error
from tuninglink.tuning.candidates.compilation import prepare_whole_worker
from tuninglink.tuning.flag_sets.results import FlagsResult, TunedSet
from tuninglink.tuning.problems.programs import program_of
from tuninglink.tuning.report import with_flag_sets, write_report
from tuninglink.tuning.scheduling.budget import Budget
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from multiprocessing.connection import Connection

    from tuninglink.cli.tune_options import TuneOptions
    from tuninglink.tuning.flag_sets import FlagSet


_TILED_PART: Final = 0.35
"""The fraction of the time for the set with data tiling, under which specs configure less."""


def tune_program(options: TuneOptions, command: str) -> TuninglinkError | None:
    """Tune a program, and write the spec, the flags and the report.

    Args:
        options: the options.
        command: the command name for the message on an interrupt.

    Returns:
        The error that ended tuning early; None without an error.

    Raises:
        TuninglinkError: the program cannot be tuned, or a result cannot be written.
    """
    if options.is_partial:
        return run_stages(options, command)
    check_outputs(options)
    if options.report:
        check_directory(options.report)
    if options.profile:
        read_profile(options.profile)  # a mistake in it is reported before anything is compiled
    check_named_devices(options)
    _check_selected(options)
    choice = choose_flags(options)
    if options.only_flags:
        write_flags(options, choice.result)
        return None
    bases = choice.bases
    if len(bases) == 1 and choice.finalists in ([], bases):
        (base,) = bases
        set_up_command_line(command, (*options.flags, *base.flags))
        tuned = tune(_with_flags(options, base, options.settings.seconds), base.flags, command)
        return _write(options, tuned, replace(choice.result, best=choice.set_result(base)))
    tuned, result = _tune_bases(choice, bases, command)
    return _write(options, tuned, result)


def tune_problems(options: TuneOptions, command: str) -> TuninglinkError | None:
    """Tune problems without a program; see `tune_program`.

    Raises:
        TuninglinkError: a problem cannot be tuned, or a result cannot be written.
    """
    process.show(Diagnostic(Severity.REMARK, _NO_WHOLE_PROGRAM))
    with temporary_directory() as directory:
        path = directory / "problems.mlir"
        path.write_text(program_of(options.problems))
        return tune_program(replace(options, input=str(path)), command)


_NO_WHOLE_PROGRAM: Final = (
    "problems are measured one by one: no whole program guards the spec or decides on sets of flags"
)


def _check_selected(options: TuneOptions) -> None:
    """Check the selection of dispatches and search spaces before sets of flags are compared.

    Raises:
        TuninglinkError: nothing is selected, or the program does not compile.
    """
    settings = options.settings
    is_partial = bool(settings.patterns or settings.pipelines or settings.fixed)
    if not is_partial or options.only_flags or obstacle(options):
        return
    # In another process, as flags are set once, and those of the best set are not chosen yet.
    with (
        progress(f"reading the dispatches of {options.title}"),
        suppress(JobTimeoutError, WorkerCrashedError),  # tuning reports them
        Pool(1, prepare_whole_worker, (options.flags,)) as pool,
    ):
        pool.submit(check_selected, options, seconds=time_left(settings.seconds)).result()


def _tune_bases(
    choice: FlagChoice, bases: Sequence[FlagSet], command: str
) -> tuple[Tuned, FlagsResult]:
    """Tune the dispatches under several sets; return the fastest pair of flags and spec.

    Raises:
        TuninglinkError: the program cannot be tuned under any set.
    """
    # Tune under one set after the other, each with its share of the time.
    end = time.monotonic() + choice.seconds - choice.final_seconds
    tuned: dict[FlagSet, Tuned] = {}
    failures: list[TuninglinkError] = []
    is_interrupted = False
    for base in bases:
        left = max(1.0, end - time.monotonic())
        seconds = left if base is bases[-1] else _TILED_PART * left
        say(f"tuning dispatches under the flags '{base.name}'")
        options = _with_flags(choice.options, base, seconds)
        try:
            outcome = tune_in_process(options, base.flags, command)
        except TuninglinkError as failure:
            failures.append(failure)
            continue
        if outcome is not None:
            tuned[base] = outcome
        if outcome is None or outcome.is_interrupted:
            is_interrupted = True
            break
    # Failures are warnings if another set was tuned.
    if not tuned:
        raise failures[0] if failures else TuninglinkError(error("interrupted"))
    for diagnostic in (diagnostic for failure in failures for diagnostic in failure.diagnostics):
        process.show(replace(diagnostic, severity=Severity.WARNING))
    best = next(iter(tuned))
    result = replace(choice.result, best=choice.set_result(best))
    if is_interrupted:
        return tuned[best], result
    if choice.options.output != STANDARD_STREAM:
        _write(choice.options, tuned[best], result)  # keep it if the comparison is interrupted
    # Compare the tuned programs, and the best sets without a spec.
    left = end + choice.final_seconds - time.monotonic()
    contestants = [_contestant(base, tuned) for base in bases]
    present = [contestant.flag_set for contestant in contestants if not contestant.entries]
    alone = [TunedSet(finalist) for finalist in choice.finalists if finalist not in present]
    return _fastest_pair(choice, [*alone, *contestants], tuned, left)


def _fastest_pair(
    choice: FlagChoice,
    contestants: Sequence[TunedSet],
    tuned: Mapping[FlagSet, Tuned],
    seconds: float,
) -> tuple[Tuned, FlagsResult]:
    """Return the fastest pair of flags and spec; the first one if the comparison fails."""
    result = choice.compare_tuned(contestants, seconds)
    best = next(iter(tuned))
    if result.reason:
        return tuned[best], replace(result, best=choice.set_result(best))
    if result.best is not None and result.best.entries:
        return tuned[result.best.flag_set], result
    # The flags alone are the fastest.
    return replace(tuned[best], spec=write_spec("tuned", []), entries=0), result


def _contestant(base: FlagSet, tuned: Mapping[FlagSet, Tuned]) -> TunedSet:
    """Return a set of flags, with its spec if its dispatches were tuned."""
    return (
        TunedSet(base, tuned[base].spec, tuned[base].entries) if base in tuned else TunedSet(base)
    )


def _with_flags(options: TuneOptions, base: FlagSet, seconds: float) -> TuneOptions:
    """Return options with the flags of a set, and with the time limit in seconds of the process that tunes under it."""
    settings = replace(options.settings, seconds=seconds)
    return replace(options, flags=(*options.flags, *base.flags), settings=settings)


def _write(options: TuneOptions, tuned: Tuned, result: FlagsResult) -> TuninglinkError | None:
    """Write the spec, the flags and the report; return the error that ended tuning early."""
    write_output(options.output, tuned.spec)  # first, so that later failures do not lose it
    write_flags(options, result)
    if options.report:
        write_report(with_flag_sets(tuned.report, result), Path(options.report))
    return tuned.failure


@dataclass(frozen=True)
class _Job:
    options: TuneOptions
    set_flags: tuple[str, ...]
    command: str
    verbosity: Verbosity


class _Relay(Budget):
    """A budget that signals the process that spends it when it ends."""

    def __init__(self, process: int) -> None:
        super().__init__()
        self._process = process

    def stop(self) -> None:
        """End the process early, with a signal other than an interrupt, since the process may ignore interrupts."""
        super().stop()
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGTERM)


def tune_in_process(options: TuneOptions, set_flags: tuple[str, ...], command: str) -> Tuned | None:
    """Tune the dispatches of a program in a separate process; see `tune`.

    Signals that end a run early are passed on.

    Returns:
        The result; None if a signal ended the process before it had a result.

    Raises:
        TuninglinkError: the program cannot be tuned, or the compiler crashed.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    job = _Job(options, set_flags, command, verbosity())
    process = context.Process(target=_tune_and_send, args=(job, sender, os.getpid()))
    process.start()
    sender.close()
    assert process.pid is not None
    relay = _Relay(process.pid)
    outcome: Tuned | TuninglinkError | None = None
    with stopping(relay, ""):
        try:
            outcome = receiver.recv()
        except EOFError:
            process.join()
            if not relay.is_stopped:
                crash = error(f"the compiler crashed: exit code {process.exitcode}")
                raise TuninglinkError(crash) from None
    process.join()
    if isinstance(outcome, TuninglinkError):
        raise outcome
    return outcome


def _tune_and_send(job: _Job, sender: Connection, parent: int) -> None:
    """Tune in this process, and send the result."""
    os.setpgid(0, 0)  # An interrupt from the terminal comes from the parent, once.
    end_with(parent)
    set_verbosity(job.verbosity)
    exit_on_interrupt(job.command)
    from tuninglink.cli.tune_run import tune  # noqa: PLC0415 - loads the compiler

    try:
        set_up_command_line(job.command, job.options.flags)
        outcome: Tuned | TuninglinkError = tune(job.options, job.set_flags, job.command)
    except TuninglinkError as failure:
        outcome = failure
    sender.send(outcome)
    sender.close()
    os._exit(0)
