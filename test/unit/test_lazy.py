"""Imports that wait until a name of a module is used."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tuninglink.lazy import load_on_use

if TYPE_CHECKING:
    from pathlib import Path


def test_a_module_is_loaded_once_when_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow.py").write_text("import loads\nloads.append(0)\nVALUE = object()\n")
    loads: list[int] = []
    monkeypatch.setitem(sys.modules, "loads", loads)  # type: ignore[arg-type] # anything will do
    monkeypatch.setitem(sys.modules, "slow", None)  # type: ignore[arg-type] # forgotten afterwards
    monkeypatch.delitem(sys.modules, "slow")
    monkeypatch.syspath_prepend(tmp_path)
    load_on_use("slow")
    import slow  # noqa: PLC0415

    assert not loads
    with ThreadPoolExecutor(4) as threads:
        values = set(threads.map(lambda _: slow.VALUE, range(8)))
    assert values == {sys.modules["slow"].VALUE}
    assert loads == [0]


def test_a_module_that_is_loaded_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json", sys.modules["json"])
    before = sys.modules["json"]
    load_on_use("json")
    assert sys.modules["json"] is before


def modules_after_importing(module: str) -> set[str]:
    script = f"import sys, tuninglink.{module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["cli.main", "cli.opt", "workers.worker"])
def test_the_start_of_a_process_precedes_the_compiler(module: str) -> None:
    """An interrupt while the compiler is loaded ends well, and NumPy is loaded only where it is used."""
    assert {"iree.compiler", "numpy", "z3"}.isdisjoint(modules_after_importing(module))


@pytest.mark.parametrize("command", ["link", "check", "compile", "explain"])
def test_a_command_loads_neither_plug_ins_nor_readers_of_old_specs_at_its_start(
    command: str,
) -> None:
    late = {"importlib.metadata", "tomllib", "http", "tuninglink.upgrading.upgrader"}
    assert late.isdisjoint(modules_after_importing(f"cli.{command}"))


@pytest.mark.parametrize("command", ["link", "check", "compile", "explain", "tune"])
def test_a_command_loads_z3_only_where_it_is_used(command: str) -> None:
    script = (
        "import sys; from tuninglink.lazy import load_on_use; load_on_use('z3'); "
        f"import tuninglink.cli.{command}; print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "z3.z3" not in done.stdout.split()


def test_explain_needs_no_extra() -> None:
    extras = {"ml_dtypes", "sklearn", "iree.runtime", "distributed", "fsspec"}
    assert extras.isdisjoint(modules_after_importing("cli.explain"))


def test_a_package_that_is_not_installed_is_an_error_of_one_line() -> None:
    script = (
        "import sys; sys.modules['ml_dtypes'] = None; sys.argv[1:] = ['tune', 'x.mlir']; "
        "from tuninglink.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: the Python package 'ml_dtypes' is not installed",
        "note: 'tuninglink doctor' lists the extras and their packages",
    ]


def test_a_check_loads_neither_a_compilation_nor_the_builders_of_named_ops() -> None:
    late = {"tuninglink.compiler.compilation", "iree.compiler.dialects.linalg"}
    assert late.isdisjoint(modules_after_importing("checking.checker"))


def test_ops_of_linalg_have_their_classes_without_the_builders() -> None:
    """Building the named ops takes 90 ms, and who imports the dialect has all of it."""
    script = """
import sys
from iree.compiler import ir
from tuninglink.mlir import body, thread_context
text = '''func.func @f(%number: f32, %out: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.fill ins(%number : f32) outs(%out : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}'''
module = ir.Module.parse(text, thread_context())
fill = module.body.operations[0].regions[0].blocks[0].operations[0]
assert "iree.compiler.dialects.linalg" not in sys.modules
from iree.compiler.dialects import linalg
assert isinstance(fill, linalg.FillOp) and linalg.matmul
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
