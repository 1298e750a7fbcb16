"""The options of a compilation, and its phases in the order in which the compiler runs them.

Observers see the program before and after specs are applied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from tuninglink.iree.given_sizes import GivenSizes

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.compiler.tracing import Applied
    from tuninglink.mlir.diagnostics import Diagnostic

    Configure = Callable[[bytes, Callable[[mlir.Operation], None]], tuple[Diagnostic, ...]]
    """Configures a program of executables at `executable-sources`, given as bytecode, under the flags of the
    compilation, and hands it over if that worked; returns the errors if not."""


class Phase(Enum):
    """A phase, named as in `--compile-to`. Phases compare by their position in the pipeline."""

    START = "start"
    INPUT = "input"
    ABI = "abi"
    PREPROCESSING = "preprocessing"
    GLOBAL_OPTIMIZATION = "global-optimization"
    DISPATCH_CREATION = "dispatch-creation"
    FLOW = "flow"
    STREAM = "stream"
    EXECUTABLE_SOURCES = "executable-sources"
    EXECUTABLE_CONFIGURATIONS = "executable-configurations"
    EXECUTABLE_TARGETS = "executable-targets"
    HAL = "hal"
    VM = "vm"
    END = "end"

    def __lt__(self, other: Phase) -> bool:
        return _POSITIONS[self] < _POSITIONS[other]

    def __le__(self, other: Phase) -> bool:
        return _POSITIONS[self] <= _POSITIONS[other]


_POSITIONS = {phase: position for position, phase in enumerate(Phase)}


class Observer(Protocol):
    """An observer of a program before and after specs are applied to it.

    An observer must neither change the program nor keep handles to its operations.
    """

    def before_specs(self, program: mlir.Operation) -> None:
        """Inspect a program at `executable-sources`, before specs are embedded."""

    def forget(self) -> None:
        """Discard the last program, which is compiled again with other specs."""

    def after_specs(
        self,
        program: mlir.Operation,
        applied: Sequence[tuple[mlir.Operation, Applied]],
        configure: Configure,
    ) -> None:
        """Inspect the same program at `executable-configurations`.

        Args:
            program: the program.
            applied: the configured operations, each with its spec and entry.
            configure: configures other programs in the same way, but without specs.
        """


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


@dataclass(frozen=True)
class CompileOptions:
    """The options of a compilation.

    Attributes:
        input: the path of the program, `-` for standard input, or None.
        output: the path of the result, `-` for standard output.
        output_format: the format of the result, unless the compilation ends early.
        mode: the pipeline.
        compile_from: the last phase that the input has been through.
        compile_to: the last phase to run.
        verify: whether to verify the IR after each pass.
        phase_dumps: a directory for the IR after each phase; empty for no dumps.
        emit_bytecode: whether to write IR as bytecode.
        bytecode_version: the version of that bytecode, or -1 for the current version.
        remarks_filter: a pattern of the remarks to write to a file; empty for no remarks.
        remarks_file: the file for the remarks.
        split_input: whether to compile the parts of the input between `// -----` separately.
        specs: the paths of the user's specs, in order of precedence.
        spec_directories: directories of default specs, searched before the shipped ones.
        default_specs: whether to use default specs.
        upgrade: whether to upgrade specs that were written for an older compiler; otherwise they are rejected.
        spec_dumps: a directory for the linked specs, `-` for standard output; empty for no dump.
        prune: whether each dispatch receives only the entries that may match in it.
        derived_entries: whether to derive entries for other forms of their problems.
        skip_failing: whether to compile a dispatch without specs if it fails with them.
        explanation: the file for an explanation, empty for standard error; None for no explanation.
        profile: a file with measured times for an explanation, or None.
        database: a database of trials for an explanation, or None.
        sizes: the sizes of dynamic dimensions for the costs in an explanation.
        report_format: the format of the explanation, or None to derive it from the file name.
        flags: all other flags, each as `--name` or `--name=value`.
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
