"""The exceptions of Tuninglink, raised at the borders of its layers.

A mistake of the user always arrives as a `TuninglinkError` that carries diagnostics with a place and a
remedy. Any other exception is a bug of ours.
"""

from __future__ import annotations

import copyreg
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.mlir.diagnostics import Diagnostic


class TuninglinkError(Exception):
    """Something that the user can mend went wrong.

    Attributes:
        diagnostics: what went wrong, the error that ended the work first.
    """

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n".join(str(diagnostic) for diagnostic in diagnostics))
        self.diagnostics = diagnostics

    def __reduce__(self) -> tuple[object, ...]:
        """Return how to pickle it, also where a subclass takes other arguments than its base."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class SpecError(TuninglinkError):
    """A spec cannot be read, is not a spec, or cannot be linked."""


class TargetError(TuninglinkError):
    """A target is not known."""


class PipelineError(TuninglinkError):
    """A textual pass pipeline or an option of a pass is malformed."""


class CompileError(TuninglinkError):
    """The compiler reported an error, whatever its exit status was."""
