"""The root ops of dispatches in the form that matchers receive, and the forms of their problems.

A problem key is equal for all forms of a problem, independent of loop numbers and loops of size 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.iree.dispatches import Dispatch, find_root_ops
from tuninglink.iree.op_kinds import OpKind, Role, indexing_loops
from tuninglink.iree.structured_op import Sizes
from tuninglink.matching.op_info import OpInfo
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import thread_context
from tuninglink.mlir.serialization import to_bytecode

COMPARED: Final[Mapping[OpKind, tuple[int, ...]]] = {
    OpKind.CONTRACTION: (0, 1, 2),
    OpKind.CONVOLUTION: (0, 1, 2),
    OpKind.ATTENTION: (0, 1, 2, 4),
}
"""The operands whose layouts and types define a problem: of an attention, all but scale, maximum and sum."""

OPERANDS: Final[Mapping[OpKind, int]] = {
    OpKind.CONTRACTION: 3,
    OpKind.CONVOLUTION: 3,
    OpKind.ATTENTION: 7,
}
"""The number of operands of each kind of op when specs are applied; an attention with a mask has more."""

Access = tuple[tuple[tuple[int, int], ...], int]
"""The index of a dimension: a sum of loops, each with its factor, and a constant."""


@dataclass(frozen=True)
class ProblemKey:
    """The properties that all forms of a problem share.

    Loops are numbered in the order in which they first index a dimension alone. Loops of size 1 are not numbered.

    Attributes:
        kind: the kind of op.
        accesses: the indexing of the dimensions of each compared operand.
        sizes: the size of each numbered loop, None if unconstrained.
        element_types: the element types of the compared operands.
    """

    kind: OpKind
    accesses: tuple[tuple[Access, ...], ...]
    sizes: Sizes
    element_types: tuple[str, ...]


@dataclass(frozen=True)
class ProblemForm:
    """One form of a problem.

    Attributes:
        key: the key of the problem.
        loops: for each numbered loop of the key, the loop of this form.
        loop_count: the number of loops of this form.
        parallel: the loops of this form that index the output, in their order.
        parts: the loops of the contractions that an attention is decomposed into, by the names of their attributes.
        windows: the sizes of the dimensions that several loops index, by operand and by position in its accesses.
        units: the loops of size 1, each with the compared operands that it indexes.
    """

    key: ProblemKey
    loops: tuple[int, ...]
    loop_count: int
    parallel: tuple[int, ...] = ()
    parts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    windows: Mapping[tuple[int, int], int | None] = field(default_factory=dict)
    units: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


def problem_form(
    kind: OpKind,
    maps: Sequence[mlir.AffineMap],
    sizes: Sizes,
    operand_sizes: Mapping[int, Sizes],
    element_types: Sequence[str],
) -> ProblemForm | None:
    """Return the form of a problem; None if it is not supported, such as an attention with a mask.

    Args:
        kind: the kind of op.
        maps: the indexing maps of its operands.
        sizes: the size of each loop, None if unconstrained.
        operand_sizes: the known sizes of operands, by their positions.
        element_types: the element types of the operands.
    """
    if len(maps) != OPERANDS.get(kind):
        return None
    # Number the loops in the order of their first use; loops of size 1 are left out.
    numbers: dict[int, int] = {}
    for operand in COMPARED[kind]:
        for loop in indexing_loops(maps[operand]):
            if loop is not None and sizes[loop] != 1:
                numbers.setdefault(loop, len(numbers))
    rows = [_accesses(maps[operand], numbers) for operand in COMPARED[kind]]
    if None in rows or len(numbers) != sum(size != 1 for size in sizes):
        return None
    # The key holds the accesses, the sizes and the types.
    accesses = tuple(tuple(row.values()) for row in rows if row is not None)
    windows = {
        (operand, position): operand_sizes[operand][dimension] if operand in operand_sizes else None
        for operand, row in zip(COMPARED[kind], rows, strict=True)
        for position, dimension in enumerate(row or ())
        if indexing_loops(maps[operand])[dimension] is None
    }
    types = tuple(element_types[operand] for operand in COMPARED[kind])
    key = ProblemKey(kind, accesses, tuple(sizes[loop] for loop in numbers), types)
    # The form also holds the parts that differ between equal problems.
    parts = _attention_parts(maps) if kind is OpKind.ATTENTION else {}
    output = indexing_loops(maps[COMPARED[kind][-1]])
    parallel = tuple(sorted(loop for loop in output if loop is not None))
    units = {
        loop: tuple(operand for operand in COMPARED[kind] if loop in indexing_loops(maps[operand]))
        for loop, size in enumerate(sizes)
        if size == 1
    }
    return ProblemForm(key, tuple(numbers), len(sizes), parallel, parts, windows, units)


def _accesses(map_: mlir.AffineMap, numbers: Mapping[int, int]) -> dict[int, Access] | None:
    """Return the indexing of the dimensions of an operand, without those that loops of size 1 index.

    Args:
        map_: the indexing map of the operand.
        numbers: the numbers of loops.

    Returns:
        The accesses by dimension; None if one is not a sum.
    """
    accesses: dict[int, Access] = {}
    for dimension, result in enumerate(map_.results):
        try:
            factors, constant = _terms(result)
        except ValueError:
            return None
        numbered = {numbers[loop]: factor for loop, factor in factors.items() if loop in numbers}
        if numbered or constant:
            accesses[dimension] = tuple(sorted(numbered.items())), constant
    return accesses


def _terms(expression: mlir.AffineExpr) -> tuple[dict[int, int], int]:
    """Return the factors of the loops in a sum, and its constant.

    Raises:
        ValueError: the expression is not a sum of loops multiplied by constants.
    """
    match expression:
        case mlir.AffineDimExpr():
            return {expression.position: 1}, 0
        case mlir.AffineConstantExpr():
            return {}, expression.value
        case mlir.AffineAddExpr():
            (left, one), (right, other) = _terms(expression.lhs), _terms(expression.rhs)
            factors = {
                loop: left.get(loop, 0) + right.get(loop, 0) for loop in left.keys() | right.keys()
            }
            return factors, one + other
        case mlir.AffineMulExpr():
            factors, constant = _terms(expression.lhs)
            scaled, factor = _terms(expression.rhs)  # MLIR puts the constant there.
            if not scaled:
                products = {loop: value * factor for loop, value in factors.items()}
                return products, constant * factor
    raise ValueError(f"'{expression}' is not a sum of loops")


def _attention_parts(maps: Sequence[mlir.AffineMap]) -> dict[str, tuple[int, ...]]:
    """Return the loops of the product of query and key, and of the product of weights and value."""
    query, key, value, output = (
        {loop for loop in indexing_loops(maps[at]) if loop is not None}
        for at in COMPARED[OpKind.ATTENTION]
    )
    return {"qk_attrs": tuple(sorted(query | key)), "pv_attrs": tuple(sorted(value | output))}


_TO_ONLINE_ATTENTION: Final = (
    "builtin.module(func.func(iree-linalg-ext-convert-attention-to-online-attention))"
)
"""The pipeline that all backends run before matchers, and that changes the maps of root ops."""

_BATCH_LOOP_ADDED: Final = "llvm-cpu"
"""The backend that adds a batch loop to convolutions of one image, and loses their configurations."""


@dataclass(frozen=True)
class RootForm:
    """A root op, with the form of its problem.

    Attributes:
        op: the op in the form that matchers receive.
        form: the form.
    """

    op: OpInfo
    form: ProblemForm


class RootFormReader:
    """Reads the root ops of dispatches; shared parts are read once."""

    def __init__(self) -> None:
        self._converted: dict[Hashable, OpInfo | None] = {}
        self._alive: list[mlir.Module] = []

    def read(self, dispatch: Dispatch) -> tuple[RootForm, ...]:
        """Return the root ops of a dispatch for which entries can be derived."""
        backend = dispatch.target.backend if dispatch.target else ""
        return tuple(self._forms(dispatch.module, backend))

    def _forms(self, module: mlir.Operation, backend: str) -> Iterator[RootForm]:
        for function in find_root_ops(module):
            if names.TRANSLATION_INFO in function.function.attributes:
                continue
            for root in function.roots:
                op: OpInfo | None = OpInfo(root)
                if root.name == names.ATTENTION:
                    op = self._online(module, OpInfo(root))
                if op is None or _is_configured(op) or _is_lost(op, backend):
                    continue
                form = root_form(op)
                if form is not None:
                    yield form

    def _online(self, module: mlir.Operation, attention: OpInfo) -> OpInfo | None:
        """Return the online attention to which the compiler converts an attention."""
        if attention.key not in self._converted:
            context = thread_context()
            copy = mlir.Module.parse(to_bytecode(module), context)
            self._alive.append(copy)
            PassManager.parse(_TO_ONLINE_ATTENTION, context).run(copy.operation)
            roots = [
                OpInfo(root)
                for function in find_root_ops(copy.operation)
                for root in function.roots
                if root.name == names.ONLINE_ATTENTION
            ]
            self._converted[attention.key] = roots[0] if len(roots) == 1 else None
        return self._converted[attention.key]


def root_form(op: OpInfo) -> RootForm | None:
    """Return an op with the form of its problem; None if derivation does not support the op."""
    if op.kind not in OPERANDS or any(operand.encoding for operand in op.operands):
        return None
    operands = {
        at: operand.sizes for at, operand in enumerate(op.operands) if operand.sizes is not None
    }
    form = problem_form(op.kind, op.maps, op.sizes, operands, op.element_types)
    return None if form is None else RootForm(op, form)


def _is_configured(op: OpInfo) -> bool:
    attributes = op.operation.attributes
    return names.COMPILATION_INFO in attributes or names.LOWERING_CONFIG in attributes


def _is_lost(op: OpInfo, backend: str) -> bool:
    """Return whether the backend replaces an op and loses its configuration."""
    is_image = op.kind is OpKind.CONVOLUTION and not op.loops.get(Role.BATCH)
    return is_image and backend == _BATCH_LOOP_ADDED
