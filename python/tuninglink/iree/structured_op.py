"""Structured ops as data: kind, loops and their roles, sizes, element types, accumulation; and in words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Final, Self

from iree.compiler import ir as mlir

# `iree.compiler.dialects` re-exports these, but takes 140 ms to build the classes of the ops.
from iree.compiler._mlir_libs import _ireeCompilerDialects, _mlirDialectsLinalg  # type: ignore[attr-defined]

from tuninglink.iree.targets import Target
from tuninglink.mlir import defining_op, names

Sizes = tuple[int | None, ...]
"""Sizes of loops or dimensions; None for a dynamic one."""

PARALLEL: Final = "parallel"
REDUCTION: Final = "reduction"

_SOURCE: Final = 0
_DESTINATION: Final = 1
"""The tensor operands of a relayout, by position."""


@dataclass(frozen=True)
class ValueType:
    """The type of an operand or result.

    Attributes:
        element: the element type of a shaped type, otherwise the type itself.
        sizes: the size of each dimension; None if the type is not shaped or has no rank.
        is_tensor: whether the type is a ranked tensor.
    """

    text: str
    element: str
    sizes: Sizes | None
    is_tensor: bool
    encoding: str = ""

    @staticmethod
    def of(type_: mlir.Type) -> ValueType:
        """Convert a type to data."""
        is_tensor = isinstance(type_, mlir.RankedTensorType)
        encoding = str(type_.encoding or "") if isinstance(type_, mlir.RankedTensorType) else ""
        element = str(element_type(type_))
        return ValueType(str(type_), element, shape(type_), is_tensor, encoding)

    def __str__(self) -> str:
        """Return the sizes and the element type, such as `16x?xf16`."""
        if self.sizes is None:
            return self.element
        return "x".join(filter(None, (product(self.sizes), self.element)))


@dataclass(frozen=True)
class Accumulation:
    """The accumulation of an op over its reduction loops, which starts from a constant or from given values."""

    element_type: str
    starts_from_fill: bool


class OpDescription:
    """The loops of an op, as they follow from its kind, its indexing maps and its sizes."""

    if TYPE_CHECKING:

        @property
        def kind(self) -> OpKind: ...
        @property
        def maps(self) -> tuple[mlir.AffineMap, ...]: ...
        @property
        def sizes(self) -> Sizes: ...
        @property
        def first_output(self) -> int: ...

    @cached_property
    def operand_loops(self) -> tuple[tuple[int | None, ...], ...]:
        """The loop that indexes each dimension of each operand, or None for any other expression."""
        return tuple(map(indexing_loops, self.maps))

    @property
    def loop_count(self) -> int:
        """The number of loops."""
        return self.maps[0].n_dims if self.maps else len(self.sizes)

    @cached_property
    def iterator_types(self) -> tuple[str, ...]:
        """The iterator type of each loop, `parallel` or `reduction`: loops that index no output are reductions."""
        outputs = self.operand_loops[self.first_output :]
        parallel = {loop for output in outputs for loop in output}
        return tuple(PARALLEL if loop in parallel else REDUCTION for loop in range(self.loop_count))

    @cached_property
    def loops(self) -> Mapping[Role, tuple[int, ...]]:
        """The loops in each role, for the kinds in `ROLES` and in their order; empty for the other kinds."""
        return loops_by_role(self.kind, self.maps, self.first_output)

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """The role of each loop."""
        roles = [Role.PARALLEL] * self.loop_count
        if self.kind is OpKind.REDUCTION:
            roles = [Role(type_) for type_ in self.iterator_types]
        for role, loops in self.loops.items():
            for loop in loops:
                roles[loop] = role
        return tuple(roles)

    @cached_property
    def steps(self) -> Mapping[str, tuple[int, ...]]:
        """The strides of a convolution's image and the dilations of its filter; empty for the other kinds."""
        if self.kind is not OpKind.CONVOLUTION:
            return {}
        found = _mlirDialectsLinalg.infer_convolution_dimensions_from_maps(list(self.maps))
        return {"strides": tuple(found.strides), "dilations": tuple(found.dilations)}

    @cached_property
    def role_sizes(self) -> Mapping[str, Sizes]:
        """The sizes of the loops by role, and the steps, as the results of matcher ops are called."""
        return {
            role.value.replace(" ", "_"): tuple(self.sizes[loop] for loop in loops)
            for role, loops in self.loops.items()
        } | dict(self.steps)


@dataclass(frozen=True)
class StructuredOp(OpDescription):
    """A structured op as data; the operation must outlive it.

    Each property is computed once, on first use. An op without indexing maps has no loops, except for packing and
    unpacking ops.
    """

    operation: mlir.Operation

    @cached_property
    def name(self) -> str:
        """The name of the op."""
        return self.operation.name

    @cached_property
    def kind(self) -> OpKind:
        """The kind of computation."""
        if self.name in ATTENTION_OUTPUTS:
            return OpKind.ATTENTION
        if not self.name.startswith("linalg."):
            return OpKind.OTHER
        if _mlirDialectsLinalg.isa_contraction_op(self.operation):
            return OpKind.CONTRACTION
        if _mlirDialectsLinalg.isa_convolution_op(self.operation):
            return OpKind.CONVOLUTION
        if self._iterators is None:
            return OpKind.OTHER
        return OpKind.REDUCTION if REDUCTION in self._iterators else OpKind.ELEMENTWISE

    @cached_property
    def maps_attribute(self) -> mlir.ArrayAttr | None:
        """The indexing maps as an attribute; None if the op has no maps."""
        indexing_maps: mlir.Attribute | None
        if self.name.startswith("linalg."):
            indexing_maps = _mlirDialectsLinalg.get_indexing_maps(self.operation)
        else:
            indexing_maps = self.operation.attributes.get("indexing_maps")
        return indexing_maps if isinstance(indexing_maps, mlir.ArrayAttr) else None

    @cached_property
    def maps(self) -> tuple[mlir.AffineMap, ...]:
        """The indexing maps of the operands that have an indexing map."""
        return affine_maps(self.maps_attribute)

    @cached_property
    def iterator_types(self) -> tuple[str, ...]:
        """The iterator type of each loop; named ops have no attribute for it."""
        if not self.maps:
            return self._iterators or (PARALLEL,) * self.loop_count
        return self._iterators or super().iterator_types

    @cached_property
    def sizes(self) -> Sizes:
        """The size of each loop, taken from the first static dimension that the loop alone indexes."""
        return self.loop_sizes(lambda operand: shape(operand.type))

    def loop_sizes(self, shape_of: Callable[[mlir.Value[Any]], Sizes | None]) -> Sizes:
        """Return the sizes of the loops, given the shapes of the operands."""
        if self.is_relayout:
            # It has no maps. Its loops are over packed tiles, or over unpacked elements.
            unpacked = _SOURCE if self.name == names.PACK else _DESTINATION
            destination = shape(self.operation.operands[_DESTINATION].type) or ()
            return destination[: len(shape(self.operation.operands[unpacked].type) or ())]
        if not self.maps:
            return ()
        sizes: list[int | None] = [None] * self.loop_count
        for operand, loops in zip(self.operation.operands, self.operand_loops, strict=False):
            if not any(loop is not None and sizes[loop] is None for loop in loops):
                continue
            for loop, size in zip(loops, shape_of(operand) or (), strict=False):
                if loop is not None and sizes[loop] is None:
                    sizes[loop] = size
        return tuple(sizes)

    @cached_property
    def operands(self) -> tuple[ValueType, ...]:
        """The types of the operands."""
        return tuple(ValueType.of(operand.type) for operand in self.operation.operands)

    @cached_property
    def results(self) -> tuple[ValueType, ...]:
        """The types of the results."""
        return tuple(ValueType.of(result.type) for result in self.operation.results)

    @cached_property
    def element_types(self) -> tuple[str, ...]:
        """The element types of the operands, inputs before outputs, as MLIR prints them."""
        return tuple(str(element_type(operand.type)) for operand in self.operation.operands)

    @property
    def first_output(self) -> int:
        """The position of the first output among the operands with indexing maps."""
        outputs = ATTENTION_OUTPUTS.get(self.name) or max(1, len(self.operation.results))
        return max(0, len(self.maps) - outputs)

    @cached_property
    def accumulation(self) -> Accumulation | None:
        """The accumulation of the op, or None without a reduction loop.

        Attention creates its accumulators, in f32. Other ops update their output.
        """
        if REDUCTION not in self.iterator_types:
            return None
        if self.name == names.ATTENTION:
            return Accumulation("f32", starts_from_fill=True)
        output = self.operation.operands[self.first_output]
        producer = defining_op(output)
        is_filled = producer is not None and producer.name == names.FILL
        return Accumulation(str(element_type(output.type)), is_filled)

    @cached_property
    def is_relayout(self) -> bool:
        """Whether the op packs a tensor into tiles or unpacks it."""
        return self.name in (names.PACK, names.UNPACK)

    @property
    def packed_elements(self) -> int | None:
        """The number of elements that one iteration of a relayout moves, or None if it is unknown."""
        tile = (shape(self.operation.operands[_DESTINATION].type) or ())[self.loop_count :]
        return None if None in tile else prod(size for size in tile if size is not None)

    @cached_property
    def _iterators(self) -> tuple[str, ...] | None:
        iterators = self.operation.attributes.get("iterator_types")
        if not isinstance(iterators, mlir.ArrayAttr):
            return None
        # Reading an element would import the dialect's Python module, see `_mlirDialectsLinalg`.
        printed = str(iterators).split(",") if len(iterators) else []
        return tuple(PARALLEL if f"<{PARALLEL}>" in iterator else REDUCTION for iterator in printed)


def shape(type_: mlir.Type) -> Sizes | None:
    """Return the size of each dimension of a type; None if it is not shaped or has no rank."""
    if not isinstance(type_, mlir.ShapedType) or not type_.has_rank:
        return None
    return tuple(
        None if type_.is_dynamic_dim(position) else type_.get_dim_size(position)
        for position in range(type_.rank)
    )


def element_type(type_: mlir.Type) -> mlir.Type:
    """Return the element type of a shaped type, or any other type unchanged."""
    return type_.element_type if isinstance(type_, mlir.ShapedType) else type_


# --- Kinds of ops and roles of their loops, and their inference from indexing maps ---------------

ATTENTION_OUTPUTS: Final = {names.ATTENTION: 1, names.ONLINE_ATTENTION: 3}
"""The number of outputs of the attention ops: the result; for online attention also the maximum and the sum."""


class OpKind(Enum):
    """The kind of an op, as in the compiler's matchers."""

    CONTRACTION = "contraction"
    CONVOLUTION = "convolution"
    ATTENTION = "attention"
    REDUCTION = "reduction"
    ELEMENTWISE = "elementwise"
    OTHER = "other"


class Role(Enum):
    """The role of a loop, named as in the compiler's matcher op for each kind."""

    BATCH = "batch"
    M = "m"
    N = "n"
    K = "k"
    K1 = "k1"
    K2 = "k2"
    OUTPUT_IMAGE = "output image"
    OUTPUT_CHANNEL = "output channel"
    FILTER = "filter"
    INPUT_CHANNEL = "input channel"
    DEPTH = "depth"
    PARALLEL = "parallel"
    REDUCTION = "reduction"


ROLES: Final[Mapping[OpKind, Mapping[Role, str]]] = {
    OpKind.CONTRACTION: {Role.BATCH: "batch", Role.M: "m", Role.N: "n", Role.K: "k"},
    OpKind.CONVOLUTION: {
        Role.BATCH: "batch",
        Role.OUTPUT_IMAGE: "output_image",
        Role.OUTPUT_CHANNEL: "output_channel",
        Role.FILTER: "filter_loop",
        Role.INPUT_CHANNEL: "input_channel",
        Role.DEPTH: "depth",
    },
    OpKind.ATTENTION: {
        Role.BATCH: "batch_dims",
        Role.M: "m_dims",
        Role.N: "n_dims",
        Role.K1: "k1_dims",
        Role.K2: "k2_dims",
    },
}
"""The roles of each kind, in the order of the results of its matcher op, with their names in the bindings."""


def loops_by_role(
    kind: OpKind, maps: Sequence[mlir.AffineMap], output: int = -1
) -> dict[Role, tuple[int, ...]]:
    """Return the loops of each role, in the order of `ROLES`; empty if the maps do not fit the kind.

    `output` is the position of the first output's map.
    """
    dimensions: Any = None
    if kind is OpKind.CONTRACTION:
        dimensions = _mlirDialectsLinalg.infer_contraction_dimensions_from_maps(list(maps))
    elif kind is OpKind.CONVOLUTION:
        dimensions = _mlirDialectsLinalg.infer_convolution_dimensions_from_maps(list(maps))
    elif kind is OpKind.ATTENTION:
        detail = _ireeCompilerDialects.iree_codegen.get_attention_op_detail
        dimensions = detail(maps[0], maps[1], maps[2], maps[output])
    if dimensions is None:
        return {}
    return {role: tuple(getattr(dimensions, name)) for role, name in ROLES[kind].items()}


def affine_maps(attribute: mlir.Attribute | None) -> tuple[mlir.AffineMap, ...]:
    """Return the affine maps in an array attribute; empty for any other attribute."""
    if not isinstance(attribute, mlir.ArrayAttr):
        return ()
    return tuple(element.value for element in attribute if isinstance(element, mlir.AffineMapAttr))


def indexing_loops(map_: mlir.AffineMap) -> tuple[int | None, ...]:
    """Return the loop of each result of an indexing map, or None for an expression other than a loop."""
    return tuple(
        result.position if isinstance(result, mlir.AffineDimExpr) else None
        for result in map_.results
    )


def loops_in(expression: mlir.AffineExpr) -> frozenset[int]:
    """Return the loops that a result of an indexing map depends on."""
    if isinstance(expression, mlir.AffineDimExpr):
        return frozenset({expression.position})
    if isinstance(expression, mlir.AffineBinaryExpr):
        return loops_in(expression.lhs) | loops_in(expression.rhs)
    return frozenset()


@dataclass(frozen=True)
class ProductLoops:
    """The loops of a product of two operands, ascending, as `linalg::inferContractionDims` classifies them.

    Attributes:
        rows: the loops of the left-hand side and the result.
        columns: the loops of the right-hand side and the result.
        reductions: the loops of both operands.
        batches: the loops of both operands and the result.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    reductions: tuple[int, ...]
    batches: tuple[int, ...]

    @classmethod
    def of(cls, lhs: Collection[int], rhs: Collection[int], result: Collection[int]) -> Self:
        """Return the loops of a product, given the loops that index its operands and its result."""
        left, right, parallel = set(lhs), set(rhs), set(result)
        rows, columns = left & parallel - right, right & parallel - left
        reductions, batches = left & right - parallel, left & right & parallel
        return cls(*(tuple(sorted(group)) for group in (rows, columns, reductions, batches)))


# --- Descriptions of ops in words: operation, sizes, types, layouts of convolutions, and hints about slow layouts

_SPATIAL: Final = "dhw"
"""The spatial dimensions, as linalg's named ops call them. Convolutions with fewer use the last ones."""

_LETTERS: Final = {
    Role.BATCH: "n",
    Role.INPUT_CHANNEL: "c",
    Role.OUTPUT_CHANNEL: "f",
    Role.DEPTH: "c",
}


def layout(maps: Sequence[mlir.AffineMap]) -> str:
    """Return the name of the layout of a convolution's image and filter, given its maps; empty if it has none."""
    loops = loops_by_role(OpKind.CONVOLUTION, maps) if len(maps) == _OPERANDS else {}
    if not loops or not (loops[Role.INPUT_CHANNEL] or loops[Role.DEPTH]):
        return ""  # A pooling has no channels.
    letters = {loop: letter for role, letter in _LETTERS.items() for loop in loops[role]}
    # A dimension of the image that a window slides along has the letter of the window's loop.
    windows = {
        loop: _SPATIAL[-len(loops[role]) :][position : position + 1] or "?"
        for role in (Role.FILTER, Role.OUTPUT_IMAGE)
        for position, loop in enumerate(loops[role])
    }
    letters = windows | letters
    image, filter_ = (
        "".join(
            next((letters[loop] for loop in letters if loop in loops_in(result)), "?")
            for result in map_.results
        )
        for map_ in maps[:2]
    )
    return f"{image}_{filter_}" if "?" not in image + filter_ else ""


_OPERANDS: Final = 3

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
    name = op.name.partition(".")[2]
    if op.kind is OpKind.ATTENTION:
        inputs = "·".join(operand.element for operand in op.operands[:3])
        output = op.results[0].element if op.results else op.operands[-1].element
        return f"{name.replace('_', ' ')} {_by_role(op)} {inputs}→{output}"
    if op.name.startswith("linalg.") and op.maps:
        reduced = [loop for loop, iterator in enumerate(op.iterator_types) if iterator != PARALLEL]
        if name == "generic":
            name = "reduction" if reduced else "elementwise"
        text = f"{name} {product(op.sizes)}" if op.sizes else name
        # Only generic ops list the loops that they reduce. The names of other ops imply them.
        if reduced and "iterator_types" in op.operation.attributes:
            text += f" over {product([op.sizes[loop] for loop in reduced])}"
        return f"{text} {_types(op)}"
    operands = (str(operand) for operand in op.operands if operand.sizes is not None)
    return " ".join([op.name, ", ".join(operands)]).rstrip()


def _sizes(op: StructuredOp, *roles: Role) -> Sizes:
    return tuple(op.sizes[loop] for role in roles for loop in op.loops[role])


def _by_role(op: StructuredOp) -> str:
    return ", ".join(
        f"{role.value} {product(_sizes(op, role))}" for role, loops in op.loops.items() if loops
    )


def _contraction(op: StructuredOp) -> str:
    loops = op.loops
    name = _MATMULS[bool(loops[Role.M]), bool(loops[Role.N])]
    if any(len(loops[role]) > 1 for role in (Role.M, Role.N, Role.K)):
        # Which of several loops belong together is visible from their roles only.
        return f"contraction {_by_role(op)} {_types(op)}"
    if loops[Role.BATCH]:
        name = f"batch {name}"
    sizes = product(_sizes(op, Role.BATCH, Role.M, Role.N, Role.K))
    parts = [f"{name} {sizes} {_types(op)}"]
    # The default layouts are m x k for lhs, k x n for rhs and m x n for the output.
    usual = {"lhs": (Role.M, Role.K), "rhs": (Role.K, Role.N), "output": (Role.M, Role.N)}
    for (operand, (first, second)), indices in zip(usual.items(), op.operand_loops, strict=True):
        if loops[first] and loops[second]:
            order = [indices.index(loop) for loop in (loops[first][0], loops[second][0])]
            if order != sorted(order):
                parts.append(f"{operand} transposed")
    return ", ".join(parts)


def _convolution(op: StructuredOp) -> str:
    image = _sizes(op, Role.BATCH, Role.OUTPUT_IMAGE, Role.OUTPUT_CHANNEL, Role.DEPTH)
    name = "convolution"
    if op.loops[Role.DEPTH]:
        name = f"{'grouped' if op.loops[Role.INPUT_CHANNEL] else 'depthwise'} convolution"
    elif not op.loops[Role.INPUT_CHANNEL]:
        # A convolution of one channel has no loop for it, but reads its filter.
        blocks = (block for region in op.operation.regions for block in region)
        if not any(True for block in blocks for _ in block.arguments[1].uses):
            name = "pooling"
    filter_ = product(_sizes(op, Role.FILTER))
    parts = [f"{name} {product(image)} {_types(op)}", layout(op.maps), f"filter {filter_}"]
    if op.loops[Role.INPUT_CHANNEL]:
        parts.append(f"input channels {product(_sizes(op, Role.INPUT_CHANNEL))}")
    for steps, values in op.steps.items():
        if any(size != 1 for size in values):
            parts.append(f"{steps} {product(values)}")
    return ", ".join(filter(None, parts))


def _types(op: StructuredOp) -> str:
    count = len(op.results) or 1
    sides = (op.operands[:-count], op.operands[-count:])
    return "→".join(filter(None, ("·".join(operand.element for operand in side) for side in sides)))


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
