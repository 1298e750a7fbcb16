"""Scripts for a device without Python, run here: they compile, run and compare with stock tools in a POSIX shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from contraction_programs import ROWS
from device_benchmarks import compile_program
from elementwise_specs import PROGRAM, spec
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from places import ROOT, TOOLS
from programs import EXAMPLES, HOST_CPU, TARGETS

from tuninglink.devices import BoardScript
from tuninglink.errors import TuninglinkError
from tuninglink.programs import CallOptions, GivenInput

if TYPE_CHECKING:
    from pathlib import Path

SHELL = shutil.which("dash") or "sh"
INPUTS = ROOT / "test" / "cli" / "Inputs"

EVERY_TYPE = """
func.func @first(%a: tensor<3xbf16>, %b: tensor<2x2xi1>, %c: tensor<f32>, %d: f32, %e: i32)
    -> (tensor<3xbf16>, tensor<2x2xi1>, f32, tensor<f32>, tensor<?xf16>) {
  %sum = arith.addf %a, %a : tensor<3xbf16>
  %true = arith.constant dense<true> : tensor<2x2xi1>
  %flipped = arith.xori %b, %true : tensor<2x2xi1>
  %twice = arith.addf %c, %c : tensor<f32>
  %size = arith.index_cast %e : i32 to index
  %one = arith.constant 1.0 : f16
  %empty = tensor.empty(%size) : tensor<?xf16>
  %ones = linalg.fill ins(%one : f16) outs(%empty : tensor<?xf16>) -> tensor<?xf16>
  return %sum, %flipped, %d, %twice, %ones : tensor<3xbf16>, tensor<2x2xi1>, f32, tensor<f32>, tensor<?xf16>
}
func.func @second(%a: tensor<4xi32>) -> tensor<4xi32> {
  %sum = arith.addi %a, %a : tensor<4xi32>
  return %sum : tensor<4xi32>
}
"""

NUMBER = """
func.func @number(%x: f32) -> f32 {
  %sum = arith.addf %x, %x : f32
  return %sum : f32
}
"""


@dataclass(frozen=True)
class Board:
    """A folder with a script, which has a name that a shell must not split."""

    folder: Path
    name: str = "tuned.sh"

    def write(
        self, program: str, tuned: str = "", flags: tuple[str, ...] = HOST_CPU, *inputs: str
    ) -> list[str]:
        (self.folder / "a\nmodel.mlir").write_text(program)
        if tuned:
            (self.folder / "tuned.mlir").write_text(tuned)
        script = BoardScript(
            path=self.folder / self.name,
            program=self.folder / "a\nmodel.mlir",
            spec=str(self.folder / "tuned.mlir") if tuned else "",
            flags=flags,
            tuned_flags=("--iree-opt-level=O1",),
            device="local-sync",
            calls=CallOptions((), tuple(map(GivenInput.parse, inputs)), ()),
        )
        return script.write()

    def run(self, *words: str, repetitions: str = "2") -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}",
            "REPETITIONS": repetitions,
            "MIN_TIME": "2x",
        }
        command = [SHELL, str(self.folder / self.name), *words]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    def code(self, name: str) -> bytes:
        return (self.folder / "tuned.run" / f"{name}.vmfb").read_bytes()


@pytest.fixture
def board(tmp_path: Path) -> Board:
    folder = tmp_path / "it's a board"
    folder.mkdir()
    return Board(folder)


@pytest.mark.parametrize("repetitions", ["x", "0", "-1", "1.5", "3 4"])
def test_repetitions_are_a_number_from_1(board: Board, repetitions: str) -> None:
    board.write(NUMBER, "", HOST_CPU, "1.0")
    result = board.run("run", repetitions=repetitions)
    message = f"error: REPETITIONS is '{repetitions}': expected a number from 1\n"
    assert (result.returncode, result.stdout, result.stderr) == (2, "", message)


def test_a_script_compares_outputs_and_times(board: Board) -> None:
    program = (EXAMPLES / "model_mlp.mlir").read_text()
    assert board.write(program, (EXAMPLES / "spec_mlp_cpu.mlir").read_text()) == []
    result = board.run()
    assert result.returncode == 0, result.stderr
    first, second = result.stdout.splitlines()
    assert first == "model: the outputs agree (tolerance 0.01)"
    number = r"[0-9.e-]+"
    assert re.fullmatch(
        rf"model: default {number} ms, tuned {number} ms: speedup {number} \(medians of 2, interleaved\)",
        second,
    )
    # The spec and the flags took effect.
    assert board.code("default") != board.code("tuned")
    text = (board.folder / "tuned.sh").read_text()
    assert text.count("--iree-opt-level=O1") == 1
    assert subprocess.run(["sh", "-n", str(board.folder / "tuned.sh")], check=False).returncode == 0


def test_the_name_of_a_script_is_no_command(board: Board) -> None:
    strange = Board(board.folder, "a\nexit 7 #.sh")
    assert strange.write(NUMBER) == []
    assert strange.run("sideways").returncode == 2


def test_both_halves_of_a_script_run_in_different_places(board: Board, tmp_path: Path) -> None:
    assert board.write(EVERY_TYPE) == []
    compiled = board.run("compile")
    assert compiled.returncode == 0, compiled.stderr
    # On the device there is neither the program nor the compiler.
    there = Board(tmp_path / "device")
    there.folder.mkdir()
    shutil.copy(board.folder / "tuned.sh", there.folder)
    shutil.copytree(board.folder / "tuned.run", there.folder / "tuned.run")
    shutil.rmtree(board.folder)
    result = there.run("run")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert [line for line in lines if "outputs" in line] == [
        "first: the outputs agree (tolerance 0.01)",
        "second: the outputs agree (tolerance 0.01)",
    ]
    assert len(lines) == 4
    assert there.run("sideways").returncode == 2


def test_other_outputs_are_found(board: Board) -> None:
    program = PROGRAM + NUMBER
    board.write(program, "", TARGETS["vmvx"], "add:16xf32=1", "add:16xf32=2")
    assert board.run("compile").returncode == 0
    wrong = compile_program(program.replace("arith.addf", "arith.mulf"), *TARGETS["vmvx"])
    (board.folder / "tuned.run" / "tuned.vmfb").write_bytes(wrong)
    result = board.run("run")
    assert result.returncode == 1
    assert "add: the outputs DIFFER (tolerance 0.01): see " in result.stdout
    assert "number: the outputs DIFFER" in result.stdout
    assert result.stdout.count("speedup") == 2
    comparison = (board.folder / "tuned.run" / "add.comparison").read_text()
    assert "element at index 0 (2) does not match the expected (3)" in comparison


def test_a_spec_that_the_command_of_the_compiler_ignores_is_carried_by_the_program(
    board: Board,
) -> None:
    board.write(PROGRAM, spec("vmvx", "mine"), TARGETS["vmvx"])
    text = (board.folder / "tuned.sh").read_text()
    assert "--iree-codegen-tuning-spec-path" not in text
    assert "--compile-from=executable-sources" in text
    result = board.run()
    assert result.returncode == 0, result.stderr
    assert "the outputs agree" in result.stdout
    assert board.code("default") != board.code("tuned")


def test_a_model_of_onnx_is_imported(board: Board) -> None:
    tensors = [make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    graph = make_graph([make_node("Relu", ["x"], ["y"])], "relu", tensors[:1], tensors[1:])
    model = make_model(graph, opset_imports=[make_opsetid("", 17)], ir_version=8)
    onnx.save(model, board.folder / "model.onnx")
    script = BoardScript(
        path=board.folder / "tuned.sh",
        program=board.folder / "model.onnx",
        spec="",
        flags=HOST_CPU,
        tuned_flags=(),
        device="local-sync",
        calls=CallOptions(),
    )
    assert script.write() == []
    # iree-compile does not read the model.
    (board.folder / "model.onnx").unlink()
    result = board.run()
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("relu: the outputs agree")


def test_replace_entries_are_a_preprocessing_spec(board: Board) -> None:
    board.write(ROWS, (INPUTS / "replace-rows.mlir").read_text().replace('"znver4"', '"host"'))
    text = (board.folder / "tuned.sh").read_text()
    assert "--iree-preprocessing-transform-spec-filename" in text
    result = board.run()
    assert result.returncode == 0, result.stderr
    assert "main: the outputs agree" in result.stdout
    assert board.code("default") != board.code("tuned")


def test_inputs_of_the_user_are_those_of_the_script(board: Board, tmp_path: Path) -> None:
    values = np.arange(16, dtype=np.float32)
    np.save(tmp_path / "x.npy", values)
    board.write(PROGRAM, "", HOST_CPU, f"@{tmp_path / 'x.npy'}", "16xf32=2")
    kept = np.fromfile(board.folder / "tuned.run" / "add.input0.bin", np.float32)
    assert np.array_equal(kept, values)
    dynamic = PROGRAM.replace("tensor<16xf32>", "tensor<?xf32>")
    with pytest.raises(TuninglinkError, match=r"no function can be called .* are dynamic"):
        board.write(dynamic)
