"""Reading the arguments of `tuninglink tune`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.measuring_options import CALL_FLAGS, measuring_options
from tuninglink.cli.project_options import PROJECT_FLAGS, read_flags
from tuninglink.compiler import COMPILE_FLAGS, TARGET_FLAG, FlagReader
from tuninglink.errors import Diagnostic, Severity, UsageError
from tuninglink.llvm_flags import Flag, flags_of, switch
from tuninglink.mlir import error, note
from tuninglink.spaces.model import FixedKnob
from tuninglink.tuning.deciding import Numerics, TuneOptions
from tuninglink.tuning.flag_sets import NONE
from tuninglink.tuning.problems import read_problem_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.tuning.problems import Problem


_HIDDEN: Final = ("iree-codegen-tuning-spec-path", "iree-codegen-enable-default-tuning-specs")
"""The hidden flags of `tuninglink compile` that mean the same here."""


def _read_former_fix(text: str) -> FixedKnob:
    process.show(Diagnostic(Severity.REMARK, f"'--fix' is now '--knob'; write --knob {text}"))
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


def parse_tune_arguments(arguments: Sequence[str]) -> TuneOptions:
    """Read the arguments that come after the program's name."""
    reader = read_flags(TUNE_FLAGS, arguments)
    values = reader.values
    # A run that ends before winners are decided compares no sets of flags.
    if values.get("dry_run") or "stop_after" in values:
        if values.get("only_flags"):
            stopping = "--dry-run" if values.get("dry_run") else "--stop-after"
            raise UsageError(error(f"flag '--only-flags' does not apply with '{stopping}'"))
        values |= {"runs_model": False, "checks_defaults": False, "flag_sets": NONE}
    files, given = values.get("problem_files", ()), values.get("problems", ())
    if given or files:
        # Check that neither a program nor flags for one accompany problems.
        if reader.input is not None:
            message = f"expected a program or problems, found both: '{reader.input}' is a program"
            raise UsageError(error(message))
        for name in _PROGRAM_FLAGS:
            if values.get(TUNE_FLAGS[name].target, NONE) not in (NONE, (), ""):
                raise UsageError(error(f"flag '--{name}' needs a program, not problems"))
        in_files = _problems_in(files, is_strict=values.get("strict_problems", False))
        values["problems"] = tuple(dict.fromkeys((*given, *in_files)))
        values |= {"runs_model": False, "flag_sets": NONE}
        return measuring_options(TuneOptions, reader, input="")
    if reader.input is None:
        message = "no input; name a program, - for standard input, or a problem with --problem"
        raise UsageError(error(message))
    if values.get("only_flags") and values.get("flag_sets") == NONE:
        message = "flag '--only-flags' has nothing to compare with '--flag-sets none'"
        remedy = "'--flag-sets FILE' names sets; without it, those for the backend are compared"
        raise UsageError(error(message, notes=[note(remedy)]))
    return measuring_options(TuneOptions, reader, input=reader.input)


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
