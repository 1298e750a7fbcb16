"""The compiler flags of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.iree import known_targets

if TYPE_CHECKING:
    from tuninglink.iree.targets import Target

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
