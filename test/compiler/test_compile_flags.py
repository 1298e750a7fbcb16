"""The flags for a target are those with which the compiler compiles for it."""

from __future__ import annotations

import pytest

from tuninglink.compiler import compile as compile_program, compile_flags
from tuninglink.iree import Target
from tuninglink.mlir import collect, names, parse_module, thread_context

PROGRAM = b"""
func.func @add(%a: tensor<4xf32>) -> tensor<4xf32> {
  %sum = arith.addf %a, %a : tensor<4xf32>
  return %sum : tensor<4xf32>
}
"""
TARGETS = ("mi300x", "gfx1201", "a100", "sm_86", "vulkan-rdna3", "znver4", "cortex-a76", "riscv64")


@pytest.mark.parametrize("name", TARGETS)
def test_flags_of_a_target_make_the_compiler_compile_for_it(name: str) -> None:
    target = Target.parse(name)
    flags = [*compile_flags(target), "--compile-to=executable-sources"]
    output = compile_program(PROGRAM, default_specs=False, flags=flags).output
    module = parse_module(output, "output.mlir", thread_context())
    (variant,) = collect(module, names.EXECUTABLE_VARIANT)
    assert Target.from_attribute(variant.attributes["target"]) == target


@pytest.mark.parametrize("name", ["riscv64", "generic-rv64"])
def test_a_risc_v_cpu_without_a_name_multiplies_floats(name: str) -> None:
    program = PROGRAM.replace(b"addf", b"mulf")
    assert compile_program(program, default_specs=False, flags=compile_flags(Target.parse(name)))


def test_products_that_the_compiler_does_not_know_are_compiled_for_as_their_architecture() -> None:
    assert compile_flags(Target.parse("h100"))[-1] == "--iree-cuda-target=sm_80"


def test_what_only_the_backend_is_known_of_is_left_to_the_compiler() -> None:
    assert compile_flags(Target.parse("vmvx")) == [
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=vmvx",
    ]
    assert compile_flags(Target.parse("cuda")) == ["--iree-hal-target-device=cuda"]
