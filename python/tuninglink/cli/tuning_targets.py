"""Targets of tuning: flags to copy if no target is given, and a warning about generic CPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.errors import CompileError
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error, note

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tuninglink.iree.targets import Target

_TARGET_FLAGS: Final = ("--iree-hal-target-", "--iree-hal-default-device")
_EXAMPLES: Final = {
    "this CPU": "--iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu "
    "--iree-llvmcpu-target-cpu=host",
    "CUDA": "--iree-hal-target-device=cuda --iree-cuda-target=sm_80",
    "HIP": "--iree-hal-target-device=hip --iree-rocm-target=gfx942",
}


def with_target_help(failure: CompileError, flags: Sequence[str]) -> CompileError:
    """Return the error of a compilation; without a target flag, its remedy lists the flags to copy.

    Args:
        failure: the error.
        flags: the compiler flags.
    """
    lacks_target = "HAL device" in str(failure) or "HAL target" in str(failure)
    if not lacks_target or any(flag.startswith(_TARGET_FLAGS) for flag in flags):
        return failure
    notes = [note(f"for {name}: {example}") for name, example in _EXAMPLES.items()]
    return CompileError(error("no target; name what the program is compiled for", notes=notes))


def generic_cpu_warning(targets: Iterable[Target]) -> Diagnostic | None:
    """Return a warning if programs are compiled for a generic CPU, whose code does not use the machine's vectors."""
    for target in targets:
        if target.backend == "llvm-cpu" and target.architecture is None:
            message = (
                f"the target is a generic {target.family} CPU; "
                "for this machine's, add --iree-llvmcpu-target-cpu=host"
            )
            return Diagnostic(Severity.WARNING, message)
    return None
