"""Finding the problems of a program, and making a benchmark of each."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from compilations import compiler_tool
from iree.compiler import ir as mlir
from programs import TARGETS
from tuning_programs import REDUCTION, compiler_for, dispatched, matmul

from tuninglink.errors import CompileError, TuninglinkError
from tuninglink.iree import GivenSizes
from tuninglink.mlir import thread_context
from tuninglink.programs import Access, read_program
from tuninglink.tuning.candidates import Compiled

if TYPE_CHECKING:
    from pathlib import Path

CPU = "llvm-cpu"

TWICE = """
func.func @main(%a: tensor<4x256xf32>, %b: tensor<256x256xf32>) -> tensor<4x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x256xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x256xf32>) -> tensor<4x256xf32>
  %first = linalg.matmul ins(%a, %b : tensor<4x256xf32>, tensor<256x256xf32>) outs(%start : tensor<4x256xf32>) -> tensor<4x256xf32>
  %second = linalg.matmul ins(%first, %b : tensor<4x256xf32>, tensor<256x256xf32>) outs(%start : tensor<4x256xf32>) -> tensor<4x256xf32>
  return %second : tensor<4x256xf32>
}
"""


def test_equal_dispatches_are_one_task() -> None:
    (task,) = dispatched(TWICE, CPU).tasks
    assert task.calls == 2
    assert task.label == "main_dispatch_0_matmul_4x256x256_f32"


def test_dynamic_dispatches_are_refused_together_with_the_dimensions_to_give() -> None:
    functions = (
        f"func.func @{op}(%x: tensor<?xf32>) -> tensor<?xf32> {{\n"
        f"  %y = arith.{op} %x, %x : tensor<?xf32>\n  return %y : tensor<?xf32>\n}}"
        for op in ("addf", "mulf")
    )
    program = dispatched("\n".join(functions), CPU)
    with pytest.raises(TuninglinkError) as refused:
        program.matching_tasks(())
    (failure,) = refused.value.diagnostics
    assert [note.message for note in failure.notes] == [
        "@mulf_dispatch_0::@embedded_elf_x86_64 and 1 more: sizes are known only when the program runs",
        "give sizes for dimension 0.0 of the arguments, as in --dim 0.0=64",
    ]


def test_a_benchmark_has_as_many_weights_as_its_program() -> None:
    (task,) = dispatched(TWICE, CPU).tasks
    layout = task.layout
    assert sum(binding.byte_length for binding in layout.bindings) == 4 * (
        4 * 256 + 256 * 256 + 4 * 256
    )
    assert layout.program_sets == 2
    (on_gpu,) = dispatched(TWICE, "cuda").tasks
    assert on_gpu.layout.program_sets == 2


@pytest.mark.parametrize("backend", [CPU, "cuda"])
def test_a_dispatch_bound_by_arithmetic_repeats_on_its_weights(backend: str) -> None:
    large = TWICE.replace("<4x256", "<2048x1024").replace("256x256", "1024x1024")
    (task,) = dispatched(large, backend).tasks
    assert task.calls == 2
    assert task.layout.program_sets == 1


def test_a_problem_has_the_same_key_whatever_it_is_called() -> None:
    (task,) = dispatched(matmul(4, 256, 256), CPU).tasks
    (same,) = dispatched(matmul(4, 256, 256, name="other"), CPU).tasks
    (larger,) = dispatched(matmul(8, 256, 256), CPU).tasks
    (elsewhere,) = dispatched(matmul(4, 256, 256), "cuda").tasks
    assert task.key == same.key
    assert len({task.key, larger.key, elsewhere.key}) == 3


def test_the_bindings_lie_between_guards() -> None:
    (task,) = dispatched(matmul(4, 256, 128), CPU).tasks
    layout = task.layout
    assert [each.access for each in layout.bindings] == [Access.READ, Access.READ, Access.WRITE]
    assert [each.shape for each in layout.bindings] == [(4, 128), (128, 256), (4, 256)]
    assert {each.element_type for each in layout.bindings} == {"f32"}
    end = 0
    for each in layout.bindings:
        assert each.offset >= end + layout.guard
        assert each.offset % 256 == 0
        end = each.offset + each.byte_length
    assert layout.stride >= end + layout.guard


@pytest.mark.parametrize("target", [CPU, "cuda", "hip", "vulkan", "vmvx"])
def test_the_benchmark_takes_its_buffer(target: str) -> None:
    (task,) = dispatched(REDUCTION, target).tasks
    module = mlir.Module.parse(task.source, thread_context())
    assert module.operation.verify()
    text = str(module)
    assert f"@{task.function}(%arg0: !hal.buffer, %arg1: i32, %arg2: i32, %arg3: i32)" in text
    assert "util.initializer" not in text
    assert "hal.allocator.allocate" not in text


def test_a_model_that_takes_static_tensors_can_be_called() -> None:
    program = dispatched(matmul(4, 256, 128), CPU)
    assert program.calls is not None
    (function,) = program.calls.functions
    assert function.name == "main"
    assert [each.shape for each in function.inputs] == [(4, 128), (128, 256)]


def test_a_dumped_benchmark_is_a_program_too(tmp_path: Path) -> None:
    source = tmp_path / "matmul.mlir"
    source.write_text(matmul(4, 256, 128))
    dump = f"--iree-hal-dump-executable-benchmarks-to={tmp_path / 'benchmarks'}"
    command = [
        compiler_tool("iree-compile"),
        source,
        *TARGETS[CPU],
        dump,
        "-o",
        tmp_path / "out.vmfb",
    ]
    subprocess.run(command, check=True)
    (benchmark,) = (tmp_path / "benchmarks").iterdir()
    program = read_program(str(benchmark), TARGETS[CPU])
    (task,) = program.tasks
    assert program.calls is None
    assert "lowering_config" not in str(mlir.Module.parse(task.source, thread_context()))
    assert [each.shape for each in task.layout.bindings] == [(4, 128), (128, 256), (4, 256)]


BIAS = """
func.func @main(%a: tensor<8x32xf32>) -> tensor<8x4xf32> {
  %bias = arith.constant dense_resource<bias> : tensor<4xf32>
  %empty = tensor.empty() : tensor<8x4xf32>
  %start = linalg.broadcast ins(%bias : tensor<4xf32>) outs(%empty : tensor<8x4xf32>) dimensions = [0]
  %sums = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a : tensor<8x32xf32>) outs(%start : tensor<8x4xf32>) {
  ^bb0(%x: f32, %sum: f32):
    %next = arith.addf %x, %sum : f32
    linalg.yield %next : f32
  } -> tensor<8x4xf32>
  return %sums : tensor<8x4xf32>
}
{-# dialect_resources: { builtin: { bias: "0x040000000000803F000000400000404000008040" } } #-}
"""


def test_constants_of_dispatches_survive() -> None:
    (task,) = dispatched(BIAS, CPU).tasks
    compiled = compiler_for(TARGETS[CPU]).submit_program(task.source, "", 60).result()
    assert isinstance(compiled, Compiled)
    assert struct.pack("4f", 1, 2, 3, 4) in compiled.image


def test_the_values_of_constants_make_no_other_problem() -> None:
    (task,) = dispatched(BIAS, CPU).tasks
    (same,) = dispatched(BIAS.replace("803F", "003F").replace("bias", "another"), CPU).tasks
    assert task.key == same.key


def test_dynamic_sizes_are_named() -> None:
    source = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
    source += "  %y = arith.addf %x, %x : tensor<?xf32>\n  return %y : tensor<?xf32>\n}"
    program = dispatched(source, CPU)
    assert not program.tasks
    (omission,) = program.omissions
    assert omission.dispatches == ("@main_dispatch_0::@embedded_elf_x86_64",)
    assert omission.reason == "sizes are known only when the program runs"


DYNAMIC_MATMUL = """
func.func @main(%a: tensor<?x256xf32>, %b: tensor<256x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c0 : tensor<?x256xf32>
  %n = tensor.dim %b, %c1 : tensor<256x?xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %product = linalg.matmul ins(%a, %b : tensor<?x256xf32>, tensor<256x?xf32>)
    outs(%start : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %product : tensor<?x?xf32>
}
"""


@pytest.mark.parametrize("target", [CPU, "cuda", "hip"])
def test_a_dynamic_dispatch_has_a_function_for_all_sizes(tmp_path: Path, target: str) -> None:
    path = tmp_path / "dynamic.mlir"
    path.write_text(DYNAMIC_MATMUL)
    sizes = [GivenSizes.parse(text) for text in ("64", "0.0=1:3,8")]
    program = read_program(str(path), TARGETS[target], sizes=sizes)
    (task,) = program.tasks
    measured = {function.sizes: function for function in task.sized if function.weight}
    assert {sizes: function.weight for sizes, function in measured.items()} == {
        "*=64 0.0=1": 3,
        "*=64 0.0=8": 1,
    }
    (static,) = dispatched(matmul(8, 64, 256), target).tasks
    repeated = replace(static.layout, program_sets=1)  # as for all dynamic dispatches
    assert measured["*=64 0.0=8"].layout == repeated
    assert task.layout == measured["*=64 0.0=1"].layout
    checked = [function.loops for function in task.sized if not function.weight]
    between = [(1, 1, 256), (1, 8, 256), (2, 64, 256), (4, 64, 256)]
    assert checked == [*between, *((size, size, 256) for size in (2, 7, 63, 65, 385))]
    module = mlir.Module.parse(task.source, thread_context())
    assert module.operation.verify()
    assert all(f"@{function.name}(" in str(module) for function in task.sized)
    assert "linalg.matmul ins(%" in str(module)
    assert "tensor<?x256xf32>, tensor<256x?xf32>" in str(module)


def test_a_program_is_called_at_all_sizes(tmp_path: Path) -> None:
    path = tmp_path / "dynamic.mlir"
    path.write_text(DYNAMIC_MATMUL)
    sizes = [GivenSizes.parse(text) for text in ("64", "0.0=1:3,8")]
    calls = read_program(str(path), TARGETS[CPU], sizes=sizes).calls
    assert calls is not None
    assert [(call.label, call.weight) for call in calls.functions] == [
        ("main at *=64 0.0=1", 3),
        ("main at *=64 0.0=8", 1),
    ]
    assert [each.shape for each in calls.functions[1].inputs] == [(8, 256), (256, 64)]


def test_the_sizes_tell_problems_apart(tmp_path: Path) -> None:
    path = tmp_path / "dynamic.mlir"
    path.write_text(DYNAMIC_MATMUL)
    keys = set()
    for text in ("0.0=1,8", "0.0=1,8:2", "0.0=1,16"):
        sizes = [GivenSizes.parse("64"), GivenSizes.parse(text)]
        (task,) = read_program(str(path), TARGETS[CPU], sizes=sizes).tasks
        keys.add(task.key)
    assert len(keys) == 3


def test_sizes_of_what_is_not_dynamic_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "dynamic.mlir"
    path.write_text(DYNAMIC_MATMUL)
    with pytest.raises(
        CompileError, match=r"'--dim 0\.1=8' is about no dynamic dimension"
    ) as raised:
        read_program(str(path), TARGETS[CPU], sizes=[GivenSizes.parse("0.1=8")])
    (remedy,) = raised.value.diagnostics[0].notes
    assert remedy.message == "dynamic dimensions: 0.0, 1.1"


def test_a_program_without_dispatches_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nothing.mlir"
    path.write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    )
    with pytest.raises(CompileError, match="there is no dispatch in"):
        read_program(str(path), TARGETS[CPU])


def test_patterns_mean_names_of_dispatches_and_functions() -> None:
    program = dispatched(matmul(4, 256, 128), CPU)
    for patterns in (["matmul"], ["conv", "dispatch_0"], ["matmul_*x128"]):
        assert len(program.matching_tasks(patterns)) == 1
    with pytest.raises(TuninglinkError, match="no dispatch matches"):
        program.matching_tasks(["conv"])
