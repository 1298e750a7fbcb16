"""Perturbations of a program, each with a single difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import inf
from typing import Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.structured_op import StructuredOp
from tuninglink.mlir import names
from tuninglink.mlir.attributes import value_range
from tuninglink.mlir.walk import body, collect
from tuninglink.payloads.op_templates import DYNAMIC, build, new_function
from tuninglink.payloads.operations import generic
from tuninglink.payloads.payload import root_of

_ELEMENTS: Final = ("f16", "bf16", "f32", "i8", "i32")
"""The element types to try."""

_SIBLINGS: Final = {
    "arith.mulf": ("arith.addf", "arith.divf"),
    "arith.addf": ("arith.subf", "arith.maximumf", "arith.mulf"),
    "arith.muli": ("arith.addi", "arith.andi"),
    "arith.addi": ("arith.subi", "arith.ori", "arith.muli"),
    "arith.extsi": ("arith.extui",),
    "arith.extui": ("arith.extsi",),
}
"""Ops of the same types that may replace an op of a body."""

_BINARY: Final = 2


@dataclass(frozen=True)
class Program:
    """A program as text, with its difference from the original. Its root op is the last op of its function."""

    what: str
    text: str


@dataclass(frozen=True)
class _Shape:
    """A `linalg.generic` to build, by maps, element types and sizes of loops.

    Attributes:
        body: the op whose body is copied; None for a sum of products.
        shapes: the shapes of operands that do not follow from the sizes.
    """

    maps: tuple[mlir.AffineMap, ...]
    types: tuple[mlir.Type, ...]
    sizes: tuple[int, ...]
    body: mlir.Operation | None
    shapes: Mapping[int, tuple[int, ...]]

    def shape(self, operand: int) -> tuple[int, ...]:
        """Return the shape of an operand."""
        given = self.shapes.get(operand)
        if given is not None:
            return given
        return tuple(_extent(result, self.sizes) for result in self.maps[operand].results)


def perturbations(
    text: str, context: mlir.Context, selects: Callable[[str], bool] = lambda _: True
) -> Iterator[Program]:
    """Yield the perturbations of a program, a function whose last operation is a contraction or convolution.

    Perturbations make loops longer, shorter or dynamic; make single sizes of operands dynamic; change element types;
    exchange or transpose operands; exchange loops; replace or add operations of the body or exchange their operands;
    make operands computed or equal; and add a configuration. Variants that the compiler rejects are left out.

    Args:
        text: the program.
        context: the context of the programs.
        selects: returns whether to build the program with a given difference.
    """
    with context, mlir.Location.unknown():
        module = mlir.Module.parse(text).operation
        (function,) = collect(module, names.FUNCTION)
        root = root_of(function)
        if root.name != names.GENERIC:
            return
        shape = _read(root)
        for what, changed in _shapes(shape):
            if selects(what):
                yield from _written(what, partial(_write, changed))
        for what, edit in _edits(root):
            if selects(what):
                yield from _written(what, partial(_edited, shape, edit))


def _written(what: str, write: Callable[[], mlir.Operation]) -> Iterator[Program]:
    """Yield the program that `write` returns, unless the compiler rejects it."""
    try:
        module = write()
        module.verify()
    except (mlir.MLIRError, ValueError, TypeError):
        return
    yield Program(what, str(module))


def _read(root: mlir.Operation) -> _Shape:
    """Return the shape of a root op with static sizes."""
    op = StructuredOp(root)
    kinds: list[Any] = [operand.type for operand in root.operands]
    types = tuple(kind.element_type for kind in kinds)
    read = _Shape(op.maps, types, tuple(size or 1 for size in op.sizes), root, {})
    shapes = {number: tuple(kind.shape) for number, kind in enumerate(kinds)}
    usual = {number: shape for number, shape in shapes.items() if shape != read.shape(number)}
    return replace(read, shapes=usual)


def _extent(expression: Any, sizes: Sequence[int]) -> int:
    """Return the size of a dimension indexed by loops of these sizes."""
    _, last = value_range(expression, [inf if size == DYNAMIC else size for size in sizes])
    return DYNAMIC if last == inf else last + 1


def _shapes(shape: _Shape) -> Iterator[tuple[str, _Shape]]:
    yield "nothing", shape
    for loop, size in enumerate(shape.sizes):
        for other in (size + 1, size - 1, 2 * size, DYNAMIC):
            if other > 0 or other == DYNAMIC:
                sizes = (*shape.sizes[:loop], other, *shape.sizes[loop + 1 :])
                text = "open" if other == DYNAMIC else str(other)
                yield f"loop {loop} is {text}", replace(shape, sizes=sizes)
    for operand in range(len(shape.types)):
        dimensions = shape.shape(operand)
        for position, size in enumerate(dimensions):
            for other in (DYNAMIC, size + 1):
                changed = (*dimensions[:position], other, *dimensions[position + 1 :])
                shapes = {**shape.shapes, operand: changed}
                yield f"operand {operand} is {changed}", replace(shape, shapes=shapes)
    yield from _other_types(shape)
    yield from _other_maps(shape)


def _other_types(shape: _Shape) -> Iterator[tuple[str, _Shape]]:
    for operand, kind in enumerate(shape.types):
        for name in _ELEMENTS:
            other = mlir.Type.parse(name)
            if other != kind:
                types = (*shape.types[:operand], other, *shape.types[operand + 1 :])
                yield f"operand {operand} has {name}", replace(shape, types=types, body=None)


def _other_maps(shape: _Shape) -> Iterator[tuple[str, _Shape]]:
    lhs, rhs, *rest = shape.maps
    first, second, *other_types = shape.types
    exchanged = replace(
        shape, maps=(rhs, lhs, *rest), types=(second, first, *other_types), body=None
    )
    yield "the operands are exchanged", exchanged
    yield "the maps of the operands are exchanged", replace(shape, maps=(rhs, lhs, *rest))
    for operand, map_ in enumerate(shape.maps):
        results = list(map_.results)
        for left, right in combinations(range(len(results)), 2):
            turned = list(results)
            turned[left], turned[right] = turned[right], turned[left]
            maps = list(shape.maps)
            maps[operand] = mlir.AffineMap.get(map_.n_dims, 0, turned)
            yield f"operand {operand} is transposed", replace(shape, maps=tuple(maps))
    for left, right in combinations(range(len(shape.sizes)), 2):
        order = list(range(len(shape.sizes)))
        order[left], order[right] = right, left
        sizes = tuple(shape.sizes[loop] for loop in order)
        maps = [_renamed(map_, order) for map_ in shape.maps]
        yield (
            f"loops {left} and {right} are exchanged",
            replace(shape, maps=tuple(maps), sizes=sizes),
        )


def _renamed(map_: mlir.AffineMap, order: Sequence[int]) -> mlir.AffineMap:
    dims = [mlir.AffineDimExpr.get(loop) for loop in order]
    results = [result.compose(mlir.AffineMap.get(len(order), 0, dims)) for result in map_.results]
    return mlir.AffineMap.get(len(order), 0, results)


def _write(shape: _Shape) -> mlir.Operation:
    """Return a module with a function that applies the op to its arguments."""
    types: list[Any] = [
        mlir.RankedTensorType.get(shape.shape(number), element)
        for number, element in enumerate(shape.types)
    ]
    module, block = new_function(types, types[-1:])
    with mlir.InsertionPoint(block):
        root = _generic(shape, types, list(block.arguments))
        mlir.Operation.create("func.return", operands=list(root.results))
    return module


def _generic(shape: _Shape, types: Sequence[mlir.Type], operands: list[Any]) -> mlir.Operation:
    template = generic(shape.maps, shape.types)
    source = shape.body if shape.body is not None else template.root
    copy = source.clone()
    attributes: dict[str, mlir.Attribute] = {
        name: template.root.attributes[name]
        for name in ("indexing_maps", "iterator_types", "operandSegmentSizes")
    }
    root = mlir.Operation.create(
        names.GENERIC, results=list(types[-1:]), operands=operands, attributes=attributes, regions=1
    )
    copy.regions[0].blocks[0].append_to(root.regions[0])
    copy.erase()
    return root


def _edits(root: mlir.Operation) -> Iterator[tuple[str, Callable[[mlir.Operation], None]]]:
    """Yield edits of a root op, with the differences that they make."""
    for index, operation in enumerate(body(root)):
        for name in _SIBLINGS.get(operation.name, ()):
            yield f"'{operation.name}' is '{name}'", partial(_exchange_op, index=index, name=name)
        if len(operation.operands) == _BINARY:
            yield (
                f"'{operation.name}' has its operands exchanged",
                partial(_swap_operands, index=index),
            )
    yield "the result is negated", _negate
    yield "the body returns its accumulator", _return_accumulator
    yield "both operands are the same", _repeat_operand
    yield "an operand is computed", _compute_operand
    yield "it is configured", _configure


def _edited(shape: _Shape, edit: Callable[[mlir.Operation], None]) -> mlir.Operation:
    module = _write(shape)
    (function,) = body(module)
    edit(root_of(function))
    return module


def _exchange_op(root: mlir.Operation, index: int, name: str) -> None:
    """Replace an operation in the body with another operation on the same types."""
    old = list(body(root))[index]
    with mlir.InsertionPoint(old):
        fresh = mlir.Operation.create(
            name, results=[result.type for result in old.results], operands=list(old.operands)
        )
    for before, after in zip(old.results, fresh.results, strict=True):
        before.replace_all_uses_with(after)
    old.erase()


def _swap_operands(root: mlir.Operation, index: int) -> None:
    operation = list(body(root))[index]
    operation.operands[0], operation.operands[1] = operation.operands[1], operation.operands[0]


def _negate(root: mlir.Operation) -> None:
    """Negate, or double, the value that the body returns."""
    *_, yielded = body(root)
    value = yielded.operands[0]
    name = "arith.negf" if isinstance(value.type, mlir.FloatType) else "arith.addi"
    operands = [value] if name == "arith.negf" else [value, value]
    with mlir.InsertionPoint(yielded):
        yielded.operands[0] = build(name, value.type, *operands)


def _return_accumulator(root: mlir.Operation) -> None:
    *_, yielded = body(root)
    *_, yielded.operands[0] = root.regions[0].blocks[0].arguments


def _repeat_operand(root: mlir.Operation) -> None:
    root.operands[1] = root.operands[0]


def _compute_operand(root: mlir.Operation) -> None:
    """Make the first operand the result of another operation."""
    value: Any = root.operands[0]
    with mlir.InsertionPoint(root):
        root.operands[0] = build("tensor.cast", value.type, value)


def _configure(root: mlir.Operation) -> None:
    config = mlir.Attribute.parse("#iree_gpu.lowering_config<{workgroup = [1]}>")
    root.attributes[names.LOWERING_CONFIG] = config
