"""Operations in words: what is computed, how large it is, and of which types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.iree.convolution_layouts import layout
from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.iree.structured_op import PARALLEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tuninglink.iree.structured_op import Sizes, StructuredOp, ValueType

_MATMULS: Final = {
    (False, False): "dot",
    (False, True): "vecmat",
    (True, False): "matvec",
    (True, True): "matmul",
}
"""What a contraction is called for whether it has loops m and n."""


def describe(op: StructuredOp) -> str:
    """Returns an op in words, such as `matmul 2048x1280x5120 f16·f16→f32, rhs transposed`.

    Sizes of matmuls are m, n and k, after those of the batch; a dynamic size is `?`.
    """
    if op.kind is OpKind.CONTRACTION:
        return _contraction(op)
    if op.kind is OpKind.CONVOLUTION:
        return _convolution(op)
    if op.kind is OpKind.ATTENTION:
        return _attention(op)
    if op.name.startswith("linalg.") and op.maps:
        return _structured(op)
    operands = (str(operand) for operand in op.operands if operand.sizes is not None)
    return " ".join([op.name, ", ".join(operands)]).rstrip()


def _sizes(op: StructuredOp, *roles: Role) -> Sizes:
    """Returns the sizes of the loops in some roles."""
    return tuple(op.sizes[loop] for role in roles for loop in op.loops[role])


def _contraction(op: StructuredOp) -> str:
    name = _MATMULS[bool(op.loops[Role.M]), bool(op.loops[Role.N])]
    if any(len(op.loops[each]) > 1 for each in (Role.M, Role.N, Role.K)):
        # Which of several loops belong together, only their names can tell.
        return f"contraction {_by_role(op)} {_types(op)}"
    if op.loops[Role.BATCH]:
        name = f"batch {name}"
    sizes = product(_sizes(op, Role.BATCH, Role.M, Role.N, Role.K))
    return ", ".join([f"{name} {sizes} {_types(op)}", *_transposed(op)])


def _by_role(op: StructuredOp) -> str:
    sizes = ((role, _sizes(op, role)) for role in op.loops)
    return ", ".join(f"{role.value} {product(each)}" for role, each in sizes if each)


def _transposed(op: StructuredOp) -> Iterable[str]:
    """Yields which operands are transposed: lhs is m x k, rhs k x n and the output m x n as a rule."""
    loops = op.loops
    usual = ((Role.M, Role.K), (Role.K, Role.N), (Role.M, Role.N))
    for name, operand, (first, second) in zip(
        ("lhs", "rhs", "output"), op.operand_loops, usual, strict=True
    ):
        if loops[first] and loops[second]:
            order = [operand.index(each) for each in (loops[first][0], loops[second][0])]
            if order != sorted(order):
                yield f"{name} transposed"


def _convolution(op: StructuredOp) -> str:
    image = _sizes(op, Role.BATCH, Role.OUTPUT_IMAGE, Role.OUTPUT_CHANNEL, Role.DEPTH)
    name = "depthwise convolution" if op.loops[Role.DEPTH] else "convolution"
    if not op.loops[Role.DEPTH] and not op.loops[Role.INPUT_CHANNEL]:
        name = "pooling"
    filter_ = product(_sizes(op, Role.FILTER))
    parts = [f"{name} {product(image)} {_types(op)}", layout(op.maps), f"filter {filter_}"]
    if op.loops[Role.INPUT_CHANNEL]:
        parts.append(f"input channels {product(_sizes(op, Role.INPUT_CHANNEL))}")
    steps = {"strides": op.strides, "dilations": op.dilations}
    unusual = (
        f"{name} {product(each)}" for name, each in steps.items() if any(one != 1 for one in each)
    )
    return ", ".join(filter(None, [*parts, *unusual]))


def _attention(op: StructuredOp) -> str:
    name = op.name.partition(".")[2].replace("_", " ")
    inputs = "·".join(operand.element for operand in op.operands[:3])
    output = op.results[0].element if op.results else op.operands[-1].element
    return f"{name} {_by_role(op)} {inputs}→{output}"


def _structured(op: StructuredOp) -> str:
    reduced = [loop for loop, each in enumerate(op.iterator_types) if each != PARALLEL]
    name = op.name.partition(".")[2]
    if name == "generic":
        name = "reduction" if reduced else "elementwise"
    text = f"{name} {product(op.sizes)}" if op.sizes else name
    # Only generic ops spell out which loops they reduce; the names of the others tell.
    if reduced and "iterator_types" in op.operation.attributes:
        text += f" over {product([op.sizes[each] for each in reduced])}"
    return f"{text} {_types(op)}"


def _types(op: StructuredOp) -> str:
    """Returns the element types of the inputs and of the outputs."""
    count = len(op.results) or 1
    inputs, outputs = op.operands[:-count], op.operands[-count:]
    return "→".join(filter(None, (_elements(inputs), _elements(outputs))))


def _elements(types: Sequence[ValueType]) -> str:
    return "·".join(type_.element for type_ in types)


def product(sizes: Sizes | Sequence[int | None]) -> str:
    """Returns sizes as people write them: `64x?x32`."""
    return "x".join("?" if size is None else str(size) for size in sizes)
