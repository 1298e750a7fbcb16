"""What stands in a module of sequences: the ops that refer to others, and those that look at other ops."""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import reference

_BLIND = frozenset(
    {
        names.ANNOTATE,
        names.FOREACH_MATCH,
        names.GET_OPERAND,
        names.GET_RESULT,
        names.MATCH_ATTENTION,
        names.MATCH_CONTRACTION,
        names.MATCH_CONVOLUTION,
        names.MATCH_DIM_BOUNDS,
        names.MATCH_DIM_MULTIPLE,
        names.MATCH_DIMS_EQUAL,
        names.MATCH_ONLINE_ATTENTION,
        names.MATCH_OPERATION_NAME,
        names.MATCH_PARAMETER,
        names.MATCH_TYPE,
        names.MERGE_HANDLES,
        names.NAMED_SEQUENCE,
        names.NUM_ASSOCIATIONS,
        names.PARAM_CONSTANT,
        names.PRINT,
        names.YIELD,
        "transform.get_type",
        "transform.match.operation_empty",
    }
)
"""Ops that look at no attribute of an op that could be configured, and give no handle to another op."""

_SHOWING = frozenset({names.MATCH_DAG, names.MATCH_REGIONS})
"""Ops in whose regions stand ops of a program."""


@dataclass(frozen=True)
class Survey:
    """What stands in a module.

    Attributes:
        included: everything that an `include` refers to.
        including: the ops directly around an `include`, such as sequences.
        looking: the transform ops that may look at configurations, or at other ops than the one in question.
    """

    included: frozenset[str]
    including: frozenset[mlir.Operation]
    looking: tuple[mlir.Operation, ...]


def survey_of(module: mlir.Operation) -> Survey:
    """Returns what stands in a module, found in one walk."""
    targets: set[str] = set()
    including: set[mlir.Operation] = set()
    looking: list[mlir.Operation] = []

    def keep(operation: mlir.Operation) -> mlir.WalkResult:
        name = operation.name
        if name in _BLIND or not name.startswith("transform."):
            return mlir.WalkResult.ADVANCE
        looking.append(operation)
        if name == names.INCLUDE:
            targets.add(reference(operation.attributes["target"]))
            parent = operation.parent
            assert parent is not None
            including.add(parent.operation)
        return mlir.WalkResult.SKIP if name in _SHOWING else mlir.WalkResult.ADVANCE

    module.walk(keep, mlir.WalkOrder.PRE_ORDER)
    return Survey(frozenset(targets), frozenset(including), tuple(looking))
