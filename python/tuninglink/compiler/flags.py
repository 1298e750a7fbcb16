"""The arguments of `iree-compile` and of Tuninglink.

One command line combines three kinds of flags. Driver flags (`-o`, `--compile-to`) of `iree-compile` are reimplemented
here. Flags about specs belong to Tuninglink, or the compiler would read them too late. All other flags are passed to
the compiler.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from tuninglink.compiler.compile_options import (
    CompileOptions,
    ExplanationFormat,
    Mode,
    OutputFormat,
    Phase,
)
from tuninglink.compiler.probing import compiler_options
from tuninglink.compiler.session import session_flags
from tuninglink.compiler.target_flags import expanded_target, target_names
from tuninglink.errors import UsageError, did_you_mean
from tuninglink.iree.given_sizes import GivenSizes
from tuninglink.llvm_flags import (
    CommandLine,
    CommandLineError,
    Flag,
    choice,
    dashed,
    read_name,
    read_number,
    switch,
)
from tuninglink.mlir.diagnostics import error, note
from tuninglink.specs.libraries import spec_names


def _on_or_off(text: str) -> bool:
    if text not in ("on", "off"):
        raise ValueError("expected on or off")
    return text == "on"


_EXPLAIN: Final = "explain"

COMPILE_FLAGS: Final = {
    "output": Flag(
        "output",
        read_name,
        short="o",
        metavar="OUT",
        help="Where to write the result. Default: standard output.",
    ),
    "target": Flag(
        "target",
        read_name,
        metavar="TARGET",
        help="What to compile for: host (this CPU), znver4, gfx942, mi300x, sm_80 and the like. It stands for flags of "
        "iree-compile, which -v shows; `tuninglink targets --all` lists the names.",
        values=target_names,
    ),
    "output-format": choice("output_format", OutputFormat),
    "compile-mode": choice("mode", Mode),
    "compile-from": choice("compile_from", Phase),
    "compile-to": choice("compile_to", Phase),
    "verify": switch("verify", ""),
    "dump-compilation-phases-to": Flag("phase_dumps"),
    "emit-mlir-bytecode": switch("emit_bytecode", ""),
    "emit-mlir-bytecode-version": Flag("bytecode_version", read_number),
    "remarks-filter": Flag("remarks_filter"),
    "remarks-output-file": Flag("remarks_file"),
    "split-input-file": switch("split_input", ""),
    "spec": Flag(
        "specs",
        read_name,
        repeats=True,
        metavar="SPEC",
        help="A tuning spec, as text or bytecode: a file, a directory, a pattern, library:NAME or a URL, "
        "followed by #sha256=HASH if it must not change; library:auto applies all shipped libraries that fit the "
        "target. May be repeated: the first wins. TARGET=SPEC applies it to the dispatches of a target only: an "
        "SKU, an architecture or a family, or several, separated by commas.",
        values=spec_names,
    ),
    "spec-dir": Flag(
        "spec_directories",
        read_name,
        repeats=True,
        metavar="DIR",
        help="Look for default specs in this directory first. May be repeated.",
    ),
    "no-default-specs": switch(
        "default_specs",
        "Do not apply default specs, neither from a directory nor shipped ones.",
        value=False,
    ),
    "no-upgrade": switch(
        "upgrade",
        "Reject specs that were written for an older compiler, instead of upgrading them.",
        value=False,
    ),
    "no-derived-entries": switch(
        "derived_entries",
        "Apply entries only as they are written. By default an entry also applies to other forms of its "
        "problem: with a batch of 1 added or removed, and with its loops in another order.",
        value=False,
    ),
    "skip-failing-entries": switch(
        "skip_failing",
        "Compile a dispatch without specs if it fails to compile because of one, with a warning that names the "
        "entry. Otherwise that is an error.",
    ),
    "prune": Flag(
        "prune",
        _on_or_off,
        metavar="=off",
        help="Give every dispatch all entries, not only those that may match in it. That takes longer, "
        "with the same configurations.",
        values=lambda: ("on", "off"),
    ),
    "dump-specs-to": Flag(
        "spec_dumps",
        read_name,
        metavar="DIR",
        help="Write the linked specs of each target to DIR, or - for standard output.",
    ),
    _EXPLAIN: Flag(
        "explanation",
        switch=True,
        metavar="[=FILE]",
        help="Explain the effect of the specs, dispatch by dispatch: in FILE (*.json and *.html as JSON and as a page), or on "
        "standard error. See `tuninglink explain --help`.",
    ),
    "iree-codegen-tuning-spec-path": Flag("specs", repeats=True),
    "iree-codegen-enable-default-tuning-specs": switch("default_specs", ""),
    "iree-codegen-dump-tuning-specs-to": Flag("spec_dumps"),
}
"""The flags that `tuninglink compile` implements."""

TARGET_FLAG: Final = COMPILE_FLAGS["target"]
"""The flag for a target. Commands on specs have another text."""

DIM_FLAG: Final = Flag(
    "sizes",
    GivenSizes.parse,
    repeats=True,
    metavar="SIZES",
    help="Sizes of dynamic dimensions, for the costs: ARGUMENT.DIMENSION=SIZE[:WEIGHT],... such as 0.0=1,8:2,64,512, or "
    "sizes alone for all of them. May be repeated.",
)
"""The sizes of dynamic dimensions."""

_ONLY_COMPILE: Final = frozenset({"prune", "dump-specs-to"})

EXPLAIN_FLAGS: Final = {
    **{
        name: replace(flag, help="") if name in _ONLY_COMPILE else flag
        for name, flag in COMPILE_FLAGS.items()
        if name not in (_EXPLAIN, "output")
    },
    "profile": Flag(
        "profile",
        read_name,
        metavar="FILE",
        help="Measured times: a .ireeprof of --device_profiling_output, an explanation with times as JSON, the JSON or CSV of "
        "iree-benchmark-module, of dispatch benchmarks or with --dispatch_statistics, or the CSV of tracy-csvexport.",
    ),
    "database": Flag(
        "database",
        read_name,
        metavar="FILE",
        help="Measured times from a database of `tuninglink tune`.",
    ),
    "dim": DIM_FLAG,
    "format": choice(
        "report_format",
        ExplanationFormat,
        "The format of the explanation. Default: that of the suffix of FILE, or table.",
    ),
    "output": replace(
        COMPILE_FLAGS["output"],
        metavar="FILE",
        help="Where to write the explanation. Default: standard output.",
    ),
}
"""The flags that `tuninglink explain` implements."""


def parse_arguments(arguments: Iterable[str]) -> CompileOptions:
    """Read the arguments of `tuninglink compile` after the program's name.

    Raises:
        UsageError: a value is malformed or missing, a flag is given twice, there is more than one input,
            or a flag is unknown.
    """
    return compile_options(FlagReader(COMPILE_FLAGS, arguments))


def compile_options(reader: FlagReader) -> CompileOptions:
    """Return the options of a compilation with the values of flags."""
    values: dict[str, Any] = reader.values
    return CompileOptions(input=reader.input, flags=reader.flags, **values)


_SHOWN: Final = 5
"""The number of inputs to list where one is expected."""


class FlagReader:
    """A parser of command lines with flags of the compiler and of the command.

    Args:
        own_flags: the command's own flags, by name without dashes.
        arguments: the arguments after the program's name.

    Attributes:
        values: the values of the command's own flags, by field, except for the target.
        target: the name of the target; empty for no target.
        target_flags: the flags that the target stands for.
        flags: these and all other flags, each as `--name` or `--name=value`.
        inputs: the remaining arguments, which are paths.

    Raises:
        UsageError: a value is malformed or missing, a flag is given twice or unknown, or the target conflicts with it.
        TargetError: the target is unknown.
    """

    def __init__(self, own_flags: Mapping[str, Flag], arguments: Iterable[str]) -> None:
        try:
            line = CommandLine(own_flags, arguments)
        except CommandLineError as failure:
            raise UsageError(error(str(failure))) from None
        for flag in line.unknown:
            _check_known(flag.name, own_flags)
        # A single word is the input. A list of all flags, which takes 20 ms, is not needed then.
        flags, inputs = line.split(line.unknown, compiler_options if len(line.words) > 1 else dict)
        self.values = line.values
        explicit = tuple(f"--{flag.lstrip('-')}" for flag in flags)
        self.target: str = self.values.pop("target", "")
        self.target_flags = expanded_target(self.target, explicit) if self.target else ()
        self.flags = (*self.target_flags, *explicit)
        self.inputs = inputs

    @property
    def input(self) -> str | None:
        """The path of the program, or None.

        Raises:
            UsageError: there is more than one input.
        """
        if len(self.inputs) > 1:
            listed = ", ".join(f"'{input_}'" for input_ in self.inputs[:_SHOWN])
            more = ", ..." if len(self.inputs) > _SHOWN else ""
            raise UsageError(error(f"expected one input, found {len(self.inputs)}: {listed}{more}"))
        return self.inputs[0] if self.inputs else None


def _check_known(name: str, own_flags: Iterable[str]) -> None:
    if name in _TOOL_FLAGS and f"--{name}" not in session_flags():
        remedy = note("'tuninglink compile' has this flag")
        raise UsageError(error(f"'{dashed(name)}' is not a flag of this command", notes=[remedy]))
    # Most flags belong to sessions. Other flags require the list of all flags.
    if f"--{name}" not in session_flags() and name not in compiler_options():
        hint = _suggestion(name, own_flags)
        raise UsageError(error(f"unknown flag '{dashed(name)}'{hint}"))


def _suggestion(name: str, own_flags: Iterable[str]) -> str:
    """Return a suggestion for an unknown flag. LLVM's many flags are suggested only at a higher similarity."""
    users = [*own_flags, *(option for option in compiler_options() if option.startswith("iree-"))]
    return did_you_mean(dashed(name), map(dashed, users), cutoff=_LIKE) or did_you_mean(
        dashed(name), map(dashed, compiler_options()), cutoff=_HARDLY_ANOTHER
    )


_TOOL_FLAGS: Final = frozenset(
    spelling for name, flag in COMPILE_FLAGS.items() for spelling in (name, flag.short) if spelling
)
"""The flags of `iree-compile` that sessions do not have, such as `-o`."""

_LIKE: Final = 0.75
_HARDLY_ANOTHER: Final = 0.9
