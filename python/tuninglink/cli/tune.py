"""`tuninglink tune`: tuning of a program, which results in a faster spec; or a part of it, which lists candidates."""

from __future__ import annotations

import re
import shlex
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import TYPE_CHECKING, Final, TextIO

from tuninglink.cli import process
from tuninglink.cli.completion import known_pipelines
from tuninglink.cli.measuring import (
    REPAIRED,
    ProgressLines,
    check_outputs,
    measuring_options,
    time_left,
)
from tuninglink.cli.project_options import PROJECT_FLAGS, read_flags, set_up_compiler, with_project
from tuninglink.cli.terminal import print_table, progress, render_table, verbosity
from tuninglink.cli.usage import PROGRAM_ARGUMENT, Section, Usage, usage_error
from tuninglink.compiler import (
    COMPILE_FLAGS,
    TARGET_FLAG,
    FlagReader,
    Phase,
    check_has_target,
    check_targets,
)
from tuninglink.devices import (
    THREADED_DRIVER,
    BoardOptions,
    BoardScript,
    BoardUri,
    backend_of,
    board_driver,
    default_device,
    duration,
    is_board,
)
from tuninglink.errors import (
    Diagnostic,
    Severity,
    TuninglinkError,
    counted,
    did_you_mean,
    printable,
)
from tuninglink.files import (
    STANDARD_STREAM,
    check_directory,
    check_input,
    check_output,
    check_output_directory,
    is_stream,
    temporary_directory,
    write_file,
    write_output,
)
from tuninglink.kernels import kernels_summary
from tuninglink.llvm_flags import Flag, flags_of, switch
from tuninglink.mlir import DiagnosticSink, error, note
from tuninglink.programs import CallOptions
from tuninglink.solver import Verdict
from tuninglink.spaces import pipeline_name, value_text
from tuninglink.spaces.model import FixedKnob
from tuninglink.specs import DefaultLibrary, read_specs
from tuninglink.tuning import (
    DispatchTuning,
    Staged,
    Tuned,
    TuningReport,
    measured_candidates,
    prepared_tasks,
    space_sizes,
    staged_candidates,
    tune_program,
    with_flag_sets,
    with_replaced_ops,
    write_report,
)
from tuninglink.tuning.deciding import (
    Budget,
    Interruption,
    LastStage,
    Ledger,
    Numerics,
    TaskOutcome,
    TuneOptions,
)
from tuninglink.tuning.flag_sets import NONE, choose_flags
from tuninglink.tuning.problems import program_of, read_problem_file
from tuninglink.tuning.search import search_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


PROGRAM: Final = "tuninglink tune"

_HIDDEN: Final = ("iree-codegen-tuning-spec-path", "iree-codegen-enable-default-tuning-specs")
"""The hidden flags of `tuninglink compile` that mean the same here."""

_PROGRAM_FLAGS: Final = (
    "dim",
    "compile-from",
    *flags_of(CallOptions),
    "flag-sets",
    "only-flags",
    "profile",
    "emit-script",
)
"""The flags that describe a whole program or need one."""


def _read_former_fix(text: str) -> FixedKnob:
    process.shown_diagnostics().remark(f"'--fix' is now '--knob'; write --knob {text}")
    return FixedKnob.parse(text)


TUNE_FLAGS: Final = {
    "target": TARGET_FLAG,
    **flags_of(TuneOptions),
    "problems": Flag(
        "problem_files",
        repeats=True,
        metavar="FILE",
        help="Tune the problems of this file, one a line: words as for --problem, commands of MIOpenDriver, BOO, "
        "Fusilli's benchmarks, rocblas-bench and hipblaslt-bench, or lines of PyTorch's TunableOp; - is standard input. "
        "Lines with problems that are not supported are skipped. May be repeated.",
    ),
    "strict-problems": switch(
        "strict_problems", "Refuse files with lines that would be skipped, and name these."
    ),
    # Old spellings.
    "fix": Flag("fixed", _read_former_fix, repeats=True),
    "allow-numerics": Flag("numerics", lambda _: Numerics.ANY, switch=True),
    **{name: COMPILE_FLAGS[name] for name in _HIDDEN},
}


USAGE: Final[Usage] = Usage(
    name="tune",
    positionals=(replace(PROGRAM_ARGUMENT, optional=True),),
    flags={**TUNE_FLAGS, **PROJECT_FLAGS},
    sections=(
        Section(
            "Program",
            ("problem", "dim", "input"),
            (
                *("problems", "strict-problems", "function", "expected", "parameters"),
                *PROJECT_FLAGS,
            ),
        ),
        Section("Target", ("target", "device"), (*flags_of(BoardOptions), "cluster")),
        Section("Budget", ("budget", "trials"), ("jobs", "timeout", "stop-after", "dry-run")),
        Section(
            "Scope",
            ("only", "top", "spec"),
            (
                *("min-share", "profile", "flag-sets", "only-flags", "no-forms", "kernels"),
                *("pipeline", "knob", "fix", "search", "seed", "caches"),
                *("spec-dir", "no-default-specs", "no-upgrade"),
            ),
        ),
        Section("Numerics", ("numerics", "min-gain"), ("no-reference", "no-model")),
        Section("Output", ("output", "report", "database"), ("emit-script", "failures")),
    ),
    main_flags=("target", "output"),
    takes_compiler_flags=True,
    description="""
INPUT is compiled with the flags that you give; problems can take its place. An interrupt ends the command; the best
spec so far is written.
""",
    examples=(
        "tuninglink tune model.mlir --target host --budget 5m -o tuned.mlir",
        (
            "tuninglink tune model.mlir --target sm_80 --device cuda://0 --top 3 --database tuning.db --report report "
            "-o tuned.mlir"
        ),
        "tuninglink tune --problem 'matmul 2048x1280x5120 f16 transpose_b' --target gfx942 -o tuned.mlir",
    ),
)


def parse_tune_arguments(arguments: Sequence[str]) -> TuneOptions:
    """Read the arguments that come after the program's name."""
    reader = read_flags(TUNE_FLAGS, arguments)
    values = reader.values
    # A run that ends before winners are decided compares no sets of flags.
    is_partial = values.get("dry_run") or "stop_after" in values
    if is_partial:
        if needless := _asked_for(values):
            stopping = "--dry-run" if values.get("dry_run") else "--stop-after"
            raise usage_error(f"flag '{needless}' does not apply with '{stopping}'")
        values |= {"runs_model": False, "checks_defaults": False, "flag_sets": NONE}
    if script := values.get("script"):
        needs = {
            "a file for the program, not standard input": reader.input == STANDARD_STREAM,
            "a file, not standard output": script == STANDARD_STREAM,
            "a file for the spec, with '-o'": is_stream(values.get("output", STANDARD_STREAM)),
            "a spec that is decided: not with '--dry-run' or '--stop-after'": is_partial,
        }
        if need := next((need for need, is_missing in needs.items() if is_missing), ""):
            raise usage_error(f"flag '--emit-script' needs {need}")
    files, given = values.get("problem_files", ()), values.get("problems", ())
    if given or files:
        # Check that neither a program nor flags for one accompany problems.
        if reader.input is not None:
            message = f"expected a program or problems, found both: '{reader.input}' is a program"
            raise usage_error(message)
        for name in _PROGRAM_FLAGS:
            if values.get(TUNE_FLAGS[name].target, NONE) not in (NONE, (), ""):
                raise usage_error(f"flag '--{name}' needs a program, not problems")
        # Add the problems of files, and count the lines that are skipped.
        problems = list(given)
        for path in files:
            file = read_problem_file(path, is_strict=values.get("strict_problems", False))
            problems += file.problems
            if file.unsupported:
                reasons = [note(f"{why} ({count})") for why, count in file.unsupported.items()]
                message = f"{counted(file.unsupported.total(), 'line')} of '{file.name}' skipped"
                process.shown_diagnostics().warning(message, notes=reasons)
        values["problems"] = tuple(dict.fromkeys(problems))
        values |= {"runs_model": False, "flag_sets": NONE}
        return measuring_options(TuneOptions, reader, input="", target=reader.target)
    if reader.input is None:
        message = "no input; name a program, - for standard input, or a problem with --problem"
        raise usage_error(message)
    if (needless := _asked_for(values)) and values.get("flag_sets") == NONE:
        message = f"flag '{needless}' has nothing to compare with '--flag-sets none'"
        remedy = "'--flag-sets FILE' names sets; without it, those for the backend are compared"
        raise usage_error(message, remedy)
    return measuring_options(TuneOptions, reader, input=reader.input, target=reader.target)


def _asked_for(values: Mapping[str, object]) -> str:
    """Return a flag among values that needs a comparison of sets of flags; empty if there is none."""
    flags = {"only_flags": "--only-flags", "kernels": "--kernels"}
    return next((flag for name, flag in flags.items() if values.get(name)), "")


def user_flags(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the flags of the compiler among arguments as the user wrote them, `--target` included."""
    reader = FlagReader({**TUNE_FLAGS, **PROJECT_FLAGS}, arguments)
    flags = (flag for flag in reader.flags if flag not in reader.target_flags)
    return (*(("--target", reader.target) if reader.target else ()), *flags)


def tune_command(arguments: Sequence[str]) -> int:
    own, project_specs = with_project(arguments)
    options = parse_tune_arguments(own)
    options = replace(options, specs=(*options.specs, *project_specs))
    search_named(options.settings.search)  # report an unknown one first
    measures = options.settings.stop_after in (None, LastStage.MEASUREMENT) and not options.dry_run
    if measures and options.is_partial and not options.cluster:  # a whole run does so itself
        from tuninglink.devices import check_devices  # noqa: PLC0415 - an extra

        check_devices(options.settings.devices, options.flags)
    check_targets(options.flags)
    if options.compile_from < Phase.EXECUTABLE_SOURCES:
        check_has_target(options.flags, options.input)
    for name in options.settings.pipelines:
        if name not in (pipelines := known_pipelines()):
            hint = did_you_mean(name, pipelines)
            remedy = f"the compiler has {', '.join(pipelines)}"
            raise usage_error(f"unknown pipeline '{name}'{hint}", remedy)
    # Check that the program and the specs can be read, before sets of flags are compared for minutes.
    if not options.problems:
        check_input(options.input)
    read_specs(options.specs, DiagnosticSink(lambda _: None))
    DefaultLibrary(options.spec_directories).check_directories()
    # Problems become a program.
    settings = replace(options.settings, seconds=time_left(options.settings.seconds))
    options = replace(options, settings=settings)
    listener = ProgressLines(PROGRAM, verbosity())
    with temporary_directory() as directory:
        if options.problems:
            message = "problems are measured one by one: no whole program guards the spec or decides on sets of flags"
            process.shown_diagnostics().remark(message)
            path = directory / "problems.mlir"
            path.write_text(program_of(options.problems))
            options = replace(options, input=str(path))
        with with_replaced_ops(options, listener) as replacing:
            if options.is_partial:
                _run_part(replacing, DispatchTuning(replacing, listener))
            else:
                interruption = Interruption()
                with listener.interrupts(interruption):
                    _run(options, replacing, listener, arguments, interruption)
    return process.SUCCESS


def _run(
    given: TuneOptions,
    options: TuneOptions,
    listener: ProgressLines,
    arguments: Sequence[str],
    interruption: Interruption,
) -> None:
    """Tune a program with options from `with_replaced_ops`; write and show the result for those that were given."""
    # Results that cannot be written are reported before anything is measured.
    check_outputs(options)
    files = _Files(given, arguments)
    check_output(files.flags)
    if given.script:
        taken = (given.input, given.output, files.flags, given.database, given.report, *given.specs)
        files.script((), "").check([Path(path) for path in taken if path])
    if options.report:
        check_directory(options.report)
    if options.only_flags:
        deadline = time.monotonic() + options.settings.seconds
        with choose_flags(options, listener, deadline, interruption) as choice:
            sets = choice.result
        is_interrupted = interruption.is_stopped
        notes = ("tuning was interrupted",) if is_interrupted else ()
        report = with_flag_sets(TuningReport(options.title, notes=notes), sets)
        tuned = Tuned("", 0, report, sets, is_interrupted=is_interrupted)
    else:
        # A stream has the final spec only.
        keep = (lambda _: None) if files.is_stream else files.write
        tuned = tune_program(options, listener, keep, interruption)
    with listener.interrupts(Budget()):  # another signal lets the results be written
        _write(files, tuned)


def _write(files: _Files, tuned: Tuned) -> None:
    """Write the results of tuning, and show them."""
    options, failures = files.options, files.write(tuned)
    stream = sys.stderr if files.is_stream else sys.stdout
    process.show(*busy_warnings(tuned.report))
    table = dispatch_table(tuned.report, stream) if tuned.report.dispatches else ""
    parts = [gain_line(tuned), kernels_summary(tuned.spec, options.settings.devices), table]
    if files.are_kept:
        parts += [f"{path} is left as it was" for path in files.earlier]
    elif files.is_stream and tuned.flags and not options.only_flags:
        parts.append(f"flags to compile with: {shlex.join(tuned.flags)}")
    stream.write("".join(f"\n{part.rstrip()}\n" for part in parts if part))
    if not (files.are_kept or files.is_stream or any(failures)):
        page = str(Path(options.report) / "index.html") if options.report else ""
        forms = [tuned.sets.best.flag_set.name] if tuned.sets.best and tuned.sets.forms else []
        spec = "" if options.only_flags else options.output
        written = [
            f"{spec} ({'; '.join([entry_count(tuned), *forms])})" if spec else "",
            f"{files.flags} ({counted(len(tuned.flags), 'flag')})",
            *(page, options.database),
            *files.write_script(tuned.flags, spec),
        ]
        stream.write(_use(files, filter(None, written), ["--spec", spec] if spec else []))
    failures.append(tuned.failure)
    diagnostics = [line for failure in failures if failure for line in failure.diagnostics]
    if diagnostics:
        raise TuninglinkError(*diagnostics)


def _run_part(options: TuneOptions, tuning: DispatchTuning) -> None:
    """Run the stages of --dry-run or --stop-after, and show the sizes of spaces or the candidates."""
    if not options.dry_run and options.output != STANDARD_STREAM:
        check_output_directory(options.output)
    set_up_compiler(PROGRAM, options.flags)
    if options.dry_run:
        # Print the sizes of the spaces of each dispatch.
        rows = []
        for prepared in prepared_tasks(tuning):
            task, spaces = prepared.task, prepared.spaces
            with progress(f"counting the spaces of {task.short_name}"):
                sizes = space_sizes(spaces)
            if not sizes:
                # Configurations from other sources remain, such as a rewriting of the operation.
                given = f"configurations from other sources: {len(spaces.given)}"
                message = f"{task.short_name}: its operation has no space; {given}"
                process.shown_diagnostics().remark(message)
            rows += [
                (
                    *(task.short_name, str(spaces.problem), str(task.calls)),
                    *(pipeline_name(space.constraints.pipeline), space.provider),
                    *(str(len(space.constraints.knobs)), f"{size.count:,}"),
                    "counted" if size.verdict is Verdict.PROVEN else f"at least: {size.reason}",
                )
                for space, size in sizes
            ]
        columns = ("dispatch", "problem", "calls", "pipeline", "constraints", "knobs", "size")
        print_table((*columns, "how"), rows)
        return
    if options.settings.stop_after is not LastStage.MEASUREMENT:
        _list_candidates(options, staged_candidates(tuning))
        return
    # The candidates are written to a folder, not to the output file.
    check_outputs(replace(options, output=STANDARD_STREAM))
    if options.report:
        check_directory(options.report)
    ledger = Ledger(options.settings.seconds, options.settings.trials)
    # While the program is compiled, an interrupt ends the command at once.
    with ExitStack() as opened:
        interrupts = tuning.listener.interrupts(ledger.whole)
        result, report = tuning.run(ledger, lambda: opened.enter_context(interrupts))
    _list_candidates(options, measured_candidates(result))
    if options.report:
        write_report(report, Path(options.report))
    if result.failure is not None:
        raise result.failure


def _list_candidates(options: TuneOptions, candidates: Iterable[Staged]) -> None:
    """List candidates; write candidates that have not failed as specs if a directory for specs is given."""
    rows = []
    ranks: dict[str, int] = {}
    for prepared, trial in candidates:
        task, candidate = prepared.task, trial.candidate
        rank = ranks[task.key] = ranks.get(task.key, 0) + 1
        if trial.failure is not None:
            result = f"{trial.failure.kind.value}: {trial.failure.message}"
        elif trial.microseconds is not None:
            result = f"{trial.microseconds:.2f} us"
        else:
            result = "compiles" if options.settings.stop_after is LastStage.COMPILATION else "drawn"
        # Knobs have the names that they have in configurations.
        space = prepared.spaces.spaces[candidate.space] if candidate.space >= 0 else None
        knobs = ", ".join(
            f"{knob.name} = {value_text(knob, candidate.knobs[knob.name])}"
            for knob in (space.constraints.knobs if space else ())
        )
        rows.append((task.short_name, str(rank), result, pipeline_name(candidate.pipeline), knobs))
        if options.output != STANDARD_STREAM and trial.failure is None:
            text = prepared.spec(candidate, {"origin": "candidate", "rank": rank})
            folder = Path(options.output)
            folder.mkdir(parents=True, exist_ok=True)
            file = re.sub(r"[^\w.-]+", "_", f"{task.short_name}-{rank}").strip("_")
            write_file(folder / f"{file}.mlir", text)
    print_table(("dispatch", "rank", "result", "pipeline", "knobs"), rows)


_GROUPING: Final = re.compile(r"[\s'\"\\]")
"""Characters of a flag that response files do not keep without quotation marks."""


class _Files:
    """The files of a result: the spec and the report of the options, and the response file `flags`.

    `kept` are the flags that the response file had and that were read from it; `earlier` are the files of an earlier run,
    and `are_kept` is whether they stay. A spec that goes to a stream has no response file.
    """

    def __init__(self, options: TuneOptions, arguments: Sequence[str]) -> None:
        path, self.is_stream = options.output, is_stream(options.output)
        if not self.is_stream:
            path = str(Path(path).with_suffix(".flags"))
        self.options, self.flags, self.are_kept = options, path, False
        self.earlier: dict[str, bytes] = {}
        outputs = (path,) if options.only_flags else (options.output, path)
        for output in () if self.is_stream else outputs:
            with suppress(OSError):
                self.earlier[output] = Path(output).read_bytes()
        # The arguments of the user, without the response file.
        rest = [word for word in arguments if word[:1] != "@" or Path(word[1:]) != Path(path)]
        self.user_flags = user_flags(rest)
        try:
            flags = tuple(shlex.split(self.earlier.get(path, b"").decode()))
        except ValueError:
            flags = ()
        self.kept = flags if set(flags) <= set(options.flags) - set(self.user_flags) else ()
        self.is_in_project = bool(self.kept) and len(rest) == len(arguments)

    def write(self, tuned: Tuned) -> list[TuninglinkError | None]:
        """Write the spec, the flags and the report, and return the failures."""
        flags = (
            shlex.quote(flag) if _GROUPING.search(flag) else flag
            for flag in dict.fromkeys((*self.kept, *tuned.flags))
        )
        contents = {self.flags: "".join(f"{flag}\n" for flag in flags).encode()}
        if not self.options.only_flags:
            # On a stream, the spec takes the place of the flags.
            contents |= {self.options.output: printable(tuned.spec).encode()}
        # An interrupt before anything wins leaves the files of an earlier run.
        self.are_kept = tuned.is_interrupted and not tuned.has_winners and bool(self.earlier)
        contents = self.earlier if self.are_kept else contents
        failures = [
            save_result(output, partial(write_output, content=content))
            for output, content in contents.items()
        ]
        if folder := self.options.report:
            failures += [save_result(folder, lambda path: write_report(tuned.report, Path(path)))]
        return failures

    def script(self, flags: Sequence[str], spec: str) -> BoardScript:
        """Return the script for a device, with the flags and the spec that were found."""
        options, settings = self.options, self.options.settings
        own = tuple(flag for flag in options.flags if flag not in self.kept)
        uri, *_ = settings.devices or (default_device(backend_of(options.flags)),)
        # On another machine, the script runs there.
        driver = board_driver(BoardUri.parse(uri)) if is_board(uri) else uri
        return BoardScript(
            Path(options.script),
            Path(options.input),
            spec,
            own,
            tuple(dict.fromkeys((*self.kept, *flags))),
            driver,
            options.calls,
            options.sizes,
            options.compile_from,
        )

    def write_script(self, flags: Sequence[str], spec: str) -> list[str]:
        """Write the script for a device, if the user wants one, and return its path."""
        if not (path := self.options.script):
            return []
        for reason in self.script(flags, spec).write():
            process.shown_diagnostics().remark(f"'{path}' leaves out {reason}")
        return [path]


def save_result(path: str, write: Callable[[str], object]) -> TuninglinkError | None:
    """Write a result, or write it to a new directory if that fails, and return the failure with that place."""
    try:
        write(path)
    except (TuninglinkError, BrokenPipeError) as failure:
        message = f"cannot write to standard output: {failure}"
        cause = failure.diagnostics[0] if isinstance(failure, TuninglinkError) else error(message)
    else:
        return None
    name = "tuned.mlir" if path == STANDARD_STREAM else Path(path).name
    for parent in (gettempdir(), Path.home()):
        with suppress(OSError, TuninglinkError):
            place = Path(mkdtemp(prefix="tuninglink-", dir=parent)) / name
            write(str(place))
            return TuninglinkError(replace(cause, notes=(note(f"it is in '{place}'"),)))
    return TuninglinkError(cause)


def _use(files: _Files, written: Iterable[str], spec: Sequence[str] = ()) -> str:
    """Return the files that were written, and the command that compiles the program with them."""
    path, text = files.options.input, f"\nwrote {', '.join(written)}\n"
    if files.options.problems:
        return text
    stem = "program" if path == STANDARD_STREAM else Path(path).stem
    words = ["tuninglink", "compile", path, "-o", f"{stem}.vmfb", *spec]
    words += [] if files.is_in_project else [f"@{files.flags}"]
    return f"{text}\n{shlex.join((*words, *files.user_flags))}\n"


def entry_count(tuned: Tuned) -> str:
    """Return the number of problems with an entry, and how many of these are predicted."""
    outcomes = [problem.outcome for problem in tuned.report.dispatches]
    text, predicted = counted(tuned.entries, "problem"), outcomes.count(TaskOutcome.PREDICTED)
    return f"{text}: {tuned.entries - predicted} won, {predicted} predicted" if predicted else text


def busy_warnings(report: TuningReport) -> Iterator[Diagnostic]:
    """Yield a warning if the machine was too busy to compare programs, with its evidence."""
    if (noise := report.noise) is not None and noise.is_noise:
        message = f"the machine was too busy: the speedup of the default against itself is {noise}"
        remedies = [note("smaller gains cannot be told from noise; repeat it without other work")]
        if report.driver.startswith(THREADED_DRIVER):
            how = "--device local-sync, or --device-driver local-sync on a board,"
            remedies += [note(f"{how} counts processor time, for code of one thread")]
        yield Diagnostic(Severity.WARNING, message, notes=tuple(remedies))


_TIMES: Final = "whole program: {0.default_ms:.4g} ms by default, {0.tuned_ms:.4g} ms tuned: speedup {0.speedup}"


def gain_line(tuned: Tuned) -> str:
    """Return the gain of the whole program: by the result, or by the flags alone with the reasons for not having that."""
    alone, report = tuned.sets.whole, tuned.report
    if measured := report.whole or (None if tuned.entries else alone):
        text = _TIMES.format(measured)
        return text.replace("by default", REPAIRED) if measured.default_fails else text
    if not tuned.has_winners:
        nothing = "no configuration and no set of flags is faster beyond doubt"
        if tuned.sets.reason and not report.dispatches:
            nothing = "no configuration and no set of flags was compared with the default"
        return f"nothing wins: {'tuning was interrupted' if tuned.is_interrupted else nothing}"
    reason = tuned.sets.reason if tuned.flags else ""
    notes = "".join(f"; {text}" for text in (reason, *report.notes) if text)
    state = "not measured with the result" if report.is_guarded else "not guarded"
    by_flags = f"{_TIMES.format(alone)} by the flags alone; with the spec" if alone else ""
    return f"{by_flags or 'whole program:'} {state}{notes}"


def dispatch_table(report: TuningReport, stream: TextIO) -> str:
    """Return a table of dispatches with their times, those that take most of the time first."""
    rows = []
    for problem in report.dispatches[:_MOST_ROWS]:
        remark = "" if problem.outcome is TaskOutcome.WON else _OUTCOMES[problem.outcome]
        rows.append(
            (
                problem.names[0].partition("::")[0],
                "fails" if problem.default_fails else duration(problem.default_us),
                duration(problem.tuned_us) if problem.tuned_us is not None else "-",
                ", ".join(filter(None, (str(problem.speedup or ""), remark))),
                str(problem.trials),
            )
        )
    table = render_table(("dispatch", "default", "tuned", "speedup", "tried"), rows, "", stream)
    rest = len(report.dispatches) - len(rows)
    return table + (f"and {rest} more, which --report shows\n" if rest else "")


_MOST_ROWS: Final = 20
"""The number of dispatches in the table; the report has all."""

_OUTCOMES: Final = {
    TaskOutcome.DEFAULT: "nothing is faster",
    TaskOutcome.UNDECIDED: "undecided",
    TaskOutcome.LEFT_OUT: "left out: it makes the program no faster",
    TaskOutcome.PREDICTED: "predicted, not measured alone",
}
