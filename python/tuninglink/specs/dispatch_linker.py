"""Linking the same specs for many dispatches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tuninglink.mlir.diagnostics import DiagnosticSink
from tuninglink.specs.chained import chained_modules
from tuninglink.specs.linking import LINKED_SPEC_NAME, Form, Share, choose_form, link_shares
from tuninglink.specs.model import Spec
from tuninglink.specs.subsets import Subsets

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.specs.linking import LinkedSpec

Kept = tuple[Sequence[int] | None, ...]
"""For each spec the positions of the entries that are linked; None for all."""


class DispatchLinker:
    """Links specs for dispatches: all of their entries, for every dispatch.

    What is the same for two dispatches is linked once. A single spec that was linked into a chain before is taken
    apart again: what it was linked from are the parts of the result.

    Args:
        specs: at least one spec, in order of precedence, all in one context.
        diagnostics: told about specs that may override an earlier one, once.

    Attributes:
        specs: what is linked, taken apart.

    Raises:
        SpecError: a spec cannot be linked.
    """

    def __init__(self, specs: Sequence[Spec], diagnostics: DiagnosticSink | None = None) -> None:
        self._given = specs  # What is taken apart lives as long as the whole.
        self._form = choose_form(specs, diagnostics=diagnostics)
        self._name = LINKED_SPEC_NAME
        self.specs = list(specs)
        if len(specs) == 1 and (modules := chained_modules(specs[0].module)):
            self._name, self._form = specs[0].name, Form.CHAINED
            self.specs = [Spec(module, specs[0].source) for module in modules]
        self._subsets: dict[int, Subsets] = {}
        self._linked: dict[Kept, LinkedSpec | None] = {}

    def link(self, module: mlir.Operation, *, never_nothing: bool = False) -> LinkedSpec | None:  # noqa: ARG002
        """Links what a dispatch gets.

        Args:
            module: the module of the dispatch.
            never_nothing: whether an entry is to be linked even if none may match.

        Returns:
            The linked spec, the same object for the same entries; None if no entry may match.
        """
        return self.link_kept((None,) * len(self.specs))

    def link_kept(self, kept: Kept) -> LinkedSpec | None:
        """Links some entries of each spec; returns None if these are none at all."""
        if kept not in self._linked:
            shares = [self._share(position, some) for position, some in enumerate(kept)]
            self._linked[kept] = link_shares(shares, self._form, name=self._name)
        return self._linked[kept]

    def _share(self, position: int, kept: Sequence[int] | None) -> Share:
        spec = self.specs[position]
        if kept is None or len(kept) == len(spec.anatomy.pairs):
            return Share(spec, spec)
        if not kept:
            return Share(spec, None, kept)
        if position not in self._subsets:
            self._subsets[position] = Subsets(spec)
        return Share(spec, self._subsets[position].subset(kept), kept)


LinkerFactory = Callable[[Sequence[Spec], DiagnosticSink | None], DispatchLinker]
"""Makes the linker of some specs."""
