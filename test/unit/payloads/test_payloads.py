"""Payloads: the compiler's interpreter confirms that an entry configures its payload."""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING

import pytest
from configured_payloads import configures
from generated_specs import GeneratedSpec, Shape, spec_lists
from hypothesis import given, settings, strategies as st
from interpreter import apply_spec
from iree.compiler import ir as mlir
from matched_operations import ANY_OP, PARAM, matchable, matchers_for, spec_of
from places import ROOT, SHARED
from programs import SEPARATOR, all_programs

import tuninglink
from tuninglink.compiler import compile_flags
from tuninglink.iree import OpKind, Target
from tuninglink.mlir import collect, names, thread_context
from tuninglink.payloads import matches, winners
from tuninglink.solver import Verdict
from tuninglink.specs import Entry, Spec, load_spec

if TYPE_CHECKING:
    from collections.abc import Sequence

VALUE = "!transform.any_value"
FIXED = "lhs_type = f16, rhs_type = f16, output_type = f32"
MMT = (
    ", indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,"
    " affine_map<(m, n, k) -> (m, n)>]"
)


def contraction(types: str = FIXED, maps: str = "") -> str:
    return f"  %d:4 = transform.iree.match.contraction %op, {types}{maps} : {ANY_OP} -> {PARAM}\n"


def sizes(role: int, *expected: int) -> str:
    return f"  transform.iree.match.dims_equal %d#{role}, {list(expected)} : {PARAM}\n"


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


def named(*op_names: str) -> str:
    listed = ", ".join(f'"{name}"' for name in op_names)
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


def spec_with(
    *matchers: str,
    configuration: str = CONFIGURATION,
    attribute: str = "lowering_config",
    helpers: str = "",
) -> Spec:
    """Return a spec with an entry for each matcher, with distinct configurations."""
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
  transform.annotate %op "{attribute}" = %c : {ANY_OP}, !transform.any_param
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
    """Return the payload of a matcher, after the interpreter has confirmed its configuration."""
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
        (
            named("linalg.matmul") + contraction(maps=MMT) + sizes(2, 48),
            "256x256xf16 48x256xf16 256x48xf32",
        ),
        (
            contraction("lhs_type = bf16, rhs_type = f16, output_type = f16"),
            "256x256xbf16 256x256xf16 256x256xf16",
        ),
        (matmul_graph("16", "32", "64"), "16x64xf16 32x64xf16 16x32xf32"),
        (matmul_graph("16"), "16x256xf16 256x256xf16 16x256xf32"),
        (matmul_graph() + operand(0) + cast(0, "tensor<8x?xf16>"), "8x256xf16 256x256xf16 8x256xf32"),
    ],
)  # fmt: skip
def test_sizes_are_those_demanded_and_the_others_are_moderate(matcher: str, shapes: str) -> None:
    expected = ", ".join(f"tensor<{shape}>" for shape in shapes.split())
    assert payload_of(matcher).shapes == expected


def test_a_payload_marks_chosen_sizes() -> None:
    payload = payload_of(contraction() + sizes(1, 48))
    assert [str(size) for size in payload.sizes] == ["m = 48", "n = 256 (free)", "k = 256 (free)"]
    assert [size.is_demanded for size in payload.sizes] == [True, False, False]


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
        (named("linalg.fill") + matmul_graph(), "no operation has all the required names"),
        (named("linalg.no_such_thing"), "the compiler does not define the operation 'linalg.no_such_thing'"),
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


@pytest.mark.parametrize("size", [0, 2**40, 2**62])
def test_unusual_sizes_are_taken_as_they_are(size: int) -> None:
    payload = payload_of(contraction() + sizes(1, size))
    assert payload.shapes.startswith(f"tensor<{size}x256xf16>")


def test_an_opaque_matcher_is_not_decided() -> None:
    (entry,) = spec_with(f"  transform.match.operation_empty %op : {ANY_OP}\n").entries
    with pytest.raises(tuninglink.PayloadError, match="not understood") as caught:
        tuninglink.payload_for(entry)
    assert caught.value.verdict is Verdict.NOT_DECIDED
    assert caught.value.entry == entry


def test_the_first_entry_wins() -> None:
    spec = spec_with(contraction() + sizes(1, 48), contraction(), contraction() + sizes(1, 32))
    narrow, wide, shadowed = (tuninglink.payload_for(entry) for entry in spec.entries)
    assert winners(spec.anatomy, [narrow, wide, shadowed]) == [
        spec.entries[0],
        spec.entries[1],
        spec.entries[1],
    ]
    assert matches(spec.entries[2], shadowed)
    assert not configures(spec.entries[2], shadowed)
    assert not matches(spec.entries[0], wide)


@settings(max_examples=5)
@given(specs=spec_lists((Shape.TWO_ENTRY_POINTS, Shape.RESTRICTED, Shape.LEGACY), can_fail=True))
def test_entries_of_opaque_specs_have_payloads(specs: list[GeneratedSpec]) -> None:
    for generated in specs:
        spec = load_spec(generated.text().encode())
        payloads = [tuninglink.payload_for(entry) for entry in spec.entries]
        assert None not in winners(spec.anatomy, payloads)
        assert all(map(matches, spec.entries, payloads))


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
        assert [dimension.size for dimension in dispatch.problem.dimensions] == [48, 256, 256]
        assert dispatch.function.attributes[names.EXECUTABLE_TARGET] == target
        assert dispatch.root.name == "linalg.generic"


# --- Other operations --------------------------------------------------------------------------------------


def graph(arguments: str, *operations: str) -> str:
    listed = "\n    ".join(operations)
    return f"""
  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {{
    ^bb0({arguments}):
    {listed}
  }} : ({ANY_OP}) -> ({VALUE}, {VALUE})
"""


def regions(arguments: str, operation: str) -> str:
    return f"  transform.iree.match.regions %op : {ANY_OP} {{\n    ^bb0({arguments}):\n    {operation}\n  }}\n"


def convolution(*facts: str) -> str:
    head = f"  %d:8 = transform.iree.match.convolution %op, {FIXED} : {ANY_OP} -> {PARAM}\n"
    return head + "".join(facts)


ANY = "tensor<?x?xf32>"
MATMUL = f"%r = linalg.matmul ins(%a, %b : {ANY}, {ANY}) outs(%c : {ANY}) -> {ANY}"
EXP = f"""%e = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}} ins(%r : {ANY}) outs(%d : {ANY}) {{
      ^bb0(%x: f32, %y: f32):
        %z = math.exp %x : f32
        linalg.yield %z : f32
    }} -> {ANY}"""
ROW = "affine_map<(b, m, n, k1, k2) -> (b, m)>"
ATTENTION = (
    "indexing_maps = [affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,"
    " affine_map<(b, m, n, k1, k2) -> (b, n, k2)>, affine_map<(b, m, n, k1, k2) -> ()>,"
    " affine_map<(b, m, n, k1, k2) -> (b, m, n)>"
)
INPUTS = "query_type = f16, key_type = f16, value_type = f16"


def attention(*facts: str) -> str:
    demands = f"{INPUTS}, output_type = f16, {ATTENTION}]"
    head = f"  %d:5 = transform.iree.match.attention %op, {demands} : {ANY_OP} -> {PARAM}\n"
    return head + "".join(facts)


def online_attention(*facts: str) -> str:
    outputs = "output_type = f32, max_type = f32, sum_type = f32"
    demands = f"{INPUTS}, scale_type = f16, {outputs}, {ATTENTION}, {ROW}, {ROW}]"
    head = f"  %d:5 = transform.iree.match.online_attention %op, {demands} : {ANY_OP} -> {PARAM}\n"
    return head + "".join(facts)


UNCONFIGURED = f"  transform.iree.match.has_no_lowering_config %op : {ANY_OP}\n"


@pytest.mark.parametrize(
    ("matcher", "shapes"),
    [
        (convolution(), "2x18x18x64xf16 3x3x64x64xf16 2x16x16x64xf32"),
        (convolution(sizes(1, 20)), "2x22x64xf16 3x64x64xf16 2x20x64xf32"),
        (convolution(sizes(5, 32)), "2x18x18x32x64xf16 3x3x32x64x64xf16 2x16x16x32x64xf32"),
        (
            convolution(sizes(3, 3, 3), sizes(6, 2, 2), sizes(7, 1, 1)),
            "2x33x33x64xf16 3x3x64x64xf16 2x16x16x64xf32",
        ),
        (
            convolution(operand(0), cast(0, "tensor<2x64x34x34xf16>"), operand(1))
            + cast(1, "tensor<128x64x3x3xf16>"),
            "2x64x34x34xf16 128x64x3x3xf16 2x128x32x32xf32",
        ),
        (
            named("linalg.conv_2d_nchw_fchw") + convolution(),
            "2x64x18x18xf16 64x64x3x3xf16 2x64x16x16xf32",
        ),
        (attention(sizes(4, 96)), "4x256x64xf16 4x96x64xf16 4x64x96xf16 f16 4x256x64xf16"),
        (
            online_attention(sizes(3, 32), operand(0), multiple(0, 1, 48)),
            "4x96x32xf16 4x256x32xf16 4x64x256xf16 f16 4x96x64xf32 4x96xf32 4x96xf32",
        ),
        (
            named("iree_linalg_ext.attention") + operand(0) + cast(0, "tensor<?x?x?x?xf16>")
            + multiple(0, 3, 48),
            "4x4x256x96xf16 4x4x256x96xf16 4x4x256x64xf16 f16 4x4x256x64xf16",
        ),
        (graph(f"%a: {ANY}, %b: {ANY}, %c: {ANY}", MATMUL), "256x256xf32 256x256xf32 256x256xf32"),
        (graph(f"%a: {ANY}, %b: {ANY}, %c: {ANY}, %d: {ANY}", MATMUL, EXP), "64x64xf32 64x64xf32"),
        (
            graph(
                "%a: tensor<16x?xf32>, %b: tensor<?x32xf32>",
                "%z = arith.constant 0.0 : f32",
                "%o = tensor.empty() : tensor<16x32xf32>",
                "%c = linalg.fill ins(%z : f32) outs(%o : tensor<16x32xf32>) -> tensor<16x32xf32>",
                "%r = linalg.matmul ins(%a, %b : tensor<16x?xf32>, tensor<?x32xf32>)"
                " outs(%c : tensor<16x32xf32>) -> tensor<16x32xf32>",
            ),
            "16x256xf32 256x32xf32 16x32xf32",
        ),
        (
            graph(
                "%a: tensor<16x?xf32>, %b: tensor<16x?xf32>",
                "%s = linalg.softmax dimension(1) ins(%a : tensor<16x?xf32>)"
                " outs(%b : tensor<16x?xf32>) -> tensor<16x?xf32>",
            ),
            "16x64xf32 16x64xf32",
        ),
        (
            regions(f"%a: {ANY}, %b: {ANY}, %c: {ANY}", MATMUL) + operand(0)
            + cast(0, "tensor<48x?xf32>"),
            "48x256xf32 256x256xf32 48x256xf32",
        ),
        (
            named("linalg.generic") + regions(f"%r: {ANY}, %d: {ANY}", EXP) + operand(0)
            + multiple(0, 1, 48),
            "64x96xf32 64x96xf32",
        ),
        (UNCONFIGURED + named("linalg.copy"), "64x64xf32 64x64xf32"),
        (named("linalg.fill"), "f32 64x64xf32"),
        (named("linalg.elementwise"), "64x64xf32 64x64xf32"),
        (named("linalg.transpose"), "64x64xf32 64x64xf32"),
        (named("linalg.contract"), "256x256xf32 256x256xf32 256x256xf32"),
        (named("linalg.fill_rng_2d"), "f64 f64 i32 64x64xf32"),
        (
            named("linalg.pooling_nhwc_max_unsigned"),
            "4x18x18x2xi32 3x3xi32 4x16x16x2xi32",
        ),
        (
            named("linalg.generic") + operand(0) + cast(0, "tensor<7x9xi8>") + operand(1)
            + cast(1, "tensor<5xi8>"),
            "7x9xi8 5xi8",
        ),
    ],
)  # fmt: skip
def test_every_kind_of_matcher_has_payloads(matcher: str, shapes: str) -> None:
    expected = [f"tensor<{shape}>" if "x" in shape else shape for shape in shapes.split()]
    assert payload_of(matcher).shapes == ", ".join(expected)


def test_not_every_layout_is_tried() -> None:
    # An image of two dimensions has filters of two, which no layout shows to be so.
    (entry,) = spec_with(convolution(sizes(1, 16, 16), sizes(3, 3))).entries
    with pytest.raises(tuninglink.PayloadError, match="none of 100 operations fits") as caught:
        tuninglink.payload_for(entry)
    assert caught.value.verdict is Verdict.NOT_DECIDED


@pytest.mark.parametrize(
    ("matcher", "reason"),
    [
        (contraction() + sizes(3), "no operation has operands of the required ranks"),
        (contraction() + operand(0) + cast(0, "tensor<f16>"), "the required ranks"),
        (
            contraction("lhs_type = si8, rhs_type = si8, output_type = si32"),
            "no arithmetic for 'si8'",
        ),
        (
            graph(
                f"%a: {ANY}, %b: {ANY}, %d: {ANY}",
                "%r = linalg.copy {match.operation_name_only} "
                f"ins(%a : {ANY}) outs(%b : {ANY}) -> {ANY}",
                EXP,
            ),
            "argument 0 of its graph is only used by ops that match by name",
        ),
        (named("tensor.pad"), "no program with 'tensor.pad' was found that fits"),
        (named("linalg.fill") + contraction(maps=MMT), "'linalg.fill' was found that fits"),
    ],
)
def test_matchers_without_a_known_candidate_are_undecided(matcher: str, reason: str) -> None:
    (entry,) = spec_with(matcher).entries
    with pytest.raises(tuninglink.PayloadError) as caught:
        tuninglink.payload_for(entry)
    assert caught.value.verdict is Verdict.NOT_DECIDED
    assert reason in caught.value.reason


def test_a_payload_does_what_included_sequences_demand() -> None:
    helper = f"""
transform.named_sequence @mmt(%op: {ANY_OP} {{transform.readonly}}) -> {ANY_OP} {{
{named("linalg.generic")}{contraction(maps=MMT)}{sizes(1, 48)}
  transform.yield %op : {ANY_OP}
}}
transform.named_sequence @rows(%op: {ANY_OP} {{transform.readonly}}) -> {ANY_OP} {{
  %r = transform.get_result %op[0] : ({ANY_OP}) -> {VALUE}
  transform.iree.match.dim_is_multiple_of %r[1], 80 : {VALUE}
  transform.yield %op : {ANY_OP}
}}
"""
    body = "".join(
        f"  %{name} = transform.include @{name} failures(propagate) (%op) : ({ANY_OP}) -> {ANY_OP}\n"
        for name in ("mmt", "rows")
    )
    payload = payload_of(body, helpers=helper)
    assert payload.shapes == "tensor<48x256xf16>, tensor<80x256xf16>, tensor<48x80xf32>"


def test_every_operation_of_the_test_programs_has_a_payload_in_every_style() -> None:
    count = 0
    for part in all_programs().split(SEPARATOR.strip()):
        program = mlir.Module.parse(part, thread_context()).operation
        for operation in matchable(program):
            spec = load_spec(spec_of(list(matchers_for(operation))).encode())
            for entry in spec.entries:
                assert matches(entry, tuninglink.payload_for(entry))
                count += 1
    assert count > 100


# --- Against the interpreter -------------------------------------------------------------------------------


@settings(max_examples=8)
@given(specs=spec_lists((Shape.DEFAULT,)))
def test_payloads_of_generated_specs_are_configured_by_their_own_entry(
    specs: list[GeneratedSpec],
) -> None:
    for generated in specs:
        spec = load_spec(generated.marking().text().encode())
        payloads = []
        for entry, shown in zip(spec.entries, generated.entries, strict=True):
            payloads.append(tuninglink.payload_for(entry))
            assert matches(entry, payloads[-1])
            root = payloads[-1].dispatch(context=thread_context()).root
            assert root.name in generated.accepts(shown)
        for payload, winner in zip(payloads, winners(spec.anatomy, payloads), strict=True):
            applied = apply_spec(spec, payload.body)
            configured = collect(applied, *generated_names(generated))
            assert winner is not None
            value = generated.marking().entries[spec.entries.index(winner)].value
            assert CONFIGURATION.format(value) in [
                str(op.attributes[names.LOWERING_CONFIG]) for op in configured
            ]


def generated_names(spec: GeneratedSpec) -> list[str]:
    return sorted({name for entry in spec.entries for name in spec.accepts(entry)})


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1))
def test_refuted_matchers_match_nothing(seed: int) -> None:
    chance = random.Random(seed)
    facts = [
        lambda: sizes(chance.randint(1, 3), chance.choice([16, 48, 100])),
        lambda: multiple(chance.randint(0, 2), chance.randint(0, 1), chance.choice([3, 16, 7])),
        lambda: bounds(chance.randint(0, 2), chance.randint(0, 1), chance.randint(0, 64), 64),
        lambda: cast(0, f"tensor<?x{chance.choice([16, 48])}xf16>"),
        lambda: cast(2, f"tensor<{chance.choice([16, 100])}x?xf32>"),
    ]
    demanded = [chance.choice(facts)() for _ in range(chance.randint(0, 4))]
    operands = [operand(number) for number in range(3)]
    maps = chance.choice(["", MMT])
    (entry,) = spec_with("".join([contraction(maps=maps), *operands, *demanded])).entries
    failure = failure_of(entry)
    if failure is not None:
        # With the maps known, there is one operation to be sized, and an answer.
        assert failure.verdict is Verdict.REFUTED or not maps
        assert not any(winners_alone(entry, matmuls()))


@cache
def matmuls() -> tuple[tuninglink.Payload, ...]:
    """Return matmuls of many sizes, independent of the entry."""
    chance = random.Random(0)
    bodies = [
        contraction(maps=chance.choice(["", MMT]))
        + "".join(sizes(role, chance.choice([16, 48, 64, 100])) for role in (1, 2, 3))
        for _ in range(30)
    ]
    return tuple(map(tuninglink.payload_for, spec_with(*bodies).entries))


def winners_alone(entry: Entry, payloads: Sequence[tuninglink.Payload]) -> list[Entry | None]:
    """Return for each payload the only entry of a spec if it matches, or None."""
    assert len(entry.anatomy.entries) == 1
    return winners(entry.anatomy, payloads)


def failure_of(entry: Entry) -> tuninglink.PayloadError | None:
    """Return the reason why an entry has no payload, or None."""
    try:
        assert matches(entry, tuninglink.payload_for(entry))
    except tuninglink.PayloadError as failure:
        return failure
    return None


# --- In compilations ---------------------------------------------------------------------------------------


def test_the_entries_of_the_default_specs_have_payloads() -> None:
    for target in ("gfx942",):
        spec = tuninglink.default_spec(target)
        assert spec is not None
        for entry in spec.entries:
            assert configures(entry, tuninglink.payload_for(entry, target))


EXAMPLES = {"gfx942": "spec_gfx942", "sm_80": "spec_sm_80", "x86_64": "spec_llvm_cpu"}


@pytest.mark.parametrize("target", EXAMPLES)
def test_the_program_compiles_and_its_entry_configures_it(target: str) -> None:
    path = ROOT / "examples" / f"{EXAMPLES[target]}.mlir"
    spec = load_spec(path.read_bytes(), name=str(path))
    for entry in spec.entries:
        payload = tuninglink.payload_for(entry, target)
        result = tuninglink.compile(
            payload.text.encode(),
            specs=[spec],
            flags=compile_flags(Target.parse(target)),
            default_specs=False,
        )
        assert [application.entry for application in result.applied] == [entry]
        assert all(application.is_own for application in result.applied)


CPU_CONFIGURATION = """#iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [64, 128, 0],
      vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 4]>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>"""
GPU_CONFIGURATION = """#iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{{workgroup = [64, 128, 0], reduction = [0, 0, 64],
      mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1],
      subgroup_basis = [[2, 2, 1], [0, 1, 2]]}}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute>
      workgroup_size = [256, 1, 1] subgroup_size = 64>>"""


@pytest.mark.parametrize(
    ("target", "matcher", "configuration"),
    [
        # A CPU's backend keeps names, a GPU's does not.
        ("x86_64", named("linalg.matmul", "linalg.generic"), CPU_CONFIGURATION),
        ("x86_64", named("linalg.matmul"), CPU_CONFIGURATION),
        ("x86_64", contraction(), CPU_CONFIGURATION),
        ("gfx942", named("linalg.matmul", "linalg.generic") + contraction(), GPU_CONFIGURATION),
        ("gfx942", matmul_graph("?", "256", "?"), GPU_CONFIGURATION),
    ],
)
def test_open_sizes_compile_with_the_configuration(
    target: str, matcher: str, configuration: str
) -> None:
    spec = spec_with(matcher, configuration=configuration, attribute="compilation_info")
    (entry,) = spec.entries
    payload = tuninglink.payload_for(entry, target)
    flags = compile_flags(Target.parse(target))
    result = tuninglink.compile(
        payload.text.encode(), specs=[spec], flags=flags, default_specs=False
    )
    assert [(application.entry, application.is_own) for application in result.applied] == [
        (entry, True)
    ]


def test_what_backends_prepare_is_still_what_the_entries_look_for() -> None:
    spec = tuninglink.default_spec("gfx942")
    assert spec is not None
    flags = [*compile_flags(Target.parse("gfx942")), "--compile-to=executable-configurations"]
    for entry in spec.entries:
        payload = tuninglink.payload_for(entry)
        result = tuninglink.compile(payload.text.encode(), flags=flags, specs=[spec])
        assert [application.entry for application in result.applied] == [entry]


def test_a_graph_that_computes_a_number_has_no_payload() -> None:
    (entry,) = spec_with(graph("%a: f32", "%s = arith.addf %a, %a : f32")).entries
    with pytest.raises(tuninglink.PayloadError, match="'f32', not a tensor") as raised:
        tuninglink.payload_for(entry)
    assert raised.value.verdict is Verdict.NOT_DECIDED


# --- Specs that people ship --------------------------------------------------------------------------------

CORPUS = SHARED / "corpus"


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"{CORPUS} is not there")
@pytest.mark.parametrize(
    ("name", "entries", "shadowed"),
    [("boo_2025_06", 51, 8), ("sdxl_int8", 16, 0), ("iree_default_gfx942", 2, 0), ("punet_mi300", 17, 0)],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*is excluded, as it cannot be upgraded")
def test_published_specs_have_payloads(name: str, entries: int, shadowed: int) -> None:
    spec = load_spec((CORPUS / f"{name}.mlir").read_bytes(), name=name)
    payloads = [
        tuninglink.payload_for(entry) for entry in spec.entries
    ]  # Each matches its own payload.
    winning = winners(spec.anatomy, payloads)
    assert len(payloads) == entries
    assert (
        sum(winner != entry for winner, entry in zip(winning, spec.entries, strict=True))
        == shadowed
    )
