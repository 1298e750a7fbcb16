"""Faults of entries (configurations without effect, constants of the wrong type) and faults of entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from iree.compiler import ir as mlir

from tuninglink.iree.dynamic_sizes import RANGES
from tuninglink.mlir import names
from tuninglink.mlir.attributes import is_dialect_attribute
from tuninglink.mlir.diagnostics import DiagnosticSink, note
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import body
from tuninglink.rules import Rule
from tuninglink.specs.entry_settings import hidden_failure
from tuninglink.specs.module_scan import is_entry_point, signature
from tuninglink.specs.sequences import (
    Annotation,
    SequenceTable,
    argument_attributes,
    consumes_argument,
)
from tuninglink.specs.structure import signature_problem
from tuninglink.specs.verification.reach import Code, ReachedEntry


class EntryChecks:
    """Checks of the actions of entries and of the values that matchers pass to them.

    Args:
        diagnostics: receives the findings.
    """

    def __init__(self, diagnostics: DiagnosticSink) -> None:
        from iree.compiler.dialects import transform  # noqa: PLC0415 - slow to import

        self._diagnostics = diagnostics
        self._parameter = transform.ParamType
        self._understood: dict[str, Callable[[mlir.Attribute], bool]] = {
            # `check_configurations` reports misspelt attributes of IREE.
            names.COMPILATION_INFO: is_dialect_attribute,
            names.TRANSLATION_INFO: is_dialect_attribute,
            names.LOWERING_CONFIG: is_dialect_attribute,
            names.DECOMPOSITION_CONFIG: lambda each: isinstance(each, mlir.DictAttr),
        }
        self._typed: dict[Code, tuple[tuple[int, mlir.Type], ...]] = {}
        self._reported: set[tuple[mlir.Operation, str]] = set()

    def check_constants(self, code: Code) -> None:
        """Report the constants in a sequence whose type differs from the declared one."""
        for operation in code.operations:
            if operation.name == names.PARAM_CONSTANT:
                kind = operation.results[0].type
                if not self._fits(operation.attributes["value"], kind):
                    self._report_misfit(operation, kind, None)

    def check_alternatives(self, code: Code) -> None:
        """Report alternatives, which replace their scope. The compiler goes on using the function it runs a spec on."""
        for operation in code.operations:
            if operation.name == names.ALTERNATIVES:
                self._diagnostics.warning(
                    f"'{names.ALTERNATIVES}' replaces its scope by a copy: the compiler crashes where that is the "
                    "function that the spec is applied to; use a 'foreach_match' without it",
                    operation,
                    rule=Rule.ENTRY_POINT,
                )

    def check(self, entries: Iterable[ReachedEntry]) -> None:
        """Check the entries of one `foreach_match`."""
        for entry in entries:
            if entry.matcher_code.is_declaration or entry.action_code.is_declaration:
                continue
            for position, kind in self._typed_arguments(entry.action_code):
                constant = _constant(entry.matcher_code, position)
                if constant and not self._fits(constant.attributes["value"], kind):
                    self._report_misfit(constant, kind, entry)
            annotations = entry.table.annotations(entry.action)
            if annotations is not None:
                self._check_annotations(entry, annotations)

    def _typed_arguments(self, action: Code) -> tuple[tuple[int, mlir.Type], ...]:
        if action not in self._typed:
            inputs = enumerate(signature(action.sequence).inputs)
            self._typed[action] = tuple(
                (position, kind) for position, kind in inputs if isinstance(kind, self._parameter)
            )
        return self._typed[action]

    def _fits(self, value: mlir.Attribute, kind: mlir.Type) -> bool:
        if not isinstance(kind, self._parameter):
            return True
        return isinstance(value, mlir.IntegerAttr | mlir.BoolAttr) and value.type == kind.type

    def _report_misfit(
        self, constant: mlir.Operation, kind: mlir.Type, entry: ReachedEntry | None
    ) -> None:
        notes = []
        if entry:
            action = entry.action_code.sequence
            notes = [note(f"action '@{entry.action}' takes it as '{kind}'", action)]
        if self._is_new(constant, str(kind)):
            self._diagnostics.error(
                f"the constant does not fit '{kind}', which fails the compilation where this "
                "matches; take '!transform.any_param', or a constant of that type",
                constant,
                notes,
                Rule.PARAMETER,
            )

    def _check_annotations(self, entry: ReachedEntry, annotations: tuple[Annotation, ...]) -> None:
        action = entry.action_code.sequence
        configuring = [
            annotation for annotation in annotations if annotation.name in self._understood
        ]
        if not configuring and not _has_ranges(action) and self._is_new(action, ""):
            join = ", ".join(f"'{name}'" for name in self._understood)
            self._diagnostics.warning(
                f"action '@{symbol_name(action)}' configures nothing: it sets none of {join}; "
                "its entries only hide later ones",
                action,
                rule=Rule.CONFIGURES_NOTHING,
            )
        for annotation in configuring:
            value, at = annotation.value, action
            if isinstance(value, int) and (constant := _constant(entry.matcher_code, value)):
                value, at = constant.attributes["value"], constant
            is_useless = not isinstance(value, int) and not self._understood[annotation.name](value)
            if is_useless and self._is_new(at, annotation.name):
                self._diagnostics.warning(
                    f"entry '{entry}' sets '{annotation.name}' to something other than the compiler "
                    "looks for there, so it is ignored",
                    at,
                    [note("set by this action", action)] if at != action else [],
                    Rule.IGNORED,
                )

    def _is_new(self, operation: mlir.Operation, what: str) -> bool:
        key = (operation, what)
        is_new = key not in self._reported
        self._reported.add(key)
        return is_new


def _constant(matcher: Code, position: int) -> mlir.Operation | None:
    """Return the constant that a matcher yields at `position`, if the matcher itself contains it."""
    yielded = matcher.yielded[position]
    if not isinstance(yielded, mlir.OpResult):
        return None
    producer = yielded.owner.operation
    return producer if producer.name == names.PARAM_CONSTANT else None


def _has_ranges(action: mlir.Operation) -> bool:
    """Return whether a spec has ranges of sizes; it may deliberately leave some ranges to the compiler."""
    module = action.parent
    return module is not None and any(RANGES in op.attributes for op in body(module.operation))


def check_entry_points(
    module: mlir.Operation, table: SequenceTable, diagnostics: DiagnosticSink
) -> list[mlir.Operation]:
    """Check the entry points of a spec, and sequences that resemble an entry point.

    Returns:
        The entry points whose bodies can be checked further.
    """
    usable = []
    children = list(body(module))
    marked = [op for op in children if is_entry_point(op) and _is_marked(op)]
    for operation in children:
        if names.CHAINED_ENTRY_POINT in operation.attributes:
            continue  # The entry point of the chain runs it.
        if is_entry_point(operation):
            if _check_entry_point(operation, marked, table, diagnostics):
                usable.append(operation)
        elif _is_marked(operation):
            diagnostics.warning(
                f"'{names.ENTRY_POINT}' means nothing on '{operation.name}'; "
                f"it marks a '{names.NAMED_SEQUENCE}'",
                operation,
                rule=Rule.ENTRY_POINT,
            )
    return usable


def _is_marked(operation: mlir.Operation) -> bool:
    return names.ENTRY_POINT in operation.attributes


def _check_entry_point(
    sequence: mlir.Operation,
    marked: Sequence[mlir.Operation],
    table: SequenceTable,
    diagnostics: DiagnosticSink,
) -> bool:
    problem = signature_problem(sequence)
    if problem:
        diagnostics.emit(problem)
        return False
    if _is_marked(sequence):
        _check_ownership(sequence, diagnostics)
    else:
        _warn_about_missing_mark(sequence, marked, diagnostics)
    _check_visibility(sequence, diagnostics)
    check = hidden_failure(table, sequence)
    if check is not None:
        diagnostics.warning(
            f"entry point '@{symbol_name(sequence)}' may fail here, which is an error where the spec is "
            "applied alone; linked, it goes on without a diagnostic",
            check,
            rule=Rule.ENTRY_POINT,
        )
    if len(list(body(sequence))) == 1:
        diagnostics.warning(
            f"entry point '@{symbol_name(sequence)}' does nothing; "
            f"let it run a '{names.FOREACH_MATCH}', or remove it",
            sequence,
            rule=Rule.ENTRY_POINT,
        )
    return True


def _check_ownership(sequence: mlir.Operation, diagnostics: DiagnosticSink) -> None:
    if argument_attributes(sequence, 0).isdisjoint({names.CONSUMED, names.READONLY}):
        fitting = names.CONSUMED if consumes_argument(sequence, 0) else names.READONLY
        diagnostics.error(
            f"entry point '@{symbol_name(sequence)}' neither reads nor consumes its argument, "
            f"so IREE cannot link it with another spec; declare the argument '{fitting}'",
            sequence,
            rule=Rule.ENTRY_POINT,
        )


def _warn_about_missing_mark(
    sequence: mlir.Operation, marked: Sequence[mlir.Operation], diagnostics: DiagnosticSink
) -> None:
    name = symbol_name(sequence)
    consequence = (
        "IREE runs it only if the spec is alone, and silently drops it next to another one"
    )
    if marked:
        consequence = "IREE silently drops it, as another entry point is marked"
    diagnostics.warning(
        f"'@{name}' is not marked as an entry point: {consequence}; "
        f"mark it with '{names.ENTRY_POINT}', or link the spec with tuninglink-link-specs",
        sequence,
        [note("this entry point is marked", entry_point) for entry_point in marked[:1]],
        Rule.ENTRY_POINT,
    )


def _check_visibility(sequence: mlir.Operation, diagnostics: DiagnosticSink) -> None:
    visibility = sequence.attributes.get("sym_visibility")
    if not isinstance(visibility, mlir.StringAttr) or visibility.value != "private":
        return
    message = f"entry point '@{symbol_name(sequence)}' is private, so it cannot be "
    remedy, rule = "; make it public", Rule.ENTRY_POINT
    assert sequence.parent is not None
    if names.DEFAULT_ENTRY_POINT in sequence.parent.attributes:
        # Linking with specs of the same form merges it into theirs.
        diagnostics.warning(f"{message}linked with an opaque spec{remedy}", sequence, rule=rule)
    else:
        diagnostics.error(f"{message}linked{remedy}", sequence, rule=rule)
