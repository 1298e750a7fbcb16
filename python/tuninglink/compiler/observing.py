"""What else looks at a program while it is compiled."""

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
    """Looks at a program at the two points between which specs are applied to it.

    It changes nothing, and keeps no handle to an operation of the program.
    """

    def before_specs(self, program: mlir.Operation) -> None:
        """Looks at a program at `executable-sources`, before specs are embedded."""

    def forget(self) -> None:
        """Forget the last program: it is compiled once more, with other specs."""

    def after_specs(
        self,
        program: mlir.Operation,
        applied: Sequence[tuple[mlir.Operation, Applied]],
        configure: Configure,
    ) -> None:
        """Looks at the same program at `executable-configurations`.

        Args:
            program: the program.
            applied: what specs configured in it: the operation, and what did.
            configure: configures other programs as this one was, but for specs.
        """
