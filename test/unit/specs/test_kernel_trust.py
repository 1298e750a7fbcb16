"""Kernels are code: specs with them from a URL, or from a project file that is found, are refused without a hash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fsspec
import pytest
from elementwise_specs import spec
from iree.compiler import ir as mlir
from kernel_specs import kernel_spec

from tuninglink.errors import SpecError
from tuninglink.iree import Target
from tuninglink.mlir import DiagnosticSink, thread_context
from tuninglink.specs import Project, SpecFiles, holds_code, read_specs
from tuninglink.specs.kernel_objects import _read_metadata
from tuninglink.specs.kernels import architecture_runs

if TYPE_CHECKING:
    from pathlib import Path

QUIET = DiagnosticSink(lambda _: None)


def load(*arguments: str) -> int:
    """Load the specs of a command line, and return their number."""
    return len(list(SpecFiles(read_specs(arguments, QUIET), upgrade=True, diagnostics=QUIET)))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with a spec that has a kernel and a project file that names it."""
    (tmp_path / "s.mlir").write_text(kernel_spec())
    (tmp_path / "tuninglink.toml").write_text('specs = ["s.mlir"]')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def found() -> Project:
    project = Project.find()
    assert project is not None
    return project


def test_a_url_with_kernels_needs_a_hash(folder: Path) -> None:
    url = "memory://kernels.mlir"
    fsspec.filesystem("memory").pipe("/kernels.mlir", (folder / "s.mlir").read_bytes())
    with pytest.raises(SpecError, match="holds kernels, and nothing proves") as failure:
        load(url)
    remedy = failure.value.diagnostics[0].notes[0].message
    assert load(remedy.removeprefix("to pin it: ")) == 1


def test_a_project_that_is_found_needs_a_hash_or_a_lock(folder: Path) -> None:
    with pytest.raises(SpecError, match=r"'s\.mlir' holds kernels") as failure:
        _ = found().arguments
    pinned = failure.value.diagnostics[0].notes[0].message.removeprefix("to pin it: ")
    (folder / "tuninglink.toml").write_text(f'specs = ["{pinned}"]')
    assert load(*found().arguments) == 1
    (folder / "tuninglink.toml").write_text('specs = ["s.mlir"]')
    found().write_lock(QUIET)
    assert load(*found().arguments) == 1
    (folder / "s.mlir").write_text(kernel_spec() + "\n")
    with pytest.raises(SpecError, match="has changed"):
        load(*found().arguments)


def test_what_the_user_names_is_trusted(folder: Path) -> None:
    assert load("s.mlir") == 1
    assert load(*Project.named(folder / "tuninglink.toml").arguments) == 1


def test_a_project_without_kernels_needs_none(folder: Path) -> None:
    (folder / "s.mlir").write_text(spec("vmvx", "mine"))
    assert load(*found().arguments) == 1


def test_a_function_that_is_linked_with_an_object_is_code() -> None:
    plain = "func.func private @f(f32)"
    for text, is_code in ((plain, False), (f"{plain} attributes {{hal.import.static}}", True)):
        assert holds_code(mlir.Module.parse(text, thread_context()).operation) is is_code


def test_an_object_for_several_gpus_is_left_to_the_binding() -> None:
    for named in ("gfx942", "gfx9-4-generic"):
        target = {"amdhsa.target": f"amdgcn-amd-amdhsa--{named}:xnack-", "amdhsa.kernels": []}
        architecture = _read_metadata(target).architecture
        assert architecture == named
        assert architecture_runs(architecture, Target.parse("gfx942"))
    assert not architecture_runs("gfx942", Target.parse("gfx90a"))
