"""Giving each dispatch only the entries that may match in it.

The compiler tries every entry on every operation of every dispatch. An entry is left out only where the signature of a
dispatch rules it out, so that a program is configured exactly as by the whole spec.
"""

from __future__ import annotations

import gc
from functools import cached_property
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.matching.dispatch_signature import ANYTHING, SignatureReader
from tuninglink.matching.entry_index import EntryIndex
from tuninglink.matching.pruning_keys import pruning_key
from tuninglink.matching.reader import MatcherReader
from tuninglink.mlir import names
from tuninglink.mlir.walk import visit
from tuninglink.specs.dispatch_linker import DispatchLinker
from tuninglink.specs.structure import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.matching.dispatch_signature import DispatchSignature
    from tuninglink.mlir.diagnostics import DiagnosticSink
    from tuninglink.specs.linking import LinkedSpec
    from tuninglink.specs.model import Spec

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
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

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
    def index(self) -> EntryIndex:
        """Finds the entries that may match in a dispatch."""
        reader = MatcherReader(self.spec.anatomy.table)
        keys = {}
        for matcher, _ in self.spec.anatomy.pairs:
            if matcher not in keys:
                keys[matcher] = pruning_key(reader.read(matcher).predicates)
        return EntryIndex([keys[matcher] for matcher, _ in self.spec.anatomy.pairs])


class Pruning:
    """Makes linkers that leave out entries. What it takes to prune a spec is read once."""

    def __init__(self) -> None:
        self._specs: dict[int, PrunableSpec] = {}

    def prepare(self, spec: Spec) -> None:
        """Reads all that pruning `spec` takes, which would otherwise be done when it is needed."""
        collects = gc.isenabled()
        gc.disable()  # What is read stays, and looking for garbage in it takes a fifth of the time.
        try:
            if spec.kind is Kind.MATCHER_LIST:
                spec.anatomy.reaches_other_ops  # noqa: B018 - it remembers
                self.prunable(spec).index  # noqa: B018
        finally:
            if collects:
                gc.enable()

    def prunable(self, spec: Spec) -> PrunableSpec:
        """Returns what is known for pruning a spec."""
        return self._specs.setdefault(id(spec), PrunableSpec(spec))

    def linker(
        self, specs: Sequence[Spec], diagnostics: DiagnosticSink | None = None
    ) -> PruningLinker:
        """Returns the linker of some specs."""
        return PruningLinker(specs, diagnostics, self)


class PruningLinker(DispatchLinker):
    """Links specs for dispatches, each with the entries that may match in it.

    Args:
        specs: at least one spec, in order of precedence, all in one context.
        diagnostics: told about specs that may override an earlier one, once.
        pruning: what was read of specs before.

    Raises:
        SpecError: a spec cannot be linked.
    """

    def __init__(
        self,
        specs: Sequence[Spec],
        diagnostics: DiagnosticSink | None = None,
        pruning: Pruning | None = None,
    ) -> None:
        super().__init__(specs, diagnostics)
        pruning = pruning or Pruning()
        self._prunable_specs = list(map(pruning.prunable, self.specs))
        self._signatures = SignatureReader()

    @cached_property
    def _prunable(self) -> list[bool]:
        """For each spec, whether entries of it can be left out: not behind a spec that changes programs."""
        prunable: list[bool] = []
        is_as_it_was = True
        for each in self._prunable_specs:
            prunable.append(is_as_it_was and each.is_prunable)
            is_as_it_was = is_as_it_was and (
                each.is_prunable or not may_restructure(each.spec.module)
            )
        return prunable

    def link(self, module: mlir.Operation, *, never_nothing: bool = False) -> LinkedSpec | None:
        """Links what may match in a dispatch; see `DispatchLinker.link`."""
        return self.link_for(self._signatures.read(module), never_nothing=never_nothing)

    def link_for(
        self, signature: DispatchSignature, *, never_nothing: bool = False
    ) -> LinkedSpec | None:
        """Links what may match in a dispatch with a signature."""
        if signature == ANYTHING:
            return self.link_kept((None,) * len(self.specs))
        kept: list[Sequence[int] | None] = [
            each.index.candidates(signature) if is_prunable else None
            for each, is_prunable in zip(self._prunable_specs, self._prunable, strict=True)
        ]
        if never_nothing and not any(each is None or each for each in kept):
            kept[0] = (0,)  # It cannot match, as much as any other.
        return self.link_kept(tuple(kept))


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
