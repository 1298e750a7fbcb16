"""Pruning keys ask for nothing that the matcher does not."""

from __future__ import annotations

import pytest
from matched_operations import ANY_OP, PARAM, spec_of
from steps import count_calls

from tuninglink.iree import OpKind, ValueType
from tuninglink.matching import (
    Extent,
    HasMaps,
    IsCastCompatible,
    LoopSizes,
    MatcherReader,
    NameIn,
    Predicate,
    PruningKey,
    pruning_key,
)
from tuninglink.specs import load_spec

CONTRACTION = (
    "  %d:4 = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = bf16, output_type = f32"
    f" : {ANY_OP} -> {PARAM}\n"
)
MAPPED = CONTRACTION.replace(
    " = f32 :",
    " = f32, indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,"
    " affine_map<(m, n, k) -> (m, n)>] :",
)


def equal(role: int, *sizes: int) -> str:
    listed = ", ".join(map(str, sizes))
    return f"  transform.iree.match.dims_equal %d#{role}, [{listed}] : {PARAM}\n"


def operand(position: int) -> str:
    return f"  %v{position} = transform.get_operand %op[{position}] : ({ANY_OP}) -> !transform.any_value\n"


def typed(position: int, kind: str) -> str:
    return (
        operand(position)
        + f"  transform.iree.match.cast_compatible_type %v{position} = {kind} : !transform.any_value\n"
    )


def predicates(matcher: str, *helpers: str) -> tuple[Predicate, ...]:
    text = spec_of([matcher])
    start = text.index("transform.named_sequence @m0")
    spec = load_spec((text[:start] + "\n".join(helpers) + text[start:]).encode())
    return MatcherReader(spec.anatomy.table).read("m0").predicates


def read(matcher: str, *helpers: str) -> PruningKey:
    return pruning_key(predicates(matcher, *helpers))


@pytest.mark.parametrize(
    ("matcher", "loops"),
    [
        (CONTRACTION, LoopSizes((), is_complete=False)),
        (
            CONTRACTION + equal(0) + equal(1, 64) + equal(2, 1) + equal(3, 32),
            LoopSizes((32, 64), is_complete=True),
        ),
        (CONTRACTION + equal(1, 64) + equal(3, 32), LoopSizes((32, 64), is_complete=False)),
        (MAPPED + equal(1, 64) + equal(3, 32), LoopSizes((32, 64), is_complete=False)),
        (MAPPED + equal(1, 64) + equal(2, 4) + equal(3, 32), LoopSizes((4, 32, 64), is_complete=True)),
        (CONTRACTION + equal(0) + equal(1, -1) + equal(2, 4) + equal(3, 8), LoopSizes((4, 8), is_complete=False)),
        (CONTRACTION + typed(0, "tensor<?x64x8xf16>"), LoopSizes((8, 64), is_complete=False)),
        (MAPPED + typed(0, "tensor<16x64xf16>"), LoopSizes((16, 64), is_complete=False)),
        (
            MAPPED + typed(0, "tensor<16x64xf16>") + typed(1, "tensor<4x64xbf16>"),
            LoopSizes((4, 16, 64), is_complete=True),
        ),
        # Two loops run over the image of a convolution.
        (
            "  %d:8 = transform.iree.match.convolution %op, lhs_type = f32, rhs_type = f32, output_type = f32"
            f" : {ANY_OP} -> {PARAM}\n" + typed(0, "tensor<1x34x34x8xf32>"),
            LoopSizes((), is_complete=False),
        ),
    ],
)  # fmt: skip
def test_loops(matcher: str, loops: LoopSizes) -> None:
    assert read(matcher).loops == loops


def test_what_is_known_of_a_contraction() -> None:
    matcher = (
        f"  transform.iree.match.has_no_lowering_config %op : {ANY_OP}\n"
        f'  transform.match.operation_name %op ["linalg.generic", "linalg.matmul"] : {ANY_OP}\n'
        + MAPPED
        + typed(2, "tensor<?x4xf32>")
        + operand(0)
        + "  transform.iree.match.dim_is_multiple_of %v0[1], 16 : !transform.any_value\n"
        + "  transform.iree.match.dim_bounds %v0[0], umin = 8, umax = 64 : !transform.any_value\n"
    )
    found = predicates(matcher)
    assert NameIn(("linalg.generic", "linalg.matmul")) in found
    (maps,) = (each.maps for each in found if isinstance(each, HasMaps))
    assert maps.loops == ((0, 2), (1, 2), (0, 1))
    (type_,) = (each.type for each in found if isinstance(each, IsCastCompatible))
    assert type_ == ValueType("tensor<?x4xf32>", "f32", (None, 4), is_tensor=True)
    key = read(matcher)
    assert key.kind is OpKind.CONTRACTION
    assert key.element_types == {"f16", "bf16", "f32"}
    assert key.extents == {Extent(factor=16), Extent(low=8, high=64)}


@pytest.mark.parametrize(
    ("operations", "kind"),
    [
        ('"linalg.matmul"', OpKind.CONTRACTION),
        ('"linalg.matmul", "linalg.generic"', None),
        ('"iree_linalg_ext.online_attention"', OpKind.ATTENTION),
        ('"iree_linalg_ext.online_attention", "iree_linalg_ext.attention"', OpKind.ATTENTION),
    ],
)
def test_names_tell_the_kind(operations: str, kind: OpKind | None) -> None:
    assert read(f"  transform.match.operation_name %op [{operations}] : {ANY_OP}\n").kind is kind


DAG = f"""  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {{
  ^bb0(%lhs: tensor<16x64xf16>, %rhs: tensor<4x64xf16>, %out: tensor<?x4xf32>):
    %0 = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
        affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}}
        ins(%lhs, %rhs : tensor<16x64xf16>, tensor<4x64xf16>) outs(%out : tensor<?x4xf32>) {{
    ^bb0(%x: f16, %y: f16, %z: f32):
      %wx = arith.extf %x : f16 to f32
      %wy = arith.extf %y : f16 to f32
      %p = arith.OPERATION %wx, %wy : f32
      %s = arith.addf %z, %p : f32
      linalg.yield %s : f32
    }} -> tensor<?x4xf32>
  }} : ({ANY_OP}) -> (!transform.any_value, !transform.any_value)
"""


def test_a_contraction_given_as_a_whole() -> None:
    key = read(DAG.replace("OPERATION", "mulf"))
    assert key.kind is OpKind.CONTRACTION
    assert key.loops == LoopSizes((4, 16, 64), is_complete=True)
    assert key.element_types == {"f16", "f32"}


def test_what_only_looks_like_a_contraction() -> None:
    """The later form of other operations is unknown, so no kind is required."""
    key = read(DAG.replace("OPERATION", "maximumf"))
    assert key.kind is None
    assert NameIn(("linalg.generic",)) in predicates(DAG.replace("OPERATION", "maximumf"))


HELPER = f"""transform.named_sequence @helper(%op: {ANY_OP} {{transform.readonly}}) -> {PARAM} {{
{CONTRACTION}  transform.yield %d#1 : {PARAM}
}}
"""


def include(failures: str) -> str:
    return (
        f"  %m = transform.include @helper failures({failures}) (%op) : ({ANY_OP}) -> {PARAM}\n"
        f"  transform.iree.match.dims_equal %m, [64] : {PARAM}\n"
    )


def test_through_an_include() -> None:
    key = read(include("propagate"), HELPER)
    assert key.kind is OpKind.CONTRACTION
    assert key.loops == LoopSizes((64,), is_complete=False)


@pytest.mark.parametrize(
    ("matcher", "helpers"),
    [
        (include("suppress"), [HELPER]),  # its failure is none
        (
            f"  %p = transform.get_parent_op %op : ({ANY_OP}) -> {ANY_OP}\n" + CONTRACTION,
            [],
        ),  # it may report an error
        (f"  transform.print %op : {ANY_OP}\n" + CONTRACTION, []),  # its output must not change
        (
            f"  %p = transform.get_producer_of_operand %op[0] : ({ANY_OP}) -> {ANY_OP}\n"
            + CONTRACTION.replace("%op", "%p"),
            [],
        ),  # it is about another operation
    ],
)  # fmt: skip
def test_what_is_not_understood(matcher: str, helpers: list[str]) -> None:
    assert predicates(matcher, *helpers) == ()
    assert read(matcher, *helpers) == PruningKey()


def test_what_comes_before_still_counts() -> None:
    behind = f"  %p = transform.get_parent_op %op : ({ANY_OP}) -> {ANY_OP}\n"
    assert read(CONTRACTION + behind + equal(1, 64)) == read(CONTRACTION)


def test_equal_matchers_have_one_key() -> None:
    assert hash(predicates(MAPPED + equal(1, 64))) == hash(predicates(MAPPED + equal(1, 64)))
    assert hash(read(MAPPED + equal(1, 64))) == hash(read(MAPPED + equal(1, 64)))
    assert read(MAPPED + equal(1, 64)) == read(MAPPED + equal(1, 64))
    assert predicates(MAPPED + equal(1, 64)) != predicates(MAPPED + equal(2, 64))
    assert read(MAPPED + equal(1, 64)) != read(MAPPED + equal(1, 32))


def test_the_work_grows_as_the_spec_does() -> None:
    def steps(count: int) -> int:
        spec = load_spec(spec_of([MAPPED + equal(1, n) for n in range(count)]).encode())

        def read_all() -> None:
            reader = MatcherReader(spec.anatomy.table)
            assert len({reader.read(name).predicates for name, _ in spec.anatomy.pairs}) == count

        return count_calls(read_all)

    assert steps(1000) < 4.4 * steps(250)
