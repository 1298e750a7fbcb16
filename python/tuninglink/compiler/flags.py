"""Reading the arguments of `iree-compile`, and ours beside them.

Three programs' worth of flags meet on one command line: those of the driver (`-o`, `--compile-to`), which
`iree-compile` itself reads and we read here; those about specs, which are ours or which the compiler would
read too late; and everything else, which is handed to the compiler as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from tuninglink.compiler.phases import Phase
from tuninglink.compiler.probing import compiler_options
from tuninglink.compiler.session import session_flags
from tuninglink.errors import CompileError
from tuninglink.iree.given_sizes import GivenSizes
from tuninglink.llvm_flags import (
    CommandLine,
    Flag,
    UsageError,
    dashed,
    member_of,
    read_boolean,
    read_name,
    read_number,
    values_of,
)
from tuninglink.mlir.diagnostics import error
from tuninglink.specs.libraries import spec_names
from tuninglink.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class OutputFormat(Enum):
    """What becomes of the compiled program, named as in `--output-format`."""

    BYTECODE = "vm-bytecode"
    C_SOURCE = "vm-c"
    ASSEMBLY = "vm-asm"


class Mode(Enum):
    """What is run, named as in `--compile-mode`."""

    STANDARD = "std"
    VM = "vm"
    HAL_EXECUTABLE = "hal-executable"
    PRECOMPILE = "precompile"


class ExplanationFormat(Enum):
    """How an explanation is written, named as in `--format`."""

    TABLE = "table"
    JSON = "json"
    HTML = "html"


@dataclass(frozen=True)
class CompileOptions:
    """What the arguments of a compilation ask for.

    Attributes:
        input: the path of the program, `-` for standard input, None where none was given.
        output: where the result goes, `-` for standard output.
        output_format: what the result is, unless the compilation ends early.
        mode: what is run.
        compile_from: the phase that the input has gone through already.
        compile_to: the phase to end after.
        verify: whether the IR is verified after each pass.
        phase_dumps: a directory for the IR after each phase, or nothing.
        emit_bytecode: whether IR is written as bytecode.
        bytecode_version: the version of that bytecode, or -1 for the current one.
        remarks_filter: which remarks are written to a file, or nothing.
        remarks_file: that file.
        split_input: whether the parts of the input between `// -----` are compiled one by one.
        specs: the paths of the user's specs, in order of precedence.
        spec_directories: where default specs are looked for beside the shipped ones.
        default_specs: whether default specs are used.
        upgrade: whether specs that were written for an older compiler are upgraded; else they are refused.
        spec_dumps: a directory for the linked specs, `-` for standard output, or nothing.
        prune: whether each dispatch gets only the entries that may match in it.
        derived_entries: whether entries are derived for other forms of their problems.
        skip_failing: whether a dispatch that fails to compile because of a spec is compiled without.
        explanation: the file that gets an explanation, or nothing for standard error; None for no explanation.
        profile: a file with measured times for an explanation, or None.
        database: a database of trials for an explanation, or None.
        sizes: the sizes of dynamic dimensions that an explanation gives costs for.
        report_format: how it is written, None where the name of the file tells.
        flags: everything else, one `--name` or `--name=value` each.
    """

    input: str | None = None
    output: str = "-"
    output_format: OutputFormat = OutputFormat.BYTECODE
    mode: Mode = Mode.STANDARD
    compile_from: Phase = Phase.START
    compile_to: Phase = Phase.END
    verify: bool = True
    phase_dumps: str = ""
    emit_bytecode: bool = False
    bytecode_version: int = -1
    remarks_filter: str = ""
    remarks_file: str = "mlir-remarks.yaml"
    split_input: bool = False
    specs: tuple[str, ...] = ()
    spec_directories: tuple[str, ...] = ()
    default_specs: bool = True
    upgrade: bool = True
    spec_dumps: str = ""
    prune: bool = True
    derived_entries: bool = True
    skip_failing: bool = False
    explanation: str | None = None
    report_format: ExplanationFormat | None = None
    profile: str | None = None
    database: str | None = None
    sizes: tuple[GivenSizes, ...] = ()
    flags: tuple[str, ...] = ()


def _unless(text: str) -> bool:
    return not read_boolean(text)


def _switch(text: str) -> bool:
    if text not in ("on", "off"):
        raise ValueError("expected on or off")
    return text == "on"


_EXPLAIN: Final = "explain"

COMPILE_FLAGS: Final = {
    "o": Flag(
        "output",
        read_name,
        metavar="OUT",
        help="Where to write the result. Default: standard output.",
    ),
    "output-format": Flag("output_format", member_of(OutputFormat), values=values_of(OutputFormat)),
    "compile-mode": Flag("mode", member_of(Mode), values=values_of(Mode)),
    "compile-from": Flag("compile_from", member_of(Phase), values=values_of(Phase)),
    "compile-to": Flag("compile_to", member_of(Phase), values=values_of(Phase)),
    "verify": Flag("verify", read_boolean, switch=True),
    "dump-compilation-phases-to": Flag("phase_dumps"),
    "emit-mlir-bytecode": Flag("emit_bytecode", read_boolean, switch=True),
    "emit-mlir-bytecode-version": Flag("bytecode_version", read_number),
    "remarks-filter": Flag("remarks_filter"),
    "remarks-output-file": Flag("remarks_file"),
    "split-input-file": Flag("split_input", read_boolean, switch=True),
    "spec": Flag(
        "specs",
        read_name,
        repeats=True,
        metavar="SPEC",
        help="A tuning spec, as text or bytecode: a file, a directory, a pattern, library:NAME or a URL, with "
        "#sha256=HASH behind it if it must not change; library:auto applies all shipped libraries that fit the "
        "target. May be repeated: the first wins. TARGET=SPEC applies it to the dispatches of a target only: an "
        "SKU, an architecture or a family.",
        values=spec_names,
    ),
    "spec-dir": Flag(
        "spec_directories",
        read_name,
        repeats=True,
        metavar="DIR",
        help="Look for default specs in this directory first. May be repeated.",
    ),
    "no-default-specs": Flag(
        "default_specs",
        _unless,
        switch=True,
        help="Use no default spec: neither from a directory nor a shipped one.",
    ),
    "no-upgrade": Flag(
        "upgrade",
        _unless,
        switch=True,
        help="Refuse specs that were written for an older compiler, instead of upgrading them.",
    ),
    "no-derived-entries": Flag(
        "derived_entries",
        _unless,
        switch=True,
        help="Apply entries as they are written only. By default an entry is also applied to the other forms of its "
        "problem: with a batch of 1 added or removed, and with its loops in another order.",
    ),
    "skip-failing-entries": Flag(
        "skip_failing",
        read_boolean,
        switch=True,
        help="Compile a dispatch without specs if it fails to compile because of one, with a warning that names the "
        "entry; else that is an error.",
    ),
    "prune": Flag(
        "prune",
        _switch,
        metavar="=off",
        help="Give every dispatch all entries, not only those that may match in it. That takes longer and "
        "configures nothing otherwise.",
        values=lambda: ("on", "off"),
    ),
    "dump-specs-to": Flag(
        "spec_dumps",
        read_name,
        metavar="DIR",
        help="Write the specs that were linked for each target to DIR, or - for standard output.",
    ),
    _EXPLAIN: Flag(
        "explanation",
        switch=True,
        metavar="[=FILE]",
        help="Say what the specs did, dispatch by dispatch: in FILE (*.json and *.html as JSON and as a page), or on "
        "standard error. See `tuninglink explain --help`.",
    ),
    "iree-codegen-tuning-spec-path": Flag("specs", repeats=True),
    "iree-codegen-enable-default-tuning-specs": Flag("default_specs", read_boolean, switch=True),
    "iree-codegen-dump-tuning-specs-to": Flag("spec_dumps"),
}
"""The flags of `tuninglink compile` that are read here."""

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
        if name not in (_EXPLAIN, "o")
    },
    "profile": Flag(
        "profile",
        read_name,
        metavar="FILE",
        help="Measured times: the JSON or CSV of iree-benchmark-module, of dispatch benchmarks or with "
        "--dispatch_statistics, or the CSV of tracy-csvexport.",
    ),
    "database": Flag(
        "database",
        read_name,
        metavar="FILE",
        help="Measured times from a database of `tuninglink tune`.",
    ),
    "dim": DIM_FLAG,
    "format": Flag(
        "report_format",
        member_of(ExplanationFormat),
        metavar="FORMAT",
        help="table, json or html. Default: what the name of FILE says, or table.",
        values=values_of(ExplanationFormat),
    ),
    "o": replace(
        COMPILE_FLAGS["o"],
        metavar="FILE",
        help="Where to write the explanation. Default: standard output.",
    ),
}
"""Those of `tuninglink explain`."""


def parse_explain_arguments(arguments: Iterable[str]) -> CompileOptions:
    """Read the arguments of `tuninglink explain`; see `parse_arguments`."""
    return _options(FlagReader(EXPLAIN_FLAGS, arguments))


def parse_arguments(arguments: Iterable[str]) -> CompileOptions:
    """Read the arguments of `tuninglink compile` that come after the program's name.

    Raises:
        CompileError: a value is malformed or missing, a flag is given twice, there is more than one input,
            or a flag is unknown.
    """
    return _options(FlagReader(COMPILE_FLAGS, arguments))


def _options(reader: FlagReader) -> CompileOptions:
    values: dict[str, Any] = reader.values
    return CompileOptions(input=reader.input, flags=reader.flags, **values)


class FlagReader:
    """Reads the arguments of a command that takes flags of the compiler beside its own.

    Args:
        known: the flags that the command reads itself, by their names without dashes.
        arguments: the arguments that come after the program's name.

    Attributes:
        values: what the command's own flags say, by the field that they are for.
        flags: everything else, one `--name` or `--name=value` each.
        inputs: the other arguments, which are paths.

    Raises:
        CompileError: a value is malformed or missing, a flag is given twice, or a flag is unknown.
    """

    def __init__(self, known: Mapping[str, Flag], arguments: Iterable[str]) -> None:
        try:
            line = CommandLine(known, arguments)
        except UsageError as failure:
            raise CompileError(error(str(failure))) from None
        for each in line.unknown:
            _check_known(each.name, known)
        # A single word is the input: no list of all flags is needed, which takes 20 ms to make.
        flags, inputs = line.split(line.unknown, compiler_options if len(line.words) > 1 else dict)
        self.values = line.values
        self.flags = tuple(f"--{flag.lstrip('-')}" for flag in flags)
        self.inputs = inputs

    @property
    def input(self) -> str | None:
        """The path of the program, None where none was given.

        Raises:
            CompileError: there is more than one input.
        """
        if len(self.inputs) > 1:
            listed = ", ".join(f"'{input_}'" for input_ in self.inputs)
            raise CompileError(error(f"expected one input, found {len(self.inputs)}: {listed}"))
        return self.inputs[0] if self.inputs else None


def _check_known(name: str, known: Iterable[str]) -> None:
    # Most flags belong to sessions; only for the others is a list of everything needed.
    if f"--{name}" not in session_flags() and name not in compiler_options():
        hint = _suggestion(name, known)
        raise CompileError(error(f"unknown flag '{dashed(name)}'{hint}"))


def _suggestion(name: str, known: Iterable[str]) -> str:
    """Return a suggestion; one of LLVM's own flags, which are many, only where it is hardly another word."""
    users = [*known, *(option for option in compiler_options() if option.startswith("iree-"))]
    return did_you_mean(dashed(name), map(dashed, users), cutoff=_LIKE) or did_you_mean(
        dashed(name), map(dashed, compiler_options()), cutoff=_HARDLY_ANOTHER
    )


_LIKE: Final = 0.75
_HARDLY_ANOTHER: Final = 0.9
