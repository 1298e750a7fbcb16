"""The root of a walk: a `foreach_match` does not ask about it, so whether it is decided is told beside the walk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.specs.builders import (
    FAILURES_SUPPRESS,
    any_op,
    empty_handle,
    include,
    merge_handles,
)
from tuninglink.specs.decided import EQUAL_OR_NONE, UNCONFIGURED_OR_NONE

if TYPE_CHECKING:
    from tuninglink.specs.decided import DecidedHelpers
    from tuninglink.specs.sequences import Handle


def _count(handle: Handle) -> Handle:
    parameter = mlir.Type.parse("!transform.param<i64>")
    counted: Handle = mlir.Operation.create(
        names.NUM_ASSOCIATIONS, operands=[handle], results=[parameter]
    ).results[0]
    return counted


def root_is_decided(root: Handle, decided: Handle) -> list[Handle]:
    """Builds two parameters that are equal if the root is among the decided ops."""
    known = merge_handles([decided], deduplicate=True)
    return [_count(known), _count(merge_handles([known, root], deduplicate=True))]


def root_is_configured(helpers: DecidedHelpers, root: Handle) -> list[Handle]:
    """Builds two parameters that are equal if the root carries a lowering configuration."""
    target = [helpers.name(UNCONFIGURED_OR_NONE)]
    unconfigured = include(target, [root], [root.type], FAILURES_SUPPRESS).results[0]
    return [_count(unconfigured), _count(empty_handle(root))]


def root_if_equal(helpers: DecidedHelpers, root: Handle, parameters: list[Handle]) -> Handle:
    """Builds a handle to the root if two parameters are equal, else to nothing."""
    target = [helpers.name(EQUAL_OR_NONE)]
    kept: Handle = include(target, [root, *parameters], [any_op()], FAILURES_SUPPRESS).results[0]
    return kept
