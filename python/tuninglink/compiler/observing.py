"""Observers of a program during its compilation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.compiler.tracing import Applied
    from tuninglink.mlir.diagnostics import Diagnostic

    Configure = Callable[[bytes, Callable[[mlir.Operation], None]], tuple[Diagnostic, ...]]
    """Configures a program of executables at `executable-sources`, given as bytecode, under the flags of the
    compilation, and hands it over if that worked; returns the errors if not."""


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
