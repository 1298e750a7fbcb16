"""Ranges that a spec carries: a dynamic op gets separate code for each, and computes the same at all sizes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from iree import runtime

import tuninglink
from tuninglink.checking import Checker
from tuninglink.errors import Severity, SpecError
from tuninglink.programs import read_program
from tuninglink.specs import link_specs, load_spec
from tuninglink.tuning.candidates import Compiled, compile_program

if TYPE_CHECKING:
    from pathlib import Path

FLAGS = [
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
]
K, N = 64, 96

PROGRAM = f"""
func.func @layer(%lhs: tensor<?x{K}xf32>, %rhs: tensor<{K}x{N}xf32>) -> tensor<?x{N}xf32> {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %lhs, %c0 : tensor<?x{K}xf32>
  %empty = tensor.empty(%rows) : tensor<?x{N}xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x{N}xf32>) -> tensor<?x{N}xf32>
  %result = linalg.matmul ins(%lhs, %rhs : tensor<?x{K}xf32>, tensor<{K}x{N}xf32>)
    outs(%init : tensor<?x{N}xf32>) -> tensor<?x{N}xf32>
  return %result : tensor<?x{N}xf32>
}}
""".encode()

RANGES = (
    "#util<int.assumption.multi_array[[<umin = 1, umax = 1>, <>, <>], "
    "[<umin = 16, umax = 9007199254740991, udiv = 16>, <>, <>]]>"
)


def matcher(name: str, condition: str, tiles: str, ranges: str = "") -> str:
    """Return a matcher of the layer with a condition on its rows."""
    attributes = f" attributes {{tuninglink.specialization_ranges = {ranges}}}" if ranges else ""
    return f"""
  transform.named_sequence @{name}(%op: !transform.any_op {{transform.readonly}})
      -> (!transform.any_op, !transform.any_param){attributes} {{
    transform.iree.match.has_no_lowering_config %op : !transform.any_op
    %batch, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f32, rhs_type = f32, output_type = f32,
      indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>,
                       affine_map<(d0, d1, d2) -> (d0, d1)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %n, [{N}] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [{K}] : !transform.param<i64>
    %out = transform.get_operand %op[2] : (!transform.any_op) -> !transform.any_value
    {condition}
    %configuration = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_cpu.lowering_config<{tiles}>,
      translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>> -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }}"""


def spec(ranges: str = RANGES) -> bytes:
    one = matcher(
        "one",
        "transform.iree.match.dim_bounds %out[0], umin = 1, umax = 1 : !transform.any_value",
        "distribution = [1, 32, 0], vector_common_parallel = [1, 32, 0], vector_reduction = [0, 0, 8]",
    )
    many = matcher(
        "many",
        "transform.iree.match.dim_is_multiple_of %out[0], 16 : !transform.any_value",
        "distribution = [16, 32, 0], vector_common_parallel = [8, 32, 0], vector_reduction = [0, 0, 8]",
    )
    any_ = matcher(
        "any",
        "",
        "distribution = [8, 32, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 4]",
        ranges,
    )
    return f"""
module @ranges attributes {{
  transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint
}} {{
  transform.named_sequence @configure(%op: !transform.any_op {{transform.readonly}},
      %configuration: !transform.any_param {{transform.readonly}}) {{
    transform.annotate %op "compilation_info" = %configuration : !transform.any_op, !transform.any_param
    transform.yield
  }}{one}{many}{any_}
  transform.named_sequence @__kernel_config(%root: !transform.any_op {{transform.consumed}})
      -> !transform.any_op attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    %done = transform.foreach_match in %root @one -> @configure, @many -> @configure, @any -> @configure
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }}
}}
""".encode()


@pytest.fixture(scope="module")
def linked() -> tuninglink.Spec:
    """Return the spec, linked behind another one."""
    first = spec("").replace(b"module @ranges", b"module @first").replace(f"[{N}]".encode(), b"[7]")
    return link_specs([load_spec(first), load_spec(spec())]).spec


@pytest.fixture(scope="module")
def compiled(linked: tuninglink.Spec) -> tuninglink.Compilation:
    return tuninglink.compile(PROGRAM, specs=[linked], default_specs=False, flags=FLAGS)


def test_each_range_gets_the_entry_for_it(compiled: tuninglink.Compilation) -> None:
    entries = [each.entry.matcher.rstrip("_0") for each in compiled.applied if each.entry]
    assert entries == ["one", "many", "any"]


@pytest.mark.parametrize("rows", [1, 2, 7, 16, 48, 65])
def test_all_sizes_compute_the_same(compiled: tuninglink.Compilation, rows: int) -> None:
    module = runtime.load_vm_flatbuffer(compiled.output, driver="local-sync")
    random = np.random.default_rng(rows)
    lhs = random.standard_normal((rows, K), dtype=np.float32)
    rhs = random.standard_normal((K, N), dtype=np.float32)
    np.testing.assert_allclose(module.layer(lhs, rhs).to_host(), lhs @ rhs, rtol=1e-4, atol=1e-4)


def test_weights_of_the_program_survive(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((K, N), dtype=np.float32)
    path = tmp_path / "program.mlir"
    constant = f"arith.constant dense_resource<weights> : tensor<{K}x{N}xf32>"
    text = PROGRAM.decode().replace(f", %rhs: tensor<{K}x{N}xf32>", "")
    path.write_text(
        text.replace("%c0 =", f"%rhs = {constant}\n  %c0 =")
        + "{-# dialect_resources: { builtin: { weights: "
        + f'"0x04000000{weights.tobytes().hex().upper()}" }} }} #-}}'
    )
    saved = read_program(str(path), FLAGS).saved
    compiled = compile_program(saved.content, spec().decode(), saved.phase)
    assert isinstance(compiled, Compiled), compiled
    module = runtime.load_vm_flatbuffer(compiled.image, driver="local-sync")
    lhs = np.random.default_rng(1).standard_normal((16, K), dtype=np.float32)
    np.testing.assert_allclose(module.layer(lhs).to_host(), lhs @ weights, rtol=1e-4, atol=1e-4)


def test_without_ranges_the_open_entry_has_the_op_to_itself() -> None:
    result = tuninglink.compile(
        PROGRAM,
        specs=[spec("")],
        default_specs=False,
        flags=[*FLAGS, "--compile-to=executable-configurations"],
    )
    assert [each.entry.matcher for each in result.applied if each.entry] == ["any"]


def test_ranges_alone_are_an_effect() -> None:
    """Their code may be faster with the compiler's configurations, which `tune` leaves as they are."""
    keeping = re.sub(rb'    transform.annotate %op "compilation_info"[^\n]*\n', b"", spec())
    flags = [*FLAGS, "--compile-to=executable-configurations"]
    result = tuninglink.compile(PROGRAM, specs=[keeping], default_specs=False, flags=flags)
    assert result.output.count(b"func.func") == 3
    assert result.diagnostics == ()


def test_ranges_of_another_form_are_an_error() -> None:
    with pytest.raises(SpecError, match="must hold a range for each loop"):
        tuninglink.compile(PROGRAM, specs=[spec('"x"')], default_specs=False, flags=FLAGS)


SHORT = RANGES.replace("<umin = 1, umax = 1>, <>, <>", "<umin = 1, umax = 1>, <>")
COUNT = "list 0 of 'tuninglink.specialization_ranges' has 2 ranges, and the operation 3 loops"


def test_a_wrong_number_of_ranges_is_refused() -> None:
    with pytest.raises(SpecError, match=COUNT) as caught:
        tuninglink.compile(PROGRAM, specs=[spec(SHORT)], default_specs=False, flags=FLAGS)
    (remedy,) = caught.value.diagnostics[0].notes
    assert remedy.message == "write a range for each loop, <> for any size"


def test_check_warns_of_a_wrong_number_of_ranges() -> None:
    (warning,) = Checker().check(spec(SHORT)).structure
    assert warning.severity is Severity.WARNING
    assert warning.message == COUNT
    assert not Checker().check(spec()).structure


def test_check_calls_ranges_of_another_form_an_error() -> None:
    (fault,) = Checker().check(spec('"x"')).structure
    assert fault.severity is Severity.ERROR
    assert "must hold a range for each loop" in fault.message


@pytest.mark.parametrize(
    "flags",
    [
        ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"),
        ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"),
    ],
)
def test_gpus_specialize_as_well(flags: tuple[str, str]) -> None:
    # With a divisor, the compiler splits the loop in two before it asks specs, and no entry for three loops matches.
    bounds = "umin = 16, none"
    content = spec(RANGES.replace(", udiv = 16", "")).decode()
    content = content.replace("dim_is_multiple_of %out[0], 16", f"dim_bounds %out[0], {bounds}")
    tiles = re.sub(
        r"#iree_cpu.lowering_config<[^>]*>",
        "#iree_gpu.lowering_config<{workgroup = [16, 32, 0], thread = [1, 4, 0], reduction = [0, 0, 8]}>",
        content,
    ).replace(
        "<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>",
        "<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64>",
    )
    result = tuninglink.compile(
        PROGRAM,
        specs=[tiles.encode()],
        default_specs=False,
        flags=[*flags, "--compile-to=executable-configurations"],
    )
    assert [each.entry.matcher for each in result.applied if each.entry] == ["one", "many", "any"]
