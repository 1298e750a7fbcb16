"""The derivation of entries for the root ops of dispatches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuninglink.matching.derivation.derivable import Derivable, derivable
from tuninglink.matching.derivation.derived_spec import MatchedForm, derived_spec, matched_form
from tuninglink.matching.derivation.renumbering import NotDerivableError, Renumbering
from tuninglink.matching.differences import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from tuninglink.iree.op_kinds import Role
    from tuninglink.matching.derivation.problem_forms import ProblemForm, ProblemKey, RootForm
    from tuninglink.matching.derivation.renumbering import LoopMapping
    from tuninglink.matching.prunable import PrunableSpec
    from tuninglink.specs.spec import Spec

EntryList = tuple[int, "Sequence[int] | None"]
"""Entries of a spec: the position of the spec, and the positions of the entries; None for all."""


@dataclass(frozen=True)
class DerivedEntry:
    """An entry derived from another one.

    Attributes:
        spec: a spec that consists of this entry.
        source: the position of the spec from which it was derived.
    """

    spec: Spec
    source: int


class Deriver:
    """Derives entries from those of specs.

    Args:
        specs: the specs, in order of precedence. If one is opaque, nothing is derived, since it may decide any op.
    """

    def __init__(self, specs: Sequence[PrunableSpec]) -> None:
        is_readable = all(spec.spec.anatomy.is_readable for spec in specs)
        self._lists = [DerivableList(spec) for spec in specs] if is_readable else []
        self._derived: dict[Hashable, DerivedEntry | None] = {}

    def derive(
        self,
        roots: Callable[[], Sequence[RootForm]],
        lists: Sequence[EntryList],
    ) -> tuple[DerivedEntry, ...]:
        """Return the derived entries for the root ops of a dispatch.

        Args:
            roots: reads the root ops.
            lists: the entries that apply and may match, in order of precedence.
        """
        if not self._lists or all(positions == () for _, positions in lists):
            return ()
        derived = [self._derive(root, lists) for root in roots()]
        return tuple(dict.fromkeys(entry for entry in derived if entry is not None))

    def _derive(self, root: RootForm, lists: Sequence[EntryList]) -> DerivedEntry | None:
        """Derive from the first entry for the problem of a root op, unless an entry matches the op directly."""
        candidates = [
            (at, position)
            for at, positions in lists
            for position in self._lists[at].of(root, positions)
        ]
        if any(self._lists[at].matches(position, root) for at, position in candidates):
            return None
        for at, position in candidates:
            key = at, position, root.op.key
            if key not in self._derived:
                self._derived[key] = self._lists[at].derived(at, position, root)
            if self._derived[key] is not None:
                return self._derived[key]
        return None


class DerivableList:
    """The entries of a matcher list, by problem."""

    def __init__(self, prunable: PrunableSpec) -> None:
        self._prunable = prunable
        self._spec = prunable.spec
        self._entries: dict[int, Derivable | None] = {}
        self._by_key: dict[ProblemKey, list[int]] | None = None

    def of(self, root: RootForm, positions: Sequence[int] | None) -> Iterator[int]:
        """Yield those of the entries at some positions that are for the problem of an op; None means all positions."""
        key = root.form.key
        for position in self._all().get(key, ()) if positions is None else positions:
            entry = self.entry(position)
            if entry is not None and entry.form.key == key and _fits(entry.form, root.form):
                yield position

    def _all(self) -> dict[ProblemKey, list[int]]:
        if self._by_key is None:
            self._by_key = {}
            for position in range(len(self._spec.anatomy.pairs)):
                entry = self.entry(position)
                if entry is not None:
                    self._by_key.setdefault(entry.form.key, []).append(position)
        return self._by_key

    def entry(self, position: int) -> Derivable | None:
        """Return the derivable form of the entry at a position; None if it is not derivable."""
        if position not in self._entries:
            matcher = self._prunable.matcher(position)
            self._entries[position] = derivable(self._spec.anatomy, position, matcher)
        return self._entries[position]

    def matches(self, position: int, root: RootForm) -> bool:
        """Return whether an entry matches a root op directly."""
        return compare(self._prunable.matcher(position), root.op).matches is True

    def derived(self, at: int, position: int, root: RootForm) -> DerivedEntry | None:
        """Return the entry derived for a root op from the one at a position, None if not derivable."""
        spec = self.written_for(position, matched_form(root.op, root.form))
        return None if spec is None else DerivedEntry(spec, at)

    def written_for(self, position: int, form: MatchedForm) -> Spec | None:
        """Return a spec with the entry derived for a form from the one at a position, None if not derivable."""
        source = self.entry(position)
        assert source is not None
        renumbering = Renumbering.between(source.form, form.form, form.iterators)
        try:
            settings = {
                name: renumbering.configuration(name, value)
                for name, value in source.settings.items()
            }
        except NotDerivableError:
            return None
        entry = self._spec.anatomy.entry(position)
        change = change_in_words(renumbering.mapping, form.roles)
        return derived_spec(self._spec, entry, settings, form, change)


def _fits(entry: ProblemForm, root: ProblemForm) -> bool:
    """Return whether the image of a convolution has the size that an entry requires."""
    return all(
        size is None or size == root.windows.get(place) for place, size in entry.windows.items()
    )


def change_in_words(mapping: LoopMapping, roles: Sequence[Role]) -> str:
    """Return the change between two forms of a problem in words, such as `unit batch added`.

    Args:
        mapping: the correspondence of the loops of the two forms.
        roles: the roles of the loops of the new form.
    """
    added = [roles[loop].value for loop, source in enumerate(mapping.sources) if source is None]
    kept = [source for source in mapping.sources if source is not None]
    words = [f"unit {fromkey} added" for fromkey in dict.fromkeys(added)]
    if mapping.dropped:
        count = len(mapping.dropped)
        words.append("unit loop removed" if count == 1 else f"{count} unit loops removed")
    if kept != sorted(kept):
        words.append("loops reordered")
    return ", ".join(words) or "scale of another type"
