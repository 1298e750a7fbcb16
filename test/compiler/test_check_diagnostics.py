"""Mistakes in specs are named with the entry, the line, the knob, and the nearest right value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from programs import EXAMPLES

from tuninglink.checking import Checker, to_sarif
from tuninglink.iree import Target

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = "match_linear_2048x1280x5120"
GPU, CPU, NVIDIA = "spec_gfx942.mlir", "spec_llvm_cpu.mlir", "spec_sm_80.mlir"
ATTENTION, CONVOLUTION = "spec_attention_gfx942.mlir", "spec_convolution_gfx942.mlir"
CHECKED = "gfx942"


@dataclass(frozen=True)
class Mistake:
    """A mistake in an example.

    Attributes:
        right: the text of the example.
        wrong: the text in its place; the finding is on the first line of it that differs.
        message: a part of what is reported.
        remedy: a part of the message or of a note: the nearest right value.
        level: how grave the finding is.
        target: the target that configurations are checked for, if any.
        example: the example.
        line: a part of the line that the finding is on; by default what comes before `=` in the wrong text.
    """

    right: str
    wrong: str
    message: str
    remedy: str
    level: str = "error"
    target: str = ""
    example: str = GPU
    line: str = ""


BASIS = "subgroup_basis = [[2, 2, 1], [0, 1, 2]]"
TILES = "workgroup = [128, 128, 0]"
STEPS = "reduction = [0, 0, 64]"
KIND = "mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>"
VECTORS = "vector_common_parallel = [8, 16, 0]"

MISTAKES = {
    # As in the specs that were tried first.
    "misspelt workgroup": Mistake(TILES, "workgrup = [128, 128, 0]", "no 'workgrup'", "'workgroup'", "warning"),
    "misspelt intrinsic": Mistake("MFMA_F32_16x16x16_F16", "MFMA_F32_16x16x17_F16", "MMAIntrinsic", "'MFMA_F32_16x16x16_F16'"),
    "intrinsic of bf16": Mistake("MFMA_F32_16x16x16_F16", "MFMA_F32_16x16x16_BF16", "multiplies bf16", "'MFMA_F32_16x16x16_F16'"),
    "two tiles": Mistake(TILES, "workgroup = [128, 128]", "2 sizes for the 3 loops", "[128, 128, 0]", "warning"),
    "two steps": Mistake(STEPS, "reduction = [0, 64]", "2 sizes for the 3 loops", "[0, 0, 64]", "warning"),
    "tile of zero": Mistake(TILES, "workgroup = [0, 128, 0]", "workgroup[0] = 0 (all 2048)", "workgroup[0]: 0 (all 2048) -> 256", target=CHECKED),
    "too many threads": Mistake("workgroup_size = [256", "workgroup_size = [2048", "2,048 threads", "1,024 at most"),
    "too many threads on a target": Mistake("workgroup_size = [256", "workgroup_size = [2048", "2,048 threads", "1,024 at most", target=CHECKED),
    "too many threads on sm_80": Mistake("workgroup_size = [128, 1", "workgroup_size = [128, 32", "4,096 threads", "1,024 at most", target="sm_80", example=NVIDIA),
    "other subgroups": Mistake(BASIS, "subgroup_basis = [[4, 4, 1], [0, 1, 2]]", "16 subgroups of 64", "[1024, 1, 1]", "warning"),
    "uneven steps": Mistake(STEPS, "reduction = [0, 0, 96]", "share reading the tile 128x96", "reduction[2]: 96 -> 64", target=CHECKED),
    "subgroups of 32": Mistake("subgroup_size = 64", "subgroup_size = 32", "64 threads, not 32", "subgroup_size = 64", "warning", CHECKED),
    "intrinsic for 64 threads": Mistake("subgroup_size = 64", "subgroup_size = 32", "takes a subgroup of 64 threads, not 32", "subgroup_size = 64"),
    "misspelt pipeline": Mistake("VectorDistribute", "VectorDistribut", "LoweringPipeline", "'VectorDistribute'"),
    "pipeline of GPUs": Mistake("DoubleTilingExpert", "TileAndFuse", "expected ::mlir", "write #iree_gpu.pipeline<TileAndFuse>", example=CPU),
    "pipeline of CPUs": Mistake("VectorDistribute", "DoubleTilingExpert", "expected ::mlir", "write #iree_cpu.pipeline<DoubleTilingExpert>"),
    "misspelt pipeline of GPUs": Mistake("DoubleTilingExpert", "TileAndFus", "expected ::mlir", "'#iree_gpu.pipeline<TileAndFuse>'", example=CPU),
    "action for a matcher": Mistake(f"@{ENTRY} -> @configure", f"@configure -> @{ENTRY}", "matcher arguments (2) for @configure", f"write @{ENTRY} -> @configure", line="foreach_match"),
    "misspelt annotation": Mistake('"compilation_info"', '"compilation_infos"', "'compilation_infos'", "'compilation_info'", "warning"),
    "sixth operand": Mistake("promote_operands = [0, 1]", "promote_operands = [0, 5]", "names operand 5", "[0, 1]"),
    "two sizes of m": Mistake("%m, [2048]", "%m, [2048, 1]", "'m' with 2 sizes", "one size", line=ENTRY),
    "undefined matcher": Mistake(f"@{ENTRY} ->", "@match_linear_2048 ->", "unresolved matcher symbol", ENTRY, line="foreach_match"),
    "tile beyond a dimension": Mistake(TILES, "workgroup = [4096, 128, 0]", "workgroup[0] = 4096", "workgroup[0]: 4096 ->", target=CHECKED),
    "misspelt lowering_config": Mistake("lowering_config = #iree_gpu", "lowering_cofig = #iree_gpu", "expected 'lowering_config'", "'lowering_config'"),
    "reduction that is distributed": Mistake("distribution = [128, 128, 0]", "distribution = [128, 128, 64]", "distribution[2] must be 0", "distribution[2]: 64 -> 0", target="znver4", example=CPU),
    "misspelt level": Mistake("vector_reduction = ", "vector_reductions = ", "'vector_reductions' is not a level", "'vector_reduction'", example=CPU),
    "misspelt option": Mistake("prefetch_num_stages = 2", "prefetch_num_stagez = 2", "prefetch_num_stagez", "'prefetch_num_stages'"),
    "no tiles": Mistake(TILES, "workgrup = [128, 128, 0]", "workgroup[0] = 0 (all 2048)", "workgroup[0]: 0 (all 2048) -> 128", target=CHECKED, line="lowering_config"),
    # The values of misspelt knobs are kept.
    "steps under another name": Mistake(STEPS, "reductoin = [0, 0, 64]", "reduction[2] = 0 (all 5120)", "reduction[2]: 0 (all 5120) -> 64", target=CHECKED, line="lowering_config"),
    "no steps": Mistake(STEPS, "reduction = [0, 64]", "reduction[2] = 0 (all 5120)", "reduction[2]: 0 (all 5120) -> 128", target=CHECKED),
    "four steps": Mistake(STEPS, "reduction = [0, 0, 64, 0]", "4 sizes for the 3 loops", "[0, 0, 64]"),
    "four steps on a target": Mistake(STEPS, "reduction = [0, 0, 64, 0]", "the operation has 3 loops", "3 loops", target=CHECKED),
    # On other targets, and for other operations.
    "intrinsic of AMD on sm_80": Mistake("NV_MMA_SYNC_F32_16x8x16_F16", "MFMA_F32_16x16x16_F16", "not an intrinsic of sm_80", "'NV_MMA_SYNC_F32_16x8x16_F16'", target="sm_80", example=NVIDIA, line="mma_kind"),
    "intrinsic of CDNA on gfx1201": Mistake(KIND, f" {KIND}", "not an intrinsic of gfx1201", "'WMMAR4_F32_16x16x16_F16'", target="gfx1201"),
    "pipeline of CPUs on gfx950": Mistake("distribution = [128, 128, 0]", "distribution = [128, 128, 0 ]", "not a pipeline of rocm", "tuninglink.targets", target="gfx950", example=CPU, line="pipeline"),
    "too much shared memory on sm_80": Mistake(STEPS, "reduction = [0, 0, 1024]", "262144 <= 166912", "reduction[2]: 1024 ->", target="sm_80", example=NVIDIA),
    "steps of m on sm_80": Mistake(STEPS, "reduction = [64, 0, 0]", "reduction[2] = 0 (all 5120)", "reduction[2]: 0 (all 5120) ->", target="sm_80", example=NVIDIA),
    "subgroups of 64 on sm_80": Mistake("subgroup_size = 32", "subgroup_size = 64", "a subgroup of sm_80 has 32 threads", "subgroup_size = 32", "warning", "sm_80", NVIDIA),
    "uneven keys": Mistake("reduction = [0, 0, 0, 0, 32]", "reduction = [0, 0, 0, 0, 48]", "share reading the tile 1x48x64", "reduction[4]: 48 -> 32", target=CHECKED, example=ATTENTION),
    "short steps of a convolution": Mistake("reduction = [0, 0, 0, 0, 1, 1, 2]", "reduction = [0, 0, 0, 0, 2]", "5 sizes for the 7 loops", "[0, 0, 0, 0, 0, 0, 2]", "warning", CHECKED, CONVOLUTION),
    "large vectors": Mistake(VECTORS, "vector_common_parallel = [128, 128, 0]", "must be smaller than 32768 bytes", "vector_common_parallel[1]: 128 -> 4", target="znver4", example=CPU),
    "steps of a parallel loop": Mistake("vector_reduction = [0, 0, 4]", "vector_reduction = [4, 0, 0]", "vector_reduction[0] must be 0", "vector_reduction[0]: 4 -> 0", target="znver4", example=CPU),
    # Others.
    "misspelt op": Mistake("transform.iree.match.dims_equal %m", "transform.iree.match.dim_equal %m", "dim_equal' is unknown", "'transform.iree.match.dims_equal'", line="dim_equal"),
    "no intrinsic": Mistake(f"      {KIND},\n", "", "needs 'mma_kind'", "such as mma_kind"),
    "no subgroups": Mistake(f"      {BASIS},\n", "", "needs 'subgroup_basis'", "[[2, 2, 1], [0, 1, 2]]"),
    "subgroup in VectorDistribute": Mistake(BASIS, "subgroup = [2, 2, 0]", "reads no 'subgroup'", "'subgroup_basis'"),
    "negative tile": Mistake(TILES, "workgroup = [-128, 128, 0]", "none may be negative", "0 leaves a loop"),
    "negative operand": Mistake("promote_operands = [0, 1]", "promote_operands = [-1, 1]", "none may be negative", "[0, 1]"),
    "basis out of range": Mistake(BASIS, "subgroup_basis = [[2, 2, 1], [0, 1, 5]]", "names more than its 3 counts", "[0, 1, 2]"),
    "basis of two loops": Mistake(BASIS, "subgroup_basis = [[2, 2, 1], [0, 1]]", "maps 2 loops", "for each loop"),
    "basis without subgroups": Mistake(BASIS, "subgroup_basis = [[0, 2, 1], [0, 1, 2]]", "must be positive", "[[1, 2, 1], [0, 1, 2]]"),
    "flat basis": Mistake(BASIS, "subgroup_basis = [2, 2, 1]", "does not read", "[[2, 2, 1], [0, 1, 2]]"),
    "intrinsic as text": Mistake(KIND, 'mma_kind = "MFMA_F32_16x16x16_F16"', "does not read", "#iree_gpu.mma_layout"),
    "tiles as text": Mistake(TILES, 'workgroup = "128x128"', "takes as missing", "with one for each loop", "warning"),
    "unknown knob": Mistake(TILES, "block = [128, 128, 0]", "no 'block'", "workgroup", "warning"),
    "intrinsic in Vectorize": Mistake("VectorDistribute", "Vectorize", "Vectorize reads no 'mma_kind'", "it reads 'workgroup'", "warning", line="mma_kind"),
    "basis in Vectorize": Mistake("VectorDistribute", "Vectorize", "Vectorize reads no 'subgroup_basis'", "it reads 'workgroup'", "warning", line="subgroup_basis"),
    "steps in Distribute": Mistake("VectorDistribute", "Distribute", "Distribute reads no 'reduction'", "also for reductions", "warning", line="reduction"),
    "options in Distribute": Mistake("VectorDistribute", "Distribute", "reads no 'gpu_pipeline_options'", "gpu_pipeline_options", "warning", line="gpu_pipeline_options"),
    # The products of an attention, and other ops that are matched as a whole.
    "misspelt product": Mistake("{pv_attrs", "{vp_attrs", "no 'vp_attrs'", "'pv_attrs'", example=ATTENTION),
    "misspelt lowering config of a product": Mistake("{pv_attrs = {lowering_config", "{pv_attrs = {lowering_confg", "no 'lowering_confg'", "'lowering_config'", example=ATTENTION, line="lowering_confg"),
    "basis of three loops": Mistake("[0, 1, 3, 4]", "[0, 1, 3]", "in 'qk_attrs', 'subgroup_basis' maps 3 loops", "for each loop", "warning", example=ATTENTION, line="subgroup_basis"),
    "intrinsic of bf16 for values": Mistake("<MFMA_F32_16x16x16_F16, col", "<MFMA_F32_16x16x16_BF16, col", "in 'pv_attrs', 'MFMA_F32_16x16x16_BF16' multiplies bf16", "'MFMA_F32_16x16x16_F16'", example=ATTENTION, line="mma_kind"),
    "eighth operand": Mistake("promote_operands = [0, 1, 2]", "promote_operands = [0, 1, 7]", "names operand 7", "such as [0, 1]", example=ATTENTION),
    "misspelt basis": Mistake("subgroup_basis =", "subgroups_basis =", "no 'subgroups_basis'", "'subgroup_basis'", "warning"),
    "subgroups of 16": Mistake("subgroup_size = 64", "subgroup_size = 16", "64 threads, not 16", "subgroup_size = 64", "error", CHECKED),
    "too much shared memory": Mistake(STEPS, "reduction = [0, 0, 512]", "shared memory must suffice", "reduction[2]: 512", target=CHECKED),
    "three sizes of k": Mistake("%k, [5120]", "%k, [5120, 1, 1]", "'k' with 3 sizes", "one size", line=ENTRY),
    "negative level": Mistake("distribution = [128,", "distribution = [-128,", "none may be negative", "0 leaves a loop", example=CPU),
    "level of two loops": Mistake(VECTORS, "vector_common_parallel = [8, 16]", "2 sizes for the 3 loops", "[8, 16, 0]", "warning", example=CPU),
    "unknown level": Mistake("vector_reduction = ", "lanes = ", "'lanes' is not a level", "vector_reduction", "warning", example=CPU),
    "tile of a reduction": Mistake(TILES, "workgroup = [128, 128, 64]", "ignored for loop 2, a reduction", "[128, 128, 0]", "warning"),
    "steps of rows": Mistake(STEPS, "reduction = [64, 0, 64]", "loop 0 is parallel", "[0, 0, 64]", "warning"),
    "tiles for steps": Mistake(TILES, "workgroup = [0, 0, 64]", "ignored for loop 2, a reduction", "'reduction' tiles reductions", "warning"),
    "threads in the lowering config": Mistake(STEPS, f"workgroup_size = [256, 1, 1], {STEPS}", "no 'workgroup_size' here", "belongs in the 'translation_info'", "warning"),
    "negative size": Mistake("%k, [5120]", "%k, [-5120]", "matches nothing", "loop 2 is -5120", line=ENTRY),
    "size of zero": Mistake("%k, [5120]", "%k, [0]", "can never match", "loop 2 is 0", "warning", line=ENTRY),
    "size of zero on a target": Mistake("%m, [2048]", "%m, [0]", "can never match", "loop 0 is 0", "warning", CHECKED, line=ENTRY),
    "misspelt type": Mistake("lhs_type = f16", "lhs_type = fp16", "expected attribute value", "did you mean 'f16'?"),
    "string among tiles": Mistake(STEPS, 'reduction = [0, 0, "64"]', 'takes as missing: "64" is not an integer', "[0, 0, 64]", "warning"),
    "truth value among tiles": Mistake(TILES, "workgroup = [128, 128, true]", "true is not an integer", "[128, 128, 0]", "warning"),
    "integer in quotes": Mistake("subgroup_size = 64", 'subgroup_size = "64"', "expected integer value", "without quotes", line="subgroup_size"),
    "operand twice": Mistake("promote_operands = [0, 1]", "promote_operands = [1, 1]", "names operand 1 twice", "[1]", "warning"),
    "basis without a count": Mistake(BASIS, "subgroup_basis = [[2, 2], [0, 1, 2]]", "more than its 2 counts", "[[2, 2, 1], [0, 1, 2]]"),
    "partial reduction with an intrinsic": Mistake(STEPS, "partial_reduction = [0, 0, 64]", "cannot lay out 'mma_kind'", "'reduction' tiles reductions"),
    "no size of subgroups": Mistake(" subgroup_size = 64", "", "no 'subgroup_size', which 'MFMA_F32_16x16x16_F16' needs", "subgroup_size = 64", "warning"),
    "no intrinsic on sm_80": Mistake("      mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>,\n", "", "needs 'mma_kind'", "NV_MMA_SYNC", target="sm_80", example=NVIDIA, line="lowering_config"),
    "subgroups of a reduction": Mistake("subgroup = [1, 2, 1, 2, 0, 0, 0]", "subgroup = [1, 2, 1, 2, 0, 0, 1]", "subgroups add to one result", "[1, 2, 1, 2, 0, 0, 0]", example=CONVOLUTION),
    "subgroups of no loop": Mistake("subgroup = [1, 2, 1, 2, 0, 0, 0]", "subgroup = [0, 0, 0, 0, 0, 0, 0]", "'subgroup' with 'mma_kind', and it tiles no loop", "such as subgroup", example=CONVOLUTION),
    "threads for subgroups": Mistake("subgroup = [1, 2, 1, 2, 0, 0, 0]", "thread = [1, 2, 1, 2, 0, 0, 0]", "needs 'subgroup' with 'mma_kind'", "such as subgroup", "warning", example=CONVOLUTION, line="lowering_config"),
    "scalable vectors": Mistake(VECTORS, "vector_common_parallel = [8, [16], 0]", "znver4 has no scalable vectors", "[8, 16, 0]", target="znver4", example=CPU),
    "scalable vectors of Neon": Mistake(VECTORS, "vector_common_parallel = [8, [16], 0]", "cortex-a76 has no scalable vectors", "[8, 16, 0]", target="cortex-a76", example=CPU),
    "scalable vectors of a generic CPU": Mistake(VECTORS, "vector_common_parallel = [8, [16], 0]", "a generic aarch64 has none", "[8, 16, 0]", "warning", target="aarch64", example=CPU),
    "tiles of GPUs": Mistake("distribution = ", "workgroup = ", "'workgroup' is not a level", "'distribution'", "warning", example=CPU),
    "steps of GPUs": Mistake("vector_reduction = ", "reduction = ", "'reduction' is not a level", "'vector_reduction'", "warning", example=CPU),
    "misspelt distribution": Mistake("distribution = ", "distributions = ", "'distributions' is not a level", "'distribution'", example=CPU),
}  # fmt: skip


def results(mistake: Mistake, path: Path) -> list[dict[str, Any]]:
    """Return the findings about an example with a mistake, as SARIF has them."""
    text = (EXAMPLES / mistake.example).read_text()
    assert text.count(mistake.right) == 1
    path.write_text(text.replace(mistake.right, mistake.wrong))
    target = Target.parse(mistake.target) if mistake.target else None
    log = to_sarif(Checker(target=target).check(path).findings())
    found: list[dict[str, Any]] = log["runs"][0]["results"]
    return found


def texts(result: dict[str, Any]) -> str:
    related = [each["message"]["text"] for each in result.get("relatedLocations", ())]
    return "\n".join([result["message"]["text"], *related])


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_at_its_line(name: str, tmp_path: Path) -> None:
    mistake, path = MISTAKES[name], tmp_path / "spec.mlir"
    found = [each for each in results(mistake, path) if mistake.message in texts(each)]
    assert found
    first = found[0]
    assert first["level"] == mistake.level
    assert mistake.remedy in texts(first)
    assert any(word in texts(first) for word in (ENTRY, "action '", "entry 'match_"))
    line = first["locations"][0]["physicalLocation"]["region"]["startLine"]
    expected = mistake.line or mistake.wrong.split("=")[0].strip()
    assert expected in path.read_text().splitlines()[line - 1]


@pytest.mark.parametrize(
    "name", ["tile of zero", "no steps", "uneven steps", "uneven keys", "large vectors"]
)
def test_a_fix_leaves_no_error(name: str, tmp_path: Path) -> None:
    mistake, path = MISTAKES[name], tmp_path / "spec.mlir"
    path.write_text(repaired(mistake, path))
    log = to_sarif(Checker(target=Target.parse(mistake.target)).check(path).findings())
    assert not [each for each in log["runs"][0]["results"] if each["level"] == "error"]


@pytest.mark.parametrize(
    "name",
    [
        *("misspelt workgroup", "misspelt annotation", "misspelt level", "misspelt basis"),
        *("misspelt product", "misspelt lowering config of a product"),
    ],
)
def test_a_misspelt_name_has_a_fix(name: str, tmp_path: Path) -> None:
    mistake, path = MISTAKES[name], tmp_path / "spec.mlir"
    assert repaired(mistake, path) == (EXAMPLES / mistake.example).read_text()


def repaired(mistake: Mistake, path: Path) -> str:
    """Return the text of a spec with a mistake after its first fix."""
    (fix,) = next(each["fixes"] for each in results(mistake, path) if "fixes" in each)
    (change,) = fix["artifactChanges"]
    lines = path.read_text().split("\n")
    for part in sorted(
        change["replacements"], key=lambda each: -each["deletedRegion"]["startColumn"]
    ):
        region = part["deletedRegion"]
        assert region["startLine"] == region["endLine"]
        line = lines[region["startLine"] - 1]
        before, after = line[: region["startColumn"] - 1], line[region["endColumn"] - 1 :]
        lines[region["startLine"] - 1] = before + part["insertedContent"]["text"] + after
    return "\n".join(lines)


def test_a_knob_is_found_in_an_alias(tmp_path: Path) -> None:
    text = (EXAMPLES / GPU).read_text()
    start = text.index("#iree_codegen.compilation_info<")
    end = text.index("> -> !transform.any_param", start) + 1
    alias = f"#config = {text[start:end]}\n".replace(
        BASIS, "subgroup_basis = [[2, 2, 1], [0, 1, 5]]"
    )
    path = tmp_path / "spec.mlir"
    path.write_text(f"{alias}{text[:start]}#config{text[end:]}")
    findings = list(Checker().check(path).findings())
    place = findings[0].place
    assert place is not None
    assert "subgroup_basis" in path.read_text().splitlines()[place.line - 1]


SUMMED = """
module attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%rows: tensor<512x4096xf16>, %start: tensor<512xf32>):
      %sums = linalg.generic {
          indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>], iterator_types = ["parallel", "reduction"]}
          ins(%rows : tensor<512x4096xf16>) outs(%start : tensor<512xf32>) {
      ^bb0(%in: f16, %sum: f32):
        %wide = arith.extf %in : f16 to f32
        %next = arith.addf %sum, %wide : f32
        linalg.yield %next : f32
      } -> tensor<512xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %config = transform.param.constant CONFIGURATION -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @apply(%op: !transform.any_op {transform.readonly}, %config: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @__kernel_config(%module: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %module @match -> @apply : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}
"""
"""A spec for the sums of rows."""


def reported(config: str, path: Path) -> list[str]:
    """Return what is reported about a configuration of the sums of rows."""
    path.write_text(SUMMED.replace("CONFIGURATION", config))
    return [str(each) for each in Checker().check(path).findings()]


@pytest.mark.parametrize(
    ("lowering", "threads", "message"),
    [
        ("lane_basis = [[1, 64], [0, 2]]", 256, "names more than its 2 counts"),
        ("workgroup = [1, 0, 0]", 256, "'workgroup' has 3 sizes for the 2 loops"),
        ("workgroup = [1, 0]", 2048, "2,048 threads"),
        ("workgroup = [1, 0]", 256, ""),
    ],
)
def test_ops_that_are_matched_as_a_whole(
    lowering: str, threads: int, message: str, tmp_path: Path
) -> None:
    lowering = f"#iree_gpu.lowering_config<{{{lowering}}}>"
    pipeline = "#iree_gpu.pipeline<VectorDistribute>"
    found = reported(configuration(lowering, pipeline, threads), tmp_path / "spec.mlir")
    assert any(message in each for each in found) if message else not found


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ("[[1, 64, 4], [1], [0, 8]]", "level 0 of 'tile_sizes' is [1, 64, 4]"),
        ("[[1], [-1], [0, 8]]", "level 1 of 'tile_sizes' is [-1], and none may be negative"),
        ("[[1], [1], [0, 8], [0, 0], [1]]", "has 5 levels, of which the pipeline reads 4"),
        ("[[1], [1], [0, 8]]", ""),
    ],
)
def test_levels_of_tile_sizes(levels: str, message: str, tmp_path: Path) -> None:
    lowering = f"#iree_codegen.lowering_config<tile_sizes = {levels}>"
    pipeline = "#iree_gpu.spirv_pipeline<BaseVectorize>"
    found = reported(configuration(lowering, pipeline, 64), tmp_path / "spec.mlir")
    assert any(message in each for each in found) if message else not found


def configuration(lowering: str, pipeline: str, threads: int) -> str:
    """Return a configuration."""
    translation = f"pipeline = {pipeline} workgroup_size = [{threads}, 1, 1] subgroup_size = 64"
    return (
        f"#iree_codegen.compilation_info<lowering_config = {lowering}, "
        f"translation_info = #iree_codegen.translation_info<{translation}>>"
    )


def test_a_workgroup_tile_of_1_for_a_reduction_is_that_of_the_compiler(tmp_path: Path) -> None:
    accepted = Mistake(TILES, "workgroup = [128, 128, 1]", "", "")
    assert results(accepted, tmp_path / "spec.mlir") == []
