"""Looking at processes from outside."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 300
"""Seconds after which an event that usually comes far earlier counts as missing."""


def eventually(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def state(pid: int) -> str | None:
    """Return the state of a process as the kernel calls it, `Z` for a zombie, or None if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process, zero if there is none."""
    return sum(_times(pid)[:2])


def family_seconds(pid: int) -> float:
    """Return the processor time of a process and of those that it started, ended and running ones."""
    return sum(_times(pid)) + sum(map(family_seconds, children(pid)))


def _times(pid: int) -> list[float]:
    """Return the seconds in user and system mode of a process, and of the ended ones that it waited for."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
    return [int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:15]]


def is_gone(pid: int) -> bool:
    """Return whether a process has ended, even if its exit status was not read yet."""
    return state(pid) in (None, "Z")


def children(process: int) -> list[int]:
    """Return the processes that a process has started: of a command the one that does its work."""
    started: list[int] = []
    with suppress(OSError):  # it has ended, or a thread of it
        for thread in Path(f"/proc/{process}/task").iterdir():
            started += map(int, (thread / "children").read_text().split())
    return started


def marked(marker: str) -> list[int]:
    """Return the processes that have a variable of this name in their environment, zombies left aside."""
    needle = f"{marker}=".encode()
    found = []
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdigit() and needle in (each / "environ").read_bytes():
                found.append(int(each.name))
        except OSError:  # it has ended, or is not ours
            continue
    return found


def in_a_fork(action: Callable[[], str]) -> str:
    """Return the result of `action` in a process that is forked from this one, or its failure there."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(PATIENCE)
            said = action()
        except BaseException as failure:  # noqa: BLE001 - the parent is to hear of it
            said = f"{type(failure).__name__}: {failure}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        said = file.read()
    assert os.waitpid(child, 0)[1] == 0, "the process did not end by itself"
    return said
