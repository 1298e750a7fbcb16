"""Attention with intrinsics in the pipeline VectorDistribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import Role
from tuninglink.solver.answers import UndecidedError
from tuninglink.spaces.gpu.contractions import Operand, read_operand, static_sizes
from tuninglink.spaces.gpu.forms import Form
from tuninglink.spaces.gpu.places import Array, Choice, Exactly, Given, Knob, Place
from tuninglink.spaces.gpu.promotion import promoted, tile_bits
from tuninglink.spaces.gpu.rules import MOST_INTRINSICS, Rules, product
from tuninglink.spaces.gpu.space import GpuSpace
from tuninglink.spaces.gpu.thread_layouts import is_derivable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.spaces.gpu.device import Device, Intrinsic
    from tuninglink.spaces.gpu.rules import Number
    from tuninglink.spaces.providers import Dispatch

_ACCUMULATED = "f32"
"""What attention adds up in."""

_SPOKEN_OF = "gfx"
"""Architectures on which the compiler has constraints of its own, though not on column-major results."""


@dataclass(frozen=True)
class Attention:
    """An attention.

    Attributes:
        sizes: the sizes of the loops.
        batch: the loops over independent problems.
        m: the loop over queries.
        n: the loop over the elements of a value.
        k1: the loop over the elements of a query.
        k2: the loop over keys.
        operands: query, key and value.
    """

    sizes: tuple[int, ...]
    batch: tuple[int, ...]
    m: int
    n: int
    k1: int
    k2: int
    operands: tuple[Operand, Operand, Operand]


def read_attention(dispatch: Dispatch) -> Attention:
    """Returns the attention that a root op is.

    Raises:
        UndecidedError: it has more dimensions than are known here, or its sizes are not known.
    """
    problem = dispatch.problem
    sizes = static_sizes(dispatch)
    roles: dict[Role, list[int]] = {}
    for index, each in enumerate(problem.dimensions):
        roles.setdefault(each.role, []).append(index)
    single = [roles.get(role, []) for role in (Role.M, Role.N, Role.K1, Role.K2)]
    if any(len(each) != 1 for each in single):
        raise UndecidedError(f"{problem} has other dimensions than one each of m, n, k1 and k2")
    (m,), (n,), (k1,), (k2,) = single
    maps = dispatch.root.attributes["indexing_maps"]
    given = list(maps) if isinstance(maps, mlir.ArrayAttr) else []
    accesses = [each.value for each in given if isinstance(each, mlir.AffineMapAttr)]
    query, key, value = (
        read_operand(operand, access)
        for operand, access in zip(list(dispatch.root.operands)[:3], accesses[:3], strict=True)
    )
    return Attention(sizes, tuple(roles.get(Role.BATCH, ())), m, n, k1, k2, (query, key, value))


def attention_space(
    attention: Attention, dispatch: Dispatch, device: Device, pipeline: mlir.Attribute
) -> GpuSpace:
    """Returns the configurations with intrinsics for both of its matmuls.

    A workgroup takes a tile of queries and of the elements of values, and goes through the keys in steps.

    Raises:
        UndecidedError: the target has no intrinsic for one of the matmuls.
    """
    rules = Rules()
    sizes = attention.sizes
    query, key, value = attention.operands
    tiles: dict[int, Number] = {attention.k1: rules.number(sizes[attention.k1])}
    for loop in (*attention.batch, attention.m, attention.n, attention.k2):
        name = _tile_name(attention, loop)
        tiles[loop] = rules.knob(name, 1, sizes[loop])
        rules.adopted(
            sizes[loop] % tiles[loop] == 0,
            f"dimension {loop} must be divisible by {name} ({sizes[loop]} % {{}} == 0)",
            tiles[loop],
        )
    most = max(1, device.threads // device.subgroup_size)
    counts = {
        attention.m: rules.knob("sg_m_cnt", 1, most),
        attention.n: rules.knob("sg_n_cnt", 1, most),
    }
    qk = _intrinsics(device, query, key)
    pv = _intrinsics(device, value, value)
    # Keys are divided among steps, not among subgroups.
    m, n, k1, k2 = (
        _Extent(_tile_name(attention, loop), tiles[loop], counts.get(loop, 1))
        for loop in (attention.m, attention.n, attention.k1, attention.k2)
    )
    unrolled = _fit(rules, "qk", qk, (m, k2, k1)) + _fit(rules, "pv", pv, (m, n, k2))
    rules.unrolled(
        product([unrolled, *(tiles[loop] for loop in attention.batch)]),
        "intrinsics",
        MOST_INTRINSICS,
    )
    threads, subgroup_size = rules.workgroup(device)
    rules.stages()
    rules.subgroup_size(subgroup_size, device)
    wanted = counts[attention.m] * counts[attention.n] * subgroup_size
    rules.adopted(
        threads == wanted,
        "a workgroup must have the threads of its subgroups ({} == {})",
        threads,
        wanted,
    )
    rules.memory([tile_bits(each, tiles) for each in attention.operands], device)
    for name, operand in zip(("query", "key", "value"), attention.operands, strict=True):
        tile = [tiles[loop] for loop in operand.loops]
        rules.hard(
            is_derivable(tile, threads, operand.bits),
            f"the {{}} threads must be able to share reading the tile {'x'.join(['{}'] * len(tile))} "
            f"of the {name} evenly",
            threads,
            *tile,
        )
    form = _form(attention, qk, pv, pipeline)
    return GpuSpace(rules.build(dispatch.problem, str(pipeline)), form)


@dataclass(frozen=True)
class _Extent:
    """What a workgroup takes along a loop: what it is called, how much, and for how many subgroups."""

    name: str
    tile: Number
    count: Number


def _tile_name(attention: Attention, loop: int) -> str:
    if loop == attention.k1:
        return f"dimension {loop}"
    return f"red_{loop}" if loop == attention.k2 else f"wg_{loop}"


def _intrinsics(device: Device, lhs: Operand, rhs: Operand) -> list[Intrinsic]:
    """Returns the intrinsics for a matmul that the compiler's own constraints do not speak of."""
    found = list(device.multiplying(lhs.element_type, rhs.element_type, _ACCUMULATED))
    if device.architecture.startswith(_SPOKEN_OF):
        found = [each for each in found if each.is_transposed]
    if not found:
        what = f"no intrinsic of the target multiplies {lhs.element_type}x{rhs.element_type}"
        raise UndecidedError(f"{what}, and attention without one is not known")
    return found


def _fit(
    rules: Rules,
    part: str,
    intrinsics: Sequence[Intrinsic],
    extents: tuple[_Extent, _Extent, _Extent],
) -> Number:
    """Asks for tiles that are whole intrinsics of one of the matmuls; the extents are its m, n and k.

    Returns:
        How many intrinsics a subgroup takes in a step.
    """
    chosen = rules.choice(f"{part}_mma_idx", [each.attribute for each in intrinsics])
    taken = rules.number(1)
    for side, each in zip("mnk", extents, strict=True):
        step = rules.look_up(chosen, [getattr(intrinsic, side) for intrinsic in intrinsics])
        step = step * each.count
        taken = taken * (each.tile / step)
        rules.adopted(
            each.tile % step == 0,
            f"{each.name} must be divisible by what the intrinsics of {part} take at a time ({{}} % {{}} == 0)",
            each.tile,
            step,
        )
    return taken


def _form(
    attention: Attention,
    qk: Sequence[Intrinsic],
    pv: Sequence[Intrinsic],
    pipeline: mlir.Attribute,
) -> Form:
    loops = range(len(attention.sizes))
    inner = (attention.k1, attention.k2)
    operands, kinds = promoted((0, 1, 2), pipeline.context)
    lowering: dict[str, Place] = {
        "promote_operands": Given(operands),
        "promotion_types": Given(kinds, is_optional=True),
        "reduction": Array(
            tuple(Knob(f"red_{loop}") if loop == attention.k2 else Exactly(0) for loop in loops)
        ),
        "workgroup": Array(
            tuple(
                Exactly(0) if loop in inner else Knob(f"wg_{loop}", attention.sizes[loop])
                for loop in loops
            )
        ),
    }
    parts = {
        "qk_attrs": _part(attention, "qk_mma_idx", qk, (0, 1), attention.n),
        "pv_attrs": _part(attention, "pv_mma_idx", pv, (1,), attention.k1),
    }
    return Form(pipeline, lowering, frozenset({"promote_operands"}), decomposition=parts)


def _part(
    attention: Attention,
    knob: str,
    intrinsics: Sequence[Intrinsic],
    copied: tuple[int, ...],
    absent: int,
) -> dict[str, Place]:
    """Returns what configures one of the matmuls, which one of the loops has nothing to do with."""
    loops = range(len(attention.sizes))
    names = {attention.m: "sg_m_cnt", attention.n: "sg_n_cnt"}
    basis = tuple(Knob(names[loop]) if loop in names else Exactly(1) for loop in loops)
    mapping = tuple(Exactly(loop) for loop in loops if loop != absent)
    operands, kinds = promoted(copied, intrinsics[0].attribute.context)
    return {
        "mma_kind": Choice(knob, tuple(each.attribute for each in intrinsics)),
        "promote_operands": Given(operands),
        "promotion_types": Given(kinds, is_optional=True),
        "subgroup_basis": Array((Array(basis), Array(mapping))),
    }
