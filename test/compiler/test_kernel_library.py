"""The library of kernels: what it replaces, and that the command of `benchmarks` makes it again."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from iree.compiler import ir as mlir
from places import ROOT

import tuninglink
from tuninglink.checking import Checker
from tuninglink.kernels import TritonProvider, repeated_program
from tuninglink.mlir import DiagnosticSink, collect, thread_context
from tuninglink.specs import library_files, load_spec, read_specs

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.kernels import Candidate, KernelProblem
    from tuninglink.specs import Spec

NAME = "library:kernels-sm90a"
FILES = library_files(NAME.partition(":")[2])
COMMAND = runpy.run_path(str(ROOT / "benchmarks" / "kernel_library.py"))


@pytest.fixture(scope="module")
def library() -> list[Spec]:
    return [load_spec(file.content, name=file.name) for file in FILES]


@pytest.fixture(scope="module")
def choices(library: list[Spec]) -> dict[KernelProblem, Candidate]:
    choices: dict[KernelProblem, Candidate] = COMMAND["choices"](library)
    return choices


def contents(library: list[Spec]) -> set[tuple[str, bytes]]:
    """Return the PTX of kernels with their names, which those of products with other ops after them may share."""
    text = "".join(spec.text() for spec in library)
    objects = re.findall(r'path = "(\w+)\.ptx", data = ("[^"]*")', text)
    context = thread_context()
    return {
        (name, mlir.StringAttr(mlir.Attribute.parse(data, context)).value_bytes)
        for name, data in objects
    }


def program(problems: list[KernelProblem]) -> bytes:
    """Return a program that computes each problem once, in a function of its own."""
    module = mlir.Module.create(mlir.Location.unknown(thread_context())).operation
    block = module.regions[0].blocks[0]
    for number, problem in enumerate(problems):
        parsed = mlir.Module.parse(repeated_program(problem, 1), thread_context()).operation
        (function,) = collect(parsed, "func.func")
        function.attributes["sym_name"] = mlir.StringAttr.get(f"f{number}", thread_context())
        block.append(function.clone().operation)
    return str(module).encode()


def test_each_entry_is_sound_and_each_problem_is_replaced(
    library: list[Spec], choices: dict[KernelProblem, Candidate]
) -> None:
    assert len(library) > 5
    for spec, file in zip(library, FILES, strict=True):
        assert not Checker().check(file.content, file.name).structure
        assert ".version" in spec.text()
        assert ".version" not in spec.outline()
    assert len(choices) >= len(contents(library)) > 20
    result = tuninglink.compile(
        program([*choices]),
        specs=[NAME],
        target="h200",
        default_specs=False,
        flags="--compile-to=flow",
    )
    assert len(result.replaced) == len(choices)


def test_a_program_holds_the_code_of_its_kernel(
    library: list[Spec], choices: dict[KernelProblem, Candidate]
) -> None:
    problem = min(choices, key=lambda problem: problem.work)
    source = program([problem])
    messages: list[str] = []
    sink = DiagnosticSink(lambda found: messages.append(found.message))
    result = tuninglink.compile(
        source, specs=[NAME], target="h200", default_specs=False, diagnostics=sink
    )
    assert any(code in result.output for _, code in contents(library))
    assert not messages
    # Another machine has the code of the compiler, and a line says so.
    other = tuninglink.compile(
        source,
        specs=[NAME],
        target="a100",
        default_specs=False,
        flags="--compile-to=flow",
        diagnostics=sink,
    )
    assert other.replaced == ()
    assert messages == [
        f"spec '{NAME}' replaced nothing: it is bound to sm_90, the program is for a100"
    ]


def test_the_entries_of_a_machine_are_dumped(
    choices: dict[KernelProblem, Candidate], tmp_path: Path
) -> None:
    path = tmp_path / "program.mlir"
    path.write_bytes(program([min(choices, key=lambda problem: problem.work)]))
    command = [sys.executable, "-m", "tuninglink", "dump", path, "-o", tmp_path / "specs"]
    subprocess.run([*command, "--target", "h200", "--spec", NAME], check=True)
    (file,) = (tmp_path / "specs").glob("preprocessing-*.mlir")
    assert ".target sm_90a" in file.read_text()


def test_kernels_are_applied_only_where_they_are_named() -> None:
    names = [file.name for file in read_specs(["library:auto"], DiagnosticSink(print))]
    assert "library:models-h200" in names
    assert not [name for name in names if name.startswith(NAME)]


def test_the_command_makes_the_same_code(
    library: list[Spec],
    choices: dict[KernelProblem, Candidate],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    triton = pytest.importorskip("triton", reason="the extra 'kernels' is not installed")
    if f"Triton {triton.__version__}." not in FILES[0].content.partition(b"\n")[0].decode():
        pytest.skip(f"Triton {triton.__version__} did not make the library")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    made, smallest = contents(library), sorted(choices, key=lambda problem: problem.work)
    for problem in smallest[:2]:
        kernel = TritonProvider().make(choices[problem])
        assert (kernel.name, kernel.content) in made
