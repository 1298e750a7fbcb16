"""The stack of the runtime's workers, which run the code for CPUs."""

from __future__ import annotations

from typing import Final

WORKER_STACK_BYTES: Final = 128 << 10
"""The stack size of a worker of `local-task`: the default of IREE's flag `--task_worker_stack_size`."""

LARGEST_FRAME_BYTES: Final = WORKER_STACK_BYTES - (8 << 10)
"""The largest frame that fits: code with a frame of 217 KiB runs with 224 KiB and crashes with 220. The task system uses
the rest."""
