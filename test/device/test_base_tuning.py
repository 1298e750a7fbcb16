"""Tuning under a set of flags in a separate process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tuninglink.cli.tune_options import parse_tune_arguments
from tuninglink.cli.tuning import tune_in_process
from tuninglink.errors import TuninglinkError

if TYPE_CHECKING:
    from pathlib import Path

MATMUL = """
func.func @main(%x: tensor<8x64xf32>, %y: tensor<64x128xf32>) -> tensor<8x128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x128xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x128xf32>) -> tensor<8x128xf32>
  %result = linalg.matmul ins(%x, %y : tensor<8x64xf32>, tensor<64x128xf32>)
      outs(%filled : tensor<8x128xf32>) -> tensor<8x128xf32>
  return %result : tensor<8x128xf32>
}
"""
COMPILE = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)
SET = ("--iree-llvmcpu-vector-pproc-strategy=peel",)


def test_the_result_comes_back_with_its_report(tmp_path: Path) -> None:
    program = tmp_path / "program.mlir"
    program.write_text(MATMUL)
    limits = ("--device=local-sync", "--trials=1", "--no-model", "--no-reference")
    options = parse_tune_arguments([str(program), *limits, *COMPILE, *SET])
    tuned = tune_in_process(options, SET, "tuninglink tune")
    assert tuned is not None
    assert "module @tuned" in tuned.spec
    (dispatch,) = tuned.report.dispatches
    assert len(dispatch.history) == 1
    assert tuned.entries == (dispatch.outcome == "won")
    assert not tuned.is_interrupted


def test_an_error_comes_back_as_one(tmp_path: Path) -> None:
    program = tmp_path / "program.mlir"
    program.write_text("func.func @main(")
    options = parse_tune_arguments([str(program), "--device=local-sync", *COMPILE])
    with pytest.raises(TuninglinkError, match=r"program\.mlir"):
        tune_in_process(options, (), "tuninglink tune")
