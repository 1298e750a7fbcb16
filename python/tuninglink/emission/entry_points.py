"""Entry points of generated specs: the preparation of a dispatch, and the walk over it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.emission import create
from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.iree.targets import read_executable_target
from tuninglink.mlir import names
from tuninglink.mlir.walk import collect
from tuninglink.specs.transform_ops import add_kernel_config, yield_

if TYPE_CHECKING:
    from tuninglink.spaces.workload import Workload

_ANY_OP: Final = "!transform.any_op"

_DATA_TILED: Final = (
    "linalg.mmt4d",
    "linalg.batch_mmt4d",
    names.PACK,
    names.UNPACK,
    "iree_codegen.inner_tiled",
)
"""The compiler's lowering of data-tiled operations and of layout changes."""


class Preparation(Enum):
    """Passes that llvm-cpu runs after specs and that replace ops of entries, in the compiler's order.

    A spec that runs them first configures the resulting ops, also with the stock compiler.
    """

    ENCODINGS = names.MATERIALIZE_ENCODINGS
    BATCH_LOOP = names.ADD_BATCH_LOOP

    def is_for(self, dispatch: Workload) -> bool:
        """Return whether an entry for a dispatch needs the preparation."""
        target = read_executable_target(dispatch.target) if dispatch.target is not None else None
        if target is None or target.backend != "llvm-cpu":
            return False
        if self is Preparation.ENCODINGS:
            return bool(collect(dispatch.function, *_DATA_TILED))
        # The compiler removes loops of one iteration before it forms dispatches, so it added such a batch loop.
        problem = dispatch.problem
        return problem.kind is OpKind.CONVOLUTION and any(
            problem.dimensions[loop].size == 1 for loop in problem.loops(Role.BATCH)
        )


def add_entry_point(
    module: mlir.Operation,
    pairs: Sequence[tuple[str, str]],
    preparations: Sequence[Preparation],
    rewriting: Sequence[tuple[str, str]] = (),
) -> None:
    """Add an entry point that rewrites ops of a dispatch, prepares it and walks it with one `foreach_match`.

    Args:
        module: the spec.
        pairs: the matcher and the action of each entry. Without pairs, the entry point does nothing else.
        preparations: the preparations before the walk.
        rewriting: the matcher and the action of each entry that rewrites its op. They are walked separately and first,
            since preparations change their ops.
    """
    entry_point = add_kernel_config(module, consumes=bool(pairs or rewriting))
    block = entry_point.regions[0].blocks[0]
    root = block.arguments[0]
    with mlir.InsertionPoint(block):
        if rewriting:
            root = _walk(root, rewriting)
        for preparation in preparations:
            # The compiler hands over a function, which both passes run on.
            name = mlir.StringAttr.get(preparation.value)
            (root,) = create(names.RUN_REGISTERED, [root], [_ANY_OP], pass_name=name)
        if pairs:
            root = _walk(root, pairs)
        yield_([root])


def _walk(root: mlir.Value[Any], pairs: Sequence[tuple[str, str]]) -> mlir.Value[Any]:
    """Add a `foreach_match` over pairs of a matcher and an action, and return its result."""
    matchers, actions = (
        mlir.ArrayAttr.get([mlir.FlatSymbolRefAttr.get(pair[side]) for pair in pairs])
        for side in (0, 1)
    )
    (walked,) = create(names.FOREACH_MATCH, [root], [_ANY_OP], matchers=matchers, actions=actions)
    return walked
