"""The effects of specs, read from the configured program: the entry that configured each dispatch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.errors import Diagnostic, Place, Severity, counted
from tuninglink.iree import RANGES, Dispatch, ancestors
from tuninglink.mlir import (
    FreshNames,
    body,
    collect,
    names,
    note,
    place_of,
    split_path,
    symbol_name,
    symbols,
    to_bytecode,
    visit,
)
from tuninglink.specs import (
    CONFIGURATIONS,
    DERIVED,
    FAILURES_PROPAGATE,
    FLAGS,
    IN_ONE,
    Anatomy,
    Applicability,
    Binding,
    LinkForm,
    SpecKind,
    annotate,
    any_op,
    argument_attributes,
    binding_of,
    configured_arguments,
    covers,
    entry_binding,
    include,
    named_sequence,
    only_reads,
    provenance_of,
    reason_without_effect,
    rewriting_words,
    settings_of,
    signature,
    unrolled_loops,
    yield_,
)

if TYPE_CHECKING:
    from tuninglink.iree import Target
    from tuninglink.specs import (
        DefaultLibrary,
        DefaultSpecFile,
        Entry,
        EntryPoint,
        Handle,
        LinkedSpec,
        Part,
        SequenceTable,
        Spec,
    )


KEPT: Final = "the dispatch keeps the configuration that it had before"
"""The reason why a dispatch that was configured before ignores a `compilation_info`."""


@dataclass(frozen=True)
class Applied:
    """An operation that an entry configured, or the function of an operation that an entry rewrote.

    Attributes:
        dispatch: the dispatch, such as `@executable::@variant`.
        function: the function in it.
        target: the target of the dispatch.
        operation: the kind of the operation, such as `linalg.generic`.
        place: the place of the operation in the program, or None.
        position: the position of the spec among the linked specs.
        spec: the source of the spec: `Spec.source`.
        spec_name: the name of the spec: `Spec.name`.
        entry: the entry, with the names of the original spec; None if several entries share an action and the spec is
            opaque or was not traced exactly.
        is_own: whether the configuration that code generation uses came from the entry; None if it did as far as known,
            and the entry is unknown or computes its configuration.
        ignored: the reason why code generation does not use what the entry set; empty if it does.
        binding: the targets that the entry (or the spec, if the entry is unknown) is bound to; None if it is unbound.
    """

    dispatch: str
    function: str
    target: Target | None
    operation: str
    place: Place | None
    position: int
    spec: str
    spec_name: str
    entry: Entry | None
    is_own: bool | None
    ignored: str
    binding: Binding

    @property
    def is_kept(self) -> bool:
        """Whether the dispatch had a configuration before, and keeps it."""
        return self.ignored == KEPT

    @property
    def derivation(self) -> str:
        """The entry that this one was derived from, with the changes; empty for an entry of the spec itself."""
        if self.entry is None:
            return ""
        return str(provenance_of(self.entry.anatomy.table, self.entry.matcher).get(DERIVED, ""))

    @property
    def like_target(self) -> str:
        """The targets of the entry if it applies to `target` only by similarity; otherwise empty."""
        return "" if covers(self.binding, self.target) else ", ".join(self.binding or ())

    @property
    def rewriting(self) -> str:
        """A description of the entry's rewriting of the op; empty if the entry configures the op instead."""
        return rewriting_words(self.entry.anatomy.table, self.entry.action) if self.entry else ""

    def __str__(self) -> str:
        entry = f"entry '{self.entry.matcher}' of " if self.entry else ""
        verb = "rewritten" if self.operation == names.FUNCTION else "configured"
        return f"{self.dispatch}: {self.operation} {verb} by {entry}'{self.spec}'"


def take_tags(
    dispatch: Dispatch, tagged: TaggedSpec, *, kept: bool, search_from: int
) -> list[tuple[mlir.Operation, Applied]]:
    """Read and remove the tags in a configured dispatch. Return the effects with their operations."""
    tagged_ops: list[tuple[mlir.Operation, Origin]] = []

    def visitor(operation: mlir.Operation) -> None:
        tag = operation.attributes.get(TAG)
        if isinstance(tag, mlir.IntegerAttr):
            tagged_ops.append((operation, tagged.origins[tag.value]))

    visit(dispatch.module, visitor)
    has_pipeline = kept or any(_sets_pipeline(*tagged_op) for tagged_op in tagged_ops)
    applied = []
    for operation, origin in tagged_ops:
        del operation.attributes[TAG]
        entry = origin.entry
        if entry is None and origin.position >= search_from:
            entry = _entry_of(operation, origin.spec)
        resolved = replace(origin, entry=entry)
        ignored = _reason_ignored(operation, origin.sets, has_pipeline=has_pipeline)
        applied.append((operation, _applied(dispatch, operation, resolved, ignored)))
    # An entry that annotates an op and its function is reported at the op.
    at_ops = [(item.position, item.entry) for op, item in applied if op.name != names.FUNCTION]
    return [
        (op, item)
        for (op, item), (_, origin) in zip(applied, tagged_ops, strict=True)
        if not (op.name == names.FUNCTION and origin.sets)
        or (item.position, item.entry) not in at_ops
    ]


def _sets_pipeline(operation: mlir.Operation, origin: Origin) -> bool:
    """Return whether a tagged action set the `translation_info` of the function."""
    if operation.name == names.FUNCTION:
        return names.TRANSLATION_INFO in origin.sets
    # The compiler removes the attribute of an op when it applies it.
    is_applied = names.COMPILATION_INFO not in operation.attributes
    return names.COMPILATION_INFO in origin.sets and is_applied


def _reason_ignored(operation: mlir.Operation, sets: frozenset[str], *, has_pipeline: bool) -> str:
    """Return why code generation does not use what an action set on an op; empty if it does."""
    if names.COMPILATION_INFO in sets and names.COMPILATION_INFO in operation.attributes:
        return KEPT
    if has_pipeline and sets == {names.LOWERING_CONFIG} and operation.name != names.FUNCTION:
        return ""  # the compiler chose nothing
    return reason_without_effect(sets, is_function=operation.name == names.FUNCTION)


def _entry_of(operation: mlir.Operation, spec: Spec) -> Entry | None:
    """Return the only entry of `spec` with the configuration of an operation, or None if there are several."""
    function = _function(operation)
    info = str(operation.attributes.get(names.COMPILATION_INFO))
    entries = [
        entry
        for entry in spec.entries
        if (settings := settings_of(spec, entry))
        # If the compiler failed, the compilation info is still in one piece.
        and (
            str(settings.get(names.COMPILATION_INFO)) == info or _has(operation, function, settings)
        )
    ]
    return entries[0] if len(entries) == 1 else None


def _applied(
    dispatch: Dispatch, operation: mlir.Operation, origin: Origin, ignored: str
) -> Applied:
    function = _function(operation)
    is_own = False if ignored else _is_own(origin, operation, function)
    if is_own is False and not ignored:
        ignored = "another configuration took effect"
    return Applied(
        dispatch=dispatch.name,
        function=symbol_name(function) or "",
        target=dispatch.target,
        operation=operation.name,
        place=place_of(operation.location),
        position=origin.position,
        spec=origin.spec.source,
        spec_name=origin.spec.name,
        entry=origin.entry,
        is_own=is_own,
        ignored=ignored,
        binding=entry_binding(origin.entry) if origin.entry else binding_of(origin.spec.module),
    )


def _function(operation: mlir.Operation) -> mlir.Operation:
    """Return the function around `operation`, a direct child of a module."""
    for ancestor in (operation, *ancestors(operation)):
        if ancestor.parent is not None and ancestor.parent.operation.name == names.MODULE:
            return ancestor
    return operation


def _is_own(origin: Origin, operation: mlir.Operation, function: mlir.Operation) -> bool | None:
    if origin.entry is None:
        return None
    settings = settings_of(origin.spec, origin.entry)
    return None if settings is None else _has(operation, function, settings)


def _has(
    operation: mlir.Operation, function: mlir.Operation, settings: dict[str, mlir.Attribute]
) -> bool:
    # The contexts differ, so attributes are compared as text.
    return all(
        attribute is None or str(holder.attributes.get(name)) == str(attribute)
        for name, attribute, holder in _expected(settings, operation, function)
    )


def _expected(
    settings: dict[str, mlir.Attribute], operation: mlir.Operation, function: mlir.Operation
) -> Iterator[tuple[str, mlir.Attribute | None, mlir.Operation]]:
    for name, attribute in settings.items():
        if name == names.COMPILATION_INFO:
            info = iree_codegen.CompilationInfoAttr(attribute)
            yield names.LOWERING_CONFIG, info.lowering_config, operation
            yield names.TRANSLATION_INFO, info.translation_info, function
        elif name == names.TRANSLATION_INFO:
            if names.COMPILATION_INFO not in settings:
                yield name, attribute, function
        else:
            yield name, attribute, operation


# --- Copies of linked specs that tag the operations that they configure --------------------------

TAG: Final = "tuninglink.entry"


@dataclass(frozen=True)
class Origin:
    """The origin of a tag."""

    position: int
    spec: Spec
    entry: Entry | None
    sets: frozenset[str] = frozenset()


class TaggedSpec:
    """A copy of a linked spec that tags the operations that it configures.

    Args:
        linked: the spec.
        exact: whether each entry has a separate tag. Otherwise entries share the tags of their actions, which is cheap
            for any number of entries.

    Attributes:
        linked: the spec.
        content: the copy, as bytecode.
        origins: the origins of the tags, by number.
    """

    def __init__(self, linked: LinkedSpec, *, exact: bool) -> None:
        self.linked = linked
        self.origins: list[Origin] = []
        module = linked.spec.module.clone()
        self._fresh = FreshNames(symbols(module))
        with module.context, module.location:
            for scope in _scopes(linked, Anatomy(module)):
                self._tag_annotations(scope)
                self._tag_rewritings(scope)
                if exact:
                    self._tag_entries(scope)
        self.content = to_bytecode(module)

    def _tag_annotations(self, scope: _Scope) -> None:
        """Add a tag next to every configuring annotation."""
        users = scope.users_of_annotations()
        annotations = scope.annotations()
        sets: dict[Handle, set[str]] = {}
        for annotation in annotations:
            name = mlir.StringAttr(annotation.attributes["name"]).value
            sets.setdefault(annotation.operands[0], set()).add(name)
        for annotation in annotations:
            entries = users.get(annotation, [])
            origin = scope.origin(entries)
            if origin is not None:
                handle = annotation.operands[0]
                with mlir.InsertionPoint(annotation):
                    self._add_tag(handle, replace(origin, sets=frozenset(sets[handle])))

    def _tag_rewritings(self, scope: _Scope) -> None:
        """Add a tag to every action that rewrites its operation."""
        for action, entries in scope.users_of_actions().items():
            sequence, origin = scope.table.lookup(action), scope.origin(entries)
            if origin is not None and sequence is not None and scope.rewrites(action):
                block = sequence.regions[0].blocks[0]
                with mlir.InsertionPoint.at_block_begin(block):
                    self._add_tag(_function_around(block.arguments[0]), origin)

    def _tag_entries(self, scope: _Scope) -> None:
        """Give every entry whose action only annotates, or rewrites its operation, a separate action and tag."""
        actions: dict[mlir.Operation, list[mlir.Attribute]] = {}
        origins = iter(scope.origins)
        for pair in scope.every_pair:
            name = pair.action
            origin = next(origins) if pair.is_entry else None
            targets = scope.configured_arguments(pair.action)
            if origin is not None and (targets or scope.rewrites(pair.action)):
                name = self._fresh.take("tagged")
                # Add a sequence that runs `action` and then tags the given arguments, or the function if there are
                # none.
                original = scope.table.lookup(pair.action)
                assert original is not None
                kind = signature(original)
                with mlir.InsertionPoint(scope.module.regions[0].blocks[0]), original.location:
                    sequence = named_sequence(name, kind.inputs, kind.results)
                if "arg_attrs" in original.attributes:
                    sequence.attributes["arg_attrs"] = original.attributes["arg_attrs"]
                block = sequence.regions[0].blocks[0]
                with mlir.InsertionPoint(block):
                    arguments = list(block.arguments)
                    tagged = [
                        (arguments[target], replace(origin, sets=sets))
                        for target, sets in targets.items()
                    ]
                    tagged = tagged or [(_function_around(arguments[0]), origin)]
                    results = include(
                        split_path(pair.action), arguments, kind.results, FAILURES_PROPAGATE
                    )
                    for handle, tag in tagged:
                        self._add_tag(handle, tag)
                    yield_(results)
            path = mlir.SymbolRefAttr.get(split_path(name))
            actions.setdefault(pair.foreach_match, []).append(path)
        for foreach_match, paths in actions.items():
            foreach_match.attributes["actions"] = mlir.ArrayAttr.get(paths)

    def _add_tag(self, operation: Handle, origin: Origin) -> None:
        if not self.origins or self.origins[-1] is not origin:
            self.origins.append(origin)
        annotate(operation, TAG, len(self.origins) - 1)


@dataclass(frozen=True)
class _Pair:
    foreach_match: mlir.Operation
    action: str
    is_entry: bool


class _Scope:
    """The sequences that the entry points of some linked specs run, with the entries and their origins."""

    def __init__(
        self,
        anatomy: Anatomy,
        entry_points: Sequence[EntryPoint],
        parts: Sequence[tuple[int, Part]],
    ) -> None:
        self.module = anatomy.module
        self.table: SequenceTable = anatomy.table
        self._entry_points = entry_points
        self.origins = [
            Origin(position, part.spec, entry) for position, part in parts for entry in part.entries
        ]
        # The entries of a chain that was linked before share an origin.
        lists = (
            foreach_match
            for entry_point in (entry_points if self.origins else ())
            for foreach_match in self.table.lists(entry_point.sequence)
        )
        self.every_pair = [
            _Pair(foreach_match, action, not self.table.is_bookkeeping(matcher))
            for foreach_match in lists
            for matcher, action in self.table.pairs(foreach_match)
        ]
        self.pairs = [pair for pair in self.every_pair if pair.is_entry]
        self._whole = Origin(parts[0][0], parts[0][1].spec, None) if len(parts) == 1 else None

    def origin(self, entries: Sequence[int]) -> Origin | None:
        """Return the origin of an annotation that these entries share, or None."""
        if not entries:
            return self._whole
        first = self.origins[entries[0]]
        return first if len(entries) == 1 else replace(first, entry=None)

    def annotations(self) -> list[mlir.Operation]:
        """Return the configuring annotations in the sequences that the entry points run."""
        paths = (entry_point.path for entry_point in self._entry_points)
        sequences = dict.fromkeys(run for _, run in self.table.run_by(*paths))
        annotations = (op for sequence in sequences for op in collect(sequence, names.ANNOTATE))
        return list(filter(_configures, annotations))

    def users_of_annotations(self) -> dict[mlir.Operation, list[int]]:
        """Return the entries that reach each configuring annotation."""
        users: dict[mlir.Operation, list[int]] = {}
        for action, positions in self.users_of_actions().items():
            for annotation in _reached(self.table, action):
                users.setdefault(annotation, []).extend(positions)
        return users

    def users_of_actions(self) -> dict[str, list[int]]:
        """Return the entries that have each action."""
        entries: dict[str, list[int]] = {}
        for position, pair in enumerate(self.pairs):
            entries.setdefault(pair.action, []).append(position)
        return entries

    def rewrites(self, action: str) -> bool:
        return bool(unrolled_loops(self.table, action))

    def configured_arguments(self, action: str) -> dict[int, frozenset[str]]:
        """Return what `action` sets on each argument that it configures, if it only annotates and keeps its handles."""
        sequence = self.table.lookup(action)
        arguments = configured_arguments(self.table, action)
        if sequence is None or any(
            names.CONSUMED in argument_attributes(sequence, argument) for argument in arguments
        ):
            return {}
        return arguments


def _scopes(linked: LinkedSpec, anatomy: Anatomy) -> Iterator[_Scope]:
    parts = [
        (position if part.source is None else part.source, part)
        for position, part in enumerate(linked.parts)
    ]
    if linked.form is not LinkForm.CHAINED:
        yield _Scope(anatomy, anatomy.entry_points, parts)
        return
    entry_points = iter(anatomy.entry_points)
    for position, part in parts:
        if part.copy is not None:
            own = list(islice(entry_points, len(part.copy.anatomy.entry_points)))
            yield _Scope(anatomy, own, [(position, part)])


def _function_around(operation: Handle) -> Handle:
    """Add a handle to the function around an operation at the insertion point."""
    parent = mlir.Operation.create(
        names.GET_PARENT,
        results=[any_op()],
        operands=[operation],
        attributes={"op_name": mlir.StringAttr.get(names.FUNCTION)},
    )
    handle: Handle = parent.results[0]
    return handle


def _configures(annotation: mlir.Operation) -> bool:
    name = annotation.attributes["name"]
    return isinstance(name, mlir.StringAttr) and name.value in CONFIGURATIONS


def _reached(table: SequenceTable, path: str) -> Iterator[mlir.Operation]:
    for _, sequence in table.closure(path):
        yield from filter(_configures, collect(sequence, names.ANNOTATE))


# --- The outcomes of specs in a compilation, as diagnostics: notes on errors, warnings and remarks

_MOST_READ: Final = 1_000
"""The number of entries of a spec up to which they are read for the flags of their tuning."""


@dataclass(frozen=True)
class SpecOutcomes:
    """The outcomes of the specs of a compilation."""

    given: Sequence[Spec]
    from_project: int
    automatic: Collection[int]
    library: DefaultLibrary | None
    applied: Sequence[Applied]
    targets: Collection[Target | None]
    traceable: Collection[int]
    skipped: Collection[int] = ()

    def explain(
        self, errors: Sequence[Diagnostic], failing: Collection[str] = ()
    ) -> tuple[Diagnostic, ...]:
        """Return the errors of a compilation with notes on the entries that configured the failing dispatches.

        Two entries may be incompatible in one dispatch, or the backend may reject a configuration. The compiler reports
        only the location in the program.
        """
        explained: list[Diagnostic] = []
        named: set[str] = set()
        for failure in errors:
            at = {a.dispatch for a in self.applied if failure.place and a.place == failure.place}
            causes = [a for a in self.applied if a.dispatch in at - named]
            named |= at
            explained.append(_with_causes(failure, causes))
        if not named and explained:
            causes = [applied for applied in self.applied if applied.dispatch in failing]
            explained[0] = _with_causes(explained[0], causes)
        return tuple(explained)

    def skips(self, failing: Mapping[str, Diagnostic]) -> Iterator[Diagnostic]:
        """Yield a warning for each dispatch that is compiled without specs because it fails with them."""
        for dispatch, failure in failing.items():
            applieds = [applied for applied in self.applied if applied.dispatch == dispatch]
            entries = [f"entry '{applied.entry.matcher}'" for applied in applieds if applied.entry]
            names = " and ".join(dict.fromkeys(entries)) or "the spec"
            place = next((applied.entry.place for applied in applieds if applied.entry), None)
            message = f"{names} is skipped in {dispatch}, which does not compile with it"
            yield Diagnostic(
                Severity.WARNING, message, place, (note(failure.message, failure.place),)
            )

    def warnings(self, why: str = "", *, is_explained: bool = False) -> Iterator[Diagnostic]:
        """Yield a warning for each spec that configured nothing, or fewer operations than it matched."""
        if not why and not self.targets:
            why = "there is no dispatch to configure"
        for position, spec in enumerate(self.given):
            applied = [operation for operation in self.applied if operation.position == position]
            ignored = [operation for operation in applied if operation.ignored]
            if ignored:
                yield from _ignored(spec, ignored)
            elif position in self.automatic or position in self.skipped:
                continue
            elif not applied and (why or self._would_have_told(position, spec)):
                if not why and any(
                    RANGES in sequence.attributes
                    for sequence in collect(spec.module, names.NAMED_SEQUENCE)
                ):
                    continue  # it gives ranges of sizes code of their own, with the compiler's configurations
                other_target = "" if why else self._is_for_others(spec)
                if other_target and position >= len(self.given) - self.from_project:
                    continue
                cause = why or other_target or self._why_it_sets_nothing(spec)
                reason = cause or _never_matched(len(spec.anatomy.pairs))
                remedy = (
                    ""
                    if cause or is_explained
                    else "'tuninglink explain' gives the reason for each dispatch"
                )
                yield _warning(f"spec '{spec.source}' configured nothing: {reason}", remedy=remedy)

    def flag_warnings(self, flags: Sequence[str]) -> Iterator[Diagnostic]:
        """Yield a warning for each spec that was tuned under flags that the compilation lacks."""
        for spec in self.given:
            if spec.kind is SpecKind.OPAQUE or len(spec.anatomy.pairs) > _MOST_READ:
                continue
            missing: dict[str, None] = {}
            for matcher, _ in spec.anatomy.pairs:
                tuned_under = provenance_of(spec.anatomy.table, matcher).get(FLAGS)
                if isinstance(tuned_under, list):
                    missing.update(dict.fromkeys(flag for flag in tuned_under if flag not in flags))
            if missing:
                message = f"spec '{spec.source}' was tuned under other flags: {' '.join(missing)}"
                remedy = "add them, for example as @FILE.flags, which 'tuninglink tune' writes with a spec"
                yield _warning(message, remedy=remedy)

    def remarks(self) -> Iterator[Diagnostic]:
        """Yield remarks on derived entries, entries for similar targets, and default specs that took effect."""
        derived = [item for item in self.applied if item.derivation and item.is_own is not False]
        if derived:
            yield _derived_remark(derived)
        like = [item for item in self.applied if item.like_target and item.is_own is not False]
        if like:
            yield _like_remark(like)
        by_file: dict[DefaultSpecFile, list[Applied]] = {}
        for item in self.applied:
            if item.position < len(self.given) or item.is_own is False:
                continue
            file = self.library.find(item.target) if self.library and item.target else None
            if (
                file is not None and file.path == item.spec
            ):  # Otherwise the program contained the spec.
                by_file.setdefault(file, []).append(item)
        for file, applied in by_file.items():
            yield _remark(file, applied)

    def _is_for_others(self, spec: Spec) -> str:
        """Return the reason why a spec applies to none of the program's targets; empty if it applies to one."""
        target_names = (
            ", ".join(sorted(str(target) for target in self.targets if target)) or "no known target"
        )
        binding = binding_of(spec.module)
        if all(Applicability(spec, target).is_bound_elsewhere for target in self.targets):
            return f"it is bound to {', '.join(binding or ()) or 'no target'}, the program is for {target_names}"
        if all(Applicability(spec, target).is_empty for target in self.targets):
            return f"none of its entries is for {target_names}"
        return ""

    @staticmethod
    def _why_it_sets_nothing(spec: Spec) -> str:
        if not spec.anatomy.pairs and _only_reads(spec):
            return "its entry points set no configuration"
        entries = map(spec.anatomy.entry, range(len(spec.anatomy.pairs)))
        if not any(settings_of(spec, entry) != {} for entry in entries):
            return "its actions set no configuration"
        return ""

    def _would_have_told(self, position: int, spec: Spec) -> bool:
        is_list = spec.kind is SpecKind.MATCHER_LIST
        return is_list or position in self.traceable or _only_reads(spec)


def _only_reads(spec: Spec) -> bool:
    anatomy = spec.anatomy
    runs = anatomy.table.run_by(*(entry_point.path for entry_point in anatomy.entry_points))
    return all(_is_harmless(operation) for _, run in runs for operation in body(run))


def _is_harmless(operation: mlir.Operation) -> bool:
    if operation.name == names.ANNOTATE:
        return mlir.StringAttr(operation.attributes["name"]).value not in CONFIGURATIONS
    return operation.name in (names.INCLUDE, names.FOREACH_MATCH) or only_reads(operation)


def _with_causes(failure: Diagnostic, applied: Sequence[Applied]) -> Diagnostic:
    return replace(failure, notes=(*failure.notes, *_causes(applied))) if applied else failure


def _causes(applied: Sequence[Applied]) -> Iterator[Diagnostic]:
    """Yield notes on the entries that configured a dispatch that does not compile, and the remedy."""
    for item in applied:
        entry = f"entry '{item.entry.matcher}' of " if item.entry else ""
        at = f" at {item.place}" if item.place else ""
        message = f"{entry}'{item.spec}' configured {item.operation}{at} in {item.dispatch}"
        yield note(message, item.entry.place if item.entry else None)
        if item.ignored and not item.is_kept:
            yield note(f"{item.ignored}; {IN_ONE}")
    for target in {str(item.target): None for item in applied if item.target}:
        check = f"tuninglink check SPEC --target {target} --compile"
        skip = "'--skip-failing-entries' compiles the dispatch without specs"
        yield note(f"'{check}' checks the configuration; {skip}")


def _ignored(spec: Spec, ignored: Sequence[Applied]) -> Iterator[Diagnostic]:
    """Yield a warning for each reason why code generation ignores configurations of a spec."""
    by_reason: dict[str, list[Applied]] = {}
    for item in ignored:
        by_reason.setdefault(item.ignored, []).append(item)
    for reason, items in by_reason.items():
        first = items[0]
        more = f" and {len(items) - 1} more" if len(items) > 1 else ""
        if first.is_kept:
            what = "which kept another configuration"
            remedy = (
                "an existing configuration of a dispatch is kept; "
                "'tuninglink-opt --tuninglink-strip-configs' removes it"
            )
        else:
            what, remedy = f"without effect: {reason}", IN_ONE
        message = f"spec '{spec.source}' matched in {first.dispatch}{more}, {what}"
        yield _warning(message, first.place, remedy)


def _warning(message: str, place: Place | None = None, remedy: str = "") -> Diagnostic:
    return Diagnostic(Severity.WARNING, message, place, (note(remedy),) if remedy else ())


def _never_matched(entries: int) -> str:
    if entries == 1:
        return "its entry was never the first to match"
    return f"none of its {entries:,} entries was ever the first to match"


def _remark(file: DefaultSpecFile, applied: Sequence[Applied]) -> Diagnostic:
    """Return a remark on a default spec with the number of operations that each entry configured."""
    first = applied[0]
    counts = Counter(
        f"entry '{item.entry.matcher}'" if item.entry else "an entry" for item in applied
    )
    notes = [
        note(f"{what} configured {counted(count, 'operation')}") for what, count in counts.items()
    ]
    message = (
        f"the default spec for {first.target} configured {counted(len(applied), 'operation')}; "
        "'--no-default-specs' leaves it out"
    )
    notes.append(note(f"the spec is '{file.path}'"))
    return Diagnostic(Severity.REMARK, message, None, tuple(notes))


def _derived_remark(applied: Sequence[Applied]) -> Diagnostic:
    """Return a remark on derived entries with their origins and changes."""
    counts = Counter(f"entry of '{item.spec}' derived {item.derivation}" for item in applied)
    notes = [note(f"{what}: {counted(count, 'operation')}") for what, count in counts.items()]
    message = (
        f"entries derived for other forms of their problems configured {counted(len(applied), 'operation')}; "
        "'--no-derived-entries' leaves them out"
    )
    return Diagnostic(Severity.REMARK, message, None, tuple(notes))


def _like_remark(applied: Sequence[Applied]) -> Diagnostic:
    """Return a remark on entries for other targets."""
    counts = Counter(
        (f"entry '{item.entry.matcher}' of " if item.entry else "")
        + f"'{item.spec}' is for {item.like_target}"
        for item in applied
    )
    notes = [note(f"{what}: {counted(count, 'operation')}") for what, count in counts.items()]
    notes.append(note("'tuninglink retune' measures which of them are faster here"))
    message = (
        f"entries for targets like {applied[0].target} configured {counted(len(applied), 'operation')}; "
        "their times were measured elsewhere"
    )
    return Diagnostic(Severity.REMARK, message, None, tuple(notes))
