"""Contractions, reduced to the properties that constraints on tiles need, and the rules that their pipelines share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_gpu

from tuninglink.errors import nearest
from tuninglink.iree import (
    MMA_KIND,
    PROMOTED_OPERANDS,
    PROMOTION_TYPES,
    Role,
    Sizes,
    StructuredOp,
    element_type,
    element_types,
)
from tuninglink.solver import Grade, UndecidedError, all_of, any_of, negation, number, select
from tuninglink.spaces.gpu.gpu_rules import (
    Gpu,
    Intrinsic,
    Number,
    Setting,
    SpaceRules,
    check_element_types,
    look_up,
    product_of,
    round_up,
)
from tuninglink.spaces.gpu.gpu_space import check_sizes, computed_inputs
from tuninglink.spaces.model import (
    ConstantSlot,
    ImpliedSlot,
    OptionSlot,
    Slot,
    UncompilableError,
    Workload,
    integer,
    promotion_types,
)

FOR_FEW_ROWS = "VDMFMA"
"""The prefix of the virtual intrinsics for few rows, which are for TileAndFuse."""

_OPERANDS = 3


@dataclass(frozen=True)
class Operand:
    """A matrix."""

    loops: tuple[int, ...]
    element_type: str
    bits: int
    inputs: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class Contraction:
    """A sum of products of two operands. An intrinsic runs over the innermost loops of rows, columns and products.

    Attributes:
        sizes: the sizes of the loops. None is a dynamic loop: one of `outer`, or m and n of an open contraction.
        outer: the other parallel loops: batch loops, and outer loops over rows and columns.
        outer_k: the outer reduction loops.
        m, n, k: the innermost loops over the rows of the result, over its columns, and of the reduction.
        accumulates: whether sums start from given values instead of a constant.
        is_plain: whether it is a product of two matrices; the compiler's own constraints cover only these.
        image: the operand made from the image of a convolution, None if it was not a convolution.
        filter_loops: the loops of `outer_k` over a filter, which code generation processes one element at a time,
            whatever the tiles are.
    """

    sizes: Sizes
    outer: tuple[int, ...]
    outer_k: tuple[int, ...]
    m: int
    n: int
    k: int
    lhs: Operand
    rhs: Operand
    result: Operand
    accumulates: bool
    is_plain: bool = False
    image: int | None = None
    filter_loops: tuple[int, ...] = ()

    @property
    def matrix_loops(self) -> tuple[int, int, int]:
        """The loops that intrinsics run over: m, n and k."""
        return self.m, self.n, self.k

    @property
    def operands(self) -> tuple[Operand, Operand]:
        return self.lhs, self.rhs

    @property
    def element_types(self) -> tuple[str, str, str]:
        """The element types of the operands and of the result."""
        return self.lhs.element_type, self.rhs.element_type, self.result.element_type

    def size(self, loop: int) -> int:
        """Return the size of a loop that is not dynamic."""
        size = self.sizes[loop]
        assert size is not None
        return size


def read_contraction(workload: Workload, *, may_be_open: bool = False) -> Contraction:
    """Read the contraction of a root op, whose rows and columns `may_be_open`: dynamic.

    Raises:
        UndecidedError: the op does not have this form, or its inner sizes are unknown.
    """
    op, problem = StructuredOp(workload.root), workload.problem
    # Classify the loops, as `linalg::inferContractionDims` does.
    loops = {role: problem.loops(role) for role in (Role.BATCH, Role.M, Role.N, Role.K)}
    for role in (Role.M, Role.N, Role.K):
        if not loops[role]:
            raise UndecidedError(f"{problem} has no dimensions of the kind '{role.value}'")
    values = op.operation.operands
    if not len(op.maps) == len(values) == _OPERANDS:
        raise UndecidedError(f"{problem} has other operands than two matrices and a result")
    lhs, rhs, result = map(read_operand, values, op.maps)
    lhs, rhs = (
        replace(each, inputs=tuple(operand_over(*of) for of in computed_inputs(value, each.loops)))
        for each, value in zip((lhs, rhs), values, strict=False)
    )
    (*outer_m, m), (*outer_n, n), (*outer_k, k) = (loops[each] for each in (Role.M, Role.N, Role.K))
    # Rows and columns may be dynamic, reductions may not.
    check_sizes(workload)
    sizes = tuple(dimension.size for dimension in problem.dimensions)
    if any(sizes[loop] is None for loop in (*outer_k, k)):
        raise UndecidedError(f"{problem} has reductions of unknown size")
    if not may_be_open and (sizes[m] is None or sizes[n] is None):
        raise UndecidedError(f"{problem} has inner dimensions of unknown size")
    # Only the innermost loop of each role is tiled by intrinsics.
    outer = tuple(sorted((*loops[Role.BATCH], *outer_m, *outer_n)))
    return Contraction(
        *(sizes, outer, tuple(outer_k), m, n, k, lhs, rhs, result),
        accumulates=not starts_from_fill(op),
        is_plain=not outer and not outer_k,
    )


def starts_from_fill(op: StructuredOp) -> bool:
    return op.accumulation is not None and op.accumulation.starts_from_fill


def intrinsics_for(contraction: Contraction, device: Gpu, virtual: str = "") -> list[Intrinsic]:
    """Return the intrinsics that compute a contraction."""
    types = contraction.element_types
    check_element_types(types, device)
    # The other virtual intrinsics are for attention and do not compile here.
    intrinsics = [
        intrinsic
        for intrinsic in device.intrinsics
        if intrinsic.element_types == types
        and not intrinsic.is_transposed
        and (not intrinsic.is_virtual or (virtual and f"<{virtual}" in str(intrinsic.attribute)))
    ]
    if not intrinsics:
        raise UndecidedError(f"no intrinsic of the target multiplies {'x'.join(types)}")
    return intrinsics


def static_sizes(workload: Workload) -> tuple[int, ...]:
    """Return the sizes of the loops of a root op.

    Raises:
        UndecidedError: a size is unknown or zero.
    """
    check_sizes(workload)
    dimensions = workload.problem.dimensions
    sizes = tuple(dimension.size for dimension in dimensions if dimension.size is not None)
    if len(sizes) != len(dimensions):
        raise UndecidedError(f"{workload.problem} has dimensions of unknown size")
    return sizes


def read_operand(operand: mlir.Value[Any], access: mlir.AffineMap) -> Operand:
    """Read an operand whose dimensions are each indexed by a single loop."""
    loops = loops_of(access)
    if len(loops) != len(access.results):
        raise UndecidedError(f"an operand is read through {access}")
    return operand_over(operand, loops)


def loops_of(access: mlir.AffineMap) -> list[int]:
    return [result.position for result in access.results if isinstance(result, mlir.AffineDimExpr)]


def operand_over(operand: mlir.Value[Any], loops: Iterable[int]) -> Operand:
    """Return an operand with the loops over its dimensions."""
    element = element_type(operand.type)
    if not isinstance(element, mlir.IntegerType | mlir.FloatType):
        raise UndecidedError(f"an operand has elements of type {element}")
    return Operand(tuple(loops), str(element), element.width)


# --- The promotion of operands of a contraction to shared memory, as a knob, and how threads read the promoted tiles

LOAD_BITS: Final = 128
"""The maximum width of a load of one thread, in bits."""

_KNOB: Final = PROMOTED_OPERANDS
_OPTIONS: Final = ((0, 1), (0,), (1,), ())

_ORDER_KNOB: Final = PROMOTION_TYPES
_LOAD: Final = "#iree_gpu.use_global_load_dma"
_SWIZZLED: Final = "swizzled"
_LOADS: Final = {
    "in order": _LOAD,
    _SWIZZLED: f"#iree_gpu.swizzle_operand<copy_config = {_LOAD}, swizzle = #iree_codegen.xor_shuffle<64, 8>>",
}
_ORDERS: Final = tuple(product(_LOADS, _LOADS))


class Promotion:
    """The knob for the promoted operands: which threads copy, or how both are loaded directly (`loads`).

    Configurations for which `any` is false are not worth trying. Direct loads are from global memory into shared memory.
    For these, `swizzled` has the condition for each operand.
    """

    def __init__(self, rules: SpaceRules, *, loads: bool = False) -> None:
        self.loads = loads
        self.any: Number = True
        if loads:
            order = rules.choice(_ORDER_KNOB, [f"{lhs}, {rhs}" for lhs, rhs in _ORDERS])
            self.slots = direct_load_slots(rules.context)
            self.swizzled = [
                any_of(
                    *(order == at for at, each in enumerate(_ORDERS) if each[operand] == _SWIZZLED)
                )
                for operand in (0, 1)
            ]
            return
        self._chosen = rules.choice(_KNOB, [list(each) or "none" for each in _OPTIONS])
        self.any = self._chosen != _OPTIONS.index(())
        with rules.context:
            operands = tuple(mlir.ArrayAttr.get([*map(integer, option)]) for option in _OPTIONS)
            types = tuple(promotion_types(len(each)) for each in _OPTIONS)
        self.slots = {
            PROMOTED_OPERANDS: OptionSlot(_KNOB, operands),
            PROMOTION_TYPES: ImpliedSlot(_KNOB, types),
        }

    def of(self, operand: int) -> Number:
        if self.loads:
            return True
        chosen = [index for index, each in enumerate(_OPTIONS) if operand in each]
        return any_of(*(self._chosen == index for index in chosen))

    def bits(self, contraction: Contraction, tiles: Mapping[int, Number]) -> list[Number]:
        copies = [tile_bits(operand, tiles) for operand in contraction.operands]
        return [select(self.of(index), bits, 0) for index, bits in enumerate(copies)]


def direct_load_slots(context: mlir.Context) -> dict[str, Slot]:
    """Return the entries of a lowering config that loads both operands directly into shared memory."""
    with context:
        loads = {name: mlir.Attribute.parse(text) for name, text in _LOADS.items()}
        types = tuple(mlir.ArrayAttr.get([loads[each] for each in order]) for order in _ORDERS)
        return {
            PROMOTED_OPERANDS: ConstantSlot(mlir.ArrayAttr.get([*map(integer, (0, 1))])),
            PROMOTION_TYPES: OptionSlot(_ORDER_KNOB, types),
        }


def tile_bits(operand: Operand, tiles: Mapping[int, Number]) -> Number:
    """Return the size of the tile of an operand."""
    result: Number = operand.bits
    for loop in operand.loops:
        result = result * tiles[loop]
    return result


def promotion_slots(operands: Sequence[int], context: mlir.Context) -> dict[str, Slot]:
    """Return the entries of a lowering config that always promotes the same operands."""
    with context:
        return {
            PROMOTED_OPERANDS: ConstantSlot(mlir.ArrayAttr.get([*map(integer, operands)])),
            PROMOTION_TYPES: ConstantSlot(promotion_types(len(operands))),
        }


def require_derivable(
    rules: SpaceRules, operand: Operand, name: str, *, unless: Number = False
) -> None:
    """Add the rule that the threads of a workgroup can share reading the tile of an operand."""
    tile = [rules.tiles[loop] for loop in operand.loops]
    shape = "x".join(["{}"] * len(tile))
    rules.necessary(
        any_of(unless, is_derivable(tile, rules.threads, operand.bits)),
        f"the {{}} threads must be able to share reading the tile {shape} of {name} evenly",
        rules.threads,
        *tile,
    )


def is_derivable(tile: Sequence[Number], threads: Number, bits: int) -> Number:
    """Return the condition that the threads can share reading a tile of elements of some bits, the innermost size last."""
    # The sizes of the piece that a thread reads at a time; see `getVectorTileSizesFromLoopRanges`.
    widest, (*outer, inner) = max(1, LOAD_BITS // bits), tile
    elements = inner
    for each in outer:
        elements = elements * each
    is_even = elements % threads == 0
    share = elements / threads
    width = select(all_of(is_even, share < widest), share, widest)
    # The width of a load must divide the innermost dimension, or vice versa.
    fits = any_of(negation(is_even), inner % width == 0, width % inner == 0)
    clipped = select(inner < width, inner, width)
    pieces = [select(fits, clipped, 1)]
    # The rest of the width extends to the next dimensions as long as it covers them completely.
    rest = select(all_of(is_even, fits, inner < width), width / inner, 1)
    for each in reversed(outer):
        covers = rest % each == 0
        pieces.append(select(covers, each, 1))
        rest = select(covers, rest / each, 1)
    # The threads are distributed over the pieces, from the innermost dimension.
    left = threads
    conditions = []
    for size, piece in zip(reversed(tile), pieces, strict=True):
        count = size / piece
        conditions += [size % piece == 0, any_of(left % count == 0, count % left == 0)]
        left = select(count <= left, left / count, 1)
    return all_of(*conditions)


# --- The rules of a contraction with intrinsics, and the limits of the compiler's own search


class ContractionRules(SpaceRules):
    """The rules of a form of configurations of a contraction with an intrinsic.

    By loop: the extents of the intrinsic (`shapes`), the numbers of subgroups, and their tiles (`pieces`).
    """

    def __init__(
        self, setting: Setting, contraction: Contraction, intrinsics: Sequence[Intrinsic]
    ) -> None:
        super().__init__(setting, len(contraction.sizes))
        self.contraction = contraction
        self.intrinsics = intrinsics
        self.shapes: dict[int, Number] = {}
        self.counts: dict[int, Number] = {}
        self.pieces: dict[int, Number] = {}

    def add_intrinsic(self) -> None:
        """Add the knob for the intrinsic, and set `shapes` to its extents."""
        contraction = self.contraction
        _, shapes = choose_intrinsic(self, MMA_KIND, self.intrinsics)
        outer = (*contraction.outer, *contraction.outer_k)
        self.shapes.update(dict.fromkeys(outer, number(1)))
        self.shapes.update(zip(contraction.matrix_loops, shapes, strict=True))


def choose_intrinsic(
    rules: SpaceRules, name: str, intrinsics: Sequence[Intrinsic]
) -> tuple[Number, tuple[Number, ...]]:
    """Add the knob for an intrinsic, and return the index of the intrinsic, and its m, n and k."""
    chosen = rules.choice(name, [intrinsic.attribute for intrinsic in intrinsics])
    sides = zip(*((each.m, each.n, each.k) for each in intrinsics), strict=True)
    return chosen, tuple(look_up(chosen, extents) for extents in sides)


def intrinsic_slot(intrinsics: Sequence[Intrinsic], name: str = MMA_KIND) -> OptionSlot:
    return OptionSlot(name, tuple(intrinsic.attribute for intrinsic in intrinsics))


@dataclass(frozen=True)
class ExactIntrinsicSlot(OptionSlot):
    """The knob for the intrinsic where only an intrinsic for exactly these types compiles."""

    types: tuple[str, ...]

    def read(self, path: str, actual: mlir.Attribute, assignment: dict[str, int]) -> None:
        if isinstance(actual, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr):
            types = element_types(actual)
            if types != self.types:
                fitting = [str(kind) for kind in self.options if element_types(kind) == self.types]
                closest = nearest(str(actual), fitting, cutoff=0)
                raise UncompilableError(
                    f"'{path}' is {actual}, which is for {'x'.join(types)}, not {'x'.join(self.types)}"
                    f"{f' as {closest} is' if closest else ''}",
                    path,
                )
        super().read(path, actual, assignment)


_MOST_TILE: Final = 512
_MOST_SUBGROUPS: Final = 10
_STAGES: Final = 2


def limit_like_compiler(
    rules: ContractionRules, promotion: Promotion, *, distributes_vectors: bool
) -> None:
    """Add the limits of `emitVectorDistributeConstraints` or of `emitTileAndFuseConstraints`."""
    contraction, tiles = rules.contraction, rules.tiles
    shapes, threads = rules.shapes, rules.threads
    m, n, k = contraction.matrix_loops
    # The tiles, and the subgroups of a workgroup.
    for loop in () if distributes_vectors else (m, n):
        padded = round_up(contraction.size(loop), shapes[loop])
        what, by = f"dimension {loop}, in whole intrinsics,", f"workgroup[{loop}]"
        rules.divide(Grade.HEURISTIC, padded, tiles[loop], what, by)
    for loop in contraction.matrix_loops:
        message = f"the tile of dimension {loop} must be at most {_MOST_TILE}, not {{}}"
        rules.limit_search(tiles[loop] <= _MOST_TILE, message, tiles[loop])
    counts = [rules.counts[m], rules.counts[n]] if distributes_vectors else rules.counts.values()
    subgroups = product_of(counts)
    message = f"a workgroup must have at most {_MOST_SUBGROUPS} subgroups, not {{}}"
    rules.limit_search(subgroups <= _MOST_SUBGROUPS, message, subgroups)
    if distributes_vectors:
        # Threads share the tiles of both operands.
        for name, loop in (("left", m), ("right", n)):
            elements = tiles[loop] * tiles[k]
            message = f"the {name} tile's {{}} elements must be divisible by the {{}} threads"
            rules.limit_search(elements % threads == 0, message, elements, threads)
        rules.limit_search(
            any_of(threads <= tiles[m], threads <= tiles[n]),
            f"the {{}} threads must not be more than workgroup[{m}] ({{}}) and workgroup[{n}] ({{}})",
            *(threads, tiles[m], tiles[n]),
        )
        message = f"reduction[{k}] must be a multiple of the intrinsic's m ({{}} % {{}} == 0)"
        rules.limit_search(tiles[k] % shapes[m] == 0, message, tiles[k], shapes[m])
    # The stages and the promotion.
    message = f"prefetch_num_stages must be {_STAGES}, not {{}}"
    rules.limit_search(rules.stages == _STAGES, message, rules.stages)
    rules.limit_search(promotion.any, "operands must be promoted")
