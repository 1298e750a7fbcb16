"""Payloads: what is made for an entry is what the compiler's interpreter finds that the entry configures."""

from __future__ import annotations

import pytest
from iree.compiler import ir as mlir
from matched_operations import ANY_OP, PARAM

import tuninglink
from tuninglink.constraints.answers import Verdict
from tuninglink.constraints.problem import OpKind
from tuninglink.ir import names
from tuninglink.payloads import configures, matches, winners
from tuninglink.spec import Spec, load_spec

VALUE = "!transform.any_value"
FIXED = "lhs_type = f16, rhs_type = f16, output_type = f32"
MMT = (
    ", indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,"
    " affine_map<(m, n, k) -> (m, n)>]"
)


def contraction(types: str = FIXED, maps: str = "") -> str:
    return f"  %d:4 = transform.iree.match.contraction %op, {types}{maps} : {ANY_OP} -> {PARAM}\n"


def sizes(role: int, *wanted: int) -> str:
    return f"  transform.iree.match.dims_equal %d#{role}, {list(wanted)} : {PARAM}\n"


def operand(number: int) -> str:
    return f"  %v{number} = transform.get_operand %op[{number}] : ({ANY_OP}) -> {VALUE}\n"


def cast(number: int, kind: str) -> str:
    return f"  transform.iree.match.cast_compatible_type %v{number} = {kind} : {VALUE}\n"


def multiple(number: int, dimension: int, factor: int) -> str:
    return (
        f"  transform.iree.match.dim_is_multiple_of %v{number}[{dimension}], {factor} : {VALUE}\n"
    )


def bounds(number: int, dimension: int, low: int, high: int) -> str:
    ends = f"umin = {low}, umax = {high}"
    return f"  transform.iree.match.dim_bounds %v{number}[{dimension}], {ends} : {VALUE}\n"


def named(*wanted: str) -> str:
    listed = ", ".join(f'"{each}"' for each in wanted)
    return f"  transform.match.operation_name %op [{listed}] : {ANY_OP}\n"


def matmul_graph(m: str = "?", n: str = "?", k: str = "?", attributes: str = "") -> str:
    lhs, rhs, out = f"tensor<{m}x{k}xf16>", f"tensor<{n}x{k}xf16>", f"tensor<{m}x{n}xf32>"
    return f"""
  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {{
    ^bb0(%lhs: {lhs}, %rhs: {rhs}, %out: {out}):
      %0 = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
          affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
          iterator_types = ["parallel", "parallel", "reduction"]}}
          ins(%lhs, %rhs : {lhs}, {rhs}) outs(%out : {out}){attributes} {{
        ^bb0(%l: f16, %r: f16, %o: f32):
          %1 = arith.extf %l : f16 to f32
          %2 = arith.extf %r : f16 to f32
          %3 = arith.mulf %1, %2 : f32
          %4 = arith.addf %o, %3 : f32
          linalg.yield %4 : f32
        }} -> {out}
  }} : ({ANY_OP}) -> ({VALUE}, {VALUE})
"""


CONFIGURATION = "#iree_codegen.lowering_config<tile_sizes = [[{}]]>"


def spec_with(*matchers: str, configuration: str = CONFIGURATION, helpers: str = "") -> Spec:
    """Returns a spec with an entry for each matcher, all of which configure in their own way."""
    sequences = [
        f"transform.named_sequence @m{number}(%op: {ANY_OP} {{transform.readonly}})"
        f" -> ({ANY_OP}, !transform.any_param) {{\n{body}"
        f"  %c = transform.param.constant {configuration.format(number)} -> !transform.any_param\n"
        f"  transform.yield %op, %c : {ANY_OP}, !transform.any_param\n}}"
        for number, body in enumerate(matchers)
    ]
    pairs = ", ".join(f"@m{number} -> @set" for number in range(len(matchers)))
    text = f"""
module attributes {{transform.with_named_sequence,
                    iree_codegen.tuning_spec_with_default_entrypoint}} {{
transform.named_sequence @set(%op: {ANY_OP} {{transform.readonly}},
                              %c: !transform.any_param {{transform.readonly}}) {{
  transform.annotate %op "lowering_config" = %c : {ANY_OP}, !transform.any_param
  transform.yield
}}
{helpers}
{"".join(sequences)}
transform.named_sequence @__kernel_config(%op: {ANY_OP} {{transform.consumed}}) -> {ANY_OP}
    attributes {{iree_codegen.tuning_spec_entrypoint}} {{
  %0 = transform.foreach_match in %op {pairs} : ({ANY_OP}) -> {ANY_OP}
  transform.yield %0 : {ANY_OP}
}}
}}"""
    return load_spec(text.encode(), name="test.mlir")


def payload_of(matcher: str, **options: str) -> tuninglink.Payload:
    """Returns the payload for a matcher, which the interpreter says is configured."""
    (entry,) = spec_with(matcher, **options).entries
    payload = tuninglink.payload_for(entry)
    assert configures(entry, payload)
    return payload


@pytest.mark.parametrize(
    ("matcher", "shapes"),
    [
        (contraction(), "256x256xf16 256x256xf16 256x256xf32"),
        (contraction(maps=MMT) + sizes(2, 96), "256x256xf16 96x256xf16 256x96xf32"),
        (contraction() + sizes(1, 48) + sizes(3, 80), "48x80xf16 80x256xf16 48x256xf32"),
        (contraction() + sizes(0, 2, 3), "2x3x256x256xf16 2x3x256x256xf16 2x3x256x256xf32"),
        (contraction() + sizes(1, -1, 7), "4x7x256xf16 256x256xf16 4x7x256xf32"),
        (
            contraction("lhs_type = i8, rhs_type = i8, output_type = i32"),
            "256x256xi8 256x256xi8 256x256xi32",
        ),
        (
            contraction() + operand(0) + multiple(0, 0, 48) + operand(1) + bounds(1, 1, 100, 120),
            "96x256xf16 256x100xf16 96x100xf32",
        ),
        # Which side is transposed follows from the sizes.
        (
            contraction() + operand(0) + cast(0, "tensor<64x128xf16>") + operand(1)
            + cast(1, "tensor<32x128xf16>"),
            "64x128xf16 32x128xf16 64x32xf32",
        ),
        (
            contraction() + operand(0) + cast(0, "tensor<64x128xf16>") + operand(1)
            + cast(1, "tensor<64x32xf16>"),
            "64x128xf16 64x32xf16 128x32xf32",
        ),
        (
            contraction() + operand(0) + cast(0, "tensor<?x64x128xf16>"),
            "4x64x128xf16 4x128x256xf16 4x64x256xf32",
        ),
        (named("linalg.matmul") + contraction(), "256x256xf16 256x256xf16 256x256xf32"),
        (matmul_graph("16", "32", "64"), "16x64xf16 32x64xf16 16x32xf32"),
        (matmul_graph("16"), "16x256xf16 256x256xf16 16x256xf32"),
        (matmul_graph() + operand(0) + cast(0, "tensor<8x?xf16>"), "8x256xf16 256x256xf16 8x256xf32"),
    ],
)  # fmt: skip
def test_sizes_are_those_demanded_and_the_others_are_moderate(matcher: str, shapes: str) -> None:
    wanted = ", ".join(f"tensor<{each}>" for each in shapes.split())
    assert payload_of(matcher).shapes == wanted


def test_a_payload_says_what_was_chosen() -> None:
    payload = payload_of(contraction() + sizes(1, 48))
    assert [str(each) for each in payload.sizes] == ["m = 48", "n = 256 (free)", "k = 256 (free)"]
    assert [each.is_demanded for each in payload.sizes] == [True, False, False]


def test_free_sizes_hold_whole_tiles() -> None:
    config = (
        "#iree_gpu.lowering_config<{{workgroup = [96, 160, 0], reduction = [0, 0, 6],"
        " mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>}}>"
    )
    (m, n, k) = payload_of(contraction(), configuration=config).sizes
    assert (m.size % 96, n.size % 160, k.size % (6 * 16)) == (0, 0, 0)
    assert max(m.size, n.size, k.size) <= 4096


@pytest.mark.parametrize(
    ("matcher", "reason"),
    [
        (contraction() + sizes(1, 48) + sizes(1, 49), "contraction m[0] is 48; contraction m[0] is 49"),
        (
            contraction() + operand(0) + bounds(0, 0, 100, 50),
            "dimension 0 of operand 0 is at least 100; dimension 0 of operand 0 is at most 50",
        ),
        (named("linalg.no_such_thing"), "the compiler has no operation 'linalg.no_such_thing'"),
        (
            matmul_graph("16") + operand(0) + multiple(0, 0, 7),
            "is 16; loop 0 is a multiple of 7",
        ),
    ],
)  # fmt: skip
def test_a_contradiction_is_proven(matcher: str, reason: str) -> None:
    (entry,) = spec_with(matcher).entries
    with pytest.raises(tuninglink.PayloadError) as caught:
        tuninglink.payload_for(entry)
    assert caught.value.verdict is Verdict.REFUTED
    assert reason in caught.value.reason
    assert str(caught.value).startswith("test.mlir:")
    assert "error: entry 'm0' matches nothing: " in str(caught.value)


def test_an_opaque_matcher_is_not_decided() -> None:
    (entry,) = spec_with(f"  transform.match.operation_empty %op : {ANY_OP}\n").entries
    with pytest.raises(tuninglink.PayloadError, match="not understood") as caught:
        tuninglink.payload_for(entry)
    assert caught.value.verdict is Verdict.NOT_DECIDED
    assert caught.value.entry == entry


def test_the_first_entry_wins() -> None:
    spec = spec_with(contraction() + sizes(1, 48), contraction(), contraction() + sizes(1, 32))
    narrow, wide, shadowed = (tuninglink.payload_for(each) for each in spec.entries)
    assert winners(spec.anatomy, [narrow, wide, shadowed]) == [
        spec.entries[0],
        spec.entries[1],
        spec.entries[1],
    ]
    assert matches(spec.entries[2], shadowed)
    assert not configures(spec.entries[2], shadowed)
    assert not matches(spec.entries[0], wide)


def test_a_payload_is_the_same_each_time() -> None:
    (one,) = spec_with(contraction()).entries
    (other,) = spec_with(contraction()).entries
    assert tuninglink.payload_for(one) == tuninglink.payload_for(other)


def test_a_payload_is_a_dispatch_to_ask_constraints_about() -> None:
    payload = payload_of(contraction() + sizes(1, 48))
    with mlir.Context() as context:
        target = mlir.Attribute.parse('#hal.executable.target<"llvm-cpu", "static">')
        dispatch = payload.dispatch(target, context)
        assert dispatch.problem.kind is OpKind.CONTRACTION
        assert [each.size for each in dispatch.problem.dimensions] == [48, 256, 256]
        assert dispatch.function.attributes[names.EXECUTABLE_TARGET] == target
        assert dispatch.root.name == "linalg.generic"


def test_the_entries_of_the_default_specs_have_payloads() -> None:
    for target in ("gfx942",):
        spec = tuninglink.default_spec(target)
        assert spec is not None
        for entry in spec.entries:
            assert configures(entry, tuninglink.payload_for(entry, target))
