"""The base class of passes: a frozen dataclass with a name, typed options, a docstring and one `apply`."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tuninglink.mlir import names

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import DiagnosticSink


def option(default: Any, help: str, *, name: str | None = None) -> Any:  # noqa: A002 - the usual word for it on command lines
    """Return a dataclass field that is an option of a pass, with one line for `--help` and the pass reference.

    The annotation of the field is the option's type: `bool`, `int`, `float`, `str`, a `Literal` of strings, or
    `tuple[str, ...]` and `tuple[int, ...]` for lists. Its name is the field's, with dashes for underscores, by default.
    """
    return dataclasses.field(default=default, metadata={"help": help, "name": name})


@dataclass(frozen=True)
class Pass(ABC):
    """A transformation or a check of one operation and its regions.

    A subclass is a frozen dataclass in a file named after it. Its docstring begins with a summary line and shows an
    example before and after the pass. `--help` and the pass reference are made from it. Every field is an option: the
    field `spec_paths` is the option `spec-paths`, unless the field's metadata gives another name.

    Attributes:
        name: the pass's name in textual pipelines and, after `--`, on the command line.
        anchor: the operation that the pass runs on, or None for any.
    """

    name: ClassVar[str]
    anchor: ClassVar[str | None] = names.MODULE

    @abstractmethod
    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:
        """Run the pass on `operation`.

        Legality is checked before any change. A pass fails by emitting an error to `diagnostics` or by raising a
        `TuninglinkError`, and then leaves the operation unchanged.
        """
