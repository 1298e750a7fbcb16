"""Stack frames of compiled code."""

from __future__ import annotations

from typing import Final

from iree.compiler import ir as mlir
from stack_programs import frame_of, overflow_of, overflowing, report_frames, with_function
from tuning_programs import matmul, prepared, whole_samples

from tuninglink.mlir import collect
from tuninglink.solver import Grade
from tuninglink.spaces.cpu import live_values
from tuninglink.workers import Pool


def test_code_that_overflows_the_stack_of_a_worker_is_known_once_it_is_compiled() -> None:
    programs = (matmul(64, 64, 64), overflowing(), matmul(64, 64, 64))
    with Pool(1, report_frames) as pool:
        reasons = [pool.submit(overflow_of, each).result() for each in programs]
    expected = "its code takes 191 KiB of stack, and IREE's workers have 128 KiB"
    assert reasons == ["", expected, ""]


FUNCTIONS: Final = ("erf", "exp", "log", "sin", "sqrt")
VECTOR_BYTES: Final = 4 * 1024 * 4


def test_the_estimate_of_live_values_is_the_frame_of_the_compiler_rounded_up() -> None:
    with Pool(1, report_frames) as pool:
        for name in FUNCTIONS:
            frame = pool.submit(frame_of, with_function(name)).result()
            assert 0 <= estimated_values(name) - frame / VECTOR_BYTES < 1.5, name


def estimated_values(name: str) -> int:
    """Return the estimate for code that computes a function on vectors of 4x1024 elements."""
    with mlir.Context() as context, mlir.Location.unknown(context):
        module = mlir.Module.parse(with_function(name)).operation
        (operation,) = collect(module, "linalg.generic")
        return live_values(operation)


def test_no_configuration_is_proposed_whose_elementwise_code_overflows_the_stack() -> None:
    with whole_samples():
        spaces = prepared(with_function("erf", configured=False), "llvm-cpu").spaces
    (constraints,) = {
        space.constraints.pipeline: space.constraints for space in spaces.spaces
    }.values()
    tiles = {"distribution[0]": 4, "vector_common_parallel[0]": 2, "vector_common_parallel[1]": 64}
    tiles |= {"vector_reduction[2]": 8}
    inside = dict.fromkeys((knob.name for knob in constraints.knobs), 0) | tiles
    outside = inside | {"cache_reduction[2]": 32}
    assert constraints.accepts(inside)
    assert not constraints.accepts(outside)
    (violation,) = constraints.check(outside).violations
    assert violation.grade is Grade.UNSAFE
