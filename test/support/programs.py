"""The shared test programs (test/support/programs), compiled as far as tests look at them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from compilations import Answer, compiler_tool, run_compiler
from iree.compiler import ir as mlir
from places import ROOT, SUPPORT, TOOLS

from tuninglink.mlir import collect, names, symbol_name, thread_context, visit

if TYPE_CHECKING:
    from collections.abc import Iterable

PROGRAMS = SUPPORT / "programs"
EXAMPLES = ROOT / "examples"
SEPARATOR = "\n// -----\n"

TARGETS = {
    "hip": ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"),
    "cuda": ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"),
    "llvm-cpu": (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=znver4",
    ),
    "vmvx": (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=vmvx",
    ),
    "vulkan": ("--iree-hal-target-device=vulkan", "--iree-vulkan-target=rdna3"),
    "metal": ("--iree-hal-target-device=metal",),
}
"""Flags of the compiler for each target device that tests compile for."""


def _runs_avx512() -> bool:
    information = Path("/proc/cpuinfo")
    return not information.exists() or "avx512f" in information.read_text().split()


HOST_CPU = (
    *TARGETS["llvm-cpu"][:2],
    f"--iree-llvmcpu-target-cpu={'znver4' if _runs_avx512() else 'znver3'}",
)
"""Flags of the compiler for code that this machine runs, as far as possible the same everywhere."""


def endless_linker(directory: Path) -> tuple[str, ...]:
    """Return the flags of `HOST_CPU` with a linker that never ends, so that no compilation does."""
    linker, never = directory / "linker", directory / "never"
    os.mkfifo(never)
    linker.write_text(f"#!/bin/sh\nread line < '{never}'\n")
    linker.chmod(0o700)
    return (*HOST_CPU, f"--iree-llvmcpu-embedded-linker-path={linker}")


RUNNABLE_TARGETS = {**TARGETS, "host-cpu": HOST_CPU}

SOURCES = "--compile-to=executable-sources"
CONFIGURATIONS = "--compile-to=executable-configurations"
FROM_SOURCES = "--compile-from=executable-sources"
MARK_ROOT_OPS = "--iree-codegen-add-tuner-attributes"


def run(tool: str, *arguments: str, source: str) -> str:
    """Run one of the compiler's tools or of ours on `source`, and return its output."""
    arguments = (*arguments, "-")
    if tool.startswith("tuninglink"):
        command = [TOOLS / tool, *arguments]
        done = subprocess.run(command, input=source.encode(), capture_output=True, check=False)
        answer = Answer(done.returncode, done.stdout, done.stderr)
    else:
        answer = run_compiler(tool, arguments, source.encode())
    assert answer.code == 0, answer.errors[:3000].decode()
    return answer.output.decode()


def iree_compile(program: Path, *flags: str) -> bytes:
    """Return the compiled form of a program."""
    command = [compiler_tool("iree-compile"), program, *flags, "-o", "-"]
    return subprocess.run(command, capture_output=True, check=True).stdout


def configure(source: str, *flags: str) -> str:
    """Compile each part of `source` until the compiler has chosen configurations."""
    return run("iree-compile", CONFIGURATIONS, "--split-input-file", *flags, "-o=-", source=source)


def configured_bytecode(source: str, *flags: str) -> bytes:
    """Return the bytecode of a program for which the compiler has chosen configurations."""
    arguments = (*flags, CONFIGURATIONS, "--emit-mlir-bytecode", "-o", "-", "-")
    answer = run_compiler("iree-compile", arguments, source.encode())
    assert answer.code == 0, answer.errors[:3000].decode()
    return answer.output


def all_programs() -> str:
    """Return the test programs, as parts of one input."""
    return SEPARATOR.join(path.read_text() for path in sorted(PROGRAMS.glob("*.mlir")))


@cache
def program_sources(target: str) -> tuple[str, ...]:
    """Return the test programs at `executable-sources` for a target, in the order of `all_programs`.

    What follows of a compilation takes a tenth of its time: tests of configurations start here.
    """
    flags = (*TARGETS[target], SOURCES, "--split-input-file", "-o=-")
    text = run("iree-compile", *flags, source=all_programs())
    module = mlir.Module.parse(text, thread_context()).operation
    return tuple(str(part) for part in module.regions[0].blocks[0].operations)


def configured_programs(target: str, *flags: str) -> str:
    """Compile the test programs for a target until the compiler has chosen configurations."""
    parts = SEPARATOR.join(program_sources(target))
    return configure(parts, FROM_SOURCES, *TARGETS[target], *flags)


def separate(module: mlir.Operation) -> str:
    """Return the modules in `module`, as the compiler wrote one for each part, as parts of one input."""
    return SEPARATOR.join(str(part) for part in module.regions[0].blocks[0].operations)


@dataclass(frozen=True)
class Configured:
    """A function of a dispatch, and how it is configured.

    Attributes:
        function: its name.
        choices: its attributes and those of its operations that determine its compilation, as text.
    """

    function: str
    choices: tuple[str, ...]


CHOICES = (
    names.TRANSLATION_INFO,
    names.LOWERING_CONFIG,
    names.DECOMPOSITION_CONFIG,
    names.COMPILATION_INFO,
    names.UKERNEL,
)


def configured_functions(module: mlir.Operation) -> list[Configured]:
    """Return the configuration of each function of each dispatch."""
    return [
        Configured(symbol_name(function) or "", tuple(_choices(function)))
        for variant in collect(module, names.EXECUTABLE_VARIANT)
        for function in collect(variant, names.FUNCTION, names.UTIL_FUNCTION)
    ]


def _choices(function: mlir.Operation) -> Iterable[str]:
    found: list[str] = []

    def visitor(operation: mlir.Operation) -> None:
        attributes = operation.attributes
        present = [name for name in CHOICES if name in attributes]
        found.extend(f"{operation.name}: {name} = {attributes[name]}" for name in present)

    visit(function, visitor)
    return found


def numbered_marks(module: mlir.Operation) -> list[tuple[str, tuple[tuple[int, str, str], ...]]]:
    """Return the place of `root_op` for each function of each dispatch: number and name of the op."""
    return [
        (symbol_name(function) or "", tuple(_marks(function)))
        for variant in collect(module, names.EXECUTABLE_VARIANT)
        for function in collect(variant, names.FUNCTION, names.UTIL_FUNCTION)
    ]


def _marks(function: mlir.Operation) -> Iterable[tuple[int, str, str]]:
    operations: list[mlir.Operation] = []
    visit(function, operations.append)
    for number, operation in enumerate(operations):
        if names.ROOT_OP in operation.attributes:
            yield number, operation.name, str(operation.attributes[names.ROOT_OP])


def listening(command: list[str]) -> list[str]:
    """Return a command that does the same and listens to interrupts.

    Processes in the background, as tests may be, ignore them, and so do their children.
    """
    program = (
        "import os, signal, sys; "
        "signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
    )
    return [sys.executable, "-c", program, *command]
