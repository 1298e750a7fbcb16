"""What forms share: their operands and spellings, and builders: padding, cutting, reshaping, positions of elements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from iree.compiler import ir as mlir

from tuninglink.payloads import DYNAMIC, Value, build, computed, constant
from tuninglink.replacing import Attention, Spelled, size_along, spellings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SIGNED_LESS: Final = 2
"""The number of the predicate `slt`."""


_Own_co = TypeVar("_Own_co", bound=Spelled, covariant=True)


@dataclass(frozen=True)
class FormOf(Generic[_Own_co]):
    """A form of a kind of problem.

    Attributes:
        problem: the op that is replaced.
    """

    problem: _Own_co

    @cached_property
    def spellings(self) -> tuple[Self, ...]:
        """The form for each spelling of its problem."""
        own: Any = self.problem
        problems: Any = spellings(own) if isinstance(own, Attention) else own.spellings
        return tuple(replace(self, problem=problem) for problem in problems)

    @property
    def passed(self) -> range:
        """The positions of the operands that `build` takes: all but the output of an attention, which does not read it."""
        return range(len(self.problem.tensors()) - isinstance(self.problem, Attention))


def index(number: int) -> Value:
    """Build a number of type index."""
    return constant(mlir.IndexType.get(), number)


def size_of(value: Value, dimension: int) -> Value:
    """Build the size of a tensor along a dimension, a constant if it is static."""
    size = value.type.shape[dimension]
    return size_along(value, dimension) if size == DYNAMIC else index(size)


def position(loop: int) -> Value:
    """Build the position of the current element along a loop, in the body of a linalg op."""
    dim = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), loop)
    return build("linalg.index", mlir.IndexType.get(), dim=dim)


def is_less(one: Value, other: Value) -> Value:
    """Build the comparison of two numbers of type index as signed numbers."""
    less = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), _SIGNED_LESS)
    return build("arith.cmpi", mlir.IntegerType.get_signless(1), one, other, predicate=less)


def padded(value: Value, loops: str, sizes: Mapping[str, int], filler: Value) -> Value:
    """Build a tensor that has the elements of `value`, whose dimensions have the sizes of `loops` if `sizes` has them.

    A dynamic dimension becomes a multiple of that size. The added elements are `filler`. Without any, return the value
    itself.
    """
    kind: mlir.RankedTensorType = value.type
    new, added, dynamic = [], [], []
    for at, (loop, size) in enumerate(zip(loops, kind.shape, strict=True)):
        step = sizes.get(loop, size)
        if size == DYNAMIC and step != DYNAMIC:
            dynamic.append(_missing(size_along(value, at), step))
            added.append(DYNAMIC)
            new.append(DYNAMIC)
        else:
            added.append(step - size)
            new.append(step)
    if not any(added):
        return value
    operation = mlir.Operation.create(
        "tensor.pad",
        operands=[value, *dynamic],
        results=[mlir.RankedTensorType.get(new, kind.element_type)],
        attributes={
            "static_low": mlir.DenseI64ArrayAttr.get([0] * len(new)),
            "static_high": mlir.DenseI64ArrayAttr.get(added),
            "operandSegmentSizes": mlir.DenseI32ArrayAttr.get([1, 0, len(dynamic)]),
        },
        regions=1,
    )
    block = operation.regions[0].blocks.append(*[mlir.IndexType.get()] * len(new))
    with mlir.InsertionPoint(block):
        mlir.Operation.create("tensor.yield", operands=[filler])
    result: Value = operation.results[0]
    return result


def _missing(size: Value, step: int) -> Value:
    """Build what a size lacks to the next multiple of a number."""
    return arith("subi", arith("muli", arith("ceildivui", size, index(step)), index(step)), size)


def arith(name: str, one: Value, other: Value) -> Value:
    """Build an op of two numbers of type index."""
    return build(f"arith.{name}", mlir.IndexType.get(), one, other)


def cut(
    value: Value,
    kind: mlir.Type,
    offsets: Sequence[int] = (),
    sizes: Sequence[int] = (),
    strides: Sequence[int] = (),
    *,
    dynamic: Sequence[Value] = (),
) -> Value:
    """Build a tensor of elements of another one, by default the first along each dimension, as many as `kind` has.

    Dimensions of size 1 in `sizes` that `kind` lacks are left out. Dynamic sizes are those of `dynamic`.
    """
    if value.type == kind and not dynamic:
        return value
    assert isinstance(kind, mlir.RankedTensorType)
    rank = len(value.type.shape)
    return build(
        "tensor.extract_slice",
        kind,
        value,
        *dynamic,
        static_offsets=mlir.DenseI64ArrayAttr.get(offsets or [0] * rank),
        static_sizes=mlir.DenseI64ArrayAttr.get(sizes or kind.shape),
        static_strides=mlir.DenseI64ArrayAttr.get(strides or [1] * rank),
        operandSegmentSizes=mlir.DenseI32ArrayAttr.get([1, 0, len(dynamic), 0]),
    )


def blocked(value: Value, loops: str, blocks: Mapping[str, int]) -> Value:
    """Build a tensor whose dimensions along the loops of `blocks` are two: the blocks, and the elements of one."""
    kind: mlir.RankedTensorType = value.type
    groups: list[list[int]] = []
    shape: list[int] = []
    dynamic = []
    for at, (loop, size) in enumerate(zip(loops, kind.shape, strict=True)):
        own = [DYNAMIC, blocks[loop]] if loop in blocks else [size]
        groups.append([*range(len(shape), len(shape) + len(own))])
        shape += own
        if DYNAMIC in own:
            whole = size_along(value, at)
            dynamic.append(arith("divui", whole, index(own[1])) if loop in blocks else whole)
    result = mlir.RankedTensorType.get(shape, kind.element_type)
    return value if result == kind else expanded(value, groups, result, dynamic)


def transposed(value: Value, order: Sequence[int]) -> Value:
    """Build a tensor of static sizes whose dimension `at` is dimension `order[at]` of another one."""
    kind = value.type
    result = mlir.RankedTensorType.get([kind.shape[at] for at in order], kind.element_type)
    inverse = sorted(range(len(order)), key=order.__getitem__)
    maps = [mlir.AffineMap.get_permutation(own) for own in (inverse, sorted(order))]
    return computed([value], maps, build("tensor.empty", result), lambda element, _: element)


def collapsed(value: Value, groups: Sequence[Sequence[int]]) -> Value:
    """Build a tensor with one dimension for each group of dimensions."""
    kind = value.type
    sizes = ([kind.shape[at] for at in group] for group in groups)
    shape = [DYNAMIC if DYNAMIC in group else prod(group) for group in sizes]
    result = mlir.RankedTensorType.get(shape, kind.element_type)
    return build("tensor.collapse_shape", result, value, reassociation=_groups(groups))


def expanded(
    value: Value,
    groups: Sequence[Sequence[int]],
    kind: mlir.RankedTensorType,
    dynamic: Sequence[Value] = (),
) -> Value:
    """Build a tensor whose dimensions become groups of those of `kind`, with its dynamic sizes."""
    return build(
        "tensor.expand_shape",
        kind,
        value,
        *dynamic,
        reassociation=_groups(groups),
        static_output_shape=mlir.DenseI64ArrayAttr.get(kind.shape),
    )


def _groups(groups: Sequence[Sequence[int]]) -> mlir.ArrayAttr:
    number = mlir.IntegerType.get_signless(64)
    return mlir.ArrayAttr.get(
        [mlir.ArrayAttr.get([mlir.IntegerAttr.get(number, at) for at in group]) for group in groups]
    )
