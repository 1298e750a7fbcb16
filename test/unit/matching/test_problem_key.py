"""Problem keys: the same for every numbering of a problem's loops, and different for different problems."""

from __future__ import annotations

from hypothesis import given, strategies as st
from iree.compiler import ir as mlir

from tuninglink.iree import OpKind, affine_maps
from tuninglink.matching import (
    DescribedOp,
    NotDerivableError,
    ProblemSpelling,
    Renumbering,
    loop_mapping,
    problem_spelling,
)
from tuninglink.mlir import thread_context

ATTENTION = ("b m p", "b q p", "b q n", "", "b m n", "b m", "b m")
CONVOLUTION = ("b h+r w+s c", "r s c f", "b h w f")
CONTRACTION = ("b m k", "b n k", "b m n")
SIZES = {"b": 2, "m": 16, "n": 32, "k": 64, "p": 48, "q": 80, "h": 14, "w": 15, "r": 3, "s": 5}
SIZES |= {"c": 8, "f": 24}


def spelling(
    kind: OpKind, operands: tuple[str, ...], order: tuple[str, ...], sizes: dict[str, int | None]
) -> ProblemSpelling[DescribedOp] | None:
    """Return a problem with an order of its loops."""
    maps = ", ".join(
        f"affine_map<({', '.join(order)}) -> ({', '.join(each.split())})>" for each in operands
    )
    parsed = affine_maps(mlir.Attribute.parse(f"[{maps}]", thread_context()))
    types = ("f32",) * len(operands)
    return problem_spelling(DescribedOp(kind, parsed, tuple(sizes[loop] for loop in order), types))


def loops(operands: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set("".join(operands)) - set(" +")))


PROBLEMS = st.sampled_from(
    [
        (OpKind.ATTENTION, ATTENTION),
        (OpKind.CONVOLUTION, CONVOLUTION),
        (OpKind.CONTRACTION, CONTRACTION),
    ]
)


@given(PROBLEMS, st.data())
def test_the_key_does_not_depend_on_the_order_of_loops(
    problem: tuple[OpKind, tuple[str, ...]], data: st.DataObject
) -> None:
    kind, operands = problem
    names = loops(operands)
    first = spelling(kind, operands, names, SIZES)
    order = tuple(data.draw(st.permutations(names)))
    second = spelling(kind, operands, order, SIZES)
    assert first
    assert second
    assert first.key == second.key
    mapping = loop_mapping(first, second)
    assert [names[source] for source in mapping.sources if source is not None] == list(order)


@given(PROBLEMS, st.data())
def test_a_loop_of_another_size_makes_another_problem(
    problem: tuple[OpKind, tuple[str, ...]], data: st.DataObject
) -> None:
    kind, operands = problem
    names = loops(operands)
    changed = data.draw(st.sampled_from(names))
    first = spelling(kind, operands, names, SIZES)
    second = spelling(kind, operands, names, {**SIZES, changed: 7})
    assert first
    assert second
    assert first.key != second.key


def test_a_unit_loop_makes_no_difference() -> None:
    unit = spelling(OpKind.CONTRACTION, CONTRACTION, tuple("bmnk"), {**SIZES, "b": 1})
    plain = spelling(OpKind.CONTRACTION, ("m k", "n k", "m n"), tuple("mnk"), SIZES)
    assert unit
    assert plain
    assert unit.key == plain.key
    assert loop_mapping(unit, plain).dropped == (0,)


def test_unit_loops_correspond_to_unit_loops_of_the_same_operands() -> None:
    sizes = {**SIZES, "b": 1, "m": 1}
    row = spelling(OpKind.CONTRACTION, ("m k", "n k", "m n"), tuple("mnk"), sizes)
    batched = spelling(OpKind.CONTRACTION, CONTRACTION, tuple("bmnk"), sizes)
    assert row
    assert batched
    added = loop_mapping(row, batched)
    assert (added.sources, added.dropped) == ((None, 0, 1, 2), ())
    removed = loop_mapping(batched, row)
    assert (removed.sources, removed.dropped) == ((1, 2, 3), (0,))


def test_the_layout_of_an_operand_makes_a_difference() -> None:
    nk = spelling(OpKind.CONTRACTION, ("m k", "n k", "m n"), tuple("mnk"), SIZES)
    kn = spelling(OpKind.CONTRACTION, ("m k", "k n", "m n"), tuple("mnk"), SIZES)
    swapped = spelling(OpKind.CONTRACTION, ("k m", "n k", "n m"), tuple("nmk"), SIZES)
    assert nk
    assert kn
    assert swapped
    assert len({nk.key, kn.key, swapped.key}) == 3


def test_an_open_loop_is_no_unit_loop() -> None:
    opened = spelling(OpKind.CONTRACTION, CONTRACTION, tuple("bmnk"), {**SIZES, "m": None})
    assert opened
    assert opened.key.sizes.count(None) == 1


def test_an_expression_that_is_no_sum_has_no_key() -> None:
    maps = "[affine_map<(d0, d1, d2) -> (d0 floordiv 2, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>,"
    maps += " affine_map<(d0, d1, d2) -> (d0, d1)>]"
    parsed = affine_maps(mlir.Attribute.parse(maps, thread_context()))
    op = DescribedOp(OpKind.CONTRACTION, parsed, (4, 4, 4), ("f32",) * 3)
    assert problem_spelling(op) is None


def renumbering() -> Renumbering:
    """Return the renumbering from m, n, k to b, k, m, n."""
    old = spelling(OpKind.CONTRACTION, ("m k", "n k", "m n"), tuple("mnk"), SIZES)
    new = spelling(OpKind.CONTRACTION, CONTRACTION, tuple("bkmn"), {**SIZES, "b": 1})
    assert old
    assert new
    return Renumbering.between(old, new)


def renumbered(text: str) -> str:
    attribute = mlir.Attribute.parse(text, thread_context())
    return str(renumbering().configuration("lowering_config", attribute))


def test_tiles_and_bases_are_written_for_the_new_loops() -> None:
    assert renumbered(
        "#iree_gpu.lowering_config<{workgroup = [16, 32, 0], reduction = [0, 0, 8], padding = [16, 32, 8], "
        "subgroup_basis = [[2, 4, 1], [0, 1, 2]], promote_operands = [0, 1]}>"
    ) == (
        "#iree_gpu.lowering_config<{padding = [1, 8, 16, 32], promote_operands = [0, 1], "
        "reduction = [0, 8, 0, 0], subgroup_basis = [[2, 4, 1, 1], [3, 2, 0, 1]], workgroup = [1, 0, 16, 32]}>"
    )


def test_scalable_tiles_are_kept() -> None:
    assert renumbered(
        "#iree_cpu.lowering_config<distribution = [16, 32], vector_common_parallel = [4, [8], 0]>"
    ) == (
        "#iree_cpu.lowering_config<distribution = [1, 0, 16, 32], "
        "vector_common_parallel = [1, 0, 4, [8]]>"
    )


def test_what_is_not_understood_is_not_derived() -> None:
    for text in (
        "#iree_gpu.lowering_config<{expand_dims = [[0], [1], [2, 3]]}>",
        "#iree_cpu.lowering_config<distribution = {sizes = [4, 4, 4], interchange = [1, 0, 2]}>",
        "#iree_codegen.lowering_config<tile_sizes = [[16, 32, 8]]>",
    ):
        try:
            result = renumbered(text)
        except NotDerivableError:
            continue
        raise AssertionError(result)
