"""Faults of matchers, and references to sequences that cannot run."""

from __future__ import annotations

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import Diagnostic, DiagnosticSink, note
from tuninglink.mlir.symbols import reference, symbol_name
from tuninglink.rules import Rule
from tuninglink.specs.module_scan import is_any_op, signature
from tuninglink.specs.side_effects import declares_a_write
from tuninglink.specs.transform_ops import FAILURES_SUPPRESS
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
    `transform.match.structured`, so the verifier is run on a `transform.match.structured` that contains the op.
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


def check_references(reach: Reach, diagnostics: DiagnosticSink) -> None:
    """Report each referenced sequence that is only declared.

    The compiler's verifier rejects references to undefined symbols.
    """
    reported = set()
    for code in reach.codes:
        for operation in code.callees:
            for path, callee in reach.callees(code, operation):
                if callee.is_declaration and callee not in reported:
                    reported.add(callee)
                    diagnostics.error(
                        f"dangling reference to '@{path}', which is declared but has no body; "
                        "define it in this module",
                        operation,
                        [note("declared here", callee.sequence)],
                    )


class MatcherChecks:
    """A checker that checks every matcher of a spec once, even if many entries use it.

    Args:
        reach: the sequences that run when the spec is applied.
        diagnostics: receives the findings.
    """

    def __init__(self, reach: Reach, diagnostics: DiagnosticSink) -> None:
        self._reach = reach
        self._diagnostics = diagnostics
        self._effects = PayloadEffects(reach)
        self._match_operations = MatchOperations()

    def run(self) -> None:
        """Check all matchers."""
        checked = set()
        for code in self._reach.codes:
            for user, paths in code.matchers.items():
                for path in paths:
                    matcher = self._reach.callee(code, path)
                    if matcher and matcher not in checked and not matcher.is_declaration:
                        checked.add(matcher)
                        self._check(matcher, user)

    def _check(self, matcher: Code, user: mlir.Operation) -> None:
        self._check_argument(matcher, user)
        top = set(matcher.top)
        for operation in matcher.operations:
            if operation.name == names.YIELD:
                continue
            if operation in top and operation not in self._match_operations:
                self._report_stranger(operation, matcher, user)
            else:
                self._check_effects(operation, matcher, user)
            if operation.name == names.INCLUDE:
                self._check_suppression(operation, matcher)

    def _check_argument(self, matcher: Code, user: mlir.Operation) -> None:
        argument = signature(matcher.sequence).inputs[0]
        if is_any_op(argument) or "restrict_root" in user.attributes:
            return
        from iree.compiler.dialects.transform import OperationType  # noqa: PLC0415 - slow to import

        if isinstance(argument, OperationType):
            self._diagnostics.error(
                f"matcher '{_name(matcher)}' takes only '{argument.operation_name}', and the "
                f"first other operation that it is tried on fails the compilation; take "
                "'!transform.any_op' and match the name with 'transform.match.operation_name'",
                matcher.sequence,
                [_used_here(user)],
                Rule.MATCHER,
            )

    def _report_stranger(
        self, operation: mlir.Operation, matcher: Code, user: mlir.Operation
    ) -> None:
        if self._effects.writes(operation):
            message = (
                f"'{operation.name}' changes the payload in matcher '{_name(matcher)}', "
                "which the compiler refuses to run; leave it to the action"
            )
        else:
            message = (
                f"'{operation.name}' cannot be in matcher '{_name(matcher)}': the compiler "
                "refuses to run it there; put it into a sequence that the matcher includes"
            )
        self._diagnostics.error(message, operation, [_used_here(user)], Rule.MATCHER)

    def _check_effects(
        self, operation: mlir.Operation, matcher: Code, user: mlir.Operation
    ) -> None:
        culprit = self._effects.culprit_behind(matcher, operation)
        if culprit is None:
            return
        notes = [_used_here(user)]
        if culprit != operation:
            notes.insert(0, note("which runs it here", operation))
        self._diagnostics.error(
            f"'{culprit.name}' changes the payload on behalf of matcher '{_name(matcher)}', "
            "whether the matcher goes on to match or not; leave it to the action",
            culprit,
            notes,
            Rule.MATCHER,
        )

    def _check_suppression(self, include: mlir.Operation, matcher: Code) -> None:
        mode = include.attributes.get("failure_propagation_mode")
        path = reference(include.attributes["target"])
        is_suppressed = isinstance(mode, mlir.IntegerAttr) and mode.value == FAILURES_SUPPRESS
        if not is_suppressed or include.results or matcher.table.annotations(path) is not None:
            return
        self._diagnostics.warning(
            f"matcher '{_name(matcher)}' matches even where '@{path}' does not: "
            "'failures(suppress)' ignores it; write 'failures(propagate)'",
            include,
            rule=Rule.MATCHER,
        )


def _name(code: Code) -> str:
    return f"@{symbol_name(code.sequence)}"


def _used_here(user: mlir.Operation) -> Diagnostic:
    return note("used as a matcher here", user)
