"""DAG matchers become contraction and convolution matchers if and only if that changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from configured_payloads import configures

import tuninglink
from tuninglink import dag_to_named
from tuninglink.dag_to_named import DagMatcher, convert_dags, perturbations, replace_dag
from tuninglink.mlir import collect, names
from tuninglink.payloads import payload_for

if TYPE_CHECKING:
    from tuninglink.specs import Spec

ANY = "!transform.any_op"
MATMUL = ("(d0, d1, d2)", ("(d0, d2)", "(d1, d2)", "(d0, d1)"), "ppr")
BATCHED = ("(d0, d1, d2, d3)", ("(d0, d1, d3)", "(d0, d2, d3)", "(d0, d1, d2)"), "pppr")
TWO_ROWS = ("(d0, d1, d2, d3)", ("(d0, d1, d3)", "(d2, d3)", "(d0, d1, d2)"), "pppr")
CONVOLUTION = (
    "(d0, d1, d2, d3, d4, d5, d6)",
    ("(d0, d1 * 2 + d4, d2 * 2 + d5, d6)", "(d3, d4, d5, d6)", "(d0, d1, d2, d3)"),
    "pppprrr",
)
FLOAT = ("f16", "f16", "f32")
BODY = """\
      ^bb0(%a: f16, %b: f16, %c: f32):
        %0 = arith.extf %a : f16 to f32
        %1 = arith.extf %b : f16 to f32
        %2 = arith.mulf %0, %1 : f32
        %3 = arith.addf %c, %2 : f32
        linalg.yield %3 : f32"""
INTEGER = ("i8", "i8", "i32")
INTEGER_BODY = """\
      ^bb0(%a: i8, %b: i8, %c: i32):
        %0 = arith.extsi %a : i8 to i32
        %1 = arith.extsi %b : i8 to i32
        %2 = arith.muli %0, %1 : i32
        %3 = arith.addi %c, %2 : i32
        linalg.yield %3 : i32"""
KINDS = {"p": '"parallel"', "r": '"reduction"'}


def product(
    structure: tuple[str, tuple[str, ...], str],
    shapes: str,
    types: tuple[str, str, str] = FLOAT,
    body: str = BODY,
    attributes: str = "",
) -> str:
    """Return a dag matcher for a product of operands of some shapes, such as `8x16 4x16 8x4`."""
    domain, results, iterators = structure
    tensors = [
        f"tensor<{shape}x{type_}>" for shape, type_ in zip(shapes.split(), types, strict=True)
    ]
    maps = ", ".join(f"affine_map<{domain} -> {each}>" for each in results)
    kinds = ", ".join(KINDS[each] for each in iterators)
    lhs, rhs, out = tensors
    return (
        "    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {\n"
        f"    ^bb0(%lhs: {lhs}, %rhs: {rhs}, %out: {out}):\n"
        f"      %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]{attributes}}}\n"
        f"          ins(%lhs, %rhs : {lhs}, {rhs}) outs(%out : {out}) {{\n{body}\n      }} -> {out}\n"
        f"    }} : ({ANY}) -> (!transform.any_value, !transform.any_value)\n"
    )


def spec(*matchers: str, helpers: str = "") -> Spec:
    """Return a spec with an entry for each matcher."""
    sequences = "".join(
        f"  transform.named_sequence @match_{number}(%op: {ANY} {{transform.readonly}}) -> {ANY} {{\n"
        f"{matcher}    transform.yield %op : {ANY}\n  }}\n"
        for number, matcher in enumerate(matchers)
    )
    pairs = ", ".join(f"@match_{number} -> @apply" for number in range(len(matchers)))
    text = (
        "module attributes { transform.with_named_sequence } {\n"
        f"{helpers}{sequences}"
        f"  transform.named_sequence @apply(%op: {ANY} {{transform.readonly}}) {{\n"
        "    %c = transform.param.constant #iree_gpu.lowering_config<{workgroup = [1]}> -> !transform.any_param\n"
        f'    transform.annotate %op "lowering_config" = %c : {ANY}, !transform.any_param\n'
        "    transform.yield\n  }\n"
        f"  transform.named_sequence @main(%root: {ANY} {{transform.consumed}}) -> {ANY}\n"
        "      attributes { iree_codegen.tuning_spec_entrypoint } {\n"
        f"    %r = transform.foreach_match in %root {pairs} : ({ANY}) -> {ANY}\n"
        f"    transform.yield %r : {ANY}\n  }}\n}}\n"
    )
    return tuninglink.load_spec(text.encode())


CASES = {
    "matmul": (product(MATMUL, "8x16 4x16 8x4"), names.MATCH_CONTRACTION),
    "square": (product(MATMUL, "8x8 8x8 8x8"), names.MATCH_CONTRACTION),
    "integers": (product(MATMUL, "8x16 4x16 8x4", INTEGER, INTEGER_BODY), names.MATCH_CONTRACTION),
    "open rows": (product(MATMUL, "?x16 4x16 ?x4"), names.MATCH_CONTRACTION),
    "all open": (product(MATMUL, "?x? ?x? ?x?"), names.MATCH_CONTRACTION),
    "open here and there": (product(MATMUL, "8x? 4x16 ?x4"), names.MATCH_CONTRACTION),
    "batched": (product(BATCHED, "2x8x16 2x4x16 2x8x4"), names.MATCH_CONTRACTION),
    "two rows": (product(TWO_ROWS, "?x8x16 4x16 ?x8x4"), names.MATCH_CONTRACTION),
    "convolution": (product(CONVOLUTION, "2x9x9x8 4x3x3x8 2x4x4x4"), names.MATCH_CONVOLUTION),
    "larger image": (product(CONVOLUTION, "2x10x9x8 4x3x3x8 2x4x4x4"), names.MATCH_CONVOLUTION),
}


@pytest.mark.parametrize("name", CASES)
def test_a_product_is_matched_by_the_op_for_its_kind(name: str) -> None:
    dag, named = CASES[name]
    old = spec(dag)
    converted = convert_dags(old)
    (entry,) = converted.entries
    assert entry.matcher_ops == (named,), entry.reason
    assert entry.programs > 30
    assert names.MATCH_DAG not in converted.text
    new = tuninglink.load_spec(converted.text.encode())
    (fresh,) = new.entries
    assert configures(fresh, payload_for(old.entries[0]))
    again = convert_dags(new)
    assert again.text == converted.text
    assert again.entries[0].reason == "it has no dag matcher"


NEEDED = [
    ("matmul", names.MATCH_DIMS_EQUAL),
    *((case, name) for case in ("matmul", "convolution") for name in (
        names.MATCH_TYPE, names.MATCH_REGIONS, names.HAS_NO_LOWERING_CONFIG
    )),
]  # fmt: skip


@pytest.mark.parametrize(("case", "name"), NEEDED)
def test_a_matcher_that_asks_for_less_is_not_taken(
    case: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(matcher: DagMatcher) -> None:
        block = matcher.dag.operation.block
        replace_dag(matcher)
        for each in [each.operation for each in block.operations if each.operation.name == name]:
            each.erase()

    monkeypatch.setattr(dag_to_named, "replace_dag", forgetful)
    old = spec(CASES[case][0])
    converted = convert_dags(old)
    (entry,) = converted.entries
    assert not entry.matcher_ops
    assert "the dag does not match, and what would replace it does" in entry.reason
    assert converted.text == old.text()


def test_a_matcher_that_asks_for_more_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DagMatcher, "needs_type", lambda *_: True)
    monkeypatch.setattr(DagMatcher, "size", lambda *_: 8)
    old = spec(product(MATMUL, "?x8 8x8 ?x8"))
    (entry,) = convert_dags(old).entries
    assert not entry.matcher_ops
    assert "the dag matches, and what would replace it does not" in entry.reason or (
        "the new matcher does not match" in entry.reason
    )


OTHERS = {
    "its dag is a 'linalg.matmul'": """\
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>, %c: tensor<8x4xf32>):
      %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x4xf32>) outs(%c : tensor<8x4xf32>) -> tensor<8x4xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
""",
    "its dag has 2 operations, not one": """\
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
      %x = linalg.elementwise <exp> ins(%a : tensor<8xf32>) outs(%b : tensor<8xf32>) -> tensor<8xf32>
      %y = linalg.elementwise <abs> ins(%x : tensor<8xf32>) outs(%b : tensor<8xf32>) -> tensor<8xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
""",
    "the operands that its dag returns are used": product(MATMUL, "8x16 4x16 8x4")
    + "    %n = transform.num_associations %ins : (!transform.any_value) -> !transform.param<i64>\n",
    "the operation in its dag has additional attributes": product(
        MATMUL, "8x16 4x16 8x4", attributes=", mine"
    ),
    "its operation is neither a contraction nor a convolution": product(
        ("(d0, d1)", ("(d0, d1)", "(d0, d1)", "(d0, d1)"), "pp"), "8x4 8x4 8x4"
    ),
    "it has no dag matcher": f'    transform.match.operation_name %op ["linalg.fill"] : {ANY}\n',
}


@pytest.mark.parametrize("reason", OTHERS)
def test_what_cannot_be_said_otherwise_stays_and_is_told(reason: str) -> None:
    old = spec(OTHERS[reason], CASES["matmul"][0])
    converted = convert_dags(old)
    first, second = converted.entries
    assert first.reason == reason
    assert not first.matcher_ops
    assert second.matcher_ops == (names.MATCH_CONTRACTION,)


HELPER = (
    f"  transform.named_sequence @is_product(%op: {ANY} {{transform.readonly}}) {{\n"
    f"{product(MATMUL, '?x? ?x? ?x?')}    transform.yield\n  }}\n"
)
INCLUDING = (
    f"    transform.include @is_product failures(propagate) (%op) : ({ANY}) -> ()\n"
    f"    %v = transform.get_operand %op[0] : ({ANY}) -> !transform.any_value\n"
    "    transform.iree.match.cast_compatible_type %v = tensor<SIZEx16xf16> : !transform.any_value\n"
)


def test_what_matchers_include_is_rewritten_for_all() -> None:
    matchers = [INCLUDING.replace("SIZE", each) for each in ("8", "32")]
    converted = convert_dags(spec(*matchers, helpers=HELPER))
    assert [each.matcher_ops for each in converted.entries] == [(names.MATCH_CONTRACTION,)] * 2
    assert converted.text.count(names.MATCH_REGIONS) == 1


def test_what_one_matcher_needs_as_it_is_stays_for_all() -> None:
    matchers = [INCLUDING.replace("SIZE", each) for each in ("8", "32")]
    impossible = "    transform.iree.match.dim_is_multiple_of %v[0], 7 : !transform.any_value\n"
    old = spec(matchers[0] + impossible, matchers[1], CASES["matmul"][0], helpers=HELPER)
    converted = convert_dags(old)
    first, second, third = converted.entries
    assert "no matching program was found" in first.reason
    assert second.reason.startswith("@match_0 needs it: ")
    assert third.matcher_ops == (names.MATCH_CONTRACTION,)
    assert converted.text.count(names.MATCH_DAG) == 1


def programs(name: str) -> dict[str, str]:
    old = spec(CASES[name][0])
    payload = payload_for(old.entries[0])
    context = old.module.context
    return {each.what: each.text for each in perturbations(payload.body, context)}


def test_programs_differ_in_all_that_a_matcher_may_see() -> None:
    made = programs("matmul")
    assert len(set(made.values())) > len(made) - 5
    for what in (
        "nothing",
        "loop 0 is 9",
        "loop 2 is 15",
        "loop 1 is open",
        "operand 1 has bf16",
        "operand 2 has f16",
        "operand 0 is transposed",
        "the operands are exchanged",
        "'arith.mulf' is 'arith.addf'",
        "'arith.addf' has its operands exchanged",
        "an operand is computed",
        "it is configured",
    ):
        assert what in made
    assert any(what.startswith("operand 1 is (4, -") for what in made), "one size alone is open"
    assert "both operands are the same" in programs("square")
    assert "'arith.extsi' is 'arith.extui'" in programs("integers")
    assert any(what.startswith("operand 0 is (2, 10,") for what in programs("convolution"))


def test_the_old_spec_stays_as_it_is() -> None:
    old = spec(CASES["matmul"][0])
    before = old.text()
    convert_dags(old)
    assert old.text() == before
    assert collect(old.module, names.MATCH_DAG)
