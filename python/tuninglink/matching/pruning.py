"""Pruning: each dispatch receives only the entries that may match in it.

The compiler tries every entry on every operation of every dispatch. An entry is pruned only if the properties that the
compiler preserves rule out a match, so that a program is configured exactly as by the whole spec.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.matching.derivation.deriver import DerivedEntry, Deriver, EntryList
from tuninglink.matching.dispatch_signature import ANYTHING, DispatchSignature
from tuninglink.matching.prunable import STRUCTURAL, PrunableSpec, Pruning
from tuninglink.mlir import names
from tuninglink.mlir.walk import visit
from tuninglink.specs.linking.chains import split
from tuninglink.specs.linking.link_form import LinkForm, choose_form
from tuninglink.specs.linking.linker import (
    LINKED_SPEC_NAME,
    LinkedSpec,
    Part,
    link_nothing,
    link_parts,
)
from tuninglink.specs.side_effects import only_reads
from tuninglink.specs.spec import Spec

if TYPE_CHECKING:
    from tuninglink.matching.derivation.problem_forms import RootForm
    from tuninglink.mlir.diagnostics import DiagnosticSink
    from tuninglink.specs.applicability import Selection

_RUNNING: Final = frozenset(
    {
        names.COLLECT_MATCHING,
        names.FOREACH,
        names.FOREACH_MATCH,
        names.INCLUDE,
        names.NAMED_SEQUENCE,
    }
)
"""The operations of a spec whose effects are those of the operations that they run."""


class PruningLinker:
    """Links specs for dispatches, with only the entries that may match.

    Equal results for several dispatches are linked once. A single spec that was already linked as a chain is split
    again: its original specs become the parts of the result.

    Args:
        specs: at least one spec, in order of precedence, all in one context.
        name: the symbol of the results.
        diagnostics: receives warnings about specs that may override an earlier one, once.
        selection: the applicable entries; all of them by default.
        pruning: existing pruning data of specs.
        sources: the positions of specs in the parts of results; by default those in `specs`. The parts of a chain are
            numbered.

    Raises:
        SpecError: a spec cannot be linked.
    """

    def __init__(
        self,
        specs: Sequence[Spec],
        *,
        name: str = LINKED_SPEC_NAME,
        diagnostics: DiagnosticSink | None = None,
        selection: Selection | None = None,
        pruning: Pruning | None = None,
        sources: Sequence[int] | None = None,
    ) -> None:
        self._given = specs  # The parts of a chain live as long as the whole.
        form = choose_form(specs, diagnostics=diagnostics)
        if len(specs) == 1 and (members := split(specs[0])):
            # A previously linked chain is pruned part by part.
            name = specs[0].name
            is_for_others = selection is not None and selection.of(specs[0]).is_bound_elsewhere
            specs = [] if is_for_others else members
            form = LinkForm.CHAINED
            sources = None
        self._name = name
        self._form = form
        self._selection = selection
        self._sources = sources
        self._specs = list(map((pruning or Pruning()).prunable, specs))
        self._deriver = Deriver(self._specs)
        self._forms_with: dict[object, LinkForm] = {}
        self._linked: dict[object, LinkedSpec | None] = {}

    @cached_property
    def _prunable(self) -> list[bool]:
        """For each spec, whether it can be pruned; specs after one that changes programs cannot."""
        prunable: list[bool] = []
        is_as_it_was = True
        for spec in self._specs:
            prunable.append(is_as_it_was and spec.is_prunable)
            is_as_it_was = is_as_it_was and (
                spec.is_prunable or not may_restructure(spec.spec.module)
            )
        return prunable

    def link(
        self,
        signature: DispatchSignature,
        roots: Callable[[], Sequence[RootForm]] = tuple,
        *,
        never_nothing: bool = False,
    ) -> LinkedSpec | None:
        """Link the entries that may match in a dispatch.

        Args:
            signature: the signature of the dispatch.
            roots: reads the root ops for which entries are derived and appended; none by default.
            never_nothing: whether to return a linked spec even if no entry can match.

        Returns:
            The linked spec, the same object for the same entries; None if no entry may match.
        """
        kept: list[Sequence[int] | None] = [None for _ in self._specs]
        if signature != ANYTHING:
            kept = [
                each.index.candidates(signature) if is_prunable else None
                for each, is_prunable in zip(self._specs, self._prunable, strict=True)
            ]
        lists = self._lists(kept)
        linked = self._link_lists(lists, self._deriver.derive(roots, lists))
        return self._nothing if linked is None and never_nothing else linked

    @cached_property
    def _nothing(self) -> LinkedSpec:
        """An empty spec that replaces another one."""
        return link_nothing(self._given, name=self._name)

    def _applicable(
        self, prunable: PrunableSpec, positions: Sequence[int] | None
    ) -> Sequence[int] | None:
        """Return the applicable entries among those at `positions`; None means all entries."""
        if self._selection is None:
            return positions
        applicability = self._selection.of(prunable.spec)
        if self._selection.members(prunable.spec):
            return () if applicability.is_bound_elsewhere else positions
        return applicability.among(positions)

    def _lists(self, kept: Sequence[Sequence[int] | None]) -> tuple[EntryList, ...]:
        """Return the applicable entries; those for similar targets come last."""
        applicable = [self._applicable(*each) for each in zip(self._specs, kept, strict=True)]
        if self._selection is None:
            return tuple(enumerate(applicable))
        exact: list[EntryList] = []
        like: list[EntryList] = []
        for at, positions in enumerate(applicable):
            spec = self._specs[at].spec
            if self._selection.members(spec):
                exact.append((at, positions))
                continue
            own, others = self._selection.of(spec).split(positions)
            exact.append((at, own))
            like += [(at, others)] if others != () else []
        return (*exact, *like)

    def _link_lists(
        self, lists: tuple[EntryList, ...], derived: tuple[DerivedEntry, ...]
    ) -> LinkedSpec | None:
        key = lists, derived
        if key not in self._linked:
            parts = [replace(self._part(*list_), source=self._source(list_[0])) for list_ in lists]
            parts += [
                Part(each.spec, each.spec, source=self._source(each.source)) for each in derived
            ]
            used = [part for part in parts if part.copy is not None]
            is_as_given = len(used) <= 1 and self._form is LinkForm.UNTOUCHED
            if is_as_given or len(parts) == len(self._specs):
                form = self._form
            else:
                form = self._form_with(parts[len(self._specs) :])
            linked = used if is_as_given else parts
            self._linked[key] = link_parts(linked, form, name=self._name) if linked else None
        return self._linked[key]

    def _source(self, position: int) -> int:
        return position if self._sources is None else self._sources[position]

    def _part(self, at: int, positions: Sequence[int] | None) -> Part:
        prunable = self._specs[at]
        if positions is None:
            return Part(prunable.spec, self._whole(prunable.spec))
        return prunable.part(positions)

    def _form_with(self, added: Sequence[Part]) -> LinkForm:
        """Return the link form with appended lists; all derived entries require the same kinds of predicates."""
        if self._form is LinkForm.CHAINED:
            return self._form
        given = [spec.spec for spec in self._specs]
        key = tuple(each.spec in given and each.source for each in added)
        if key not in self._forms_with:
            specs = [*(each.spec for each in self._specs), *(each.spec for each in added)]
            self._forms_with[key] = choose_form(specs)
        return self._forms_with[key]

    def _whole(self, spec: Spec) -> Spec | None:
        """Return an unpruned spec; of a chain, its applicable members."""
        if self._selection is None or self._selection.is_whole(spec):
            return spec
        linked = PruningLinker([spec], selection=self._selection).link(ANYTHING)
        return linked.spec if linked else None


def may_restructure(module: mlir.Operation) -> bool:
    """Return whether a spec may change a program other than by setting attributes."""
    result: list[mlir.Operation] = []

    def visitor(operation: mlir.Operation) -> None:
        name = operation.name
        if name == names.ANNOTATE:
            attribute = operation.attributes["name"]
            if isinstance(attribute, mlir.StringAttr) and attribute.value in STRUCTURAL:
                result.append(operation)
        elif name.startswith("transform.") and name not in _RUNNING and not only_reads(operation):
            result.append(operation)

    visit(module, visitor)
    return bool(result)
