"""Graphs of ops as text: a module with a function of the values that the ops of a program take from others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.mlir import collect, defining_op, names, thread_context, to_text
from tuninglink.payloads import Value, clone_into, new_function
from tuninglink.replacing import ORDER, Attention, NoFormError

if TYPE_CHECKING:
    from collections.abc import Sequence

_WRITING: Final = ("linalg.", "iree_linalg_ext.")
"""The dialects of ops whose last operands are the destinations of their results."""


def graph_text(
    graph: Sequence[mlir.Operation],
    read: Sequence[Value],
    sources: Sequence[Value],
    constants: Sequence[Value] = (),
    attention: Attention | None = None,
) -> str:
    """Return the text of a graph, the first op of which is the last one, and of the ops that move its operands.

    The function takes the tensors that the kernel reads, other values, and the destinations of ops, the last op's last.

    Args:
        graph: the ops.
        read: the operands.
        sources: the tensors that these are moved from.
        constants: tensors that the program computes from no others, all of whose ops are in the text.
        attention: the attention among the ops, whose loops are shown in the same order however they are numbered.

    Raises:
        NoFormError: other ops use what those of the graph compute.
    """
    end, ordered = graph[0], _ordered(graph, read, sources, constants)
    # Each destination is a value of its own, as nothing reads it.
    given, destinations = dict.fromkeys(sources), list[tuple[mlir.Operation, int]]()
    for operation in ordered:
        written = len(operation.operands) - len(operation.results)
        for position, operand in enumerate(operation.operands):
            if defining_op(operand) in ordered:
                continue
            if position >= written and operation.name.startswith(_WRITING):
                destinations.append((operation, position))
            else:
                given[operand] = None
    # The result of a product has the type of the fill that it begins with.
    operation, position = destinations[-1]
    if operation.operands[position].type != end.results[0].type:
        raise NoFormError("its result has no destination")
    with end.context, mlir.Location.unknown():
        kinds = [at.type for at in given]
        kinds += [operation.operands[position].type for operation, position in destinations]
        module, block = new_function(kinds, [end.results[0].type], "graph")
        values: dict[Value, Value] = dict(zip(given, block.arguments, strict=False))
        written_to = dict(zip(destinations, list(block.arguments)[len(given) :], strict=True))
        with mlir.InsertionPoint(block):
            for operation in ordered:
                clone = clone_into(operation, values, [at.type for at in operation.results])
                for position in range(len(operation.operands)):
                    if (operation, position) in written_to:
                        clone.operands[position] = written_to[operation, position]
                _take_constants(clone)
                if clone.name == names.ATTENTION and attention is not None:
                    _set_maps(clone, attention.renumbered(attention.outer + ORDER).maps())
            mlir.Operation.create("func.return", operands=[values[end.results[0]]])
        return to_text(module)


def _ordered(
    graph: Sequence[mlir.Operation],
    read: Sequence[Value],
    sources: Sequence[Value],
    constants: Sequence[Value],
) -> dict[mlir.Operation, None]:
    """Return the ops of a graph and those that move its operands, each after those that it uses."""
    end, *others = graph
    computing = (op for op in others if op.name != names.FILL)
    users = {use.owner.operation for op in computing for at in op.results for use in at.uses}
    if users - {*graph}:
        raise NoFormError("other ops use its values")
    included = {*graph}
    for value in read:
        before = value
        while before not in sources and (moving := defining_op(before)) and len(moving.operands):
            included.add(moving)
            before = moving.operands[0]
    waiting = list(constants)
    while waiting:
        producer = defining_op(waiting.pop())
        if producer and producer not in included and producer.name != "tensor.empty":
            included.add(producer)
            waiting += producer.operands
    ordered: dict[mlir.Operation, None] = {}

    def visit(operation: mlir.Operation) -> None:
        for before in filter(None, map(defining_op, operation.operands)):
            is_number = before.name == names.CONSTANT
            is_number = is_number and not isinstance(before.results[0].type, mlir.RankedTensorType)
            # Scales and zero points are values that a graph takes: one kernel is for all.
            is_number = is_number and operation.name not in (names.QUANTIZE, names.DEQUANTIZE)
            if before not in ordered and (before in included or is_number):
                visit(before)
        ordered[operation] = None

    visit(end)
    return ordered


def _take_constants(clone: mlir.Operation) -> None:
    """Have constants in the body of an op that uses them, where matchers compare them."""
    for inner in collect(clone)[1:]:
        for position, outside in enumerate(map(defining_op, inner.operands)):
            if outside is None or outside.parent == clone:
                continue
            if outside.name != names.CONSTANT:
                raise NoFormError("it reads other values")
            begin = mlir.InsertionPoint.at_block_begin(clone.regions[0].blocks[0])
            inner.operands[position] = outside.clone(begin).results[0]


def graph_tensors(text: str) -> tuple[mlir.Type, ...]:
    """Return the types of the values that a graph takes."""
    module = mlir.Module.parse(text, thread_context())
    kind = mlir.TypeAttr(module.body.operations[0].attributes["function_type"]).value
    return tuple(mlir.FunctionType(kind).inputs)


def built_graph(
    text: str, operands: Sequence[Value], maps: Sequence[mlir.AffineMap] = ()
) -> list[Value]:
    """Build a graph from its values at the current insertion point, with the maps of its attention; return its results."""
    module = mlir.Module.parse(text, thread_context())
    block = module.body.operations[0].regions[0].blocks[0]
    values: dict[Value, Value] = dict(zip(block.arguments, operands, strict=True))
    *operations, end = block.operations
    for operation in operations:
        clone = clone_into(operation.operation, values, [at.type for at in operation.results])
        if clone.name == names.ATTENTION:
            _set_maps(clone, maps)
    return [values.get(operand, operand) for operand in end.operands]


def _set_maps(operation: mlir.Operation, maps: Sequence[mlir.AffineMap]) -> None:
    listed = [mlir.AffineMapAttr.get(one) for one in maps]
    operation.attributes["indexing_maps"] = mlir.ArrayAttr.get(listed)
