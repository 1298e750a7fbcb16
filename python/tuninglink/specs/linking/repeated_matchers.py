"""Matchers that several pairs of one `foreach_match` share, which the compiler's verifier crashes on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.iree.dispatches import ancestors
from tuninglink.mlir import names
from tuninglink.mlir.symbols import FreshNames, reference, split_path, symbols
from tuninglink.specs.foreach_match import pairs_of, set_pairs
from tuninglink.specs.sequences import SequenceTable

if TYPE_CHECKING:
    from tuninglink.specs.structure import Anatomy


def repeated_matchers(spec: Anatomy) -> list[tuple[mlir.Operation, str]]:
    """Return the lists of a spec and the matchers that they use more than once."""
    return [
        (foreach_match, reference(matcher))
        for foreach_match in spec.table.scan.lists
        for matcher, uses in Counter(matcher for matcher, _ in pairs_of(foreach_match)).items()
        if uses > 1
    ]


def separate_repeated_matchers(spec: Anatomy) -> None:
    """Give every further pair of a matcher a copy of it. The pair never applies, and its position stays."""
    for foreach_match in dict.fromkeys(op for op, _ in repeated_matchers(spec)):
        seen: set[str] = set()
        pairs = []
        for attribute, action in pairs_of(foreach_match):
            path = reference(attribute)
            pairs.append((_copy(foreach_match, path) if path in seen else attribute, action))
            seen.add(path)
        set_pairs(foreach_match, pairs)


def _copy(foreach_match: mlir.Operation, path: str) -> mlir.Attribute:
    """Copy a matcher, and return a reference to the copy."""
    module = next(op for op in ancestors(foreach_match) if op.name == names.MODULE)
    resolved = SequenceTable(module).resolve(path)
    assert resolved is not None, "the verifier knows all matchers"
    table, matcher = resolved
    *scope, name = split_path(path)
    with module.context, mlir.InsertionPoint.after(matcher):
        name = FreshNames(symbols(table.module)).take(name)
        matcher.clone().operation.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name)
        return mlir.SymbolRefAttr.get([*scope, name])
