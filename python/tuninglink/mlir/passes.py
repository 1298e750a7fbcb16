"""What a pass is: a frozen dataclass with a name, typed options, a docstring and one `apply`."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tuninglink.mlir import names

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import DiagnosticSink


def option(default: Any, help: str, *, name: str | None = None) -> Any:  # noqa: A002 - the word that users of a CLI know
    """Return a dataclass field that is an option of a pass.

    Args:
        default: the value without the option; its field's annotation is the option's type: `bool`, `int`,
            `float`, `str`, a `Literal` of strings, or `tuple[str, ...]` and `tuple[int, ...]` for lists.
        help: one line for `--help` and the pass reference.
        name: the option's name, where it is not the field's with dashes for underscores.
    """
    return dataclasses.field(default=default, metadata={"help": help, "name": name})


@dataclass(frozen=True)
class Pass(ABC):
    """A transformation or a check of one operation and what is inside it.

    A subclass is a frozen dataclass in a file named after it. Its docstring starts with one summary line
    and shows a before/after example; `--help` and the pass reference are made from it. Every field is an
    option: the field `spec_paths` is the option `spec-paths`, unless the field's metadata names it
    otherwise.

    Attributes:
        name: the pass's name in textual pipelines and, after `--`, on the command line.
        anchor: the operation that the pass runs on, or None for any.
    """

    name: ClassVar[str]
    anchor: ClassVar[str | None] = names.MODULE

    @abstractmethod
    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:
        """Run the pass on `operation`.

        The pass decides whether it is legal before it changes anything. It fails by emitting an error to
        `diagnostics` or by raising a `TuninglinkError`, and then leaves the operation as it was.
        """
