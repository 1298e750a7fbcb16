"""Programs whose code takes much stack, and the compiler's reports on them."""

from __future__ import annotations

from typing import Final

import tuninglink
from tuninglink.compiler import set_up_command_line
from tuninglink.iree import largest_frame, stack_overflow, stack_report_flag

OVERFLOWING_FLAGS: Final = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=x86-64-v3",
)
"""The flags for which `overflowing` takes that much."""


def report_frames() -> None:
    """Set up a process whose compilations report stack frames."""
    set_up_command_line("test", (stack_report_flag(),))


def overflow_of(program: str) -> str:
    """Compile a program, and return why its code overflows the stack."""
    tuninglink.compile(program.encode(), default_specs=False, flags=OVERFLOWING_FLAGS)
    return stack_overflow()


def frame_of(program: str) -> int:
    """Compile a program, and return the size of its largest stack frame."""
    flags = (*OVERFLOWING_FLAGS[:2], "--iree-llvmcpu-target-cpu=znver4")
    tuninglink.compile(program.encode(), default_specs=False, flags=flags)
    return largest_frame()


def with_function(name: str, *, configured: bool = True) -> str:
    """Return a product, of which a function is computed on vectors of 4x1024 elements."""
    configuration = """#iree_codegen.compilation_info<
  lowering_config = #iree_cpu.lowering_config<cache_reduction = [0, 0, 32], distribution = [4, 0, 0],
    vector_common_parallel = [2, 64, 0], vector_reduction = [0, 0, 8]>,
  translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>"""
    attributes = f"{{compilation_info = {configuration}}}" if configured else ""
    return f"""
func.func @main(%a: tensor<128x256xf32>, %b: tensor<256x1024xf32>) -> tensor<128x1024xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x1024xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %product = linalg.matmul {attributes}
    ins(%a, %b : tensor<128x256xf32>, tensor<256x1024xf32>)
    outs(%start : tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %result = linalg.generic {{
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%product : tensor<128x1024xf32>) outs(%empty : tensor<128x1024xf32>) {{
  ^bb0(%x: f32, %out: f32):
    %y = math.{name} %x : f32
    linalg.yield %y : f32
  }} -> tensor<128x1024xf32>
  return %result : tensor<128x1024xf32>
}}"""


def overflowing() -> str:
    """Return a program whose configuration takes 190 KiB of stack.

    Its 24 square roots are live at once, as vectors of 8 KiB.
    """
    count = 24
    roots = [
        f"%v{each} = math.sqrt %v{each - 1} : f32" if each else "%v0 = math.sqrt %sum : f32"
        for each in range(count)
    ]
    quotients = [
        f"%w{each} = arith.divf %v{each}, {f'%w{each - 1}' if each else f'%v{count - 1}'} : f32"
        for each in range(count - 1)
    ]
    body = "\n    ".join([*roots, *quotients])
    return f"""
#configuration = #iree_codegen.compilation_info<
  lowering_config = #iree_cpu.lowering_config<cache_reduction = [0, 0, 0, 32], distribution = [0, 2, 0, 0],
    vector_common_parallel = [1, 2, 64, 0], vector_reduction = [0, 0, 0, 8]>,
  translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>
func.func @main(%a: tensor<1x128x256xf32>, %b: tensor<1x256x1024xf32>, %bias: tensor<1024xf32>)
    -> tensor<1x128x1024xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x128x1024xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x128x1024xf32>) -> tensor<1x128x1024xf32>
  %product = linalg.batch_matmul {{compilation_info = #configuration}}
    ins(%a, %b : tensor<1x128x256xf32>, tensor<1x256x1024xf32>)
    outs(%start : tensor<1x128x1024xf32>) -> tensor<1x128x1024xf32>
  %result = linalg.generic {{
      indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>,
        affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%product, %bias : tensor<1x128x1024xf32>, tensor<1024xf32>) outs(%empty : tensor<1x128x1024xf32>) {{
  ^bb0(%x: f32, %y: f32, %out: f32):
    %sum = arith.addf %x, %y : f32
    {body}
    linalg.yield %w{count - 2} : f32
  }} -> tensor<1x128x1024xf32>
  return %result : tensor<1x128x1024xf32>
}}"""
