"""Spaces of data-tiled products: their candidates compile, and the compiler's choice is one of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from cpu_dispatches import flags_for, registry
from iree.compiler import ir as mlir
from programs import run

from tuninglink.compiler import Phase, compiler_run, materialize_encodings
from tuninglink.iree import find_root_ops
from tuninglink.mlir import collect, names, thread_context, to_text
from tuninglink.passes.strip_configs import strip_configurations
from tuninglink.programs import Failure, read_program
from tuninglink.solver import Verdict
from tuninglink.spaces.cpu import CpuSpace
from tuninglink.spaces.model import Workload, read_configuration, read_workload
from tuninglink.tuning.candidates import CandidateCompiler, prepare
from tuninglink.tuning.deciding import WinnerVerification

if TYPE_CHECKING:
    from pathlib import Path

PRODUCTS = "#iree_cpu.pipeline<Mmt4dTilingExpert>"
RELAYOUTS = "#iree_cpu.pipeline<DataTiling>"

MATMUL = """
func.func @main(%a: tensor<96x64xf32>, %b: tensor<64x160xf32>, %bias: tensor<160xf32>, %c: tensor<160x32xf32>) -> tensor<96x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<96x160xf32>
  %e1 = tensor.empty() : tensor<96x32xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<96x160xf32>) -> tensor<96x160xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<96x32xf32>) -> tensor<96x32xf32>
  %first = linalg.matmul ins(%a, %b : tensor<96x64xf32>, tensor<64x160xf32>) outs(%f0 : tensor<96x160xf32>) -> tensor<96x160xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%first, %bias : tensor<96x160xf32>, tensor<160xf32>) outs(%e0 : tensor<96x160xf32>) {
  ^bb0(%x: f32, %y: f32, %unused: f32):
    %s = arith.addf %x, %y : f32
    %r = arith.maximumf %s, %zero : f32
    linalg.yield %r : f32
  } -> tensor<96x160xf32>
  %second = linalg.matmul ins(%sum, %c : tensor<96x160xf32>, tensor<160x32xf32>) outs(%f1 : tensor<96x32xf32>) -> tensor<96x32xf32>
  return %second : tensor<96x32xf32>
}
"""

ALONE = """
func.func @main(%a: tensor<96x64xf32>, %b: tensor<64x160xf32>) -> tensor<96x160xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<96x160xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<96x160xf32>) -> tensor<96x160xf32>
  %product = linalg.matmul ins(%a, %b : tensor<96x64xf32>, tensor<64x160xf32>) outs(%start : tensor<96x160xf32>) -> tensor<96x160xf32>
  return %product : tensor<96x160xf32>
}
"""
"""The compiler cannot fuse a bias with an `inner_tiled`."""

BATCH = """
func.func @main(%a: tensor<6x48x64xf32>, %b: tensor<6x64x80xf32>) -> tensor<6x48x80xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<6x48x80xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x48x80xf32>) -> tensor<6x48x80xf32>
  %product = linalg.batch_matmul ins(%a, %b : tensor<6x48x64xf32>, tensor<6x64x80xf32>) outs(%start : tensor<6x48x80xf32>) -> tensor<6x48x80xf32>
  return %product : tensor<6x48x80xf32>
}
"""

CASES = [
    pytest.param(ALONE, "znver4", [], names.PACK, id="pack"),
    pytest.param(BATCH.replace("48x", "41x"), "znver4", [], names.PACK, id="padded-batch"),
    pytest.param(ALONE.replace("96x", "90x"), "neoverse-v1", [], names.PACK, id="decomposed-pack"),
    pytest.param(MATMUL, "znver4", [], "linalg.mmt4d", id="mmt4d"),
    pytest.param(MATMUL, "neoverse-v1", [], "linalg.mmt4d", id="mmt4d-aarch64"),
    pytest.param(BATCH, "znver4", [], "linalg.batch_mmt4d", id="batch_mmt4d"),
    pytest.param(
        ALONE,
        "znver4",
        ["--iree-llvmcpu-enable-inner-tiled"],
        "iree_codegen.inner_tiled",
        id="inner_tiled",
    ),
]


def _compile(source: str, cpu: str, *flags: str) -> str:
    return run("iree-compile", *flags_for(cpu), "--iree-opt-data-tiling", *flags, source=source)


def _materialized(program: str, cpu: str, flags: list[str]) -> mlir.Module:
    all_flags = [*flags_for(cpu), "--iree-opt-data-tiling", *flags]
    with compiler_run(program.encode(), all_flags) as compilation:
        compilation.advance(Phase.START, Phase.EXECUTABLE_SOURCES)
        # Before that, the compiler does not read the layouts of `inner_tiled` that it writes.
        materialize_encodings(compilation.module)
        return mlir.Module.parse(to_text(compilation.module), mlir.Context())


def _products(module: mlir.Module, name: str) -> list[Workload]:
    return [
        read_workload(root, each.function, module.operation)
        for each in find_root_ops(module.operation)
        for root in each.roots
        if root.name == name
    ]


def _space(workload: Workload) -> CpuSpace:
    pipeline = RELAYOUTS if workload.root.name == names.PACK else PRODUCTS
    (space,) = registry().spaces(workload, pipeline)
    assert isinstance(space, CpuSpace)
    return space


@pytest.mark.parametrize(("program", "cpu", "flags", "name"), CASES)
def test_candidates_compile(program: str, cpu: str, flags: list[str], name: str) -> None:
    module = _materialized(program, cpu, flags)
    workloads = _products(module, name)
    assert workloads
    for seed in range(2):
        for workload in workloads:
            space = _space(workload)
            (knobs,) = space.constraints.sample(1, seed=seed)
            assert space.constraints.check(knobs).verdict is Verdict.PROVEN
            workload.root.attributes[names.COMPILATION_INFO] = space.compilation_info(knobs)
        # The compiler ends with an error where a configuration does not compile.
        text = str(module)
        _compile(
            text,
            cpu,
            *flags,
            "--compile-from=executable-sources",
            "--compile-to=executable-targets",
            "-o",
            os.devnull,
        )


@pytest.mark.parametrize(("program", "cpu", "flags", "name"), CASES)
def test_the_compilers_choice_is_a_candidate(
    program: str, cpu: str, flags: list[str], name: str
) -> None:
    module = _materialized(program, cpu, flags)
    configured = mlir.Module.parse(
        _compile(
            str(module),
            cpu,
            *flags,
            "--compile-from=executable-sources",
            "--compile-to=executable-configurations",
        ),
        mlir.Context(),
    )
    roots = [
        (root, each.function)
        for each in find_root_ops(configured.operation)
        for root in each.roots
        if root.name == name
    ]
    choices = [read_configuration(*each) for each in roots]
    strip_configurations(configured.operation)
    assert choices
    for (root, function), choice in zip(roots, choices, strict=True):
        assert choice is not None
        space = _space(read_workload(root, function, configured.operation))
        assignment = space.assignment(choice)
        assert space.constraints.check(assignment).verdict is Verdict.PROVEN
        if name != names.PACK:  # The compiler's tiles of a pack are not all powers of two.
            assert assignment in list(space.constraints.enumerate())


def test_nothing_is_left_to_materialize() -> None:
    module = _materialized(MATMUL, "znver4", [])
    assert not collect(module.operation, "iree_encoding.set_encoding", "linalg.matmul")
    before = str(module)
    materialize_encodings(module.operation)
    assert str(module) == before


PACKED = """
func.func @main(%image: tensor<1x32x33x33xf32>, %filter: tensor<32x3x3xf32>, %weights: tensor<48x32xf32>) -> tensor<48x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x32x16x16xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x32x16x16xf32>) -> tensor<1x32x16x16xf32>
  %conv = linalg.depthwise_conv_2d_nchw_chw {strides = dense<2> : vector<2xi64>}
      ins(%image, %filter : tensor<1x32x33x33xf32>, tensor<32x3x3xf32>)
      outs(%start : tensor<1x32x16x16xf32>) -> tensor<1x32x16x16xf32>
  %flat = tensor.collapse_shape %conv [[0, 1], [2, 3]] : tensor<1x32x16x16xf32> into tensor<32x256xf32>
  %e = tensor.empty() : tensor<48x256xf32>
  %s = linalg.fill ins(%zero : f32) outs(%e : tensor<48x256xf32>) -> tensor<48x256xf32>
  %r = linalg.matmul ins(%weights, %flat : tensor<48x32xf32>, tensor<32x256xf32>) outs(%s : tensor<48x256xf32>) -> tensor<48x256xf32>
  return %r : tensor<48x256xf32>
}
"""
"""The result of the convolution is packed for the product: by a `map_store`, unless a spec configures the dispatch."""


def test_a_candidate_whose_result_is_packed_is_what_a_spec_gives(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(PACKED)
    flags = [*flags_for("znver4"), "--iree-opt-data-tiling"]
    tasks = [
        prepare(task, flags, (), registry(), {}) for task in read_program(str(path), flags).tasks
    ]
    (task,) = [task for task in tasks if collect(task.dispatch.function, names.MAP_STORE)]
    with CandidateCompiler(flags, jobs=1) as compiler:
        pairs = [
            (candidate, compiler.submit(task.template, candidate, 60.0).result())
            for candidate in (*task.spaces.given, *task.spaces.sample(8, 0))
        ]
        compiled = [(x, image) for x, image in pairs if not isinstance(image, Failure)]
        assert len(compiled) > len(task.spaces.given) > 0
        for candidate, image in compiled:
            WinnerVerification(task, compiler, 60.0).finish(candidate, image)


def test_packs_with_padding_can_be_configured(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(ALONE.replace("<96x", "<37x"))
    flags = [*flags_for("znver4"), "--iree-opt-data-tiling"]
    forms = [
        prepare(task, flags, (), registry(), {}).form
        for task in read_program(str(path), flags).tasks
        if collect(mlir.Module.parse(task.source, thread_context()).operation, names.PACK)
    ]
    assert forms == ["dag", "dag"]
