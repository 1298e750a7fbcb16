"""What the compiler says about operations of the transform dialect: what they do, where they can stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.specs.side_effects import declares_a_write

if TYPE_CHECKING:
    from tuninglink.specs.verification.reach import Code, Reach


class PayloadEffects:
    """Tells which operations and sequences change the payload.

    Args:
        reach: where what a sequence includes is found.
    """

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._writes: dict[str, bool] = {}
        self._culprits: dict[Code, mlir.Operation | None] = {}

    def writes(self, operation: mlir.Operation) -> bool:
        """Tells whether `operation` itself changes the payload, apart from what it runs."""
        name = operation.name
        if name not in self._writes:
            self._writes[name] = declares_a_write(operation)
        return self._writes[name]

    def culprit(self, code: Code) -> mlir.Operation | None:
        """Returns the first operation that changes the payload when `code` runs, or None."""
        if code not in self._culprits:
            self._culprits[code] = None  # Where sequences lead to each other, look once.
            self._culprits[code] = self._find_culprit(code)
        return self._culprits[code]

    def culprit_behind(self, code: Code, operation: mlir.Operation) -> mlir.Operation | None:
        """Returns the first operation that changes the payload when `operation` of `code` runs."""
        if self.writes(operation):
            return operation
        for _, callee in self._reach.callees(code, operation):
            culprit = self.culprit(callee)
            if culprit is not None:
                return culprit
        return None

    def _find_culprit(self, code: Code) -> mlir.Operation | None:
        culprits = (self.culprit_behind(code, operation) for operation in code.operations)
        return next((culprit for culprit in culprits if culprit is not None), None)


class MatchOperations:
    """Tells which operations the compiler runs in a matcher: those with its interface for matching.

    The bindings do not know the interface. But the compiler's verifier wants it of everything inside a
    `transform.match.structured`, so it is asked about one that holds such an operation.
    """

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}

    def __contains__(self, operation: mlir.Operation) -> bool:
        name = operation.name
        if name not in self._known:
            with operation.context:
                self._known[name] = _is_match_operation(name)
        return self._known[name]


def _is_match_operation(name: str) -> bool:
    any_op = mlir.Type.parse("!transform.any_op")
    asked = mlir.Location.file("match operation", 1, 1)
    with mlir.Location.unknown():
        scratch = mlir.Module.create()
        with mlir.InsertionPoint(scratch.body):
            holder = mlir.Operation.create(names.MODULE, regions=1)
        block = holder.regions[0].blocks.append(any_op)
        with mlir.InsertionPoint(block):
            operands = [block.arguments[0]]
            question = mlir.Operation.create(
                names.MATCH_STRUCTURED, operands=operands, regions=1, loc=asked
            )
        with mlir.InsertionPoint(question.regions[0].blocks.append(any_op)):
            mlir.Operation.create(name)
            mlir.Operation.create(f"{names.MATCH_STRUCTURED}.yield")
    try:
        question.verify()
    except mlir.MLIRError as failure:
        # Anything else that is wrong with the operation is reported at its own place.
        return all(diagnostic.location != asked for diagnostic in failure.error_diagnostics)
    return True
