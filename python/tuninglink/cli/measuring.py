"""What the commands that measure candidates (`tune` and `retune`) share: options, checks, the end of their time, and progress."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from tuninglink.cli import process
from tuninglink.cli.database import open_database
from tuninglink.cli.terminal import (
    Verbosity,
    columns,
    folded,
    is_quiet,
    is_verbose,
    progress,
    set_verbosity,
)
from tuninglink.devices import duration
from tuninglink.errors import counted, escaped
from tuninglink.files import check_directory, check_output
from tuninglink.interrupt_hooks import run_interrupt_hooks
from tuninglink.llvm_flags import options_from
from tuninglink.programs import Correctness, OutputVerdict
from tuninglink.tuning.deciding import (
    Ending,
    MeasuringOptions,
    TaskOutcome,
    TaskResult,
    TrialResult,
    TuningSettings,
    WrongDefaults,
)
from tuninglink.tuning.flag_sets import NO_TIME, NOT_COMPILED, Listener

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from tuninglink.compiler import FlagReader
    from tuninglink.devices import DeviceDescription, Timeline
    from tuninglink.errors import Diagnostic
    from tuninglink.programs import DispatchedProgram, Failure, Omission, TuningTask
    from tuninglink.tuning.candidates import TunableTask
    from tuninglink.tuning.deciding import Budget, FunctionComparison, ModelComparison, ModelVerdict
    from tuninglink.tuning.flag_sets import FlagSet, FlagsResult


_Options = TypeVar("_Options", bound=MeasuringOptions)
_DEFAULT_SECONDS: Final = 600.0


def measuring_options(kind: type[_Options], reader: FlagReader, **others: Any) -> _Options:
    """Return the options of a command that measures candidates, in limited time unless the trials are limited."""
    options = options_from(kind, reader.values, flags=reader.flags, **others)
    settings = options.settings
    if settings.trials is None and settings.seconds == TuningSettings.seconds:
        settings = replace(settings, seconds=_DEFAULT_SECONDS)
    devices = settings.board.uris(settings.devices)
    return replace(options, settings=replace(settings, devices=devices))


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

    ended = -math.inf

    def stop(number: int, _: object) -> None:
        nonlocal ended
        now = time.monotonic()
        if now - ended < 1.0:
            return  # it is the same one: `timeout` sends it to a group of processes, and `main` relays it
        if budget.is_stopped:
            try:
                run_interrupt_hooks()
            finally:
                os._exit(128 + number)  # as shells do
        ended = now
        with suppress(OSError):  # the terminal may be closed
            os.write(2, f"\n{program}: interrupted; ending with what is known so far\n".encode())
        budget.stop()

    before = {number: signal.signal(number, stop) for number in watched}
    watcher = signal.set_wakeup_fd(-1)  # its reader would end the process
    try:
        yield
    finally:
        signal.set_wakeup_fd(watcher, warn_on_full_buffer=False)
        for number, handler in before.items():
            signal.signal(number, handler)


REPAIRED: Final = "with the entries for defaults that fail"


def summary(result: TaskResult) -> str:
    """Return the outcome of a task, its times, its share, and the reason for the end of its trials."""
    ending = f" ({result.ending.value})" if result.ending else ""
    tried = f", {counted(len(result.trials), 'candidate')} tried{ending}"
    tried = "" if result.ending is Ending.NO_CANDIDATES else tried  # the outcome says so
    return f"{_outcome(result)}; {result.share:.0%} of the time{tried}{_default(result)}"


def _outcome(result: TaskResult) -> str:
    """Return the outcome of a task with its times."""
    default, decision = f"{duration(result.default_us)} by default", result.decision
    if result.default_failure is not None:
        default = "no default"
    match result.verdict:
        case TaskOutcome.WON | TaskOutcome.LEFT_OUT if decision is not None:
            times = f"{duration(decision.default_us)} to {duration(decision.tuned_us)}"
            return f"won: {decision.speedup}, {times}"
        case TaskOutcome.WON | TaskOutcome.LEFT_OUT if result.winner and result.winner.microseconds:
            return f"won: {duration(result.winner.microseconds)}"
        case TaskOutcome.UNDECIDED:
            interval = f": {decision}" if decision else ""
            reason = f": {result.reason}" if result.reason else ""
            return f"undecided{interval}{reason}, {default}"
        case _ if not result.trials:
            reason = result.prepared.spaces.reason
            return f"no candidates{f': {reason}' if reason else ''}, {default}"
        case _ if result.ending is Ending.ALL_FAILED:
            return f"all candidates failed, {default}"
    return f"nothing is faster than the compiler's choice, {duration(result.default_us)}"


def _default(result: TaskResult) -> str:
    """Return the verdict on the compiler's default from the reference; empty if the default is correct."""
    judgement = result.judgement
    if result.default_failure is not None:
        if result.verdict is TaskOutcome.WON:
            return "; the compiler's own choice fails"
        return "; the compiler's own choice fails, and no right candidate was found: the program does not run"
    if judgement is None or judgement.correctness is Correctness.RIGHT:
        return ""
    if judgement.correctness is not Correctness.WRONG:
        reason = next(iter(judgement.reason.splitlines()), "")
        return f"; the default's result is {judgement.correctness.value}: {reason}"
    if result.verdict is TaskOutcome.WON:
        return "; the default's result is wrong"
    return "; the default's result is wrong, and no right candidate was found: the program computes wrong results here"


@dataclass
class _TaskProgress:
    """The displayed state of a task."""

    default_us: float
    best_us: float
    tried: int = 0
    failed: int = 0


class ProgressLines(Listener):
    """A listener that shows diagnostics, and stops budgets on a signal.

    Unless `--quiet` is given, it writes a line for each step and, on a terminal, a line that changes with each trial.
    """

    def __init__(self, command: str, chosen: Verbosity) -> None:
        self._command = command
        self._verbosity = chosen
        set_verbosity(chosen)
        self._is_watched = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._tasks: dict[str, _TaskProgress] = {}
        self._entries = 0
        self._is_final = False

    def __reduce__(self) -> tuple[type[Self], tuple[str, Verbosity]]:
        return type(self), (self._command, self._verbosity)

    def noticed(self, diagnostic: Diagnostic) -> None:
        self._clear()
        process.show(diagnostic)

    def during(self, activity: str) -> AbstractContextManager[object]:
        return progress(activity)

    @contextmanager
    def interrupts(self, budget: Budget) -> Iterator[None]:
        try:
            with stopping(budget, self._command):
                yield
        finally:
            self._clear()

    def comparing_sets(self) -> None:
        self._say(f"comparing {'the tuned ' if self._is_final else ''}sets of flags")
        self._is_final = True

    def sets_compared(self, result: FlagsResult) -> None:
        for set_result in result.results:
            entries = "" if set_result.entries is None else f", {set_result.entries} tuned"
            outcome = set_result.note
            if set_result.speedup is not None:
                wrong = counted(set_result.avoided, "wrong default")
                avoided = f"avoids {wrong}" if set_result.avoided > 0 else ""
                notes = "".join(f"; {note}" for note in (avoided, set_result.note) if note)
                outcome = f"{set_result.milliseconds:.4g} ms, {set_result.speedup}{notes}"
            # What fails without the flags, too, is said once.
            if outcome and not result.reason.endswith(f", {outcome}"):
                self._say(f"  {set_result.flag_set.name}{entries}: {outcome}")
        if result.noise is not None:
            self._say(f"  the default against itself: {result.noise}")
        if result.finding:
            self._say(f"warning: {result.finding}")
        if result.best is not None and result.reason:
            self._say(f"  {result.reason}")
        is_late = all(each.note in (NO_TIME, NOT_COMPILED) for each in result.results)
        reason = result.reason or ("there was no time" if is_late else "")
        none = f"no sets were compared: {reason}" if reason else "no set is faster"
        forms = result.best.flag_set.name if result.best is not None and result.forms else ""
        taken = " ".join(result.flags) or forms or "the spec without further flags"
        self._say(f"  {none if result.best is None else f'taken: {taken}'}")

    def tuning_under(self, flag_set: FlagSet) -> None:
        self._say(f"tuning dispatches under the flags '{flag_set.name}'")

    def found(self, program: DispatchedProgram, devices: Sequence[DeviceDescription]) -> None:
        tasks, names = program.tasks, ", ".join(device.uri for device in devices)
        calls = counted(sum(task.calls for task in tasks), "call")
        calls += "" if all(task.calls for task in tasks) else " and in initializers"
        self._say(f"{counted(len(tasks), 'problem')} in {calls}, on {devices[0].name} ({names})")

    def omitted(self, omission: Omission) -> None:
        self._say(f"not tuned: {omission}")

    def begun(self, prepared: TunableTask, share: float, default_us: float) -> None:
        self._tasks[prepared.task.key] = _TaskProgress(default_us, default_us)
        what = f"{prepared.task.short_name}: {prepared.spaces.problem}"
        default = "no default" if math.isinf(default_us) else duration(default_us)
        self._say(f"{what}: {default}, {share:.0%} of the time")

    def tried(self, prepared: TunableTask, trial: TrialResult, budget: Budget) -> None:
        task = self._tasks[prepared.task.key]
        task.tried += 1
        task.failed += trial.failure is not None
        is_best = trial.microseconds is not None and trial.microseconds < task.best_us
        if is_best and trial.microseconds is not None:
            task.best_us = trial.microseconds
        if not (is_best or self._is_watched):
            return
        failed = f", {task.failed} failed" if task.failed else ""
        left = budget.remaining
        rest = "" if math.isinf(left) else f", {left:.0f} s left"
        best = f"best {duration(task.best_us)}"
        if not math.isinf(task.default_us):
            best += f" ({task.default_us / task.best_us:.2f}x)"
        name = prepared.task.short_name
        self._say(f"  {name}: {task.tried} tried{failed}, {best}{rest}", is_fleeting=not is_best)

    def racing(self, prepared: TunableTask, finalists: int) -> None:
        name, candidates = prepared.task.short_name, counted(finalists, "candidate")
        self._say(f"  {name}: comparing {candidates} with the compiler's choice")

    def specializing(self, prepared: TunableTask, ranges: int) -> None:
        count = counted(ranges, "range")
        self._say(f"{prepared.task.short_name}: looking for configurations for {count} of sizes")

    def default_fails(self, task: TuningTask, failure: Failure) -> None:
        reason = next(iter(failure.message.splitlines()), "")
        self._say(
            f"warning: {task.short_name}: the compiler's own choice fails: {reason}; any right candidate replaces it"
        )

    def default_is_wrong(self, task: TuningTask, judgement: OutputVerdict) -> None:
        name, reason = task.short_name, judgement.reason
        self._say(f"warning: {name}: the compiler's own choice computes a wrong result: {reason}")

    def ended(self, result: TaskResult) -> None:
        for candidate, failure in result.wrong:
            self._say(f"  wrong result of {candidate}: {failure.message}")
        self._say(f"{result.task.short_name}: {summary(result)}")
        spans = {
            comparison.sizes: part.task.span for part in result.ranges for comparison in part.sizes
        }
        for comparison in result.sizes:
            times = f"{duration(comparison.default_us)} to {duration(comparison.tuned_us)}"
            span = spans.get(comparison.sizes)
            own = f", with a configuration for {span}" if span else ""
            self._say(f"  at {comparison.sizes}: {comparison.speedup}, {times}{own}")

    def comparing(self, entries: int) -> None:
        self._entries = entries
        how = "with the spec and without" if entries else "to check its outputs"
        self._say(f"running the whole program {how}")

    def compared(self, verdict: ModelVerdict) -> None:
        for failure in verdict.failures:
            self._say(f"  an entry was left out, as the program fails with it: {failure}")
        comparison, outputs = verdict.comparison, verdict.outputs
        if outputs is not None:
            for line in filter(None, (str(outputs), outputs.note)):
                self._say(f"  {line}")
            if outputs.finding:
                self._say(f"warning: {outputs.finding}")
        if comparison is None:
            if verdict.kept or outputs is None:
                self._say(f"not guarded: the whole program was not compared: {verdict.reason}")
            elif self._entries:
                self._say(f"  no entry is kept: {verdict.reason}")
            return
        without = REPAIRED if comparison.default_fails else "without the spec"
        for function in comparison.functions if len(comparison.functions) > 1 else ():
            weight = f" x {function.weight}" if function.weight > 1 else ""
            self._say(f"  {function.name}{weight}: {_comparison(function, without)}")
        self._say(f"  {_comparison(comparison, without)}")
        for note in comparison.notes:
            self._say(f"  {note}")

    def repaired(self, wrong: WrongDefaults) -> None:
        self._say(f"{'warning: ' if wrong.repaired < wrong.count else ''}{wrong}")

    def finished(self, timeline: Timeline) -> None:
        """Show the times of the stages with `--verbose`."""
        if not is_verbose():
            return
        stages = sorted(timeline.times().items(), key=lambda item: -item[1].seconds)
        parts = ", ".join(f"{name.value} {spent.seconds:.1f} s" for name, spent in stages)
        seconds = sum(spent.seconds for _, spent in stages)
        busy = sum(spent.device_seconds for _, spent in stages) / seconds
        took = f"tuning under these flags took {seconds:.1f} s"
        self._say(f"{took}, the device busy for {busy:.0%} of it: {parts}")

    def _say(self, text: str, *, is_fleeting: bool = False) -> None:
        if is_quiet():
            return
        self._clear()
        text = escaped(text)
        # A worker, which tunes under other flags, has the plain stream.
        text = text[: columns(sys.stderr) - 1] if is_fleeting else folded(text, sys.stderr)
        with suppress(OSError):  # the terminal may be closed
            print(text, end="" if is_fleeting else "\n", file=sys.stderr, flush=True)  # noqa: T201

    def _clear(self) -> None:
        """Erase a fleeting line, such as that of a worker that was killed, and show the cursor that it hid."""
        if self._is_watched and not is_quiet():
            with suppress(OSError):
                sys.stderr.write("\r\033[K\033[?25h")


def _comparison(comparison: ModelComparison | FunctionComparison, without: str) -> str:
    times = f"{comparison.default_ms:.4g} ms {without}, {comparison.tuned_ms:.4g} ms with it"
    return f"{times}: speedup {comparison.speedup}"
