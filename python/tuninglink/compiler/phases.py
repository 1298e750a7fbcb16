"""The phases of a compilation, in the order in which the compiler runs them, and observers of the program at them."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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

    It must not change the program, nor keep handles to its operations.
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
