"""Upgrades of whole specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from places import ROOT, SHARED

import tuninglink
from tuninglink.errors import SpecError
from tuninglink.mlir import parse_module, thread_context

if TYPE_CHECKING:
    from pathlib import Path

ACTION = """\
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly},
                                  %config: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
"""

CONFIGURATION = """\
#iree_codegen.compilation_info<
      lowering_config = #iree_codegen.lowering_config<tile_sizes = [[64, 128, 32]]>,  // as measured
      translation_info = #iree_codegen.translation_info<LLVMGPUVectorDistribute
        workgroup_size = [128, 2, 1] subgroup_size = 64,
        {mma_schedule = #iree_gpu.mma_schedule<
           intrinsic = #iree_gpu.mma_layout<MFMA_F16_16x16x16_F32>,
           subgroup_m_count = 2, subgroup_n_count = 2>, prefetch_shared_memory}>
      >"""


def matcher(name: str, configuration: str = CONFIGURATION, maps: str | None = None) -> str:
    """Return a matcher of a matmul with transposed right-hand side."""
    maps = maps or "(d0, d2)> (d1, d2)> (d0, d1)>"
    listed = ", ".join(f"affine_map<(d0, d1, d2) -> {results}" for results in _split(maps))
    return f"""\
  transform.named_sequence @{name}(%op: !transform.any_op {{transform.readonly}})
      -> (!transform.any_op, !transform.any_param) {{
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {{
    ^bb0(%lhs: tensor<?x256xf16>, %rhs: tensor<512x256xf16>, %out: tensor<?x512xf32>):
      %r = linalg.generic {{indexing_maps = [{listed}],
                           iterator_types = ["parallel", "parallel", "reduction"]}}
          ins(%lhs, %rhs : tensor<?x256xf16>, tensor<512x256xf16>) outs(%out : tensor<?x512xf32>) {{
      ^bb0(%a: f16, %b: f16, %acc: f32):
        %0 = arith.extf %a : f16 to f32
        %1 = arith.extf %b : f16 to f32
        %2 = arith.mulf %0, %1 : f32
        %3 = arith.addf %acc, %2 : f32
        linalg.yield %3 : f32
      }} -> tensor<?x512xf32>
    }} : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %config = transform.param.constant {configuration} -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }}
"""


def _split(maps: str) -> list[str]:
    return [text + ">" for text in maps.split(">") if text.strip()]


def spec(*sequences: str, pairs: str, aliases: str = "") -> str:
    """Return an old spec, without a marker and a result."""
    return (
        f"// My spec.\n{aliases}module attributes {{ transform.with_named_sequence }} {{\n{ACTION}"
        + "".join(sequences)
        + "  transform.named_sequence @__kernel_config(%variant_op: !transform.any_op "
        "{transform.consumed}) {\n    transform.foreach_match in %variant_op\n"
        f"      {pairs}\n      : (!transform.any_op) -> (!transform.any_op)\n"
        "    transform.yield\n  }\n}\n"
    )


def parses(text: str) -> None:
    parse_module(text.encode(), "upgraded", thread_context())


def upgraded(text: str) -> tuninglink.Upgraded:
    """Upgrade a spec, and check the invariants of every upgrade."""
    result = tuninglink.upgrade(text, "spec.mlir")
    parses(result.text)
    again = tuninglink.upgrade(result.text, "spec.mlir")
    assert again.text == result.text
    assert not (*again.changes, *again.kept_out)
    assert tuninglink.load_spec(result.text.encode()).entries
    return result


def test_a_schedule_of_2024_becomes_a_configuration_of_today() -> None:
    result = upgraded(spec(matcher("match"), pairs="@match -> @apply"))
    assert (
        "lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<"
        "MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 32], "
        "workgroup = [64, 128, 0], subgroup_basis = [[2, 2, 1], [0, 1, 2]]}>,  // as measured"
    ) in result.text
    assert "pipeline = #iree_gpu.pipeline<VectorDistribute>\n" in result.text
    assert "#iree_gpu.pipeline_options<prefetch_num_stages = 2>" in result.text
    assert [entry.state for entry in result.entries] == ["upgraded"]
    assert not result.kept_out
    assert result.text.startswith("// My spec.\n")


def test_sides_of_a_matmul_follow_its_maps() -> None:
    turned = matcher("match", maps="(d1, d2)> (d0, d2)> (d0, d1)>").replace(
        "subgroup_m_count = 2, subgroup_n_count = 2", "subgroup_m_count = 4, subgroup_n_count = 1"
    )
    result = tuninglink.upgrade(spec(turned, pairs="@match -> @apply"))
    assert "subgroup_basis = [[1, 4, 1], [0, 1, 2]]" in result.text


def test_subgroups_are_distributed_over_outer_loops_first() -> None:
    configuration = CONFIGURATION.replace("[[64, 128, 32]]", "[[16, 128, 32]]")
    result = tuninglink.upgrade(spec(matcher("match", configuration), matcher("good"), pairs=(
        "@match -> @apply, @good -> @apply"
    )))  # fmt: skip
    entry = result.entries[0]
    assert entry.kept_out is not None
    assert "2 subgroups do not divide the workgroup tile [16]" in entry.kept_out.reason
    parses(result.text)


def test_an_entry_that_cannot_be_upgraded_is_kept_out_and_the_rest_goes_on() -> None:
    broken = CONFIGURATION.replace("MFMA_F16_16x16x16_F32", "MFMA_F16_16x16x17_F32")
    text = spec(
        matcher("first"),
        matcher("bad", broken),
        matcher("last"),
        pairs="@first -> @apply,\n      @bad -> @apply,\n      @last -> @apply",
    )
    result = upgraded(text)
    assert [entry.state for entry in result.entries] == ["upgraded", "kept out", "upgraded"]
    (out,) = result.kept_out
    assert out.what == "@bad"
    assert out.reason == (
        "unknown intrinsic 'MFMA_F16_16x16x17_F32'; the nearest known one is 'MFMA_F32_16x16x16_F16'"
    )
    assert text.splitlines()[out.place.line - 1].strip().startswith("%config = transform.param.")
    assert "// Kept out: @bad -> @apply" in result.text
    assert "intrinsic = #iree_gpu.mma_layout<MFMA_F16_16x16x17_F32>," in result.text


@pytest.mark.parametrize("pairs", ["@bad -> @apply, @a -> @apply", "@a -> @apply, @bad -> @apply",
    "@a -> @apply\n , @bad -> @apply\n , @bad -> @apply\n , @b -> @apply",
    "@bad -> @apply,\n @bad -> @apply,\n @a -> @apply"])  # fmt: skip
def test_commas_between_entries_stay_right(pairs: str) -> None:
    broken = CONFIGURATION.replace("LLVMGPUVectorDistribute", "LLVMGPUWarpReduction")
    sequences = (matcher("a"), matcher("b"), matcher("bad", broken))
    result = upgraded(spec(*sequences, pairs=pairs))
    kept = [entry.matcher for entry in result.entries if not entry.kept_out]
    loaded = tuninglink.load_spec(result.text.encode())
    assert [entry.matcher for entry in loaded.entries] == kept


def test_what_needs_something_kept_out_is_kept_out_too() -> None:
    helper = (
        "  transform.named_sequence @helper(%op: !transform.any_op {transform.readonly}) {\n"
        "    transform.iree.gone %op : !transform.any_op\n    transform.yield\n  }\n"
    )
    using = matcher("using").replace(
        "    %ins", "    transform.include @helper failures(propagate) (%op) : (!transform.any_op) -> ()\n    %ins", 1
    )  # fmt: skip
    result = upgraded(spec(helper, using, matcher("a"), pairs="@using -> @apply, @a -> @apply"))
    assert {part.what: part.reason.split(":")[0] for part in result.kept_out} == {
        "@helper": "today's compiler rejects it",
        "@using": "it needs '@helper', which is kept out",
    }


def test_an_empty_result_is_an_error_with_reasons() -> None:
    broken = CONFIGURATION.replace("LLVMGPUVectorDistribute", "LLVMGPUVectorDistribut")
    with pytest.raises(SpecError) as failure:
        tuninglink.upgrade(spec(matcher("bad", broken), pairs="@bad -> @apply"))
    first, second = failure.value.diagnostics
    assert first.message == "no entry of the spec can be upgraded"
    assert "the nearest known one is 'LLVMGPUVectorDistribute'" in second.message


WITH_INTRINSIC = (
    "#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<"
    "{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], "
    "reduction = [0, 0, 4], SIZES, workgroup = [64, 128, 0]}>, translation_info = "
    "<pipeline = LLVMGPUTileAndFuse workgroup_size = [256, 1, 1] subgroup_size = 64>>"
)


def test_configurations_known_to_fail_get_warnings() -> None:
    fine = WITH_INTRINSIC.replace("SIZES", "subgroup = [2, 4, 0]")
    without_tiles = WITH_INTRINSIC.replace("SIZES", "subgroup_m_count = 2, subgroup_n_count = 2")
    without_subgroups = CONFIGURATION.replace("subgroup_m_count = 2, subgroup_n_count = 2", "")
    text = spec(
        matcher("fine", fine),
        matcher("without_tiles", without_tiles),
        matcher("without_subgroups", without_subgroups),
        pairs="@fine -> @apply, @without_tiles -> @apply, @without_subgroups -> @apply",
    )
    result = upgraded(text)
    first, second = result.hints
    assert "TileAndFuse needs 'subgroup' tile sizes" in first.message
    assert "VectorDistribute needs a 'subgroup_basis'" in second.message
    lines = text.splitlines()
    assert all(
        hint.place and lines[hint.place.line - 1].startswith("    %config") for hint in result.hints
    )
    assert not tuninglink.upgrade(result.text).hints
    with pytest.warns(UserWarning, match="does not compile: TileAndFuse"):
        tuninglink.load_spec(text.encode())


def test_a_sequence_may_be_named_like_an_arrow() -> None:
    (entry,) = upgraded(spec(matcher('"->"'), pairs='@"->" -> @apply')).entries
    assert (entry.matcher, entry.state) == ("->", "upgraded")


def test_aliases_are_followed_and_stay_aliases() -> None:
    aliases = (
        "#config = #iree_codegen.lowering_config<tile_sizes = [[64, 128, 32]]>\n"
        "#schedule = #iree_gpu.mma_schedule<intrinsic = #layout, subgroup_m_count = 2,"
        " subgroup_n_count = 2>\n"
        "#translation = #iree_codegen.translation_info<LLVMGPUVectorDistribute workgroup_size ="
        " [128, 2, 1] subgroup_size = 64, {mma_schedule = #schedule}>\n"
    )
    layout = "#layout = #iree_gpu.mma_layout<MFMA_F16_16x16x16_F32>\n"
    info = (
        "#iree_codegen.compilation_info<lowering_config = #config, translation_info = #translation>"
    )
    text = spec(matcher("a", info), matcher("b", info), pairs="@a -> @apply, @b -> @apply",
                aliases=layout + aliases)  # fmt: skip
    result = tuninglink.upgrade(text)
    parses(result.text)
    assert result.text.count("lowering_config = #config, translation_info = #translation") == 2
    assert "mma_kind = #layout" in result.text
    assert "#layout = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>\n" in result.text
    assert tuninglink.upgrade(result.text).text == result.text


def test_an_alias_that_means_two_things_is_spelled_out() -> None:
    configuration = CONFIGURATION.replace(
        "#iree_codegen.lowering_config<tile_sizes = [[64, 128, 32]]>", "#config"
    )
    turned = matcher("b", configuration, maps="(d1, d0)> (d2, d0)> (d1, d2)>")
    text = spec(matcher("a", configuration), turned, pairs="@a -> @apply, @b -> @apply",
                aliases="#config = #iree_codegen.lowering_config<tile_sizes = [[64, 128, 32]]>\n")  # fmt: skip
    result = tuninglink.upgrade(text)
    assert result.text.count("lowering_config = #config") == 1
    assert "reduction = [0, 0, 32]" in result.text
    assert "reduction = [64, 0, 0]" in result.text


def test_a_version_limits_the_rules() -> None:
    text = spec(matcher("match"), pairs="@match -> @apply")
    result = tuninglink.upgrade(text, written_for=(0, 0))
    assert result.text == tuninglink.upgrade(text).text
    unchanged = tuninglink.upgrade(result.text, written_for=(3, 13))
    assert unchanged.text == result.text


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("linalg.matmul_transpose_b", "which is gone"),
        ("linalg.conv_2d_nhwc_hwcf", 'which is "linalg.generic" on a GPU when it is matched'),
    ],
)
def test_an_obsolete_name_is_reported(name: str, reason: str) -> None:
    check = f'    transform.match.operation_name %op ["{name}"] : !transform.any_op\n'
    beside_dag = matcher("beside").replace("    %ins", f"{check}    %ins", 1)
    head, _, tail = matcher("asking").partition("    %ins")
    alone = head + check + tail[tail.index("    %config") :]
    text = spec(alone, beside_dag, pairs="@asking -> @apply, @beside -> @apply")
    result = upgraded(text)
    (out,) = result.kept_out
    assert out.what == "@asking"
    assert f"it matches '{name}' by name, {reason}" in out.reason
    assert 'transform.match.operation_name %op ["linalg.generic"]' in result.text


def test_old_specs_load() -> None:
    text = spec(matcher("match"), pairs="@match -> @apply")
    loaded = tuninglink.load_spec(text.encode(), name="old.mlir")
    assert "#iree_gpu.pipeline<VectorDistribute>" in loaded.text()


def test_entries_of_old_specs_keep_their_original_places() -> None:
    over_lines = CONFIGURATION.replace("<", "<\n", 3)  # What is rewritten is shorter.
    text = spec(
        matcher("first", over_lines), matcher("other"), pairs="@first -> @apply, @other -> @apply"
    )
    assert tuninglink.upgrade(text).text.count("\n") < text.count("\n")
    loaded = tuninglink.load_spec(text.encode(), name="old.mlir")
    lines = text.splitlines()
    for entry in loaded.entries:
        assert entry.place is not None
        assert entry.place.file == "old.mlir"
        definition = lines[entry.place.line - 1][entry.place.column - 1 :]
        assert definition.startswith(f"transform.named_sequence @{entry.matcher}(")


def test_old_specs_are_rejected_without_upgrades() -> None:
    text = spec(matcher("match"), pairs="@match -> @apply")
    with pytest.raises(SpecError) as failure:
        tuninglink.load_spec(text.encode(), name="old.mlir", upgrade=False)
    (diagnostic,) = failure.value.diagnostics
    assert diagnostic.message.startswith("the spec was written for an older compiler: intrinsic")
    assert "tuninglink upgrade" in diagnostic.notes[0].message
    assert diagnostic.place is not None


def test_exclusions_from_a_loaded_spec_get_warnings() -> None:
    broken = CONFIGURATION.replace("LLVMGPUVectorDistribute", "LLVMGPUWarpReduction")
    text = spec(matcher("a"), matcher("bad", broken), pairs="@a -> @apply, @bad -> @apply")
    with pytest.warns(UserWarning, match="'@bad' is excluded") as caught:
        loaded = tuninglink.load_spec(text.encode())
    assert [warning.filename for warning in caught] == [__file__]
    assert [entry.matcher for entry in loaded.entries] == ["a"]


def test_a_mistake_in_a_present_spec_does_not_exclude_an_entry() -> None:
    text = tuninglink.upgrade(
        spec(matcher("a"), matcher("b"), pairs="@a -> @apply, @b -> @apply")
    ).text
    text = text.replace("transform.param.constant", "transform.param.konstant", 1)
    with pytest.raises(SpecError) as failure:
        tuninglink.load_spec(text.encode())
    assert "konstant" in failure.value.diagnostics[0].message


TODAY = sorted(
    {*(ROOT / "examples").glob("spec_*.mlir"), *(ROOT / "specs" / "default").glob("*.mlir")}
)


@pytest.mark.parametrize("path", TODAY, ids=lambda path: path.name)
def test_specs_of_today_come_back_byte_for_byte(path: Path) -> None:
    text = path.read_text()
    result = tuninglink.upgrade(text, str(path))
    assert result.text == text
    assert not (*result.changes, *result.kept_out)


@pytest.mark.parametrize(
    ("name", "upgraded_entries", "kept_out"),
    [
        ("cases/docs_example_2024", 1, 0),
        ("corpus/boo_2025_05", 15, 0),
        ("corpus/boo_2025_06", 51, 0),
        ("corpus/sdxl_int8", 16, 2),
        ("corpus/iree_default_gfx942", 0, 0),
        ("corpus/punet_mi300", 0, 0),
    ],
)
def test_published_specs(name: str, upgraded_entries: int, kept_out: int) -> None:
    path = SHARED / f"{name}.mlir"
    if not path.exists():
        pytest.skip(f"needs {path}, which is not there")
    result = upgraded(path.read_text())
    states = [entry.state for entry in result.entries]
    assert states.count("upgraded") == upgraded_entries
    assert states.count("kept out") == kept_out
    assert upgraded_entries or result.text == path.read_text()
