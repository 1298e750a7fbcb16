"""Verification of a spec as a whole: errors of the compiler, and faults that it does not diagnose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.errors import SpecError
from tuninglink.iree import PARALLEL, RANGES, OpKind, StructuredOp, affine_maps, indexing_loops
from tuninglink.mlir import (
    DiagnosticSink,
    body,
    collect,
    collected_diagnostics,
    from_mlir,
    is_dialect_attribute,
    names,
    note,
    once,
    place_of,
    reference,
    repeated_matcher,
    symbol_name,
    visit,
)
from tuninglink.rules import Rule
from tuninglink.specs import (
    FAILURES_SUPPRESS,
    Anatomy,
    Annotation,
    SequenceTable,
    argument_attributes,
    check_bindings,
    consumes_argument,
    declares_a_write,
    defining_constant,
    has_entry_point,
    hidden_failure,
    is_any_op,
    is_entry_point,
    misspelt_markers,
    preprocessing_entry_points,
    signature,
    signature_problem,
)


def verify_spec(module: mlir.Operation, diagnostics: DiagnosticSink) -> None:
    """Report all faults of a spec, of a preprocessing spec, or of each of the specs nested in a module.

    A construct is an error if the compiler rejects it (immediately, or when the spec is linked or applied), or if it
    changes a program in an invalid way. A construct without effect is a warning. The module need not be verified yet.
    """
    sink = once(diagnostics)
    if has_entry_point(module) or preprocessing_entry_points(module):
        _verify(module, sink)
        return
    nested = [op for op in body(module) if op.name == names.MODULE]
    specs = [op for op in nested if has_entry_point(op)]
    passed = [_verify(spec, sink) for spec in specs]
    if not all(passed) or not passes_compiler(module, sink):
        return
    if not specs:
        try:
            Anatomy(module)
        except SpecError as failure:
            for diagnostic in failure.diagnostics:
                # A module without a location of its own begins with its first op.
                is_nowhere = diagnostic.place is not None and not diagnostic.place.line
                first = next(body(module), None) if is_nowhere else None
                sink.emit(
                    replace(diagnostic, place=place_of(first.location)) if first else diagnostic
                )
        return
    for nested_module in nested:
        if nested_module not in specs and names.WITH_NAMED_SEQUENCE in nested_module.attributes:
            sink.warning(
                f"module '{symbol_name(nested_module) or 'unnamed'}' has no entry point, so it is not linked; "
                f"mark a named sequence with '{names.ENTRY_POINT}'",
                nested_module,
                rule=Rule.ENTRY_POINT,
            )


def _verify(module: mlir.Operation, diagnostics: DiagnosticSink) -> bool:
    """Verify one spec and return whether the compiler accepts it."""
    if not passes_compiler(module, diagnostics):
        return False  # The following checks rely on the compiler's checks.
    table = SequenceTable(module)
    mains = [] if has_entry_point(module) else preprocessing_entry_points(module)
    reach = Reach(table, mains or check_entry_points(module, table, diagnostics))
    check_bindings([module, *body(module)], diagnostics)
    for operation, message in misspelt_markers([module, *table.entry_points]):
        diagnostics.warning(message, operation, rule=Rule.UNKNOWN_NAME)
    # Report each referenced sequence that is only declared. The compiler's verifier rejects references to undefined symbols.
    dangling: set[Code] = set()
    for code in reach.codes:
        for operation, paths in code.callees.items():
            for path, callee in ((path, reach.callee(code, path)) for path in paths):
                if callee and callee.is_declaration and callee not in dangling:
                    dangling.add(callee)
                    diagnostics.error(
                        f"dangling reference to '@{path}', which is declared but has no body; "
                        "define it in this module",
                        operation,
                        [note("declared here", callee.sequence)],
                    )
    check_matchers(reach, diagnostics)
    entry_checks = EntryChecks(reach, diagnostics)
    for code in reach.codes:
        entry_checks.check(code, is_preprocessing=bool(mains))
    return True


def passes_compiler(module: mlir.Operation, diagnostics: DiagnosticSink) -> bool:
    """Run the compiler's verifier on `module` and forward its diagnostics."""
    # A `foreach_match` that uses a matcher twice is an error; the compiler's verifier is then not run.
    if any(op.name == names.MODULE for op in body(module)):
        # For nested modules, another thread reports the diagnostics, and waits for the lock of this one.
        module.context.enable_multithreading(False)  # noqa: FBT003
    matchers_differ = True
    for foreach_match in collect(module, names.FOREACH_MATCH):
        # The op may be invalid. The compiler rejects attributes other than pairs of references immediately.
        attributes = [foreach_match.attributes.get(side) for side in ("matchers", "actions")]
        matchers, actions = (
            [*side] if isinstance(side, mlir.ArrayAttr) else [] for side in attributes
        )
        references = (mlir.FlatSymbolRefAttr, mlir.SymbolRefAttr)
        are_pairs = len(matchers) == len(actions) and all(
            isinstance(element, references) for element in (*matchers, *actions)
        )
        count = Counter(matchers if are_pairs else ())
        for matcher in (matcher for matcher, uses in count.items() if uses > 1):
            matchers_differ = False
            diagnostics.emit(repeated_matcher(reference(matcher), foreach_match))
    if not matchers_differ:
        return False
    failure: mlir.MLIRError | None = None
    with collected_diagnostics(module.context) as collected:
        try:
            module.verify()
        except mlir.MLIRError as raised:
            failure = raised
    for diagnostic in collected:
        diagnostics.emit(diagnostic)
    for error in failure.error_diagnostics if failure else ():
        diagnostics.emit(from_mlir(error))
    return failure is None


# --- Faults of entries (configurations without effect, constants of the wrong type) and faults of entry points


class EntryChecks:
    """Checks of the actions of entries and of the values that matchers pass to them."""

    def __init__(self, reach: Reach, diagnostics: DiagnosticSink) -> None:
        from iree.compiler.dialects import transform  # noqa: PLC0415 - slow to import

        self._reach = reach
        self._diagnostics = diagnostics
        self._parameter = transform.ParamType
        self._understood: dict[str, Callable[[mlir.Attribute], bool]] = {
            # `check_configurations` reports misspelt attributes of IREE.
            names.COMPILATION_INFO: is_dialect_attribute,
            names.TRANSLATION_INFO: is_dialect_attribute,
            names.LOWERING_CONFIG: is_dialect_attribute,
            names.DECOMPOSITION_CONFIG: lambda value: isinstance(value, mlir.DictAttr),
        }
        self._typed: dict[Code, tuple[tuple[int, mlir.Type], ...]] = {}
        self._reported: set[tuple[mlir.Operation, str]] = set()

    def check(self, code: Code, *, is_preprocessing: bool) -> None:
        """Check the constants, alternatives and entries in a sequence."""
        for operation in code.operations:
            if operation.name == names.PARAM_CONSTANT:
                self._check_constant(operation, operation.results[0].type, None)
            elif operation.name == names.ALTERNATIVES and not is_preprocessing:
                # The compiler goes on using the function that it runs a spec on.
                self._diagnostics.warning(
                    f"'{names.ALTERNATIVES}' replaces its scope by a copy: the compiler crashes where that is the "
                    "function that the spec is applied to; use a 'foreach_match' without it",
                    operation,
                    rule=Rule.ENTRY_POINT,
                )

        # The actions of a preprocessing spec may replace ops.
        lists = [op for op in code.matchers if op.name == names.FOREACH_MATCH]
        pairs = [pair for op in lists for pair in code.table.pairs(op) if not is_preprocessing]
        for matcher_path, action_path in pairs:
            matcher = self._reach.callee(code, matcher_path)
            action = self._reach.callee(code, action_path)
            if not matcher or not action or matcher.is_declaration or action.is_declaration:
                continue
            entry = ReachedEntry(matcher_path, action_path, matcher, action)
            if action not in self._typed:
                inputs = enumerate(signature(action.sequence).inputs)
                self._typed[action] = tuple(
                    (position, kind)
                    for position, kind in inputs
                    if isinstance(kind, self._parameter)
                )
            for position, kind in self._typed[action]:
                constant = defining_constant(matcher.top[-1].operands[position])
                if constant is not None:
                    self._check_constant(constant, kind, entry)
            annotations = code.table.annotations(action_path)
            if annotations is not None:
                self._check_annotations(entry, annotations)

    def _check_constant(
        self, constant: mlir.Operation, kind: mlir.Type, entry: ReachedEntry | None
    ) -> None:
        """Check that a constant has the declared type, or that of the argument of an entry's action."""
        value = constant.attributes["value"]
        is_number = isinstance(value, mlir.IntegerAttr | mlir.BoolAttr)
        if not isinstance(kind, self._parameter) or (is_number and value.type == kind.type):
            return
        text = f"action '@{entry.action}' takes it as '{kind}'" if entry else ""
        notes = [note(text, entry.action_code.sequence)] if entry else []
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
        configuring = [one for one in annotations if one.name in self._understood]
        siblings = body(action.parent.operation) if action.parent is not None else ()
        has_ranges = not configuring and any(RANGES in op.attributes for op in siblings)
        if not configuring and not has_ranges and self._is_new(action, ""):
            join = ", ".join(f"'{name}'" for name in self._understood)
            self._diagnostics.warning(
                f"action '@{symbol_name(action)}' configures nothing: it sets none of {join}; "
                "its entries only hide later ones",
                action,
                rule=Rule.CONFIGURES_NOTHING,
            )
        for annotation in configuring:
            value, at = annotation.value, action
            if isinstance(value, int) and (
                constant := defining_constant(entry.matcher_code.top[-1].operands[value])
            ):
                value, at = constant.attributes["value"], constant
            is_useless = not isinstance(value, int) and not self._understood[annotation.name](value)
            if is_useless and self._is_new(at, annotation.name):
                self._diagnostics.warning(
                    f"entry '@{entry.matcher} -> @{entry.action}' sets '{annotation.name}' to something other than the compiler "
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


def check_entry_points(
    module: mlir.Operation, table: SequenceTable, diagnostics: DiagnosticSink
) -> list[mlir.Operation]:
    """Check the entry points of a spec, and sequences that resemble an entry point."""
    usable = []
    children = list(body(module))
    with_mark = [op for op in children if names.ENTRY_POINT in op.attributes]
    marked = list(filter(is_entry_point, with_mark))
    for operation in children:
        if names.CHAINED_ENTRY_POINT in operation.attributes:
            continue  # The entry point of the chain runs it.
        if is_entry_point(operation):
            if _check_entry_point(operation, marked, table, diagnostics):
                usable.append(operation)
        elif operation in with_mark:
            diagnostics.warning(
                f"'{names.ENTRY_POINT}' means nothing on '{operation.name}'; "
                f"it marks a '{names.NAMED_SEQUENCE}'",
                operation,
                rule=Rule.ENTRY_POINT,
            )
    return usable


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
    name, rule = symbol_name(sequence), Rule.ENTRY_POINT
    if names.ENTRY_POINT not in sequence.attributes:
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
            rule,
        )
    elif argument_attributes(sequence, 0).isdisjoint({names.CONSUMED, names.READONLY}):
        fitting = names.CONSUMED if consumes_argument(sequence, 0) else names.READONLY
        diagnostics.error(
            f"entry point '@{name}' neither reads nor consumes its argument, "
            f"so IREE cannot link it with another spec; declare the argument '{fitting}'",
            sequence,
            rule=rule,
        )
    visibility = sequence.attributes.get("sym_visibility")
    if isinstance(visibility, mlir.StringAttr) and visibility.value == "private":
        message = f"entry point '@{name}' is private, so it cannot be "
        remedy = "; make it public"
        assert sequence.parent is not None
        if names.DEFAULT_ENTRY_POINT in sequence.parent.attributes:
            # Linking with specs of the same form merges it into theirs.
            message = f"{message}linked with an opaque spec{remedy}"
            diagnostics.warning(message, sequence, rule=rule)
        else:
            diagnostics.error(f"{message}linked{remedy}", sequence, rule=rule)
    check = hidden_failure(table, sequence)
    if check is not None:
        diagnostics.warning(
            f"entry point '@{name}' may fail here, which is an error where the spec is "
            "applied alone; linked, it goes on without a diagnostic",
            check,
            rule=rule,
        )
    if len(list(body(sequence))) == 1:
        diagnostics.warning(
            f"entry point '@{name}' does nothing; "
            f"let it run a '{names.FOREACH_MATCH}', or remove it",
            sequence,
            rule=rule,
        )
    return True


# --- Faults of matchers, and references to sequences that cannot run -----------------------------


def _is_match_operation(operation: mlir.Operation) -> bool:
    """Return whether the compiler runs ops of this name in a matcher: those with its interface for matching."""
    # The bindings do not expose the interface. But the compiler's verifier requires it of all ops inside a
    # `transform.match.structured`, so the verifier is run on a `transform.match.structured` that contains the op.
    with operation.context, mlir.Location.unknown():
        any_op = mlir.Type.parse("!transform.any_op")
        at_question = mlir.Location.file("match operation", 1, 1)
        scratch = mlir.Module.create()
        with mlir.InsertionPoint(scratch.body):
            holder = mlir.Operation.create(names.MODULE, regions=1)
        block = holder.regions[0].blocks.append(any_op)
        with mlir.InsertionPoint(block):
            operands = [block.arguments[0]]
            question = mlir.Operation.create(
                names.MATCH_STRUCTURED, operands=operands, regions=1, loc=at_question
            )
        with mlir.InsertionPoint(question.regions[0].blocks.append(any_op)):
            mlir.Operation.create(operation.name)
            mlir.Operation.create(f"{names.MATCH_STRUCTURED}.yield")
        try:
            question.verify()
        except mlir.MLIRError as failure:
            # Other faults of the op are reported at its own place.
            return all(
                diagnostic.location != at_question for diagnostic in failure.error_diagnostics
            )
        return True


def check_matchers(reach: Reach, diagnostics: DiagnosticSink) -> None:
    """Check every matcher of a spec once, even if many entries use it."""
    from iree.compiler.dialects.transform import OperationType  # noqa: PLC0415 - slow to import

    users: dict[Code, mlir.Operation] = {}
    for code in reach.codes:
        for user, paths in code.matchers.items():
            for matcher in (reach.callee(code, path) for path in paths):
                if matcher and not matcher.is_declaration:
                    users.setdefault(matcher, user)
    can_match: dict[str, bool] = {}
    for matcher, user in users.items():
        name = f"@{symbol_name(matcher.sequence)}"
        used_here = note("used as a matcher here", user)
        argument = signature(matcher.sequence).inputs[0]
        is_typed = not is_any_op(argument) and "restrict_root" not in user.attributes
        if is_typed and isinstance(argument, OperationType):
            message = (
                f"matcher '{name}' takes only '{argument.operation_name}', and the "
                f"first other operation that it is tried on fails the compilation; take "
                "'!transform.any_op' and match the name with 'transform.match.operation_name'"
            )
            diagnostics.error(message, matcher.sequence, [used_here], Rule.MATCHER)
        top = set(matcher.top)
        for operation in (op for op in matcher.operations if op.name != names.YIELD):
            if operation in top and operation.name not in can_match:
                can_match[operation.name] = _is_match_operation(operation)
            culprit = reach.culprit(matcher, operation)
            if operation in top and not can_match[operation.name]:
                message = (
                    f"'{operation.name}' cannot be in matcher '{name}': the compiler "
                    "refuses to run it there; put it into a sequence that the matcher includes"
                )
                if culprit is not None and culprit == operation:
                    message = (
                        f"'{operation.name}' changes the payload in matcher '{name}', "
                        "which the compiler refuses to run; leave it to the action"
                    )
                diagnostics.error(message, operation, [used_here], Rule.MATCHER)
            elif culprit is not None:
                message = (
                    f"'{culprit.name}' changes the payload on behalf of matcher '{name}', "
                    "whether the matcher goes on to match or not; leave it to the action"
                )
                notes = [note("which runs it here", operation)] if culprit != operation else []
                diagnostics.error(message, culprit, [*notes, used_here], Rule.MATCHER)
            if operation.name == names.INCLUDE and not operation.results:
                mode = operation.attributes.get("failure_propagation_mode")
                path = reference(operation.attributes["target"])
                is_suppressed = (
                    isinstance(mode, mlir.IntegerAttr) and mode.value == FAILURES_SUPPRESS
                )
                if is_suppressed and matcher.table.annotations(path) is None:
                    message = (
                        f"matcher '{name}' matches even where '@{path}' does not: "
                        "'failures(suppress)' ignores it; write 'failures(propagate)'"
                    )
                    diagnostics.warning(message, operation, rule=Rule.MATCHER)


# --- The sequences that run when a spec is applied, and the requirements of their matchers on the configured ops

_OPERANDS: Final = 3
"""The number of operands of a product, including its result."""

_OUTPUTS: Final = {
    names.MATCH_CONTRACTION: 1,
    names.MATCH_CONVOLUTION: 1,
    names.MATCH_ATTENTION: 1,
    names.MATCH_ONLINE_ATTENTION: 3,
}
"""The numbers of outputs of the ops that matchers with indexing maps match."""

_TYPES: Final = {
    names.MATCH_ATTENTION: ("query_type", "key_type"),
    names.MATCH_ONLINE_ATTENTION: ("query_type", "key_type"),
}


@dataclass(frozen=True)
class RequiredOp:
    """The requirements of a matcher on an op."""

    parallel: tuple[bool, ...]
    types: tuple[str, str] = ("", "")
    operands: int = _OPERANDS
    is_product: bool = True
    products: tuple[tuple[str, RequiredOp], ...] = ()


def required_op(matcher: mlir.Operation | None, at: int | None = None) -> RequiredOp | None:
    """Return the requirements of a matcher on its op, or on the op that it yields at a position; None if unknown."""
    operations = [*body(matcher)] if matcher is not None and matcher.regions[0].blocks else []
    if operations:
        handle = operations[0].block.arguments[0] if at is None else operations[-1].operands[at]
        operations = [operation for operation in operations if handle in list(operation.operands)]
    for operation in operations:
        if operation.name in _OUTPUTS:
            maps = affine_maps(operation.attributes.get("indexing_maps"))
            if not maps:
                return None
            outputs = _OUTPUTS[operation.name]
            lhs, rhs = _TYPES.get(operation.name, ("lhs_type", "rhs_type"))
            # The scores of an attention are converted to the type of the values.
            attributes = [operation.attributes.get(name) for name in (lhs, rhs, "value_type")]
            lhs_type, rhs_type, of_value = (
                str(attribute.value) if isinstance(attribute, mlir.TypeAttr) else ""
                for attribute in attributes
            )
            types = (lhs_type, rhs_type)
            kept = set(indexing_loops(maps[-outputs]))
            parallel = tuple(loop in kept for loop in range(maps[0].n_dims))
            if operation.name not in _TYPES:
                return RequiredOp(parallel, types)
            # An attention is a product of queries and keys, and one of its result and values.
            query, key, value, result = (
                {loop for loop in indexing_loops(maps[at]) if loop is not None}
                for at in (0, 1, 2, -outputs)
            )
            qk = RequiredOp(
                tuple(loop in result for loop in sorted(query | key)), types, is_product=False
            )
            pv = RequiredOp(
                tuple(loop in result for loop in sorted(value | result)), (of_value, of_value)
            )
            products = (("qk_attrs", qk), ("pv_attrs", pv))
            return RequiredOp(parallel, operands=len(maps), is_product=False, products=products)
        if operation.name == names.MATCH_DAG:
            # The last op of a graph, if it has loops.
            operations = [op for op in body(operation) if op.name != names.YIELD]
            root = StructuredOp(operations[-1]) if operations else None
            if root is None or not root.loop_count:
                return None
            is_product = root.kind in (OpKind.CONTRACTION, OpKind.CONVOLUTION)
            parallel = tuple(type_ == PARALLEL for type_ in root.iterator_types)
            operands = len(root.operation.operands)
            return RequiredOp(parallel, operands=operands, is_product=is_product)
    return None


@dataclass(frozen=True, eq=False)
class Code:
    """A named sequence that runs."""

    sequence: mlir.Operation
    table: SequenceTable
    top: tuple[mlir.Operation, ...]
    operations: tuple[mlir.Operation, ...]
    matchers: Mapping[mlir.Operation, tuple[str, ...]]
    callees: Mapping[mlir.Operation, tuple[str, ...]]
    is_declaration: bool


@dataclass(frozen=True, eq=False)
class ReachedEntry:
    """An entry of a `foreach_match`."""

    matcher: str
    action: str
    matcher_code: Code
    action_code: Code


class Reach:
    """All sequences reachable from the entry points, collected in one walk.

    Undefined references are ignored, since the compiler's verifier rejects them.
    """

    def __init__(self, table: SequenceTable, entry_points: Sequence[mlir.Operation]) -> None:
        self._codes: dict[mlir.Operation, Code] = {}
        self._writes: dict[str, bool] = {}
        self._culprits: dict[Code, mlir.Operation | None] = {}
        waiting = [(table, point) for point in reversed(entry_points)]
        while waiting:
            owner, sequence = waiting.pop()
            if sequence in self._codes:
                continue
            operations: list[mlir.Operation] = []
            visit(sequence, operations.append)
            del operations[0]
            matchers: dict[mlir.Operation, tuple[str, ...]] = {}
            callees: dict[mlir.Operation, tuple[str, ...]] = {}
            for operation in operations:
                if operation.name == names.INCLUDE:
                    callees[operation] = (reference(operation.attributes["target"]),)
                elif operation.name == names.COLLECT_MATCHING:
                    callees[operation] = (reference(operation.attributes["matcher"]),)
                    matchers[operation] = callees[operation]
                elif operation.name == names.FOREACH_MATCH:
                    pairs = owner.pairs(operation)
                    matchers[operation] = tuple(matcher for matcher, _ in pairs)
                    callees[operation] = (*matchers[operation], *(action for _, action in pairs))
            top = tuple(body(sequence))
            self._codes[sequence] = Code(
                sequence, owner, top, tuple(operations), matchers, callees, is_declaration=not top
            )
            paths = [path for paths in callees.values() for path in paths]
            waiting += filter(None, map(owner.resolve, reversed(paths)))
        self.codes = tuple(self._codes.values())

    def callee(self, code: Code, path: str) -> Code | None:
        resolved = code.table.resolve(path)
        return self._codes[resolved[1]] if resolved else None

    def culprit(self, code: Code, operation: mlir.Operation) -> mlir.Operation | None:
        """Return the first op that changes the payload when `operation` of `code` runs."""
        if operation.name not in self._writes:
            self._writes[operation.name] = declares_a_write(operation)
        if self._writes[operation.name]:
            return operation
        paths = code.callees.get(operation, ())
        for callee in filter(None, (self.callee(code, path) for path in paths)):
            if callee not in self._culprits:
                self._culprits[callee] = None  # Sequences may include each other: visit each once.
                culprits = (self.culprit(callee, inner) for inner in callee.operations)
                self._culprits[callee] = next(filter(None, culprits), None)
            culprit = self._culprits[callee]
            if culprit is not None:
                return culprit
        return None
