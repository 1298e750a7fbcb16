"""Reading the arguments of `tuninglink tune`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.measuring_options import (
    CALL_FLAGS,
    MEASURING_FLAGS,
    SELECTION_FLAGS,
    measuring_values,
)
from tuninglink.cli.project_options import PROJECT_FLAGS, read_flags
from tuninglink.cli.usage import known_dispatches
from tuninglink.compiler import COMPILE_FLAGS, DIM_FLAG, TARGET_FLAG, FlagReader
from tuninglink.errors import Diagnostic, Severity, UsageError
from tuninglink.llvm_flags import Flag, choice, read_count, read_fraction, switch
from tuninglink.mlir import error, note
from tuninglink.tuning.deciding import LastStage, Numerics, TuneOptions, TuningSettings
from tuninglink.tuning.flag_sets import NONE
from tuninglink.tuning.problems import OPERATIONS, read_problem_file, read_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.tuning.problems import Problem


PROBLEM_FLAGS: Final = {
    "problem": Flag(
        "problems",
        read_words,
        repeats=True,
        metavar="WORDS",
        help="Tune this problem instead of a program, as in 'matmul 64x64x128 f16'. docs/guides/problems.md lists the words. May "
        "be repeated.",
        values=lambda: OPERATIONS,
    ),
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
}
"""The flags for problems without a program."""

_HIDDEN: Final = (
    *("compile-from", "iree-codegen-tuning-spec-path"),
    "iree-codegen-enable-default-tuning-specs",
)
"""The hidden flags of `tuninglink compile` that mean the same here."""

TUNE_FLAGS: Final = {
    "target": TARGET_FLAG,
    "output": replace(
        COMPILE_FLAGS["output"],
        metavar="SPEC.mlir",
        help="Where to write the spec. Default: standard output.",
    ),
    **PROBLEM_FLAGS,
    "dim": replace(
        DIM_FLAG,
        help="Tune at these sizes of dynamic dimensions, as in 0.0=1,8:2,64. That is ARGUMENT.DIMENSION=SIZE[:WEIGHT],... or "
        "sizes alone for all of them; 0.1=1.1=16,64: both have the same. May be repeated.",
    ),
    **CALL_FLAGS,
    "flag-sets": Flag(
        "flag_sets",
        metavar="FILE",
        help="Compare these sets of compiler flags first, one a line; none for no sets. Default: those for the backend, "
        "in at most a quarter of --budget. The best ones are written to SPEC.flags.",
        values=lambda: (NONE,),
    ),
    "only-flags": switch("only_flags", "Only compare sets of flags."),
    "allow-numerics": Flag("numerics", lambda _: Numerics.ANY, switch=True),  # the old spelling
    "profile": Flag(
        "profile",
        metavar="FILE",
        help="Weigh dispatches by their times in this profile of the program, such as a .ireeprof or what `tuninglink explain "
        "--device` writes as JSON; see its --help. Default: by their times alone.",
    ),
    "only": Flag(
        "patterns",
        repeats=True,
        metavar="PATTERN",
        values=known_dispatches,
        help="Tune dispatches with this in their name or their function's. May be repeated; * and ? match.",
    ),
    "top": Flag(
        "top", read_count, metavar="N", help="Tune the N dispatches that take most of the time."
    ),
    "min-share": Flag(
        "min_share",
        read_fraction,
        metavar="PART",
        help="Tune dispatches that take at least this part of the time, as in 5%, and those whose default computes a wrong "
        "result.",
    ),
    **SELECTION_FLAGS,
    "stop-after": choice(
        "stop_after",
        LastStage,
        "End after this stage: list the candidates of each dispatch on standard output, those with the best estimates, "
        "those that compile, or all with their times; -o DIR writes each as a spec. The first two need no device; "
        "--trials is the number of candidates, by default 100.",
    ),
    "dry-run": switch(
        "dry_run", "Show the dispatches with the sizes of their spaces, and do nothing else."
    ),
    "spec": replace(
        COMPILE_FLAGS["spec"], help="Try the configurations of this spec, too. May be repeated."
    ),
    "spec-dir": replace(
        COMPILE_FLAGS["spec-dir"],
        help="Look for default specs, which are tried as well, in this directory first. May be repeated.",
    ),
    "no-default-specs": replace(COMPILE_FLAGS["no-default-specs"], help="Try no default specs."),
    "no-upgrade": COMPILE_FLAGS["no-upgrade"],
    "report": Flag("report", metavar="DIR", help="Write a report to DIR, as JSON and as a page."),
    "no-model": switch(
        "runs_model", "Do not run the whole program with the spec in the end.", value=False
    ),
    **MEASURING_FLAGS,
    **{name: COMPILE_FLAGS[name] for name in _HIDDEN},
}


def parse_tune_arguments(arguments: Sequence[str]) -> TuneOptions:
    """Read the arguments that come after the program's name."""
    reader = read_flags(TUNE_FLAGS, arguments)
    values = measuring_values(reader)
    settings: TuningSettings = values["settings"]
    # A run that ends before winners are decided compares no sets of flags.
    if values.get("dry_run") or settings.stop_after is not None:
        if values.get("only_flags"):
            stopping = "--dry-run" if values.get("dry_run") else "--stop-after"
            raise UsageError(error(f"flag '--only-flags' does not apply with '{stopping}'"))
        values["settings"] = replace(settings, runs_model=False, checks_defaults=False)
        values["flag_sets"] = NONE
    files, is_strict = values.pop("problem_files", ()), values.pop("strict_problems", False)
    given = values.get("problems", ())
    if given or files:
        # Check that neither a program nor flags for one accompany problems.
        if reader.input is not None:
            message = f"expected a program or problems, found both: '{reader.input}' is a program"
            raise UsageError(error(message))
        for name in _PROGRAM_FLAGS:
            if values.get(TUNE_FLAGS[name].target, NONE) not in (NONE, (), ""):
                raise UsageError(error(f"flag '--{name}' needs a program, not problems"))
        in_files = _problems_in(files, is_strict=is_strict)
        values["problems"] = tuple(dict.fromkeys((*given, *in_files)))
        values["settings"] = replace(values["settings"], runs_model=False)
        return TuneOptions(input="", **{**values, "flag_sets": NONE})
    if reader.input is None:
        message = "no input; name a program, - for standard input, or a problem with --problem"
        raise UsageError(error(message))
    if values.get("only_flags") and values.get("flag_sets") == NONE:
        message = "flag '--only-flags' has nothing to compare with '--flag-sets none'"
        remedy = "'--flag-sets FILE' names sets; without it, those for the backend are compared"
        raise UsageError(error(message, notes=[note(remedy)]))
    return TuneOptions(input=reader.input, **values)


def user_flags(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the flags of the compiler among arguments as the user wrote them, `--target` included."""
    reader = FlagReader({**TUNE_FLAGS, **PROJECT_FLAGS}, arguments)
    flags = (flag for flag in reader.flags if flag not in reader.target_flags)
    return (*(("--target", reader.target) if reader.target else ()), *flags)


def _problems_in(paths: Sequence[str], *, is_strict: bool) -> Iterator[Problem]:
    """Yield the problems of files, and count the lines that are skipped."""
    for path in paths:
        file = read_problem_file(path, is_strict=is_strict)
        yield from file.problems
        if file.unsupported:
            notes = tuple(note(f"{reason} ({count})") for reason, count in file.unsupported.items())
            message = f"{file.unsupported_lines} of '{file.name}' skipped"
            process.show(Diagnostic(Severity.WARNING, message, notes=notes))


_PROGRAM_FLAGS: Final = ("dim", "compile-from", *CALL_FLAGS, "flag-sets", "only-flags", "profile")
"""The flags that describe a whole program or need one."""
