"""Writing files: whole or not at all."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from processes import PATIENCE

from tuninglink.errors import TuninglinkError
from tuninglink.files import (
    check_directory,
    check_output,
    check_output_directory,
    replacing,
    write_file,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def test_writes_a_new_file_with_the_usual_permissions(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    write_file(tmp_path / "out", b"content")
    assert (tmp_path / "out").read_bytes() == b"content"
    assert (tmp_path / "out").stat().st_mode == plain.stat().st_mode
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out", "plain"]


def test_keeps_the_permissions_of_the_file_that_it_replaces(tmp_path: Path) -> None:
    place = tmp_path / "out"
    place.write_bytes(b"before")
    place.chmod(0o640)
    write_file(place, b"after")
    assert place.read_bytes() == b"after"
    assert stat.S_IMODE(place.stat().st_mode) == 0o640


def test_replaces_what_a_link_points_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"before")
    (tmp_path / "link").symlink_to("file")
    write_file(tmp_path / "link", b"after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"after"


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, ValueError])
def test_leaves_what_was_there_when_writing_is_interrupted(
    tmp_path: Path, interruption: type[BaseException]
) -> None:
    place = tmp_path / "out"
    place.write_bytes(b"before")

    def write_half() -> NoReturn:
        with replacing(place) as fresh:
            fresh.write_bytes(b"half")
            raise interruption

    with pytest.raises(interruption):
        write_half()
    assert place.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [place]


def test_says_why_it_cannot_write(tmp_path: Path) -> None:
    with pytest.raises(TuninglinkError, match=r"cannot write '.*out': no such file or directory"):
        write_file(tmp_path / "missing" / "out", b"")
    with pytest.raises(TuninglinkError, match=r"cannot write '.*': is a directory"):
        write_file(tmp_path, b"")
    with pytest.raises(TuninglinkError, match="cannot write '/dev/full': no space left on device"):
        write_file("/dev/full", b"content")


def test_writes_to_devices_and_pipes_directly(tmp_path: Path) -> None:
    write_file("/dev/null", b"content")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"content")
    reader.join(PATIENCE)
    assert received == [b"content"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    # As standard output, a pipe has no path.
    reading, writing = os.pipe()
    write_file(f"/dev/fd/{writing}", b"content")
    os.close(writing)
    assert os.read(reading, 100) == b"content"
    os.close(reading)


@pytest.mark.parametrize("check", [check_output, check_directory, check_output_directory])
def test_that_files_can_be_written_is_tried_and_not_asked(check: Callable[[str], object]) -> None:
    """Permissions allow it to the superuser, and the file system does not."""
    path = "/proc/self/result" if check is check_output else "/proc/self"
    with pytest.raises(TuninglinkError, match="cannot write"):
        check(path)


def test_a_check_leaves_no_file(tmp_path: Path) -> None:
    check_output(str(tmp_path / "out"))
    check_directory(tmp_path)
    check_output_directory(str(tmp_path / "new"))
    assert not list(tmp_path.iterdir())
