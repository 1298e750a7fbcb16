"""Giving each dispatch only the entries that may match in it.

The compiler tries every entry on every operation of every dispatch. An entry is left out only where what the
compiler preserves of a dispatch rules it out, so that a program is configured exactly as by the whole spec.
"""

from __future__ import annotations

import gc
from functools import cached_property
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.matching.dispatch_signature import ANYTHING, Preserved
from tuninglink.mlir import names
from tuninglink.mlir.walk import visit
from tuninglink.specs.chained import chained_modules
from tuninglink.specs.linking import (
    LINKED_SPEC_NAME,
    Form,
    Share,
    choose_form,
    link_nothing,
    link_shares,
)
from tuninglink.specs.model import Spec
from tuninglink.specs.structure import Kind
from tuninglink.specs.subsets import Subsets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.mlir.diagnostics import DiagnosticSink
    from tuninglink.specs.applicability import Selection
    from tuninglink.specs.linking import LinkedSpec

_READING: Final = frozenset(
    {
        names.ANNOTATE,
        names.COLLECT_MATCHING,
        names.FOREACH,
        names.FOREACH_MATCH,
        names.INCLUDE,
        names.NAMED_SEQUENCE,
        names.PARAM_CONSTANT,
        names.PRINT,
        names.YIELD,
    }
)
_READING_PREFIXES: Final = ("transform.get_", "transform.iree.match.", "transform.match.")
"""Operations of a spec that leave the structure of a program as it is."""

_STRUCTURAL: Final = frozenset(
    {"indexing_maps", "iterator_types", "operandSegmentSizes", "operand_segment_sizes"}
)
"""Attributes without which an operation is another one."""


class PrunableSpec:
    """A spec, some of whose entries can be left out.

    Args:
        spec: any spec. Of an opaque one nothing can be left out.
        selection: the entries that apply at all; None for all of them.
    """

    def __init__(self, spec: Spec, selection: Selection | None = None) -> None:
        self.spec = spec
        self._selection = selection

    @cached_property
    def is_prunable(self) -> bool:
        """Whether entries can be left out at all."""
        if self.spec.kind is Kind.OPAQUE:
            return False
        anatomy = self.spec.anatomy
        actions = {action for _, action in anatomy.pairs}
        return not any(
            each.name in _STRUCTURAL for action in actions for each in anatomy.annotations(action)
        )

    @cached_property
    def _subsets(self) -> Subsets:
        return Subsets(self.spec)

    def candidates(self, preserved: Preserved) -> Sequence[int]:
        """Returns the positions of the entries that may match in a dispatch, in order."""
        return self.spec.anatomy.entry_index.candidates(preserved)

    def applicable(self, positions: Sequence[int] | None) -> Sequence[int] | None:
        """Returns those of the entries at `positions`, None for all, that apply at all."""
        if self._selection is None:
            return positions
        applicability = self._selection.of(self.spec)
        if self._selection.members(self.spec):
            return () if applicability.is_bound_elsewhere else positions
        return applicability.among(positions)

    def share(self, kept: Sequence[int] | None) -> Share:
        """Returns what is linked if the entries at the positions `kept` are wanted; None wants all."""
        if kept is None:
            return Share(self.spec, self._whole)
        if not kept:
            return Share(self.spec, None, kept)
        if len(kept) == len(self.spec.anatomy.pairs):
            return Share(self.spec, self.spec)
        return Share(self.spec, self._subsets.subset(kept), kept)

    @cached_property
    def _whole(self) -> Spec | None:
        """The spec; of a chain the members that apply."""
        if self._selection is None or self._selection.is_whole(self.spec):
            return self.spec
        linked = PruningLinker([self.spec], selection=self._selection).link(ANYTHING)
        return linked.spec if linked else None


def prepare_pruning(spec: Spec) -> None:
    """Reads all that pruning `spec` takes, which it would otherwise do when it is needed."""
    collects = gc.isenabled()
    gc.disable()  # What is read stays, and looking for garbage in it takes a fifth of the time.
    try:
        if spec.kind is Kind.MATCHER_LIST:
            spec.anatomy.reaches_other_ops  # noqa: B018 - it remembers
            spec.anatomy.entry_index  # noqa: B018
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
    ) -> None:
        self._given = specs  # What is taken apart lives as long as the whole.
        form = choose_form(specs, diagnostics=diagnostics)
        if len(specs) == 1 and (modules := chained_modules(specs[0].module)):
            # What was linked into a chain before is pruned part by part.
            name = specs[0].name
            is_for_others = selection is not None and selection.of(specs[0]).is_bound_elsewhere
            specs = [] if is_for_others else [Spec(module, specs[0].source) for module in modules]
            form = Form.CHAINED
        self._name = name
        self._form = form
        self._specs = [PrunableSpec(each, selection) for each in specs]
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

    def link(self, preserved: Preserved, *, never_nothing: bool = False) -> LinkedSpec | None:
        """Links what may match in a dispatch.

        Args:
            preserved: what is known of the dispatch.
            never_nothing: whether there is to be a linked spec even if no entry may match.

        Returns:
            The linked spec, the same object for the same entries; None if no entry may match.
        """
        kept: list[Sequence[int] | None] = [None for _ in self._specs]
        if preserved != ANYTHING:
            kept = [
                each.candidates(preserved) if is_prunable else None
                for each, is_prunable in zip(self._specs, self._prunable, strict=True)
            ]
        applicable = zip(self._specs, kept, strict=True)
        linked = self._link_kept(tuple(each.applicable(some) for each, some in applicable))
        return self._nothing if linked is None and never_nothing else linked

    @cached_property
    def _nothing(self) -> LinkedSpec:
        """A spec that configures nothing, to take the place of another one."""
        return link_nothing(self._given, name=self._name)

    def _link_kept(self, kept: tuple[Sequence[int] | None, ...]) -> LinkedSpec | None:
        if kept not in self._linked:
            shares = [each.share(some) for each, some in zip(self._specs, kept, strict=True)]
            self._linked[kept] = link_shares(shares, self._form, name=self._name)
        return self._linked[kept]


def may_restructure(module: mlir.Operation) -> bool:
    """Tells whether a spec may do more to a program than setting attributes on its operations."""
    found: list[mlir.Operation] = []

    def visitor(operation: mlir.Operation) -> None:
        name = operation.name
        if name == names.ANNOTATE:
            attribute = operation.attributes["name"]
            if isinstance(attribute, mlir.StringAttr) and attribute.value in _STRUCTURAL:
                found.append(operation)
        elif name.startswith("transform.") and not (
            name in _READING or name.startswith(_READING_PREFIXES)
        ):
            found.append(operation)

    visit(module, visitor)
    return bool(found)
