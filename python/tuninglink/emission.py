"""Writers of specs for root ops: matchers in several forms, actions and entry points."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree import (
    RANGES,
    UNBOUNDED,
    OpKind,
    Role,
    SizeRange,
    StructuredOp,
    element_type,
    loops_in,
    read_executable_target,
    specialization_ranges,
)
from tuninglink.mlir import FreshNames, collect, names, symbols, thread_context, to_text
from tuninglink.specs import (
    FAILURES_PROPAGATE,
    PROVENANCE,
    add_kernel_config,
    bind,
    create,
    include,
    named_sequence,
    pair_attributes,
    provenance_attribute,
    yield_,
)

if TYPE_CHECKING:
    from tuninglink.iree import Target
    from tuninglink.spaces.model import Workload

    Value = mlir.Value[Any]
    Matcher = Callable[["Workload", Value, Container[int]], None]
    "Adds ops to a matcher that distinguish the root op of a dispatch from other ops, but for the sizes of some loops."


_PARAMETER: Final = "!transform.param<i64>"
_ANY_VALUE: Final = "!transform.any_value"
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
        (value,) = create(names.GET_OPERAND, [operation], [_ANY_VALUE], raw_position_list=first)
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


def _match_name(root: mlir.Operation, operation: Value) -> None:
    op_names = mlir.ArrayAttr.get([mlir.StringAttr.get(root.name)])
    create(names.MATCH_OPERATION_NAME, [operation], [], op_names=op_names)


def match_types(root: mlir.Operation, operation: Value, _ranges: Container[int]) -> None:
    """Match ops with the same name and types, which determine the maps; the regions may compute anything.

    Raises:
        NoMatcherError: the types do not determine the maps.
    """
    if not types_determine_maps(root):
        raise NoMatcherError("its types do not determine its maps")
    _match_name(root, operation)
    for number, operand in enumerate(root.operands):
        position = mlir.DenseI64ArrayAttr.get([number])
        (value,) = create(names.GET_OPERAND, [operation], [_ANY_VALUE], raw_position_list=position)
        create(names.MATCH_TYPE, [value], [], target_type=mlir.TypeAttr.get(operand.type))
    everything = {
        "raw_position_list": mlir.DenseI64ArrayAttr.get([]),
        "is_all": mlir.UnitAttr.get(),
    }
    (values,) = create(names.GET_OPERAND, [operation], [_ANY_VALUE], **everything)
    _match_count(values, len(root.operands))


def types_determine_maps(root: mlir.Operation) -> bool:
    """Return whether an op has loops of different sizes, each of which is a dimension of a type where it is used."""
    op = StructuredOp(root)
    are_known = None not in op.sizes and len(set(op.sizes)) == len(op.sizes) > 0
    return are_known and all(map_.is_projected_permutation for map_ in op.maps)


def _match_count(handle: Value, number: int) -> None:
    """Match if a handle has a number of ops or values."""
    (count,) = create(names.NUM_ASSOCIATIONS, [handle], [_PARAMETER])
    (expected,) = create(names.PARAM_CONSTANT, [], [_PARAMETER], value=_integer(number))
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
    results = [mlir.Type.parse(_ANY_VALUE)] * 2
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

BY_TYPES: Final = "types"
"""The form of matchers for ops whose regions use outer values; it does not compare what they compute."""

_MATCHERS: Final[Mapping[str, Matcher]] = {
    **FORMS,
    BY_TYPES: lambda dispatch, operation, ranges: match_types(dispatch.root, operation, ranges),
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


# --- The writer of specs: for each entry a matcher of its problem, and an action that configures it


def _integer(value: int) -> mlir.Attribute:
    return mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), value)


_ANY_PARAMETER: Final = "!transform.any_param"

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


@dataclass(frozen=True)
class SpecEntry:
    """An entry to be written.

    Attributes:
        label: the name of the matcher, after `match_`.
        dispatch: the dispatch whose root op the entry matches, as matchers see it, without a configuration.
        form: the form of the matcher, one of `FORMS` or `BY_TYPES`.
        configuration: the attributes that configure the operation, by name, as MLIR prints them. Without any, the
            compiler chooses. `names.UNROLLED_LOOPS` rewrites it instead.
        target: the target that the entry is bound to; None for any target.
        ranges: the ranges of loop sizes. Other loops have the sizes of the dispatch.
        bounds: bounds on the sizes of dynamic loops, for the compiler.
        specializations: the boxes of sizes that the compiler specializes code for; see `specialization_ranges`.
        neighbors: other ops of the dispatch that the entry requires and configures, each after those on its path.
    """

    label: str
    dispatch: Workload
    form: str
    configuration: Mapping[str, str]
    provenance: Mapping[str, object] = field(default_factory=dict)
    target: Target | None = None
    ranges: Mapping[int, SizeRange] = field(default_factory=dict)
    bounds: Mapping[int, SizeRange] = field(default_factory=dict)
    specializations: tuple[Mapping[int, SizeRange], ...] = ()
    neighbors: tuple[Neighbor, ...] = ()

    @property
    def annotated(self) -> tuple[tuple[str, ...], int]:
        """The names of the attributes that the entry sets on the root op, and the number of configured neighbors."""
        return tuple(self.configuration), sum(bool(one.lowering_config) for one in self.neighbors)

    @property
    def copies(self) -> tuple[int, ...]:
        """The number of copies of the operation by loop if the entry unrolls it; else empty."""
        text = self.configuration.get(names.UNROLLED_LOOPS)
        if text is None:
            return ()
        return tuple(mlir.DenseI64ArrayAttr(mlir.Attribute.parse(text, self.dispatch.root.context)))


def write_spec(name: str, entries: Sequence[SpecEntry]) -> str:
    """Return a spec in default-entrypoint form, as text.

    The form requires an entry. Without entries, the spec has an entry point that does nothing. If entries need a
    preparation, the entry point runs it first. A spec with a preparation, or with entries that rewrite their
    operations, is not in default-entrypoint form.

    Raises:
        NoMatcherError: the form of an entry cannot match its operation.
    """
    context = entries[0].dispatch.root.context if entries else thread_context()
    with context, mlir.Location.unknown(context):
        module = mlir.Module.create().operation
        unit = mlir.UnitAttr.get()
        configuring = [entry for entry in entries if not entry.copies]
        dispatches = [entry.dispatch for entry in configuring]
        # Mark the module; only a plain matcher list has the default form.
        module.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name)
        module.attributes[names.WITH_NAMED_SEQUENCE] = unit
        preparations = [kind for kind in Preparation if any(map(kind.is_for, dispatches))]
        if configuring == list(entries) and entries and not preparations:
            module.attributes[names.DEFAULT_ENTRY_POINT] = unit
        # Entries with equal configurations share an action.
        actions = {
            annotated: _add_action(module, *annotated)
            for annotated in sorted(
                {entry.annotated for entry in configuring}, key=lambda item: (len(item[0]), item[1])
            )
        }
        unrolling = {
            copies: add_unrolling(module, copies)
            for copies in dict.fromkeys(entry.copies for entry in entries if entry.copies)
        }
        # Add a matcher for each entry.
        fresh = FreshNames([])
        pairs, rewriting = [], []
        for entry in entries:
            matcher = fresh.take(f"match_{entry.label}")
            _add_matcher(module, matcher, entry)
            if entry.copies:
                rewriting.append((matcher, unrolling[entry.copies]))
            else:
                pairs.append((matcher, actions[entry.annotated]))
        # Add an entry point that rewrites ops of a dispatch, prepares it and walks it with one `foreach_match`. The entries
        # that rewrite their op are walked separately and first, since preparations change their ops.
        entry_point = add_kernel_config(module, consumes=bool(pairs or rewriting))
        block = entry_point.regions[0].blocks[0]
        root = block.arguments[0]
        with mlir.InsertionPoint(block):
            if rewriting:
                named = pair_attributes(rewriting)
                (root,) = create(names.FOREACH_MATCH, [root], [_ANY_OP], **named)
            for preparation in preparations:
                # The compiler hands over a function, which both passes run on.
                pass_name = mlir.StringAttr.get(preparation.value)
                (root,) = create(names.RUN_REGISTERED, [root], [_ANY_OP], pass_name=pass_name)
            if pairs:
                named = pair_attributes(pairs)
                (root,) = create(names.FOREACH_MATCH, [root], [_ANY_OP], **named)
            yield_([root])
        module.verify()
        return to_text(module)


def matcher_key(dispatch: Workload, form: str) -> str:
    """Return a key that is equal for dispatches with the same matcher.

    Raises:
        NoMatcherError: the form cannot match the operation.
    """
    with dispatch.root.context as context, mlir.Location.unknown(context):
        module = mlir.Module.create().operation
        block = _add_sequence(module, "match", [_ANY_OP])
        with mlir.InsertionPoint(block):
            _MATCHERS[form](dispatch, block.arguments[0], ())
            yield_([])
        return to_text(module)


def _add_sequence(
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


def _add_action(module: mlir.Operation, annotated: Sequence[str], neighbors: int = 0) -> str:
    name = "configure" if annotated else "keep"
    if names.DECOMPOSITION_CONFIG in annotated:
        name = "configure_attention"
    if neighbors:
        name += f"_and_{neighbors}_more"
    inputs = [_ANY_OP, *[_ANY_PARAMETER] * len(annotated)]
    inputs += [_ANY_OP, _ANY_PARAMETER] * neighbors
    block = _add_sequence(module, name, inputs)
    operation, *others = block.arguments
    parameters, others = others[: len(annotated)], others[len(annotated) :]
    with mlir.InsertionPoint(block):
        for attribute, parameter in zip(annotated, parameters, strict=True):
            text = mlir.StringAttr.get(attribute)
            create(names.ANNOTATE, [operation, parameter], [], name=text)
        for neighbor, parameter in zip(others[::2], others[1::2], strict=True):
            text = mlir.StringAttr.get(names.LOWERING_CONFIG)
            create(names.ANNOTATE, [neighbor, parameter], [], name=text)
        yield_([])
    return name


def _match_neighbors(
    module: mlir.Operation, root: Value, neighbors: Sequence[Neighbor]
) -> list[Value]:
    """Match the neighbors of a root op, and return a handle to each that has a configuration, and the configuration.

    No step fails other than silently: the steps from an op are those of the op in the program, with these results.
    """
    handles: dict[Path, Value] = {(): root}
    configured: list[Value] = []
    for neighbor in neighbors:
        *before, (side, number) = neighbor.path
        handle = handles[tuple(before)]
        if side == "operand":
            step = {"operand_number": _integer(number)}
            (handle,) = create(names.GET_PRODUCER, [handle], [_ANY_OP], **step)
        else:
            target = [_consumer_of_result(module, number)]
            (handle,) = include(
                target, [handle], [mlir.Type.parse(_ANY_OP)], failures=FAILURES_PROPAGATE
            )
        if neighbor.is_end:
            _match_name(neighbor.op, handle)
        else:
            (match_types if dag_fails(neighbor.op) else match_dag)(neighbor.op, handle, ())
        handles[neighbor.path] = handle
        if neighbor.lowering_config:
            value = mlir.Attribute.parse(neighbor.lowering_config, module.context)
            configured.append(handle)
            configured += create(names.PARAM_CONSTANT, [], [_ANY_PARAMETER], value=value)
    return configured


def _consumer_of_result(module: mlir.Operation, number: int) -> str:
    """Return the name of a sequence that yields the only consumer of a result of an op, which is added if necessary.

    The compiler runs `get_consumers_of_result` only in sequences that matchers include. The name determines the body: the
    compiler's linker does not rename such an include where it renames the included sequence.
    """
    name = f"only_consumer_of_result_{number}"
    if name not in symbols(module):
        block = _add_sequence(module, name, [_ANY_OP], [_ANY_OP])
        with mlir.InsertionPoint(block):
            step = {"result_number": _integer(number)}
            (consumers,) = create(names.GET_CONSUMERS, [block.arguments[0]], [_ANY_OP], **step)
            # A consumer that uses the result several times is listed as often.
            once = {"deduplicate": mlir.UnitAttr.get()}
            (consumer,) = create(names.MERGE_HANDLES, [consumers], [_ANY_OP], **once)
            _match_count(consumer, 1)
            yield_([consumer])
    return name


def _add_matcher(module: mlir.Operation, name: str, entry: SpecEntry) -> None:
    """Add the matcher of an entry, which yields the op and its configuration."""
    context = entry.dispatch.root.context
    texts = () if entry.copies else entry.configuration.values()
    configurations = [mlir.Attribute.parse(text, context) for text in texts]
    results = [_ANY_OP, *[_ANY_PARAMETER] * len(configurations)]
    results += [_ANY_OP, _ANY_PARAMETER] * entry.annotated[1]
    block = _add_sequence(module, name, [_ANY_OP], results)
    operation = block.arguments[0]
    # The body matches the op, and yields it with its configuration.
    with mlir.InsertionPoint(block):
        # The compiler has configured an op that it chose a microkernel for.
        if names.UKERNEL not in entry.configuration:
            create(names.HAS_NO_LOWERING_CONFIG, [operation], [])
        _MATCHERS[entry.form](entry.dispatch, operation, entry.ranges)
        op = StructuredOp(entry.dispatch.root)
        # A matcher op handles a whole role, so that the other loops of a role with a range get exact ranges.
        bounded = [
            (loop, 0, entry.ranges.get(loop, SizeRange(op.sizes[loop] or 0, op.sizes[loop] or 0)))
            for role in op.loops.values()
            if any(loop in entry.ranges for loop in role)
            for loop in role
        ]
        # Bounds of dynamic loops refer to the output, since the compiler does not propagate those of an input on GPUs.
        bounded += [(loop, -1, sizes) for loop, sizes in entry.bounds.items()]
        for loop, choice, sizes in bounded:
            places = [
                (number, loops.index(loop))
                for number, loops in enumerate(op.operand_loops)
                if loop in loops
            ]
            if not places:
                raise NoMatcherError(f"no operand has loop {loop} for a dimension")
            number, dimension = places[choice]
            position = mlir.DenseI64ArrayAttr.get([number])
            (value,) = create(
                names.GET_OPERAND, [operation], [_ANY_VALUE], raw_position_list=position
            )
            bounds = {"dim": _integer(dimension), "lower_bound": _integer(sizes.low)}
            if sizes.high < UNBOUNDED:
                bounds["upper_bound"] = _integer(sizes.high)
            create(names.MATCH_DIM_BOUNDS, [value], [], **bounds)
            if sizes.divisor > 1:
                dim, divisor = _integer(dimension), _integer(sizes.divisor)
                create(names.MATCH_DIM_MULTIPLE, [value], [], dim=dim, size=divisor)
        parameters = [
            create(names.PARAM_CONSTANT, [], [_ANY_PARAMETER], value=configuration)[0]
            for configuration in configurations
        ]
        # Last, as the readers of matchers do not follow them.
        others = _match_neighbors(module, operation, entry.neighbors)
        yield_([operation, *parameters, *others])
    # The attributes of the sequence.
    sequence: Any = block.owner
    if entry.target is not None:
        bind(sequence.operation, [entry.target.name])
    if entry.specializations:
        loops = len(entry.dispatch.problem.dimensions)
        ranges = specialization_ranges(entry.specializations, loops, context)
        sequence.operation.attributes[RANGES] = ranges
    if entry.provenance:
        sequence.operation.attributes[PROVENANCE] = provenance_attribute(entry.provenance)


# --- Entry points of generated specs: the preparation of a dispatch, the walk over it, and actions that rewrite an op

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
        if not _is_for_cpu(dispatch):
            return False
        if self is Preparation.ENCODINGS:
            return bool(collect(dispatch.function, *_DATA_TILED))
        # The compiler removes loops of one iteration before it forms dispatches, so it added such a batch loop.
        problem = dispatch.problem
        return problem.kind is OpKind.CONVOLUTION and any(
            problem.dimensions[loop].size == 1 for loop in problem.loops(Role.BATCH)
        )


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

    There are none if the op has no window or a large one, or sums over channels, as a matmul does.
    """
    if not _is_for_cpu(dispatch) or dispatch.problem.kind is not OpKind.CONVOLUTION:
        return ()
    dimensions = dispatch.problem.dimensions
    adds_channels = any(each.role is Role.INPUT_CHANNEL and each.size != 1 for each in dimensions)
    if adds_channels or any(each.size is None for each in dimensions):
        return ()
    copies = tuple(
        each.size if each.size and each.size > 1 and each.role is Role.FILTER else 0
        for each in dimensions
    )
    return copies if 1 < prod(count or 1 for count in copies) <= _MOST_COPIES else ()


def _is_for_cpu(dispatch: Workload) -> bool:
    target = read_executable_target(dispatch.target) if dispatch.target is not None else None
    return target is not None and target.backend == "llvm-cpu"


def add_unrolling(module: mlir.Operation, copies: Sequence[int]) -> str:
    """Add an action that unrolls the loops of an op with a number of copies, and return its name."""
    name = "unroll_" + "_".join(map(str, copies))
    block = _add_sequence(module, name, [_ANY_OP], ownership=names.CONSUMED)
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
