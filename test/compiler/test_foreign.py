"""Configurations that are foreign to a target, checked against the compiler's diagnostics."""

from __future__ import annotations

import pytest
from elementwise_specs import PROGRAM, configuration, spec
from iree.compiler import ir as mlir

import tuninglink
from tuninglink.compiler import compile_flags, executable_target
from tuninglink.errors import CompileError
from tuninglink.iree import Target, foreign_reason, instruction_set
from tuninglink.mlir import thread_context

TARGETS = ("gfx942", "sm_80", "x86_64", "vmvx")
CONFIGURATIONS = {"hip": {"gfx942", "sm_80"}, "llvm-cpu": {"x86_64"}, "vmvx": {"vmvx"}}
"""Backends that configurations are written for, with the targets that accept these."""


def described(name: str) -> Target:
    target = Target.parse(name)
    return Target.from_attribute(executable_target(compile_flags(target), thread_context()))


@pytest.mark.parametrize("backend", CONFIGURATIONS)
@pytest.mark.parametrize("name", TARGETS)
def test_what_is_foreign_is_not_applied(backend: str, name: str) -> None:
    target = Target.parse(name)
    attribute = mlir.Attribute.parse(configuration(backend), thread_context())
    is_foreign = bool(foreign_reason(attribute, target))
    assert is_foreign == (name not in CONFIGURATIONS[backend])
    applied = tuninglink.compile(
        PROGRAM.encode(),
        specs=[spec(backend, "mine").encode()],
        default_specs=False,
        flags=[*compile_flags(target), "--compile-to=executable-configurations"],
    ).applied
    assert bool(applied) != is_foreign


@pytest.mark.parametrize("name", ["gfx942", "gfx1100", "gfx1201", "sm_80"])
def test_all_that_a_target_lists_is_its_own(name: str) -> None:
    target = described(name)
    assert target.intrinsics
    assert len(set(map(instruction_set, target.intrinsics))) == 1
    assert {instruction_set(each) == "NV" for each in target.intrinsics} == {
        target.backend == "cuda"
    }
    for each in target.intrinsics:
        assert not foreign_reason(_lowering(each), target), each


@pytest.mark.parametrize(
    ("intrinsic", "name", "expected"),
    [
        (
            "MFMA_F32_16x16x16_F16",
            "sm_80",
            "for f16·f16→f32 there is 'NV_MMA_SYNC_F32_16x8x16_F16'",
        ),
        ("MFMA_F32_16x16x16_F16", "gfx1100", "for f16·f16→f32 there is 'WMMAR3_F32_16x16x16_F16'"),
        ("MFMA_F32_16x16x32_F16", "gfx942", "for f16·f16→f32 there is 'MFMA_F32_16x16x16_F16'"),
        ("MFMA_F64_16x16x4_F64", "sm_80", "for f64·f64→f64 it has none"),
    ],
)
def test_a_foreign_intrinsic_has_a_remedy(intrinsic: str, name: str, expected: str) -> None:
    reason = foreign_reason(_lowering(intrinsic), described(name))
    assert reason == f"'{intrinsic}' is not an intrinsic of {name}; {expected}"


def test_of_a_target_that_is_only_named_the_vendor_is_known() -> None:
    attribute = _lowering("MFMA_F32_16x16x16_F16")
    assert foreign_reason(attribute, Target.parse("sm_90"))
    assert not foreign_reason(attribute, Target.parse("gfx1100"))
    assert not foreign_reason(attribute, Target("another", "another"))


@pytest.mark.parametrize(
    ("backend", "name"),
    [
        (backend, name)
        for backend in CONFIGURATIONS
        for name in TARGETS
        if name not in CONFIGURATIONS[backend]
    ],
)
def test_what_is_foreign_does_not_compile(backend: str, name: str) -> None:
    program = f"""
#configuration = {configuration(backend)}
func.func @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> {{
  %empty = tensor.empty() : tensor<16xf32>
  %sum = linalg.generic {{
      indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]}}
      ins(%a, %b : tensor<16xf32>, tensor<16xf32>) outs(%empty : tensor<16xf32>)
      attrs = {{compilation_info = #configuration}} {{
  ^bb0(%x: f32, %y: f32, %out: f32):
    %z = arith.addf %x, %y : f32
    linalg.yield %z : f32
  }} -> tensor<16xf32>
  return %sum : tensor<16xf32>
}}
"""
    flags = compile_flags(Target.parse(name))
    with pytest.raises(CompileError):
        tuninglink.compile(program.encode(), default_specs=False, flags=flags)


def _lowering(intrinsic: str) -> mlir.Attribute:
    kind = "virtual_mma_layout" if intrinsic.startswith("V") else "mma_layout"
    text = f"#iree_gpu.lowering_config<{{mma_kind = #iree_gpu.{kind}<{intrinsic}>}}>"
    return mlir.Attribute.parse(text, thread_context())
