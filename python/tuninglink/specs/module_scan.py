"""Scans of a module of sequences for the ops that refer to others, and for those that look at other ops."""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import reference

_BLIND = frozenset(
    {
        names.ANNOTATE,
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
class ModuleScan:
    """The ops of a module of sequences that linking looks at.

    Attributes:
        included: everything that an `include` refers to.
        including: the ops directly around an `include`, such as sequences.
        looking: the transform ops that may look at configurations, or at ops other than the matched one.
        lists: the `foreach_match` ops.
        has_declarations: whether a sequence may be declared without a body.
    """

    included: frozenset[str]
    including: frozenset[mlir.Operation]
    looking: tuple[mlir.Operation, ...]
    lists: tuple[mlir.Operation, ...]
    has_declarations: bool


def scan_module(module: mlir.Operation) -> ModuleScan:
    """Scans a module in one walk."""
    targets: set[str] = set()
    including: set[mlir.Operation] = set()
    looking: list[mlir.Operation] = []
    lists: list[mlir.Operation] = []
    # What follows the head of a sequence is its body, unless it has none.
    is_at_head = has_declarations = False

    def keep(operation: mlir.Operation) -> mlir.WalkResult:
        nonlocal is_at_head, has_declarations
        name = operation.name
        is_head = name == names.NAMED_SEQUENCE
        if is_at_head and (is_head or not name.startswith("transform.")):
            has_declarations = True
        is_at_head = is_head
        if name in _BLIND or not name.startswith("transform."):
            return mlir.WalkResult.ADVANCE
        if name == names.FOREACH_MATCH:
            lists.append(operation)
            return mlir.WalkResult.ADVANCE
        looking.append(operation)
        if name == names.INCLUDE:
            targets.add(reference(operation.attributes["target"]))
            parent = operation.parent
            assert parent is not None
            including.add(parent.operation)
        return mlir.WalkResult.SKIP if name in _SHOWING else mlir.WalkResult.ADVANCE

    module.walk(keep, mlir.WalkOrder.PRE_ORDER)
    return ModuleScan(
        frozenset(targets),
        frozenset(including),
        tuple(looking),
        tuple(lists),
        has_declarations or is_at_head,
    )
