"""What took effect: which entry of which spec configured which dispatch, read from the configured program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen

from tuninglink.compiler.tagging import TAG
from tuninglink.iree.dispatches import ancestors
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import place_of
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import visit
from tuninglink.specs.bindings import covers, entry_binding
from tuninglink.specs.entry_settings import settings_of
from tuninglink.specs.provenance import DERIVED, provenance_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.compiler.tagging import Origin, TaggedSpec
    from tuninglink.iree.dispatches import Dispatch
    from tuninglink.iree.targets import Target
    from tuninglink.mlir.diagnostics import Place
    from tuninglink.specs.spec import Spec
    from tuninglink.specs.structure import Entry


@dataclass(frozen=True)
class Applied:
    """An operation that an entry configured.

    Attributes:
        dispatch: the dispatch, such as `@executable::@variant`.
        function: the function in it.
        target: what the dispatch is compiled for.
        operation: the kind of the operation, such as `linalg.generic`.
        place: where the operation stands in the program, None where it does not say.
        position: the position of the spec among those that were linked.
        spec: where the spec comes from: `Spec.source`.
        spec_name: what the spec is called: `Spec.name`.
        entry: the entry, with the names of the spec as it was given; None if the spec was not traced exactly,
            or is opaque, and several entries share an action.
        is_own: whether the configuration of the operation and its function is the entry's own, all of it.
            A dispatch that was configured before keeps what it had. None where the entry is not known, or
            computes its configuration.
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

    @property
    def derivation(self) -> str:
        """Which entry the entry was derived from, and what was changed; nothing if it is one of the spec's own."""
        if self.entry is None:
            return ""
        return str(provenance_of(self.entry.anatomy.table, self.entry.matcher).get(DERIVED, ""))

    @property
    def like_target(self) -> str:
        """The targets that the entry is bound to if they are others that are like this one; else nothing."""
        binding = entry_binding(self.entry) if self.entry is not None else None
        return "" if covers(binding, self.target) else ", ".join(binding or ())

    def __str__(self) -> str:
        entry = f"entry '{self.entry.matcher}' of " if self.entry else ""
        return f"{self.dispatch}: {self.operation} configured by {entry}'{self.spec}'"


def take_tags(
    dispatch: Dispatch, tagged: TaggedSpec, *, kept: bool, search_from: int
) -> list[tuple[mlir.Operation, Applied]]:
    """Read the tags in a configured dispatch, and removes them; returns what they say, each of its operation.

    Args:
        dispatch: the dispatch.
        tagged: the spec that it carried.
        kept: whether it was configured before, so that the spec has changed nothing.
        search_from: the position of the first spec of which an entry that has no tag of its own is looked for by
            its configuration.
    """
    result: list[tuple[mlir.Operation, Origin]] = []

    def visitor(operation: mlir.Operation) -> None:
        tag = operation.attributes.get(TAG)
        if isinstance(tag, mlir.IntegerAttr):
            result.append((operation, tagged.origins[tag.value]))

    visit(dispatch.module, visitor)
    applied = []
    for operation, origin in result:
        del operation.attributes[TAG]
        entry = origin.entry
        if entry is None and origin.position >= search_from:
            entry = _entry_of(operation, origin.spec)
        found_here = replace(origin, entry=entry)
        applied.append((operation, _applied(dispatch, operation, found_here, kept=kept)))
    return applied


def _entry_of(operation: mlir.Operation, spec: Spec) -> Entry | None:
    """Return the only entry of `spec` that gives what `operation` has, None if there are more."""
    function = _function(operation)
    info = str(operation.attributes.get(names.COMPILATION_INFO))
    entries = [
        entry
        for entry in spec.entries
        if (settings := settings_of(spec, entry))
        # Where the compiler fails, it has not taken the configuration apart.
        and (
            str(settings.get(names.COMPILATION_INFO)) == info or _has(operation, function, settings)
        )
    ]
    return entries[0] if len(entries) == 1 else None


def _applied(
    dispatch: Dispatch, operation: mlir.Operation, origin: Origin, *, kept: bool
) -> Applied:
    function = _function(operation)
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
        is_own=False if kept else _is_own(origin, operation, function),
    )


def _function(operation: mlir.Operation) -> mlir.Operation:
    """Return the function around `operation`: what stands directly in a module."""
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
    # The two live in different contexts, so their attributes are compared as they are printed.
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
            yield name, attribute, function
        else:
            yield name, attribute, operation
