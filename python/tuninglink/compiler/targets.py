"""The targets to compile for: their names, the flags that they stand for, and trials of unknown ones in another process."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.compiler.session import Invocation, Phase, Session, registered_backends
from tuninglink.errors import CompileError, TargetError, UsageError
from tuninglink.iree import SECONDS, Target, iree_compile, read_executable_target, targets
from tuninglink.mlir import children, error, note, parameters, thread_context

HOST: Final = "host"
"""The name of this machine's processor, as in flags of the compiler."""


_EMPTY_PROGRAM: Final = b"module {}\0"
"""A program whose only relevant parts are its devices. The null ends its text."""


def executable_target(flags: Iterable[str], context: mlir.Context) -> mlir.Attribute:
    """Return the `#hal.executable.target`, or the first of several, that the compiler derives from flags of sessions."""
    return mlir.Attribute.parse(_executable_target(tuple(flags)), context)


@lru_cache(maxsize=64)
def _executable_target(flags: tuple[str, ...]) -> str:
    """Return the attribute as text, which is valid in any context."""
    check_targets(flags)
    with (
        Session(flags) as session,
        session.open(_EMPTY_PROGRAM, "target.mlir") as program,
        Invocation(session) as invocation,
    ):
        invocation.parse(program)
        # The first phase after which the module has the devices.
        invocation.advance(Phase.START, Phase.PREPROCESSING)
        target = next(_targets_of(invocation.module), None)
        if target is None:
            raise no_target()
        return str(target)


def _targets_of(program: mlir.Operation) -> Iterator[mlir.Attribute]:
    values = (operation.attributes.get("initial_value") for operation in children(program))
    return (target for value in values if value for target in _targets_in(value))


def program_targets(program: mlir.Operation) -> list[Target]:
    """Return the targets of the devices of a program at `preprocessing`."""
    return list(map(Target.from_attribute, _targets_of(program)))


_EXAMPLES: Final = {
    "the CPU of this machine": "host",
    "a GPU of AMD": "gfx942",
    "a GPU of NVIDIA": "sm_80",
}


def no_target() -> UsageError:
    """Return the error for a command line without a target, with examples to copy."""
    notes = [note(f"for {machine}: --target {name}") for machine, name in _EXAMPLES.items()]
    return UsageError(error("no target; name what to compile for", notes=notes))


def check_has_target(flags: Iterable[str], program: str = "") -> None:
    """Check that a program to compile has a target, before any work.

    Programs that cannot be read twice, and those with the name of the dialect that describes devices, are left to the
    compiler. The path of a generated program, which has no target, is empty.
    """
    if any(flag.startswith(_DEVICE_FLAGS) for flag in flags):
        return
    path = Path(program)
    if not program or path.suffix == ".onnx":
        raise no_target()
    if path.is_file() and path.stat().st_size:
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            if content.find(b"hal") < 0:
                raise no_target()


_DEVICE_FLAGS: Final = ("--iree-hal-target-device", "--iree-hal-target-backends")


def _targets_in(attribute: mlir.Attribute) -> Iterator[mlir.Attribute]:
    """Yield the executable targets in a `#hal.device.target`, or in an attribute that lists device targets."""
    if read_executable_target(attribute) is not None:
        yield attribute
        return
    nested = attribute if isinstance(attribute, mlir.ArrayAttr) else parameters(attribute)
    for element in nested or ():
        yield from _targets_in(element)


_HOST_FLAGS: Final = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)


def _is_host(name: str) -> bool:
    return name.strip().lower() == HOST


def named_target(name: str) -> Target:
    """Return the target with a name; `host` is the processor of this machine."""
    if _is_host(name):
        return Target.from_attribute(executable_target(_HOST_FLAGS, thread_context()))
    return Target.parse(name)


def read_target(name: str) -> Target:
    """Return the target with a name, for which the compiler generates code; `host` is the processor of this machine.

    Raises:
        TargetError: the name is unknown, or the compiler generates no code for the target.
    """
    target = named_target(name)
    if _is_host(name):
        return target
    try:
        executable_target(compile_flags(target), thread_context())
    except CompileError:
        # Name the alternatives for a target that the compiler does not know.
        remedies = []
        if target.backend == "rocm":
            architectures = targets.ROCM.get(target.family, ["gfx942"])
            if architectures:
                remedies.append(f"name the architecture, such as {', '.join(architectures)}")
            if target.family != target.backend:
                remedies.append(f"'vulkan-{target.family}' is its name for the backend vulkan")
        if target.backend == "cuda":
            remedies.append("GPUs run code for older architectures, such as sm_80")
        message = f"the compiler generates no code for '{name}'"
        raise TargetError(error(message, notes=list(map(note, remedies)))) from None
    return target


_FEATURES_FLAG: Final = "--iree-llvmcpu-target-cpu-features"

_DEVICES: Final = {"rocm": "hip", "cuda": "cuda", "vulkan": "vulkan", "metal": "metal"}
"""The device of a backend. Other backends run on the local device."""

_TARGET_FLAGS: Final = {
    "rocm": "--iree-rocm-target",
    "cuda": "--iree-cuda-target",
    "vulkan": "--iree-vulkan-target",
}


def expanded_target(name: str, explicit: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the compiler flags that `--target` stands for, without those that are also given explicitly.

    Raises:
        TargetError: the name is unknown, or the compiler generates no code for the target.
        UsageError: an explicit flag names another target.
    """
    target = read_target(name)
    flags = _HOST_FLAGS if _is_host(name) else tuple(compile_flags(target))
    values = dict(flag.split("=", 1) for flag in flags)
    for flag in explicit:
        key = flag.partition("=")[0]
        if key == _FEATURES_FLAG:
            values.pop(key, None)  # features are chosen for a target, and do not name another
        is_foreign = key in NAMING_FLAGS and NAMING_FLAGS[key] != target.backend
        if flag not in flags and (key in values or is_foreign):
            message = f"--target {name} conflicts with {flag}; it stands for {' '.join(flags)}"
            raise UsageError(error(message))
    return tuple(flag for flag in flags if flag not in explicit and flag.split("=")[0] in values)


def compile_flags(target: Target) -> list[str]:
    """Return compiler flags for a target, as specific as possible; those for sm_80 for a GPU of sm_90.

    A target that names only a backend leaves the rest to the compiler, which may require more flags.
    """
    backend = target.backend
    device = _DEVICES.get(backend)
    if device is None:
        flags = ["--iree-hal-target-device=local"]
        flags.append(f"--iree-hal-local-target-device-backends={backend}")
        if backend == "llvm-cpu" and target.family != backend:
            flags.append(f"--iree-llvmcpu-target-triple={target.family}-unknown-linux-gnu")
            flags.append(f"--iree-llvmcpu-target-cpu={target.architecture or 'generic'}")
            if target.cpu_features:
                flags.append(f"{_FEATURES_FLAG}={target.cpu_features}")
        return flags
    flags = [f"--iree-hal-target-device={device}"]
    sku = None if target.sku in targets.CUDA_PRODUCTS else target.sku
    family = None if target.family == target.backend else target.family
    name = sku or target.architecture or family
    if backend in _TARGET_FLAGS and name is not None:
        code = targets.CUDA_CODE.get(name, name) if backend == "cuda" else name
        flags.append(f"{_TARGET_FLAGS[backend]}={code}")
    return flags


NAMING_FLAGS: Final = {
    **{flag: backend for backend, flag in _TARGET_FLAGS.items()},
    "--iree-llvmcpu-target-triple": "llvm-cpu",
    "--iree-llvmcpu-target-cpu": "llvm-cpu",
    **dict.fromkeys((*_DEVICE_FLAGS, "--iree-hal-local-target-device-backends"), ""),
}
"""The flags that name a target, with their backend; empty for any."""


# --- Runs of `iree-compile` in a separate process, for flags that could terminate the current process

_PROBED_PROGRAM: Final = """
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

_CUDA_TARGETS: Final = frozenset({"sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89"})
"""Targets known to be valid."""


def check_targets(flags: Sequence[str]) -> None:
    """Check that the compiler supports the backends and targets in flags."""
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
    instruction_set, *_ = given.get("--iree-llvmcpu-target-triple", platform.machine()).split("-")
    if len(given) != len(flags) or instruction_set not in targets.CPUS:
        return False
    cpus = ("generic", "host", *targets.CPUS[instruction_set].split())
    return all(
        name == "--iree-llvmcpu-target-triple"
        or (name == "--iree-cuda-target" and value in _CUDA_TARGETS)
        or (name == "--iree-llvmcpu-target-cpu" and value in cpus)
        or (name == _FEATURES_FLAG and all(word[:1] in ("+", "-") for word in value.split(",")))
        for name, value in given.items()
    )


@cache
def _probe(backend: str, flags: tuple[str, ...]) -> None:
    arguments = ["-", "-o", os.devnull, f"--iree-hal-target-backends={backend}"]
    try:
        result = subprocess.run(  # noqa: S603 - it is the compiler's own tool
            [iree_compile(), *arguments, *flags],
            input=_PROBED_PROGRAM,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        message = f"the compiler did not finish within {SECONDS} s with {' '.join(flags)}"
        raise CompileError(error(message)) from None
    if result.returncode:
        # The compiler's first error, without its location in the tiny program.
        reasons = (line.rpartition("error: ")[2].strip() for line in result.stderr.splitlines())
        noise = ("Please report", "Stack dump")
        own = (reason for reason in reasons if reason and not reason.startswith(noise))
        reason = next(own, f"it exits with status {result.returncode}")
        raise CompileError(error(f"the compiler rejects {' '.join(flags)}: {reason}"))
