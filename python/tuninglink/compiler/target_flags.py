"""Conversion between targets and compiler flags, and the executable target that the compiler derives from flags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.compiler.compile_options import Phase
from tuninglink.compiler.probing import check_targets
from tuninglink.compiler.session import Invocation, Session
from tuninglink.errors import CompileError, TargetError, UsageError
from tuninglink.iree import known_targets
from tuninglink.iree.targets import Target, known_target_names, read_executable_target
from tuninglink.mlir.attributes import parameters
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error, note, thread_context
from tuninglink.mlir.walk import children

_PROGRAM: Final = b"module {}\0"
"""A program whose only relevant parts are its devices. The null ends its text."""


def executable_target(flags: Iterable[str], context: mlir.Context) -> mlir.Attribute:
    """Return the `#hal.executable.target`, or the first of several, that the compiler derives from flags.

    Args:
        flags: flags of sessions that name a target, each `--name=value`.
        context: the context of the attribute.

    Raises:
        CompileError: the target is unknown, or the flags name none.
    """
    return mlir.Attribute.parse(_executable_target(tuple(flags)), context)


@lru_cache(maxsize=64)
def _executable_target(flags: tuple[str, ...]) -> str:
    """Return the attribute as text, which is valid in any context."""
    check_targets(flags)
    diagnostics: list[Diagnostic] = []
    with (
        Session(flags) as session,
        session.wrap(_PROGRAM, "target.mlir") as program,
        Invocation(session, diagnostics.append) as invocation,
    ):
        # The first phase after which the module has the devices.
        succeeded = invocation.parse(program) and invocation.run(Phase.START, Phase.PREPROCESSING)
        errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR]
        if errors or not succeeded:
            raise CompileError(*errors or [error("the compiler failed to derive a target")])
        operations = children(invocation.module())
        values = (operation.attributes.get("initial_value") for operation in operations)
        targets = (target for value in values if value for target in _targets_in(value))
        target = next(targets, None)
        if target is None:
            raise no_target()
        return str(target)


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
    compiler.

    Args:
        flags: flags of the compiler.
        program: the path of the program; empty for a generated program, which has no target.

    Raises:
        UsageError: neither the flags nor the program name a target.
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


_HOST: Final = "host"
"""The name of this machine's processor, as in flags of the compiler."""

_HOST_FLAGS: Final = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)


def _is_host(name: str) -> bool:
    return name.strip().lower() == _HOST


def target_names() -> list[str]:
    """Return the names that `read_target` accepts."""
    return [_HOST, *known_target_names()]


def named_target(name: str) -> Target:
    """Return the target with a name; `host` is the processor of this machine.

    Raises:
        TargetError: the name is unknown.
    """
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
        message = f"the compiler generates no code for '{name}'"
        raise TargetError(error(message, notes=list(_instead_of(target)))) from None
    return target


def _instead_of(target: Target) -> Iterator[Diagnostic]:
    """Yield notes with alternative names for a target that the compiler does not know."""
    if target.backend == "rocm":
        architectures = known_targets.ROCM.get(target.family, ["gfx942"])
        if architectures:
            yield note(f"name the architecture, such as {', '.join(architectures)}")
        if target.family != target.backend:
            yield note(f"'vulkan-{target.family}' is its name for the backend vulkan")
    if target.backend == "cuda":
        yield note("GPUs run code for older architectures, such as sm_80")


_DEVICES: Final = {"rocm": "hip", "cuda": "cuda", "vulkan": "vulkan", "metal": "metal"}
"""The device of a backend. Other backends run on the local device."""

_TARGET_FLAGS: Final = {
    "rocm": "--iree-rocm-target",
    "cuda": "--iree-cuda-target",
    "vulkan": "--iree-vulkan-target",
}


def expanded_target(name: str, explicit: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the compiler flags that `--target` stands for, without those that are also given explicitly.

    Args:
        name: the name of the target; see `read_target`.
        explicit: the other flags of the command line, each `--name=value` or `--name`.

    Raises:
        TargetError: the name is unknown, or the compiler generates no code for the target.
        UsageError: an explicit flag names another target.
    """
    target = read_target(name)
    flags = _HOST_FLAGS if _is_host(name) else tuple(compile_flags(target))
    values = dict(flag.split("=", 1) for flag in flags)
    for flag in explicit:
        key = flag.partition("=")[0]
        is_foreign = key in NAMING_FLAGS and NAMING_FLAGS[key] != target.backend
        if flag not in flags and (key in values or is_foreign):
            message = f"--target {name} conflicts with {flag}; it stands for {' '.join(flags)}"
            raise UsageError(error(message))
    return tuple(flag for flag in flags if flag not in explicit)


def compile_flags(target: Target) -> list[str]:
    """Return compiler flags for a target, as specific as possible.

    A target that names only a backend leaves the rest to the compiler, which may require more flags.

    Args:
        target: the target.
    """
    backend = target.backend
    device = _DEVICES.get(backend)
    if device is None:
        flags = ["--iree-hal-target-device=local"]
        flags.append(f"--iree-hal-local-target-device-backends={backend}")
        return [*flags, *_cpu(target)] if backend == "llvm-cpu" else flags
    flags = [f"--iree-hal-target-device={device}"]
    name = _target_name(target)
    if backend in _TARGET_FLAGS and name is not None:
        flags.append(f"{_TARGET_FLAGS[backend]}={name}")
    return flags


NAMING_FLAGS: Final = {
    **{flag: backend for backend, flag in _TARGET_FLAGS.items()},
    "--iree-llvmcpu-target-triple": "llvm-cpu",
    "--iree-llvmcpu-target-cpu": "llvm-cpu",
    **dict.fromkeys((*_DEVICE_FLAGS, "--iree-hal-local-target-device-backends"), ""),
}
"""The flags that name a target, with their backend; empty for any."""


def _target_name(target: Target) -> str | None:
    """Return the most specific name of a GPU that the compiler accepts."""
    sku = None if target.sku in known_targets.CUDA_PRODUCTS else target.sku
    family = None if target.family == target.backend else target.family
    return sku or target.architecture or family


def _cpu(target: Target) -> list[str]:
    if target.family == target.backend:
        return []
    return [
        f"--iree-llvmcpu-target-triple={target.family}-unknown-linux-gnu",
        f"--iree-llvmcpu-target-cpu={target.architecture or 'generic'}",
    ]
