"""Descriptions of ops in words: operation, sizes, types, layouts of convolutions, and hints about slow layouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind, Role, loops_by_role, loops_in
from tuninglink.iree.structured_op import PARALLEL, Sizes, StructuredOp, ValueType
from tuninglink.iree.targets import Target

_SPATIAL: Final = "dhw"
"""The spatial dimensions, as linalg's named ops call them. Convolutions with fewer use the last ones."""

_LETTERS: Final = {
    Role.BATCH: "n",
    Role.INPUT_CHANNEL: "c",
    Role.OUTPUT_CHANNEL: "f",
    Role.DEPTH: "c",
}


def layout(maps: Sequence[mlir.AffineMap]) -> str:
    """Return the name of the layout of a convolution's image and filter; empty if the layout has no name.

    Args:
        maps: the indexing maps of the image, the filter and the output.
    """
    loops = loops_by_role(OpKind.CONVOLUTION, maps) if len(maps) == _OPERANDS else {}
    if not loops or not (loops[Role.INPUT_CHANNEL] or loops[Role.DEPTH]):
        return ""  # A pooling has no channels.
    letters = {loop: letter for role, letter in _LETTERS.items() for loop in loops[role]}
    image, filter_ = (
        "".join(_letter(result, letters, loops) for result in map_.results) for map_ in maps[:2]
    )
    return f"{image}_{filter_}" if "?" not in image + filter_ else ""


_OPERANDS: Final = 3


def _letter(
    expression: mlir.AffineExpr, letters: Mapping[int, str], loops: Mapping[Role, tuple[int, ...]]
) -> str:
    """Return the letter of a loop, or of the image dimension that a window slides along."""
    used = [
        loop
        for loop in (*loops[Role.OUTPUT_IMAGE], *loops[Role.FILTER], *letters)
        if loop in loops_in(expression)
    ]
    for role in (Role.FILTER, Role.OUTPUT_IMAGE):
        for position, loop in enumerate(loops[role]):
            if loop in used:
                return _SPATIAL[-len(loops[role]) :][position : position + 1] or "?"
    return letters.get(used[0], "?") if used else "?"


_MATMULS: Final = {
    (False, False): "dot",
    (False, True): "vecmat",
    (True, False): "matvec",
    (True, True): "matmul",
}
"""The names of contractions, by whether they have loops m and n."""


def describe(op: StructuredOp) -> str:
    """Describe an op, for example as `matmul 2048x1280x5120 f16·f16→f32, rhs transposed`.

    The sizes of a matmul are m, n and k, after the batch sizes. A dynamic size is `?`.
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
    """Return the sizes of the loops in some roles."""
    return tuple(op.sizes[loop] for role in roles for loop in op.loops[role])


def _contraction(op: StructuredOp) -> str:
    name = _MATMULS[bool(op.loops[Role.M]), bool(op.loops[Role.N])]
    if any(len(op.loops[role]) > 1 for role in (Role.M, Role.N, Role.K)):
        # Which of several loops belong together is visible from their roles only.
        return f"contraction {_by_role(op)} {_types(op)}"
    if op.loops[Role.BATCH]:
        name = f"batch {name}"
    sizes = product(_sizes(op, Role.BATCH, Role.M, Role.N, Role.K))
    return ", ".join([f"{name} {sizes} {_types(op)}", *_transposed(op)])


def _by_role(op: StructuredOp) -> str:
    sizes = ((role, _sizes(op, role)) for role in op.loops)
    return ", ".join(
        f"{role.value} {product(role_sizes)}" for role, role_sizes in sizes if role_sizes
    )


def _transposed(op: StructuredOp) -> Iterable[str]:
    """Yield the names of the transposed operands.

    The default layouts are m x k for lhs, k x n for rhs and m x n for the output.
    """
    loops = op.loops
    usual = ((Role.M, Role.K), (Role.K, Role.N), (Role.M, Role.N))
    for name, operand, (first, second) in zip(
        ("lhs", "rhs", "output"), op.operand_loops, usual, strict=True
    ):
        if loops[first] and loops[second]:
            order = [operand.index(loop) for loop in (loops[first][0], loops[second][0])]
            if order != sorted(order):
                yield f"{name} transposed"


def _convolution(op: StructuredOp) -> str:
    image = _sizes(op, Role.BATCH, Role.OUTPUT_IMAGE, Role.OUTPUT_CHANNEL, Role.DEPTH)
    match bool(op.loops[Role.DEPTH]), bool(op.loops[Role.INPUT_CHANNEL]):
        case True, True:
            name = "grouped convolution"
        case True, False:
            name = "depthwise convolution"
        case False, True:
            name = "convolution"
        case _:  # A convolution of one channel has no loop for it.
            name = "convolution" if _reads_filter(op) else "pooling"
    filter_ = product(_sizes(op, Role.FILTER))
    parts = [f"{name} {product(image)} {_types(op)}", layout(op.maps), f"filter {filter_}"]
    if op.loops[Role.INPUT_CHANNEL]:
        parts.append(f"input channels {product(_sizes(op, Role.INPUT_CHANNEL))}")
    steps = {"strides": op.strides, "dilations": op.dilations}
    unusual = (
        f"{name} {product(step)}" for name, step in steps.items() if any(size != 1 for size in step)
    )
    return ", ".join(filter(None, [*parts, *unusual]))


def _reads_filter(op: StructuredOp) -> bool:
    """Return whether an op uses the elements of its filter. A pooling op uses only the filter's sizes."""
    blocks = (block for region in op.operation.regions for block in region)
    return any(True for block in blocks for _ in block.arguments[1].uses)


def _attention(op: StructuredOp) -> str:
    name = op.name.partition(".")[2].replace("_", " ")
    inputs = "·".join(operand.element for operand in op.operands[:3])
    output = op.results[0].element if op.results else op.operands[-1].element
    return f"{name} {_by_role(op)} {inputs}→{output}"


def _structured(op: StructuredOp) -> str:
    reduced = [loop for loop, iterator in enumerate(op.iterator_types) if iterator != PARALLEL]
    name = op.name.partition(".")[2]
    if name == "generic":
        name = "reduction" if reduced else "elementwise"
    text = f"{name} {product(op.sizes)}" if op.sizes else name
    # Only generic ops list the loops that they reduce. The names of other ops imply them.
    if reduced and "iterator_types" in op.operation.attributes:
        text += f" over {product([op.sizes[loop] for loop in reduced])}"
    return f"{text} {_types(op)}"


def _types(op: StructuredOp) -> str:
    """Return the element types of the inputs and of the outputs."""
    count = len(op.results) or 1
    inputs, outputs = op.operands[:-count], op.operands[-count:]
    return "→".join(filter(None, (_elements(inputs), _elements(outputs))))


def _elements(types: Sequence[ValueType]) -> str:
    return "·".join(type_.element for type_ in types)


def product(sizes: Sizes | Sequence[int | None]) -> str:
    """Return sizes in the notation `64x?x32`."""
    return "x".join("?" if size is None else str(size) for size in sizes)


def layout_hint(op: StructuredOp, target: Target | None) -> str:
    """Return a hint for a program whose convolution has a slow layout; empty for other programs.

    The CPU backend generates fast code for convolutions only if the image channels and the filter's output channels
    come last. With im2col, other layouts are two to three times slower.
    """
    is_convolution = op.kind is OpKind.CONVOLUTION and not op.loops[Role.DEPTH]
    if not is_convolution or target is None or target.backend != "llvm-cpu":
        return ""
    image, _, filter_ = layout(op.maps[:_OPERANDS]).partition("_")
    if not image or (image.endswith("c") and filter_.endswith("cf")):
        return ""
    return (
        "image and filter are fast with their channels last, NHWC and HWCF: change the layout in the model, or try "
        "'--iree-global-opt-use-im2col-for-convs'"
    )
