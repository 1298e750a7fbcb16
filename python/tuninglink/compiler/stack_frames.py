"""Stack frames of CPU code, as LLVM reports them. The stacks of the runtime's workers are small."""

from __future__ import annotations

import os
from functools import cache

from tuninglink.iree.worker_stack import LARGEST_FRAME_BYTES, WORKER_STACK_BYTES


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
