"""The functions of the package do what the commands of the same name do."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from elementwise_specs import PROGRAM
from iree.compiler import ir as mlir
from places import ROOT, TOOLS

import tuninglink
from tuninglink.errors import Diagnostic, PipelineError, TuninglinkError, UsageError
from tuninglink.mlir import DiagnosticSink
from tuninglink.passes.strip_configs import StripConfigs
from tuninglink.plain_data import to_json
from tuninglink.programs import Correctness

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = ROOT / "examples"
GFX942 = EXAMPLES / "spec_gfx942.mlir"
MATMUL = EXAMPLES / "matmul_128x768x768.mlir"


def run(*words: str | Path, tool: str = "tuninglink") -> str:
    done = subprocess.run(
        [TOOLS / tool, *words], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return done.stdout


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], {}),
        (["--target", "gfx942"], {"target": "gfx942"}),
        (
            ["--target", "gfx942", "--model", str(EXAMPLES / "mmt_2048x1280x5120.mlir")],
            {"target": "gfx942", "model": EXAMPLES / "mmt_2048x1280x5120.mlir"},
        ),
    ],
)
def test_check(words: list[str], options: dict[str, object]) -> None:
    shown = run("check", GFX942, *words, "--format", "json", "--jobs", "1")
    report = tuninglink.check(GFX942, jobs=1, **options)  # type: ignore[arg-type]
    assert json.loads(to_json(report)) == json.loads(shown)
    in_memory = tuninglink.check(tuninglink.load_spec(GFX942), jobs=1, **options)  # type: ignore[arg-type]
    assert json.loads(to_json(in_memory)) == json.loads(shown)


def test_check_reports_what_cannot_be_read_and_refuses_what_cannot_be_asked() -> None:
    report = tuninglink.check(["nowhere.mlir", MATMUL])
    assert [spec.has_errors() for spec in report.specs] == [True, True]
    with pytest.raises(UsageError, match="no target"):
        tuninglink.check(GFX942, compiles=True)
    with pytest.raises(TypeError, match="a spec is a path, or content as bytes; found 3"):
        tuninglink.check(3)


def test_link_for_this_machine() -> None:
    linked = run("link", GFX942, "--target", "host")
    assert tuninglink.link(GFX942, target="host").text() == linked


def test_a_target_stands_for_flags(tmp_path: Path) -> None:
    run("compile", MATMUL, "--target", "sm_80", "-o", tmp_path / "m.vmfb")
    output = tuninglink.compile(MATMUL, target="sm_80").output
    assert output == (tmp_path / "m.vmfb").read_bytes()
    with pytest.raises(UsageError, match="--target sm_80 conflicts"):
        tuninglink.explain(MATMUL, target="sm_80", flags="--iree-cuda-target=sm_75")


def test_verify() -> None:
    spec = EXAMPLES / "spec_llvm_cpu.mlir"
    shown = run("verify", MATMUL, "--target", "host", "--spec", spec, "--format", "json")
    verification = tuninglink.verify(MATMUL, target="host", specs=spec)
    assert json.loads(to_json(verification)) == json.loads(shown)
    assert verification.is_right
    content = tuninglink.verify(MATMUL.read_bytes(), target="host", dispatches="matmul")
    assert [entry.label for entry in content.dispatches] == [
        "matmul_dispatch_0_matmul_128x768x768_f32"
    ]
    assert content.program is None
    with pytest.raises(TuninglinkError, match="no dispatch matches 'dispatches'"):
        tuninglink.verify(MATMUL, target="host", dispatches="attention")


def product(name: str, left: str, right: str, sizes: tuple[int, int, int]) -> str:
    m, n, k = sizes
    x, w, y = f"tensor<{m}x{k}xf16>", f"tensor<{k}x{n}xf16>", f"tensor<{m}x{n}xf32>"
    return f"""
  %{name}_empty = tensor.empty() : {y}
  %{name}_filled = linalg.fill ins(%zero : f32) outs(%{name}_empty : {y}) -> {y}
  %{name} = linalg.matmul ins(%{left}, %{right} : {x}, {w}) outs(%{name}_filled : {y}) -> {y}"""


GATED = f"""
#map = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<64x64xf16>, %u: tensor<64x128xf16>, %v: tensor<64x128xf16>, %w: tensor<128x64xf16>)
    -> tensor<64x64xf32> {{
  %zero = arith.constant 0.0 : f32
{product("left", "x", "u", (64, 128, 64))}
{product("right", "x", "v", (64, 128, 64))}
  %empty = tensor.empty() : tensor<64x128xf16>
  %gated = linalg.generic {{indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}}
      ins(%left, %right : tensor<64x128xf32>, tensor<64x128xf32>) outs(%empty : tensor<64x128xf16>) {{
  ^bb0(%a: f32, %b: f32, %c: f16):
    %tanh = math.tanh %a : f32
    %product = arith.mulf %tanh, %b : f32
    %narrow = arith.truncf %product : f32 to f16
    linalg.yield %narrow : f16
  }} -> tensor<64x128xf16>
{product("result", "gated", "w", (64, 64, 128))}
  return %result : tensor<64x64xf32>
}}
"""


def test_verify_compares_a_data_tiled_program_with_the_program_without_data_tiling(
    tmp_path: Path,
) -> None:
    """Data-tiled for a processor with AVX-512, its code for a generic processor is wrong."""
    flags = "--iree-opt-data-tiling"
    (program := tmp_path / "gated.mlir").write_text(GATED)
    verification = tuninglink.verify(program, target="host", flags=flags)
    assert verification.program is not None
    assert verification.program.judgement.correctness is Correctness.RIGHT
    assert verification.is_right
    # With traces, too.
    shown = run("verify", program, "--target=host", flags, "--trace")
    assert "main_dispatch_2_matmul_64x64x128_f16xf16xf32   agrees" in shown
    assert "all compared dispatches and the outputs agree" in shown


def test_tune_takes_contents_and_targets() -> None:
    settings = tuninglink.TuningSettings(top=1, trials=1, jobs=1, runs_model=False)
    result = tuninglink.tune(PROGRAM.encode(), target="host", settings=settings)
    assert result.report.dispatches or result.report.omissions


@pytest.mark.parametrize(
    "passes",
    [
        "tuninglink-strip-configs",
        "builtin.module(tuninglink-strip-configs,canonicalize)",
        "tuninglink-strip-configs,cse",
        "func.func(cse)",
    ],
)
def test_run_passes(passes: str, tmp_path: Path) -> None:
    source = run("compile", MATMUL, "--target", "host", "--compile-to=executable-sources")
    path = tmp_path / "sources.mlir"
    path.write_text(source)
    pipeline = passes if passes.startswith("builtin.module") else f"builtin.module({passes})"
    shown = run(path, f"--pass-pipeline={pipeline}", tool="tuninglink-opt")
    assert f"{tuninglink.run_passes(path, passes)}\n" == shown
    module = mlir.Module.parse(source, mlir.Context())
    assert tuninglink.run_passes(module, [passes]) == module.operation
    assert f"{module}".strip() == shown.strip()


def test_passes_run_as_instances_and_fail_in_words() -> None:
    text = PROGRAM.encode()
    plain = str(tuninglink.run_passes(text, []))
    assert str(tuninglink.run_passes(text, [StripConfigs(), "canonicalize"])) == plain
    warnings: list[Diagnostic] = []
    spec = b"""module attributes {transform.with_named_sequence} {
      transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.readonly})
          -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
        transform.yield %arg0 : !transform.any_op
      }
    }"""
    tuninglink.run_passes(
        spec, "tuninglink-verify-specs", name="a.mlir", diagnostics=DiagnosticSink(warnings.append)
    )
    (warning,) = warnings
    assert "entry point '@__kernel_config' does nothing" in warning.message
    with pytest.raises(PipelineError, match="did you mean 'tuninglink-strip-configs'"):
        tuninglink.run_passes(text, "tuninglink-strip-confgs")
    with pytest.raises(TuninglinkError, match=r"broken\.mlir:1:1: error: "):
        tuninglink.run_passes(b"nonsense", "cse", name="broken.mlir")
    with pytest.raises(TuninglinkError, match=r"cannot read 'nowhere\.mlir'"):
        tuninglink.run_passes("nowhere.mlir", "cse")
    with pytest.raises(TuninglinkError, match="needs the target backends"):
        tuninglink.run_passes(text, "iree-hal-transformation-pipeline")
    with pytest.raises(TypeError, match="a pass is a Pass or a textual pipeline; found 3"):
        tuninglink.run_passes(text, [3])
    with pytest.raises(TypeError, match="a program is a path, content as bytes, or an operation"):
        tuninglink.run_passes(3, "cse")
