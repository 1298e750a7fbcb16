"""Copies of linked specs that tag the operations that they configure.

A tag is a private attribute next to the configuration, written by the same action. The tags therefore show the actual
behaviour of the compiler. An action that rewrites its operation removes it; its tag is on the function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.mlir.symbols import FreshNames, split_path, symbols
from tuninglink.mlir.walk import collect
from tuninglink.specs.entry_settings import (
    CONFIGURATIONS,
    configured_arguments,
    unrolled_loops,
)
from tuninglink.specs.linking.link_form import LinkForm
from tuninglink.specs.module_scan import signature
from tuninglink.specs.sequences import argument_attributes
from tuninglink.specs.structure import Anatomy
from tuninglink.specs.transform_ops import (
    FAILURES_PROPAGATE,
    annotate,
    any_op,
    include,
    named_sequence,
    yield_,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tuninglink.specs.linking.linker import LinkedSpec, Part
    from tuninglink.specs.sequences import SequenceTable
    from tuninglink.specs.spec import Spec
    from tuninglink.specs.structure import Entry, EntryPoint
    from tuninglink.specs.transform_ops import Handle

TAG: Final = "tuninglink.entry"


@dataclass(frozen=True)
class Origin:
    """The origin of a tag.

    Attributes:
        position: the position of the spec among the linked specs.
        spec: the spec of the action that wrote the tag.
        entry: the entry of the action; None if several share it.
        sets: the names of the configuring attributes that the action sets on the tagged operation; empty for an action
            that rewrites it.
    """

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
                self._add_action(scope, pair.action, name, targets, origin)
            path = mlir.SymbolRefAttr.get(split_path(name))
            actions.setdefault(pair.foreach_match, []).append(path)
        for foreach_match, paths in actions.items():
            foreach_match.attributes["actions"] = mlir.ArrayAttr.get(paths)

    def _add_action(
        self,
        scope: _Scope,
        action: str,
        name: str,
        targets: Mapping[int, frozenset[str]],
        origin: Origin,
    ) -> None:
        """Add a sequence that runs `action` and then tags the given arguments, or the function if there are none."""
        original = scope.table.lookup(action)
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
                (arguments[target], replace(origin, sets=sets)) for target, sets in targets.items()
            ]
            tagged = tagged or [(_function_around(arguments[0]), origin)]
            results = include(split_path(action), arguments, kind.results, FAILURES_PROPAGATE)
            for handle, tag in tagged:
                self._add_tag(handle, tag)
            yield_(results)

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
        """Return whether `action` rewrites its operation."""
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
    """Yield the configuring annotations in a sequence and in the sequences that it runs."""
    for _, sequence in table.closure(path):
        yield from filter(_configures, collect(sequence, names.ANNOTATE))
