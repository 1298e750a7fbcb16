"""Deriving entries for the root ops of dispatches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuninglink.matching.derivation.changes import change_in_words
from tuninglink.matching.derivation.derivable import Derivable, derivable
from tuninglink.matching.derivation.renumbering import NotDerivableError, Renumbering
from tuninglink.matching.derivation.writing import derived_spec
from tuninglink.matching.differences import compare
from tuninglink.specs.structure import SpecKind

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from tuninglink.matching.derivation.problem_key import ProblemKey
    from tuninglink.matching.derivation.root_forms import RootForm
    from tuninglink.matching.prunable import PrunableSpec
    from tuninglink.specs.model import Spec

EntryList = tuple[int, "Sequence[int] | None"]
"""Entries of a spec: the position of the spec, and the positions of the entries; None for all."""


@dataclass(frozen=True)
class DerivedEntry:
    """An entry that was derived from another one.

    Attributes:
        spec: a spec that consists of it.
        source: the position of the spec that it was derived from.
    """

    spec: Spec
    source: int


class Deriver:
    """Derives entries from those of specs.

    Args:
        specs: the specs, in order of precedence. If one is opaque, nothing is derived, as it may decide any op.
    """

    def __init__(self, specs: Sequence[PrunableSpec]) -> None:
        is_readable = all(each.spec.kind is SpecKind.MATCHER_LIST for each in specs)
        self._lists = [_DerivableList(each) for each in specs] if is_readable else []
        self._derived: dict[Hashable, DerivedEntry | None] = {}

    def derive(
        self,
        roots: Callable[[], Sequence[RootForm]],
        lists: Sequence[EntryList],
    ) -> tuple[DerivedEntry, ...]:
        """Returns the entries that are derived for the root ops of a dispatch.

        Args:
            roots: reads the root ops.
            lists: the entries that apply and may match, in order of precedence.
        """
        if not self._lists or all(positions == () for _, positions in lists):
            return ()
        derived = [self._derive(root, lists) for root in roots()]
        return tuple(dict.fromkeys(each for each in derived if each is not None))

    def _derive(self, root: RootForm, lists: Sequence[EntryList]) -> DerivedEntry | None:
        """Derives from the first entry for the problem of a root op, unless an entry matches the op as written."""
        candidates = [
            (at, position)
            for at, positions in lists
            for position in self._lists[at].of(root.form.key, positions)
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


class _DerivableList:
    """The entries of a matcher list, by the problems that they are for."""

    def __init__(self, prunable: PrunableSpec) -> None:
        self._prunable = prunable
        self._spec = prunable.spec
        self._entries: dict[int, Derivable | None] = {}
        self._by_key: dict[ProblemKey, list[int]] | None = None

    def of(self, key: ProblemKey, positions: Sequence[int] | None) -> Iterator[int]:
        """Yields which of the entries at some positions are for a problem; None for all positions."""
        if positions is None:
            yield from self._all().get(key, ())
            return
        for position in positions:
            entry = self._entry(position)
            if entry is not None and entry.form.key == key:
                yield position

    def _all(self) -> dict[ProblemKey, list[int]]:
        if self._by_key is None:
            self._by_key = {}
            for position in range(len(self._spec.anatomy.pairs)):
                entry = self._entry(position)
                if entry is not None:
                    self._by_key.setdefault(entry.form.key, []).append(position)
        return self._by_key

    def _entry(self, position: int) -> Derivable | None:
        if position not in self._entries:
            matcher = self._prunable.matcher(position)
            self._entries[position] = derivable(self._spec.anatomy, position, matcher)
        return self._entries[position]

    def matches(self, position: int, root: RootForm) -> bool:
        """Tells whether an entry matches a root op as it is written."""
        return compare(self._prunable.matcher(position), root.op).matches is True

    def derived(self, at: int, position: int, root: RootForm) -> DerivedEntry | None:
        """Returns the entry that is derived from one of them for a root op, None if there is none."""
        source = self._entry(position)
        assert source is not None
        if any(
            size is not None and size != root.form.windows.get(place)
            for place, size in source.form.windows.items()
        ):
            return None
        renumbering = Renumbering.between(source.form, root.form, root.op.iterator_types)
        try:
            settings = {
                name: renumbering.configuration(name, value)
                for name, value in source.settings.items()
            }
        except NotDerivableError:
            return None
        entry = self._spec.anatomy.entry(position)
        change = change_in_words(renumbering.mapping, root.op.roles)
        spec = derived_spec(self._spec, entry, settings, root, change)
        return DerivedEntry(spec, at)
