"""The stack of the runtime's workers, which run the code for CPUs, and the stack frames of that code.

LLVM reports the stack frames of the code that it compiled last.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Final

WORKER_STACK_BYTES: Final = 128 << 10
"""The stack size of a worker of `local-task`: the default of IREE's flag `--task_worker_stack_size`."""

LARGEST_FRAME_BYTES: Final = WORKER_STACK_BYTES - (8 << 10)
"""The largest frame that fits: code with a frame of 217 KiB runs with 224 KiB and crashes with 220. The task system uses
the rest."""


def stack_report_flag() -> str:
    """Return the process-wide flag that makes LLVM report stack frames."""
    return f"--stack-usage-file=/proc/self/fd/{_report()}"


def stack_overflow() -> str:
    """Return the reason why the last compiled code overflows the stack of a worker, or an empty string.

    The report covers the last compiled executable. In a program with several, it is not certain which one that is.
    """
    frame = largest_frame()
    if frame <= LARGEST_FRAME_BYTES:
        return ""
    available = WORKER_STACK_BYTES >> 10
    return f"its code takes {frame >> 10} KiB of stack, and IREE's workers have {available} KiB"


def largest_frame() -> int:
    """Return the size of the largest frame of the last compiled code in bytes, 0 without a report."""
    descriptor = _report()
    text = os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")
    os.ftruncate(descriptor, 0)
    # place:function, bytes and kind, with a tab between them
    sizes = (line.split("\t")[1:2] for line in text.splitlines())
    return max((int(size[0]) for size in sizes if size and size[0].isdecimal()), default=0)


@cache
def _report() -> int:
    """Return the descriptor of a file in memory, whose content LLVM replaces for each executable."""
    return os.memfd_create("stack-frames")
