"""Entry points of generated specs: the preparation of a dispatch, the walk over it, and actions that rewrite an op.

An action can unroll the loops of a window instead of configuring the op. The compiler vectorizes a window without
channels only where channels come last and the op has a name. Other windows, such as those of depthwise convolutions in
NCHW, become scalar code under every configuration. Unrolled, a window is a sequence of elementwise ops on shifted
slices of the image, which the compiler fuses and vectorizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from math import prod
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.iree.targets import read_executable_target
from tuninglink.mlir import names
from tuninglink.mlir.walk import collect
from tuninglink.specs.transform_ops import (
    add_kernel_config,
    create,
    named_pair_attributes,
    named_sequence,
    yield_,
)

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
    return create(names.FOREACH_MATCH, [root], [_ANY_OP], **named_pair_attributes(pairs))[0]


_MOST_COPIES: Final = 25
"""The elements of the largest window that is unrolled: one of 5x5. The compilation time grows with them."""

_CLEANUP: Final = (
    "transform.apply_patterns.canonicalization",
    "transform.apply_patterns.linalg.fold_unit_extent_dims_via_slices",
    "transform.apply_patterns.linalg.tiling_canonicalization",
)
"""The patterns that turn a window of one element into a slice of the image."""


def window_copies(dispatch: Workload) -> tuple[int, ...]:
    """Return the number of copies of the root op by loop if its window is unrolled, 0 for the other loops.

    Returns:
        The numbers of copies; empty if the op has no window or a large one, or sums over channels, as a matmul does.
    """
    target = read_executable_target(dispatch.target) if dispatch.target is not None else None
    if target is None or target.backend != "llvm-cpu":
        return ()
    problem = dispatch.problem
    has_open_size = any(dimension.size is None for dimension in problem.dimensions)
    adds_channels = any(
        dimension.role is Role.INPUT_CHANNEL and dimension.size != 1
        for dimension in problem.dimensions
    )
    if problem.kind is not OpKind.CONVOLUTION or adds_channels or has_open_size:
        return ()
    copies = tuple(
        dimension.size
        if dimension.size and dimension.size > 1 and dimension.role is Role.FILTER
        else 0
        for dimension in problem.dimensions
    )
    return copies if 1 < prod(count or 1 for count in copies) <= _MOST_COPIES else ()


def add_unrolling(module: mlir.Operation, copies: Sequence[int]) -> str:
    """Add an action that unrolls loops of an op, and return its name.

    Args:
        module: the spec.
        copies: the size of each loop to unroll, 0 for the other loops.
    """
    name = "unroll_" + "_".join(map(str, copies))
    any_op = mlir.Type.parse(_ANY_OP)
    with mlir.InsertionPoint(module.regions[0].blocks[0]):
        sequence = named_sequence(name, [any_op], ownership=names.CONSUMED)
    block = sequence.regions[0].blocks[0]
    with mlir.InsertionPoint(block):
        (operation,) = block.arguments
        function_name = mlir.StringAttr.get(names.FUNCTION)
        (function,) = create(names.GET_PARENT, [operation], [_ANY_OP], op_name=function_name)
        unrolled = [count for count in copies if count]
        # Tile the unrolled loops by one, and unroll the new loops, the innermost first.
        _, *loops = create(
            names.TILE_USING_FOR,
            [operation],
            [_ANY_OP] * (1 + len(unrolled)),
            static_sizes=mlir.DenseI64ArrayAttr.get([int(count > 0) for count in copies]),
            scalable_sizes=mlir.DenseBoolArrayAttr.get([False] * len(copies)),
            operandSegmentSizes=mlir.DenseI32ArrayAttr.get([1, 0, 0, 0, 0]),
        )
        integer = mlir.IntegerType.get_signless(64)
        for loop, count in reversed(list(zip(loops, unrolled, strict=True))):
            create(names.UNROLL, [loop], [], factor=mlir.IntegerAttr.get(integer, count))
        # Clean up the function with patterns, then CSE.
        patterns = mlir.Operation.create(names.APPLY_PATTERNS, operands=[function], regions=1)
        with mlir.InsertionPoint(patterns.regions[0].blocks.append()):
            for pattern in _CLEANUP:
                create(pattern, [], [])
        create(names.APPLY_CSE, [function], [])
        yield_([])
    return name
