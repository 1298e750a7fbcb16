"""The pairs of a `foreach_match`: references to a matcher and to an action."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from iree.compiler import ir as mlir

from tuninglink.errors import SpecError
from tuninglink.mlir.serialization import repeated_matcher
from tuninglink.mlir.symbols import reference

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
