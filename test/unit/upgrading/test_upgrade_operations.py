"""Upgrades of operations of older compilers, in any position."""

from __future__ import annotations

import pytest
from releases import since_3_13

import tuninglink
from tuninglink.errors import SpecError
from tuninglink.mlir import parse_module, thread_context

ANY = "!transform.any_op"
MAPS = "[affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]"
IMAGES = (
    "[affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>, "
    "affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d4, d5, d6)>, "
    "affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>]"
)
ATTENTION = (
    "[affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2)>, "
    "affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> ()>, "
    "affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>]"
)
TYPES = "lhs_type = f16, rhs_type = f16, output_type = f32"
VECTOR = "tensor<4xf32>"


def spec(matcher: str, action: str = "") -> str:
    """Return a spec without attributes, with some operations in its matcher."""
    return (
        f"module attributes {{ transform.with_named_sequence }} {{\n"
        f"  transform.named_sequence @match(%op: {ANY} {{transform.readonly}}) -> {ANY} {{\n"
        f"    {matcher}\n    transform.yield %op : {ANY}\n  }}\n"
        f"  transform.named_sequence @act(%op: {ANY} {{transform.readonly}}) {{\n"
        f"    {action}\n    transform.yield\n  }}\n"
        f"  transform.named_sequence @main(%root: {ANY} {{transform.consumed}}) -> {ANY}\n"
        "      attributes { iree_codegen.tuning_spec_entrypoint } {\n"
        f"    %r = transform.foreach_match in %root @match -> @act : ({ANY}) -> {ANY}\n"
        f"    transform.yield %r : {ANY}\n  }}\n}}\n"
    )


def structured(operation: str) -> str:
    return (
        f"%s = transform.match.structured %op : ({ANY}) -> {ANY} {{\n    ^bb0(%a: {ANY}):\n"
        f"      {operation}\n      transform.match.structured.yield %a : {ANY}\n    }}"
    )


def dag(arguments: str, operation: str) -> str:
    return (
        "%ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {\n"
        f"    ^bb0({arguments}):\n      {operation}\n"
        f"    }} : ({ANY}) -> (!transform.any_value, !transform.any_value)"
    )


def elementwise(name: str, operands: int) -> str:
    names = ", ".join(f"%v{index}" for index in range(operands))
    types = ", ".join([VECTOR] * operands)
    return dag(
        ", ".join(f"%v{index}: {VECTOR}" for index in range(operands + 1)),
        f"%r = {name} ins({names} : {types}) outs(%v{operands} : {VECTOR}) -> {VECTOR}",
    )


PARAMETER = "!transform.param<i64>"

FORMS = {
    "contraction": (
        (
            f"%b, %m, %n, %k = transform.iree.match.contraction %op, {TYPES} {{indexing_maps = {MAPS}}} "
            f": {ANY} -> {PARAMETER}"
        ),
        f"output_type = f32, indexing_maps = {MAPS} : {ANY}",
    ),
    "contraction, types on their own line": (
        (
            f"%b, %m, %n, %k = transform.iree.match.contraction %op,\n      {TYPES}\n"
            f"      {{indexing_maps = {MAPS}}}\n      : {ANY} -> {PARAMETER}"
        ),
        f"output_type = f32, indexing_maps = {MAPS}\n      : {ANY}",
    ),
    "contraction of September 2025": (
        (
            f"%b, %m, %n, %k = transform.iree.match.contraction %op,\n      {TYPES}\n"
            f"      {{indexing_maps = {MAPS}}} :\n"
            f"      ({ANY}) -> ({PARAMETER}, {PARAMETER},\n       {PARAMETER}, {PARAMETER})"
        ),
        f"output_type = f32, indexing_maps = {MAPS} :\n      {ANY} -> {PARAMETER}\n",
    ),
    "contraction of September 2025 without maps": (
        (
            f"%b, %m, %n, %k = transform.iree.match.contraction %op, {TYPES} "
            f": ({ANY}) -> ({PARAMETER}, {PARAMETER}, {PARAMETER}, {PARAMETER})"
        ),
        f"output_type = f32 : {ANY} -> {PARAMETER}\n",
    ),
    "convolution": (
        (
            "%b, %i, %o, %f, %c, %d, %s, %l = transform.iree.match.convolution %op, "
            f"{TYPES} {{indexing_maps = {IMAGES}}} : {ANY} -> {PARAMETER}"
        ),
        f"output_type = f32, indexing_maps = {IMAGES} : {ANY}",
    ),
    "print": (
        f'transform.print %op {{name = "x", skip_regions}} : {ANY}',
        f'transform.print %op name = "x" skip_regions : {ANY}',
    ),
    "print, nothing": ('transform.print {name = "x"}', 'transform.print name = "x"'),
    "handles": (
        f"%h = transform.merge_handles %op, %op {{deduplicate}} : {ANY}",
        f"%h = transform.merge_handles deduplicate %op, %op : {ANY}",
    ),
    "split": (
        f"%h:2 = transform.split_handle %op {{overflow_result = 1 : i64}} : ({ANY}) -> ({ANY}, {ANY})",
        "transform.split_handle %op overflow_result = 1 : (",
    ),
    "parent": (
        f'%p = transform.get_parent_op %op {{op_name = "func.func", nth_parent = 2 : i64}} : ({ANY}) -> {ANY}',
        'transform.get_parent_op %op <op_name = "func.func", nth_parent = 2> : (',
    ),
    "body": (
        structured(
            f'transform.match.structured.body %a {{ contraction = ["arith.mulf", "arith.addf"] }} : {ANY}'
        ),
        'transform.match.structured.body %a contraction = ["arith.mulf", "arith.addf"] :',
    ),
    "reduction": (
        structured(f"transform.match.structured.body %a {{ reduction_position = 0 }} : {ANY}"),
        "transform.match.structured.body %a reduction_position = 0 :",
    ),
    "dimensions": (
        structured(
            f"%n = transform.match.structured.dim %a[all] {{parallel}} : ({ANY}) -> {PARAMETER}"
        ),
        "transform.match.structured.dim %a[all] parallel : (",
    ),
    "inputs": (
        structured(f"transform.match.structured.input %a[all] {{projected_permutation}} : {ANY}"),
        "transform.match.structured.input %a[all] projected_permutation :",
    ),
    "exp": (elementwise("linalg.exp", 1), "linalg.elementwise <exp> ins("),
    "max": (elementwise("linalg.max", 2), "linalg.elementwise <max_signed> ins("),
    "unary": (
        elementwise("linalg.elemwise_unary {fun = #linalg.unary_fn<negf>}", 1),
        "linalg.elementwise <negf> ins(",
    ),
    "binary without function": (
        elementwise("linalg.elemwise_binary", 2),
        "linalg.elementwise <add> ins(",
    ),
    "elementwise": (
        elementwise("linalg.elementwise kind=#linalg.elementwise_kind<tanh>", 1),
        "linalg.elementwise <tanh> ins(",
    ),
    "pack": (
        dag(
            "%a: tensor<16x16xf32>, %b: tensor<4x4x4x4xf32>",
            "%r = tensor.pack %a inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %b "
            ": tensor<16x16xf32> -> tensor<4x4x4x4xf32>",
        ),
        "%r = linalg.pack %a inner_dims_pos",
    ),
}


OLD_SINCE_3_13 = ("exp", "max", "elementwise")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[since_3_13] * (name in OLD_SINCE_3_13)) for name in FORMS],
)
def test_an_old_operation_becomes_one_that_the_compiler_reads(name: str) -> None:
    old, new = FORMS[name]
    text = spec(old)
    with pytest.raises(SpecError):
        parse_module(text.encode(), "old", thread_context())
    upgraded = tuninglink.upgrade(text)
    assert new in upgraded.text
    assert not upgraded.kept_out
    parse_module(upgraded.text.encode(), "upgraded", thread_context())
    assert tuninglink.upgrade(upgraded.text).text == upgraded.text
    assert tuninglink.load_spec(text.encode()).entries, "it is upgraded where it is loaded"


def test_results_of_different_types_are_rejected() -> None:
    types = f"({ANY}) -> ({PARAMETER}, {PARAMETER}, {PARAMETER}, !transform.any_param)"
    matcher = f"%b, %m, %n, %k = transform.iree.match.contraction %op, {TYPES} : {types}"
    with pytest.raises(
        SpecError, match=r"the results of .transform.iree.match.contraction. have different types"
    ):
        tuninglink.upgrade(spec(matcher))


def test_operations_without_effect_are_removed_and_reported() -> None:
    text = spec(
        f'transform.iree.register_match_callbacks\n    transform.iree.emit_remark "seen" at %op : {ANY}'
    )
    upgraded = tuninglink.upgrade(text)
    assert "emit_remark" not in upgraded.text
    assert "{\n    transform.yield %op" in upgraded.text
    assert [change.rule for change in upgraded.decisions] == ["gone-operations"] * 2


def test_users_of_a_removed_operation_are_rejected_with_a_reason() -> None:
    text = spec(f"%a, %b = transform.iree.take_first %op, %op : ({ANY}, {ANY}) -> ({ANY}, {ANY})")
    with pytest.raises(SpecError) as failure:
        tuninglink.upgrade(text)
    _, reason = failure.value.diagnostics
    assert "'transform.iree.take_first' is gone" in reason.message
    assert reason.place is not None
    assert reason.place.line == 3


@pytest.mark.parametrize("name", ["linalg.exp", "linalg.elemwise_unary"])
def test_a_removed_name_is_reported(name: str) -> None:
    config = "%c = transform.param.constant #iree_gpu.mfma_layout<F16_16x16x16_F32> -> !transform.any_param"
    text = spec(f'transform.match.operation_name %op ["{name}"] : {ANY}\n    {config}')
    with pytest.raises(SpecError, match=f"it matches '{name}' by name, which is gone"):
        tuninglink.upgrade(text)


def test_the_name_of_a_pack_follows_it() -> None:
    text = spec(f'transform.match.operation_name %op ["tensor.unpack", "linalg.fill"] : {ANY}')
    assert '["linalg.unpack", "linalg.fill"]' in tuninglink.upgrade(text).text


CONFIGURATION = (
    "%config = transform.param.constant #iree_codegen.compilation_info<"
    "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[32, 128, 32]]>, "
    "translation_info = <PIPELINE workgroup_size = [32, 8, 1] SUBGROUP>> -> !transform.any_param\n"
    f'    transform.annotate %op "compilation_info" = %config : {ANY}, !transform.any_param'
)
TURNED = (
    "[affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d1, d0)>, "
    "affine_map<(d0, d1, d2) -> (d2, d1)>]"
)


def contraction(maps: str) -> str:
    return (
        f"%b, %m, %n, %k = transform.iree.match.contraction %op, {TYPES}, indexing_maps = {maps} "
        f": {ANY} -> {PARAMETER}"
    )


def configured(maps: str, pipeline: str, subgroup: str = "subgroup_size = 64") -> str:
    action = CONFIGURATION.replace("PIPELINE", pipeline).replace("SUBGROUP", subgroup)
    return spec(contraction(maps), action)


def test_what_an_action_configures_is_seen_in_its_matcher() -> None:
    upgraded = tuninglink.upgrade(configured(TURNED, "LLVMGPUVectorDistribute"))
    assert not upgraded.decisions
    assert "reduction = [32, 0, 0], workgroup = [0, 128, 32]" in upgraded.text


def test_a_matmul_without_intrinsics_keeps_its_tiles() -> None:
    upgraded = tuninglink.upgrade(configured(MAPS, "LLVMGPUMatmulSimt"))
    assert (
        "#iree_gpu.lowering_config<{promote_operands = [0, 1], reduction = [0, 0, 32], "
        "thread = [4, 4, 0], workgroup = [32, 128, 0]}>" in upgraded.text
    )
    assert "pipeline = #iree_gpu.pipeline<TileAndFuse>" in upgraded.text
    (decision,) = upgraded.decisions
    assert decision.rule == "simt-matmuls"


@pytest.mark.parametrize(
    ("subgroup", "sizes", "reason"),
    [
        ("", "[[32, 128, 32]]", "did not need a subgroup size"),
        ("subgroup_size = 64", "[[32, 100, 32]]", "32 threads do not divide the workgroup tile"),
        ("subgroup_size = 64", "[[32, 128], [32]]", "had one list of tile sizes"),
        ("subgroup_size = 64", "[[0, 128, 32]]", "more dimensions of threads"),
    ],
)
def test_a_matmul_without_intrinsics_whose_tiles_are_not_known_is_kept_out(
    subgroup: str, sizes: str, reason: str
) -> None:
    text = configured(MAPS, "LLVMGPUMatmulSimt", subgroup).replace("[[32, 128, 32]]", sizes)
    with pytest.raises(SpecError, match=reason):
        tuninglink.upgrade(text)


UNMARKED = (
    spec("")
    .replace(
        f"@main(%root: {ANY} {{transform.consumed}}) -> {ANY}\n"
        "      attributes { iree_codegen.tuning_spec_entrypoint }",
        f"@__kernel_config(%root: {ANY} {{transform.consumed}})",
    )
    .replace("transform.yield %r : !transform.any_op", "transform.yield")
)


def test_an_unmarked_entry_point_is_present_syntax() -> None:
    upgraded = tuninglink.upgrade(UNMARKED)
    assert upgraded.text == UNMARKED
    assert not (*upgraded.changes, *upgraded.kept_out)
    (hint,) = upgraded.hints
    assert "silently drops it next to another spec" in hint.message
    assert hint.place is not None
    assert (hint.place.line, hint.place.column) == (10, 3)


def test_an_unmarked_entry_point_of_an_old_spec_is_marked() -> None:
    old = UNMARKED.replace(
        "    \n", '    transform.print %op {name = "x"} : !transform.any_op\n', 1
    )
    upgraded = tuninglink.upgrade(old)
    assert f"-> {ANY} attributes {{ iree_codegen.tuning_spec_entrypoint }}" in upgraded.text
    assert not upgraded.hints


OLD = (
    "%c = transform.param.constant #iree_gpu.mfma_layout<F16_16x16x16_F32> -> !transform.any_param"
)
SCORES = "^bb0(%score: f32):\n        iree_linalg_ext.yield %score : f32"


def attention(more: str = "", scores: str = SCORES, mask: str = "") -> str:
    """Return an old spec with a DAG of an attention."""
    maps = ATTENTION
    operands, types = (
        "%q, %k, %v, %s",
        "tensor<2x8x4xf16>, tensor<2x16x4xf16>, tensor<2x16x4xf16>, f16",
    )
    if mask:
        maps = maps.replace("-> ()>,", "-> ()>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>,")
        operands, types = operands + ", %mask", types + ", tensor<2x8x16xf16>"
    matcher = dag(
        "%q: tensor<2x8x4xf16>, %k: tensor<2x16x4xf16>, %v: tensor<2x16x4xf16>, %s: f16, "
        f"%o: tensor<2x8x4xf16>{mask}",
        f"%r = iree_linalg_ext.attention {{indexing_maps = {maps}}} ins({operands} : {types}) "
        f"outs(%o : tensor<2x8x4xf16>) {{\n      {scores}\n      }} -> tensor<2x8x4xf16>",
    )
    return spec(f"{matcher}\n    {OLD}{more}")


def test_a_dag_of_an_attention_becomes_a_matcher_of_what_it_is_when_it_is_matched() -> None:
    upgraded = tuninglink.upgrade(attention())
    assert (
        "%batch, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op, query_type = f16, "
        "key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32"
    ) in upgraded.text
    (entry,) = tuninglink.load_spec(upgraded.text.encode()).entries
    payload = tuninglink.payload_for(entry)
    assert "iree_linalg_ext.online_attention" in payload.body
    assert "tensor<2x8x4xf16>, tensor<2x16x4xf16>, tensor<2x16x4xf16>" in payload.shapes


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            attention("\n    %n = transform.num_associations %ins : (!transform.any_value) -> " + PARAMETER),
            "the results of the DAG are used later, and 'match.online_attention' has no such results",
        ),
        (
            attention(scores=SCORES.replace("yield %score", "yield %less").replace(
                "iree", "%less = arith.negf %score : f32\n        iree", 1
            )),
            "a DAG of an attention that changes its scores has no counterpart",
        ),
        (
            attention(mask=", %mask: tensor<2x8x16xf16>"),
            "a DAG of an attention with a mask has no counterpart",
        ),
    ],
)  # fmt: skip
def test_a_dag_of_an_attention_with_more_conditions_is_excluded(text: str, reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        tuninglink.upgrade(text)


def test_names_of_a_matcher_are_not_taken() -> None:
    text = attention().replace(
        "    %ins, %outs", f"    %m = transform.merge_handles %op : {ANY}\n    %ins, %outs"
    )
    assert "%attention_batch, %attention_m," in tuninglink.upgrade(text).text


THREADS = "#iree_gpu.lowering_config<{thread = [0, 8], thread_basis = [[1, 64], [0, 1]]}>"


def test_what_parses_and_is_not_understood_is_upgraded_where_it_is_loaded() -> None:
    text = spec(f"%c = transform.param.constant {THREADS} -> !transform.any_param")
    assert "lane_basis = [[1, 64], [0, 1]]" in tuninglink.load_spec(text.encode()).text()


KERNEL = """\
util.func private @NAME(%a: !operand) -> !operand {
    BODY
    util.return %a : !operand
  }
"""
GOOD, BAD = "%b = tensor.cast %a : !operand to tensor<8xf16>", "rocdl.sched.barrier 0"


def with_kernels(*bodies: str) -> str:
    """Return an old spec with an entry for each of some functions, and one without a function."""
    names = [f"kernel_{number}" for number in range(len(bodies))]
    kernels = "".join(
        KERNEL.replace("NAME", name).replace("BODY", body)
        for name, body in zip(names, bodies, strict=True)
    )
    actions = "".join(
        f"  transform.named_sequence @use_{name}(%op: {ANY} {{transform.readonly}}) {{\n"
        f"    %module = transform.util.get_nearest_symbol_table %op : ({ANY}) -> {ANY}\n"
        f"    transform.util.import_symbol @{name} into %module if undefined : ({ANY}) -> {ANY}\n"
        "    transform.yield\n  }\n"
        for name in names
    )
    text = spec(OLD).replace(
        "transform.named_sequence @match", f"{kernels}{actions}  transform.named_sequence @match", 1
    )
    pairs = "".join(f", @match_{name} -> @use_{name}" for name in names)
    matchers = "".join(
        f"  transform.named_sequence @match_{name}(%op: {ANY} {{transform.readonly}}) -> {ANY} {{\n"
        f"    transform.yield %op : {ANY}\n  }}\n"
        for name in names
    )
    text = text.replace(
        "  transform.named_sequence @main", f"{matchers}  transform.named_sequence @main", 1
    )
    return "!operand = tensor<?xf16>\n" + text.replace("@match -> @act", f"@match -> @act{pairs}")


def test_a_rejected_function_is_excluded_with_its_users() -> None:
    text = with_kernels(GOOD, BAD, GOOD)
    upgraded = tuninglink.upgrade(text)
    assert {part.what: part.reason.partition(":")[0] for part in upgraded.kept_out} == {
        "@kernel_1": "today's compiler rejects it",
        "@use_kernel_1": "it needs '@kernel_1', which is kept out",
    }
    assert [entry.state for entry in upgraded.entries] == [
        "upgraded",
        "unchanged",
        "kept out",
        "unchanged",
    ]
    parse_module(upgraded.text.encode(), "upgraded", thread_context())
    assert tuninglink.upgrade(upgraded.text).text == upgraded.text
    assert tuninglink.upgrade(with_kernels(GOOD)).kept_out == ()


def test_a_name_next_to_a_matcher_of_its_form_becomes_generic() -> None:
    by_name = f'transform.match.operation_name %op ["linalg.matmul"] : {ANY}\n    '
    upgraded = tuninglink.upgrade(spec(by_name + contraction(MAPS) + f"\n    {OLD}"))
    assert 'transform.match.operation_name %op ["linalg.generic"]' in upgraded.text
    assert [change.rule for change in upgraded.decisions] == ["matched-names"]


def test_subgroup_counts_without_a_pipeline_are_not_carried_on_in_silence() -> None:
    config = "#iree_gpu.lowering_config<{subgroup_m_count = 2, workgroup = [64, 128, 0]}>"
    text = spec("", f"%c = transform.param.constant {config} -> !transform.any_param")
    with pytest.raises(SpecError, match="a lowering config that is annotated without its pipeline"):
        tuninglink.upgrade(text)


def test_broken_operations_that_find_the_same_thing_are_a_diagnostic() -> None:
    name = "transform.match.operation_name"
    with pytest.raises(SpecError):
        tuninglink.upgrade(spec(f'{name}\n    {name} %op ["tensor.pack"] : {ANY}'))
