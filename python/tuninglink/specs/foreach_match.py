"""The pairs of a `foreach_match`: references to a matcher and to an action."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.errors import SpecError
from tuninglink.mlir import names
from tuninglink.mlir.serialization import repeated_matcher
from tuninglink.mlir.symbols import reference
from tuninglink.mlir.walk import body
from tuninglink.specs.module_scan import is_any_op

_PREPARATIONS: Final = frozenset({names.ADD_BATCH_LOOP, names.MATERIALIZE_ENCODINGS})
"""Passes that a readable spec may run before its entries."""

Pair = tuple[mlir.Attribute, mlir.Attribute]
"""References to a matcher and an action."""


def pairs_of(foreach_match: mlir.Operation) -> list[Pair]:
    """Return the pairs of a `foreach_match`, in order."""
    matchers, actions = (foreach_match.attributes[key] for key in ("matchers", "actions"))
    assert isinstance(matchers, mlir.ArrayAttr)
    assert isinstance(actions, mlir.ArrayAttr)
    return list(zip(matchers, actions, strict=True))


def pair_attributes(pairs: Iterable[Pair]) -> dict[str, mlir.Attribute]:
    """Return pairs as the attributes of a `foreach_match`, in the current context."""
    pairs = list(pairs)
    return {
        "matchers": mlir.ArrayAttr.get([matcher for matcher, _ in pairs]),
        "actions": mlir.ArrayAttr.get([action for _, action in pairs]),
    }


def named_pair_attributes(pairs: Iterable[tuple[str, str]]) -> dict[str, mlir.Attribute]:
    """Return pairs as the attributes of a `foreach_match`, from the symbols of matchers and actions."""
    reference_to = mlir.FlatSymbolRefAttr.get
    return pair_attributes(
        (reference_to(matcher), reference_to(action)) for matcher, action in pairs
    )


def set_pairs(foreach_match: mlir.Operation, pairs: Iterable[Pair]) -> None:
    """Replace the pairs of a `foreach_match`."""
    with foreach_match.context:
        for name, attribute in pair_attributes(pairs).items():
            foreach_match.attributes[name] = attribute


def check_matchers_differ(foreach_match: mlir.Operation) -> None:
    """Check that a list uses no matcher twice.

    Raises:
        SpecError: it does.
    """
    matchers = foreach_match.attributes["matchers"]
    assert isinstance(matchers, mlir.ArrayAttr)
    if len(set(matchers)) < len(matchers):
        matcher = next(matcher for matcher, uses in Counter(matchers).items() if uses > 1)
        raise SpecError(repeated_matcher(reference(matcher), foreach_match))


def is_prepared_foreach_match(sequence: mlir.Operation) -> bool:
    """Return whether a sequence runs passes that the compiler would run later, and then one list."""
    operations = list(body(sequence))
    last = [operation.name for operation in operations[-2:]]
    return last == [names.FOREACH_MATCH, names.YIELD] and all(map(_prepares, operations[:-2]))


def _prepares(operation: mlir.Operation) -> bool:
    name = operation.attributes.get("pass_name")
    if operation.name != names.RUN_REGISTERED or not isinstance(name, mlir.StringAttr):
        return False
    return name.value in _PREPARATIONS


def is_plain_foreach_match(sequence: mlir.Operation) -> bool:
    """Return whether a sequence is one list without options, and a yield."""
    operations = list(body(sequence))
    if [op.name for op in operations] != [names.FOREACH_MATCH, names.YIELD]:
        return False
    foreach_match, terminator = operations
    has_options = {"restrict_root", "flatten_results"} & set(foreach_match.attributes.keys())
    if has_options or len(foreach_match.operands) != 1 or len(foreach_match.results) != 1:
        return False
    (result,) = foreach_match.results
    # Older specs have no result and yield nothing.
    return list(terminator.operands) in ([], [result]) and is_any_op(result.type)
