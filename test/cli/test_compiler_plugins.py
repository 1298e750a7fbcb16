"""Plug-ins of the compiler, by its flag and its environment variable, and malformed pass pipelines."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from releases import since_3_13

INPUTS = Path(__file__).parent / "Inputs"
PROGRAM = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
COMMANDS = (
    ("tuninglink", "compile", "-", "--target=host", "--compile-to=input"),
    ("tuninglink-opt", "-"),
)


def run(
    command: tuple[str, ...], *flags: str, plugins: str = ""
) -> subprocess.CompletedProcess[str]:
    tool = Path(sys.executable).parent / command[0]
    return subprocess.run(
        [tool, *command[1:], *flags],
        input=PROGRAM,
        env={**os.environ, "IREE_LOAD_PLUGINS": plugins},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to build a plug-in with")
    path = tmp_path_factory.mktemp("plugin") / "nothing.so"

    def build(headers: str) -> None:
        command = [compiler, "-shared", "-fPIC", f"-DHEADERS={headers}", "-o", path]
        subprocess.run([*command, INPUTS / "plugin.c"], check=True)

    build("0")
    refusal = run(COMMANDS[1], f"--iree-load-plugin={path}").stderr
    expected = re.search(r"this compiler has ([0-9a-f]+)", refusal)
    assert expected, refusal
    build(f"0x{expected[1]}ULL")
    return str(path)


@since_3_13
@pytest.mark.parametrize("command", COMMANDS)
def test_a_plugin_is_loaded(command: tuple[str, ...], plugin: str) -> None:
    for done in (
        run(command, f"--iree-load-plugin={plugin}"),
        run(command, "-iree-load-plugin", plugin),
        run(command, plugins=plugin),
    ):
        assert (done.returncode, done.stderr) == (0, "")
        assert "@f(" in done.stdout


@since_3_13
@pytest.mark.parametrize("command", COMMANDS)
def test_a_plugin_that_does_not_load_is_an_error(command: tuple[str, ...], tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.so")
    text = tmp_path / "text.so"
    text.write_text("no library")
    for done in (
        run(command, f"--iree-load-plugin={missing}"),
        run(command, plugins=missing),
        run(command, f"--iree-load-plugin={text}", plugins=missing),
    ):
        assert done.returncode == 1
        assert "error: could not load plugin library" in done.stderr
        assert done.stderr.count(missing) <= 2  # the path, and the reason of the loader
        assert "IREE_LOAD_PLUGINS" in done.stderr
        assert not done.stdout


@since_3_13
@pytest.mark.parametrize("command", COMMANDS)
def test_names_of_plugins_are_escaped(command: tuple[str, ...]) -> None:
    done = run(command, plugins="/\x1b[31mred\n::error::x\u2028.so")
    assert done.returncode == 1
    assert r"\1B[31mred" in done.stderr
    assert not any(line.startswith("::") for line in done.stderr.splitlines())
    assert not set("\x1b\u2028") & set(done.stderr)


@since_3_13
@pytest.mark.parametrize("command", COMMANDS)
def test_the_flag_requires_a_value(command: tuple[str, ...]) -> None:
    done = run(command, "--iree-load-plugin")
    assert done.returncode == 1
    assert "'--iree-load-plugin' requires a value" in done.stderr


@pytest.mark.parametrize(
    ("pipeline", "reason"),
    [
        ("builtin.module(nonexistent)", "'nonexistent' does not refer to a registered pass"),
        ("foo(((", "expected 'builtin.module(...)'"),
        ("builtin.module(cse", "expected 'builtin.module(...)'"),
        ("builtin.module(util.func(cse)", "unbalanced parentheses"),
        ("builtin.module(canonicalize{max-iterations=x})", "failed to add `canonicalize`"),
    ],
)
def test_a_malformed_pipeline_is_an_error(pipeline: str, reason: str) -> None:
    done = run(COMMANDS[0], f"--iree-preprocessing-pass-pipeline={pipeline}")
    assert done.returncode == 1
    assert reason in done.stderr
    assert "--iree-preprocessing-pass-pipeline" in done.stderr
    assert not done.stdout


def test_a_wellformed_pipeline_runs() -> None:
    done = run(
        COMMANDS[0][:-1],
        "--compile-to=preprocessing",
        "--iree-preprocessing-pass-pipeline=builtin.module(util.func(cse))",
    )
    assert (done.returncode, done.stderr) == (0, "")
