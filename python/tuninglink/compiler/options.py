"""The options of a compilation, each with the flag that sets it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from tuninglink.compiler.session import Phase
from tuninglink.iree import GivenSizes, known_target_names
from tuninglink.llvm_flags import (
    Flag,
    choice,
    flags_of,
    option,
    read_name,
    read_number,
    switch,
    toggle,
)
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


HOST: Final = "host"
"""The name of this machine's processor, as in flags of the compiler."""


def target_names() -> list[str]:
    """Return the names that `read_target` accepts."""
    return [HOST, *known_target_names()]


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
    values=target_names,
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
    name is empty.
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
        "followed by #sha256=HASH if it must not change; library:auto applies all shipped libraries that fit the "
        "target. May be repeated: the first wins. TARGET=SPEC applies it to the dispatches of a target only: an "
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
        "Apply entries only as they are written. By default an entry also applies to other forms of its "
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

    @property
    def needs_target(self) -> bool:
        """Whether the compilation passes the phase at which the program must have a target."""
        return (
            self.mode is Mode.STANDARD
            and self.compile_from < Phase.EXECUTABLE_SOURCES <= self.compile_to
        )

    @property
    def applies_specs(self) -> bool:
        """Whether the compilation passes the phase at which specs are embedded."""
        if self.mode not in (Mode.STANDARD, Mode.HAL_EXECUTABLE):
            return False
        first, last = self.compile_from, self.compile_to
        return first <= Phase.EXECUTABLE_SOURCES <= last and first is not last

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
