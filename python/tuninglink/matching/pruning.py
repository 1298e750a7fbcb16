"""Giving each dispatch only the entries that may match in it.

The compiler tries every entry on every operation of every dispatch. An entry is left out only where what the
compiler preserves of a dispatch rules it out, so that a program is configured exactly as by the whole spec.
"""

from __future__ import annotations

import gc
from functools import cached_property
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.matching.dispatch_signature import ANYTHING, DispatchSignature
from tuninglink.matching.entry_index import EntryIndex
from tuninglink.matching.pruning_keys import PruningKey, pruning_key
from tuninglink.matching.reader import MatcherReader
from tuninglink.mlir import names
from tuninglink.mlir.walk import visit
from tuninglink.specs.entry_subsets import Subsets
from tuninglink.specs.linking.chains import chained_modules
from tuninglink.specs.linking.forms import LinkForm, choose_form
from tuninglink.specs.linking.linker import LINKED_SPEC_NAME, Share, link_nothing, link_shares
from tuninglink.specs.model import Spec
from tuninglink.specs.side_effects import only_reads
from tuninglink.specs.structure import SpecKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.mlir.diagnostics import DiagnosticSink
    from tuninglink.specs.applicability import Selection
    from tuninglink.specs.linking.linker import LinkedSpec

_RUNNING: Final = frozenset(
    {
        names.COLLECT_MATCHING,
        names.FOREACH,
        names.FOREACH_MATCH,
        names.INCLUDE,
        names.NAMED_SEQUENCE,
    }
)
"""Operations of a spec that do what the operations do that they run."""

_STRUCTURAL: Final = frozenset(
    {"indexing_maps", "iterator_types", "operandSegmentSizes", "operand_segment_sizes"}
)
"""Attributes without which an operation is another one."""


class PrunableSpec:
    """A spec, some of whose entries can be left out.

    Args:
        spec: any spec. Of an opaque one nothing can be left out.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    @cached_property
    def is_prunable(self) -> bool:
        """Whether entries can be left out at all."""
        if self.spec.kind is SpecKind.OPAQUE:
            return False
        anatomy = self.spec.anatomy
        actions = {action for _, action in anatomy.pairs}
        return not any(
            each.name in _STRUCTURAL for action in actions for each in anatomy.annotations(action)
        )

    @cached_property
    def _subsets(self) -> Subsets:
        return Subsets(self.spec)

    @cached_property
    def index(self) -> EntryIndex:
        """Finds the entries that may match in a dispatch."""
        reader = MatcherReader(self.spec.anatomy.table)
        keys: dict[str, PruningKey] = {}
        for matcher, _ in self.spec.anatomy.pairs:
            if matcher not in keys:
                keys[matcher] = pruning_key(reader.read(matcher).predicates)
        return EntryIndex([keys[matcher] for matcher, _ in self.spec.anatomy.pairs])

    def share(self, kept: Sequence[int]) -> Share:
        """Returns what is linked if the entries at the positions `kept` are wanted."""
        if not kept:
            return Share(self.spec, None, kept)
        if len(kept) == len(self.spec.anatomy.pairs):
            return Share(self.spec, self.spec)
        return Share(self.spec, self._subsets.subset(kept), kept)


class Pruning:
    """What it takes to prune specs, read once for each."""

    def __init__(self) -> None:
        self._specs: dict[int, PrunableSpec] = {}

    def prunable(self, spec: Spec) -> PrunableSpec:
        """Returns what it takes to prune a spec, to be read when it is needed."""
        return self._specs.setdefault(id(spec), PrunableSpec(spec))

    def prepare(self, spec: Spec) -> None:
        """Reads all that it takes to prune a spec."""
        collects = gc.isenabled()
        gc.disable()  # What is read stays, and looking for garbage in it takes a fifth of the time.
        try:
            if spec.kind is SpecKind.MATCHER_LIST:
                spec.anatomy.reaches_other_ops  # noqa: B018 - it remembers
                self.prunable(spec).index  # noqa: B018
        finally:
            if collects:
                gc.enable()


class PruningLinker:
    """Links specs for dispatches, each with the entries that may match in it.

    What is the same for two dispatches is linked once. A single spec that was linked into a chain before is taken
    apart again: what it was linked from are the parts of the result.

    Args:
        specs: at least one spec, in order of precedence, all in one context.
        name: the symbol of the results.
        diagnostics: told about specs that may override an earlier one, once.
        selection: the entries that apply at all; all of them by default.
        pruning: what is known of specs already.

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
    ) -> None:
        self._given = specs  # What is taken apart lives as long as the whole.
        form = choose_form(specs, diagnostics=diagnostics)
        if len(specs) == 1 and (modules := chained_modules(specs[0].module)):
            # What was linked into a chain before is pruned part by part.
            name = specs[0].name
            is_for_others = selection is not None and selection.of(specs[0]).is_bound_elsewhere
            specs = [] if is_for_others else [Spec(module, specs[0].source) for module in modules]
            form = LinkForm.CHAINED
        self._name = name
        self._form = form
        self._selection = selection
        self._specs = list(map((pruning or Pruning()).prunable, specs))
        self._linked: dict[tuple[Sequence[int] | None, ...], LinkedSpec | None] = {}

    @cached_property
    def _prunable(self) -> list[bool]:
        """For each spec, whether entries of it can be left out: not behind a spec that changes programs."""
        prunable: list[bool] = []
        is_as_it_was = True
        for each in self._specs:
            prunable.append(is_as_it_was and each.is_prunable)
            is_as_it_was = is_as_it_was and (
                each.is_prunable or not may_restructure(each.spec.module)
            )
        return prunable

    def link(
        self, signature: DispatchSignature, *, never_nothing: bool = False
    ) -> LinkedSpec | None:
        """Links what may match in a dispatch.

        Args:
            signature: what is known of the dispatch.
            never_nothing: whether there is to be a linked spec even if no entry may match.

        Returns:
            The linked spec, the same object for the same entries; None if no entry may match.
        """
        kept: list[Sequence[int] | None] = [None for _ in self._specs]
        if signature != ANYTHING:
            kept = [
                each.index.candidates(signature) if is_prunable else None
                for each, is_prunable in zip(self._specs, self._prunable, strict=True)
            ]
        linked = self._link_kept(tuple(map(self._applicable, self._specs, kept)))
        return self._nothing if linked is None and never_nothing else linked

    @cached_property
    def _nothing(self) -> LinkedSpec:
        """A spec that configures nothing, to take the place of another one."""
        return link_nothing(self._given, name=self._name)

    def _applicable(
        self, prunable: PrunableSpec, positions: Sequence[int] | None
    ) -> Sequence[int] | None:
        """Returns those of the entries at `positions`, None for all, that apply at all."""
        if self._selection is None:
            return positions
        applicability = self._selection.of(prunable.spec)
        if self._selection.members(prunable.spec):
            return () if applicability.is_bound_elsewhere else positions
        return applicability.among(positions)

    def _link_kept(self, kept: tuple[Sequence[int] | None, ...]) -> LinkedSpec | None:
        if kept not in self._linked:
            shares = [
                Share(each.spec, self._whole(each.spec)) if some is None else each.share(some)
                for each, some in zip(self._specs, kept, strict=True)
            ]
            self._linked[kept] = link_shares(shares, self._form, name=self._name)
        return self._linked[kept]

    def _whole(self, spec: Spec) -> Spec | None:
        """Returns a spec of which no entry is left out by its position: of a chain the members that apply."""
        if self._selection is None or self._selection.is_whole(spec):
            return spec
        linked = PruningLinker([spec], selection=self._selection).link(ANYTHING)
        return linked.spec if linked else None


def may_restructure(module: mlir.Operation) -> bool:
    """Tells whether a spec may do more to a program than setting attributes on its operations."""
    found: list[mlir.Operation] = []

    def visitor(operation: mlir.Operation) -> None:
        name = operation.name
        if name == names.ANNOTATE:
            attribute = operation.attributes["name"]
            if isinstance(attribute, mlir.StringAttr) and attribute.value in _STRUCTURAL:
                found.append(operation)
        elif name.startswith("transform.") and name not in _RUNNING and not only_reads(operation):
            found.append(operation)

    visit(module, visitor)
    return bool(found)
