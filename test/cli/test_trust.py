"""What inputs, project files and file names may cause, as docs/background/trust.md lists it; with commands as users start them."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from places import ROOT, TOOLS

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = (ROOT / "examples" / "model_mlp.mlir").read_text()
SPEC = (ROOT / "examples" / "spec_gfx942.mlir").read_text()
CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)
EVIL = r"m\1B[31mRED\1B]0;title\07\0A::error::x"
PASS = """
module attributes { transform.with_named_sequence } {
  transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes { iree_codegen.tuning_spec_entrypoint } {
    %q = transform.apply_registered_pass "NAME" with options = { OPTIONS } to %v
        : (!transform.any_op) -> !transform.any_op
    transform.yield %q : !transform.any_op
  }
}
"""


NOTHING = """
module attributes { transform.with_named_sequence } {
  transform.named_sequence @match(%x: !transform.any_op {transform.readonly}) -> !transform.any_op {
    transform.match.operation_name %x ["linalg.matmul"] : !transform.any_op
    transform.yield %x : !transform.any_op
  }
  transform.named_sequence @action(%x: !transform.any_op {transform.readonly}) {
    transform.yield
  } loc("secret":1:1)
  transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes { iree_codegen.tuning_spec_entrypoint } {
    %q = transform.foreach_match in %v @match -> @action : (!transform.any_op) -> !transform.any_op
    transform.yield %q : !transform.any_op
  }
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with a program and a spec of two entries for CPUs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.mlir").write_text(PROGRAM)
    (tmp_path / "s.mlir").write_text(SPEC)
    return tmp_path


def run(*arguments: str, program: str = "tuninglink") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [TOOLS / program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize(
    "flag",
    [
        "--iree-llvmcpu-system-linker-path=./linker.sh",
        "--iree-hal-dump-executable-files-to=dumped",
        "--output=written",
    ],
)
def test_found_project_runs_and_writes_nothing(folder: Path, flag: str) -> None:
    linker = folder / "linker.sh"
    linker.write_text("#!/bin/sh\n: > RAN\n")
    linker.chmod(0o755)
    (folder / "tuninglink.toml").write_text(
        f'flags = ["{flag}", "--iree-llvmcpu-link-embedded=false"]'
    )
    before = sorted(folder.iterdir())
    done = run("compile", "p.mlir", *CPU)
    assert done.returncode == 1
    assert f"'{flag}' is not accepted from a project file that is not named" in done.stderr
    assert done.stdout == ""
    assert sorted(folder.iterdir()) == before


def test_commands_name_the_project_that_they_use(folder: Path) -> None:
    (folder / "tuninglink.toml").write_text(
        'specs = ["s.mlir"]\nflags = ["--iree-opt-data-tiling"]'
    )
    remark = "remark: using the project file 'tuninglink.toml'\n"
    for command in (
        ("check",),
        ("link", "-o", "out"),
        ("lock",),
        ("compile", "p.mlir", *CPU, "-o", "out"),
    ):
        for words in (command, (*command, "--project", "tuninglink.toml")):
            assert run(*words).stderr.count(remark) == 1
    assert "project file" not in run("check", "s.mlir").stderr


@pytest.mark.parametrize("name", ["-o=x", "--fix", "@x", "--project=x"])
def test_file_name_is_not_a_flag(folder: Path, name: str) -> None:
    (folder / "x").write_text("-o=y")
    (folder / name).write_text(SPEC)
    done = run("check", *sorted(file.name for file in folder.iterdir()))
    assert done.returncode == 2
    assert f"'{name}' is a file, and could be a flag" in done.stderr
    assert (folder / "x").read_text() == "-o=y"
    assert not (folder / "y").exists()
    assert run("check", "--", name).stdout.startswith(f"{name} (matcher list")
    assert f"'{name}' is a file" in run(name, program="tuninglink-opt").stderr


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("snapshot-op-locations", '"filename" = "written"'),
        ("iree-util-dump-module", '"path" = "written"'),
        ("iree-hal-preprocess-executables-with-tool", '"command" = "touch written"'),
        ("inline", '"default-pipeline" = "builtin.module(iree-util-dump-module{path=written})"'),
        ("gpu-module-to-binary", ""),
    ],
)
def test_spec_runs_no_pass_that_acts(folder: Path, name: str, options: str) -> None:
    (folder / "s.mlir").write_text(PASS.replace("NAME", name).replace("OPTIONS", options))
    for command in (
        ("check", "s.mlir"),
        ("compile", "p.mlir", "--spec", "s.mlir", *CPU, "-o", "out"),
    ):
        done = run(*command)
        assert done.returncode == 1
        assert f"error: pass '{name}' could run a program, or read or write a file" in done.stderr
        assert not (folder / "written").exists()


def test_spec_prints_no_control_characters(folder: Path) -> None:
    text = PASS.replace("NAME", "cse").replace("with options = { OPTIONS } ", "")
    printing = 'transform.print %q {name = "TITLE"} : !transform.any_op\n    transform.yield'
    text = text.replace("transform.yield", printing)
    (folder / "s.mlir").write_text(text.replace("TITLE", "plain"))
    assert run("link", "s.mlir", "-o", "out").returncode == 0
    (folder / "s.mlir").write_text(text.replace("TITLE", EVIL))
    done = run("compile", "p.mlir", "--spec", "s.mlir", *CPU)
    assert done.returncode == 1
    assert "has characters that do not print" in done.stderr
    assert done.stdout == ""


def test_spec_may_run_other_passes(folder: Path) -> None:
    (folder / "s.mlir").write_text(
        PASS.replace("NAME", "canonicalize").replace("OPTIONS", '"max-iterations" = 2')
    )
    assert run("compile", "p.mlir", "--spec", "s.mlir", *CPU, "-o", "out").returncode == 0


def test_location_shows_no_line_of_another_file(folder: Path) -> None:
    (folder / "secret").write_text("password\n")
    (folder / "s.mlir").write_text(NOTHING)
    done = run("check", "s.mlir")
    assert "secret:1:1" in done.stderr
    assert "password" not in done.stdout + done.stderr


@pytest.mark.parametrize("form", ["table", "github"])
def test_names_are_escaped(folder: Path, form: str) -> None:
    name = "match_linear_2048x1280x5120"
    assert name in SPEC
    (folder / "s.mlir").write_text(SPEC.replace(f"@{name}", f'@"{EVIL}"'))
    done = run("check", "s.mlir", "--target", "sm_80", "--format", form)
    assert EVIL in done.stderr + done.stdout
    assert "\x1b" not in done.stderr + done.stdout
    assert not any(
        line.startswith("::error::x") for line in (done.stdout + done.stderr).splitlines()
    )
    program = PROGRAM.replace("@model(", f'@"{EVIL}"(')
    (folder / "p.mlir").write_text(program)
    explained = run("explain", "p.mlir", *CPU).stdout
    assert EVIL in explained
    assert "\x1b" not in explained
    assert run("explain", "\x1b[31m\n.mlir", *CPU).stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command", ["check", "compile", "explain", "link", "dump", "upgrade", "lock"]
)
def test_long_name_of_a_file_is_an_error(command: str) -> None:
    name = "a" * 6000
    words = ("--project", name) if command == "lock" else (name,)
    done = run(command, *words)
    assert done.returncode == 1
    assert done.stderr.count("error: ") == 1
