"""Runs of `iree-compile` in a separate process, for flags that could terminate the current process.

The compiler crashes or exits on some unknown targets, which is not acceptable in a library. Targets that are not known
to be valid are first tested on a tiny program.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from iree.compiler import _mlir_libs

from tuninglink.compiler.session import registered_backends
from tuninglink.errors import CompileError
from tuninglink.iree import known_targets
from tuninglink.mlir.diagnostics import error

_PROGRAM: Final = """
func.func @probe(%a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xi32> {
  %sum = arith.addi %a, %b : tensor<4xi32>
  return %sum : tensor<4xi32>
}
"""

_BACKEND_FLAGS: Final = (
    "--iree-hal-target-backends",
    "--iree-hal-local-target-device-backends",
    "--iree-hal-local-host-device-backends",
)

_PROBED: Final = {
    "--iree-cuda-target": "cuda",
    "--iree-vulkan-target": "vulkan-spirv",
    "--iree-llvmcpu-target-triple": "llvm-cpu",
    "--iree-llvmcpu-target-cpu": "llvm-cpu",
    "--iree-llvmcpu-target-cpu-features": "llvm-cpu",
    "--iree-llvmcpu-target-data-layout": "llvm-cpu",
}
"""Flags whose values may crash the compiler, and the backend that reads them."""

_SECONDS: Final = 120
"""The time limit of the compiler's own tool."""

_CUDA_TARGETS: Final = frozenset({"sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89"})
"""Targets known to be valid."""


def iree_compile() -> Path:
    """Return the path of the `iree-compile` that belongs to the loaded compiler."""
    return Path(_mlir_libs.__path__[0]) / "iree-compile"


@cache
def compiler_options() -> Mapping[str, bool]:
    """Return the names of all options of `iree-compile`, and whether each requires a value."""
    return {name: bool(kind) for name, kind in option_kinds().items()}


@cache
def option_kinds() -> Mapping[str, str]:
    """Return the names of all options of `iree-compile`, with the kind of the required value; empty for none."""
    pattern = re.compile(r"^  --?([\w.-]+)(?:[= ]<([^>]*)>)?", re.MULTILINE)
    return dict(pattern.findall(_listing()))


def listed_values() -> Mapping[str, list[str]]:
    """Return the names of all options of `iree-compile`, with the values that its help lists."""
    values: dict[str, list[str]] = {}
    for line in _listing().splitlines():
        if option := re.match(r"  --?([\w.-]+)", line):
            listed = values.setdefault(option[1], [])
        elif values and (value := re.match(r"\s+=([\w.-]+) +- ", line)):
            listed.append(value[1])
    return values


@cache
def _listing() -> str:
    """Return the help text of `iree-compile`, with hidden options."""
    return subprocess.run(  # noqa: S603 - the compiler's own tool
        [iree_compile(), "--help-list-hidden"],
        capture_output=True,
        text=True,
        check=True,
        timeout=_SECONDS,
    ).stdout


def check_targets(flags: Sequence[str]) -> None:
    """Check that the compiler supports the backends and targets in flags.

    Args:
        flags: flags of the compiler, each `--name=value` or `--name`.

    Raises:
        CompileError: a backend or a target is unknown.
    """
    values = [flag.partition("=")[::2] for flag in flags]
    for name, value in values:
        if name in _BACKEND_FLAGS and value not in registered_backends():
            join = ", ".join(registered_backends())
            raise CompileError(error(f"target backend '{value}' is not registered; known: {join}"))
    for backend in dict.fromkeys(_PROBED[name] for name, _ in values if name in _PROBED):
        relevant = tuple(
            f"{name}={value}" for name, value in values if _PROBED.get(name) == backend
        )
        if not _are_known(relevant):
            _probe(backend, relevant)


def _are_known(flags: tuple[str, ...]) -> bool:
    """Return whether `flags`, all for one backend, name a target that is known to be valid."""
    given = dict(flag.split("=", 1) for flag in flags if "=" in flag)
    instruction_set = given.get("--iree-llvmcpu-target-triple", platform.machine()).partition("-")[
        0
    ]
    return (
        len(given) == len(flags)
        and instruction_set in known_targets.CPUS
        and all(_is_known(name, value, instruction_set) for name, value in given.items())
    )


def _is_known(name: str, value: str, instruction_set: str) -> bool:
    match name:
        case "--iree-cuda-target":
            return value in _CUDA_TARGETS
        case "--iree-llvmcpu-target-triple":
            return True
        case "--iree-llvmcpu-target-cpu":
            return value in ("generic", "host", *known_targets.CPUS[instruction_set].split())
        case "--iree-llvmcpu-target-cpu-features":
            return all(word[:1] in ("+", "-") for word in value.split(","))
    return False


@cache
def _probe(backend: str, flags: tuple[str, ...]) -> None:
    arguments = ["-", "-o", os.devnull, f"--iree-hal-target-backends={backend}"]
    try:
        result = subprocess.run(  # noqa: S603 - it is the compiler's own tool
            [iree_compile(), *arguments, *flags],
            input=_PROGRAM,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        message = f"the compiler did not finish within {_SECONDS} s with {' '.join(flags)}"
        raise CompileError(error(message)) from None
    if result.returncode:
        raise CompileError(error(f"the compiler rejects {' '.join(flags)}: {_reason(result)}"))


def _reason(result: subprocess.CompletedProcess[str]) -> str:
    """Return the compiler's first error, without its location in the tiny program."""
    for line in result.stderr.splitlines():
        reason = line.rpartition("error: ")[2].strip()
        if reason and not reason.startswith(("Please report", "Stack dump")):
            return reason
    return f"it exits with status {result.returncode}"
