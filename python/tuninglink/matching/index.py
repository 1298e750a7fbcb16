"""Indexing of specs: the same entries, arranged so that an operation is compared with few of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.matching.index_building import IndexBuilder
from tuninglink.matching.index_plan import IndexGroup, plan_index
from tuninglink.matching.index_reading import IndexReader
from tuninglink.mlir import names
from tuninglink.mlir.walk import body
from tuninglink.specs.structure import Anatomy, has_entry_point

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iree.compiler import ir as mlir

    from tuninglink.matching.index_plan import Item
    from tuninglink.mlir.diagnostics import DiagnosticSink

LONGEST_LIST: Final = 64
"""Up to how many entries a list has that is not split, by default: it is tried as fast as the compiler walks."""


@dataclass(frozen=True)
class Indexing:
    """The result of indexing a module and its nested modules.

    Attributes:
        entries: the number of entries.
        groups: the number of groups.
    """

    entries: int = 0
    groups: int = 0

    def __add__(self, other: Indexing) -> Indexing:
        return Indexing(self.entries + other.entries, self.groups + other.groups)


def index_matchers(
    module: mlir.Operation,
    *,
    longest: int = LONGEST_LIST,
    diagnostics: DiagnosticSink | None = None,
) -> Indexing:
    """Arrange the entries of a spec, and of those nested in it, in a tree of lists.

    The program is configured exactly as before. Modules without an entry point and specs that are not matcher lists
    stay unchanged.

    Args:
        module: a `builtin.module`.
        longest: the maximum length of a list that is not split.
        diagnostics: receives the specs that stay unchanged because they are not matcher lists.

    Returns:
        The numbers of entries and groups.

    Raises:
        SpecError: an entry point has a signature that cannot be linked. The module is then unchanged.
    """
    result = Indexing()
    plans = [_plan(spec, longest, diagnostics) for spec in _specs(module)]
    for anatomy, reader, items in filter(None, plans):
        groups = _count_groups(items)
        if groups:
            IndexBuilder(anatomy, reader.checks).build(items)
        result += Indexing(len(reader.entries), groups)
    return result


def _specs(module: mlir.Operation) -> list[mlir.Operation]:
    """Return the specs nested in a module, or the module itself; a module that runs nested specs has no entries."""
    nested = [op for op in body(module) if op.name == names.MODULE and has_entry_point(op)]
    return nested or ([module] if has_entry_point(module) else [])


def _plan(
    module: mlir.Operation, longest: int, diagnostics: DiagnosticSink | None
) -> tuple[Anatomy, IndexReader, tuple[Item, ...]] | None:
    anatomy = Anatomy(module)
    reason = anatomy.opaque_because
    if reason is not None:
        if diagnostics:
            diagnostics.remark(
                "this spec is not a list of matchers and stays as it is", module, [reason]
            )
        return None
    reader = IndexReader(anatomy)
    return anatomy, reader, plan_index(reader.entries, longest)


def _count_groups(items: Sequence[Item]) -> int:
    return sum(1 + _count_groups(item.items) for item in items if isinstance(item, IndexGroup))
