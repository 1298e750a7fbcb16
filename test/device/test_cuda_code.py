"""The driver of CUDA compiles the modules of a program ahead, each dispatch one of its own."""

from __future__ import annotations

from device_benchmarks import compile_program
from programs import HOST_CPU

from tuninglink.compiler import Phase
from tuninglink.devices import AheadLoader, ptx_modules
from tuninglink.tuning.candidates import (
    PTX_FLAG,
    compile_program as compile_dispatches,
    prepare_worker,
)
from tuninglink.workers import Pool

PATIENCE = 60.0

CUDA = ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80")

PROGRAM = """
func.func @main(%a: tensor<64x32xf32>, %b: tensor<32x128xf32>, %c: tensor<128x16xf32>) -> tensor<64x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x128xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<64x128xf32>) -> tensor<64x128xf32>
  %p = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x128xf32>) outs(%i : tensor<64x128xf32>) -> tensor<64x128xf32>
  %f = tensor.empty() : tensor<64x16xf32>
  %j = linalg.fill ins(%zero : f32) outs(%f : tensor<64x16xf32>) -> tensor<64x16xf32>
  %q = linalg.matmul ins(%p, %c : tensor<64x128xf32>, tensor<128x16xf32>) outs(%j : tensor<64x16xf32>) -> tensor<64x16xf32>
  return %q : tensor<64x16xf32>
}"""


def entries(image: bytes) -> list[int]:
    """Return the number of kernels in each module of PTX."""
    return [text.count(b".visible .entry") for text in ptx_modules(image)]


def test_with_the_flag_each_dispatch_has_a_module_of_its_own() -> None:
    linked = compile_program(PROGRAM, *CUDA)
    apart = compile_program(PROGRAM, *CUDA, PTX_FLAG)
    assert entries(linked) == [2]
    assert entries(apart) == [1, 1]
    assert all(text.endswith(b"\n\0") for text in ptx_modules(apart))
    assert sum(map(len, ptx_modules(apart))) >= len(ptx_modules(linked)[0])
    # Code for CPUs has none.
    assert ptx_modules(compile_program(PROGRAM, *HOST_CPU)) == []


def test_workers_that_compile_whole_programs_leave_dispatches_apart_unless_the_user_links_them() -> (
    None
):
    def modules(*flags: str) -> list[int]:
        with Pool(1, prepare_worker, ((*CUDA, *flags), True)) as pool:
            job = pool.submit(compile_dispatches, PROGRAM.encode(), "", Phase.START)
            compiled = job.result(PATIENCE)
        assert not isinstance(compiled, str), compiled
        return entries(compiled.image)

    assert modules() == [1, 1]
    assert modules("--iree-hal-link-executables=true") == [2]
    assert modules("-iree-hal-link-executables=true") == [2]


def test_modules_are_compiled_once_and_can_be_awaited() -> None:
    apart = compile_program(PROGRAM, *CUDA, PTX_FLAG)
    loader = AheadLoader("local-sync", 2, timeout=PATIENCE)
    try:
        assert loader.await_program(apart, PATIENCE)  # it begins what no callback has begun yet
        begun = dict(loader.modules)
        assert begun.keys() == set(ptx_modules(apart))
        assert all(job.done() for job in begun.values())
        loader.begin_program(apart, None)
        assert loader.modules == begun
    finally:
        loader.pool.close()
