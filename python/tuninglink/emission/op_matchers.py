"""Matchers in several forms, for root ops and for the ops around them."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree import OpKind, StructuredOp, element_type, loops_in
from tuninglink.mlir import collect, names, symbols, to_text
from tuninglink.specs import FAILURES_PROPAGATE, create, include, named_sequence, yield_

if TYPE_CHECKING:
    from tuninglink.spaces.model import Workload

    Value = mlir.Value[Any]
    Matcher = Callable[["Workload", Value, Container[int]], None]
    "Adds ops to a matcher that distinguish the root op of a dispatch from other ops, but for the sizes of some loops."


ANY_OP: Final = "!transform.any_op"
ANY_PARAMETER: Final = "!transform.any_param"
ANY_VALUE: Final = "!transform.any_value"
_PARAMETER: Final = "!transform.param<i64>"
_OPERANDS: Final = 3
"""Left-hand side, right-hand side and result of a contraction."""
_PRODUCTS: Final = {
    OpKind.CONTRACTION: (names.MATCH_CONTRACTION, 0),
    OpKind.CONVOLUTION: (names.MATCH_CONVOLUTION, 2),
}
"""The matcher op of each kind of products, and the number of its results after the loops: strides and dilations."""
_ANY_SIZE: Final = -1
"""The number in `dims_equal` that equals any size, including a dynamic one."""
_ATTENTION_INPUTS: Final = ("query", "key", "value", "scale")


class NoMatcherError(Exception):
    """An error for a form of matchers that cannot match an operation. The message is the reason."""


def _match_product(
    kind: OpKind, dispatch: Workload, operation: Value, ranges: Container[int]
) -> None:
    if dispatch.problem.kind is not kind:
        raise NoMatcherError(f"it is not a {kind.value}")
    op = StructuredOp(dispatch.root)
    loops = list(op.loops.values())
    types = [operand.type for operand in dispatch.root.operands]
    if len(types) != _OPERANDS or not all(isinstance(type_, mlir.ShapedType) for type_ in types):
        raise NoMatcherError("it has other operands than two factors and a result")
    lhs, rhs, output = (mlir.TypeAttr.get(type_.element_type) for type_ in types)
    form, steps = _PRODUCTS[kind]
    results = create(
        form,
        [operation],
        [_PARAMETER] * (len(loops) + steps),
        lhs_type=lhs,
        rhs_type=rhs,
        output_type=output,
        indexing_maps=_maps(op),
    )
    _match_sizes(dispatch, results, loops, ranges)
    if kind is OpKind.CONVOLUTION:
        # The loops do not determine the size of the image after the last window.
        image = mlir.TypeAttr.get(_with_open_sizes(types[0], op.maps[0], ranges))
        first = mlir.DenseI64ArrayAttr.get([0])
        (value,) = create(names.GET_OPERAND, [operation], [ANY_VALUE], raw_position_list=first)
        create(names.MATCH_TYPE, [value], [], target_type=image)


def _with_open_sizes(
    image: mlir.ShapedType, map_: mlir.AffineMap, ranges: Container[int]
) -> mlir.Type:
    """Return the type of an image, with dynamic sizes where they depend on a loop with a range."""
    ranged = {loop for loop in range(map_.n_dims) if loop in ranges}
    if not ranged:
        return image
    dynamic = mlir.ShapedType.get_dynamic_size()
    sizes = [
        dynamic if ranged & loops_in(expression) else image.get_dim_size(position)
        for position, expression in enumerate(map_.results)
    ]
    return mlir.RankedTensorType.get(sizes, image.element_type)


def _match_attention(dispatch: Workload, operation: Value, ranges: Container[int]) -> None:
    root = dispatch.root
    if root.name not in (names.ATTENTION, names.ONLINE_ATTENTION):
        raise NoMatcherError("it is not an attention")
    op = StructuredOp(root)
    if op.first_output > len(_ATTENTION_INPUTS):
        raise NoMatcherError("the compiler's attention matchers do not support a mask")
    # The element types of inputs and results; the matcher of a plain attention has none of the scale.
    is_online = root.name == names.ONLINE_ATTENTION
    inputs = zip(_ATTENTION_INPUTS, root.operands, strict=False)
    outputs = zip(("output", "max", "sum"), root.results, strict=False)
    named: dict[str, mlir.Attribute] = {
        f"{name}_type": mlir.TypeAttr.get(element_type(value.type))
        for name, value in (*inputs, *outputs)
        if is_online or name != "scale"
    }
    form = names.MATCH_ONLINE_ATTENTION if is_online else names.MATCH_ATTENTION
    loops = list(op.loops.values())
    types = [_PARAMETER] * len(loops)
    results = create(form, [operation], types, indexing_maps=_maps(op), **named)
    _match_sizes(dispatch, results, loops, ranges)


def dag_fails(root: mlir.Operation) -> bool:
    """Return whether the compiler's DAG matcher never matches an op, as its regions use values from around it."""
    inside = collect(root)
    for operand in (operand for inner in inside[1:] for operand in inner.operands):
        owner = operand.owner
        holder = owner.owner.operation if isinstance(owner, mlir.Block) else owner.operation
        if holder not in inside:
            return True
    return False


def integer(value: int) -> mlir.Attribute:
    """Return an attribute of 64 bits."""
    return mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), value)


_STORES: Final = ("iree_tensor_ext.dispatch.tensor.store", "iree_codegen.store_to_buffer")
"""The ops that write a result of a dispatch, before and after the compiler chooses configurations."""


def _match_name(root: mlir.Operation, operation: Value) -> None:
    accepted = _STORES if root.name in _STORES else (root.name,)
    op_names = mlir.ArrayAttr.get([mlir.StringAttr.get(name) for name in accepted])
    create(names.MATCH_OPERATION_NAME, [operation], [], op_names=op_names)


def match_signature(root: mlir.Operation, operation: Value, _ranges: Container[int]) -> None:
    """Match ops with the same name, maps, iterators and types; the regions may compute anything.

    Raises:
        NoMatcherError: the op has no maps.
    """
    if not has_signature(root):
        raise NoMatcherError("it has no indexing maps")
    _match_name(root, operation)
    for number, operand in enumerate(root.operands):
        position = mlir.DenseI64ArrayAttr.get([number])
        (value,) = create(names.GET_OPERAND, [operation], [ANY_VALUE], raw_position_list=position)
        create(names.MATCH_TYPE, [value], [], target_type=mlir.TypeAttr.get(operand.type))
    # There is a map for each operand, so they also tell the number of operands.
    attributes = mlir.DictAttr.get({name: root.attributes[name] for name in _SIGNATURE})
    digest = hashlib.sha256(str(attributes).encode()).hexdigest()[:12]
    step = names.STRUCTURED_MATCH, {"op_attrs": attributes}
    _include_one(f"has_maps_{digest}", operation, step)


def has_signature(root: mlir.Operation) -> bool:
    """Return whether an op has indexing maps and iterators as attributes."""
    return all(name in root.attributes for name in _SIGNATURE)


_SIGNATURE: Final = ("indexing_maps", "iterator_types")


def _include_one(
    name: str, operation: Value, *steps: tuple[str, Mapping[str, mlir.Attribute]]
) -> Value:
    """Include a sequence, which is added if necessary, with ops that lead to exactly one op, and return that.

    The compiler runs these ops only in sequences that matchers include. The name determines the steps: the compiler's
    linker does not rename such an include where it renames the included sequence.
    """
    sequence: Any = mlir.InsertionPoint.current.block.owner
    module = sequence.operation.parent.operation
    if name not in symbols(module):
        block = add_sequence(module, name, [ANY_OP], [ANY_OP])
        handle = block.arguments[0]
        with mlir.InsertionPoint(block):
            for step, attributes in steps:
                (handle,) = create(step, [handle], [ANY_OP], **attributes)
            _match_count(handle, 1)
            yield_([handle])
    return include([name], [operation], [mlir.Type.parse(ANY_OP)], FAILURES_PROPAGATE)[0]


def _match_count(handle: Value, number: int) -> None:
    """Match if a handle has a number of ops or values."""
    (count,) = create(names.NUM_ASSOCIATIONS, [handle], [_PARAMETER])
    (expected,) = create(names.PARAM_CONSTANT, [], [_PARAMETER], value=integer(number))
    equal = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(32), 0)
    create(names.MATCH_PARAMETER, [count, expected], [], predicate=equal)


def match_dag(root: mlir.Operation, operation: Value, ranges: Container[int]) -> None:
    """Match ops with the same attributes, body and types, dynamic where a loop has a range, for any producers of operands.

    Raises:
        NoMatcherError: the compiler's matcher never matches the op.
    """
    op = StructuredOp(root)
    types = [operand.type for operand in root.operands]
    if any(loop in ranges for loop in range(len(op.sizes))):
        types = [
            _with_open_sizes(type_, map_, ranges) if isinstance(type_, mlir.ShapedType) else type_
            for type_, map_ in zip(types, op.maps, strict=True)
        ]
    if dag_fails(root):
        raise NoMatcherError(
            "the compiler's DAG matcher does not match ops whose regions use outer values"
        )
    _match_name(root, operation)
    results = [mlir.Type.parse(ANY_VALUE)] * 2
    dag = mlir.Operation.create(names.MATCH_DAG, operands=[operation], results=results, regions=1)
    kinds = dict(zip(root.operands, types, strict=True))
    operands = list(kinds)
    # The DAG is a copy of the root op, with block arguments for its operands.
    location = mlir.Location.unknown()
    block = dag.regions[0].blocks.append(*kinds.values(), arg_locs=[location] * len(operands))
    with mlir.InsertionPoint(block):
        copy = root.operation.clone().operation
        for position, operand in enumerate(root.operands):
            copy.operands[position] = block.arguments[operands.index(operand)]
        # The types are those of the destinations, which a pack's padding value and tile sizes follow.
        first = 1 if op.is_relayout else len(root.operands) - len(root.results)
        for result, kind in zip(copy.results, types[first:], strict=False):
            result.set_type(kind)
        yield_([])


FORMS: Final[Mapping[str, Matcher]] = {
    "contraction": partial(_match_product, OpKind.CONTRACTION),
    "convolution": partial(_match_product, OpKind.CONVOLUTION),
    "attention": _match_attention,
    "dag": lambda dispatch, operation, ranges: match_dag(dispatch.root, operation, ranges),
}
"""The forms of matchers, the most robust first."""

BY_SIGNATURE: Final = "signature"
"""The form of matchers by name, maps and types, for ops whose regions use outer values."""

MATCHERS: Final[Mapping[str, Matcher]] = {
    **FORMS,
    BY_SIGNATURE: lambda dispatch, operation, ranges: match_signature(
        dispatch.root, operation, ranges
    ),
}


def _maps(op: StructuredOp) -> mlir.ArrayAttr:
    if op.maps_attribute is None:
        raise NoMatcherError("it has no indexing maps")
    return op.maps_attribute


def _match_sizes(
    dispatch: Workload,
    handles: Sequence[Value],
    loops: Sequence[Sequence[int]],
    ranges: Container[int],
) -> None:
    """Match the sizes of the dispatch, except dynamic ones and those of roles that have a loop with a range."""
    for handle, numbers in zip(handles, loops, strict=False):
        sizes = [dispatch.problem.dimensions[number].size for number in numbers]
        if all(size is None for size in sizes) or any(number in ranges for number in numbers):
            continue
        expected = mlir.DenseI64ArrayAttr.get(
            [_ANY_SIZE if size is None else size for size in sizes]
        )
        create(names.MATCH_DIMS_EQUAL, [handle], [], expected_values=expected)


def add_sequence(
    module: mlir.Operation,
    name: str,
    inputs: Sequence[str],
    outputs: Sequence[str] = (),
    ownership: str = names.READONLY,
) -> mlir.Block:
    """Add a named sequence, and return its block."""
    types, results = ([mlir.Type.parse(kind) for kind in kinds] for kinds in (inputs, outputs))
    with mlir.InsertionPoint(module.regions[0].blocks[0]):
        sequence = named_sequence(name, types, results, ownership)
    block: mlir.Block = sequence.regions[0].blocks[0]
    return block


def matcher_key(dispatch: Workload, form: str) -> str:
    """Return a key that is equal for dispatches with the same matcher.

    Raises:
        NoMatcherError: the form cannot match the operation.
    """
    with dispatch.root.context as context, mlir.Location.unknown(context):
        module = mlir.Module.create().operation
        block = add_sequence(module, "match", [ANY_OP])
        with mlir.InsertionPoint(block):
            MATCHERS[form](dispatch, block.arguments[0], ())
            yield_([])
        return to_text(module)


# --- Neighbors: ops around a root op that an entry requires and configures, too

Path = tuple[tuple[str, int], ...]
"""The steps from a root op to another op: `("operand", n)` leads to the producer of an operand, `("result", n)` to the only
consumer of a result."""


@dataclass(frozen=True)
class Neighbor:
    """An op in the dispatch of a root op that an entry matches and configures, too.

    Attributes:
        path: the steps from the root op, each of which leads to the root op or to a neighbor.
        op: the op as matchers see it.
        lowering_config: its lowering config as MLIR prints it; empty if it has none.
        is_end: whether it only ends the ops of the entry, so that its name is all that matters.
    """

    path: Path
    op: mlir.Operation
    lowering_config: str
    is_end: bool = False

    def __str__(self) -> str:
        """Return the op in words, such as `linalg.fill, the producer of operand 2`."""
        steps = [
            f"the producer of operand {number}"
            if side == "operand"
            else f"the consumer of result {number}"
            for side, number in reversed(self.path)
        ]
        return f"{self.op.name}, {' of '.join(steps)}"


def match_neighbors(root: Value, neighbors: Sequence[Neighbor]) -> list[Value]:
    """Match the neighbors of a root op, and return a handle to each that has a configuration, and the configuration.

    No step fails other than silently: the steps from an op are those of the op in the program, with these results.
    """
    handles: dict[Path, Value] = {(): root}
    configured: list[Value] = []
    for neighbor in neighbors:
        *before, (side, number) = neighbor.path
        handle = handles[tuple(before)]
        if side == "operand":
            step = {"operand_number": integer(number)}
            (handle,) = create(names.GET_PRODUCER, [handle], [ANY_OP], **step)
        else:
            # A consumer that uses the result several times is listed as often.
            consumers = names.GET_CONSUMERS, {"result_number": integer(number)}
            once = names.MERGE_HANDLES, {"deduplicate": mlir.UnitAttr.get()}
            handle = _include_one(f"only_consumer_of_result_{number}", handle, consumers, once)
        if neighbor.is_end:
            _match_name(neighbor.op, handle)
        else:
            (match_signature if dag_fails(neighbor.op) else match_dag)(neighbor.op, handle, ())
        handles[neighbor.path] = handle
        if neighbor.lowering_config:
            value = mlir.Attribute.parse(neighbor.lowering_config, neighbor.op.context)
            configured.append(handle)
            configured += create(names.PARAM_CONSTANT, [], [ANY_PARAMETER], value=value)
    return configured


@dataclass(frozen=True)
class Neighborhood:
    """The ops of a dispatch that the compiler configures beside its root op.

    Attributes:
        neighbors: those ops and the ops on the paths to them, each after the ops on its path.
        problem: the reason why no entry can configure all of them; empty if one can.
    """

    neighbors: tuple[Neighbor, ...] = ()
    problem: str = ""

    @cached_property
    def key(self) -> str:
        """A key that is equal for neighborhoods that one entry configures."""
        if not self.neighbors:
            return self.problem
        with self.neighbors[0].op.context as context, mlir.Location.unknown(context):
            module = mlir.Module.create().operation
            block = add_sequence(module, "match", [ANY_OP])
            with mlir.InsertionPoint(block):
                match_neighbors(block.arguments[0], self.neighbors)
                yield_([])
            return to_text(module)


def lowering_configs(module: mlir.Operation) -> list[tuple[mlir.Operation, str]]:
    """Return the configured ops of a dispatch, each with its lowering config as MLIR prints it."""
    return [
        (op, str(op.attributes[names.LOWERING_CONFIG]))
        for op in collect(module)
        if names.LOWERING_CONFIG in op.attributes
    ]


def neighborhood(
    configured_root: mlir.Operation,
    configured: Iterable[tuple[mlir.Operation, str]],
    root: mlir.Operation,
) -> Neighborhood:
    """Return the neighborhood of a root op.

    Args:
        configured_root: the root op in the configured dispatch.
        configured: the lowering configs that the compiler chose in this dispatch; the ops may have none any more.
        root: the root op as matchers see it.
    """
    # 1. The shortest path to each op, over producers and only consumers that are ops of structured kinds.
    paths: dict[mlir.Operation, Path] = {configured_root: ()}
    waiting = deque([configured_root])
    while waiting:
        op = waiting.popleft()
        operands = [("operand", number) for number in range(len(op.operands))]
        for step in (*operands, *(("result", number) for number in range(len(op.results)))):
            following = _follow(op, step)
            if following is None or following in paths:
                continue
            if following.name.startswith(("linalg.", "iree_linalg_ext.")):
                paths[following] = (*paths[op], step)
                waiting.append(following)
    # 2. The paths that are needed, with the ops on them.
    # The hash of an op depends on its attributes, which were removed.
    configs = {op: config for op, config in configured if op != configured_root}
    unreached = [op.name for op in configs if op not in paths]
    if unreached:
        return Neighborhood(problem=f"no matcher reaches {unreached[0]} from its root op")
    needed = {paths[op][:end]: None for op in configs for end in range(1, len(paths[op]) + 1)}
    by_path = {path: op for op, path in paths.items()}
    # 3. The same ops as matchers see them.
    seen: dict[Path, mlir.Operation] = {(): root}
    neighbors: list[Neighbor] = []
    for path in sorted(needed, key=len):
        op, following = by_path[path], _follow(seen[path[:-1]], path[-1])
        if following is None or following.name != op.name or _types(following) != _types(op):
            return Neighborhood(problem="the backend rewrites them after it applies specs")
        seen[path] = following
        neighbor = Neighbor(path, following, configs.get(op, ""))
        if dag_fails(following) and not has_signature(following):
            return Neighborhood(problem=f"no matcher fits {neighbor}: its regions use outer values")
        neighbors.append(neighbor)
    # 4. The consumers of these ops, which have other consumers in other dispatches.
    inside = list(seen.values())
    for path, op in [*seen.items()]:
        for number in range(len(op.results)):
            step = ("result", number)
            following = _follow(op, step)
            if following is not None and following not in inside:
                neighbors.append(Neighbor((*path, step), following, "", is_end=True))
    return Neighborhood(tuple(neighbors))


def _follow(op: mlir.Operation, step: tuple[str, int]) -> mlir.Operation | None:
    """Return the op that a step leads to, in the same block; None if there is none."""
    side, number = step
    following: Any = None
    if side == "operand":
        operand = op.operands[number]
        following = operand.owner if isinstance(operand, mlir.OpResult) else None
    else:
        consumers = {use.owner.operation for use in op.results[number].uses}
        following = consumers.pop() if len(consumers) == 1 else None
    is_beside = following is not None and following.operation.block == op.block
    return following.operation if is_beside else None


def _types(op: mlir.Operation) -> list[str]:
    return [str(value.type) for value in (*op.operands, *op.results)]


def by_neighborhood(
    neighborhoods: Mapping[str, Neighborhood], dispatches: Iterable[str]
) -> list[tuple[str, ...]]:
    """Return the dispatches that one entry configures, together; those with most neighbors come first."""
    groups: dict[str, list[str]] = {}
    for name in dispatches:
        groups.setdefault(neighborhoods[name].key, []).append(name)
    return sorted(
        map(tuple, groups.values()), key=lambda group: -len(neighborhoods[group[0]].neighbors)
    )
