"""Batches of tool calls for a board: the archive that travels there, and the results that come back."""

from __future__ import annotations

import io
import math
import os
import re
import shlex
import tarfile
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

_CHUNK: Final = 1 << 20
_SUFFIX: Final = re.compile(r"\.\w+")
_UP: Final = "../../files/"
"""The directory of files, from the directory of a call."""


@dataclass(frozen=True)
class BoardFile:
    """A file for calls. It stays on the board as long as there is room, and travels once.

    Attributes:
        content: its bytes, or the path of a local file.
        pieces: other files whose repeated contents make it up, each with a number of bytes; the board assembles it.
        suffix: the end of its name; empty if tools do not care.
    """

    content: bytes | Path = field(default=b"", repr=False)
    pieces: tuple[tuple[BoardFile, int], ...] = ()
    suffix: str = ""

    @cached_property
    def name(self) -> str:
        """The name on the board, which depends on the content and the suffix alone."""
        digest = blake2b(digest_size=12)
        for piece, length in self.pieces:
            digest.update(f"{piece.name} {length}\n".encode())
        if isinstance(self.content, Path):
            with self.content.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
        else:
            digest.update(self.content)
        suffix = self.suffix if _SUFFIX.fullmatch(self.suffix) else ""
        return digest.hexdigest() + suffix

    @property
    def path(self) -> str:
        """The path on the board, for arguments of calls."""
        return _UP + self.name

    @cached_property
    def size(self) -> int:
        """The number of bytes."""
        if self.pieces:
            return sum(length for _, length in self.pieces)
        return self.content.stat().st_size if isinstance(self.content, Path) else len(self.content)

    def parts(self) -> Iterable[BoardFile]:
        """Yield the files that the board needs for this one, and itself last."""
        for piece, _ in self.pieces:
            yield from piece.parts()
        yield self


@dataclass(frozen=True)
class Call:
    """A call of a tool on a board, in a new directory.

    Attributes:
        tool: the name of the tool.
        arguments: its arguments, with the `path` of files.
        files: the files that it reads.
        seconds: its time limit.
    """

    tool: str
    arguments: tuple[str, ...]
    files: tuple[BoardFile, ...] = ()
    seconds: float = 60.0


@dataclass(frozen=True)
class CallResult:
    """The result of a call.

    Attributes:
        status: the exit code; codes above 128 for a signal.
        files: the contents of the files that the tool wrote.
        clock_mhz: the highest clock of a processor right after the call; None if unknown.
        temperature_celsius: the highest temperature right after the call; None if unknown.
        is_timeout: whether the time limit ended it.
        is_lost: whether the board or the connection failed each time that this call ran.
        is_full: whether its files or what it writes do not fit on the board; the reason is in `stderr`.
    """

    status: int
    stdout: str = ""
    stderr: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    clock_mhz: int | None = None
    temperature_celsius: float | None = None
    is_timeout: bool = False
    is_lost: bool = False
    is_full: bool = False


class IncompleteError(Exception):
    """An answer lacks the result of a call."""


def write_batch(
    archive: IO[bytes],
    calls: Sequence[Call],
    present: Collection[str],
    evicted: Iterable[str],
    *,
    tools: str,
    prefix: Sequence[str],
) -> None:
    """Write the archive of a batch.

    Args:
        archive: the file to write to.
        calls: the calls.
        present: the names of the files that the board has.
        evicted: the names of files that it removes.
        tools: the directory of the tools, with a slash at the end; empty for the search path.
        prefix: the command in front of each tool, such as an emulator.
    """
    lines = [f"rm -f files/{name}" for name in evicted]
    sent = set(present)
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for file in (part for call in calls for whole in call.files for part in whole.parts()):
            if file.name in sent:
                continue
            sent.add(file.name)
            if file.pieces:
                words = [f"{piece.name} {piece.size} {length}" for piece, length in file.pieces]
                lines.append(f"assemble {file.name} {' '.join(words)} || return")
            elif isinstance(file.content, Path):
                # Not `add`: owners and links here mean nothing there.
                entry = tarfile.TarInfo(f"files/{file.name}")
                with file.content.open("rb") as content:
                    entry.size = content.seek(0, os.SEEK_END)
                    content.seek(0)
                    tar.addfile(entry, content)
            else:
                _add(tar, f"files/{file.name}", file.content)
        for number, call in enumerate(calls):
            command = shlex.join((*prefix, tools + call.tool, *call.arguments))
            lines.append(f"call {number} {max(1, math.ceil(call.seconds))} {command}")
        _add(tar, "batch.sh", "".join(f"{line}\n" for line in lines).encode())


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))


def read_results(archive: bytes, count: int) -> list[CallResult]:
    """Return the results of a number of calls from the archive of an answer.

    Raises:
        IncompleteError: the archive is cut off, or lacks a result.
    """
    contents: dict[int, dict[str, bytes]] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r|") as tar:
            for entry in tar:
                path = entry.name.split("/")  # of a file `calls/NUMBER/NAME`
                file = tar.extractfile(entry) if len(path) == _DEPTH and entry.isfile() else None
                if file is not None:
                    contents.setdefault(int(path[1]), {})[path[2]] = file.read()
    except (tarfile.TarError, EOFError, ValueError) as failure:
        raise IncompleteError(str(failure)) from None
    results = []
    for position in range(count):
        files = contents.get(position, {})
        status, _, end = files.pop("status", b"").strip().partition(b" ")
        if not status:
            raise IncompleteError(f"no status of call {position}")
        # The state after the call: clocks in kHz, temperatures in thousandths of a degree.
        state: dict[str, list[int]] = {}
        for line in files.pop("state", b"").decode(errors="replace").splitlines():
            key, _, value = line.partition(" ")
            if value.lstrip("-").isdecimal():
                state.setdefault(key, []).append(int(value))
        stdout, stderr = (files.pop(name, b"").decode(errors="replace") for name in _STREAMS)
        results.append(
            CallResult(
                int(status),
                stdout,
                stderr,
                files,
                clock_mhz=max(state["clock"]) // 1000 if "clock" in state else None,
                temperature_celsius=max(state["temperature"]) / 1000
                if "temperature" in state
                else None,
                is_timeout=end == b"late",
            )
        )
    return results


_STREAMS: Final = ("stdout", "stderr")
_DEPTH: Final = 3
