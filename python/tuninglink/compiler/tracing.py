"""The effects of specs, read from the configured program: the entry that configured each dispatch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.errors import Place
from tuninglink.iree import Dispatch, ancestors
from tuninglink.mlir import (
    FreshNames,
    collect,
    names,
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
    Anatomy,
    LinkForm,
    annotate,
    any_op,
    argument_attributes,
    binding_of,
    configured_arguments,
    covers,
    entry_binding,
    include,
    named_sequence,
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
    from tuninglink.specs import Entry, EntryPoint, Handle, LinkedSpec, Part, SequenceTable, Spec


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
        is_kept: whether the dispatch had a configuration before, and keeps it.
        derivation: the entry that this one was derived from, with the changes; empty for an entry of the spec itself.
        like_target: the targets of the entry if it applies to `target` only by similarity; otherwise empty.
        rewriting: a description of the entry's rewriting of the op; empty if the entry configures the op instead.
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
    is_kept: bool
    derivation: str
    like_target: str
    rewriting: str

    def __str__(self) -> str:
        entry = f"entry '{self.entry.matcher}' of " if self.entry else ""
        verb = "rewritten" if self.operation == names.FUNCTION else "configured"
        return f"{self.dispatch}: {self.operation} {verb} by {entry}'{self.spec}'"


def take_tags(
    dispatch: Dispatch, tagged: TaggedSpec, *, kept: bool, search_from: int
) -> list[tuple[mlir.Operation, Applied]]:
    """Read and remove the tags in a configured dispatch. Return the effects with their operations.

    `kept` is whether the dispatch had a configuration before. Entries of specs from the position `search_from` on that
    were not traced exactly are found by their configurations.
    """
    operations: list[mlir.Operation] = []
    visit(dispatch.module, operations.append)
    tagged_ops = [
        (operation, tagged.origins[tag.value])
        for operation in operations
        if isinstance(tag := operation.attributes.get(TAG), mlir.IntegerAttr)
    ]
    # Did an action set the `translation_info` of the function? The compiler removes the `compilation_info` of an op
    # when it applies it.
    has_pipeline = kept or any(
        names.TRANSLATION_INFO in origin.sets
        if op.name == names.FUNCTION
        else names.COMPILATION_INFO in origin.sets and names.COMPILATION_INFO not in op.attributes
        for op, origin in tagged_ops
    )
    applied: list[tuple[mlir.Operation, Applied]] = []
    for operation, origin in tagged_ops:
        del operation.attributes[TAG]
        is_searched = origin.position >= search_from
        effect = _effect(dispatch, operation, origin, has_pipeline, is_searched)
        applied.append((operation, effect))
    # An entry that annotates an op and its function is reported at the op.
    at_ops = [(item.position, item.entry) for op, item in applied if op.name != names.FUNCTION]
    return [
        (op, item)
        for (op, item), (_, origin) in zip(applied, tagged_ops, strict=True)
        if not (op.name == names.FUNCTION and origin.sets)
        or (item.position, item.entry) not in at_ops
    ]


def _effect(
    dispatch: Dispatch,
    operation: mlir.Operation,
    origin: Origin,
    has_pipeline: bool,  # noqa: FBT001 - a fact about the dispatch
    is_searched: bool,  # noqa: FBT001
) -> Applied:
    """Return the effect of the origin of a tag on an operation."""
    is_function = operation.name == names.FUNCTION
    spec, entry = origin.spec, origin.entry
    # The function around the operation is a direct child of a module.
    function = operation
    for ancestor in (operation, *ancestors(operation)):
        if ancestor.parent is not None and ancestor.parent.operation.name == names.MODULE:
            function = ancestor
            break
    if entry is None and is_searched:
        entry = _entry_of(operation, function, spec)
    # Find out why code generation does not use what the action set.
    has_info = names.COMPILATION_INFO in operation.attributes
    is_kept = names.COMPILATION_INFO in origin.sets and has_info
    if is_kept:
        ignored = "the dispatch keeps the configuration that it had before"
    elif has_pipeline and origin.sets == {names.LOWERING_CONFIG} and not is_function:
        ignored = ""  # the compiler chose nothing
    else:
        ignored = reason_without_effect(origin.sets, is_function=is_function)
    is_own: bool | None = False
    if not ignored:
        settings = settings_of(spec, entry) if entry else None
        is_own = None if settings is None else _has(operation, function, settings)
        ignored = "another configuration took effect" if is_own is False else ""
    binding = entry_binding(entry, entry.anatomy) if entry else binding_of(spec.module)
    provenance = provenance_of(entry.anatomy.table, entry.matcher) if entry else {}
    return Applied(
        dispatch=dispatch.name,
        function=symbol_name(function) or "",
        target=dispatch.target,
        operation=operation.name,
        place=place_of(operation.location),
        position=origin.position,
        spec=spec.source,
        spec_name=spec.name,
        entry=entry,
        is_own=is_own,
        ignored=ignored,
        is_kept=is_kept,
        derivation=str(provenance.get(DERIVED, "")),
        like_target="" if covers(binding, dispatch.target) else ", ".join(binding or ()),
        rewriting=rewriting_words(entry.anatomy.table, entry.action) if entry else "",
    )


def _entry_of(operation: mlir.Operation, function: mlir.Operation, spec: Spec) -> Entry | None:
    """Return the only entry of `spec` with the configuration of an operation, or None if there are several."""
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


def _has(
    operation: mlir.Operation, function: mlir.Operation, settings: dict[str, mlir.Attribute]
) -> bool:
    """Return whether an op and its function have the attributes that an action sets."""
    expected: list[tuple[str, mlir.Attribute | None, mlir.Operation]] = []
    for name, attribute in settings.items():
        if name == names.COMPILATION_INFO:
            info = iree_codegen.CompilationInfoAttr(attribute)
            expected.append((names.LOWERING_CONFIG, info.lowering_config, operation))
            expected.append((names.TRANSLATION_INFO, info.translation_info, function))
        elif name != names.TRANSLATION_INFO:
            expected.append((name, attribute, operation))
        elif names.COMPILATION_INFO not in settings:
            expected.append((name, attribute, function))
    # The contexts differ, so attributes are compared as text.
    return all(
        attribute is None or str(holder.attributes.get(name)) == str(attribute)
        for name, attribute, holder in expected
    )


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

    If it is `exact`, each entry has a separate tag. Otherwise entries share the tags of their actions, which is cheap for
    any number of entries.

    Attributes:
        content: the copy, as bytecode.
        origins: the origins of the tags, by number.
    """

    def __init__(self, linked: LinkedSpec, *, exact: bool) -> None:
        self.origins: list[Origin] = []
        module = linked.spec.module.clone()
        self._fresh = FreshNames(symbols(module))
        with module.context, module.location:
            for scope in _scopes(linked, Anatomy(module)):
                self._tag_actions(scope)
                if exact:
                    self._tag_entries(scope)
        self.content = to_bytecode(module)

    def _tag_actions(self, scope: _Scope) -> None:
        """Add a tag next to every configuring annotation, and to every action that rewrites its operation."""
        table = scope.table
        entries_of_action: dict[str, list[Origin]] = {}
        for _, action, entry in scope.pairs:
            if entry is not None:
                entries_of_action.setdefault(action, []).append(entry)
        users: dict[mlir.Operation, list[Origin]] = {}
        for action, entries in entries_of_action.items():
            for _, sequence in table.closure(action):
                for annotation in filter(configures, collect(sequence, names.ANNOTATE)):
                    users.setdefault(annotation, []).extend(entries)
        # The configuring annotations are those in the sequences that the entry points run.
        paths = (entry_point.path for entry_point in scope.entry_points)
        sequences = dict.fromkeys(run for _, run in table.closure(*paths, with_matchers=True))
        every = chain.from_iterable(collect(sequence, names.ANNOTATE) for sequence in sequences)
        annotations = [*filter(configures, every)]
        sets: dict[Handle, set[str]] = {}
        for annotation in annotations:
            name = mlir.StringAttr(annotation.attributes["name"]).value
            sets.setdefault(annotation.operands[0], set()).add(name)
        # The lowering config of a neighbor is traced at the root op of the same action.
        roots = {op.block for op in annotations if names.COMPILATION_INFO in sets[op.operands[0]]}
        for annotation in annotations:
            handle = annotation.operands[0]
            is_neighbor = sets[handle] == {names.LOWERING_CONFIG} and annotation.block in roots
            origin = scope.origin_of(users.get(annotation, []))
            if origin is not None and not is_neighbor:
                with mlir.InsertionPoint(annotation):
                    self._add_tag(handle, replace(origin, sets=frozenset(sets[handle])))
        for action, entries in entries_of_action.items():
            rewriting, origin = table.lookup(action), scope.origin_of(entries)
            if origin is not None and rewriting is not None and unrolled_loops(table, action):
                block = rewriting.regions[0].blocks[0]
                with mlir.InsertionPoint.at_block_begin(block):
                    self._add_tag(_function_around(block.arguments[0]), origin)

    def _tag_entries(self, scope: _Scope) -> None:
        """Give every entry whose action only annotates, or rewrites its operation, a separate action and tag."""
        actions: dict[mlir.Operation, list[mlir.Attribute]] = {}
        for foreach_match, action, origin in scope.pairs:
            name = action
            original = scope.table.lookup(action)
            targets = configured_arguments(scope.table, action)
            if original is None or any(
                names.CONSUMED in argument_attributes(original, target) for target in targets
            ):
                targets = {}  # It does not keep its handles.
            is_tagged = targets or unrolled_loops(scope.table, action)
            if origin is not None and original is not None and is_tagged:
                name = self._fresh.take("tagged")
                # Add a sequence that runs `action` and then tags the given arguments, or the function if there are
                # none.
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
                        split_path(action), arguments, kind.results, FAILURES_PROPAGATE
                    )
                    for handle, tag in tagged:
                        self._add_tag(handle, tag)
                    yield_(results)
            path = mlir.SymbolRefAttr.get(split_path(name))
            actions.setdefault(foreach_match, []).append(path)
        for foreach_match, paths in actions.items():
            foreach_match.attributes["actions"] = mlir.ArrayAttr.get(paths)

    def _add_tag(self, operation: Handle, origin: Origin) -> None:
        if not self.origins or self.origins[-1] is not origin:
            self.origins.append(origin)
        annotate(operation, TAG, len(self.origins) - 1)


class _Scope(NamedTuple):
    """The sequences that some entry points run, with the pairs of their lists: the list, the action, an entry's origin.

    `whole` is the origin of everything else in the sequences, if it is known.
    """

    module: mlir.Operation
    table: SequenceTable
    entry_points: Sequence[EntryPoint]
    pairs: Sequence[tuple[mlir.Operation, str, Origin | None]]
    whole: Origin | None

    def origin_of(self, entries: Sequence[Origin]) -> Origin | None:
        """Return the origin of an annotation that these entries share, or None."""
        if not entries:
            return self.whole
        return entries[0] if len(entries) == 1 else replace(entries[0], entry=None)


def _scopes(linked: LinkedSpec, anatomy: Anatomy) -> Iterator[_Scope]:
    parts = [
        (position if part.source is None else part.source, part)
        for position, part in enumerate(linked.parts)
    ]
    scopes: list[tuple[Sequence[EntryPoint], list[tuple[int, Part]]]]
    scopes = [(anatomy.entry_points, parts)]
    if linked.form is LinkForm.CHAINED:
        entry_points = iter(anatomy.entry_points)
        scopes = [
            (list(islice(entry_points, len(part.copy.anatomy.entry_points))), [(position, part)])
            for position, part in parts
            if part.copy is not None
        ]
    table = anatomy.table
    for own, members in scopes:
        origins = [Origin(at, part.spec, entry) for at, part in members for entry in part.entries]
        following = iter(origins)
        pairs = [
            (foreach_match, action, None if table.is_bookkeeping(matcher) else next(following))
            # The entries of a chain that was linked before share an origin.
            for entry_point in (own if origins else ())
            for foreach_match in table.lists(entry_point.sequence)
            for matcher, action in table.pairs(foreach_match)
        ]
        whole = Origin(members[0][0], members[0][1].spec, None) if len(members) == 1 else None
        yield _Scope(anatomy.module, table, own, pairs, whole)


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


def configures(annotation: mlir.Operation) -> bool:
    name = annotation.attributes["name"]
    return isinstance(name, mlir.StringAttr) and name.value in CONFIGURATIONS
