"""Passes of a plug-in, for tests of tuninglink-opt."""

# A pass is given what not every pass needs.
# ruff: noqa: ARG002

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from iree.compiler import ir

from tuninglink.mlir import Pass, option

if TYPE_CHECKING:
    from tuninglink.mlir import DiagnosticSink


@dataclass(frozen=True)
class Mark(Pass):
    """Mark an operation with an attribute.

    Before:

    ```mlir
    module {}
    ```

    After:

    ```mlir
    module attributes {example.mark = "here"} {}
    ```
    """

    name: ClassVar[str] = "example-mark"
    anchor: ClassVar[str | None] = None

    text: str = option("here", "what the attribute says")
    words: tuple[str, ...] = option((), "further words that it says")
    numbers: tuple[int, ...] = option((), "numbers that it says")
    times: int = option(1, "how often it says it")
    shout: bool = option(default=False, help="whether to use capital letters")
    style: Literal["plain", "quoted"] = option("plain", "how it says it")

    def apply(self, operation: ir.Operation, diagnostics: DiagnosticSink) -> None:
        text = " ".join([*[self.text] * self.times, *self.words, *map(str, self.numbers)])
        text = text.upper() if self.shout else text
        text = f"<{text}>" if self.style == "quoted" else text
        operation.attributes["example.mark"] = ir.StringAttr.get(text)


@dataclass(frozen=True)
class MarkFunction(Mark):
    """Mark a function."""

    name: ClassVar[str] = "example-mark-function"
    anchor: ClassVar[str | None] = "func.func"


@dataclass(frozen=True)
class Complain(Pass):
    """Emit a diagnostic for each operation in a module, and fail if it is an error."""

    name: ClassVar[str] = "example-complain"

    about: str = option("func.return", "the operations to complain about")
    severity: Literal["error", "warning", "remark"] = option("error", "how grave it is")

    def apply(self, operation: ir.Operation, diagnostics: DiagnosticSink) -> None:
        emit = getattr(diagnostics, self.severity)

        def visitor(each: ir.Operation) -> ir.WalkResult:
            if each.name == self.about:
                emit(f"found '{each.name}'", each)
            return ir.WalkResult.ADVANCE

        operation.walk(visitor, ir.WalkOrder.PRE_ORDER)


@dataclass(frozen=True)
class Break(Pass):
    """Leave IR behind that does not verify."""

    name: ClassVar[str] = "example-break"
    anchor: ClassVar[str | None] = "func.func"

    def apply(self, operation: ir.Operation, diagnostics: DiagnosticSink) -> None:
        operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([], []))


@dataclass(frozen=True)
class Raise(Pass):
    """Raise an exception."""

    name: ClassVar[str] = "example-raise"

    def apply(self, operation: ir.Operation, diagnostics: DiagnosticSink) -> None:
        raise KeyError("nobody expects this")


PASSES = [Mark, MarkFunction, Complain, Break, Raise]
