"""Running programs of other frameworks on this machine's CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from iree import runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)
CLOSE = {"rtol": 1e-4, "atol": 1e-4}
"""The tolerance against the framework's results."""


def run(program: bytes, arguments: Sequence[np.ndarray], function: str = "main") -> np.ndarray:
    """Return the results of a function of a compiled program."""
    config = runtime.Config("local-sync")
    module = runtime.VmModule.copy_buffer(config.vm_instance, program)
    context = runtime.SystemContext(vm_modules=[module], config=config)
    return np.asarray(context.modules[module.name][function](*arguments))
