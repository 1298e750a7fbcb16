"""Runs of the compiler that several tests share.

What a tool of the compiler answers to the same arguments and the same input is kept in `build/compilations`, for all
processes of a test run and for later runs: keyed by the tool itself, the arguments and the input.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pickle
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from iree.compiler.tools.binaries import find_tool
from places import ROOT
from processes import PATIENCE

from tuninglink.interrupt_hooks import SYMBOLIZATION

if TYPE_CHECKING:
    from collections.abc import Sequence

DIRECTORY: Final = ROOT / "build" / "compilations"


_ONE_THREAD: Final = "--mlir-disable-threading"
"""With threads, 2 of 480 runs of `iree-compile` with a spec on a busy machine did not end (iree-base-compiler 3.13.0)."""


class Answer(NamedTuple):
    """The result of a tool: its exit code, its output and its errors."""

    code: int
    output: bytes
    errors: bytes


def compiler_tool(name: str) -> str:
    """Return a tool of the compiler; the command of its name starts Python, which takes longer than most programs."""
    path: str = find_tool(name)
    return path


def run_compiler(
    tool: str, arguments: Sequence[str], source: bytes, seconds: float = PATIENCE
) -> Answer:
    """Return the result of a tool of the compiler, from an earlier run if there was one.

    A run whose arguments name files is made each time, as the files may change, and may be what it is for.

    Args:
        tool: its name.
        arguments: its arguments.
        source: its standard input.
        seconds: its time limit.

    Raises:
        subprocess.TimeoutExpired: it took longer.
    """
    if any("/" in argument and argument != os.devnull for argument in arguments):
        return _run(tool, arguments, source, seconds)
    key = hashlib.sha256(json.dumps([*_identity(tool), *arguments]).encode() + b"\n" + source)
    place = DIRECTORY / key.hexdigest()
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with place.with_suffix(".lock").open("wb") as lock:
        # Of processes that ask for the same run, one makes it, and the others wait.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            _write(place, pickle.dumps(tuple(_run(tool, arguments, source, seconds))))
    return Answer(*pickle.loads(place.read_bytes()))


def _run(tool: str, arguments: Sequence[str], source: bytes, seconds: float) -> Answer:
    threads = () if _ONE_THREAD in arguments else (_ONE_THREAD,)
    command = [compiler_tool(tool), *arguments, *threads]
    # A compiler that crashes may wait forever for a lock of its own where it looks up symbols for its trace.
    environment = {**os.environ, SYMBOLIZATION: "1"}
    done = subprocess.run(
        command, input=source, capture_output=True, timeout=seconds, check=False, env=environment
    )
    return Answer(done.returncode, done.stdout, done.stderr)


@cache
def _identity(tool: str) -> tuple[object, ...]:
    """Return a value that changes with the compiler."""
    path = Path(compiler_tool(tool)).resolve()
    status = path.stat()
    return str(path), status.st_size, status.st_mtime_ns


def _write(place: Path, content: bytes) -> None:
    """Write a file at once: a process that ends on the way leaves no part of it."""
    with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
        file.write(content)
    Path(file.name).replace(place)
