"""Targets: known targets are not probed, others are tried in another process, and no probe ends this process."""

from __future__ import annotations

import pytest

from tuninglink.compiler import (
    check_targets,
    compiler_options,
    registered_backends,
    session_flags,
    targets as probing,
)
from tuninglink.errors import CompileError
from tuninglink.iree import targets as known_targets


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--iree-hal-target-backends=vmx"], "target backend 'vmx' is not registered"),
        (["--iree-hal-local-target-device-backends=vmvx,llvm-cpu"], "is not registered"),
        (["--iree-hal-local-host-device-backends=vmx"], "is not registered"),
        (["--iree-cuda-target=sm_1"], "the compiler rejects --iree-cuda-target=sm_1"),
        (["--iree-vulkan-target=vulcan"], "Unknown Vulkan target 'vulcan'"),
        (["--iree-llvmcpu-target-triple=x87"], "createTargetMachine"),
        (["--iree-llvmcpu-target-data-layout=x"], "LLVM ERROR"),
        (["--iree-llvmcpu-target-triple=x86_64", "--iree-llvmcpu-target-cpu=zen"], "Unknown CPU"),
        (["--iree-llvmcpu-target-triple=x86_64", "--iree-llvmcpu-target-cpu-features=x"], "rejects"),
    ],
)  # fmt: skip
def test_unknown_targets_are_refused(flags: list[str], message: str) -> None:
    with pytest.raises(CompileError) as caught:
        check_targets(flags)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--iree-hal-target-backends=llvm-cpu", "--iree-hal-target-backends=vmvx"],
        ["--iree-cuda-target=ada"],
        ["--iree-vulkan-target=rdna3"],
        ["--iree-llvmcpu-target-triple=riscv64", "--iree-llvmcpu-target-cpu=generic-rv64"],
        ["--iree-llvmcpu-target-triple=x86_64", "--iree-llvmcpu-target-cpu=znver4"],
        ["--iree-llvmcpu-target-cpu-features=+sse,-avx"],
    ],
)
def test_targets_of_the_compiler_are_taken(flags: list[str]) -> None:
    check_targets(flags)


def test_the_compiler_takes_every_cuda_target_that_is_taken_untried() -> None:
    for name in probing._CUDA_TARGETS:
        assert probing._are_known((f"--iree-cuda-target={name}",))
        probing._probe("cuda", (f"--iree-cuda-target={name}",))


@pytest.mark.parametrize("instruction_set", sorted(known_targets.CPUS))
def test_the_compiler_takes_cpus_that_are_taken_untried(instruction_set: str) -> None:
    triple = f"--iree-llvmcpu-target-triple={instruction_set}-unknown-linux-gnu"
    for name in ("generic", *known_targets.CPUS[instruction_set].split()[::40]):
        flags = (triple, f"--iree-llvmcpu-target-cpu={name}")
        assert probing._are_known(flags)
        probing._probe("llvm-cpu", flags)


def test_flags_of_sessions_are_flags_of_the_compiler() -> None:
    options = compiler_options()
    assert {flag.removeprefix("--") for flag in session_flags()} <= options.keys()
    assert options["iree-hal-target-device"]
    assert not options["mlir-timing"]
    assert options["o"]


def test_backends_are_enumerated() -> None:
    assert {"cuda", "llvm-cpu", "metal-spirv", "rocm", "vmvx", "vulkan-spirv"} <= {
        *registered_backends()
    }
