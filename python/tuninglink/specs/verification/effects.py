"""Properties of ops of the transform dialect: their effects, and whether matchers may contain them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.specs.side_effects import declares_a_write

if TYPE_CHECKING:
    from tuninglink.specs.verification.reach import Code, Reach


class PayloadEffects:
    """Effects of ops and sequences on the payload.

    Args:
        reach: provides the sequences that a sequence includes.
    """

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._writes: dict[str, bool] = {}
        self._culprits: dict[Code, mlir.Operation | None] = {}

    def writes(self, operation: mlir.Operation) -> bool:
        """Return whether `operation` itself changes the payload, apart from the sequences that it runs."""
        name = operation.name
        if name not in self._writes:
            self._writes[name] = declares_a_write(operation)
        return self._writes[name]

    def culprit(self, code: Code) -> mlir.Operation | None:
        """Return the first op that changes the payload when `code` runs, or None."""
        if code not in self._culprits:
            self._culprits[code] = None  # Sequences may include each other: visit each once.
            self._culprits[code] = self._find_culprit(code)
        return self._culprits[code]

    def culprit_behind(self, code: Code, operation: mlir.Operation) -> mlir.Operation | None:
        """Return the first op that changes the payload when `operation` of `code` runs."""
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
    """The ops that the compiler runs in a matcher: those with its interface for matching.

    The bindings do not expose the interface. But the compiler's verifier requires it of all ops inside a
    `transform.match.structured`, so it is run on one that contains the op.
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
        # Other faults of the op are reported at its own place.
        return all(diagnostic.location != asked for diagnostic in failure.error_diagnostics)
    return True
