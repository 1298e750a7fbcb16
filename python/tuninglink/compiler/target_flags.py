"""Conversion between targets and compiler flags, and the executable target that the compiler derives from flags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.compiler.compile_options import Phase
from tuninglink.compiler.flags import parse_arguments
from tuninglink.compiler.probing import check_targets
from tuninglink.compiler.session import Invocation, Session
from tuninglink.errors import CompileError, TargetError
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
        flags: flags of the compiler that name a target, each `--name=value`.
        context: the context of the attribute.

    Raises:
        CompileError: the target is unknown, or the flags name none.
    """
    return mlir.Attribute.parse(_executable_target(tuple(flags)), context)


@lru_cache(maxsize=64)
def _executable_target(flags: tuple[str, ...]) -> str:
    """Return the attribute as text, which is valid in any context."""
    session_flags = parse_arguments(flags).flags
    check_targets(session_flags)
    diagnostics: list[Diagnostic] = []
    with (
        Session(session_flags) as session,
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
    "this CPU": "--iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu "
    "--iree-llvmcpu-target-cpu=host",
    "CUDA": "--iree-hal-target-device=cuda --iree-cuda-target=sm_80",
    "HIP": "--iree-hal-target-device=hip --iree-rocm-target=gfx942",
}


def no_target() -> CompileError:
    """Return the error for flags without a target, with examples of flags."""
    notes = [note(f"for {name}: {example}") for name, example in _EXAMPLES.items()]
    return CompileError(error("no target; name the target of the program", notes=notes))


def _targets_in(attribute: mlir.Attribute) -> Iterator[mlir.Attribute]:
    """Yield the executable targets in a `#hal.device.target`, or in an attribute that lists device targets."""
    if read_executable_target(attribute) is not None:
        yield attribute
        return
    nested = attribute if isinstance(attribute, mlir.ArrayAttr) else parameters(attribute)
    for element in nested or ():
        yield from _targets_in(element)


_THIS_CPU: Final = "host"
"""The name of this machine's processor, as in flags of the compiler."""


def target_names() -> list[str]:
    """Return the names that `read_target` accepts."""
    return [_THIS_CPU, *known_target_names()]


def read_target(name: str) -> Target:
    """Return the target with a name, for which the compiler generates code; `host` is the processor of this machine.

    Raises:
        TargetError: the name is unknown, or the compiler generates no code for the target.
    """
    if name.strip().lower() == _THIS_CPU:
        attribute = executable_target(_EXAMPLES["this CPU"].split(), thread_context())
        return Target.from_attribute(attribute)
    target = Target.parse(name)
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
