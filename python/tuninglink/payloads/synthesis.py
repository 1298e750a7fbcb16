"""Synthesis of a program that an entry matches."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.iree import Target
from tuninglink.matching import (
    NAME_ONLY,
    Condition,
    MatcherConditions,
    MatcherReader,
    Opaque,
    exclude_but_for_sizes,
)
from tuninglink.mlir import (
    FreshNames,
    body,
    collect,
    collected_diagnostics,
    first_error,
    names,
    postorder,
    split_path,
    symbols,
    to_bytecode,
    to_text,
)
from tuninglink.payloads.candidates import Candidates, UnknownArithmeticError
from tuninglink.payloads.payload import (
    Payload,
    PayloadError,
    Size,
    function_of,
    root_of,
    write_body,
    write_program,
)
from tuninglink.payloads.templates import NoSizes, Sized, Template, find_contradiction, find_sizes
from tuninglink.solver import Verdict
from tuninglink.spaces.model import Workload, read_workload
from tuninglink.specs import (
    FAILURES_PROPAGATE,
    Entry,
    add_list,
    annotate,
    any_op,
    include,
    is_any_op,
    named_sequence,
    signature,
    spec_attribute,
    yield_,
)

if TYPE_CHECKING:
    from tuninglink.iree import OpKind
    from tuninglink.specs import Anatomy


_MOST_CANDIDATES: Final = 100
"""The number of operations to try for a matcher with few conditions."""

_MOST_SHARED: Final = 64
"""The number of conditions whose candidates are kept for matchers that differ only in sizes."""

_MOST_REJECTIONS: Final = 8
"""The number of sized operations to try that the interpreter does not match."""

_GENERALIZING: Final = frozenset({"rocm", "cuda"})
"""Backends that generalize named operations before specs match."""


def payload_for(entry: Entry, target: Target | str | None = None) -> Payload:
    """Create a program that an entry matches.

    The operation is the most common one that satisfies the conditions of the matcher. A solver finds the sizes;
    unconstrained sizes are moderate multiples of the configuration's tiles. A run of the interpreter confirms that the
    entry alone matches the program. `configures` determines whether an earlier entry of the spec matches it first.
    The same entry always results in the same program.

    Args:
        entry: the entry.
        target: the target of the program; named operations are kept for targets whose backend keeps them.

    Raises:
        PayloadError: no program was found. The error states whether it is proven that none exists.
        TargetError: the target is unknown.
    """
    return Synthesizer(target).configured(entry).draft.payload


class Synthesizer:
    """A synthesizer of programs for many entries that shares work between entries that differ only in sizes.

    The entries belong to specs in one context.

    Args:
        target: the target of the programs; named operations are kept for targets whose backend keeps them.
        matchers: the conditions of a spec's matchers, if they were already read.
    """

    def __init__(
        self, target: Target | str | None = None, matchers: MatcherConditions | None = None
    ) -> None:
        self._matchers = matchers
        self._target = Target.parse(target) if isinstance(target, str) else target
        self._generalizes = self._target is None or self._target.backend in _GENERALIZING
        self._candidates: dict[Hashable, Candidates] = {}

    def configured(self, entry: Entry, attribute: mlir.Attribute | None = None) -> Configured:
        """Return a program that an entry matches, configured by the entry if a target of its context is given."""
        with entry.anatomy.module.context, mlir.Location.unknown():
            condition = self._condition(entry)
            failures: list[NoSizes] = []
            rejections = 0
            is_proof = True
            for template, draft in islice(self._drafts(entry, condition), _MOST_CANDIDATES):
                made = draft if isinstance(draft, NoSizes) else _made(draft, attribute)
                if isinstance(made, Configured):
                    return made
                is_proof &= template.is_exact or condition.maps is not None
                failures.append(made)
                rejections += isinstance(draft, Draft)
                if rejections == _MOST_REJECTIONS:
                    break
            verdict = Verdict.NOT_DECIDED
            if failures:
                reason = failures[0].reason
                if len(failures) > 1:
                    reason = f"none of {len(failures)} operations fits; the first does not since {reason}"
                elif is_proof:
                    verdict = failures[0].verdict
            elif not condition.names:
                reason = "no operation has operands of the required ranks"
            else:
                context = entry.anatomy.module.context
                required = sorted(condition.names)
                existing = [name for name in required if context.is_registered_operation(name)]
                words = " or ".join(f"'{name}'" for name in existing or required)
                reason = f"no program with {words} was found that fits"
                if not existing:
                    reason = f"the compiler does not define the operation {words}"
                    verdict = Verdict.REFUTED
            raise PayloadError(entry, reason, verdict)

    def configured_together(
        self, entries: Sequence[Entry], attribute: mlir.Attribute
    ) -> Iterator[Configured | PayloadError]:
        """Yield the result or the error of `configured` for each entry of a spec, with few runs of the interpreter."""
        # The first candidate operation of each entry, if it has sizes that the compiler accepts.
        drafts: list[Draft | None] = []
        for entry in entries:
            drafts.append(None)
            with (
                suppress(PayloadError, mlir.MLIRError),
                entry.anatomy.module.context,
                mlir.Location.unknown(),
            ):
                _, draft = next(self._drafts(entry, self._condition(entry)), (None, None))
                if isinstance(draft, Draft):
                    _ = draft.body  # verified by the compiler
                    drafts[-1] = draft
        for entry, together in zip(entries, configured_together(drafts, attribute), strict=True):
            try:
                yield together or self.configured(entry, attribute)
            except PayloadError as failure:
                yield failure

    def _condition(self, entry: Entry) -> Condition:
        """Return the condition of the matcher."""
        table = entry.anatomy.table
        if self._matchers is None or self._matchers.reader.table is not table:
            self._matchers = MatcherConditions(MatcherReader(table))
        condition = self._matchers.of(entry.matcher)
        if isinstance(condition, Opaque):
            is_refuted = condition.is_contradiction
            verdict = Verdict.REFUTED if is_refuted else Verdict.NOT_DECIDED
            raise PayloadError(entry, condition.reason, verdict)
        if condition.names is not None and not condition.names:
            raise PayloadError(entry, "no operation has all the required names", Verdict.REFUTED)
        contradiction = find_contradiction(condition.sizes)
        if contradiction is not None:
            raise PayloadError(entry, contradiction.reason, contradiction.verdict)
        return condition

    def _drafts(
        self, entry: Entry, condition: Condition
    ) -> Iterator[tuple[Template, Draft | NoSizes]]:
        """Yield the candidate operations, each with sizes if there are any."""
        table = entry.anatomy.table
        matcher, action = (
            [sequence for _, sequence in table.closure(path)][::-1]
            for path in (entry.matcher, entry.action)
        )

        @cache
        def configurations() -> tuple[mlir.Attribute, ...]:
            ops = (op for each in (*matcher, *action) for op in collect(each, names.PARAM_CONSTANT))
            return tuple(op.attributes["value"] for op in ops)

        candidates = Candidates(condition, matcher, generalizes=self._generalizes)
        if (key := candidates.key) is not None:
            if key not in self._candidates and len(self._candidates) == _MOST_SHARED:
                self._candidates.clear()
            candidates = self._candidates.setdefault(key, candidates)
        try:
            for template in candidates:
                sized = find_sizes(template, condition.sizes, configurations)
                if isinstance(sized, NoSizes):
                    yield template, sized
                else:
                    yield template, Draft(entry, self._target, template, sized, condition)
        except UnknownArithmeticError as failure:
            raise PayloadError(entry, str(failure), Verdict.NOT_DECIDED) from None


def _made(draft: Draft, attribute: mlir.Attribute | None) -> Configured | NoSizes:
    """Return the payload of a draft, configured for a target, if the compiler accepts it and the entry matches it."""
    entry = draft.entry
    try:
        if attribute is not None:
            module, _ = draft.body, draft.shapes  # before the entry configures the body
            try:
                # This takes one run of the interpreter, whereas `matches` and `configured` together take two.
                (number,) = first_matches([entry], module, attribute)
            except mlir.MLIRError:
                attribute = None  # The matcher alone may still match.
            else:
                if number is not None:
                    return Configured(draft, draft.workload(function_of(module), module, attribute))
        if attribute is None and matches(entry, draft.payload):
            return Configured(draft, None)
    except mlir.MLIRError as failure:
        reason = f"the compiler rejects the candidate operation: {first_error(failure)}"
        return NoSizes(Verdict.NOT_DECIDED, reason)
    reason = f"the interpreter does not match it with {draft.shapes}"
    # The compiler does not match a graph with an argument whose users are all matched by name only.
    template = draft.template
    matched = {
        operand
        for operation in template.operations
        if NAME_ONLY not in operation.attributes
        for operand in operation.operands
    }
    ignored = [value.arg_number for value in template.block.arguments if value not in matched]
    if template.is_exact and ignored:
        reason += f": argument {ignored[0]} of its graph is only used by ops that match by name"
    return NoSizes(Verdict.NOT_DECIDED, reason)


# --- Drafts of payloads: sized operations for entries, and their dispatches as the entries configure them

_CONFIGURATION: Final = frozenset(
    {names.COMPILATION_INFO, names.LOWERING_CONFIG, names.DECOMPOSITION_CONFIG}
)


@dataclass(frozen=True)
class Configured:
    """The draft of a payload that its entry matches, and its dispatch with the entry's configuration.

    Attributes:
        dispatch: the dispatch; None if it was not requested, or if the compiler rejects the configuration.
    """

    draft: Draft
    dispatch: Workload | None


@dataclass(frozen=True)
class _Family:
    """See `Workload.family`."""

    template: Template
    fills: bool
    target: mlir.Attribute

    def __str__(self) -> str:
        return f"{self.template.owner} {self.fills} {self.target}"


@dataclass(frozen=True)
class Draft:
    """A sized operation for an entry and a target (None for any), from which a payload can be written."""

    entry: Entry
    target: Target | None
    template: Template
    sized: Sized
    condition: Condition

    @cached_property
    def fills(self) -> bool:
        """Whether an accumulation starts from a `linalg.fill`, which requires that the matcher excludes fills."""
        condition = self.condition
        if condition.names is not None:
            return names.FILL not in condition.names
        return bool(condition.kinds or condition.root is not None or condition.maps is not None)

    @cached_property
    def body(self) -> mlir.Operation:
        """The body of a payload, which the compiler accepts."""
        module = write_body(self.template, self.sized, fills=self.fills)
        module.verify()
        if self.fills not in self.template.verified:  # once for all sizes
            write_program(self.template, self.sized, fills=self.fills).verify()
            self.template.verified[self.fills] = settings(function_of(module))
        return module

    @cached_property
    def shapes(self) -> str:
        """The types of the operands of the root op."""
        root = root_of(function_of(self.body))
        return ", ".join(str(operand.type) for operand in root.operands)

    def workload(
        self, function: mlir.Operation, module: mlir.Operation, target: mlir.Attribute
    ) -> Workload:
        """Return the dispatch in a configured body, a module with one function."""
        root = root_of(function)
        if not self.template.is_shared or settings(function) != self.template.verified[self.fills]:
            return read_workload(root, function, module)  # the entry changed something else
        family = _Family(self.template, self.fills, target)
        if family not in self.template.problems:
            dispatch = read_workload(root, function, module)
            is_sized = dispatch.static_sizes == tuple(self.sized.loops)
            self.template.problems[family] = dispatch.problem if is_sized else None
        problem = self.template.problems[family]
        if problem is None:
            return replace(read_workload(root, function, module), family=family)
        sized_problem = problem.resized(self.sized.loops)
        return Workload(root, function, target, sized_problem, module, family)

    @cached_property
    def payload(self) -> Payload:
        with self.entry.anatomy.module.context, mlir.Location.unknown():
            body = write_body(self.template, self.sized, fills=self.fills)
            program = write_program(self.template, self.sized, fills=self.fills)
        for module in (body, program):
            module.verify()
        sizes = tuple(
            Size(loop, self.template.op.roles[loop], size, loop in self.sized.demanded)
            for loop, size in enumerate(self.sized.loops)
        )
        texts = to_text(program), to_text(body)
        return Payload(self.entry, self.target, *texts, self.shapes, sizes)


def settings(function: mlir.Operation) -> Hashable:
    """Return the names of the attributes in a payload's body, except for the configuration of the root op."""
    *operations, root, _ = body(function)
    others = tuple(tuple(operation.attributes) for operation in operations)
    return others, tuple(name for name in root.attributes if name not in _CONFIGURATION)


_BATCH: Final = 10
"""The number of entries in a batch; every root op of a batch is tried with every matcher."""


def configured_together(
    drafts: Sequence[Draft | None], target: mlir.Attribute
) -> list[Configured | None]:
    """Return the payloads of drafts, each configured as by its entry alone."""
    result: list[Configured | None] = [None] * len(drafts)
    chosen = [
        (position, draft)
        for position, draft in enumerate(drafts)
        if draft is not None and draft.template.is_shared and _is_local(draft.entry)
    ]
    for start in range(0, len(chosen), _BATCH):
        batch = [draft for _, draft in chosen[start : start + _BATCH]]
        if len(batch) == 1:
            break
        # A module with copies of the functions of the payloads' bodies.
        context = batch[0].body.context
        module = mlir.Module.create(mlir.Location.unknown(context)).operation
        with context, mlir.InsertionPoint(module.regions[0].blocks[0]):
            for number, draft in enumerate(batch):
                copy = function_of(draft.body).clone().operation
                copy.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(f"payload_{number}")
        # Names of ops that provably no matcher matches. Bodies that differ only in sizes have the same ops.
        bodies = {(draft.template, draft.fills): draft.body for draft in batch}
        excluded = {op.name for body_ in bodies.values() for op in collect(body_)}
        for matched, kinds in {(draft.condition.names, draft.condition.kinds) for draft in batch}:
            excluded = {name for name in excluded if _excludes(matched, kinds, name)}
        if not all(draft.fills for draft in batch):
            excluded.discard(names.FILL)
        # Run the interpreter once for the batch.
        try:
            entries = [draft.entry for draft in batch]
            winning = first_matches(entries, module, target, excluded)
        except mlir.MLIRError:
            continue
        configured = zip(batch, body(module), winning, strict=True)
        for number, (draft, function, winner) in enumerate(configured):
            if winner == number:
                name = function_of(draft.body).attributes[names.SYMBOL_NAME]
                function.attributes[names.SYMBOL_NAME] = name
                dispatch = draft.workload(function, module, target)
                if dispatch.family is not None:  # the entry changed nothing else
                    position, _ = chosen[start + number]
                    result[position] = Configured(draft, dispatch)
    return result


@lru_cache(maxsize=1024)
def _excludes(matched: frozenset[str] | None, kinds: frozenset[OpKind], name: str) -> bool:
    """Return whether a matcher of some names and kinds, of which few exist, cannot match ops with a name."""
    condition = Condition(names=matched, kinds=kinds)
    other = Condition(names=frozenset((name,)))
    return name == names.FILL or exclude_but_for_sizes(condition, other)


def _is_local(entry: Entry) -> bool:
    """Return whether an entry matches and configures only the op that its matcher receives."""
    table = entry.anatomy.table
    sequence = table.symbols.get(entry.matcher)
    if sequence is None or table.yielded(entry.matcher, 0) != 0:
        return False
    handles = [is_any_op(kind) for kind in signature(sequence).results]
    return sum(handles) == int(handles[0]) == 1 and table.annotations(entry.action) is not None


# --- Runs of the compiler's interpreter that show which entries match payloads -------------------

_TAG: Final = "tuninglink.entry"
_PIPELINE: Final = "builtin.module(iree-codegen-materialize-user-configs)"


def matches(entry: Entry, payload: Payload) -> bool:
    """Return whether an entry, alone in its spec, matches the root op of a payload."""
    return winners(entry.anatomy, [payload], [entry]) != [None]


def winners(
    anatomy: Anatomy, payloads: Sequence[Payload], among: Sequence[Entry] | None = None
) -> list[Entry | None]:
    """Return the first entry of a spec that matches the root op of each payload, or None.

    A single run of the interpreter handles all payloads. It runs only the matchers, not the actions.
    """
    entries = anatomy.entries if among is None else among
    if not entries or not payloads:
        return [None] * len(payloads)
    # One module has the functions of all payloads, in order.
    context = anatomy.module.context
    module = mlir.Module.create(mlir.Location.unknown(context)).operation
    for position, payload in enumerate(payloads):
        parsed = mlir.Module.parse(payload.body, context).operation
        (function,) = collect(parsed, names.FUNCTION)
        name = mlir.StringAttr.get(f"payload_{position}", context)
        function.attributes[names.SYMBOL_NAME] = name
        module.regions[0].blocks[0].append(function)
    numbers = first_matches(entries, module)
    return [None if number is None else entries[number] for number in numbers]


def first_matches(
    entries: Sequence[Entry],
    module: mlir.Operation,
    target: mlir.Attribute | None = None,
    excluded: Collection[str] = (),
) -> list[int | None]:
    """Return the number of the first entry that matches the root op of each function of payloads, or None."""
    # With a target, for which the functions then are, the entries configure what they match.
    spec = _Interpreted(entries)
    # An action for each entry annotates the op with the number of the entry.
    actions: list[str] = []
    for number, entry in enumerate(entries):
        sequence = entry.anatomy.table.lookup(entry.matcher)
        assert sequence is not None
        actions.append(spec.fresh.take(f"tag_{number}"))
        with spec.module.context, sequence.location:
            with mlir.InsertionPoint(spec.block):
                added = named_sequence(actions[-1], signature(sequence).results)
            block = added.regions[0].blocks[0]
            arguments = list(block.arguments)
            with mlir.InsertionPoint(block):
                if target is not None:
                    include(split_path(entry.action), arguments, [], FAILURES_PROPAGATE)
                tagged = next(
                    (argument for argument in arguments if is_any_op(argument.type)), None
                )
                if tagged is not None:
                    annotate(tagged, _TAG, number)
                yield_([])
    spec.add_entry_point(actions, excluded)
    if target is not None:
        for function in body(module):
            function.attributes[names.EXECUTABLE_TARGET] = target
    spec.run(module)
    numbers: list[int | None] = []
    for function in body(module):
        attributes = root_of(function).attributes
        tag = attributes.get(_TAG)
        numbers.append(tag.value if isinstance(tag, mlir.IntegerAttr) else None)
        if numbers[-1] is not None:
            del attributes[_TAG]
    return numbers


def configured(entry: Entry, payload: Payload, target: mlir.Attribute | None = None) -> Workload:
    """Return the dispatch of a payload as an entry alone configures it, in the context of the entry.

    The dispatch is for `target`, a `#hal.executable.target` of any context.
    """
    dispatch = payload.dispatch(target, entry.anatomy.module.context)
    assert dispatch.module is not None
    apply_alone(entry, dispatch.module)
    return replace(dispatch, root=root_of(dispatch.function))


def apply_alone(entry: Entry, module: mlir.Operation) -> None:
    """Run an entry alone on the module of a dispatch, in the context of the entry."""
    spec = _Interpreted([entry])
    spec.add_entry_point([entry.action])
    spec.run(module)


def spec_of(*entries: Entry) -> bytes:
    """Return a spec with only some entries of a spec and the symbols that they use, as bytecode."""
    spec = _Interpreted(entries)
    spec.add_entry_point([entry.action for entry in entries])
    return to_bytecode(spec.module)


class _Interpreted:
    """A copy of some entries of a spec and the symbols that they use, with other actions, to be interpreted."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        anatomy = entries[0].anatomy
        source = anatomy.module
        with source.context, source.location:
            unit = mlir.UnitAttr.get()
            attributes: dict[str, mlir.Attribute] = dict.fromkeys(
                (names.WITH_NAMED_SEQUENCE, names.DEFAULT_ENTRY_POINT), unit
            )
            self.module = mlir.Operation.create(names.MODULE, attributes=attributes, regions=1)
            self.block = self.module.regions[0].blocks.append()
            # Clone the ops that the entries use. The cost does not depend on the size of the spec.
            table = anatomy.table
            paths = [path for entry in entries for path in (entry.matcher, entry.action)]
            reached = postorder(
                (split_path(path)[0] for path in paths),
                lambda name: table.referenced(name) if table.symbols.get(name) is not None else (),
            )
            with mlir.InsertionPoint(self.block):
                for name in reached:
                    operation = table.symbols.get(name)
                    if operation is not None:
                        operation.clone()
        self.fresh = FreshNames(symbols(self.module))

    def add_entry_point(self, actions: Sequence[str], excluded: Collection[str] = ()) -> None:
        """Add the entry point, with an action for each entry. Ops with `excluded` names are not tried."""
        # Of entries with the same matcher, only the first is kept, as the others never win. The compiler recurses
        # endlessly on a `foreach_match` that names a matcher twice.
        pairs: dict[str, str] = {}
        if excluded:
            # A matcher of ops by name, and an action that does nothing.
            matcher, action = self.fresh.take("excluded"), self.fresh.take("ignore")
            pairs[matcher] = action
            with self.module.context, self.module.location:
                with mlir.InsertionPoint(self.block):
                    matching = named_sequence(matcher, [any_op()], [any_op()]).regions[0].blocks[0]
                    ignoring = named_sequence(action, [any_op()]).regions[0].blocks[0]
                with mlir.InsertionPoint(matching):
                    texts = [mlir.StringAttr.get(name) for name in sorted(excluded)]
                    mlir.Operation.create(
                        names.MATCH_OPERATION_NAME,
                        operands=[matching.arguments[0]],
                        attributes={"op_names": mlir.ArrayAttr.get(texts)},
                    )
                    yield_([matching.arguments[0]])
                with mlir.InsertionPoint(ignoring):
                    yield_([])
        for entry, action in zip(self._entries, actions, strict=True):
            pairs.setdefault(entry.matcher, action)
        with self.module.context:
            paths = [
                (
                    mlir.SymbolRefAttr.get(split_path(matcher)),
                    mlir.SymbolRefAttr.get(split_path(action)),
                )
                for matcher, action in pairs.items()
            ]
        add_list(self.module, paths)

    def run(self, module: mlir.Operation) -> None:
        """Apply the spec to a module."""
        context = module.context
        spec = spec_attribute(to_bytecode(self.module), context)
        module.attributes[names.EMBEDDED_SPEC] = spec
        manager = PassManager.parse(_PIPELINE, context)
        with collected_diagnostics(context):
            manager.run(module)
