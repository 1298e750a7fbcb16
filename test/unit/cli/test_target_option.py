"""`--target` is a short form of compiler flags, with the same meaning in every command that takes a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tuninglink.cli.project_options import read_flags, with_project
from tuninglink.cli.terminal import Verbosity, set_verbosity
from tuninglink.cli.usage import SUMMARIES, usage_of
from tuninglink.compiler import COMPILE_FLAGS, FlagReader
from tuninglink.errors import TargetError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

LOCAL = "--iree-hal-target-device=local"
CPU = "--iree-hal-local-target-device-backends=llvm-cpu"
HOST = (LOCAL, CPU, "--iree-llvmcpu-target-cpu=host")
HIP = "--iree-hal-target-device=hip"

FLAGS = {
    "host": HOST,
    "HOST": HOST,
    "znver4": (
        *(LOCAL, CPU, "--iree-llvmcpu-target-triple=x86_64-unknown-linux-gnu"),
        "--iree-llvmcpu-target-cpu=znver4",
    ),
    "Cortex-A76": (
        *(LOCAL, CPU, "--iree-llvmcpu-target-triple=aarch64-unknown-linux-gnu"),
        "--iree-llvmcpu-target-cpu=cortex-a76",
    ),
    "spacemit-x60": (
        *(LOCAL, CPU, "--iree-llvmcpu-target-triple=riscv64-unknown-linux-gnu"),
        "--iree-llvmcpu-target-cpu=spacemit-x60",
    ),
    "riscv64": (
        *(LOCAL, CPU, "--iree-llvmcpu-target-triple=riscv64-unknown-linux-gnu"),
        "--iree-llvmcpu-target-cpu=generic",
        "--iree-llvmcpu-target-cpu-features=+m,+a,+f,+d,+c",
    ),
    "gfx942": (HIP, "--iree-rocm-target=gfx942"),
    "mi300x": (HIP, "--iree-rocm-target=mi300x"),
    "cdna3": (HIP, "--iree-rocm-target=gfx942"),
    "sm_80": ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"),
    "vmvx": (LOCAL, "--iree-hal-local-target-device-backends=vmvx"),
}


@pytest.mark.parametrize("name", FLAGS)
def test_a_target_is_a_set_of_flags(name: str) -> None:
    reader = FlagReader(COMPILE_FLAGS, ["in.mlir", "--target", name, "--iree-opt-level=O2"])
    assert reader.target_flags == FLAGS[name]
    assert reader.flags == (*FLAGS[name], "--iree-opt-level=O2")
    assert reader.inputs == ("in.mlir",)


def test_a_flag_that_is_also_given_is_not_repeated() -> None:
    options = FlagReader(COMPILE_FLAGS, ["--target=gfx942", HIP])
    assert sorted(options.flags) == sorted(FLAGS["gfx942"])


def test_a_family_may_be_refined() -> None:
    options = FlagReader(COMPILE_FLAGS, ["--target=llvm-cpu", "--iree-llvmcpu-target-cpu=host"])
    assert options.flags == HOST


def test_features_replace_those_of_the_target() -> None:
    vectors = "--iree-llvmcpu-target-cpu-features=+m,+a,+f,+d,+c,+v"
    options = FlagReader(COMPILE_FLAGS, ["--target=riscv64", vectors])
    assert options.flags == (*FLAGS["riscv64"][:-1], vectors)


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("host", "--iree-llvmcpu-target-cpu=znver4"),
        ("cortex-a76", "--iree-llvmcpu-target-cpu=cortex-a55"),
        ("host", HIP),
        ("host", "--iree-hal-target-backends=llvm-cpu"),
        ("mi300x", "--iree-rocm-target=gfx942"),
        ("gfx942", CPU),
        ("gfx942", "--iree-cuda-target=sm_80"),
        ("sm_80", "--iree-llvmcpu-target-triple=x86_64"),
    ],
)
def test_a_flag_that_names_another_target_is_one_error(name: str, flag: str) -> None:
    with pytest.raises(UsageError) as caught:
        FlagReader(COMPILE_FLAGS, ["--target", name, flag])
    (diagnostic,) = caught.value.diagnostics
    flags = " ".join(FLAGS.get(name, FLAGS["Cortex-A76"]))
    assert diagnostic.message == f"--target {name} conflicts with {flag}; it stands for {flags}"
    assert not diagnostic.notes


def test_an_unknown_target_is_an_error() -> None:
    with pytest.raises(TargetError, match="unknown target 'gfx9420'; did you mean 'gfx942'"):
        FlagReader(COMPILE_FLAGS, ["--target=gfx9420"])


def test_a_verbose_command_shows_what_the_target_stands_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    try:
        set_verbosity(Verbosity.VERBOSE)
        read_flags(COMPILE_FLAGS, ["--target=gfx942"])
    finally:
        set_verbosity(Verbosity.NORMAL)
    assert capsys.readouterr().err == f"--target gfx942: {' '.join(FLAGS['gfx942'])}\n"
    read_flags(COMPILE_FLAGS, ["--target=gfx942"])
    assert not capsys.readouterr().err


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_command_that_takes_compiler_flags_takes_a_target(name: str) -> None:
    usage = usage_of(name)
    assert "target" in usage.flags or not usage.takes_compiler_flags


@pytest.mark.parametrize(
    ("project", "given", "flags"),
    [
        ('"--target=gfx942"', (), FLAGS["gfx942"]),
        ('"--target", "gfx942"', (), FLAGS["gfx942"]),
        ('"--target=gfx942"', ("--target=host",), HOST),
        (f'"{HIP}", "--iree-rocm-target", "gfx942"', ("--target=host",), HOST),
        ('"--target=gfx942"', HOST, HOST),
        ('"--target=gfx942", "--iree-opt-level=O2"', HOST, (*HOST, "--iree-opt-level=O2")),
    ],
)
def test_the_target_of_a_command_overrides_that_of_the_project(
    project: str,
    given: tuple[str, ...],
    flags: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "tuninglink.toml").write_text(f"flags = [{project}]\n")
    monkeypatch.chdir(tmp_path)
    own, _ = with_project(["in.mlir", *given])
    assert FlagReader(COMPILE_FLAGS, own).flags == flags
