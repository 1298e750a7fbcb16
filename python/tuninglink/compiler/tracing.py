"""The effects of specs, read from the configured program: the entry that configured each dispatch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.compiler.tagging import TAG, Origin, TaggedSpec
from tuninglink.iree.dispatches import Dispatch, ancestors
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import Place, place_of
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import visit
from tuninglink.specs.bindings import Binding, binding_of, covers, entry_binding
from tuninglink.specs.entry_settings import (
    DERIVED,
    provenance_of,
    reason_without_effect,
    rewriting_words,
    settings_of,
)

if TYPE_CHECKING:
    from tuninglink.iree.targets import Target
    from tuninglink.specs.spec import Spec
    from tuninglink.specs.structure import Entry


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
    """Read and remove the tags in a configured dispatch. Return the effects with their operations.

    Args:
        dispatch: the dispatch.
        tagged: its spec.
        kept: whether the dispatch was already configured.
        search_from: the position of the first spec for which entries without a separate tag are found by their
            configuration.
    """
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
    """Return why code generation does not use what an action set on an op; empty if it does.

    Args:
        operation: the op, in the configured program.
        sets: the names of the attributes that the action set on it.
        has_pipeline: whether the compiler found a `translation_info` on the function, so that it chose nothing.
    """
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
