"""The workflow, the action and the pre-commit hooks: their commands exist, and serve their purpose."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from places import ROOT, TOOLS

if TYPE_CHECKING:
    from pathlib import Path

OLD = "test/cli/upgrade.mlir"


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text())


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(TOOLS), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, **variables}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def action_step(name: str) -> str:
    steps = read("action.yml")["runs"]["steps"]
    (script,) = (each["run"] for each in steps if each.get("name") == name)
    return str(script)


def test_every_command_of_the_workflow_is_a_target_of_make() -> None:
    jobs = read(".github/workflows/ci.yml")["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert {"make lint", "make types", "make lit", "make package", "make docs"} <= set(commands)
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony
    for each in commands:
        make, target, *variables = shlex.split(each)
        assert make == "make"
        assert target in phony[1].split()
        assert all(each.startswith(("PYTHON=", "IREE=")) for each in variables)


def test_the_workflow_tests_on_the_oldest_python_and_on() -> None:
    versions = read(".github/workflows/ci.yml")["jobs"]["pytest"]["strategy"]["matrix"]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f">={versions[0]}" == project["requires-python"]
    assert versions == ["3.11", "3.12", "3.13", "3.14"]


def test_the_suite_runs_on_the_oldest_compiler() -> None:
    steps = read(".github/workflows/ci.yml")["jobs"]["oldest-compiler"]["steps"]
    commands = {step["run"] for step in steps if "run" in step}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (compiler,) = (each for each in project["dependencies"] if "iree-base-compiler" in each)
    oldest = re.search(r">=([\d.]+)", compiler)
    assert oldest
    assert commands == {f"make lit IREE={oldest[1]}", f"make pytest IREE={oldest[1]}"}
    release = read(".github/workflows/release.yml")["jobs"]["build"]["steps"]
    assert {"run": f"make package IREE={oldest[1]}"} in release


@pytest.mark.parametrize("name", ["compilers", "release"])
def test_the_other_workflows_run_what_exists(name: str) -> None:
    steps = [
        step
        for job in read(f".github/workflows/{name}.yml")["jobs"].values()
        for step in job["steps"]
    ]
    scripts = re.findall(r"tools/\w+\.py", "\n".join(step.get("run", "") for step in steps))
    assert scripts
    assert all((ROOT / script).exists() for script in scripts)


def test_only_the_job_that_publishes_gets_an_identity() -> None:
    workflow = read(".github/workflows/release.yml")
    assert workflow["permissions"] == {"contents": "read"}
    jobs = workflow["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["environment"] == "release"
    assert "permissions" not in jobs["build"]


def test_the_workflow_gives_the_action_inputs_that_it_has() -> None:
    steps = read(".github/workflows/ci.yml")["jobs"]["specs"]["steps"]
    (given,) = (each["with"] for each in steps if each.get("uses") == "./")
    assert set(given) <= set(read("action.yml")["inputs"])
    assert (ROOT / given["specs"]).exists()


@pytest.mark.parametrize(
    ("specs", "target", "code", "rules"),
    [
        ("examples/spec_gfx942.mlir", "gfx942", 0, set()),
        ("examples/spec_gfx942.mlir", "sm_80", 1, {"other-target"}),
    ],
)
def test_the_action_writes_a_sarif_log(
    tmp_path: Path, specs: str, target: str, code: int, rules: set[str]
) -> None:
    log = tmp_path / "tuninglink.sarif"
    variables = {
        "SPECS": specs,
        "TARGET": target,
        "COMPILE": "false",
        "STRICT": "false",
        "SARIF": str(log),
    }
    done = run(["bash", "-e", "-c", action_step("Check specs")], **variables)
    assert done.returncode == code, done.stderr
    (found,) = json.loads(log.read_text())["runs"]
    errors = {each["ruleId"] for each in found["results"] if each["level"] == "error"}
    assert errors == rules


def test_the_action_finds_old_specs() -> None:
    script = action_step("Look for specs in an older syntax")
    assert run(["bash", "-e", "-c", script], SPECS="examples/spec_*.mlir").returncode == 0
    done = run(["bash", "-e", "-c", script], SPECS=f"examples/spec_gfx942.mlir {OLD}")
    assert done.returncode == 1
    assert "the spec was written for an older compiler" in done.stderr


def test_hooks_take_specs_and_refuse_what_is_wrong() -> None:
    hooks = {each["id"]: each for each in read(".pre-commit-hooks.yaml")}
    assert set(hooks) == {"tuninglink-check", "tuninglink-upgrade-check"}
    for each in hooks.values():
        command = shlex.split(each["entry"])
        assert shutil.which(command[0], path=TOOLS)
        assert re.search(each["files"], "specs/mine.mlir")
        assert run([*command, "examples/spec_sm_80.mlir"]).returncode == 0
    # pre-commit shows what a hook that passes says only if it is verbose.
    assert hooks["tuninglink-check"]["verbose"]
    unchecked = run([*shlex.split(hooks["tuninglink-check"]["entry"]), "examples/spec_sm_80.mlir"])
    assert "without a target, the configurations of" in unchecked.stderr
    old = shlex.split(hooks["tuninglink-upgrade-check"]["entry"])
    assert run([*old, "examples/spec_sm_80.mlir", OLD]).returncode == 1
