"""Models of ONNX, StableHLO and JAX are programs: they compute the framework's numbers, before and after tuning."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from framework_programs import CLOSE, CPU, run
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import tuninglink
from tuninglink.errors import CompileError
from tuninglink.scaffolding import init_spec
from tuninglink.tuning.deciding import TuningSettings

if TYPE_CHECKING:
    from pathlib import Path

STABLEHLO = """
func.func public @main(%x: tensor<16x64xf32>, %w: tensor<64x32xf32>) -> tensor<16x32xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<16x32xf32>
  %1 = stablehlo.maximum %0, %zero : tensor<16x32xf32>
  return %1 : tensor<16x32xf32>
}
"""

ONE_TRIAL = TuningSettings(top=1, trials=1, jobs=1, runs_model=False)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32)


def perceptron() -> onnx.ModelProto:
    """Return two dense layers, 64 to 128 to 32, as a model of an older version of ONNX's operators."""
    weights = {"w1": numbers(64, 128), "b1": numbers(128), "w2": numbers(128, 32)}
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "w2"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "perceptron",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [16, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [16, 32])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "perceptron.onnx"
    onnx.save(perceptron(), path)
    return path


def test_an_onnx_model_computes_the_same_before_and_after_tuning(model: Path) -> None:
    x = numbers(16, 64)
    (expected,) = ReferenceEvaluator(perceptron()).run(None, {"x": x})
    untuned = tuninglink.compile(model, flags=CPU)
    np.testing.assert_allclose(run(untuned.output, [x], "perceptron"), expected, **CLOSE)
    tuned = tuninglink.tune(model, flags=CPU, settings=replace(ONE_TRIAL, patterns=("dispatch_1",)))
    assert tuned.report.dispatches
    start = init_spec(model, flags=CPU, top=1)
    for text in (tuned.spec, start.text):
        spec = tuninglink.load_spec(text.encode())
        result = tuninglink.compile(model, specs=[spec], flags=CPU)
        np.testing.assert_allclose(run(result.output, [x], "perceptron"), expected, **CLOSE)
    assert result.applied  # by the spec of init, whatever the tuner found


def test_weights_beside_an_onnx_model_are_found(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    stored = {"save_as_external_data": True, "location": "weights", "size_threshold": 0}
    onnx.save(perceptron(), path, **stored)
    assert (tmp_path / "weights").exists()
    x = numbers(16, 64)
    (expected,) = ReferenceEvaluator(perceptron()).run(None, {"x": x})
    output = tuninglink.compile(path, flags=CPU).output
    np.testing.assert_allclose(run(output, [x], "perceptron"), expected, **CLOSE)


def test_an_onnx_model_that_cannot_be_imported_is_refused_in_short(tmp_path: Path) -> None:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "xy")
    node = helper.make_node("O" + "p" * 900, ["x"], ["y"])
    model = helper.make_model(helper.make_graph([node], "graph", [x], [y]))
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    with pytest.raises(CompileError) as refused:
        tuninglink.compile(path, flags=CPU)
    (failure,) = refused.value.diagnostics
    assert failure.message.startswith(f"cannot import '{path}': ")
    assert len(failure.message) <= len(f"cannot import '{path}': ") + 204
    assert failure.notes


def test_a_damaged_onnx_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"module {}\0")
    with pytest.raises(CompileError, match=rf"cannot import '{path}'"):
        tuninglink.compile(path, flags=CPU)


def test_without_the_package_the_extra_is_named(model: Path) -> None:
    command = (
        "import sys; sys.modules['onnx'] = None\n"  # as if it were not installed
        "from tuninglink.cli.main import main\n"
        f"sys.argv = ['tuninglink', 'compile', {str(model)!r}, *{CPU!r}]\n"
        "sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"error: importing '{model}' needs the package 'onnx'" in done.stderr
    assert "note: install the extra: pip install 'tuninglink[onnx]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("input_type", ["auto", "stablehlo"])
def test_stablehlo_computes_the_same(input_type: str) -> None:
    x, w = numbers(16, 64), numbers(64, 32)
    flags = (*CPU, f"--iree-input-type={input_type}")
    output = tuninglink.compile(STABLEHLO.encode(), flags=flags).output
    np.testing.assert_allclose(run(output, [x, w]), np.maximum(x @ w, 0), **CLOSE)


def test_functions_of_jax_compute_the_same_before_and_after_tuning(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax", reason="the extra 'jax' is not installed")
    function = jax.jit(lambda x, w: jax.nn.relu(x @ w))
    arguments = [numbers(16, 64), numbers(64, 32)]
    expected = np.asarray(function(*arguments))
    text, bytecode = tmp_path / "text.mlir", tmp_path / "bytecode.mlirbc"
    text.write_text(function.lower(*arguments).as_text())
    bytecode.write_bytes(jax.export.export(function)(*arguments).mlir_module_serialized)
    for path in (text, bytecode):
        spec = tuninglink.load_spec(init_spec(path, flags=CPU).text.encode())
        for specs in ([], [spec]):
            result = tuninglink.compile(path, specs=specs, flags=CPU)
            np.testing.assert_allclose(run(result.output, arguments), expected, **CLOSE)
            assert len(result.applied) == len(specs)
    tuned = tuninglink.tune(bytecode, flags=CPU, settings=ONE_TRIAL)
    spec = tuninglink.load_spec(tuned.spec.encode())
    result = tuninglink.compile(text, specs=[spec], flags=CPU)
    np.testing.assert_allclose(run(result.output, arguments), expected, **CLOSE)
