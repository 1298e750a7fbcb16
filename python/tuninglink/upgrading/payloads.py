"""Programs made for an entry: the operation that its matcher looks for, with shapes that it accepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.ir import names
from tuninglink.ir.symbols import symbol_name
from tuninglink.ir.walk import body, collect
from tuninglink.upgrading.problems import DAG

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

OPERAND: Final = "transform.get_operand"
RESULT: Final = "transform.get_result"
TYPE: Final = "transform.iree.match.cast_compatible_type"
DYNAMIC: Final = -9223372036854775808

_DEEPEST_INCLUDE: Final = 16


@dataclass(frozen=True)
class Payload:
    """A program with one operation to be configured.

    Attributes:
        text: the program.
        shapes: the shapes of the operands of the operation, for people.
    """

    text: str
    shapes: str


def payload_for(
    module: mlir.Operation, matcher: str, *, is_dynamic: bool = False, unknown: int = 2
) -> Payload | None:
    """Returns a program with the operation that a matcher looks for.

    Args:
        module: the spec.
        matcher: the symbol of the matcher.
        is_dynamic: whether what the matcher leaves open is open in the program too.
        unknown: the size of the loops that the matcher leaves open otherwise.

    Returns:
        The program, None for a matcher that does not show the operation as a dag with a single operation.
    """
    sequences = {symbol_name(op): op for op in body(module) if op.name == names.NAMED_SEQUENCE}
    found = list(_involved(sequences, matcher))
    dag = next((op for sequence in found for op in collect(sequence, DAG)), None)
    if dag is None:
        return None
    operations = [op for op in body(dag) if op.name != names.YIELD]
    if len(operations) != 1:
        return None
    root = operations[0]
    types = [each.type for each in root.operands]
    for sequence in found:
        _refine(sequence, types)
    shapes = _shapes(root, types, None if is_dynamic else unknown)
    return _program(root, shapes) if shapes is not None else None


def _involved(
    sequences: Mapping[str | None, mlir.Operation], matcher: str
) -> Iterator[mlir.Operation]:
    """Yields a matcher and what it includes."""
    pending, seen = [matcher], {matcher}
    while pending and len(seen) < _DEEPEST_INCLUDE:
        sequence = sequences.get(pending.pop())
        if sequence is None:
            continue
        yield sequence
        for include in collect(sequence, names.INCLUDE):
            target = mlir.FlatSymbolRefAttr(include.attributes["target"]).value
            if target not in seen:
                seen.add(target)
                pending.append(target)


def _refine(sequence: mlir.Operation, types: list[mlir.Type]) -> None:
    """Adds what a sequence demands of the types of single operands."""
    for check in collect(sequence, TYPE):
        source = check.operands[0].owner
        if not isinstance(source, mlir.Operation | mlir.OpView) or source.name != OPERAND:
            continue
        positions = list(mlir.DenseI64ArrayAttr(source.attributes["raw_position_list"]))
        wanted = mlir.TypeAttr(check.attributes["target_type"]).value
        if len(positions) == 1 and 0 <= positions[0] < len(types):
            types[positions[0]] = _meet(types[positions[0]], wanted)


def _meet(known: mlir.Type, wanted: mlir.Type) -> mlir.Type:
    """Returns the type that satisfies both, as far as one of them says anything."""
    if not isinstance(known, mlir.RankedTensorType) or not isinstance(
        wanted, mlir.RankedTensorType
    ):
        return known
    if known.rank != wanted.rank:
        return known
    shape = [
        other if size == DYNAMIC else size
        for size, other in zip(known.shape, wanted.shape, strict=True)
    ]
    return mlir.RankedTensorType.get(shape, known.element_type, loc=_nowhere(known))


def _nowhere(type_: mlir.Type) -> mlir.Location:
    return mlir.Location.unknown(type_.context)


def _maps(root: mlir.Operation) -> list[mlir.AffineMap] | None:
    names_ = ("indexing_maps", "linalg.memoized_indexing_maps")
    for name in names_:
        if name in root.attributes:
            return [
                mlir.AffineMapAttr(each).value for each in mlir.ArrayAttr(root.attributes[name])
            ]
    return None


def _shapes(
    root: mlir.Operation, types: Sequence[mlir.Type], unknown: int | None
) -> list[list[int]] | None:
    """Returns a shape for each operand, those that depend on each other made to fit.

    Loops of which nothing is known have the size `unknown`, or stay open if that is None.
    """
    shapes = [list(each.shape) for each in types if isinstance(each, mlir.RankedTensorType)]
    if len(shapes) != len(types):
        return None
    maps = _maps(root)
    if maps is None or len(maps) != len(shapes):
        return shapes if all(size != DYNAMIC for shape in shapes for size in shape) else None
    loops: dict[int, int] = {}
    for map_, shape in zip(maps, shapes, strict=True):
        for expression, size in zip(map_.results, shape, strict=True):
            if isinstance(expression, mlir.AffineDimExpr) and size != DYNAMIC:
                loops[expression.position] = size
    for map_, shape in zip(maps, shapes, strict=True):
        for index, expression in enumerate(map_.results):
            if shape[index] == DYNAMIC:
                largest = _largest(expression, loops, unknown)
                shape[index] = DYNAMIC if largest is None else largest + 1
    return shapes


def _largest(expression: Any, loops: Mapping[int, int], unknown: int | None) -> int | None:
    """Returns the largest value of an affine expression, None if it is open."""
    if isinstance(expression, mlir.AffineDimExpr):
        size = loops.get(expression.position, unknown)
        return None if size is None else size - 1
    if isinstance(expression, mlir.AffineConstantExpr):
        return int(expression.value)
    lhs = _largest(expression.lhs, loops, unknown)
    rhs = _largest(expression.rhs, loops, unknown)
    if lhs is None or rhs is None:
        return None
    return lhs * rhs if isinstance(expression, mlir.AffineMulExpr) else lhs + rhs


def _program(root: mlir.Operation, shapes: list[list[int]]) -> Payload | None:
    """Builds a function that computes `root` on operands of these shapes, from a zero."""
    with root.context, mlir.Location.unknown():
        types = [
            mlir.RankedTensorType.get(shape, operand.type.element_type)
            for shape, operand in zip(shapes, root.operands, strict=True)
        ]
        module = mlir.Module.create()
        result = types[-1]
        function_type = mlir.FunctionType.get(types[:-1], [result])
        with mlir.InsertionPoint(module.body):
            function = mlir.Operation.create(
                names.FUNCTION,
                regions=1,
                attributes={
                    names.SYMBOL_NAME: mlir.StringAttr.get("entry"),
                    "function_type": mlir.TypeAttr.get(function_type),
                },
            )
        block = function.regions[0].blocks.append(*types[:-1])
        with mlir.InsertionPoint(block):
            sizes = _sizes(root, shapes, list(block.arguments))
            if sizes is None:
                return None
            start = _zero(result, sizes)
            clone = root.clone()
            for index, value in enumerate([*block.arguments, start]):
                clone.operands[index] = value
            clone.results[0].set_type(result)
            mlir.Operation.create("func.return", operands=[clone.results[0]])
        module.operation.verify()
        shown = ", ".join(str(each) for each in types)
        return Payload(str(module), shown)


def _sizes(root: mlir.Operation, shapes: list[list[int]], arguments: list[Any]) -> list[Any] | None:
    """Builds the sizes of the open dimensions of the result; None if no operand has one of them."""
    maps = _maps(root) or []
    sizes = []
    for position, size in enumerate(shapes[-1]):
        if size != DYNAMIC:
            continue
        wanted = maps[-1].results[position] if maps else None
        found = next(
            (
                (argument, index)
                for argument, map_ in zip(arguments, maps, strict=False)
                for index, expression in enumerate(map_.results)
                if expression == wanted
            ),
            None,
        )
        if found is None:
            return None
        index_type = mlir.IndexType.get()
        value: dict[str, mlir.Attribute] = {"value": mlir.IntegerAttr.get(index_type, found[1])}
        constant = mlir.Operation.create("arith.constant", results=[index_type], attributes=value)
        operands = [found[0], constant.results[0]]
        size_of = mlir.Operation.create("tensor.dim", results=[index_type], operands=operands)
        sizes.append(size_of.results[0])
    return sizes


def _zero(type_: Any, sizes: list[Any]) -> Any:
    """Builds a tensor of zeros at the current insertion point."""
    element = type_.element_type
    is_float = isinstance(element, mlir.FloatType)
    value = mlir.FloatAttr.get(element, 0.0) if is_float else mlir.IntegerAttr.get(element, 0)
    constant = mlir.Operation.create(
        "arith.constant", results=[element], attributes={"value": value}
    )
    empty = mlir.Operation.create("tensor.empty", results=[type_], operands=sizes)
    scalar = mlir.Operation.parse(
        f"""module {{ func.func @f(%v: {element}, %t: {type_}) -> {type_} {{
          %r = linalg.fill ins(%v : {element}) outs(%t : {type_}) -> {type_}
          return %r : {type_} }} }}"""
    )
    fill = collect(scalar, "linalg.fill")[0].clone()
    fill.operands[0], fill.operands[1] = constant.results[0], empty.results[0]
    return fill.results[0]
