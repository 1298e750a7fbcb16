"""Applicability of the entries of specs to the dispatches of a target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, reduce
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.errors import Diagnostic, Place, Severity
from tuninglink.iree import (
    BACKENDS,
    Target,
    backends_of,
    element_type,
    foreign_reason,
    generation_of,
    known_target_names,
)
from tuninglink.mlir import DiagnosticSink, collect, names, note, place_of, symbol_name, visit
from tuninglink.specs.linking import split
from tuninglink.specs.revision import settings_of
from tuninglink.specs.spec import (
    Binding,
    Entry,
    Spec,
    SpecKind,
    binding_of,
    covers,
    entry_binding,
    suits,
)

_NAMED: Final = 3
"""The maximum number of entries that a warning names."""

_BOUND: Final = "it is bound to others"


@dataclass(frozen=True)
class Inapplicability:
    """The reason why an entry, or an opaque spec as a whole, does not apply to a target."""

    what: str
    place: Place | None
    reason: str
    is_foreign: bool


@dataclass(eq=False)
class Applicability:
    """The entries of a spec that apply to one target.

    An entry does not apply if it is bound to other, dissimilar targets, or if its configuration is foreign to the
    target. An opaque spec applies as a whole or not at all.

    Attributes:
        target: the compilation target; None if unknown, in which case all unbound entries apply.
    """

    spec: Spec
    target: Target | None
    _exclusions: dict[int, Inapplicability | None] = field(default_factory=dict, init=False)
    _reasons: dict[mlir.Attribute, str] = field(default_factory=dict, init=False)

    @cached_property
    def is_bound_elsewhere(self) -> bool:
        """Whether the spec as a whole is bound to other targets."""
        return not suits(binding_of(self.spec.module), self.target, ())

    @cached_property
    def members(self) -> tuple[Spec, ...]:
        """The specs that were linked into the spec if it is a chain; empty otherwise."""
        return tuple(split(self.spec))

    def is_like(self, position: int | None = None) -> bool:
        """Return whether the entry at a position, or the spec as a whole, is for targets similar to this one."""
        if position is None:
            return not covers(binding_of(self.spec.module), self.target)
        entry = self.spec.anatomy.entry(position)
        return not covers(entry_binding(entry, entry.anatomy), self.target)

    def split(
        self, positions: Sequence[int] | None
    ) -> tuple[Sequence[int] | None, Sequence[int] | None]:
        """Split applicable entries (None for all) into entries for the target and entries for similar targets."""
        if self.target is None:
            return positions, ()
        if self.spec.kind is SpecKind.OPAQUE:
            return ((), positions) if self.is_like() else (positions, ())
        every = range(len(self.spec.anatomy.pairs)) if positions is None else positions
        like = dict.fromkeys(filter(self.is_like, every))
        if not like:
            return positions, ()
        if len(like) == len(every):
            return (), positions
        return tuple(position for position in every if position not in like), tuple(like)

    def among(self, positions: Sequence[int] | None) -> Sequence[int] | None:
        """Return the positions whose entries apply, out of `positions` (None for all); unchanged if all apply."""
        if self._is_excluded:
            return ()
        if self.spec.kind is SpecKind.OPAQUE:
            return positions
        every = range(len(self.spec.anatomy.pairs)) if positions is None else positions
        kept = tuple(position for position in every if self.exclusion(position) is None)
        return positions if len(kept) == len(every) else kept

    @cached_property
    def is_empty(self) -> bool:
        """Whether none of the entries applies."""
        if self._is_excluded or self.spec.kind is SpecKind.OPAQUE:
            return self._is_excluded
        return all(map(self.exclusion, range(len(self.spec.anatomy.pairs))))

    @property
    def _is_excluded(self) -> bool:
        return self.is_bound_elsewhere or (
            self.spec.kind is SpecKind.OPAQUE and self._whole is not None
        )

    def foreign(self) -> Iterator[Inapplicability]:
        """Yield the entries found to be foreign to the target so far."""
        exclusions = (*self._exclusions.values(), self.__dict__.get("_whole"))
        yield from dict.fromkeys(
            exclusion for exclusion in exclusions if exclusion and exclusion.is_foreign
        )

    def exclusion(self, position: int) -> Inapplicability | None:
        """Return the reason why the entry at `position` does not apply, or None if it applies."""
        if position not in self._exclusions:
            entry = self.spec.anatomy.entry(position)
            reason, is_foreign = _BOUND, False
            if is_bound_for(entry, self.target):
                values = (settings_of(self.spec, entry) or {}).values()
                reason, is_foreign = next(filter(None, map(self._why_foreign, values)), ""), True
            what = f"entry '{entry.matcher}'"
            excluded = Inapplicability(what, entry.place, reason, is_foreign) if reason else None
            self._exclusions[position] = excluded
        return self._exclusions[position]

    @cached_property
    def _whole(self) -> Inapplicability | None:
        """The reason why an opaque spec does not apply, or None if it applies."""
        for position in range(len(self.spec.anatomy.pairs)):
            exclusion = self.exclusion(position)
            if exclusion is not None:
                return exclusion
        what = f"opaque spec '{self.spec.name}'"
        for sequence in collect(self.spec.module, names.NAMED_SEQUENCE):
            binding = binding_of(sequence)
            if not suits(binding, self.target, ()):
                reason = f"'@{symbol_name(sequence)}' in it is bound to {', '.join(binding or ())}"
                return Inapplicability(what, place_of(sequence.location), reason, is_foreign=True)
        for constant in collect(self.spec.module, names.PARAM_CONSTANT):
            if reason := self._why_foreign(constant.attributes["value"]):
                return Inapplicability(what, place_of(constant.location), reason, is_foreign=True)
        return None

    def _why_foreign(self, value: mlir.Attribute) -> str:
        if self.target is None:
            return ""
        if value not in self._reasons:
            self._reasons[value] = foreign_reason(value, self.target)
        return self._reasons[value]


def is_bound_for(entry: Entry, target: Target | None) -> bool:
    """Return whether an entry is unbound, or bound to a target or to similar ones."""
    binding = entry_binding(entry, entry.anatomy)
    if covers(binding, target):
        return True
    # The element types in the matcher and in the sequences that it includes.
    operations: list[mlir.Operation] = []
    for _, sequence in entry.anatomy.table.closure(entry.matcher):
        visit(sequence, operations.append)
    types = {operand.type for operation in operations for operand in operation.operands}
    for operation in operations:
        attributes = operation.attributes.values()
        types |= {value.value for value in attributes if isinstance(value, mlir.TypeAttr)}
    return suits(binding, target, {str(element_type(type_)) for type_ in types})


@dataclass(eq=False)
class Selection:
    """The entries of specs that apply to the dispatches of one target."""

    target: Target | None
    _applicabilities: dict[int, Applicability] = field(default_factory=dict, init=False)

    def of(self, spec: Spec) -> Applicability:
        """Return the applicability of a spec's entries."""
        if id(spec) not in self._applicabilities:
            self._applicabilities[id(spec)] = Applicability(spec, self.target)
        return self._applicabilities[id(spec)]

    def is_whole(self, spec: Spec) -> bool:
        """Return whether a spec applies in full."""
        applicability = self.of(spec)
        if applicability.members:
            parts = map(self.is_whole, applicability.members)
            return not applicability.is_bound_elsewhere and all(parts)
        return applicability.among(None) is None

    def warn(self, diagnostics: DiagnosticSink) -> None:
        """Warn about entries found to be foreign to the target, naming the first few of each spec."""
        exclusions_by_source: dict[str, list[Inapplicability]] = {}
        for applicability in self._applicabilities.values():
            exclusions = exclusions_by_source.setdefault(applicability.spec.source, [])
            exclusions += applicability.foreign()
        for source, exclusions in exclusions_by_source.items():
            if exclusions:
                first, *rest = exclusions
                notes = [
                    note(f"nor is {other.what}: {other.reason}", other.place)
                    for other in rest[: _NAMED - 1]
                ]
                if len(exclusions) > _NAMED:
                    notes.append(note(f"nor are {len(exclusions) - _NAMED:,} more"))
                notes.append(note(f"'--spec TARGET={source}' binds a spec to its target"))
                message = (
                    f"{first.what} of '{source}' is not applied for {self.target}: {first.reason}"
                )
                diagnostics.emit(Diagnostic(Severity.WARNING, message, first.place, tuple(notes)))


_Scope = tuple[Binding, frozenset[str], frozenset[str]]


def scopes_of(spec: Spec, positions: Iterable[int]) -> list[_Scope]:
    """Return for each entry its scope: entries of one scope apply to the same targets, judging by intrinsics' names.

    The scope is the binding, the backends that accept the configuration, and the only GPU generations that have its
    intrinsics, unless the binding determines them.
    """

    @cache  # many entries have the same configuration
    def scope(binding: Binding, values: tuple[mlir.Attribute, ...]) -> _Scope:
        targets = [known_target_names().get(name) for name in binding or ()]
        bound = frozenset(target.backend for target in targets if target is not None)
        possible = bound if bound and None not in targets else frozenset(BACKENDS)
        backends = reduce(frozenset.intersection, map(backends_of, values), possible)
        generations = map(generation_of, values) if binding is None or len(binding) > 1 else ()
        return binding, backends, frozenset(filter(None, generations))

    entries = map(spec.anatomy.entry, positions)
    return [
        scope(entry_binding(entry, entry.anatomy), tuple((settings_of(spec, entry) or {}).values()))
        for entry in entries
    ]
