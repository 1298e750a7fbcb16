"""Stack frames of code for CPUs, as LLVM reports them. The runtime's workers have little stack."""

from __future__ import annotations

import os
from functools import cache
from typing import Final

WORKER_STACK_BYTES: Final = 128 << 10
"""The stack of a worker of `local-task`: the default of IREE's flag `--task_worker_stack_size`."""

_OWN_BYTES: Final = 8 << 10
"""What the task system takes of that stack: code with a frame of 217 KiB runs with 224 KiB and crashes with 220."""


def stack_report_flag() -> str:
    """Return the flag that makes LLVM report stack frames; it belongs on the command line of the process."""
    return f"--stack-usage-file=/proc/self/fd/{_report()}"


def stack_overflow() -> str:
    """Return why the code that was compiled last overflows the stack of a worker; nothing if it does not.

    The report is that of the executable that was compiled last: of a program with several, it is not certain which.
    """
    frame = _largest_frame()
    if frame <= WORKER_STACK_BYTES - _OWN_BYTES:
        return ""
    available = WORKER_STACK_BYTES >> 10
    return f"its code takes {frame >> 10} KiB of stack, and IREE's workers have {available} KiB"


def _largest_frame() -> int:
    """Return the bytes of the largest frame in the report, 0 without one."""
    descriptor = _report()
    text = os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")
    os.ftruncate(descriptor, 0)
    # place:function, bytes and kind, with a tab between them
    sizes = (line.split("\t")[1:2] for line in text.splitlines())
    return max((int(size[0]) for size in sizes if size and size[0].isdecimal()), default=0)


@cache
def _report() -> int:
    """Return the descriptor of a file in memory; LLVM replaces its content for each executable."""
    return os.memfd_create("stack-frames")
