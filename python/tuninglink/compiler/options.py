"""The options of a compilation, each declared once with the flag that sets it, and the reader of command lines.

One command line combines three kinds of flags. Driver flags (`-o`, `--compile-to`) of `iree-compile` are reimplemented
here. Flags about specs belong to Tuninglink, or the compiler would read them too late. All other flags are passed to
the compiler.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, Final

from tuninglink.compiler.session import Phase, session_flags
from tuninglink.compiler.targets import HOST, expanded_target
from tuninglink.errors import TuninglinkError, UsageError, did_you_mean
from tuninglink.iree import (
    SECONDS,
    GivenSizes,
    Target,
    iree_compile,
    known_target_names,
    named_target,
)
from tuninglink.llvm_flags import (
    CommandLine,
    CommandLineError,
    Flag,
    choice,
    dashed,
    flags_of,
    option,
    read_name,
    read_number,
    switch,
    toggle,
)
from tuninglink.mlir import error, note
from tuninglink.specs import spec_names


class OutputFormat(Enum):
    """The format of the compiled program, named as in `--output-format`."""

    BYTECODE = "vm-bytecode"
    C_SOURCE = "vm-c"
    ASSEMBLY = "vm-asm"


class Mode(Enum):
    """The compiler's pipeline, named as in `--compile-mode`."""

    STANDARD = "std"
    VM = "vm"
    HAL_EXECUTABLE = "hal-executable"
    PRECOMPILE = "precompile"


class ExplanationFormat(Enum):
    """The format of an explanation, named as in `--format`."""

    TABLE = "table"
    JSON = "json"
    HTML = "html"


def _on_or_off(text: str) -> bool:
    if text not in ("on", "off"):
        raise ValueError("expected on or off")
    return text == "on"


TARGET_FLAG: Final = Flag(
    "target",
    read_name,
    metavar="TARGET",
    help="What to compile for: host (this CPU), znver4, gfx942, mi300x, sm_80 and the like. It stands for flags of "
    "iree-compile, which -v shows; `tuninglink targets --all` lists the names.",
    values=lambda: [HOST, *known_target_names()],
)
"""The flag for a target. Commands on specs have another text."""

DIM_FLAG: Final[Flag] = Flag(
    "sizes",
    GivenSizes.parse,
    repeats=True,
    metavar="SIZES",
    help="Sizes of dynamic dimensions, for the costs: ARGUMENT.DIMENSION=SIZE[:WEIGHT],... such as 0.0=1,8:2,64,512, or "
    "sizes alone for all of them. May be repeated.",
)
"""The sizes of dynamic dimensions."""

_FILE: Final = Flag("", read_name, metavar="FILE")


@dataclass(frozen=True)
class CompileOptions:
    """The options of a compilation. Those without a help text are the flags of `iree-compile`.

    `flags` are all other flags, each as `--name` or `--name=value`. An `explanation` is written to standard error if its
    name is empty. `target` is the name of the target that flags stand for.
    """

    input: str | None = None
    output: str = option(
        "-",
        read=read_name,
        short="o",
        metavar="OUT",
        help="Where to write the result. Default: standard output.",
    )
    output_format: OutputFormat = option(OutputFormat.BYTECODE, choice("", OutputFormat))
    mode: Mode = option(Mode.STANDARD, choice("", Mode), name="compile-mode")
    compile_from: Phase = option(Phase.START, choice("", Phase))
    compile_to: Phase = option(Phase.END, choice("", Phase))
    verify: bool = option(default=True, base=switch("", ""))
    phase_dumps: str = option("", name="dump-compilation-phases-to")
    emit_bytecode: bool = toggle("", name="emit-mlir-bytecode")
    bytecode_version: int = option(-1, read=read_number, name="emit-mlir-bytecode-version")
    remarks_filter: str = option("")
    remarks_file: str = option("mlir-remarks.yaml", name="remarks-output-file")
    split_input: bool = toggle("", name="split-input-file")
    specs: tuple[str, ...] = option(
        (),
        name="spec",
        read=read_name,
        repeats=True,
        metavar="SPEC",
        help="A tuning spec, as text or bytecode: a file, a directory, a pattern, library:NAME or a URL, "
        "followed by #sha256=HASH if it must not change; library:auto applies all shipped libraries without kernels that "
        "fit the target. May be repeated: the first wins. TARGET=SPEC applies it to the dispatches of a target only: an "
        "SKU, an architecture or a family, or several, separated by commas.",
        values=spec_names,
    )
    spec_directories: tuple[str, ...] = option(
        (),
        name="spec-dir",
        read=read_name,
        repeats=True,
        metavar="DIR",
        help="Look for default specs in this directory first. May be repeated.",
    )
    default_specs: bool = toggle(
        "Do not apply default specs, neither from a directory nor shipped ones.",
        name="no-default-specs",
        default=True,
    )
    upgrade: bool = toggle(
        "Reject specs that were written for an older compiler, instead of upgrading them.",
        name="no-upgrade",
        default=True,
    )
    derived_entries: bool = toggle(
        "Apply entries only as they are written. By default an entry also applies to other spellings of its "
        "problem: with a batch of 1 added or removed, and with its loops in another order.",
        name="no-derived-entries",
        default=True,
    )
    skip_failing: bool = toggle(
        "Compile a dispatch without specs if it fails to compile because of one, with a warning that names the "
        "entry. Otherwise that is an error.",
        name="skip-failing-entries",
    )
    prune: bool = option(
        default=True,
        read=_on_or_off,
        metavar="=off",
        help="Give every dispatch all entries, not only those that may match in it. That takes longer, "
        "with the same configurations.",
        values=lambda: ("on", "off"),
    )
    spec_dumps: str = option(
        "",
        name="dump-specs-to",
        read=read_name,
        metavar="DIR",
        help="Write the linked specs of each target to DIR, or - for standard output.",
    )
    explanation: str | None = option(
        None,
        name="explain",
        switch=True,
        metavar="[=FILE]",
        help="Explain the effect of the specs, dispatch by dispatch: in FILE (*.json and *.html as JSON and as a page), or on "
        "standard error. See `tuninglink explain --help`.",
    )
    profile: str | None = option(
        None,
        _FILE,
        help="Measured times: a .ireeprof of --device_profiling_output, or an explanation of --device as JSON.",
    )
    database: str | None = option(
        None, _FILE, help="Measured times from a database of `tuninglink tune`."
    )
    sizes: tuple[GivenSizes, ...] = option((), DIM_FLAG, name="dim")
    report_format: ExplanationFormat | None = option(
        None,
        choice(
            "",
            ExplanationFormat,
            "The format of the explanation. Default: that of the suffix of FILE, or table.",
        ),
        name="format",
    )
    flags: tuple[str, ...] = ()
    target: str = ""

    @property
    def machine(self) -> Target | None:
        """The target that was named, unless it is this processor; None if flags name it."""
        return named_target(self.target)

    @property
    def needs_target(self) -> bool:
        """Whether the compilation passes the phase at which the program must have a target."""
        is_passed = self.compile_from < Phase.EXECUTABLE_SOURCES <= self.compile_to
        return self.mode is Mode.STANDARD and is_passed

    @property
    def writes_ir(self) -> bool:
        """Whether the result is IR, not the compiled program."""
        if self.compile_to is not Phase.END or self.mode is Mode.PRECOMPILE:
            return True
        return self.output_format is OutputFormat.ASSEMBLY and self.mode is not Mode.HAL_EXECUTABLE

    @property
    def writes_text(self) -> bool:
        """Whether the result is text: IR, unless it is written as bytecode, or C."""
        if self.writes_ir:
            return not self.emit_bytecode
        return self.output_format is OutputFormat.C_SOURCE and self.mode is not Mode.HAL_EXECUTABLE

    @property
    def reason_against_specs(self) -> str:
        """The reason why specs do not take effect; empty if they do."""
        if self.mode in (Mode.VM, Mode.PRECOMPILE):
            return f"specs are not applied in --compile-mode={self.mode.value}"
        if self.compile_to < Phase.EXECUTABLE_SOURCES:
            return f"the compilation ends before '{Phase.EXECUTABLE_SOURCES.value}'"
        if self.compile_from > Phase.EXECUTABLE_SOURCES:
            return f"the input is past '{Phase.EXECUTABLE_SOURCES.value}' already"
        return ""

    @property
    def reason_against_replacing(self) -> str:
        """The reason why replace entries of specs do not take effect; empty if they do."""
        if self.mode is not Mode.STANDARD:
            return f"ops are not replaced in --compile-mode={self.mode.value}"
        if self.compile_to < Phase.PREPROCESSING:
            return f"the compilation ends before '{Phase.PREPROCESSING.value}'"
        if self.compile_from >= Phase.PREPROCESSING:
            return f"the input is past '{Phase.PREPROCESSING.value}' already"
        return ""


_FLAGS: Final = {
    "target": TARGET_FLAG,
    **flags_of(CompileOptions),
    "iree-codegen-tuning-spec-path": Flag("specs", repeats=True),
    "iree-codegen-enable-default-tuning-specs": switch("default_specs", ""),
    "iree-codegen-dump-tuning-specs-to": Flag("spec_dumps"),
}
_OF_EXPLANATIONS: Final = frozenset({"profile", "database", "dim", "format"})
_OF_PROGRAMS: Final = frozenset({"prune", "dump-specs-to"})

COMPILE_FLAGS: Final = {name: _FLAGS[name] for name in _FLAGS if name not in _OF_EXPLANATIONS}
"""The flags that `tuninglink compile` implements."""

EXPLAIN_FLAGS: Final = {
    **{
        name: replace(flag, help="") if name in _OF_PROGRAMS else flag
        for name, flag in _FLAGS.items()
        if name != "explain"
    },
    "output": replace(
        _FLAGS["output"],
        metavar="FILE",
        help="Where to write the explanation. Default: standard output.",
    ),
}
"""The flags that `tuninglink explain` implements."""


# --- Command lines -------------------------------------------------------------------------------


def compile_options(reader: FlagReader) -> CompileOptions:
    """Return the options of a compilation with the values of flags."""
    values: dict[str, Any] = reader.values
    return CompileOptions(input=reader.input, flags=reader.flags, target=reader.target, **values)


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
            name = flag.name
            if name in _TOOL_FLAGS and f"--{name}" not in session_flags():
                message = f"'{dashed(name)}' is not a flag of this command"
                raise UsageError(error(message, notes=[note("'tuninglink compile' has this flag")]))
            # Most flags belong to sessions. Other flags require the list of all flags.
            if f"--{name}" not in session_flags() and name not in compiler_options():
                # A suggestion for an unknown flag. LLVM's many flags are suggested only at a higher similarity.
                every = [*map(dashed, compiler_options())]
                likely = [*map(dashed, own_flags), *(f for f in every if f.startswith("--iree-"))]
                hint = did_you_mean(dashed(name), likely, _LIKE)
                hint = hint or did_you_mean(dashed(name), every, _HARDLY_ANOTHER)
                raise UsageError(error(f"unknown flag '{dashed(name)}'{hint}"))
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
        """The only input, which is the path of the program, or None."""
        if len(self.inputs) > 1:
            listed = ", ".join(f"'{input_}'" for input_ in self.inputs[:_SHOWN])
            more = ", ..." if len(self.inputs) > _SHOWN else ""
            raise UsageError(error(f"expected one input, found {len(self.inputs)}: {listed}{more}"))
        return self.inputs[0] if self.inputs else None


_TOOL_FLAGS: Final = frozenset(
    spelling for name, flag in COMPILE_FLAGS.items() for spelling in (name, flag.short) if spelling
)
"""The flags of `iree-compile` that sessions do not have, such as `-o`."""

_LIKE: Final = 0.75
_HARDLY_ANOTHER: Final = 0.9


@cache
def compiler_options() -> Mapping[str, str]:
    """Return the names of all options of `iree-compile`, with the kind of the required value; empty for none."""
    pattern = re.compile(r"^  --?([\w.-]+)(?:[= ]<([^>]*)>)?", re.MULTILINE)
    return dict(pattern.findall(_listing()))


def listed_values() -> Mapping[str, list[str]]:
    """Return the names of all options of `iree-compile`, with the values that its help lists."""
    values: dict[str, list[str]] = {}
    for line in _listing().splitlines():
        if option := re.match(r"  --?([\w.-]+)", line):
            listed = values.setdefault(option[1], [])
        elif values and (value := re.match(r"\s+=([\w.-]+) +- ", line)):
            listed.append(value[1])
    return values


@cache
def _listing() -> str:
    """Return the help text of `iree-compile`, with hidden options."""
    return subprocess.run(  # noqa: S603 - the compiler's own tool
        [iree_compile(), "--help-list-hidden"],
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
    ).stdout


# --- The flags that a project file which the user did not name may give --------------------------
#
# None that runs a program, or reads or writes files. The kind of a flag's value decides, as the compiler's help gives
# it: a switch, a number or one of several words cannot name a file. Few flags with a text as value are accepted, and
# few switches are not.

_OWN: Final = frozenset(
    {"no-default-specs", "no-upgrade", "no-derived-entries", "skip-failing-entries", "prune"}
)
"""The flags of Tuninglink about the use of specs."""

_ACTING: Final = re.compile(
    r"dump|print|list-|plugin|ptxas|metallib|keep-|debug-patch|jit-|trace|break|benchmark|link-embedded|link-static|test"
)
"""Switches of which the compiler runs a tool, writes a file, or prints."""

_FILES: Final = re.compile(r"file|path|dir|archive", re.IGNORECASE)
"""Kinds of values that are files."""

_NAMING: Final = re.compile(
    r"iree-(cuda|rocm|vulkan)-target(-features)?"
    r"|iree-hal-(default-device|target-backends|target-device|local-(host|target)-device-backends)"
    r"|iree-llvmcpu-(target-(abi|cpu|cpu-features|data-layout|triple)|vscale-range|enable-(llvm-)?ukernels)"
    r"|iree-rocm-(enable-ukernels|encoding-layout-resolver)|iree-input-type"
)
"""Flags with a text as value that name a target, a device or a choice."""

_NAME: Final = re.compile(r"[\w.,:+=\[\]-]*")
"""The values of these. Attributes could name files."""

_PIPELINE: Final = "iree-preprocessing-pass-pipeline"
_PASSES: Final = re.compile(
    r"([\w.]+\(|\)|,|\s|canonicalize|cse|(iree-(linalg-ext|preprocessing|global-opt|dispatch-creation)-[\w-]+))*"
)
"""Pipelines of passes without options, which `tune` writes into response files."""


def check_found_flags(flags: Iterable[str], path: str) -> None:
    """Reject flags of a project file at `path` that was found which could run a program, or read or write a file."""
    for flag in flags:
        written, _, value = flag.partition("=")
        name, kind = re.sub("^--?", "", written), None
        if name in _OWN:
            continue
        if written.startswith("-") and name.startswith("iree-"):
            kind = compiler_options().get(name)
        if name == "target" or (kind is not None and _NAMING.fullmatch(name)):
            is_harmless = _NAME.fullmatch(value) is not None
        elif kind is not None and name == _PIPELINE:
            is_harmless = _PASSES.fullmatch(value) is not None
        else:
            is_file = kind is None or kind == "string" or _FILES.search(kind)
            is_harmless = not is_file and not _ACTING.search(name)
        if not is_harmless:
            remedy = note(f"if you trust it, name it: --project {shlex.quote(path)}")
            why = "it could run a program, read or write a file, or is unknown"
            message = (
                f"{path}: '{flag}' is not accepted from a project file that is not named: {why}"
            )
            raise TuninglinkError(error(message, notes=[remedy]))
