"""Files: atomic writes, temporary directories, checks of inputs and outputs before hours of computation, and JSON."""

from __future__ import annotations

import json
import os
import shutil
import sys
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, mkdtemp
from typing import TYPE_CHECKING, Any, Final

from tuninglink.errors import (
    Diagnostic,
    Place,
    TuninglinkError,
    nearest,
    printable,
    reason_for_user,
)
from tuninglink.interrupt_hooks import interrupt_hook, uninterrupted
from tuninglink.mlir import error, show_lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator


STANDARD_STREAM: Final = "-"
"""Denotes standard input or output in place of a path."""


def write_file(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write `content` to a temporary file, which then replaces the file; text is written as UTF-8. See `replacing`."""
    with replacing(path) as place:
        place.write_bytes(_encoded(content))


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file to write to, which replaces `path` if the block succeeds.

    A link is kept, and its target is replaced. A file that is not regular, such as `/dev/null` or a named pipe,
    is written to directly.

    Raises:
        TuninglinkError: the file cannot be written. Its old content is kept.
    """
    try:
        place = Path(path)  # that of /dev/stdout may be a pipe, which has no path
        if place.exists() and not place.is_file():
            if place.is_dir():
                raise IsADirectoryError(None, "is a directory")
            yield place
            return
        place = Path(os.path.realpath(path))
        fresh = place.with_name(f".tuninglink-{os.urandom(8).hex()}")
        with ExitStack() as removed:
            with uninterrupted:
                fresh.touch(exist_ok=False)
                removed.enter_context(interrupt_hook(fresh.unlink))
            try:
                if place.exists():
                    fresh.chmod(place.stat().st_mode & 0o7777)
                yield fresh
                fresh.replace(place)
            except BaseException:
                with suppress(OSError):
                    fresh.unlink()
                raise
    except OSError as failure:
        raise TuninglinkError(cannot("write", path, failure)) from None


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Yield a new directory, which is removed after the block or when an interrupt ends the process."""

    def remove() -> None:
        # Under its new name, it receives at most the files that are being created.
        renamed = directory.rename(directory.with_name(f"{directory.name}-removed"))
        for _ in range(2):
            shutil.rmtree(renamed, ignore_errors=True)

    with ExitStack() as removed:
        with uninterrupted:
            directory = Path(mkdtemp(prefix="tuninglink-"))
            removed.enter_context(interrupt_hook(remove))
        try:
            yield directory
        finally:
            shutil.rmtree(directory)


def make_directory(path: str | os.PathLike[str]) -> Path:
    """Create a directory and its parents unless they exist, or raise a `TuninglinkError`."""
    place = Path(path)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise TuninglinkError(cannot("make", path, failure)) from None
    return place


def check_directory(path: str | os.PathLike[str]) -> Path:
    """Create a directory for outputs unless it exists, or raise a `TuninglinkError`, also if it is read-only."""
    place = make_directory(path)
    if failure := _write_failure(place):
        raise TuninglinkError(cannot("write to", path, failure))
    return place


def check_output_directory(path: str) -> None:
    """Raise a `TuninglinkError` if files cannot be written to a directory, which need not exist."""
    place = Path(path).absolute()
    existing = next(folder for folder in (place, *place.parents) if folder.exists())
    if not existing.is_dir():
        problem = "it is a file" if existing == place else f"'{existing}' is a file"
        raise TuninglinkError(error(f"cannot make the directory '{path}': {problem}"))
    if failure := _write_failure(existing):
        raise TuninglinkError(cannot("write to", path, failure))


def is_stream(path: str) -> bool:
    """Return whether an output is standard output, or a file that is not regular, such as a pipe or `/dev/null`."""
    if path == STANDARD_STREAM or not (place := Path(path)).exists():
        return path == STANDARD_STREAM
    return not place.is_file() or os.path.samestat(place.stat(), os.fstat(1))


def write_output(path: str, content: bytes | str) -> None:
    """Write a result to a file, or to standard output for `-`; text is written as UTF-8."""
    if path == STANDARD_STREAM:
        write_standard_output(_encoded(content))
    else:
        write_file(path, content)


def _encoded(content: bytes | str) -> bytes:
    return printable(content).encode() if isinstance(content, str) else content


def check_input(path: str) -> None:
    """Raise a `TuninglinkError` if a file is missing, a directory or not readable."""
    if path == STANDARD_STREAM:
        return
    try:
        Path(path).open("rb").close()
    except OSError as failure:
        raise TuninglinkError(cannot("read", path, failure)) from None


def check_output(path: str) -> None:
    """Raise a `TuninglinkError` if an output is a directory or read-only, or its directory missing or read-only."""
    if Path(path).is_dir():
        raise TuninglinkError(error(f"cannot write '{path}': it is a directory"))
    if is_stream(path):
        return
    directory = Path(os.path.realpath(path)).parent
    if not directory.is_dir():
        message = f"cannot write '{path}': the directory '{directory}' does not exist"
        raise TuninglinkError(error(message))
    if failure := _write_failure(directory):
        raise TuninglinkError(cannot("write", path, failure))


def _write_failure(directory: Path) -> OSError | None:
    """Return the failure to write a file in a directory, which permissions do not show; None if it succeeds."""
    try:
        with NamedTemporaryFile(prefix=".tuninglink-", dir=directory) as file:
            file.write(bytes(4096))  # which a full file system refuses
            file.flush()
    except OSError as failure:
        return failure
    return None


def load_json(content: bytes, name: str) -> Any:
    """Return the value of a JSON text, or raise a `TuninglinkError` if it is not JSON, or nested too deeply."""
    show_lines_of(name)
    try:
        return json.loads(content.decode())
    except json.JSONDecodeError as failure:
        place = Place(name, failure.lineno, failure.colno)
        raise TuninglinkError(error(f"invalid JSON: {failure.msg}", place)) from None
    except (ValueError, RecursionError) as failure:
        message = f"cannot read '{name}': {reason_for_user(failure)}"
        raise TuninglinkError(error(message)) from None


def write_standard_output(content: bytes) -> None:
    """Write `content` to standard output, and flush it, so that a failure is raised here.

    Raises:
        TuninglinkError: it cannot be written.
        BrokenPipeError: the reader has closed the pipe.
    """
    sys.stdout.flush()
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as failure:
        raise TuninglinkError(cannot("write", "<stdout>", failure)) from None


def cannot(do: str, path: str | os.PathLike[str], failure: OSError) -> Diagnostic:
    """Return the error that the operation `do`, such as `read`, is impossible for the file at `path`.

    If the file does not exist, it suggests one in the same directory.
    """
    reason = (failure.strerror or str(failure)).lower()
    return error(f"cannot {do} '{printable(path)}': {reason}{meant(Path(path), failure)}")


_LIKE: Final = 0.7
"""The least similarity of the name of a missing file, without its suffix, to that of the intended one."""


def meant(path: Path, failure: OSError) -> str:
    """Return a suggestion to append to the message about a missing file: the most similar name in its directory."""
    if not isinstance(failure, FileNotFoundError):
        return ""
    try:
        files = (file for file in path.parent.iterdir() if file != path and file.exists())
        names = sorted(file.name for file in files)
    except OSError:
        return ""
    stem = nearest(path.stem, dict.fromkeys(Path(name).stem for name in names), _LIKE)
    name = nearest(path.name, [name for name in names if Path(name).stem == stem], 0.0)
    return f"; did you mean '{printable(path.with_name(name))}'?" if name else ""
