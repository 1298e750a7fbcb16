"""The public interface of `tuninglink.spaces`, by its names and by a plug-in."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from configured_programs import configured
from places import ROOT, TOOLS

import tuninglink.spaces

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAGE = ROOT / "docs" / "guides" / "constraints.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_name_is_there_and_documented() -> None:
    public = tuninglink.spaces
    assert sorted(public.__all__) == public.__all__
    assert set(public.__all__) <= set(dir(public))
    for name in public.__all__:
        value = getattr(public, name)
        if not isinstance(value, type) and not callable(value):
            continue  # a constant
        homes = ("tuninglink.iree.", "tuninglink.solver.", "tuninglink.spaces.")
        assert value.__module__.startswith(homes) or name == "Knob", name
        assert value.__doc__, name
    with pytest.raises(AttributeError, match=r"'tuninglink\.spaces' has no attribute 'Nobody'"):
        _ = public.Nobody


def test_importing_the_package_or_speaking_of_problems_does_not_import_z3() -> None:
    program = (
        "import sys\n"
        "from tuninglink.spaces import Dimension, Limits, OpKind, Problem, Provider, Role\n"
        "Problem(OpKind.CONTRACTION, (Dimension(Role.M, 64),))\n"
        "assert 'z3' not in sys.modules\n"
        "from tuninglink.spaces import ConstraintSetBuilder\n"
        "assert 'z3' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def blocks(language: str) -> list[str]:
    """Return the examples of the page in a language."""
    return [text for found, text in BLOCK.findall(PAGE.read_text()) if found == language]


def test_the_first_example_runs() -> None:
    scope: dict[str, object] = {}
    exec(blocks("python")[0], scope)
    constraints = scope["constraints"]
    assert isinstance(constraints, tuninglink.spaces.ConstraintSet)
    said = [str(each) for each in constraints.check({"tile": 48}).violations]
    assert said == ["the tile must divide the dimension (640 % 48 == 0) [tile = 48]"]


@pytest.fixture
def plug_in(tmp_path: Path) -> Path:
    """Return a folder in which the page's plug-in is installed."""
    (source,) = (each for each in blocks("python") if "HouseRules" in each)
    (entry_point,) = re.findall(r'^house-rules = "(.*)"$', blocks("toml")[0], re.MULTILINE)
    (tmp_path / "house_rules.py").write_text(source)
    information = tmp_path / "house_rules-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: house-rules\nVersion: 1.0\n"
    )
    registered = f"[tuninglink.constraints]\nhouse-rules = {entry_point}\n"
    (information / "entry_points.txt").write_text(registered)
    return tmp_path


@pytest.fixture
def verify(tmp_path: Path) -> Callable[[Path], subprocess.CompletedProcess[str]]:
    """Return a verification of the compiler's choice for a matmul, with a plug-in."""
    program = tmp_path / "configured.mlir"
    program.write_text(str(configured("large_matmul", "gfx942")))

    def run(plug_in: Path) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(filter(None, [str(plug_in), os.environ.get("PYTHONPATH")]))
        command = [
            TOOLS / "tuninglink-opt",
            program,
            "--tuninglink-verify-configs",
            "-o",
            os.devnull,
        ]
        environment = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)

    return run


def test_the_plug_in_of_the_page_says_what_the_page_says(
    plug_in: Path, verify: Callable[[Path], subprocess.CompletedProcess[str]]
) -> None:
    result = verify(plug_in)
    assert result.returncode == 1
    (said,) = re.findall(r"^error: (.*invalid in pipeline.*)$", PAGE.read_text(), re.MULTILINE)
    assert said in result.stderr
    assert "the nearest valid configuration: threads: 256 -> 128\n" in result.stderr


def test_a_plug_in_that_cannot_be_loaded_is_named(
    plug_in: Path, verify: Callable[[Path], subprocess.CompletedProcess[str]]
) -> None:
    (plug_in / "house_rules.py").write_text("raise ImportError('the simulator is missing')\n")
    result = verify(plug_in)
    assert result.returncode == 0, result.stderr
    assert (
        "warning: skipping plug-in 'house-rules' of package 'house-rules' (house_rules:HouseRules), "
        "which cannot be used: ImportError: the simulator is missing"
    ) in result.stderr
