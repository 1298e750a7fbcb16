"""The flat form: specs merged into one list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import SymbolRenaming
from tuninglink.specs.linking.merging import copy_ops
from tuninglink.specs.transform_ops import add_list, pairs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.specs.structure import Anatomy
    from tuninglink.specs.transform_ops import Pair


def flatten(container: mlir.Operation, members: Sequence[Anatomy]) -> None:
    """Merge matcher lists into one entry point with all their entries, in default-entrypoint form.

    Args:
        container: the module that becomes the linked spec.
        members: matcher lists, in order of precedence, as `prepared` returns them. No entry configures an op other than
            the matched one.
    """
    run = [{point.name for point in member.entry_points} for member in members]
    pairs: list[Pair] = []
    for member, new_names in zip(members, copy_ops(container, members, run), strict=True):
        own = pairs_of(member.foreach_match)
        renaming = SymbolRenaming(new_names)
        if renaming:
            with container.context:
                own = [(renaming.replace(one), renaming.replace(other)) for one, other in own]
        pairs += own
    add_list(container, pairs)
    with container.context:
        container.attributes[names.DEFAULT_ENTRY_POINT] = mlir.UnitAttr.get()
