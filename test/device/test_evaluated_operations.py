"""Operations that move, order or choose elements: NumPy's results against the compiler's code for this CPU."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from programs import PROGRAMS

from tuninglink.devices import Outputs
from tuninglink.programs import Benchmark, Correctness, read_program
from tuninglink.tuning.candidates import Compiled, compile_program
from tuninglink.tuning.references import HOST

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.devices import DeviceProcess
    from tuninglink.programs import TuningTask
    from tuninglink.tuning.references import References

PROGRAM = PROGRAMS / "moving_elements.mlir"
FUNCTIONS = re.findall(r"^func.func @(\w+)", PROGRAM.read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def tasks() -> list[TuningTask]:
    return list(read_program(str(PROGRAM), HOST.flags).tasks)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_numpy_computes_what_the_code_does(
    function: str, tasks: list[TuningTask], device: DeviceProcess, references: References
) -> None:
    own = [task for task in tasks if task.label.startswith(f"{function}_dispatch")]
    assert own
    for task in own:
        compiled = compile_program(task.source, "")
        assert isinstance(compiled, Compiled)
        outputs = device.outputs(Benchmark(compiled.image, task.function, task.layout))
        assert isinstance(outputs, Outputs), outputs
        verdict = references.judge(task, outputs)
        assert verdict.correctness is Correctness.RIGHT, verdict
        assert "as NumPy computes" in verdict.reason
        zeros = Outputs({n: np.zeros_like(data) for n, data in outputs.bindings.items()}, None)
        assert references.judge(task, zeros).correctness is Correctness.WRONG


def scaled_product(stored: str, element: str) -> str:
    """Return a program that multiplies matrices with a scale for each 32 elements, stored as given."""
    lhs, rhs = (f"tensor<{rows}x3x32x{element}>" for rows in (40, 24))
    given = [f"tensor<{rows}x3x{stored}>" for rows in (40, 24)]
    scales = [f"tensor<{rows}x3xf8E8M0FNU>" for rows in (40, 24)]
    loops = "(m, n, k, e)"
    return f"""
func.func @main(%a: {given[0]}, %b: {given[1]}, %s: {scales[0]}, %t: {scales[1]}) -> tensor<40x24xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<40x24xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<40x24xf32>) -> tensor<40x24xf32>
  %lhs = iree_tensor_ext.bitcast %a : {given[0]} -> {lhs}
  %rhs = iree_tensor_ext.bitcast %b : {given[1]} -> {rhs}
  %result = linalg.generic {{
      indexing_maps = [affine_map<{loops} -> (m, k, e)>, affine_map<{loops} -> (n, k, e)>,
                       affine_map<{loops} -> (m, k)>, affine_map<{loops} -> (n, k)>, affine_map<{loops} -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}}
    ins(%lhs, %rhs, %s, %t : {lhs}, {rhs}, {scales[0]}, {scales[1]}) outs(%start : tensor<40x24xf32>) {{
  ^bb0(%x: {element}, %y: {element}, %p: f8E8M0FNU, %q: f8E8M0FNU, %sum: f32):
    %wide_x = arith.scaling_extf %x, %p : {element}, f8E8M0FNU to f32
    %wide_y = arith.scaling_extf %y, %q : {element}, f8E8M0FNU to f32
    %product = arith.mulf %wide_x, %wide_y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }} -> tensor<40x24xf32>
  return %result : tensor<40x24xf32>
}}
"""


@pytest.mark.parametrize(
    ("stored", "element"),
    [("16xi8", "f4E2M1FN"), ("32xf8E4M3FN", "f8E4M3FN"), ("32xf8E5M2", "f8E5M2")],
)
def test_numpy_multiplies_by_the_scales_of_blocks(
    stored: str, element: str, device: DeviceProcess, references: References, tmp_path: Path
) -> None:
    path = tmp_path / "scaled.mlir"
    path.write_text(scaled_product(stored, element))
    (task,) = read_program(str(path), HOST.flags).tasks
    compiled = compile_program(task.source, "")
    assert isinstance(compiled, Compiled)
    outputs = device.outputs(Benchmark(compiled.image, task.function, task.layout))
    assert isinstance(outputs, Outputs), outputs
    (data,) = outputs.bindings.values()
    assert np.all(np.isfinite(data.view(np.float32)))
    verdict = references.judge(task, outputs)
    assert verdict.correctness is Correctness.RIGHT, verdict
    assert "as NumPy computes" in verdict.reason
    other = Outputs(
        {n: (data.view(np.float32) * -4).view(np.uint8) for n, data in outputs.bindings.items()},
        None,
    )
    assert references.judge(task, other).correctness is Correctness.WRONG


TRANSFORM = """
func.func @main(%x: tensor<4x16xf32>) -> tensor<4x9xcomplex<f32>> {
  %y = stablehlo.fft %x, type = RFFT, length = [16] : (tensor<4x16xf32>) -> tensor<4x9xcomplex<f32>>
  return %y : tensor<4x9xcomplex<f32>>
}
"""


def test_a_fourier_transform_is_left_to_the_compiled_reference(
    device: DeviceProcess, references: References, tmp_path: Path
) -> None:
    path = tmp_path / "transform.mlir"
    path.write_text(TRANSFORM)
    *_, task = (task for task in read_program(str(path), HOST.flags).tasks if "fft" in task.label)
    compiled = compile_program(task.source, "")
    assert isinstance(compiled, Compiled)
    outputs = device.outputs(Benchmark(compiled.image, task.function, task.layout))
    assert isinstance(outputs, Outputs), outputs
    verdict = references.judge(task, outputs)
    assert verdict.correctness is Correctness.RIGHT, verdict
    assert "NumPy" not in verdict.reason
