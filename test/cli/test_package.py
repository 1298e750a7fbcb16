"""Wheel, source distribution, editable install and the CMake targets, built in copies of the source tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from places import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

SPECS = sorted(path.stem for path in (ROOT / "specs" / "default").glob("*.mlir"))
LIBRARY = "module attributes {transform.with_named_sequence} "
NOT_SOURCE = shutil.ignore_patterns(".*", "build", "dist", "__pycache__")

DESCRIBE = """
import importlib.resources, json, tuninglink, tuninglink.passes
folder = importlib.resources.files("tuninglink") / "shipped" / "default"
print(json.dumps({
    "specs": sorted(each.name for each in folder.iterdir()),
    "magic": sorted({(folder / each.name).read_bytes()[:4].hex() for each in folder.iterdir()
                     if each.name.endswith(".mlirbc")}),
    "passes": list(tuninglink.passes.PASSES),
}))
"""


def run(*command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", **variables}
    return subprocess.run(
        command, cwd=cwd, env=environment, text=True, capture_output=True, check=False
    )


def succeed(*command: str | Path, cwd: Path, **variables: str) -> str:
    done = run(*command, cwd=cwd, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def copy_source(place: Path) -> Path:
    shutil.copytree(ROOT, place, ignore=NOT_SOURCE, symlinks=True)
    return place


def make_environment(place: Path) -> tuple[Path, Path]:
    """Make an empty virtual environment; return its Python and its folder of packages."""
    venv.create(place, with_pip=False, symlinks=True)
    variables = {"base": str(place), "platbase": str(place)}
    return place / "bin" / "python", Path(sysconfig.get_path("purelib", vars=variables))


def see_dependencies(packages: Path) -> None:
    """Make a folder of packages offer the packages of this environment, except Tuninglink."""
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")


def environment_with_dependencies(place: Path) -> Path:
    python, packages = make_environment(place)
    see_dependencies(packages)
    return python


def link_requirements(requirements: Iterable[str], packages: Path) -> None:
    """Link the installed distributions that requirements name, and what these require, into a folder of packages."""
    for each in map(Requirement, requirements):
        if each.marker and not each.marker.evaluate({"extra": ""}):
            continue
        found = metadata.distribution(each.name)
        assert found.version in each.specifier
        for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(str(found.locate_file(top)))
        link_requirements(found.requires or (), packages)


def install(python: Path, *arguments: str | Path) -> None:
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--quiet")
    succeed(*pip, "--force-reinstall", *arguments, cwd=python.parent)


def check_installed(python: Path) -> list[str]:
    """Check that an installed package works, and return the files of the default specs."""
    cwd = python.parent  # not the source tree
    found = json.loads(succeed(python, "-c", DESCRIBE, cwd=cwd))
    assert set(found["magic"]) <= {b"ML\xefR".hex()}
    assert "tuninglink-link-specs" in found["passes"]
    assert "tuninglink" in succeed(python.with_name("tuninglink"), "--version", cwd=cwd).lower()
    assert "tuninglink-link-specs" in succeed(python.with_name("tuninglink-opt"), "--help", cwd=cwd)
    specs: list[str] = found["specs"]
    return specs


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the source distribution, and the wheel that was built from it."""
    place = tmp_path_factory.mktemp("distributions")
    source = copy_source(place / "source")
    succeed(sys.executable, "-m", "build", "--no-isolation", "--outdir", place, cwd=source)
    (archive,) = place.glob("*.tar.gz")
    (wheel,) = place.glob("*.whl")
    return archive, wheel


def test_wheel_holds_the_package(distributions: tuple[Path, Path]) -> None:
    _, wheel = distributions
    assert wheel.name.endswith("-py3-none-any.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"tuninglink/shipped/default/{name}.mlir" for name in SPECS} <= names
    assert {f"tuninglink/shipped/default/{name}.mlirbc" for name in SPECS} <= names
    assert {"tuninglink/py.typed", "tuninglink/passes/link_specs.py"} <= names
    assert "tuninglink/examples/mmt_2048x1280x5120.mlir" in names
    assert "tuninglink/examples/spec_mlp_cpu.mlir" in names
    assert "tuninglink/explaining/report.html" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"tuninglink"}


def test_an_index_accepts_the_distributions(distributions: tuple[Path, Path]) -> None:
    succeed(sys.executable, "-m", "twine", "check", "--strict", *distributions, cwd=ROOT)


def test_bytecode_names_no_folder_of_the_build(distributions: tuple[Path, Path]) -> None:
    archive, wheel = distributions
    with zipfile.ZipFile(wheel) as files:
        for name in SPECS:
            text = files.read(f"tuninglink/shipped/default/{name}.mlirbc")
            assert f"{name}.mlir".encode() in text
            assert str(archive.parent).encode() not in text
            assert b"/tmp" not in text


def test_source_distribution_builds_the_same_wheel_as_the_tree(
    distributions: tuple[Path, Path], tmp_path: Path
) -> None:
    archive, wheel = distributions
    with tarfile.open(archive) as files:
        names = {name.split("/", 1)[1] for name in files.getnames()}
    assert {"CMakeLists.txt", "Makefile", "LICENSE", "passes/link_specs.py"} <= names
    source = copy_source(tmp_path / "a folder elsewhere")
    build = (sys.executable, "-m", "build", "--no-isolation")
    succeed(*build, "--wheel", "--outdir", tmp_path, cwd=source)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_installed_wheel_works(distributions: tuple[Path, Path], tmp_path: Path) -> None:
    python = environment_with_dependencies(tmp_path / "venv")
    install(python, distributions[1])
    both = sorted(f"{name}{end}" for name in SPECS for end in (".mlir", ".mlirbc"))
    assert check_installed(python) == both


def test_editable_install_works_and_follows_edits(tmp_path: Path) -> None:
    # With what the project and its backend say that a build needs, and nothing else.
    source = copy_source(tmp_path / "source")
    python, packages = make_environment(tmp_path / "venv")
    project = tomllib.loads((source / "pyproject.toml").read_text())
    link_requirements([*project["build-system"]["requires"], "editables"], packages)
    install(python, "--no-build-isolation", "--editable", source)
    see_dependencies(packages)
    assert check_installed(python) == [f"{name}.mlir" for name in SPECS]
    for added in ("python/tuninglink/iree/fresh.py", "passes/fresh.py"):
        (source / added).write_text("VALUE = 42\n")
    program = (
        "import tuninglink.iree.fresh as a, tuninglink.passes.fresh as b; print(a.VALUE, b.VALUE)"
    )
    assert succeed(python, "-c", program, cwd=tmp_path) == "42 42\n"


def test_cmake_runs_the_lit_tests_without_an_installation(tmp_path: Path) -> None:
    source = copy_source(tmp_path / "source")
    python = environment_with_dependencies(tmp_path / "venv")
    tools = Path(sys.executable).parent
    variables = {"PATH": os.pathsep.join([str(tools), os.environ["PATH"]])}
    choice = (
        f"-DPython_EXECUTABLE={python}",
        "-DTUNINGLINK_LIT_ARGS=-v --filter=cli/(version|opt-help|matcher-used-twice)",
    )
    succeed("cmake", "-B", "build", *choice, cwd=source, **variables)
    shown = succeed(
        "cmake", "--build", "build", "--target", "check-tuninglink", cwd=source, **variables
    )
    assert "Passed" in shown
    assert (source / "build" / "specs" / "default" / f"{SPECS[0]}.mlirbc").exists()


@pytest.mark.parametrize(
    ("text", "diagnostic"),
    [
        ("module {}\n", "gfx0.mlir:1:1: error: "),
        (
            "module attributes {transform.with_named_sequence} {\n  oops\n}\n",
            "gfx0.mlir:2:3: error: ",
        ),
        (
            LIBRARY.replace("{", "{iree_codegen.tuning_spec_with_default_entrypoint, ") + "{}\n",
            "gfx0.mlir:1:1: error: ",
        ),
    ],
    ids=["no-spec", "no-mlir", "no-entry-point"],
)
def test_a_spec_that_does_not_verify_fails_the_build(
    tmp_path: Path, text: str, diagnostic: str
) -> None:
    source = copy_source(tmp_path / "source")
    (source / "specs" / "default" / "gfx0.mlir").write_text(text)
    tools = Path(sys.executable).parent
    variables = {"PATH": os.pathsep.join([str(tools), os.environ["PATH"]])}
    succeed(
        "cmake", "-B", "build", f"-DPython_EXECUTABLE={sys.executable}", cwd=source, **variables
    )
    done = run("cmake", "--build", "build", cwd=source, **variables)
    assert done.returncode != 0
    assert diagnostic in done.stdout + done.stderr
    assert not (source / "build" / "specs" / "default" / "gfx0.mlirbc").exists()
